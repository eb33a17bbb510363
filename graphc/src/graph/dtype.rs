//! Element types and types of values.

use std::fmt;

use serde::Serialize;

/// The element types of a graph. Files' float16, bfloat16 and float64 are read as float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// float32.
    F32,
    /// int8.
    I8,
    /// uint8.
    U8,
    /// int32.
    I32,
    /// int64.
    I64,
    /// bool.
    Bool,
}

impl DType {
    /// Whether this is one of the element types of quantised tensors.
    pub fn is_int8(self) -> bool {
        matches!(self, DType::I8 | DType::U8)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            DType::I8 | DType::U8 | DType::Bool => 1,
            DType::F32 | DType::I32 => 4,
            DType::I64 => 8,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "f32",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::Bool => "bool",
        })
    }
}

/// Element type and shape of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// Extents, in elements.
    pub shape: Vec<usize>,
}

impl Type {
    /// A type.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Type { dtype, shape: shape.to_vec() }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        write!(f, "[{}]", extents.join("x"))
    }
}
