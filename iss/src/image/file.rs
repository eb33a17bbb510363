//! Writing a file so that it is there whole or as it was. Knows nothing of images.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

/// Links that are followed before they count as a circle.
const MAX_LINKS: usize = 40;

/// Writes a file: first beside it, then in its place, so that a failure leaves what was there. Its permissions stay, links
/// are followed even where they lead to nothing yet, and what is no plain file (a device, a pipe) is written as it is.
///
/// # Errors
/// Where it is a folder, may only be read, or the folder cannot be written; nothing is left behind.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let refused = |kind, why: &str| Err(io::Error::new(kind, why));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => refused(io::ErrorKind::IsADirectory, "it is a folder"),
        Ok(found) if !found.is_file() => fs::OpenOptions::new().write(true).open(path)?.write_all(bytes),
        Ok(found) if found.permissions().readonly() => refused(io::ErrorKind::PermissionDenied, "it may only be read"),
        Ok(found) => replace(&follow_links(path)?, bytes, Some(found.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(&follow_links(path)?, bytes, None),
        Err(error) => Err(error),
    }
}

/// Where a path leads when its last part is a link, to a link perhaps; the end need not be there.
///
/// # Errors
/// For links in a circle.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn replace(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let beside = beside(path);
    let mut file = fs::File::create_new(&beside)?;
    let put = || -> io::Result<()> {
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().inspect_err(|_| {
        // The error that matters is the first one; a leftover file only takes room.
        let _ = fs::remove_file(&beside);
    })
}

/// A name in the same directory that no other writer uses.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{}.tmp", process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}
