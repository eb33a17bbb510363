//! Files and streams: `-` is standard input or output, and a file is there whole or as it was.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iss::asm;
use iss::image::{Image, MAGIC};
use iss::sim::SimError;

/// Whether a path means standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether an error is that nobody reads the output any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let kind = io.or(match cause.downcast_ref::<SimError>() {
            Some(SimError::Trace { kind, .. }) => Some(*kind),
            _ => None,
        });
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}

/// Writes a line to standard error, if that can be written.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// A path as errors name it.
fn shown(path: &Path) -> String {
    if is_stream(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The bytes of a file.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if is_stream(path) {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(path).map(|found| bytes = found)
    };
    read.with_context(|| format!("cannot read {}", shown(path)))?;
    Ok(bytes)
}

/// The text of a file.
fn text(path: &Path, bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{} is not text: byte {at} is no UTF-8", shown(path))
    })
}

/// Whether lines of assembly text are recorded in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    Record,
    Leave,
}

/// Assembles bytes read from `path`.
pub fn assemble(path: &Path, bytes: Vec<u8>, lines: Lines) -> anyhow::Result<Image> {
    let text = text(path, bytes)?;
    let name = if is_stream(path) { "stdin.s".to_owned() } else { path.display().to_string() };
    let made = match lines {
        Lines::Record => asm::assemble_file(&text, &name),
        Lines::Leave => asm::assemble(&text),
    };
    made.map_err(|errors| anyhow::anyhow!("cannot assemble {}\n{errors}", shown(path)))
}

/// An image from a file of its format.
pub fn image(path: &Path) -> anyhow::Result<Image> {
    Image::from_bytes(&read(path)?).with_context(|| format!("cannot read {}", shown(path)))
}

/// A program from an image or from assembly text, which is told by its name (`.s`, `.asm`) or comes by standard input.
pub fn program(path: &Path) -> anyhow::Result<Image> {
    let bytes = read(path)?;
    let named_text = path.extension().is_some_and(|e| e == "s" || e == "asm");
    if !bytes.starts_with(&MAGIC) && (named_text || is_stream(path)) {
        return assemble(path, bytes, Lines::Record);
    }
    Image::from_bytes(&bytes).with_context(|| format!("cannot read {}", shown(path)))
}

/// Writes a file: first beside it, then in its place, so that a failure leaves what was there. What is no plain file (a
/// device, a pipe) is written as it is, and a link is followed.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stream(path) {
        let mut out = io::stdout().lock();
        return out.write_all(bytes).and_then(|()| out.flush()).context("cannot write to standard output");
    }
    let named = || format!("cannot write `{}`", path.display());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("{}: it is a folder", named()),
        Ok(found) if !found.is_file() => fs::write(path, bytes).with_context(named),
        Ok(found) if found.permissions().readonly() => bail!("{}: it may only be read", named()),
        Ok(_) => replace(&fs::canonicalize(path).with_context(named)?, bytes).with_context(named),
        Err(_) => replace(path, bytes).with_context(named),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let beside: PathBuf = path.with_file_name(name);
    let put = || -> io::Result<()> {
        let mut file = fs::File::create_new(&beside)?;
        file.write_all(bytes)?;
        if let Ok(found) = fs::metadata(path) {
            file.set_permissions(found.permissions())?;
        }
        fs::rename(&beside, path)
    };
    put().inspect_err(|error| {
        // A file that was there before is not ours to take away.
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&beside);
        }
    })
}

/// A stream to a file that is too long to hold: written as it comes.
pub fn stream(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if is_stream(path) {
        return Ok(Box::new(io::BufWriter::new(io::stdout().lock())));
    }
    let file = fs::File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(Box::new(io::BufWriter::with_capacity(1 << 16, file)))
}
