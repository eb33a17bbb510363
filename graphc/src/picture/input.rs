//! Which inputs of networks are pictures.

use crate::graph::{DType, Type};
use crate::picture::MAX_EXTENT;

/// Height and width of the pictures that suit an input: of `f32[1x3xHxW]`, up to [`MAX_EXTENT`] each.
pub fn picture_extents(ty: &Type) -> Option<(u32, u32)> {
    let &[1, 3, height, width] = &ty.shape[..] else { return None };
    let side = |n: usize| u32::try_from(n).ok().filter(|&n| n > 0 && n <= MAX_EXTENT);
    if ty.dtype == DType::F32 { side(height).zip(side(width)) } else { None }
}
