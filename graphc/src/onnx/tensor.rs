//! Tensors of a file as typed arrays.

use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};

use crate::graph::{DType, MAX_ELEMENTS, Tensor, Type};
use crate::onnx::external::Folder;
use crate::onnx::proto::{
    DimensionProto, Extent, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, data_type,
};

/// Why a tensor of a file has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The element type is not read.
    #[error("element type {name} is not read; accepted are {ACCEPTED}")]
    DataType {
        /// The type, by its ONNX name or number.
        name: String,
    },
    /// An extent is negative.
    #[error("extent {extent} is negative")]
    Extent {
        /// The extent.
        extent: i64,
    },
    /// The tensor is too large.
    #[error("shape {shape:?} has more than {MAX_ELEMENTS} elements")]
    TooLarge {
        /// The shape.
        shape: Vec<i64>,
    },
    /// Elements and shape do not fit.
    #[error("shape {shape:?} needs {expected} {unit}, and there are {found}")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// What is counted.
        unit: &'static str,
        /// How many the shape needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The file with the elements is not what the tensor says.
    #[error("external data: {reason}")]
    External {
        /// What is wrong.
        reason: String,
    },
}

/// The element types of files, in words.
pub const ACCEPTED: &str = "float32, float16, bfloat16, float64, int8, uint8, int32, int64 and bool";

/// The element type that a file's type is read as: float16, bfloat16 and float64 become float32.
///
/// # Errors
/// [`TensorError::DataType`].
pub fn dtype(data_type: i32) -> Result<DType, TensorError> {
    Ok(match data_type {
        data_type::FLOAT | data_type::FLOAT16 | data_type::BFLOAT16 | data_type::DOUBLE => DType::F32,
        data_type::INT8 => DType::I8,
        data_type::UINT8 => DType::U8,
        data_type::INT32 => DType::I32,
        data_type::INT64 => DType::I64,
        data_type::BOOL => DType::Bool,
        other => return Err(TensorError::DataType { name: data_type_name(other) }),
    })
}

/// Bytes of an element in a file.
///
/// # Errors
/// [`TensorError::DataType`].
pub fn bytes_of(data_type: i32) -> Result<usize, TensorError> {
    Ok(match data_type {
        data_type::FLOAT16 | data_type::BFLOAT16 => 2,
        data_type::DOUBLE => 8,
        other => dtype(other)?.bytes(),
    })
}

/// The type of a file that an element type is written as.
pub fn data_type_of(dtype: DType) -> i32 {
    match dtype {
        DType::F32 => data_type::FLOAT,
        DType::I8 => data_type::INT8,
        DType::U8 => data_type::UINT8,
        DType::I32 => data_type::INT32,
        DType::I64 => data_type::INT64,
        DType::Bool => data_type::BOOL,
    }
}

/// A tensor as a file has it, its elements in the message.
pub fn proto(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: tensor.shape().iter().map(|&n| n as i64).collect(),
        data_type: data_type_of(tensor.dtype()),
        raw_data: tensor.to_le_bytes().into(),
        ..Default::default()
    }
}

/// A named value and its type as a file has them.
pub fn value_info(name: &str, ty: &Type) -> ValueInfoProto {
    let extent = |&n: &usize| DimensionProto { value: Some(Extent::Value(n as i64)) };
    let shape = Some(TensorShapeProto { dim: ty.shape.iter().map(extent).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: data_type_of(ty.dtype), shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

/// The ONNX name of a type that is not read.
fn data_type_name(data_type: i32) -> String {
    const NAMES: [&str; 24] = [
        "undefined",
        "float32",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "float64",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "uint4",
        "int4",
        "float4e2m1",
    ];
    let name = usize::try_from(data_type).ok().and_then(|i| NAMES.get(i));
    name.map_or_else(|| format!("number {data_type}"), |name| (*name).to_owned())
}

/// Extents as sizes, with at most [`MAX_ELEMENTS`] elements.
///
/// # Errors
/// [`TensorError::Extent`], [`TensorError::TooLarge`].
pub fn shape(dims: &[i64]) -> Result<Vec<usize>, TensorError> {
    let size = |&extent: &i64| usize::try_from(extent).map_err(|_| TensorError::Extent { extent });
    let shape = dims.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let room = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1)));
    match room {
        Some(n) if n <= MAX_ELEMENTS && shape.len() <= crate::graph::MAX_RANK => Ok(shape),
        _ => Err(TensorError::TooLarge { shape: dims.to_vec() }),
    }
}

/// The value of a tensor.
///
/// # Errors
/// [`TensorError`].
pub fn tensor(proto: &TensorProto, folder: &Folder) -> Result<Tensor, TensorError> {
    let dtype = dtype(proto.data_type)?;
    let shape = shape(&proto.dims)?;
    let n = shape.iter().product::<usize>();
    let reader = Elements { proto, folder, shape, n };
    match dtype {
        DType::I8 => reader.integers(|[b]: [u8; 1]| b as i8, |v| v as i8),
        DType::U8 => reader.integers(|[b]: [u8; 1]| b, |v| v as u8),
        DType::Bool => reader.integers(|[b]: [u8; 1]| b != 0, |v| v != 0),
        DType::I32 => reader.integers(i32::from_le_bytes, |v| v),
        DType::I64 => reader.typed(i64::from_le_bytes, &proto.int64_data, |&v| v),
        DType::F32 => reader.floats(),
    }
}

struct Elements<'a> {
    proto: &'a TensorProto,
    folder: &'a Folder,
    shape: Vec<usize>,
    n: usize,
}

impl Elements<'_> {
    fn floats(self) -> Result<Tensor, TensorError> {
        let bits = |v: &i32| *v as u16;
        match self.proto.data_type {
            data_type::FLOAT16 => {
                let proto = self.proto;
                self.typed(|b| f16::from_le_bytes(b).to_f32(), &proto.int32_data, |v| f16::from_bits(bits(v)).to_f32())
            }
            data_type::BFLOAT16 => {
                let proto = self.proto;
                self.typed(
                    |b| bf16::from_le_bytes(b).to_f32(),
                    &proto.int32_data,
                    |v| bf16::from_bits(bits(v)).to_f32(),
                )
            }
            data_type::DOUBLE => {
                let proto = self.proto;
                self.typed(|b| f64::from_le_bytes(b) as f32, &proto.double_data, |&v| v as f32)
            }
            _ => {
                let proto = self.proto;
                self.typed(f32::from_le_bytes, &proto.float_data, |&v| v)
            }
        }
    }

    /// Elements of a type whose list of numbers is `int32_data`.
    fn integers<T, const BYTES: usize>(
        self,
        raw: impl Fn([u8; BYTES]) -> T,
        listed: impl Fn(i32) -> T,
    ) -> Result<Tensor, TensorError>
    where
        Tensor: From<ArrayD<T>>,
    {
        let proto = self.proto;
        self.typed(raw, &proto.int32_data, |&v| listed(v))
    }

    /// Elements from another file, from raw bytes, or from a list of numbers.
    fn typed<T, L, const BYTES: usize>(
        self,
        raw: impl Fn([u8; BYTES]) -> T,
        list: &[L],
        listed: impl Fn(&L) -> T,
    ) -> Result<Tensor, TensorError>
    where
        Tensor: From<ArrayD<T>>,
    {
        let length = |unit, expected, found| TensorError::Length { shape: self.shape.clone(), unit, expected, found };
        let external = self.proto.data_location == 1;
        let elements: Vec<T> = if external || !self.proto.raw_data.is_empty() || list.is_empty() {
            let n_bytes = self.n * BYTES;
            let bytes = if external { self.folder.read(self.proto, n_bytes)? } else { self.proto.raw_data.clone() };
            if bytes.len() != n_bytes {
                return Err(length("bytes", n_bytes, bytes.len()));
            }
            bytes.as_chunks().0.iter().map(|&chunk| raw(chunk)).collect()
        } else {
            if list.len() != self.n {
                return Err(length("elements", self.n, list.len()));
            }
            list.iter().map(listed).collect()
        };
        let array = ArrayD::from_shape_vec(IxDyn(&self.shape), elements);
        Ok(Tensor::from(array.expect("the number of elements was checked")))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::onnx::proto::StringStringEntryProto;

    fn read(proto: &TensorProto) -> Result<Tensor, TensorError> {
        tensor(proto, &Folder::none())
    }

    #[test]
    fn half_precision_in_both_forms() {
        let expected = Tensor::from(ndarray::arr1(&[1.5_f32, -0.25]).into_dyn());
        let raw = [f16::from_f32(1.5).to_le_bytes(), f16::from_f32(-0.25).to_le_bytes()].concat();
        let proto = TensorProto { dims: vec![2], data_type: data_type::FLOAT16, ..Default::default() };
        assert_eq!(read(&TensorProto { raw_data: raw.into(), ..proto.clone() }).as_ref(), Ok(&expected));
        let bits = [1.5, -0.25].map(|v| i32::from(f16::from_f32(v).to_bits())).to_vec();
        assert_eq!(read(&TensorProto { int32_data: bits, ..proto }).as_ref(), Ok(&expected));
    }

    #[test]
    fn sizes_are_checked_before_memory_is_asked_for() {
        let proto =
            |dims: &[i64]| TensorProto { dims: dims.to_vec(), data_type: data_type::INT8, ..Default::default() };
        assert!(matches!(read(&proto(&[1 << 40, 1 << 40])), Err(TensorError::TooLarge { .. })));
        assert!(matches!(read(&proto(&[-1])), Err(TensorError::Extent { extent: -1 })));
        let err = read(&TensorProto { raw_data: Bytes::from_static(&[1, 2]), ..proto(&[3]) }).unwrap_err();
        assert_eq!(err.to_string(), "shape [3] needs 3 bytes, and there are 2");
        let strings = TensorProto { data_type: 8, ..proto(&[1]) };
        assert!(read(&strings).unwrap_err().to_string().starts_with("element type string is not read"));
        assert_eq!(read(&proto(&[0, 3])).unwrap().shape(), [0, 3]);
    }

    #[test]
    fn external_data_stays_in_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("model");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("weights"), [9, 9, 9, 1, 2, 3]).unwrap();
        std::fs::write(outer.path().join("secret"), [7; 8]).unwrap();
        let at = |location: &str, offset: &str| {
            let entry = |key: &str, value: &str| StringStringEntryProto { key: key.into(), value: value.into() };
            let external_data = vec![entry("location", location), entry("offset", offset), entry("length", "3")];
            let data_type = data_type::UINT8;
            let proto = TensorProto { dims: vec![3], data_type, data_location: 1, external_data, ..Default::default() };
            tensor(&proto, &Folder::of(&folder.join("model.onnx")))
        };
        assert_eq!(at("weights", "3"), Ok(Tensor::from(ndarray::arr1(&[1_u8, 2, 3]).into_dyn())));
        for (location, offset, says) in [
            ("../secret", "0", "leaves"),
            ("/etc/hostname", "0", "leaves"),
            ("", "0", "leaves"),
            ("weights", "4", "has 6 bytes"),
            ("weights", "18446744073709551615", "has 6 bytes"),
            ("weights", "-1", "expected a number"),
            ("absent", "0", "absent"),
            (".", "0", "no plain file"),
        ] {
            let err = at(location, offset).unwrap_err().to_string();
            assert!(err.contains(says), "{location}: {err}");
        }
    }
}
