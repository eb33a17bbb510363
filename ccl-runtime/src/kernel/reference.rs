//! Whether a reference takes what its kernel takes, found by the compiler's types and told by a trait that the macro declares for the
//! kernel, with the wanted signature in its text.
//!
//! [`ask`] with the wanted parameters gives a question; its `fits` is a method of its own where the function has them, and that of
//! [`Otherwise`], in scope by import, where it has not.

use std::marker::PhantomData;

/// Functions by their parameters, as a tuple, and result.
#[diagnostic::on_unimplemented(message = "a reference is a function of at most 32 parameters", label = "this is none")]
pub trait Function<Params, Result> {
    /// Calls it.
    fn call(self, params: Params) -> Result;
}

macro_rules! functions {
    () => {};
    ($First:ident $($Rest:ident)*) => {
        functions!(@ $First $($Rest)*);
        functions!($($Rest)*);
    };
    (@ $($P:ident)*) => {
        #[diagnostic::do_not_recommend]
        #[allow(non_snake_case, reason = "a parameter is named after its type")]
        impl<F: FnOnce($($P),*) -> R, R, $($P),*> Function<($($P,)*), R> for F {
            fn call(self, ($($P,)*): ($($P,)*)) -> R {
                self($($P),*)
            }
        }
    };
}
functions!(P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22 P23 P24 P25 P26 P27 P28 P29 P30 P31 P32);

/// A function with the parameters and the result that it has, and the parameters wanted of it.
#[derive(Debug)]
pub struct Question<F, Params, Result, Wanted> {
    function: F,
    types: PhantomData<(Params, Result, Wanted)>,
}

/// Asks whether a function takes `Wanted`.
pub fn ask<Wanted, F: Function<Params, Result>, Params, Result>(function: F) -> Question<F, Params, Result, Wanted> {
    Question { function, types: PhantomData }
}

impl<F: Function<Wanted, ()>, Wanted> Question<F, Wanted, (), Wanted> {
    /// It does.
    pub fn fits(self) -> Fitting<F> {
        Fitting(self.function)
    }
}

/// The answer where the question has none of its own.
pub trait Otherwise: Sized {
    /// It does not.
    fn fits(self) -> AnotherSignature {
        AnotherSignature
    }
}
impl<F, Params, Result, Wanted> Otherwise for Question<F, Params, Result, Wanted> {}

/// A function that takes what is wanted.
#[derive(Debug)]
pub struct Fitting<F>(F);

/// A function that does not.
#[derive(Debug)]
pub struct AnotherSignature;

/// What either answer can be asked, so that a wrong signature is one error.
pub trait Call<Params> {
    /// Calls the function, if it fits.
    fn call(self, params: Params);
}
impl<F: Function<Params, ()>, Params> Call<Params> for Fitting<F> {
    fn call(self, params: Params) {
        self.0.call(params);
    }
}
impl<Params> Call<Params> for AnotherSignature {
    fn call(self, _: Params) {}
}
