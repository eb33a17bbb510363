//! One method per row of the instruction table.

use super::{Arg, Program};
use crate::isa::for_each_inst;
use crate::isa::operand::*;
use crate::isa::{Inst, InstError};

macro_rules! define_emit {
    ($( $(#[doc = $doc:literal])* $op:literal $name:ident = $Ty:ident { $($f:ident: $T:ident),* },
        class $class:ident, cost $cost:ident; )*) => {
        /// One method per instruction. Operands are numbers, names, labels and what [`w`](super::w), [`acc`](super::acc),
        /// [`s`](super::s) and the like make. [`Program::region`], which takes a closure, hides the row of that name.
        pub trait Emit {
            $( $(#[doc = $doc])* #[track_caller] fn $name(&mut self, $($f: impl Arg<$T>),*) -> &mut Self; )*
        }
        impl Emit for Program {
            $( #[track_caller]
            fn $name(&mut self, $($f: impl Arg<$T>),*) -> &mut Self {
                fn make($($f: Result<$T, OperandError>),*) -> Result<Inst, InstError> {
                    $( let $f = $f.map_err(|error| {
                        InstError::Operand { mnemonic: stringify!($name), field: stringify!($f), error }
                    })?; )*
                    let inst = Inst::$Ty { $($f),* };
                    inst.check().map(|()| inst)
                }
                // Every operand is read before one can fail, so that a label is noted even if another operand is wrong.
                $( let $f = $f.arg(self); )*
                self.emit(make($($f),*))
            } )*
        }
    };
}
for_each_inst!(define_emit);
