//! Functions of per-PE values and scalars.

use super::elem::{Elem, Num, Operand};
use super::{Axis, Direction, Fx, Q, Reduction};
use crate::native::lane::{self, Binary, Unary};
use crate::native::{Id, Lane};
use crate::tensor::{Acc, Lrm};

/// A scalar in every PE.
pub fn splat<T: Elem>(v: T) -> Q<T> {
    Q::of(T::Lane::splat(v.to_lane()))
}

/// Row of the PE, 0 at the north.
pub fn q_row() -> Q<i32> {
    Q::of(lane::place(false))
}

/// Column of the PE, 0 at the west; negative and beyond the last in the border.
pub fn q_col() -> Q<i32> {
    Q::of(lane::place(true))
}

/// Whether the condition holds in any enabled PE.
pub fn any(condition: Q<bool>) -> bool {
    lane::any(condition.handle(), true)
}

/// Whether it holds in every enabled PE.
pub fn all(condition: Q<bool>) -> bool {
    !lane::any(condition.handle(), false)
}

/// What moves between PEs: a value, or the elements of a buffer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot move between PEs",
    note = "`shift` takes `Q<T>` or `&Lrm<T, N>`, of a row `a.row(-1).slice::<4>(0)`"
)]
pub trait Moves {
    /// What arrives.
    type Out;
    #[doc(hidden)]
    fn moved(self, to: Direction, hops: usize) -> Self::Out;
}
impl<T: Elem> Moves for Q<T> {
    type Out = Q<T>;
    fn moved(self, to: Direction, hops: usize) -> Q<T> {
        Q::of(T::Lane::shift_pe(self.handle(), to, hops))
    }
}
impl<T: Elem, const N: usize> Moves for &Lrm<T, N> {
    type Out = Lrm<T, N>;
    fn moved(self, to: Direction, hops: usize) -> Lrm<T, N> {
        Lrm::of(std::array::from_fn(|i| self[i].moved(to, hops)))
    }
}
impl<T: Elem, const N: usize> Moves for Lrm<T, N> {
    type Out = Self;
    fn moved(self, to: Direction, hops: usize) -> Self {
        (&self).moved(to, hops)
    }
}

/// The value `hops` PEs away moves here, or the elements of a buffer, by words; 0 comes in at the edge, border columns take part.
pub fn shift<X: Moves>(x: X, to: Direction, hops: usize) -> X::Out {
    x.moved(to, hops)
}

/// Reduces over enabled PEs; each PE of the row, column or array receives the result, the border 0.
pub fn reduce<T: Elem>(x: Q<T>, op: Reduction, over: Axis) -> Q<T> {
    Q::of(T::Lane::reduce(x.handle(), op, over))
}

/// Two numbers that are compared: the result is a scalar if both are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` have no common type",
    note = "both need the same element type: `widen`, `narrow` and `rescale` change it"
)]
pub trait Pair<R> {
    /// A scalar or a per-PE value.
    type Out;
    #[doc(hidden)]
    fn lesser(self, rhs: R) -> Self::Out;
    #[doc(hidden)]
    fn greater(self, rhs: R) -> Self::Out;
}

impl<T: Num, R: Operand<T>> Pair<R> for Q<T> {
    type Out = Q<T>;
    fn lesser(self, rhs: R) -> Q<T> {
        Q::of(T::Lane::binary(Binary::Min, self.handle(), rhs.into_id()))
    }
    fn greater(self, rhs: R) -> Q<T> {
        Q::of(T::Lane::binary(Binary::Max, self.handle(), rhs.into_id()))
    }
}

/// What a scalar can be blended with, and [`Pair`] for it.
macro_rules! scalars {
    ($($T:ty),*; with lanes $($L:ty),*) => {
        $( impl Pair<$T> for $T {
            type Out = $T;
            #[inline]
            fn lesser(self, rhs: $T) -> $T {
                Ord::min(self, rhs)
            }
            #[inline]
            fn greater(self, rhs: $T) -> $T {
                Ord::max(self, rhs)
            }
        } )*
        $( impl Pair<Q<$L>> for $L {
            type Out = Q<$L>;
            fn lesser(self, rhs: Q<$L>) -> Q<$L> {
                Pair::lesser(rhs, self)
            }
            fn greater(self, rhs: Q<$L>) -> Q<$L> {
                Pair::greater(rhs, self)
            }
        }
        blend_scalar!([] $L); )*
    };
}
macro_rules! blend_scalar {
    ([$($generics:tt)*] $T:ty) => {
        impl<$($generics)*> Blend<$T> for $T {
            type Out = Q<$T>;
            fn blend(condition: Q<bool>, a: $T, b: $T) -> Q<$T> {
                blend_ids(condition, a.into_id(), b.into_id())
            }
        }
        impl<$($generics)*> Blend<Q<$T>> for $T {
            type Out = Q<$T>;
            fn blend(condition: Q<bool>, a: $T, b: Q<$T>) -> Q<$T> {
                blend_ids(condition, a.into_id(), b.handle())
            }
        }
    };
}
scalars!(i8, i16, i32, i64, u8, u16, u32, u64, usize; with lanes i8, i16, i32, i64, u8, u16);
blend_scalar!([] bool);
blend_scalar!([const F: usize] Fx<F>);

impl<const F: usize> Pair<Fx<F>> for Fx<F> {
    type Out = Fx<F>;
    fn lesser(self, rhs: Fx<F>) -> Fx<F> {
        Ord::min(self, rhs)
    }
    fn greater(self, rhs: Fx<F>) -> Fx<F> {
        Ord::max(self, rhs)
    }
}
impl<const F: usize> Pair<Q<Fx<F>>> for Fx<F> {
    type Out = Q<Fx<F>>;
    fn lesser(self, rhs: Q<Fx<F>>) -> Q<Fx<F>> {
        Pair::lesser(rhs, self)
    }
    fn greater(self, rhs: Q<Fx<F>>) -> Q<Fx<F>> {
        Pair::greater(rhs, self)
    }
}

/// The lesser; of constants too.
pub fn min<A: Pair<B, Out = C>, B, C>(a: A, b: B) -> C {
    a.lesser(b)
}

/// The greater; of constants too.
pub fn max<A: Pair<B, Out = C>, B, C>(a: A, b: B) -> C {
    a.greater(b)
}

/// `x` moved into `lo..=hi`.
pub fn clamp<X, L, H>(x: X, lo: L, hi: H) -> <X::Out as Pair<H>>::Out
where
    X: Pair<L>,
    X::Out: Pair<H>,
{
    x.greater(lo).lesser(hi)
}

/// What has an absolute value.
pub trait Absolute {
    #[doc(hidden)]
    fn absolute(self) -> Self;
}
impl<T: Num> Absolute for Q<T> {
    fn absolute(self) -> Self {
        Q::of(T::Lane::unary(Unary::Abs, self.handle()))
    }
}
macro_rules! absolute {
    ($($T:ty),*) => { $( impl Absolute for $T {
        fn absolute(self) -> Self {
            self.wrapping_abs()
        }
    } )* };
}
absolute!(i8, i16, i32, i64);
impl<const F: usize> Absolute for Fx<F> {
    fn absolute(self) -> Self {
        Fx::from_raw(self.raw().wrapping_abs())
    }
}

/// Absolute value, the least number excepted, which stays; of constants too.
pub fn abs<T: Absolute>(x: T) -> T {
    x.absolute()
}

fn blend_ids<T: Elem>(condition: Q<bool>, a: Id, b: Id) -> Q<T> {
    Q::of(T::Lane::select(condition.handle(), a, b))
}

/// Values of which each PE takes one or the other.
#[diagnostic::on_unimplemented(
    message = "the two values are of unlike types, `{Self}` and `{B}`",
    note = "under a condition of each PE both are computed, and each PE takes its own"
)]
pub trait Blend<B> {
    /// A per-PE value, or several.
    type Out;
    #[doc(hidden)]
    fn blend(condition: Q<bool>, a: Self, b: B) -> Self::Out;
}
impl<T: Elem, R: Operand<T>> Blend<R> for Q<T> {
    type Out = Q<T>;
    fn blend(condition: Q<bool>, a: Self, b: R) -> Q<T> {
        blend_ids(condition, a.handle(), b.into_id())
    }
}
impl<T: Elem, const N: usize> Blend<Lrm<T, N>> for Lrm<T, N> {
    type Out = Self;
    fn blend(condition: Q<bool>, a: Self, b: Self) -> Self {
        Lrm::of(std::array::from_fn(|i| Q::blend(condition, a[i], b[i])))
    }
}
impl<const N: usize> Blend<Acc<N>> for Acc<N> {
    type Out = Self;
    fn blend(condition: Q<bool>, a: Self, b: Self) -> Self {
        let (a, b) = (a.values(), b.values());
        Acc::of(std::array::from_fn(|i| Q::blend(condition, a[i], b[i])))
    }
}
impl<A: Blend<C>, B: Blend<D>, C, D> Blend<(C, D)> for (A, B) {
    type Out = (A::Out, B::Out);
    fn blend(condition: Q<bool>, a: Self, b: (C, D)) -> Self::Out {
        (A::blend(condition, a.0, b.0), B::blend(condition, a.1, b.1))
    }
}
impl Blend<()> for () {
    type Out = ();
    fn blend(_: Q<bool>, (): (), (): ()) {}
}

/// `a` where the condition holds, else `b`; both are computed.
pub fn select<A: Blend<B, Out = C>, B, C>(condition: Q<bool>, a: A, b: B) -> C {
    A::blend(condition, a, b)
}
