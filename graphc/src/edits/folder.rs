//! The folder of edits.

use std::io;
use std::path::{Path, PathBuf};

use super::{Edit, EditError};

/// The edits of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    all: Vec<Edit>,
}

impl Edits {
    /// Reads a folder.
    ///
    /// # Errors
    /// If it cannot be read, or a text has no base.
    pub fn open(folder: &Path) -> Result<Self, EditError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(at(folder))? {
            let path = entry.map_err(at(folder))?.path();
            if path.extension().is_some_and(|e| e == "rs") {
                names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
            }
        }
        names.sort();
        let all = names.iter().map(|kernel| Self::read(folder, kernel)).collect::<Result<_, _>>()?;
        Ok(Edits { all })
    }

    fn read(folder: &Path, kernel: &str) -> Result<Edit, EditError> {
        let [file, base] = paths(folder, kernel);
        let text = std::fs::read_to_string(&file).map_err(at(&file))?;
        let base = match std::fs::read_to_string(&base) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(EditError::NoBase { kernel: kernel.to_owned(), file, base });
            }
            read => read.map_err(at(&base))?,
        };
        Ok(Edit { kernel: kernel.to_owned(), text, base })
    }

    /// All of them, by name.
    pub fn all(&self) -> &[Edit] {
        &self.all
    }

    /// The edit of a kernel.
    ///
    /// # Errors
    /// With the names of those there are.
    pub fn of(&self, kernel: &str) -> Result<&Edit, EditError> {
        let unknown = || EditError::unknown(kernel, self.all.iter().map(|edit| edit.kernel.as_str()));
        self.all.iter().find(|edit| edit.kernel == kernel).ok_or_else(unknown)
    }
}

/// Begins an edit: the generated text, and the same text as its base. Gives the file to edit.
///
/// # Errors
/// If there is an edit of that kernel already, or a file cannot be written.
pub fn fork(folder: &Path, kernel: &str, generated: &str) -> Result<PathBuf, EditError> {
    let [file, base] = paths(folder, kernel);
    if file.exists() {
        return Err(EditError::Exists { kernel: kernel.to_owned(), file });
    }
    write(&base, generated)?;
    write(&file, generated)?;
    Ok(file)
}

/// Replaces the text of an edit and its base.
///
/// # Errors
/// If a file cannot be written.
pub fn replace(folder: &Path, edit: &Edit) -> Result<(), EditError> {
    let [file, base] = paths(folder, &edit.kernel);
    write(&file, &edit.text)?;
    write(&base, &edit.base)
}

fn paths(folder: &Path, kernel: &str) -> [PathBuf; 2] {
    let name = format!("{kernel}.rs");
    [folder.join(&name), folder.join("base").join(name)]
}

/// Writes beside the place and renames, so that no file is ever half there.
fn write(file: &Path, text: &str) -> Result<(), EditError> {
    let written = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let new = file.with_extension("rs.new");
        std::fs::write(&new, text)?;
        std::fs::rename(&new, file)
    };
    written().map_err(at(file))
}

fn at(file: &Path) -> impl FnOnce(io::Error) -> EditError {
    let file = file.to_owned();
    move |source| EditError::Io { file, source }
}
