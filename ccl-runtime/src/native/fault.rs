//! What a kernel can do wrong in a run. A fault unwinds to [`Session::run`](super::Session::run), which returns it.

use std::panic::Location;

/// A kernel did what the machine refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`, {file}:{line}: {cause}")]
pub struct Fault {
    /// The kernel, as it was named to the session.
    pub kernel: String,
    /// File of the statement.
    pub file: &'static str,
    /// Line of the statement.
    pub line: u32,
    /// What it was.
    pub cause: Cause,
}

/// Kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum Cause {
    /// `assert!` failed.
    #[error("assertion failed{}: {text}", pe_text(.pe))]
    Assertion { text: String, pe: Option<(usize, usize)> },
    /// `while` ran longer than `#[bound(n)]`.
    #[error(
        "the loop ran more than {bound} times\n  help: raise `#[bound({bound})]`, or make sure that the condition turns false"
    )]
    LoopBound { bound: usize },
    /// `fx_div` in an enabled PE.
    #[error("division by zero in PE (row {row}, column {col})")]
    DivideByZero { row: usize, col: usize },
    /// A read behind the end of a broadcast.
    #[error("the broadcast has {len} bytes, {wanted} are wanted from byte {at} on")]
    StreamEnd { at: usize, wanted: usize, len: usize },
    /// Outputs are taken in another number than the tensor is laid out for.
    #[error(
        "`take::<{taken}>` from a stream that is laid out for `take::<{laid_out}>`\n  help: `Stream` is for 4, `StreamDot` for 1, `StreamOuter` for 16"
    )]
    StreamOrder { taken: usize, laid_out: usize },
    /// Weights of outputs whose biases, which lie before them, nobody took.
    #[error(
        "weights are multiplied before their biases are taken\n  help: begin with them: `let mut acc = weights.bias::<{outputs}>();`"
    )]
    StreamBiases { outputs: usize },
    /// Fewer or more weights than the layout holds for an output.
    #[error("{done} of {k} inputs are multiplied where {what}")]
    StreamInputs { done: usize, k: usize, what: &'static str },
    /// The elements of a tensor are of another type than wanted.
    #[error("the tensor holds {tensor}, {wanted} is wanted")]
    Element { tensor: &'static str, wanted: &'static str },
    /// A layout that cannot be walked, or cannot be addressed.
    #[error("a tensor laid out as {layout} has no {wanted}")]
    Layout { layout: &'static str, wanted: &'static str },
    /// A local buffer that does not fit the tile.
    #[error("{elements} elements cannot hold {rows} rows of {columns} elements a channel")]
    Room { elements: usize, rows: usize, columns: usize },
    /// A part that is not inside its whole.
    #[error("{what}: {first}..{end} is outside 0..{extent}")]
    Outside { what: &'static str, first: usize, end: usize, extent: usize },
    /// An extent that must divide another.
    #[error("{what}: {extent} is no multiple of {by}")]
    NoMultiple { what: &'static str, extent: usize, by: usize },
    /// A halo that the border cannot hold, a grid larger than the array.
    #[error("{what} of {wanted}: the array has room for {room}")]
    Array { what: &'static str, wanted: usize, room: usize },
    /// A table whose length is no power of two.
    #[error("a table of {len} entries: look-ups need a power of two")]
    Table { len: usize },
    /// `row` of a buffer that has no such row.
    #[error("row {dy} of a buffer with rows {first}..={last}")]
    Row { dy: i32, first: i32, last: i32 },
    /// Views nested deeper than the runtime keeps.
    #[error("a view of more than {most} steps")]
    ViewDepth { most: usize },
    /// Layouts of unlike size.
    #[error("a view of {wanted} bytes over {bytes}")]
    ViewSize { wanted: usize, bytes: usize },
}

fn pe_text(pe: &Option<(usize, usize)>) -> String {
    pe.map_or_else(String::new, |(row, col)| format!(" in PE (row {row}, column {col})"))
}

impl Cause {
    /// Ends the run.
    #[track_caller]
    #[cold]
    pub(crate) fn raise(self) -> ! {
        let at = Location::caller();
        let Some(kernel) = super::state::kernel_name() else { panic!("outside of a session: {self}") };
        // Not `panic!`: a fault is a result, so the panic hook has nothing to report.
        std::panic::resume_unwind(Box::new(Fault { kernel, file: at.file(), line: at.line(), cause: self }))
    }
}
