//! Files that commands write.

use std::path::Path;

use anyhow::Context;

/// Writes a file, and its folder if there is none: beside its place first and then renamed, so that it is never half there.
pub fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        std::fs::write(&beside, bytes)?;
        std::fs::rename(&beside, path)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}
