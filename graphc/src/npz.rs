//! `.npz` files: zip archives of `.npy` files, each an array under its name.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};

use crate::graph::{MAX_ELEMENTS, Tensor};
use crate::npy::{self, NpyError};

/// Why bytes are no archive of arrays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no zip archive, or a damaged one.
    #[error("not a .npz file: {0}")]
    Zip(#[from] rawzip::Error),
    /// An array is packed in a way that is not read.
    #[error("array `{name}` is compressed by other means than deflate")]
    Compression {
        /// The array.
        name: String,
    },
    /// An array is damaged.
    #[error("array `{name}`: {source}")]
    Array {
        /// The array.
        name: String,
        /// What is wrong.
        source: NpyError,
    },
}

/// Bytes that a header may have beyond the elements.
const MAX_HEADER: u64 = 1 << 16;

/// Reads a file.
///
/// # Errors
/// [`NpzError`].
pub fn read(path: &Path) -> Result<HashMap<String, Tensor>, NpzError> {
    decode(&std::fs::read(path)?)
}

/// Reads the arrays of an archive; members that are none are left out.
///
/// # Errors
/// [`NpzError`], but for `Io`.
pub fn decode(bytes: &[u8]) -> Result<HashMap<String, Tensor>, NpzError> {
    let archive = ZipArchive::from_slice(bytes)?;
    let mut arrays = HashMap::new();
    for entry in archive.entries() {
        let entry = entry?;
        let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let Some(name) = path.strip_suffix(".npy") else { continue };
        let member = archive.get_entry(entry.wayfinder())?;
        // What an archive says of its sizes is not believed.
        let limit = size_of::<f32>() as u64 * MAX_ELEMENTS as u64 + MAX_HEADER;
        let mut content = Vec::new();
        let array = |source| NpzError::Array { name: name.to_owned(), source };
        match entry.compression_method() {
            CompressionMethod::STORE => content.extend_from_slice(member.data()),
            CompressionMethod::DEFLATE => {
                let inflated = DeflateDecoder::new(member.data());
                inflated.take(limit).read_to_end(&mut content).map_err(|e| array(e.into()))?;
            }
            _ => return Err(NpzError::Compression { name: name.to_owned() }),
        }
        arrays.insert(name.to_owned(), npy::decode(&content).map_err(array)?);
    }
    Ok(arrays)
}
