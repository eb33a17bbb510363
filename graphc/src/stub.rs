//! Attention stubs: a function of the user's own file that takes the place of a step of each attention.
//!
//! The file is Rust, with a `ccl!` block in which one function says `#[stub(ccl_runtime::nn::stub::post_projection)]` or
//! `whole_head`; what a slot hands over and wants stands there. Emitted kernels call the function, and the file becomes a module
//! beside them, so that native code and simulator run the same text.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use ccl_runtime::front::{FrontError, stub};
use ccl_runtime::interp::{LoadError, Unit};
use ccl_syntax::ast::{Fn, Item, Vis};

use crate::plan::names;

/// Bytes that a file of a stub may have.
const MAX_BYTES: u64 = 1 << 20;

/// The module of the slots.
const SLOTS: &str = "ccl_runtime::nn::stub::slots";

/// The module in which a file is read.
const MODULE: &str = "crate::kernels::stub";

/// A step of an attention that a stub takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// What happens to the projected row of each query before it is stored.
    PostProjection,
    /// Scores, softmax and values of a head.
    WholeHead,
}

impl Slot {
    /// The name of the slot's function.
    pub fn name(self) -> &'static str {
        match self {
            Slot::PostProjection => "post_projection",
            Slot::WholeHead => "whole_head",
        }
    }
}

/// A stub that keeps the signature of its slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionStub {
    /// Name of its file, without folders.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// The function.
    pub function: String,
    /// What it takes over.
    pub slot: Slot,
}

/// Why a file is no stub. All but [`StubError::Io`] say file and line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StubError {
    /// The file cannot be read.
    #[error("attention stub `{file}`: {source}")]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The text has mistakes.
    #[error("the text of the attention stub has mistakes:\n{0}")]
    Text(#[from] LoadError),
    /// No function is a stub.
    #[error(
        "{file}:1:1: no function says which slot it fills{functions}\nhelp: write `#[stub(ccl_runtime::nn::stub::post_projection)]`, \
         or `whole_head`, above a `pub fn` in a `ccl!` block"
    )]
    None {
        /// The file.
        file: String,
        /// The functions there are.
        functions: String,
    },
    /// Several functions are stubs.
    #[error("{second}: this is a second stub, `{first}` is the first\nhelp: keep each stub in a file of its own")]
    Several {
        /// Place and name of the first.
        first: String,
        /// Place of the second.
        second: String,
    },
    /// The slot is none of an attention, or the signature is not its own.
    #[error(transparent)]
    Slot(#[from] FrontError),
    /// The function cannot be called from the kernels beside it.
    #[error("{place}: stub `{function}` {reason}")]
    Hidden {
        /// Where it stands.
        place: String,
        /// The function.
        function: String,
        /// Why.
        reason: &'static str,
    },
}

impl AttentionStub {
    /// Reads a file.
    ///
    /// # Errors
    /// [`StubError`].
    pub fn read(path: &Path) -> Result<Self, StubError> {
        let fault = |source| StubError::Io { file: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(fault)?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(fault)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(fault(std::io::Error::other(format!("has more than {MAX_BYTES} bytes"))));
        }
        Self::parse(&path.display().to_string(), &text)
    }

    /// Takes the stub in the text of a file; `file` is how errors call it.
    ///
    /// # Errors
    /// [`StubError`], but for [`StubError::Io`].
    pub fn parse(file: &str, text: &str) -> Result<Self, StubError> {
        let mut library = ccl_runtime::nn::library();
        let n_before = library.units().len();
        library.load(MODULE, file, text)?;
        let own = &library.units()[n_before..];
        let (unit, item, function) = only_stub(file, own)?;
        let name = &function.name.name.name;
        let hidden = |reason| {
            let place = place(file, function);
            StubError::Hidden { place, function: name.clone(), reason }
        };
        if unit.path().join("::") != MODULE {
            return Err(hidden("stands in a module inside the file: put it into a `ccl!` block"));
        }
        if item.vis == Vis::Private {
            return Err(hidden("is private, and kernels are modules beside it: write `pub fn`"));
        }
        let found = stub::slot_of(unit, name, &library)?;
        let slots = [Slot::PostProjection, Slot::WholeHead];
        let slot = slots.into_iter().find(|slot| found.module == SLOTS && found.name == slot.name());
        let Some(slot) = slot else {
            let message =
                format!("stub `{name}` fills `{}::{}`, which is no slot of an attention", found.module, found.name);
            let help = Some("slots are `ccl_runtime::nn::stub::post_projection` and `whole_head`".to_owned());
            let start = function.name.name.span.start;
            let (file, calls) = (file.to_owned(), Vec::new());
            return Err(FrontError { file, line: start.line, column: start.col + 1, message, help, calls }.into());
        };
        stub::compare(unit, name, &library)?;
        let file = Path::new(file).file_name().map_or_else(|| file.into(), |name| name.to_string_lossy());
        Ok(AttentionStub { file: file.into_owned(), text: text.to_owned(), function: name.clone(), slot })
    }

    /// The module that the file becomes: its name, unless a kernel or an entry point has it.
    pub(crate) fn module<'a>(&self, kernels: impl Iterator<Item = &'a str>) -> String {
        let mut taken: BTreeSet<String> = kernels.map(str::to_owned).collect();
        taken.extend(crate::emit::FUNCTIONS.iter().map(|&name| name.to_owned()));
        let stem = names::identifier(self.file.strip_suffix(".rs").unwrap_or(&self.file));
        let is_plain = !stem.starts_with(crate::compose::FRAME);
        names::unique(if is_plain { stem } else { format!("stub_{stem}") }, &mut taken)
    }
}

/// The function of the blocks that says `#[stub(path)]`.
fn only_stub<'u>(file: &str, own: &'u [Unit]) -> Result<(&'u Unit, &'u Item, &'u Fn), StubError> {
    let mut found = own.iter().flat_map(|unit| stub::stubs(unit).map(move |(item, function)| (unit, item, function)));
    let Some(first) = found.next() else {
        let functions: Vec<String> =
            own.iter().flat_map(|unit| unit.module().fns()).map(|(_, f)| format!("`{}`", f.name.name.name)).collect();
        let functions = match functions[..] {
            [] => ": there is no function in a `ccl!` block".to_owned(),
            _ => format!(" (there are {})", functions.join(", ")),
        };
        return Err(StubError::None { file: file.to_owned(), functions });
    };
    match found.next() {
        None => Ok(first),
        Some((_, _, second)) => {
            Err(StubError::Several { first: first.2.name.name.name.clone(), second: place(file, second) })
        }
    }
}

fn place(file: &str, function: &Fn) -> String {
    let start = function.name.name.span.start;
    format!("{file}:{}:{}", start.line, start.col + 1)
}
