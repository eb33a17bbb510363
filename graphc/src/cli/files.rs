//! Files that commands write.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use graphc::files::write_whole;

/// Writes a file whole, and its folder if there is none.
pub fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_whole(path, bytes)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

/// Refuses outputs that are files which the command reads, or that are one another.
pub fn apart(outputs: &[&Path], inputs: &[&Path]) -> anyhow::Result<()> {
    let places: Vec<PathBuf> = outputs.iter().map(|path| place(path)).collect();
    let read: Vec<PathBuf> = inputs.iter().map(|path| place(path)).collect();
    for (i, (path, at)) in outputs.iter().zip(&places).enumerate() {
        ensure!(
            !read.contains(at),
            "`{}` would be written over what is read\n  help: give the output another name",
            path.display()
        );
        ensure!(!places[..i].contains(at), "`{}` is given for two outputs", path.display());
    }
    Ok(())
}

/// One path for all that lead to a file, as far as it or its folder is there.
fn place(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_path_buf())
}
