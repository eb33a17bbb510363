//! Files and streams: `-` is standard input or output, and a file is there whole or as it was.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iss::asm;
use iss::image::{Image, MAGIC, MAX_FILE, follow_links, write_file};

/// Whether a path means standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Standard output; when its reader has gone, the rest is dropped: that is no failure, and nothing else depends on it.
struct Stdout(io::StdoutLock<'static>);

impl Stdout {
    fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes);
        if is_broken_pipe(&written) { Ok(bytes.len()) } else { written }
    }
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.0.flush();
        if is_broken_pipe(&flushed) { Ok(()) } else { flushed }
    }
}

fn is_broken_pipe<T>(done: &io::Result<T>) -> bool {
    done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes a line to standard error, if that can be written.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    write(Path::new("-"), text.as_bytes())
}

/// A path as errors name it.
fn shown(path: &Path) -> String {
    if is_stream(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// A file to read from.
fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if is_stream(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(fs::File::open(path).with_context(|| format!("cannot read {}", shown(path)))?))
}

/// Bytes of assembly text that are read.
const MAX_TEXT: u64 = 256 << 20;

/// The bytes of a program: an image, or text where there may be one. No more is read than one of them may have, and of
/// what is neither, only the beginning.
fn read_program(path: &Path, may_be_text: bool) -> anyhow::Result<Vec<u8>> {
    let named = || format!("cannot read {}", shown(path));
    let (mut file, mut bytes) = (open(path)?, Vec::new());
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).with_context(named)?;
    let bound = match bytes.starts_with(&MAGIC) {
        true => MAX_FILE,
        false if may_be_text => MAX_TEXT,
        false => return Ok(bytes),
    };
    file.take(bound).read_to_end(&mut bytes).with_context(named)?;
    if bytes.len() as u64 > bound {
        bail!("{}: it has more than {bound} bytes", named());
    }
    Ok(bytes)
}

/// The text of an assembly file.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_program(path, true)
}

/// The bytes of a buffer's file, which must have `len_bytes` of them. A plain file of another length is not read at all,
/// and no file is read further than a byte behind that length.
pub fn read_exactly(path: &Path, len_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let named = || format!("cannot read {}", shown(path));
    if let Ok(found) = fs::metadata(path)
        && !is_stream(path)
        && found.is_file()
        && found.len() != len_bytes
    {
        bail!("the parameter takes {len_bytes} bytes, not {}", found.len());
    }
    let mut bytes = Vec::new();
    open(path)?.take(len_bytes + 1).read_to_end(&mut bytes).with_context(named)?;
    match bytes.len() as u64 {
        found if found > len_bytes => bail!("the parameter takes {len_bytes} bytes; {} has more", shown(path)),
        found if found < len_bytes => bail!("the parameter takes {len_bytes} bytes, not {found}"),
        _ => Ok(bytes),
    }
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
    Image::from_bytes(&read_program(path, false)?).with_context(|| format!("cannot read {}", shown(path)))
}

/// A program from an image or from assembly text, which is told by its name (`.s`, `.asm`) or comes by standard input.
pub fn program(path: &Path) -> anyhow::Result<Image> {
    let may_be_text = is_stream(path) || path.extension().is_some_and(|e| e == "s" || e == "asm");
    let bytes = read_program(path, may_be_text)?;
    if !bytes.starts_with(&MAGIC) && may_be_text {
        return assemble(path, bytes, Lines::Record);
    }
    Image::from_bytes(&bytes).with_context(|| format!("cannot read {}", shown(path)))
}

/// Writes a file, as [`write_file`] does, or standard output.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stream(path) {
        let mut out = Stdout::lock();
        return out.write_all(bytes).and_then(|()| out.flush()).context("cannot write to standard output");
    }
    write_file(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// A stream to a file that is too long to hold: written as it comes.
pub fn stream(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if is_stream(path) {
        return Ok(Box::new(io::BufWriter::new(Stdout::lock())));
    }
    let file = fs::File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(Box::new(io::BufWriter::with_capacity(1 << 16, file)))
}

/// Checks, before anything is done, that each output has a folder to be written to and is neither one of the files read nor
/// another output. Devices and pipes may be named twice.
pub fn check_outputs(inputs: &[&Path], outputs: &[&Path]) -> anyhow::Result<()> {
    let read: Vec<PathBuf> = inputs.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut written = Vec::new();
    for path in outputs {
        let Some(place) = place(path)? else { continue };
        if read.contains(&place) && !is_stream(path) {
            bail!("cannot write `{}`: the command reads it", path.display());
        }
        if written.contains(&place) {
            bail!("cannot write `{}`: another output of the command goes there", path.display());
        }
        written.push(place);
    }
    Ok(())
}

/// Where an output lies, by a path that is the same however it is named; `None` for a device or a pipe.
fn place(path: &Path) -> anyhow::Result<Option<PathBuf>> {
    if is_stream(path) {
        return Ok(Some(path.to_owned()));
    }
    let named = || format!("cannot write `{}`", path.display());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("{}: it is a folder", named()),
        Ok(found) if !found.is_file() => return Ok(None),
        Ok(_) => return Ok(Some(fs::canonicalize(path).with_context(named)?)),
        Err(_) => {}
    }
    let end = follow_links(path).with_context(named)?;
    let folder = end.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).with_context(|| format!("{}: folder `{}`", named(), folder.display()))?;
    Ok(Some(folder.join(end.file_name().unwrap_or_default())))
}
