//! Writing files whole: under another name first, so that what was there is never half overwritten.

use std::ffi::OsString;
use std::path::Path;

/// Writes a file beside its place and renames it.
///
/// # Errors
/// What the system says; the file is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut beside = OsString::from(path);
    beside.push(".part");
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // Nothing can be done about a leftover that cannot be removed either.
        let _ = std::fs::remove_file(&beside);
    }
    written
}
