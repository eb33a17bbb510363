//! An instance: a kernel with its const arguments on a machine, as plain data.

use std::fmt;

use iss::target::Target;

use super::args::{ArgError, Arguments, Param};
use super::signature::Signature;
use super::source::Source;
use crate::native::{Fault, Session};

/// A function over arguments: outputs are written back into them.
pub type Entry = fn(&mut Arguments) -> Result<(), ArgError>;

/// A kernel with its const arguments on a machine: what `#[instance(target = ..)]` declares.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Name of the constant.
    pub name: &'static str,
    /// The signature of its function, as written.
    pub signature: Signature,
    /// Const arguments: name and value, in the order of the function's parameters.
    pub consts: &'static [(&'static str, i128)],
    /// The machine.
    pub target: &'static Target,
    /// The block in which the function stands.
    pub source: fn() -> &'static Source,
    /// The parameters, extents known, in their order.
    pub params: fn() -> Vec<Param>,
    /// The function itself, for [`run_native`](Self::run_native).
    pub native: Entry,
    /// What it must agree with.
    pub reference: Reference,
    /// The generated kernel that it replaces, as `#[overrides(path)]` names it.
    pub overrides: Option<&'static str>,
    /// What was changed by hand: texts of `#[edit("..")]` on the function.
    pub edits: &'static [&'static str],
}

/// The independent opinion about a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// `#[kernel(reference = path)]`, `#[reference(path)]`.
    Golden {
        /// The path as written.
        path: &'static str,
        /// The golden function.
        run: Entry,
    },
    /// `#[no_reference("reason")]`.
    None {
        /// Why there is none.
        reason: &'static str,
    },
    /// Nothing is said.
    Missing,
}

/// Why a native run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NativeError {
    /// An argument does not fit.
    #[error(transparent)]
    Argument(#[from] ArgError),
    /// The kernel did what the machine refuses.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Kernel {
    /// Name of the function.
    pub const fn function(&self) -> &'static str {
        self.signature.name
    }

    /// The parameters, extents known, in their order.
    pub fn params(&self) -> Vec<Param> {
        (self.params)()
    }

    /// The block in which the function stands.
    pub fn source(&self) -> &'static Source {
        (self.source)()
    }

    /// Runs the function as native code; outputs are written back into `arguments`.
    ///
    /// # Errors
    /// If an argument is missing or does not fit, and if the kernel does what the machine refuses.
    pub fn run_native(&self, session: &mut Session, arguments: &mut Arguments) -> Result<(), NativeError> {
        arguments.check(&self.params())?;
        Ok(session.run(self.function(), || (self.native)(arguments))??)
    }

    /// Runs the golden function, if there is one; outputs are written back into `arguments`. `false` if there is none.
    ///
    /// # Errors
    /// If an argument is missing or does not fit.
    pub fn run_reference(&self, arguments: &mut Arguments) -> Result<bool, ArgError> {
        let Reference::Golden { run, .. } = self.reference else { return Ok(false) };
        arguments.check(&self.params())?;
        run(arguments)?;
        Ok(true)
    }

    /// Stands for an instance with errors, which have been reported.
    #[doc(hidden)]
    pub const BROKEN: Kernel = Kernel {
        name: "",
        signature: Signature { name: "", consts: &[], params: &[], result: "()" },
        consts: &[],
        target: {
            const TARGET: &Target = &iss::target::QC_U;
            TARGET
        },
        source: || {
            static SOURCE: Source = Source::new("", &[], &[]);
            &SOURCE
        },
        params: Vec::new,
        native: |_| Ok(()),
        reference: Reference::Missing,
        overrides: None,
        edits: &[],
    };
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let consts: Vec<String> = self.consts.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        write!(f, "{}: {}<{}> on {}", self.name, self.function(), consts.join(", "), self.target.spec().product)
    }
}
