//! What cannot be lowered, named with its place and its cure.

use std::fmt;

use ccl_syntax::Span;

/// Why a kernel has no kernel IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontError {
    /// File of the kernel's text; empty if unknown.
    pub file: String,
    /// Line from 1; 0 if unknown.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// The construct and what is wrong with it.
    pub message: String,
    /// What mends it, where that is known.
    pub help: Option<String>,
    /// Calls around it, the innermost first: function, file and line of the call. Of a memory that is too small, its buffers.
    pub calls: Vec<String>,
}

impl fmt::Display for FrontError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        } else if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.message)?;
        for call in &self.calls {
            write!(f, "\nnote: {call}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}
impl std::error::Error for FrontError {}

impl FrontError {
    /// A finding of the parser or the checks.
    pub(crate) fn of_diag(diag: &ccl_syntax::Diag, file: &str) -> Self {
        let mut error = Self::new(format!("{} [{}]", diag.message, diag.code)).at(file, diag.span);
        error.help.clone_from(&diag.help);
        error
    }
    /// A finding without a place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let (file, help, calls) = (String::new(), None, Vec::new());
        FrontError { file, line: 0, column: 0, message: message.into(), help, calls }
    }
    /// With a place.
    #[must_use]
    pub(crate) fn at(mut self, file: &str, span: Span) -> Self {
        if self.file.is_empty() && self.line == 0 {
            (self.file, self.line, self.column) = (file.to_owned(), span.start.line, span.start.col + 1);
        }
        self
    }
}

/// A loop of the text: the same one at every call of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoopKey(pub usize);

/// How a loop over a range is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// So many trips in one of the IR's.
    By(u64),
    /// Each trip by itself, its index a number.
    Whole,
}

/// Why elaboration does not go on as it was begun.
#[derive(Debug)]
pub(super) enum Stop {
    /// The kernel cannot be lowered.
    Error(Box<FrontError>),
    /// A loop has to be laid out another way.
    Replan(LoopKey, Plan),
    /// The kernel has to be begun anew with what was learnt.
    Restart,
}

pub(super) type R<T> = Result<T, Stop>;
