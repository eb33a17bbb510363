//! Operators. Where Rust cannot overload one (comparison, logic, assignment), `__rt` has a function.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Shr, Sub};

use super::elem::{BitOperand, Bits, Elem, Factor, Int, Num, Operand};
use super::{Fx, Overflow, Q, Rounding, Widens};
use crate::native::lane::{Binary, Cmp, Unary};
use crate::native::{Id, Lane};

macro_rules! binary {
    ($( $Trait:ident $method:ident, $Bound:ident $Rhs:ident: $($Scalar:ty),*; )*) => { $(
        impl<T: $Bound, R: $Rhs<T>> $Trait<R> for Q<T> {
            type Output = Q<T>;
            fn $method(self, rhs: R) -> Q<T> {
                Q::of(T::Lane::binary(Binary::$Trait, self.handle(), rhs.into_id()))
            }
        }
        $( impl $Trait<Q<$Scalar>> for $Scalar {
            type Output = Q<$Scalar>;
            fn $method(self, rhs: Q<$Scalar>) -> Q<$Scalar> {
                Q::of(<$Scalar as Lane>::binary(Binary::$Trait, self.into_id(), rhs.handle()))
            }
        } )*
    )* };
}

binary! {
    Add add, Num Operand: i8, i16, i32, i64, u8, u16;
    Sub sub, Num Operand: i8, i16, i32, i64, u8, u16;
    Mul mul, Num Factor: i8, i16, i32, i64, u8, u16;
}

macro_rules! bitwise {
    ($( $Trait:ident $method:ident $Op:ident; )*) => { $(
        impl<T: Elem, R: BitOperand<T>> $Trait<R> for Q<T> {
            type Output = Q<T>;
            fn $method(self, rhs: R) -> Q<T> {
                Q::of(T::Lane::binary(Binary::$Op, self.handle(), rhs.into_id()))
            }
        }
        bitwise_scalar!($Trait $method $Op: i8, i16, i32, i64, u8, u16, bool);
    )* };
}
macro_rules! bitwise_scalar {
    ($Trait:ident $method:ident $Op:ident: $($Scalar:ty),*) => { $(
        impl $Trait<Q<$Scalar>> for $Scalar {
            type Output = Q<$Scalar>;
            fn $method(self, rhs: Q<$Scalar>) -> Q<$Scalar> {
                Q::of(<$Scalar as Lane>::binary(Binary::$Op, self.into_id(), rhs.handle()))
            }
        }
    )* };
}
bitwise! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

macro_rules! fixed_left {
    ($( $Trait:ident $method:ident $scalar:ident; )*) => { $(
        impl<const F: usize> $Trait<Q<Fx<F>>> for Fx<F> {
            type Output = Q<Fx<F>>;
            fn $method(self, rhs: Q<Fx<F>>) -> Q<Fx<F>> {
                Q::of(i32::binary(Binary::$Trait, self.into_id(), rhs.handle()))
            }
        }
        impl<const F: usize> $Trait for Fx<F> {
            type Output = Fx<F>;
            fn $method(self, rhs: Fx<F>) -> Fx<F> {
                Fx::from_raw(self.raw().$scalar(rhs.raw()))
            }
        }
    )* };
}
fixed_left! {
    Add add wrapping_add;
    Sub sub wrapping_sub;
}

impl<T: Num> Neg for Q<T> {
    type Output = Q<T>;
    fn neg(self) -> Q<T> {
        Q::of(T::Lane::unary(Unary::Neg, self.handle()))
    }
}
impl<const F: usize> Neg for Fx<F> {
    type Output = Fx<F>;
    fn neg(self) -> Fx<F> {
        Fx::from_raw(self.raw().wrapping_neg())
    }
}
impl<T: Bits> Not for Q<T> {
    type Output = Q<T>;
    fn not(self) -> Q<T> {
        Q::of(T::Lane::unary(Unary::Not, self.handle()))
    }
}

/// By how much a value is shifted.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// The same in every PE.
    Scalar(u32),
    /// A vector of `i32`.
    Lanes(Id),
}

/// What may stand behind `<<` and `>>`: a scalar, or a `Q<i32>`.
#[diagnostic::on_unimplemented(message = "`{Self}` is no number of bits", note = "shift by an integer or a `Q<i32>`")]
pub trait ShiftAmount: Copy {
    #[doc(hidden)]
    fn amount(self) -> Amount;
}
macro_rules! amounts {
    ($($T:ty),*) => { $( impl ShiftAmount for $T {
        #[inline]
        fn amount(self) -> Amount {
            Amount::Scalar(self as u32)
        }
    } )* };
}
amounts!(i8, i16, i32, i64, u8, u16, u32, u64, usize);
impl ShiftAmount for Q<i32> {
    fn amount(self) -> Amount {
        Amount::Lanes(self.handle())
    }
}

fn shifted<T: Num>(v: Q<T>, left: bool, by: Amount) -> Q<T> {
    Q::of(match by {
        Amount::Scalar(n) => T::Lane::shift_by(v.handle(), left, n),
        Amount::Lanes(n) => T::Lane::shift_lanes(v.handle(), left, n),
    })
}

impl<T: Num, S: ShiftAmount> Shl<S> for Q<T> {
    type Output = Q<T>;
    fn shl(self, rhs: S) -> Q<T> {
        shifted(self, true, rhs.amount())
    }
}
impl<T: Num, S: ShiftAmount> Shr<S> for Q<T> {
    type Output = Q<T>;
    fn shr(self, rhs: S) -> Q<T> {
        shifted(self, false, rhs.amount())
    }
}

/// Comparison: `bool` of two scalars, `Q<bool>` where either side is a per-PE value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` cannot be compared",
    label = "unlike types",
    note = "both sides need the same element type: `widen`, `narrow` and `rescale` change it"
)]
pub trait Compare<R> {
    /// `bool` or `Q<bool>`.
    type Out;
    #[doc(hidden)]
    fn compare(self, op: Cmp, rhs: R) -> Self::Out;
}

impl<T: Elem, R: Operand<T>> Compare<R> for Q<T> {
    type Out = Q<bool>;
    fn compare(self, op: Cmp, rhs: R) -> Q<bool> {
        Q::of(T::Lane::compare(op, self.handle(), rhs.into_id()))
    }
}

macro_rules! compare_scalars {
    ($($T:ty),*; with lanes $($L:ty),*) => {
        $( impl Compare<$T> for $T {
            type Out = bool;
            #[inline]
            fn compare(self, op: Cmp, rhs: $T) -> bool {
                op.of(self, rhs)
            }
        } )*
        $( impl Compare<Q<$L>> for $L {
            type Out = Q<bool>;
            fn compare(self, op: Cmp, rhs: Q<$L>) -> Q<bool> {
                Q::of(<$L as Lane>::compare(op, self.into_id(), rhs.handle()))
            }
        } )*
    };
}
compare_scalars!(i8, i16, i32, i64, u8, u16, u32, u64, usize, bool; with lanes i8, i16, i32, i64, u8, u16, bool);

impl<const F: usize> Compare<Fx<F>> for Fx<F> {
    type Out = bool;
    fn compare(self, op: Cmp, rhs: Fx<F>) -> bool {
        op.of(self.raw(), rhs.raw())
    }
}
impl<const F: usize> Compare<Q<Fx<F>>> for Fx<F> {
    type Out = Q<bool>;
    fn compare(self, op: Cmp, rhs: Q<Fx<F>>) -> Q<bool> {
        Q::of(<i32 as Lane>::compare(op, self.into_id(), rhs.handle()))
    }
}

impl<T: Elem> Q<T> {
    /// The same value in a wider type.
    pub fn widen<U: Widens<T>>(self) -> Q<U> {
        Q::of(T::Lane::convert(self.handle(), U::Lane::TAG, Overflow::Wrap))
    }
}

impl<T: Int> Q<T> {
    /// The value in a narrower type; losing range names its overflow.
    pub fn narrow<U: Int>(self, overflow: Overflow) -> Q<U> {
        Q::of(T::Lane::convert(self.handle(), U::Lane::TAG, overflow))
    }

    /// `round(x / 2^n)`.
    pub fn shr_round(self, n: usize, rounding: Rounding) -> Q<T> {
        Q::of(T::Lane::shift_round(self.handle(), n.min(200) as u32, rounding))
    }
}
