//! Which kernels are behind which entry point.

use std::str::FromStr;

use crate::emit::manifest::Manifest;

/// Name of the only entry point; several have numbers behind it.
pub(crate) const FRAME: &str = "frame";

/// Entry points of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// So many, of about as many kernels each; one for each kernel at most.
    Count(usize),
    /// Names of entry points and their kernels.
    Groups(Vec<(String, Vec<String>)>),
}

/// Groups that are no composition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntriesError {
    /// A line without a kernel.
    #[error("line {line}: `{name}` has no kernels, expected the name of an entry point and of its kernels")]
    NoKernels {
        /// The line.
        line: usize,
        /// The entry point.
        name: String,
    },
    /// A name that no function can have, or that another one has.
    #[error("entry point `{name}`: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Kernels run in the order of the network, each once.
    #[error("entry point `{entry}`: kernel `{found}` where `{expected}` is next")]
    Order {
        /// The entry point.
        entry: String,
        /// What stands there.
        found: String,
        /// What must.
        expected: String,
    },
    /// Kernels that are in no group.
    #[error("kernel `{kernel}` and those behind it are in no entry point")]
    Left {
        /// The first one.
        kernel: String,
    },
}

impl Entries {
    /// Reads a file of groups: a line for each entry point, its name and its kernels; `#` begins a comment.
    ///
    /// # Errors
    /// A line without kernels.
    pub fn parse(text: &str) -> Result<Self, EntriesError> {
        let mut groups = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned);
            let Some(name) = words.next() else { continue };
            let kernels: Vec<String> = words.collect();
            if kernels.is_empty() {
                return Err(EntriesError::NoKernels { line: i + 1, name });
            }
            groups.push((name, kernels));
        }
        Ok(Entries::Groups(groups))
    }

    /// Names of entry points and indices of their kernels.
    pub(super) fn groups(&self, manifest: &Manifest) -> Result<Vec<(String, Vec<usize>)>, EntriesError> {
        let n = manifest.kernels.len();
        match self {
            Entries::Count(wanted) => {
                let count = (*wanted).clamp(1, n.max(1));
                let name = |i: usize| if count == 1 { FRAME.to_owned() } else { format!("{FRAME}_{i}") };
                Ok((0..count).map(|i| (name(i), (i * n / count..(i + 1) * n / count).collect())).collect())
            }
            Entries::Groups(groups) => checked(groups, manifest),
        }
    }
}

fn checked(groups: &[(String, Vec<String>)], manifest: &Manifest) -> Result<Vec<(String, Vec<usize>)>, EntriesError> {
    let names: Vec<&str> = manifest.kernels.iter().map(|k| k.name.as_str()).collect();
    let (mut at, mut all) = (0, Vec::new());
    for (i, (entry, kernels)) in groups.iter().enumerate() {
        let fault = |reason: &str| EntriesError::Name { name: entry.clone(), reason: reason.to_owned() };
        if crate::plan::names::identifier(entry) != *entry {
            return Err(fault("is no name of a function"));
        }
        if groups[..i].iter().any(|(other, _)| other == entry) {
            return Err(fault("stands twice"));
        }
        if names.contains(&entry.as_str()) {
            return Err(fault("is the name of a kernel"));
        }
        if manifest.stub.as_ref().is_some_and(|stub| stub.file == format!("{entry}.rs")) {
            return Err(fault("is the name of the attention stub's file"));
        }
        let first = at;
        for found in kernels {
            let expected = names.get(at).copied().unwrap_or("the end");
            if found != expected {
                let (entry, found, expected) = (entry.clone(), found.clone(), expected.to_owned());
                return Err(EntriesError::Order { entry, found, expected });
            }
            at += 1;
        }
        all.push((entry.clone(), (first..at).collect()));
    }
    match names.get(at) {
        Some(left) => Err(EntriesError::Left { kernel: (*left).to_owned() }),
        None => Ok(all),
    }
}

/// `1`, a number; files are read by whoever has a path.
impl FromStr for Entries {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Entries::Count(text.parse()?))
    }
}
