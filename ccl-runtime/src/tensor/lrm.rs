//! Buffers in the local memory of every PE, and accumulators.

use std::ops::{Add, Index, IndexMut, Range, Sub};

use crate::native::state::Rows;
use crate::native::{Cause, Id, Lane, lane, simd};
use crate::value::{Elem, Int, Q, Value, Widens};

/// `N` elements in the local memory of every PE. A handle, freely copied; a copy keeps the values of its time.
///
/// `a[i]` is the element of every PE, `a[i..j]` a slice of them.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Lrm<T, const N: usize>([Q<T>; N]);

impl<T: Elem, const N: usize> Lrm<T, N> {
    pub(crate) const fn of(values: [Q<T>; N]) -> Self {
        Self(values)
    }

    pub(crate) const fn values(self) -> [Q<T>; N] {
        self.0
    }

    /// `N` elements in every PE, until the end of the block; contents undefined until written.
    #[allow(clippy::new_without_default, reason = "the language has no `Default`")]
    pub fn new() -> Self {
        Self::allocated(T::Lane::UNDEFINED)
    }

    /// As [`new`](Self::new), every element `v`.
    pub fn filled(v: T) -> Self {
        Self::allocated(v.to_lane())
    }

    fn allocated(v: T::Lane) -> Self {
        // The handles are placeholders until they are allocated.
        let mut values = [Q::of(Id::NONE); N];
        T::Lane::allocate(v, simd::ids_mut(&mut values));
        Self(values)
    }

    /// Elements `first..first + M` of every PE.
    #[track_caller]
    pub fn slice<const M: usize>(&self, first: usize) -> &Lrm<T, M> {
        Slices::slice(&self.0[..], first)
    }

    /// The rows that a halo delivers: elements of row `dy`, all columns of a block, all channels.
    #[track_caller]
    pub fn row(&self, dy: i32) -> &[Q<T>] {
        let rows = if N == 0 { Rows::ONE } else { lane::rows_of::<T::Lane>(self.0[0].handle()) };
        &self.0[row_of(rows, N, dy)]
    }
}

/// Which of `n` elements are row `dy`.
#[track_caller]
pub(crate) fn row_of(rows: Rows, n: usize, dy: i32) -> Range<usize> {
    let (above, n_rows) = (rows.above as i32, rows.n as i32);
    if dy < -above || dy >= n_rows - above {
        Cause::Row { dy, first: -above, last: n_rows - above - 1 }.raise();
    }
    let len = n / rows.n as usize;
    let first = (dy + above) as usize * len;
    first..first + len
}

/// Slices of the elements of a row.
pub trait Slices<T> {
    /// Elements `first..first + M` of every PE.
    fn slice<const M: usize>(&self, first: usize) -> &Lrm<T, M>;
}
impl<T: Elem> Slices<T> for [Q<T>] {
    #[track_caller]
    fn slice<const M: usize>(&self, first: usize) -> &Lrm<T, M> {
        match self.get(first..).and_then(|rest| rest.first_chunk::<M>()) {
            Some(values) => simd::lrm(values),
            None => Cause::Outside { what: "slice", first, end: first + M, extent: self.len() }.raise(),
        }
    }
}

macro_rules! index {
    ($($I:ty => $Out:ty),*) => { $(
        impl<T, const N: usize> Index<$I> for Lrm<T, N> {
            type Output = $Out;
            #[track_caller]
            fn index(&self, index: $I) -> &$Out {
                &self.0[index]
            }
        }
        impl<T, const N: usize> IndexMut<$I> for Lrm<T, N> {
            #[track_caller]
            fn index_mut(&mut self, index: $I) -> &mut $Out {
                &mut self.0[index]
            }
        }
    )* };
}
index!(usize => Q<T>, Range<usize> => [Q<T>]);

/// `N` 32-bit accumulators in every PE.
#[derive(Clone, Copy, Debug)]
pub struct Acc<const N: usize>([Q<i32>; N]);

impl<const N: usize> Acc<N> {
    pub(crate) const fn of(values: [Q<i32>; N]) -> Self {
        Self(values)
    }

    pub(crate) const fn values(self) -> [Q<i32>; N] {
        self.0
    }

    /// Accumulators of 0.
    pub fn zero() -> Self {
        Self(std::array::from_fn(|_| crate::value::splat(0)))
    }

    /// One accumulator as a value.
    #[track_caller]
    pub fn get(self, n: usize) -> Q<i32> {
        self.0[n]
    }
}

impl<const N: usize> Add for Acc<N> {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + rhs.0[i]))
    }
}
impl<const N: usize> Sub for Acc<N> {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - rhs.0[i]))
    }
}

/// Elements that are assigned one by one keep the rows of their buffer; a buffer takes those of its value.
fn take_rows<T: Elem>(to: &[Q<T>], from: &[Q<T>]) {
    if let (Some(to), Some(from)) = (to.first(), from.first()) {
        lane::take_rows::<T::Lane>(to.handle(), from.handle());
    }
}

macro_rules! value_of_array {
    ($([$($generics:tt)*] $T:ty),*) => { $(
        impl<$($generics)*> Value for $T {
            fn bind(self) -> Self {
                Self(self.0.bind())
            }
            fn var(self) -> Self {
                Self(self.0.var())
            }
            fn read(self) -> Self {
                Self(self.0.read())
            }
            fn escape(&self, depth: u32) {
                self.0.escape(depth);
            }
            fn assign(&mut self, v: Self) {
                self.0.assign(v.0);
                take_rows(&self.0, &v.0);
            }
        }
    )* };
}
value_of_array!([T: Elem, const N: usize] Lrm<T, N>, [const N: usize] Acc<N>);

/// Elements that a PE holds side by side: a buffer, a slice or row of one, an array of values, one value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no buffer of elements",
    note = "a buffer is `Lrm<T, N>`, a slice or row of one, or an array of `Q<T>`"
)]
pub trait Elements<T: Elem> {
    #[doc(hidden)]
    fn elements(&self) -> &[Q<T>];
}
impl<T: Elem, const N: usize> Elements<T> for Lrm<T, N> {
    fn elements(&self) -> &[Q<T>] {
        &self.0
    }
}
impl<T: Elem, const N: usize> Elements<T> for &Lrm<T, N> {
    fn elements(&self) -> &[Q<T>] {
        &self.0
    }
}
impl<T: Elem, const N: usize> Elements<T> for &mut Lrm<T, N> {
    fn elements(&self) -> &[Q<T>] {
        &self.0
    }
}
impl<T: Elem> Elements<T> for &[Q<T>] {
    fn elements(&self) -> &[Q<T>] {
        self
    }
}
impl<T: Elem, const N: usize> Elements<T> for [Q<T>; N] {
    fn elements(&self) -> &[Q<T>] {
        self
    }
}
impl<T: Elem> Elements<T> for Q<T> {
    fn elements(&self) -> &[Q<T>] {
        std::slice::from_ref(self)
    }
}

/// What [`lookup`] reads: a buffer, or constants.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no table",
    note = "a table is `Lrm<T, N>` or an array of constants"
)]
pub trait Table {
    /// Element type.
    type Elem: Elem;
    #[doc(hidden)]
    fn look_up(self, index: Id) -> Q<Self::Elem>;
}
impl<T: Elem, const N: usize> Table for Lrm<T, N> {
    type Elem = T;
    #[track_caller]
    fn look_up(self, index: Id) -> Q<T> {
        (&self).look_up(index)
    }
}
impl<T: Elem, const N: usize> Table for &Lrm<T, N> {
    type Elem = T;
    #[track_caller]
    fn look_up(self, index: Id) -> Q<T> {
        check_table(N);
        Q::of(T::Lane::lookup(simd::ids(&self.0), index))
    }
}
impl<T: Elem, const N: usize> Table for &mut Lrm<T, N> {
    type Elem = T;
    #[track_caller]
    fn look_up(self, index: Id) -> Q<T> {
        (&*self).look_up(index)
    }
}
impl<T: Elem, const N: usize> Table for [T; N] {
    type Elem = T;
    #[track_caller]
    fn look_up(self, index: Id) -> Q<T> {
        (&self).look_up(index)
    }
}
impl<T: Elem, const N: usize> Table for &[T; N] {
    type Elem = T;
    #[track_caller]
    fn look_up(self, index: Id) -> Q<T> {
        check_table(N);
        Q::of(T::Lane::lookup_const(&self.map(T::to_lane), index))
    }
}

#[track_caller]
pub(crate) fn check_table(len: usize) {
    if !len.is_power_of_two() {
        Cause::Table { len }.raise();
    }
}

/// Entry of a table that every PE holds, at an index of its own, modulo the table's length, a power of two.
#[track_caller]
pub fn lookup<B: Table, I: Int>(table: B, index: Q<I>) -> Q<B::Elem>
where
    i32: Widens<I>,
{
    table.look_up(crate::value::IntArg::into_i32(index))
}
