//! x
use super::CompileError;
use crate::ir::*;
use iss::target::Target;
pub fn reduce_indices(_: &mut Module, _: &Target) -> Result<(), CompileError> {
    Ok(())
}
