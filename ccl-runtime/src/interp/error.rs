//! Why a run ended: what the kernel did, where.

use crate::kernel::ArgError;
use crate::native;

/// A kernel could not be run, or its run ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// There is no such function.
    #[error("no function `{name}` in `{file}`")]
    NoKernel {
        /// Its name.
        name: String,
        /// The file of the block.
        file: String,
    },
    /// The function does not take so many const arguments.
    #[error("`{name}` takes {wanted} const arguments, {given} given")]
    Consts {
        /// The function.
        name: String,
        /// How many it takes.
        wanted: usize,
        /// How many were given.
        given: usize,
    },
    /// A parameter that cannot be passed from outside.
    #[error("`{name}`: the parameter `{param}` is no tensor and no scalar, so that nothing can be passed for it")]
    Parameter {
        /// The function.
        name: String,
        /// The parameter.
        param: String,
    },
    /// An argument does not fit its parameter.
    #[error(transparent)]
    Argument(#[from] ArgError),
    /// The run ended at a place in the text.
    #[error("kernel `{kernel}`, {file}:{line}:{column}: {cause}")]
    At {
        /// The kernel.
        kernel: String,
        /// File of the statement.
        file: String,
        /// Its line, counted from 1.
        line: u32,
        /// Its column, counted from 1.
        column: u32,
        /// What happened.
        cause: Box<Cause>,
    },
}

/// What ends a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum Cause {
    /// What ends a compiled run too.
    #[error(transparent)]
    Fault(#[from] native::Cause),
    #[error("the run took more than {limit} steps")]
    Steps { limit: u64 },
    #[error("values of the run need more than {limit} bytes")]
    Memory { limit: usize },
    #[error("calls and expressions are nested more than {limit} deep")]
    Depth { limit: usize },
    #[error("`{text}` leaves the range of `{ty}`")]
    Overflow { text: String, ty: &'static str },
    #[error("`{text}`: division by zero")]
    DivideByZero { text: String },
    #[error("index {index} of {len} elements")]
    Index { index: i128, len: usize },
    #[error("{what} is {value}, and must be in {least}..={most}")]
    Range { what: &'static str, value: i128, least: i128, most: i128 },
    #[error("{wanted} is wanted, this is {found}")]
    Type { wanted: String, found: String },
    #[error("`{op}` does not take {operands}")]
    Operator { op: String, operands: String },
    #[error("`{name}` is not known here")]
    Unknown { name: String },
    #[error("no function `{path}` is loaded\n  help: load the file with the block that defines it")]
    NotLoaded { path: String },
    #[error("`{what}` follows neither from what is passed nor from its place\n  help: write it as a generic argument")]
    Open { what: String },
    #[error("a reference is used after the end of the block of what it refers to")]
    Dangling,
    #[error("what is assigned here was not declared `mut`")]
    Immutable,
    #[error("the copy goes from {from} to {to} bytes")]
    CopySize { from: usize, to: usize },
}

/// What leaves an expression before its end.
#[derive(Debug)]
pub(super) enum Exit {
    Stop(Box<InterpError>),
    Return(Box<super::datum::Datum>),
    Break,
    Continue,
}

pub(super) type Evaluated<T = super::datum::Datum> = Result<T, Exit>;
