//! What can be bound to a name, assigned and handed out of a block.

use super::elem::Elem;
use super::{Axis, Direction, Fx, Overflow, Q, Reduction, Rounding, Scale};
use crate::native::Lane;
use crate::native::state;

/// Every type of the language. The methods are for the expansion of `ccl!`, through the functions of `__rt`; for what is no
/// per-PE value they do nothing.
#[diagnostic::on_unimplemented(message = "`{Self}` is no type of the language")]
pub trait Value: Sized {
    /// Gives the value a name that is not assigned.
    #[doc(hidden)]
    fn bind(self) -> Self {
        self
    }
    /// Makes it the first value of a variable.
    #[doc(hidden)]
    fn var(self) -> Self {
        self
    }
    /// The present value, whatever is assigned later.
    #[doc(hidden)]
    fn read(self) -> Self {
        self
    }
    /// Hands it to the scope `depth`.
    #[doc(hidden)]
    fn escape(&self, _depth: u32) {}
    /// Replaces it where PEs are enabled; a scalar if any is.
    #[doc(hidden)]
    fn assign(&mut self, v: Self) {
        if state::try_with(|s| s.scalars_enabled()).unwrap_or(true) {
            *self = v;
        }
    }
}

impl<T: Elem> Value for Q<T> {
    fn bind(self) -> Self {
        Q::of(T::Lane::bind(self.handle()))
    }
    fn var(self) -> Self {
        Q::of(T::Lane::home(self.handle()))
    }
    fn read(self) -> Self {
        Q::of(T::Lane::read(self.handle()))
    }
    fn escape(&self, depth: u32) {
        T::Lane::escape(self.handle(), depth);
    }
    fn assign(&mut self, v: Self) {
        T::Lane::assign(self.handle_mut(), v.handle());
    }
}

macro_rules! plain {
    ($($T:ty),* $(,)?) => { $( impl Value for $T {} )* };
}
plain!(i8, i16, i32, i64, u8, u16, u32, u64, usize, bool, f64, Scale, Rounding, Overflow, Direction, Reduction, Axis);
impl<const F: usize> Value for Fx<F> {}
impl<T> Value for &T {}
impl<T> Value for &mut T {}
impl<T> Value for &[T] {}
impl<T> Value for std::ops::Range<T> {}
impl<T> Value for std::ops::RangeInclusive<T> {}

impl<T: Value, const N: usize> Value for [T; N] {
    fn bind(self) -> Self {
        self.map(T::bind)
    }
    fn var(self) -> Self {
        self.map(T::var)
    }
    fn read(self) -> Self {
        self.map(T::read)
    }
    fn escape(&self, depth: u32) {
        self.iter().for_each(|v| v.escape(depth));
    }
    fn assign(&mut self, v: Self) {
        self.iter_mut().zip(v).for_each(|(place, v)| place.assign(v));
    }
}

macro_rules! tuples {
    ($( ($($T:ident $n:tt),*) )*) => { $(
        impl<$($T: Value),*> Value for ($($T,)*) {
            fn bind(self) -> Self {
                ($( self.$n.bind(), )*)
            }
            fn var(self) -> Self {
                ($( self.$n.var(), )*)
            }
            fn read(self) -> Self {
                ($( self.$n.read(), )*)
            }
            fn escape(&self, _depth: u32) {
                $( self.$n.escape(_depth); )*
            }
            fn assign(&mut self, _v: Self) {
                $( self.$n.assign(_v.$n); )*
            }
        }
    )* };
}
#[allow(clippy::unused_unit, reason = "the empty tuple is one of them")]
const _: () = {
    tuples! { () (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) (A 0, B 1, C 2, D 3, E 4, F 5) }
};
