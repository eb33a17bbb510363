//! Texts of kernels as the compiler reads them: a library of blocks beside that of the runtime.

use std::collections::BTreeMap;

use ccl_runtime::interp::{Library, LoadError};
use ccl_runtime::kernel::{Instance, InstanceError};
use iss::target::Target;

/// The module in which kernels stand.
const MODULE: &str = "crate::kernels";

/// The kernels of a folder, read.
#[derive(Debug, Clone)]
pub struct Texts {
    library: Library,
}

impl Texts {
    /// Reads texts by the names of their files, which are those of modules.
    ///
    /// # Errors
    /// All mistakes of the first file that has any.
    pub fn read(sources: &BTreeMap<String, String>) -> Result<Self, LoadError> {
        let mut library = ccl_runtime::nn::library();
        for (file, text) in sources {
            let module = file.strip_suffix(".rs").unwrap_or(file);
            library.load(&format!("{MODULE}::{module}"), file, text)?;
        }
        Ok(Self { library })
    }

    /// The kernel of that name on a machine.
    ///
    /// # Errors
    /// If there is none, or it cannot be an instance on the machine.
    pub fn instance(&self, kernel: &str, target: &Target) -> Result<Instance, InstanceError> {
        // A stub's file may have a function of the same name.
        let own = format!("{MODULE}::{kernel}");
        let is_own = |unit: &&ccl_runtime::interp::Unit| {
            let path = unit.path().join("::");
            (path == own || path.starts_with(&format!("{own}::"))) && unit.function(kernel).is_some()
        };
        let missing = || InstanceError::Missing { what: "kernel", name: kernel.to_owned() };
        let unit = self.library.units().iter().find(is_own).ok_or_else(missing)?;
        Instance::from_unit(unit, kernel, &[], target, &self.library)
    }
}
