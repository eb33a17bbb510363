//! Per-PE values and scalars: types, operators, functions.
//!
//! [`Q<T>`] has one value of element type `T` ([`Elem`]) in every PE. Arithmetic wraps in the element type; a scalar of the
//! same type may stand on either side of an operator. What belongs to memory is in [`tensor`](crate::tensor).
//!
//! Unlike formats do not add, and a product names its format; rustc says so with what to write instead:
//!
//! ```compile_fail,E0277
//! # use ccl_runtime::prelude::*;
//! fn sum(a: Q<Fx<12>>, b: Q<Fx<16>>) -> Q<Fx<12>> {
//!     a + b
//! }
//! ```
//! ```compile_fail,E0277
//! # use ccl_runtime::prelude::*;
//! fn product(a: Q<Fx<12>>, b: Q<Fx<12>>) -> Q<Fx<12>> {
//!     a * b
//! }
//! ```
//! ```compile_fail,E0277
//! # use ccl_runtime::prelude::*;
//! fn narrower(a: Q<i32>) -> Q<i8> {
//!     a.widen::<i8>()
//! }
//! ```
//! ```
//! # use ccl_runtime::prelude::*;
//! fn fine(a: Q<Fx<12>>, b: Q<Fx<16>>, c: Q<i32>) -> (Q<Fx<12>>, Q<i8>) {
//!     (a + b.rescale::<12>(HalfEven, Saturate) + fx_mul::<12>(a, b), c.narrow::<i8>(Saturate))
//! }
//! ```

mod elem;
pub mod extent;
pub(crate) mod fixed;
mod functions;
mod ops;
mod place;

pub use elem::{BitOperand, Bits, Elem, Factor, Int, Num, Operand, Widens};
pub use fixed::{Fx, FxArg, FxConst, Scale, dequantize, exp, fx, fx_div, fx_mul, fx_raw, ln, quantize, requant};
pub use fixed::{IntArg, Requantize};
pub use functions::{
    Absolute, Blend, Pair, abs, all, any, clamp, max, min, q_col, q_row, reduce, select, shift, splat,
};
pub use ops::{Amount, Compare, ShiftAmount};
pub use place::Value;

use std::marker::PhantomData;

use crate::native::Id;

/// One value of type `T` in every PE: a handle, freely copied.
#[derive(Debug)]
#[repr(transparent)]
pub struct Q<T> {
    id: Id,
    elem: PhantomData<T>,
}

impl<T> Clone for Q<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Q<T> {}

impl<T: Elem> Q<T> {
    pub(crate) const fn of(id: Id) -> Self {
        Self { id, elem: PhantomData }
    }

    pub(crate) const fn handle(self) -> Id {
        self.id
    }

    pub(crate) const fn handle_mut(&mut self) -> &mut Id {
        &mut self.id
    }

    /// The value in each PE, row by row, without the border.
    pub fn to_vec(self) -> Vec<T> {
        crate::native::state::with(|s| s.lanes::<T::Lane>(self.id)[..s.geometry.core()].to_vec())
            .into_iter()
            .map(T::from_lane)
            .collect()
    }

    /// A value from what each PE holds, row by row, without the border, which receives 0.
    ///
    /// # Panics
    /// If there are more or fewer values than PEs.
    pub fn from_slice(values: &[T]) -> Self {
        let lanes: Vec<T::Lane> = values.iter().map(|v| v.to_lane()).collect();
        Self::of(crate::native::state::with(|s| {
            assert_eq!(lanes.len(), s.geometry.core(), "a value for each PE");
            let mut out = s.buffer();
            out.lanes.fill(T::Lane::default());
            out.lanes[..lanes.len()].copy_from_slice(&lanes);
            s.add(out)
        }))
    }
}

/// How a fraction becomes an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, ties to the even one: what ONNX means.
    HalfEven,
    /// To the nearest, ties upward: add half, shift.
    HalfUp,
    /// Toward minus infinity: a shift alone.
    Floor,
    /// Toward zero, as division does.
    TowardZero,
}

/// What becomes of a number that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The nearest end of the range.
    Saturate,
    /// Its low bits.
    Wrap,
}

/// Where a neighbour shift moves values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Toward row 0.
    North,
    /// Toward the last column.
    East,
    /// Toward the last row.
    South,
    /// Toward column 0.
    West,
}

/// How values are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Sum, wrapping.
    Sum,
    /// Greatest.
    Max,
    /// Least.
    Min,
}

/// Over which PEs values are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The PEs of a row.
    Row,
    /// The PEs of a column.
    Column,
    /// All PEs.
    Array,
}
