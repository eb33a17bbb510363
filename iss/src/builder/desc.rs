//! Descriptors as structs: the fields of [`Field`] that an engine reads, with defaults that walk one tile of bytes.
//!
//! A field is a number or a scalar register. Each has a method of its name, so that a descriptor reads as a sentence:
//! `FlowDesc::full(&target).ocm(s(8)).width(128).height(64).lrm(16)`.

use super::Value;
use crate::isa::operand::Field;
use crate::target::Target;

/// A descriptor's fields and values.
pub trait Desc {
    /// Every field with its value, also those that are 0.
    fn fields(&self) -> Vec<(Field, Value)>;
}

macro_rules! descriptors {
    ($( $(#[doc = $doc:literal])* $Name:ident { $($field:ident: $Field:ident = $default:literal),* $(,)? } )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name { $(
            #[doc = concat!("[`Field::", stringify!($Field), "`]; ", stringify!($default), " unless set.")]
            pub $field: Value,
        )* }
        impl Default for $Name {
            fn default() -> Self {
                Self { $( $field: Value::Imm($default), )* }
            }
        }
        impl $Name { $(
            #[doc = concat!("Sets [`Field::", stringify!($Field), "`].")]
            #[must_use]
            pub fn $field(mut self, value: impl Into<Value>) -> Self {
                self.$field = value.into();
                self
            }
        )* }
        impl Desc for $Name {
            fn fields(&self) -> Vec<(Field, Value)> {
                vec![ $( (Field::$Field, self.$field), )* ]
            }
        }
    )* };
}

descriptors! {
    /// A flow in or out: a walk over tiles of a tensor in on-chip memory.
    FlowDesc {
        ocm: Ocm = 0, elem: Elem = 1, width: Width = 0, height: Height = 0, row_pitch: RowPitch = 0,
        plane_pitch: PlanePitch = 0, x0: X0 = 0, y0: Y0 = 0, col_step: ColStep = 1, row_step: RowStep = 1, rows: Rows = 0,
        cols: Cols = 0, halo: Halo = 0, n0: N0 = 1, dx0: Dx0 = 0, dy0: Dy0 = 0, dp0: Dp0 = 0, n1: N1 = 1, dx1: Dx1 = 0,
        dy1: Dy1 = 0, dp1: Dp1 = 0, n2: N2 = 1, dx2: Dx2 = 0, dy2: Dy2 = 0, dp2: Dp2 = 0, n3: N3 = 1, dx3: Dx3 = 0,
        dy3: Dy3 = 0, dp3: Dp3 = 0, lrm: Lrm = 0, lrm_step: LrmStep = 0, group: Group = 0, ring: Ring = 0,
        ring_step: RingStep = 0,
    }
    /// A broadcast stream: entries of 16 bytes in two levels of stride.
    BroadcastDesc { ocm: Ocm = 0, n0: N0 = 1, dx0: Dx0 = 16, n1: N1 = 1, dx1: Dx1 = 0 }
    /// A random access: an index per PE, an element each.
    RauDesc { ocm: Ocm = 0, elem: Elem = 1, lrm: Lrm = 0, data: Data = 0, valid: Valid = 0, limit: Limit = 0 }
    /// A transfer between external and on-chip memory, row by row.
    DmaDesc { ocm: Ocm = 0, row_pitch: RowPitch = 0, n0: N0 = 1, ext: Ext = 0, bytes: Bytes = 0, ext_pitch: ExtPitch = 0 }
}

impl FlowDesc {
    /// Tiles as large as the array.
    pub fn full(target: &Target) -> Self {
        Self::default().rows(target.spec().rows).cols(target.spec().cols)
    }
}
