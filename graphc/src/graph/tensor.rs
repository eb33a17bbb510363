//! Tensors of any element type.

use ndarray::{ArrayD, ArrayViewD};

use crate::graph::dtype::{DType, Type};

/// Elements that a tensor may have; a larger one is refused before memory is asked for.
pub const MAX_ELEMENTS: usize = ccl_golden::error::MAX_ELEMENTS;

/// Dimensions that a tensor may have.
pub const MAX_RANK: usize = 8;

/// A tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// float32.
    F32(ArrayD<f32>),
    /// int8.
    I8(ArrayD<i8>),
    /// uint8.
    U8(ArrayD<u8>),
    /// int32.
    I32(ArrayD<i32>),
    /// int64.
    I64(ArrayD<i64>),
    /// bool.
    Bool(ArrayD<bool>),
}

/// Applies an expression to the array of a tensor, whatever its element type.
macro_rules! each_tensor {
    ($tensor:expr, $array:ident => $body:expr) => {
        match $tensor {
            $crate::graph::Tensor::F32($array) => $body,
            $crate::graph::Tensor::I8($array) => $body,
            $crate::graph::Tensor::U8($array) => $body,
            $crate::graph::Tensor::I32($array) => $body,
            $crate::graph::Tensor::I64($array) => $body,
            $crate::graph::Tensor::Bool($array) => $body,
        }
    };
}
pub(crate) use each_tensor;

impl Tensor {
    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Tensor::F32(_) => DType::F32,
            Tensor::I8(_) => DType::I8,
            Tensor::U8(_) => DType::U8,
            Tensor::I32(_) => DType::I32,
            Tensor::I64(_) => DType::I64,
            Tensor::Bool(_) => DType::Bool,
        }
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        each_tensor!(self, a => a.shape())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        each_tensor!(self, a => a.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element type and shape.
    pub fn ty(&self) -> Type {
        Type::new(self.dtype(), self.shape())
    }

    /// A list of integers, saturated to an element type; as float32 or bool they are converted.
    pub fn from_i32(dtype: DType, list: &[i32]) -> Self {
        let list = ndarray::aview1(list).into_dyn();
        match dtype {
            DType::F32 => list.mapv(|v| v as f32).into(),
            DType::I8 => list.mapv(|v| v.clamp(-128, 127) as i8).into(),
            DType::U8 => list.mapv(|v| v.clamp(0, 255) as u8).into(),
            DType::I32 => list.to_owned().into(),
            DType::I64 => list.mapv(i64::from).into(),
            DType::Bool => list.mapv(|v| v != 0).into(),
        }
    }

    /// A tensor drawn from a seed: evenly over all values of 8 bits, small integers, float32 from a bell around 0.
    pub fn synthetic(ty: &Type, seed: u64) -> Self {
        let mut state = seed;
        // SplitMix64, so that neighbouring seeds share nothing.
        let mut bits = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let shape = ndarray::IxDyn(&ty.shape);
        match ty.dtype {
            DType::I8 => ArrayD::from_shape_simple_fn(shape, || bits() as i8).into(),
            DType::U8 => ArrayD::from_shape_simple_fn(shape, || bits() as u8).into(),
            DType::I32 => ArrayD::from_shape_simple_fn(shape, || (bits() % 16) as i32).into(),
            DType::I64 => ArrayD::from_shape_simple_fn(shape, || (bits() % 16) as i64).into(),
            DType::Bool => ArrayD::from_shape_simple_fn(shape, || bits() & 1 == 1).into(),
            DType::F32 => {
                // The sum of four even draws is near enough to a bell, and the same on every host.
                let mut even = || (bits() >> 40) as f32 / (1_u32 << 23) as f32 - 1.0;
                ArrayD::from_shape_simple_fn(shape, || even() + even() + even() + even()).into()
            }
        }
    }

    /// An element as float64, exact but for large int64; `None` where there is none.
    pub fn element(&self, index: &[usize]) -> Option<f64> {
        match self {
            Tensor::F32(a) => a.get(index).map(|&v| f64::from(v)),
            Tensor::I8(a) => a.get(index).map(|&v| f64::from(v)),
            Tensor::U8(a) => a.get(index).map(|&v| f64::from(v)),
            Tensor::I32(a) => a.get(index).map(|&v| f64::from(v)),
            Tensor::I64(a) => a.get(index).map(|&v| v as f64),
            Tensor::Bool(a) => a.get(index).map(|&v| f64::from(u8::from(v))),
        }
    }

    /// The elements in row order as little-endian bytes, a bool as one byte.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Tensor::F32(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Tensor::I8(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Tensor::U8(a) => a.iter().copied().collect(),
            Tensor::I32(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Tensor::I64(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Tensor::Bool(a) => a.iter().map(|&v| u8::from(v)).collect(),
        }
    }

    /// The elements in row order, if they are `T`.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        T::view(self).map(|view| view.iter().cloned().collect())
    }
}

/// An element type of [`Tensor`].
pub trait Element: Clone {
    /// The array, if its elements are of this type.
    fn view(tensor: &Tensor) -> Option<ArrayViewD<'_, Self>>;
}

/// A typed view of a tensor.
pub trait TensorView {
    /// The array, if its elements are `T`.
    fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>>;
}

impl TensorView for Tensor {
    fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        T::view(self)
    }
}

macro_rules! element { ($($T:ty, $Variant:ident;)*) => { $(
    impl From<ArrayD<$T>> for Tensor {
        fn from(array: ArrayD<$T>) -> Self {
            Tensor::$Variant(array)
        }
    }

    impl Element for $T {
        fn view(tensor: &Tensor) -> Option<ArrayViewD<'_, $T>> {
            match tensor {
                Tensor::$Variant(array) => Some(array.view()),
                _ => None,
            }
        }
    }
)* } }

element! { f32, F32; i8, I8; u8, U8; i32, I32; i64, I64; bool, Bool; }
