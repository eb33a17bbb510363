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
    /// The arrays together have more elements than are read.
    #[error("the arrays have more than {MAX_ELEMENTS} elements")]
    Large,
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
    // What an archive says of its sizes is not believed, and a small one may unpack to any size.
    let mut left = size_of::<f32>() as u64 * MAX_ELEMENTS as u64 + MAX_HEADER;
    for entry in archive.entries() {
        let entry = entry?;
        let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let Some(name) = path.strip_suffix(".npy") else { continue };
        let member = archive.get_entry(entry.wayfinder())?;
        let array = |source| NpzError::Array { name: name.to_owned(), source };
        let data = member.data();
        let unpacked: Box<dyn Read + '_> = match entry.compression_method() {
            CompressionMethod::STORE => Box::new(data),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(data)),
            _ => return Err(NpzError::Compression { name: name.to_owned() }),
        };
        let mut content = Vec::new();
        // Checks length and sum at the end, which is behind the limit of none that is too large.
        let mut verified = member.verifying_reader(unpacked).take(left + 1);
        verified.read_to_end(&mut content).map_err(|e| array(e.into()))?;
        left = left.checked_sub(content.len() as u64).ok_or(NpzError::Large)?;
        arrays.insert(name.to_owned(), npy::decode(&content).map_err(array)?);
    }
    Ok(arrays)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ndarray::arr1;

    use super::*;

    fn archive(method: CompressionMethod, members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
        for (name, content) in members {
            let (mut entry, config) = archive.new_file(*name).compression_method(method).start().unwrap();
            let descriptor = if method == CompressionMethod::DEFLATE {
                let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
                let mut writer = config.wrap(encoder);
                writer.write_all(content).unwrap();
                let (encoder, descriptor) = writer.finish().unwrap();
                encoder.finish().unwrap();
                descriptor
            } else {
                let mut writer = config.wrap(&mut entry);
                writer.write_all(content).unwrap();
                writer.finish().unwrap().1
            };
            entry.finish(descriptor).unwrap();
        }
        archive.finish().unwrap();
        bytes
    }

    #[test]
    fn stored_and_deflated_arrays() {
        let (a, b): (Tensor, Tensor) = (arr1(&[1.5_f32, -2.0]).into_dyn().into(), arr1(&[7_i64]).into_dyn().into());
        for method in [CompressionMethod::STORE, CompressionMethod::DEFLATE] {
            let members = [("a.npy", &npy::encode(&a)[..]), ("note.txt", b"no array"), ("b.npy", &npy::encode(&b))];
            let bytes = archive(method, &members);
            let expected = HashMap::from([("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())]);
            assert_eq!(decode(&bytes).unwrap(), expected);
            for n in 0..bytes.len() {
                assert!(decode(&bytes[..n]).is_err(), "{n} of {} bytes", bytes.len());
            }
        }
        let torn = archive(CompressionMethod::DEFLATE, &[("a.npy", b"\x93NUMPY")]);
        assert_eq!(decode(&torn).unwrap_err().to_string(), "array `a`: not a .npy file");
    }

    #[test]
    fn damaged_elements_are_an_error_and_nothing_panics() {
        let a: Tensor = arr1(&[1.5_f32; 40]).into_dyn().into();
        for method in [CompressionMethod::STORE, CompressionMethod::DEFLATE] {
            let bytes = archive(method, &[("a.npy", &npy::encode(&a))]);
            for bit in 0..8 * bytes.len() {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                if let Ok(arrays) = decode(&damaged) {
                    assert!(arrays.values().all(|found| *found == a), "bit {bit}");
                }
            }
        }
    }
}
