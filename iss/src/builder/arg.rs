//! What may stand for an operand in a call of the builder, and short constructors for it.
//!
//! Constructors take any number and never fail; the range is checked when the instruction is appended, and the error waits
//! for `finish`.

use std::marker::PhantomData;
use std::panic::Location;

use super::{Fixup, Label, Program};
use crate::isa::operand::*;

/// What may stand for an operand of type `T`.
pub trait Arg<T> {
    /// The operand, checked.
    #[track_caller]
    fn arg(self, program: &mut Program) -> Result<T, OperandError>;
}

impl<T: Operand> Arg<T> for T {
    fn arg(self, _: &mut Program) -> Result<T, OperandError> {
        Ok(self)
    }
}

/// A register or other number behind a prefix, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Num<T> {
    value: i64,
    of: PhantomData<T>,
}
impl<T> Num<T> {
    /// Any number.
    pub const fn new(value: i64) -> Self {
        Self { value, of: PhantomData }
    }
}

/// Scalar register `s{n}`.
pub const fn s(n: u32) -> Num<SReg> {
    Num::new(n as i64)
}
/// Accumulator `a{n}`.
pub const fn acc(n: u32) -> Num<Acc> {
    Num::new(n as i64)
}
/// Token `t{n}`.
pub const fn t(n: u32) -> Num<Token> {
    Num::new(n as i64)
}
/// Descriptor register `d{n}`.
pub const fn d(n: u32) -> Num<DReg> {
    Num::new(n as i64)
}
/// `n` fraction bits.
pub const fn q(n: u32) -> Num<Frac> {
    Num::new(n as i64)
}

/// A place in local memory, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    width: Width,
    base: Option<Num<SReg>>,
    bytes: u32,
}
impl At {
    /// The same, counted from the address in a scalar register (`s0`..`s7`).
    #[must_use]
    pub const fn based(self, reg: Num<SReg>) -> Self {
        Self { base: Some(reg), ..self }
    }
    fn lrm(self) -> Result<Lrm, OperandError> {
        match self.base {
            None => Lrm::abs(self.width, self.bytes),
            Some(reg) => Lrm::rel(self.width, u32::try_from(reg.value).unwrap_or(u32::MAX), self.bytes),
        }
    }
}

/// The word at a byte address of local memory.
pub const fn w(bytes: u32) -> At {
    At { width: Width::Word, base: None, bytes }
}
/// The half-word at a byte address of local memory.
pub const fn h(bytes: u32) -> At {
    At { width: Width::Half, base: None, bytes }
}
/// The byte at a byte address of local memory.
pub const fn b(bytes: u32) -> At {
    At { width: Width::Byte, base: None, bytes }
}

/// An immediate, not yet checked. Plain numbers stand for themselves too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imm(pub i64);

/// An immediate.
pub const fn imm(value: i64) -> Imm {
    Imm(value)
}

/// A number or a scalar register, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Imm(i64),
    /// The number of a scalar register.
    Reg(i64),
}
impl From<Num<SReg>> for Value {
    fn from(reg: Num<SReg>) -> Self {
        Value::Reg(reg.value)
    }
}
impl From<SReg> for Value {
    fn from(reg: SReg) -> Self {
        Value::Reg(reg.get() as i64)
    }
}
impl From<Imm> for Value {
    fn from(imm: Imm) -> Self {
        Value::Imm(imm.0)
    }
}

impl<const N: u32> Arg<ScalarSrc<N>> for Value {
    fn arg(self, _: &mut Program) -> Result<ScalarSrc<N>, OperandError> {
        match self {
            Value::Imm(value) => ScalarSrc::imm(value),
            Value::Reg(reg) => SReg::new(reg).map(ScalarSrc::Reg),
        }
    }
}
impl<const N: u32> Arg<ScalarSrc<N>> for Num<SReg> {
    fn arg(self, program: &mut Program) -> Result<ScalarSrc<N>, OperandError> {
        Value::from(self).arg(program)
    }
}
impl<const N: u32> Arg<ScalarSrc<N>> for SReg {
    fn arg(self, _: &mut Program) -> Result<ScalarSrc<N>, OperandError> {
        Ok(ScalarSrc::Reg(self))
    }
}
impl<const N: u32> Arg<ScalarSrc<N>> for Imm {
    fn arg(self, _: &mut Program) -> Result<ScalarSrc<N>, OperandError> {
        ScalarSrc::imm(self.0)
    }
}
impl Arg<Src> for Imm {
    fn arg(self, _: &mut Program) -> Result<Src, OperandError> {
        Src::imm(self.0)
    }
}
impl Arg<Tiles> for Imm {
    fn arg(self, _: &mut Program) -> Result<Tiles, OperandError> {
        Tiles::count(self.0)
    }
}

/// Operands that are one number: from `Num` and from an immediate.
macro_rules! numeric_args {
    ($($T:ident),*) => { $(
        impl Arg<$T> for Num<$T> {
            fn arg(self, _: &mut Program) -> Result<$T, OperandError> {
                $T::new(self.value)
            }
        }
    )* };
}
numeric_args!(SReg, Token, DReg, Acc, Shift, Frac, TableBits, Bound, Trips, NameId);

macro_rules! imm_args {
    ($($T:ident),*) => { $(
        impl Arg<$T> for Imm {
            fn arg(self, _: &mut Program) -> Result<$T, OperandError> {
                $T::new(self.0)
            }
        }
    )* };
}
imm_args!(Shift, Frac, TableBits, Bound, Trips);

/// Plain numbers wherever an immediate may stand.
macro_rules! number_args {
    ($($N:ident),*) => { $(
        impl From<$N> for Value {
            fn from(value: $N) -> Self {
                // A number beyond i64 is beyond every operand's range as well.
                Value::Imm(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }
        impl<T> Arg<T> for $N where Imm: Arg<T> {
            fn arg(self, program: &mut Program) -> Result<T, OperandError> {
                Imm(i64::try_from(self).unwrap_or(i64::MAX)).arg(program)
            }
        }
    )* };
}
number_args!(i32, u32, i64, usize);

/// Operands that a source or destination may hold.
macro_rules! wrapped_args {
    ($($From:ty => $($T:ident($make:expr)),*;)*) => { $( $(
        impl Arg<$T> for $From {
            fn arg(self, program: &mut Program) -> Result<$T, OperandError> {
                let make: fn(Self, &mut Program) -> Result<$T, OperandError> = $make;
                make(self, program)
            }
        }
    )* )* };
}
wrapped_args! {
    At => Lrm(|at, _| at.lrm()), Src(|at, _| at.lrm().map(Src::Lrm)), Dst(|at, _| at.lrm().map(Dst::Lrm));
    Lrm => Src(|lrm, _| Ok(Src::Lrm(lrm))), Dst(|lrm, _| Ok(Dst::Lrm(lrm)));
    Num<Acc> => Src(|acc, p| acc.arg(p).map(Src::Acc)), Dst(|acc, p| acc.arg(p).map(Dst::Acc));
    Acc => Src(|acc, _| Ok(Src::Acc(acc))), Dst(|acc, _| Ok(Dst::Acc(acc)));
    Num<SReg> => Src(|reg, p| reg.arg(p).map(Src::Scalar));
    SReg => Src(|reg, _| Ok(Src::Scalar(reg)));
    Dir => Dirs(|dir, _| Ok(Dirs::one(dir)));
    Engine => Engines(|engine, _| Ok(Engines::one(engine)));
}

impl Arg<CodeAddr> for Label {
    fn arg(self, program: &mut Program) -> Result<CodeAddr, OperandError> {
        let pc = program.pc();
        program.fixups.push(Fixup { pc, label: self, location: Location::caller() });
        CodeAddr::new(0)
    }
}
impl Arg<NameId> for &str {
    fn arg(self, program: &mut Program) -> Result<NameId, OperandError> {
        program.name(self)
    }
}
