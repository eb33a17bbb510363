//! What the expansion of `ccl!` calls. The rewrites, all of them; everything else keeps the user's tokens:
//!
//! | user | expansion |
//! | --- | --- |
//! | `{ stmts; tail }` (body of a function, a loop, an arm, a block) | `{ let __ccl_s = __rt::scope(); stmts; __ccl_s.leave(tail) }`; `__ccl_s` stays bound to the brace where there is no tail |
//! | `let p = e;` | `let p = __rt::bind(e);` |
//! | `let mut a = e;`, a pattern with a `mut` | `let mut a = __rt::var(e);` |
//! | parameter `a: T`, `mut a: T`, no reference | first in the body `let a = __rt::bind(a);`, `let mut a = __rt::var(a);` |
//! | `return e;` | `return __ccl_f.leave(e);` where `__ccl_f` is the scope of the function's body |
//! | `a = e;`, `a[i] = e;`, `*a = e;` | `__rt::assign(e, &mut a);`, .. `&mut a[i]`, `&mut *a`; the value first, so that it may read the place |
//! | `a[i..j] = e;` | `__rt::assign_range(e, &mut a[i..j]);` |
//! | `a += e;` and its like | `__rt::add_assign(e, &mut a);`, .. |
//! | `a < b` and its like | `__rt::lt(a, b)`, ..; where the front end knows both sides for scalars it stays: an integer whose type is only found later would leave the result open too long |
//! | `a && b`, `a \|\| b` | `__rt::and(a, \|\| b)`, `__rt::or(a, \|\| b)`; of scalars it stays |
//! | `if c { .. } else { .. }` where the front end knows `c` for a scalar | stays |
//! | `if c { .. } else { .. }` as a statement | `{ let __ccl_b = __rt::branch(c); if let Some(__ccl_m) = __rt::Branch::then_arm(&__ccl_b) { .. } if let Some(__ccl_m) = __rt::Branch::else_arm(&__ccl_b) { .. } }` |
//! | the same with a value | `{ let __ccl_b = __rt::branch(c); let __ccl_t = match __rt::Branch::then_value(&__ccl_b) { Some(__ccl_m) => Some({ .. }), None => None }; let __ccl_e = match ..else_value..; __rt::join(__ccl_b, __ccl_t, __ccl_e) }` |
//! | `while c { .. }` under `#[bound(n)]` | `{ let mut __ccl_w = __rt::while_loop(n); while let Some(__ccl_m) = { let __ccl_s = __rt::scope(); __ccl_w.step(c) } { .. } }` |
//! | `probe!(a)`, `assert!(c, "text")` | `__rt::probe("a", &a)`, `__rt::assert(c, "text")` |
//! | `ROWS`, `COLS` | `__rt::rows()`, `__rt::cols()` |
//! | a `let mut` local or an element of one, read in an expression that holds a block, an `if` or a `&mut` | `__rt::read(a)`: the value of now, whatever the rest of the expression assigns |
//! | a name of the language | its full path, `::ccl_runtime::prelude::mac`; traits with methods come in by `use __rt::methods::*`, nameless |
//!
//! `f(&mut a)`, `a.f(b)`, `a[i]`, `a.0`, operators on numbers, calls and literals stay as they are.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};

use crate::native::lane::{Cmp, Lane};
use crate::native::state;
use crate::native::{Cause, Id};
use crate::native::{Probe, Probes};
use crate::tensor::{Acc, Lrm};
use crate::value::{Blend, Compare, Elem, Fx, Q, Value};

/// Traits whose methods the language has: their names come in with no name of their own.
pub mod methods {
    pub use crate::tensor::Slices as _;
}

// ---- scopes and names ----

/// The values of a block; they go when it is dropped.
#[derive(Debug)]
#[must_use = "a scope lasts until its guard is dropped"]
pub struct Scope {
    depth: usize,
}

/// Begins a block.
pub fn scope() -> Scope {
    Scope { depth: state::with(|s| s.open()) }
}

impl Scope {
    /// Hands a value to the block around.
    pub fn leave<T: Value>(&self, value: T) -> T {
        value.escape(self.depth as u32 - 1);
        value
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        state::try_with(|s| s.close(self.depth));
    }
}

/// Gives a value a name.
pub fn bind<T: Value>(value: T) -> T {
    value.bind()
}

/// Makes a value the first one of a variable.
pub fn var<T: Value>(value: T) -> T {
    value.var()
}

/// The present value of a variable.
pub fn read<T: Value + Copy>(value: T) -> T {
    value.read()
}

// ---- assignment ----

/// `place = value`, where PEs are enabled; scalars if any is.
pub fn assign<T: Value>(value: T, place: &mut T) {
    place.assign(value);
}

/// Several elements as the value of an assignment to a range.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be assigned to a range of elements of `{T}`")]
pub trait Several<T> {
    #[doc(hidden)]
    fn each(self, f: impl FnMut(usize, Q<T>));
    #[doc(hidden)]
    const COUNT: usize;
}
impl<T, const N: usize> Several<T> for [Q<T>; N] {
    const COUNT: usize = N;
    fn each(self, mut f: impl FnMut(usize, Q<T>)) {
        self.into_iter().enumerate().for_each(|(i, v)| f(i, v));
    }
}
impl<T: Elem, const N: usize> Several<T> for Lrm<T, N> {
    const COUNT: usize = N;
    fn each(self, f: impl FnMut(usize, Q<T>)) {
        self.values().each(f);
    }
}
impl<T: Elem, const N: usize> Several<T> for &Lrm<T, N> {
    const COUNT: usize = N;
    fn each(self, f: impl FnMut(usize, Q<T>)) {
        self.values().each(f);
    }
}
impl<const N: usize> Several<i32> for Acc<N> {
    const COUNT: usize = N;
    fn each(self, f: impl FnMut(usize, Q<i32>)) {
        self.values().each(f);
    }
}

/// `place[i..j] = value`.
#[track_caller]
pub fn assign_range<T: Elem, V: Several<T>>(value: V, place: &mut [Q<T>]) {
    same_count(V::COUNT, place.len());
    value.each(|i, v| place[i].assign(v));
}

#[track_caller]
pub(crate) fn same_count(values: usize, places: usize) {
    if values != places {
        Cause::Outside { what: "elements of a range", first: 0, end: values, extent: places }.raise();
    }
}

macro_rules! op_assign {
    ($( $name:ident $Trait:ident $op:tt; )*) => { $(
        #[doc = concat!("`place ", stringify!($op), "= value`.")]
        #[track_caller]
        pub fn $name<T: Value + Copy + $Trait<V, Output = T>, V>(value: V, place: &mut T) {
            place.assign(*place $op value);
        }
    )* };
}
op_assign! {
    add_assign Add +;
    sub_assign Sub -;
    mul_assign Mul *;
    div_assign Div /;
    rem_assign Rem %;
    bitand_assign BitAnd &;
    bitor_assign BitOr |;
    bitxor_assign BitXor ^;
    shl_assign Shl <<;
    shr_assign Shr >>;
}

// ---- comparison and logic ----

macro_rules! compare {
    ($( $name:ident $Op:ident $op:tt; )*) => { $(
        #[doc = concat!("`a ", stringify!($op), " b`.")]
        #[inline]
        pub fn $name<A: Compare<B, Out = C>, B, C>(a: A, b: B) -> C {
            a.compare(Cmp::$Op, b)
        }
    )* };
}
compare! {
    eq Eq ==;
    ne Ne !=;
    lt Lt <;
    le Le <=;
    gt Gt >;
    ge Ge >=;
}

/// Conditions: `bool`, `Q<bool>`.
#[diagnostic::on_unimplemented(message = "`{Self}` is no condition", note = "a condition is `bool` or `Q<bool>`")]
pub trait Condition: Sized {
    /// Which arms of an `if` run.
    type Branch: Branch;
    #[doc(hidden)]
    fn branch(self) -> Self::Branch;
    /// Enters the next round of a loop.
    #[doc(hidden)]
    fn step(self, state: &mut While) -> Option<Mask>;
    /// First PE in which it does not hold.
    #[doc(hidden)]
    fn fails(self) -> Option<Option<(usize, usize)>>;
}

/// `&&` and `||` of two conditions.
#[diagnostic::on_unimplemented(message = "`{Self}` and `{R}` are not both conditions")]
pub trait Logic<R> {
    /// `bool`, or `Q<bool>` where either is.
    type Out;
    #[doc(hidden)]
    fn and(self, rhs: impl FnOnce() -> R) -> Self::Out;
    #[doc(hidden)]
    fn or(self, rhs: impl FnOnce() -> R) -> Self::Out;
}
impl Logic<bool> for bool {
    type Out = bool;
    fn and(self, rhs: impl FnOnce() -> bool) -> bool {
        self && rhs()
    }
    fn or(self, rhs: impl FnOnce() -> bool) -> bool {
        self || rhs()
    }
}
impl Logic<Q<bool>> for bool {
    type Out = Q<bool>;
    fn and(self, rhs: impl FnOnce() -> Q<bool>) -> Q<bool> {
        self & rhs()
    }
    fn or(self, rhs: impl FnOnce() -> Q<bool>) -> Q<bool> {
        self | rhs()
    }
}
impl Logic<bool> for Q<bool> {
    type Out = Q<bool>;
    fn and(self, rhs: impl FnOnce() -> bool) -> Q<bool> {
        self & rhs()
    }
    fn or(self, rhs: impl FnOnce() -> bool) -> Q<bool> {
        self | rhs()
    }
}
impl Logic<Q<bool>> for Q<bool> {
    type Out = Q<bool>;
    fn and(self, rhs: impl FnOnce() -> Q<bool>) -> Q<bool> {
        self & rhs()
    }
    fn or(self, rhs: impl FnOnce() -> Q<bool>) -> Q<bool> {
        self | rhs()
    }
}

/// `a && b`; of scalars `b` is computed only where `a` holds.
pub fn and<A: Logic<B, Out = C>, B, C>(a: A, b: impl FnOnce() -> B) -> C {
    a.and(b)
}

/// `a || b`; of scalars `b` is computed only where `a` does not hold.
pub fn or<A: Logic<B, Out = C>, B, C>(a: A, b: impl FnOnce() -> B) -> C {
    a.or(b)
}

// ---- branches ----

/// PEs are disabled until it is dropped; or nothing is, of a scalar condition.
#[derive(Debug)]
#[must_use = "a mask lasts until its guard is dropped"]
pub struct Mask {
    /// Masks outside of it.
    height: Option<usize>,
}

impl Mask {
    const NONE: Mask = Mask { height: None };

    fn push(condition: Id, on: bool) -> Self {
        Self {
            height: state::with(|s| {
                let lanes = s.lanes::<bool>(condition).to_vec();
                s.push_mask(&lanes, on);
                Some(s.masks.len() - 1)
            }),
        }
    }

    /// `None` where no PE is left, not even in the border: then nothing in the arm has an effect.
    fn push_if_any(condition: Id, on: bool) -> Option<Self> {
        let mask = Self::push(condition, on);
        state::with(|s| s.masks.last().is_some_and(|mask| mask.any)).then_some(mask)
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        if let Some(height) = self.height {
            state::try_with(|s| s.masks.truncate(height));
        }
    }
}

/// Which arms run.
pub trait Branch {
    /// The first arm of a statement.
    fn then_arm(&self) -> Option<Mask>;
    /// The other arm.
    fn else_arm(&self) -> Option<Mask>;
    /// The first arm, for its value.
    fn then_value(&self) -> Option<Mask>;
    /// The other arm, for its value.
    fn else_value(&self) -> Option<Mask>;
}

/// The values of two arms.
pub trait Join<A, B> {
    /// Of a scalar condition the type of both; under a condition of each PE a per-PE value.
    type Out;
    #[doc(hidden)]
    fn join(self, then: Option<A>, otherwise: Option<B>) -> Self::Out;
}

/// The value of the arm that ran; under a condition of each PE for each PE that of its arm.
pub fn join<J: Join<A, B, Out = C>, A, B, C>(branch: J, then: Option<A>, otherwise: Option<B>) -> C {
    branch.join(then, otherwise)
}

/// A branch on a scalar.
#[derive(Debug)]
pub struct ScalarBranch(bool);

impl<V> Join<V, V> for ScalarBranch {
    type Out = V;
    fn join(self, then: Option<V>, otherwise: Option<V>) -> V {
        then.or(otherwise).expect("one arm of a branch runs")
    }
}
impl Branch for ScalarBranch {
    fn then_arm(&self) -> Option<Mask> {
        self.0.then_some(Mask::NONE)
    }
    fn else_arm(&self) -> Option<Mask> {
        (!self.0).then_some(Mask::NONE)
    }
    fn then_value(&self) -> Option<Mask> {
        self.then_arm()
    }
    fn else_value(&self) -> Option<Mask> {
        self.else_arm()
    }
}

/// A branch of each PE: both arms run, under a mask.
#[derive(Debug)]
pub struct LaneBranch(Q<bool>);

impl<A: Blend<B>, B> Join<A, B> for LaneBranch {
    type Out = A::Out;
    fn join(self, then: Option<A>, otherwise: Option<B>) -> A::Out {
        let (Some(then), Some(otherwise)) = (then, otherwise) else { panic!("both arms run for their values") };
        A::blend(self.0, then, otherwise)
    }
}
impl Branch for LaneBranch {
    fn then_arm(&self) -> Option<Mask> {
        Mask::push_if_any(self.0.handle(), true)
    }
    fn else_arm(&self) -> Option<Mask> {
        Mask::push_if_any(self.0.handle(), false)
    }
    fn then_value(&self) -> Option<Mask> {
        Some(Mask::push(self.0.handle(), true))
    }
    fn else_value(&self) -> Option<Mask> {
        Some(Mask::push(self.0.handle(), false))
    }
}

impl Condition for bool {
    type Branch = ScalarBranch;
    fn branch(self) -> ScalarBranch {
        ScalarBranch(self)
    }
    fn step(self, _: &mut While) -> Option<Mask> {
        // Where only border PEs are enabled, scalars do not change: such a loop would not end.
        (self && state::with(|s| s.scalars_enabled())).then_some(Mask::NONE)
    }
    fn fails(self) -> Option<Option<(usize, usize)>> {
        (!self).then_some(None)
    }
}

impl Condition for Q<bool> {
    type Branch = LaneBranch;
    fn branch(self) -> LaneBranch {
        // The arms may assign the variable that it was read from.
        LaneBranch(bind(self))
    }
    fn step(self, state: &mut While) -> Option<Mask> {
        let lanes = state::with(|s| s.lanes::<bool>(self.handle()).to_vec());
        let active = match state.active.take() {
            None => lanes,
            Some(mut active) => {
                active.iter_mut().zip(lanes).for_each(|(active, lane)| *active &= lane);
                active
            }
        };
        let mask = state::with(|s| {
            s.push_mask(&active, true);
            Mask { height: Some(s.masks.len() - 1) }
        });
        state.active = Some(active);
        state::with(|s| s.masks.last().is_some_and(|mask| mask.any)).then_some(mask)
    }
    fn fails(self) -> Option<Option<(usize, usize)>> {
        state::with(|s| {
            let lanes = s.lanes::<bool>(self.handle());
            s.first_core(|lane| !lanes[lane])
        })
        .map(Some)
    }
}

/// Begins an `if`.
pub fn branch<C: Condition>(condition: C) -> C::Branch {
    condition.branch()
}

// ---- loops ----

/// A `while` in progress. Under a condition of each PE a PE that has left stays out.
#[derive(Debug)]
pub struct While {
    bound: usize,
    rounds: usize,
    active: Option<Vec<bool>>,
}

/// Begins a `while` of at most `bound` rounds.
pub fn while_loop(bound: usize) -> While {
    While { bound, rounds: 0, active: None }
}

impl While {
    /// Enters the next round, if there is one.
    #[track_caller]
    pub fn step<C: Condition>(&mut self, condition: C) -> Option<Mask> {
        let mask = condition.step(self)?;
        if self.rounds == self.bound {
            Cause::LoopBound { bound: self.bound }.raise();
        }
        self.rounds += 1;
        Some(mask)
    }
}

// ---- checks ----

/// `assert!(condition, "text")`.
#[track_caller]
pub fn assert<C: Condition>(condition: C, text: &str) {
    if let Some(pe) = condition.fails() {
        Cause::Assertion { text: text.to_owned(), pe }.raise();
    }
}

/// What can be probed.
pub trait Probed {
    #[doc(hidden)]
    fn probe(&self, name: &str);
}

fn record(name: &str, values: Vec<i64>, per_pe: bool) {
    state::with(|s| {
        let (cols, enabled) = match (per_pe, s.masks.last()) {
            (true, Some(mask)) => (s.geometry.cols, mask.lanes[..values.len()].to_vec()),
            (true, None) => (s.geometry.cols, vec![true; values.len()]),
            (false, _) => (0, vec![s.scalars_enabled()]),
        };
        let probe = Probe { name: name.to_owned(), values, cols, enabled };
        if s.probes() == Probes::Print {
            eprint!("{probe}");
        }
        s.record(probe);
    });
}

impl<T: Elem> Probed for Q<T> {
    fn probe(&self, name: &str) {
        let values = self.to_vec().into_iter().map(|v| v.to_lane().to_i64()).collect();
        record(name, values, true);
    }
}
impl<T: Elem, const N: usize> Probed for Lrm<T, N> {
    fn probe(&self, name: &str) {
        self.values().iter().enumerate().for_each(|(i, v)| v.probe(&format!("{name}[{i}]")));
    }
}
impl<const N: usize> Probed for Acc<N> {
    fn probe(&self, name: &str) {
        self.values().iter().enumerate().for_each(|(i, v)| v.probe(&format!("{name}[{i}]")));
    }
}
impl<T: Probed + ?Sized> Probed for &T {
    fn probe(&self, name: &str) {
        (**self).probe(name);
    }
}
impl<T: Probed, const N: usize> Probed for [T; N] {
    fn probe(&self, name: &str) {
        self.iter().enumerate().for_each(|(i, v)| v.probe(&format!("{name}[{i}]")));
    }
}
macro_rules! probed_scalars {
    ($($T:ty),*) => { $( impl Probed for $T {
        fn probe(&self, name: &str) {
            record(name, vec![*self as i64], false);
        }
    } )* };
}
probed_scalars!(i8, i16, i32, i64, u8, u16, u32, u64, usize, bool);
impl<const F: usize> Probed for Fx<F> {
    fn probe(&self, name: &str) {
        record(name, vec![self.raw() as i64], false);
    }
}

/// `probe!(value)`.
pub fn probe<T: Probed + ?Sized>(name: &str, value: &T) {
    if state::with(|s| s.probes()) != Probes::Off {
        value.probe(name);
    }
}

// ---- constants of the machine ----

/// Rows of the array.
pub fn rows() -> usize {
    state::with(|s| s.geometry.rows)
}

/// Columns of the array.
pub fn cols() -> usize {
    state::with(|s| s.geometry.cols)
}

/// Stands for a body with errors, which have been reported.
pub fn broken() -> ! {
    unreachable!("a kernel with errors does not build")
}
