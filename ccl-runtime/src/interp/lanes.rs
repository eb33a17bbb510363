//! Vectors whose element type is known in the run: which lanes of the native layer they are.

use crate::kernel::ElemType;
use crate::native::state::{self, Tag};
use crate::native::{Id, Lane};

/// How the host keeps elements.
pub(super) const fn tag(elem: ElemType) -> Tag {
    match elem {
        ElemType::Bool => Tag::Bool,
        ElemType::I8 => Tag::I8,
        ElemType::I16 => Tag::I16,
        ElemType::I32 | ElemType::Fx(_) => Tag::I32,
        ElemType::I64 => Tag::I64,
        ElemType::U8 => Tag::U8,
        ElemType::U16 => Tag::U16,
    }
}

/// `lanes!(elem, L => body)`: the body with `L` the lane type of the elements.
macro_rules! lanes {
    ($elem:expr, $L:ident => $body:expr) => {
        lanes!(@ $elem, $L => $body, [I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, Bool bool])
    };
    (@ $elem:expr, $L:ident => $body:expr, [$($Tag:ident $T:ty),*]) => {
        match $crate::interp::lanes::tag($elem) { $( $crate::native::state::Tag::$Tag => {
            #[allow(dead_code, reason = "not every body names the type")]
            type $L = $T;
            $body
        } )* }
    };
}
pub(super) use lanes;

/// A scalar, of `Fx` its bits, in every PE.
pub(super) fn splat(elem: ElemType, v: i64) -> Id {
    match tag(elem) {
        Tag::I8 => i8::splat(v as i8),
        Tag::I16 => i16::splat(v as i16),
        Tag::I32 => i32::splat(v as i32),
        Tag::I64 => i64::splat(v),
        Tag::U8 => u8::splat(v as u8),
        Tag::U16 => u16::splat(v as u16),
        Tag::Bool => bool::splat(v != 0),
    }
}

/// `n` elements of local memory with this value; without one undefined.
pub(super) fn allocate(elem: ElemType, n: usize, v: Option<i64>) -> Vec<Id> {
    let mut ids = vec![Id::NONE; n];
    match tag(elem) {
        Tag::I8 => i8::allocate(v.map_or(i8::UNDEFINED, |v| v as i8), &mut ids),
        Tag::I16 => i16::allocate(v.map_or(i16::UNDEFINED, |v| v as i16), &mut ids),
        Tag::I32 => i32::allocate(v.map_or(i32::UNDEFINED, |v| v as i32), &mut ids),
        Tag::I64 => i64::allocate(v.unwrap_or(i64::UNDEFINED), &mut ids),
        Tag::U8 => u8::allocate(v.map_or(u8::UNDEFINED, |v| v as u8), &mut ids),
        Tag::U16 => u16::allocate(v.map_or(u16::UNDEFINED, |v| v as u16), &mut ids),
        Tag::Bool => bool::allocate(v.map_or(bool::UNDEFINED, |v| v != 0), &mut ids),
    }
    ids
}

/// Whether the vector may be assigned.
pub(super) fn is_home(elem: ElemType, id: Id) -> bool {
    lanes!(elem, L => state::with(|s| s.is_home::<L>(id)))
}
