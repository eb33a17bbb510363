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
