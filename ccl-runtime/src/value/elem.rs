//! Element types and what may stand beside a per-PE value.

use super::{Fx, Q};
use crate::native::{Id, Lane};

/// What a per-PE value may hold: `i8`, `i16`, `i32`, `i64`, `u8`, `u16`, `bool`, `Fx<F>`.
#[diagnostic::on_unimplemented(
    message = "a PE has no `{Self}`",
    label = "not an element type",
    note = "elements are `i8`, `i16`, `i32`, `i64`, `u8`, `u16`, `bool` and `Fx<F>`"
)]
pub trait Elem: Copy + std::fmt::Debug + 'static {
    /// How the host keeps it.
    type Lane: Lane;
    /// As the host keeps it.
    fn to_lane(self) -> Self::Lane;
    /// From what the host keeps.
    fn from_lane(lane: Self::Lane) -> Self;
}

/// Numbers: they add, subtract and compare.
#[diagnostic::on_unimplemented(message = "`{Self}` is no number", note = "numbers are integers and `Fx<F>`")]
pub trait Num: Elem {}

/// Integers: they multiply and have bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no integer",
    label = "an integer is needed here",
    note = "a product of fixed-point numbers names its format: `fx_mul::<F>(a, b)`",
    note = "the bits of a fixed-point number are `x.raw()`, its nearest integer is `x.round(HalfEven)`"
)]
pub trait Int: Num {}

/// Types that hold bits: integers and `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bit operations",
    note = "the bits of a fixed-point number are `x.raw()`, bits become one by `fx_raw::<F>(x)`"
)]
pub trait Bits: Elem {}

/// What may stand beside a `Q<T>`: another, or a scalar of the same type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and a per-PE value of `{T}` do not go together",
    label = "unlike element types",
    note = "fixed-point numbers need the same fraction bits: `x.rescale::<F>(HalfEven, Saturate)` changes them",
    note = "integers need the same width: `x.widen::<i32>()`, `x.narrow::<i8>(Saturate)`"
)]
pub trait Operand<T: Elem>: Copy {
    /// As a per-PE value.
    #[doc(hidden)]
    fn into_id(self) -> Id;
}

impl<T: Elem> Operand<T> for Q<T> {
    #[inline]
    fn into_id(self) -> Id {
        self.handle()
    }
}

/// What a `Q<T>` multiplies with.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no factor for a per-PE value of `{T}`",
    label = "`*` multiplies integers of the same width",
    note = "a product of fixed-point numbers names its format: `fx_mul::<F>(a, b)`",
    note = "integers need the same width: `x.widen::<i32>()`, `x.narrow::<i8>(Saturate)`"
)]
pub trait Factor<T: Elem>: Operand<T> {}
impl<T: Int> Factor<T> for Q<T> {}

/// What the bits of a `Q<T>` are combined with.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bits to combine with a per-PE value of `{T}`",
    label = "bit operations take integers of the same width, or conditions",
    note = "the bits of a fixed-point number are `x.raw()`, bits become one by `fx_raw::<F>(x)`",
    note = "integers need the same width: `x.widen::<i32>()`, `x.narrow::<i8>(Saturate)`"
)]
pub trait BitOperand<T: Elem>: Operand<T> {}
impl<T: Bits> BitOperand<T> for Q<T> {}

/// Integers that hold every value of `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold every `{T}`",
    note = "use `narrow::<{Self}>(Saturate)`, which says what becomes of the others"
)]
pub trait Widens<T>: Elem {}

macro_rules! scalars {
    (@ Int $T:ty) => {
        impl Int for $T {}
        impl Factor<$T> for $T {}
    };
    (@ Bits $T:ty) => {
        impl Bits for $T {}
        impl BitOperand<$T> for $T {}
    };
    (@ Num $T:ty) => {
        impl Num for $T {}
    };
    ($( $T:ty: $($Trait:ident),*; )*) => { $(
        impl Elem for $T {
            type Lane = $T;
            #[inline]
            fn to_lane(self) -> $T {
                self
            }
            #[inline]
            fn from_lane(lane: $T) -> Self {
                lane
            }
        }
        $( scalars!(@ $Trait $T); )*
        impl Operand<$T> for $T {
            #[inline]
            fn into_id(self) -> Id {
                <$T as Lane>::splat(self)
            }
        }
    )* };
}
scalars! {
    i8: Num, Int, Bits;
    i16: Num, Int, Bits;
    i32: Num, Int, Bits;
    i64: Num, Int, Bits;
    u8: Num, Int, Bits;
    u16: Num, Int, Bits;
    bool: Bits;
}

impl<const F: usize> Elem for Fx<F> {
    type Lane = i32;
    #[inline]
    fn to_lane(self) -> i32 {
        self.raw()
    }
    #[inline]
    fn from_lane(lane: i32) -> Self {
        Self::from_raw(lane)
    }
}
impl<const F: usize> Num for Fx<F> {}
impl<const F: usize> Operand<Fx<F>> for Fx<F> {
    #[inline]
    fn into_id(self) -> Id {
        <i32 as Lane>::splat(self.raw())
    }
}

macro_rules! widens {
    ($( $T:ty => $($Wide:ty),*; )*) => { $($( impl Widens<$T> for $Wide {} )*)* };
}
widens! {
    bool => i8, i16, i32, i64, u8, u16;
    i8 => i8, i16, i32, i64;
    u8 => u8, u16, i16, i32, i64;
    i16 => i16, i32, i64;
    u16 => u16, i32, i64;
    i32 => i32, i64;
    i64 => i64;
}
