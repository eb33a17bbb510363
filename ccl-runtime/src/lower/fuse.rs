//! x
use super::CompileError;
use crate::ir::*;
use iss::target::Target;
pub fn fuse(_: &mut Module, _: &Target) -> Result<(), CompileError> {
    Ok(())
}
