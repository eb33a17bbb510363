//! x
use super::CompileError;
use crate::ir::*;
use iss::target::Target;
pub fn schedule(_: &mut Module, _: &Target) -> Result<(), CompileError> {
    Ok(())
}
