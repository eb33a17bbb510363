//! `.npy` files: one array each. Reads the element types of a graph (and float64 and float16 as float32), writes the graph's own.
//!
//! The format is a short Python literal and the elements; crates for it bring a grammar of Python and a build of C.

use std::path::Path;

use half::f16;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use crate::files::write_whole;
use crate::graph::{DType, MAX_ELEMENTS, MAX_RANK, Tensor};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Why bytes are no array.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It does not begin as such files do.
    #[error("not a .npy file")]
    Magic,
    /// The header does not say what it must.
    #[error("the header of the .npy file has no legal `{field}`")]
    Header {
        /// The field.
        field: &'static str,
    },
    /// The element type is not read.
    #[error("elements of type `{descr}` are not read; accepted are f4, f8, f2, i1, u1, i4, i8 and b1, little-endian")]
    DType {
        /// The type as the header has it.
        descr: String,
    },
    /// There are too few or too many bytes.
    #[error("shape {shape:?} needs {expected} bytes, and there are {found}")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// Bytes it needs.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
}

/// Reads a file.
///
/// # Errors
/// [`NpyError`].
pub fn read(path: &Path) -> Result<Tensor, NpyError> {
    decode(&std::fs::read(path)?)
}

/// Reads an array from the bytes of a file.
///
/// # Errors
/// [`NpyError`], but for `Io`.
pub fn decode(bytes: &[u8]) -> Result<Tensor, NpyError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(NpyError::Magic)?;
    let (length, rest) = if version[0] == 1 {
        let (n, rest) = rest.split_first_chunk::<2>().ok_or(NpyError::Magic)?;
        (usize::from(u16::from_le_bytes(*n)), rest)
    } else {
        let (n, rest) = rest.split_first_chunk::<4>().ok_or(NpyError::Magic)?;
        (u32::from_le_bytes(*n) as usize, rest)
    };
    let (header, data) = rest.split_at_checked(length).ok_or(NpyError::Magic)?;
    let header = std::str::from_utf8(header).map_err(|_| NpyError::Header { field: "descr" })?;
    let shape = shape(header)?;
    let columns_first = field(header, "fortran_order").is_some_and(|v| v.starts_with("True"));
    let descr = field(header, "descr").and_then(quoted).ok_or(NpyError::Header { field: "descr" })?;
    let array = Data { data, shape, columns_first };
    match descr.trim_start_matches(['<', '|', '=']) {
        "f4" => array.read(f32::from_le_bytes),
        "f8" => array.read(|b| f64::from_le_bytes(b) as f32),
        "f2" => array.read(|b| f16::from_le_bytes(b).to_f32()),
        "i1" => array.read(|[b]: [u8; 1]| b as i8),
        "u1" => array.read(|[b]: [u8; 1]| b),
        "b1" => array.read(|[b]: [u8; 1]| b != 0),
        "i4" => array.read(i32::from_le_bytes),
        "i8" => array.read(i64::from_le_bytes),
        _ => Err(NpyError::DType { descr: descr.chars().take(20).collect() }),
    }
}

/// What follows a key of the header.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{key}'"))?;
    header[at + key.len() + 2..].trim_start().strip_prefix(':').map(str::trim_start)
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.split('\'').next()
}

fn shape(header: &str) -> Result<Vec<usize>, NpyError> {
    let wrong = || NpyError::Header { field: "shape" };
    let list = field(header, "shape").and_then(|v| v.strip_prefix('(')).ok_or_else(wrong)?;
    let list = list.split(')').next().ok_or_else(wrong)?;
    let extents = list.split(',').map(str::trim).filter(|s| !s.is_empty());
    let shape = extents.map(|s| s.parse::<usize>().map_err(|_| wrong())).collect::<Result<Vec<_>, _>>()?;
    let room = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1)));
    if room.is_some_and(|n| n <= MAX_ELEMENTS) && shape.len() <= MAX_RANK { Ok(shape) } else { Err(wrong()) }
}

struct Data<'a> {
    data: &'a [u8],
    shape: Vec<usize>,
    columns_first: bool,
}

impl Data<'_> {
    fn read<T, const BYTES: usize>(self, element: impl Fn([u8; BYTES]) -> T) -> Result<Tensor, NpyError>
    where
        Tensor: From<ArrayD<T>>,
    {
        let expected = self.shape.iter().product::<usize>() * BYTES;
        if self.data.len() != expected {
            return Err(NpyError::Length { shape: self.shape, expected, found: self.data.len() });
        }
        let elements = self.data.as_chunks().0.iter().map(|&chunk| element(chunk)).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&self.shape).set_f(self.columns_first), elements);
        Ok(array.expect("the length was checked").into())
    }
}

/// The bytes of a file.
pub fn encode(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype() {
        DType::F32 => "<f4",
        DType::I8 => "|i1",
        DType::U8 => "|u1",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::Bool => "|b1",
    };
    let extents: String = tensor.shape().iter().map(|n| format!("{n}, ")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}").replace(", )", ",)");
    // Magic, version, length, header and a line break fill whole blocks of 64 bytes.
    let filled = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64);
    header.extend(std::iter::repeat_n(' ', filled - (MAGIC.len() + 4 + header.len() + 1)));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(tensor.to_le_bytes());
    bytes
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// [`NpyError::Io`].
pub fn write(path: &Path, tensor: &Tensor) -> Result<(), NpyError> {
    Ok(write_whole(path, &encode(tensor))?)
}

/// A tensor's name as the name of a file: characters outside letters, digits, `.`, `_` and `-` become `_`.
pub fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{arr0, arr1, arr2};

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tensors: [Tensor; 6] = [
            arr2(&[[1.5_f32, f32::INFINITY], [-0.0, 3.0]]).into_dyn().into(),
            arr1(&[-128_i8, 127]).into_dyn().into(),
            arr0(200_u8).into_dyn().into(),
            arr1(&[i32::MIN]).into_dyn().into(),
            ArrayD::<i64>::zeros(IxDyn(&[2, 0, 3])).into(),
            arr1(&[true, false]).into_dyn().into(),
        ];
        for tensor in tensors {
            let bytes = encode(&tensor);
            assert_eq!((bytes.len() - tensor.len() * tensor.dtype().bytes()) % 64, 0);
            assert_eq!(decode(&bytes).unwrap(), tensor);
            for n in 0..bytes.len() {
                assert!(decode(&bytes[..n]).is_err());
            }
        }
    }

    #[test]
    fn columns_first_and_other_headers() {
        let file = |header: &str, data: &[u8]| {
            [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
        };
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
        let expected = arr2(&[[1_u8, 3, 5], [2, 4, 6]]).into_dyn();
        assert_eq!(decode(&file(header, &[1, 2, 3, 4, 5, 6])).unwrap(), expected.into());
        for header in [
            "",
            "{'descr': '<c8', 'shape': (1,)}",
            "{'descr': '|u1', 'shape': (99999999999999999999,)}",
            "{'descr': '|u1', 'shape': (4294967296, 4294967296)}",
        ] {
            assert!(decode(&file(header, &[0])).is_err(), "{header}");
        }
    }
}
