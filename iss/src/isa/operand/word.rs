//! Operands that are one of a list of words: conditions, MAC shapes, descriptor fields.

use std::fmt;

use super::{Operand, OperandError, WordInfo, bad_bits, bad_text};

/// Operands that are one of a list of words.
macro_rules! word_operand {
    ($( $(#[doc = $doc:literal])* $Ty:ident: $bits:literal bits, $name:literal
        { $( $(#[doc = $vdoc:literal])* $value:literal $word:ident = $Variant:ident ),* $(,)? } )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $Ty { $( $(#[doc = $vdoc])* $Variant = $value, )* }

        impl $Ty {
            /// Every value in encoding order.
            pub const ALL: &'static [Self] = &[ $( Self::$Variant, )* ];

            /// The word in assembly text.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$Variant => stringify!($word), )* }
            }
            /// What the value means.
            pub const fn prose(self) -> &'static str {
                match self { $( Self::$Variant => concat!($($vdoc),*).trim_ascii(), )* }
            }
        }
        impl fmt::Display for $Ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
        impl Operand for $Ty {
            const BITS: u32 = $bits;
            const NAME: &'static str = $name;
            const FORMS: &'static str = concat!("one of", $( " `", stringify!($word), "`", )*);
            const PROSE: &'static str = concat!($($doc),*).trim_ascii();
            const ENCODING: &'static str = "the value in the list";
            const VALUES: &'static [WordInfo] =
                &[ $( WordInfo { bits: $value, word: stringify!($word), prose: Self::$Variant.prose() }, )* ];
            fn to_bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> Result<Self, OperandError> {
                match bits { $( $value => Ok(Self::$Variant), )* _ => Err(bad_bits::<Self>(bits)) }
            }
            fn parse(text: &str) -> Result<Self, OperandError> {
                match text { $( stringify!($word) => Ok(Self::$Variant), )* _ => Err(bad_text::<Self>(text)) }
            }
        }
    )* };
}

word_operand! {
    /// Comparison of two 32-bit values.
    Cond: 4 bits, "condition" {
        /// equal.
        0 eq = Eq,
        /// unequal.
        1 ne = Ne,
        /// less, signed.
        2 lt = Lt,
        /// less or equal, signed.
        3 le = Le,
        /// greater, signed.
        4 gt = Gt,
        /// greater or equal, signed.
        5 ge = Ge,
        /// less, unsigned.
        6 ltu = Ltu,
        /// less or equal, unsigned.
        7 leu = Leu,
        /// greater, unsigned.
        8 gtu = Gtu,
        /// greater or equal, unsigned.
        9 geu = Geu,
    }
    /// How the 16 products of a MAC step meet.
    MacShape: 2 bits, "mac shape" {
        /// 16 channels x 16 weights into 1 accumulator.
        0 dot = Dot,
        /// 4 channels x 16 weights (4 per output) into 4 accumulators.
        1 mat4 = Mat4,
        /// 1 channel x 16 weights into 16 accumulators.
        2 outer = Outer,
    }
    /// Field of a descriptor. Unset fields are 0.
    Field: 6 bits, "field" {
        /// OCM byte address: of element (0, 0) of the first plane (flow), the first entry (broadcast), element 0 (RAU), the first row (DMA).
        0 ocm = Ocm,
        /// bytes of one element as a PE sees it: 1, 2 or 4 (flow, RAU).
        1 elem = Elem,
        /// columns of the tensor, in elements; columns outside 0..width arrive as zeros and are not written (flow).
        2 width = Width,
        /// rows of the tensor; rows outside 0..height arrive as zeros and are not written (flow).
        3 height = Height,
        /// bytes from a row to the next (flow; OCM side of a DMA).
        4 row_pitch = RowPitch,
        /// bytes from a plane to the next (flow).
        5 plane_pitch = PlanePitch,
        /// column of PE (0, 0) in the first tile, may be negative (flow).
        6 x0 = X0,
        /// row of PE (0, 0) in the first tile, may be negative (flow).
        7 y0 = Y0,
        /// elements between neighbouring PEs of a row (flow).
        8 col_step = ColStep,
        /// rows between neighbouring PEs of a column (flow).
        9 row_step = RowStep,
        /// PE rows of a tile (flow).
        10 rows = Rows,
        /// PE columns of a tile (flow).
        11 cols = Cols,
        /// border columns filled on each side (flow in).
        12 halo = Halo,
        /// tiles of the innermost loop of the walk; 0 counts as 1 (flow); entries of the inner loop (broadcast); rows (DMA).
        13 n0 = N0,
        /// columns the innermost loop advances a tile (flow); bytes an inner step advances (broadcast).
        14 dx0 = Dx0,
        /// rows the innermost loop advances a tile (flow).
        15 dy0 = Dy0,
        /// planes the innermost loop advances (flow).
        16 dp0 = Dp0,
        /// trips of the second loop (flow, broadcast).
        17 n1 = N1,
        /// columns the second loop advances (flow); bytes an outer step advances (broadcast).
        18 dx1 = Dx1,
        /// rows the second loop advances (flow).
        19 dy1 = Dy1,
        /// planes the second loop advances (flow).
        20 dp1 = Dp1,
        /// trips of the third loop (flow).
        21 n2 = N2,
        /// columns the third loop advances (flow).
        22 dx2 = Dx2,
        /// rows the third loop advances (flow).
        23 dy2 = Dy2,
        /// planes the third loop advances (flow).
        24 dp2 = Dp2,
        /// trips of the fourth loop (flow).
        25 n3 = N3,
        /// columns the fourth loop advances (flow).
        26 dx3 = Dx3,
        /// rows the fourth loop advances (flow).
        27 dy3 = Dy3,
        /// planes the fourth loop advances (flow).
        28 dp3 = Dp3,
        /// LRM byte address of the first tile (flow), of the element index (RAU).
        29 lrm = Lrm,
        /// bytes from a tile to the next within a buffer (flow).
        30 lrm_step = LrmStep,
        /// tiles of one buffer of a ring (flow).
        31 group = Group,
        /// buffers of a ring; 0: no ring, tiles land (leave) one after another (flow).
        32 ring = Ring,
        /// bytes from a buffer of the ring to the next (flow).
        33 ring_step = RingStep,
        /// LRM byte address of the datum (RAU).
        34 data = Data,
        /// LRM byte address of the valid word plus 1; 0: none is written (RAU load).
        35 valid = Valid,
        /// elements that may be addressed; an index outside 0..limit is invalid (RAU).
        36 limit = Limit,
        /// external byte address of the first row (DMA).
        37 ext = Ext,
        /// bytes of a row (DMA).
        38 bytes = Bytes,
        /// bytes from a row to the next on the external side (DMA).
        39 ext_pitch = ExtPitch,
    }
}
