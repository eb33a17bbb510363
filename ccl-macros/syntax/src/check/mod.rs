//! What must hold of a tree beyond its grammar. One file a concern, one small function a rule; all of them report and none of
//! them stops the others.
//!
//! `names` resolves names and counts arguments, `consts.rs` evaluates constants and instances, `types` gives every expression its
//! type and checks formats, conditions of PEs and flows; `budget.rs` checks what an instance needs against a machine.

mod budget;
mod consts;
mod names;
pub mod types;
mod walk;

use crate::ast::Module;
use crate::diag::Diags;

pub use budget::{Budget, Buffer, Most, Needs, Unmasked, check_budget, measure};
pub use consts::Instance;
pub(crate) use names::is_kernel;
pub use names::{Def, Names};
pub(crate) use walk::{exprs, paths, sub_exprs};

/// What was found out about a module.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// What each name means.
    pub names: Names,
    /// The instances whose arguments are known.
    pub instances: Vec<Instance>,
    /// Instances of kernels of other blocks: [`Instance::kernel`] is the path as written, without arguments.
    pub imported: Vec<Instance>,
    /// The type of each expression and binding.
    pub types: types::Types,
}

/// Checks a module; findings are in `diags`. What could not be checked because of an error is missing from the result.
pub fn check(module: &Module, diags: &mut Diags) -> Checked {
    let names = names::resolve(module, diags);
    let instances = consts::check(module, diags);
    let types = types::check(module, &names, diags);
    Checked { names, instances, imported: consts::imported(module), types }
}
