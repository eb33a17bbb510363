//! Files that commands write.

use std::path::Path;

use anyhow::Context;
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
