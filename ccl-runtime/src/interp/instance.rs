//! The native opinion about an instance: its program by the interpreter.

use ccl_syntax::check::Checked;
use ccl_syntax::eval::Value;

use super::unit::{Linker, Unit};
use super::{InterpError, Limits, run};
use crate::front::program;
use crate::kernel::{Arguments, Instance};
use crate::native::Session;

/// The blocks of a linked program.
struct Linked<'p> {
    program: &'p program::Program,
    units: Vec<Unit>,
}

impl<'p> Linked<'p> {
    fn new(program: &'p program::Program) -> Self {
        let unit = |unit: &program::Unit| {
            let (names, types) = (unit.names.clone(), unit.types.clone());
            Unit::new("", unit.module.clone(), Checked { names, types, ..Checked::default() })
        };
        Self { program, units: program.units.iter().map(unit).collect() }
    }
}

impl Linker for Linked<'_> {
    fn find<'a>(&'a self, from: &Unit, path: &[&str]) -> Option<(&'a Unit, String)> {
        let unit = self.units.iter().position(|unit| std::ptr::eq(unit, from))?;
        let (unit, name) = self.program.link_of(unit, &path.join("::"))?;
        Some((self.units.get(*unit)?, name.clone()))
    }
}

impl Instance {
    /// Runs the kernel by the interpreter, on the array of its machine. Tensors that it writes are changed in `arguments`.
    ///
    /// # Errors
    /// Arguments that do not fit, or what ended the run, with its place.
    pub fn interpret(&self, arguments: &mut Arguments, limits: Limits) -> Result<(), InterpError> {
        self.interpret_on(&mut Session::new(self.target()), arguments, limits)
    }

    /// As [`interpret`](Self::interpret), on an array whose session is asked for probes and peaks afterwards.
    ///
    /// # Errors
    /// As [`interpret`](Self::interpret).
    pub fn interpret_on(
        &self,
        session: &mut Session,
        arguments: &mut Arguments,
        limits: Limits,
    ) -> Result<(), InterpError> {
        let (program, consts) = self.parts();
        let linked = Linked::new(program);
        let consts: Vec<Value> = consts.iter().map(|n| Value::Int { value: *n, ty: None }).collect();
        let program =
            super::Program { unit: &linked.units[0], function: self.function(), consts: &consts, linker: &linked };
        run(program, arguments, session, limits)
    }
}
