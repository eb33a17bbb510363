//! Tensors as the host holds them: elements in the order of their extents, the last one fastest.

use ndarray::{Array1, Array2, Dimension};

use super::args::ElemType;
use crate::native::Lane;
use crate::value::Elem;

/// A tensor on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTensor {
    elem: ElemType,
    dims: Vec<usize>,
    /// Little-endian.
    bytes: Vec<u8>,
}

impl HostTensor {
    /// A tensor of zeros.
    pub fn zeros(elem: ElemType, dims: &[usize]) -> Self {
        Self { elem, dims: dims.to_vec(), bytes: vec![0; dims.iter().product::<usize>() * elem.bytes()] }
    }

    /// A tensor whose element `i` is `f(i)`, of which the low bits are kept.
    pub fn from_fn(elem: ElemType, dims: &[usize], f: impl FnMut(usize) -> i64) -> Self {
        let mut tensor = Self::zeros(elem, dims);
        let size = elem.bytes();
        for (to, value) in tensor.bytes.chunks_exact_mut(size).zip((0..).map(f)) {
            to.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        tensor
    }

    /// A tensor from an array.
    pub fn from_array<T: HostElem, D: Dimension>(array: &ndarray::Array<T, D>) -> Self {
        let mut bytes = vec![0; array.len() * T::TYPE.bytes()];
        for (to, value) in bytes.chunks_exact_mut(T::TYPE.bytes()).zip(array) {
            value.to_lane().put_bytes(to);
        }
        Self { elem: T::TYPE, dims: array.shape().to_vec(), bytes }
    }

    /// The elements as an array.
    ///
    /// # Panics
    /// If they have another type or number of extents.
    pub fn to_array<T: HostElem, D: Dimension>(&self) -> ndarray::Array<T, D> {
        assert_eq!(self.elem, T::TYPE, "elements of another type");
        let values = self.bytes.chunks_exact(T::TYPE.bytes()).map(|b| T::from_lane(T::Lane::from_bytes(b))).collect();
        let array =
            ndarray::ArrayD::from_shape_vec(self.dims.clone(), values).expect("as many elements as extents say");
        array.into_dimensionality().expect("as many extents as the type has")
    }

    /// Type of the elements.
    pub fn elem(&self) -> ElemType {
        self.elem
    }
    /// Extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.elem.bytes()
    }
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// The elements, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The elements, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Element `i`, of `Fx` its bits.
    pub fn get(&self, i: usize) -> i64 {
        let b = &self.bytes[i * self.elem.bytes()..][..self.elem.bytes()];
        match self.elem {
            ElemType::Bool | ElemType::U8 => b[0] as i64,
            ElemType::I8 => b[0] as i8 as i64,
            ElemType::I16 => i16::from_bytes(b) as i64,
            ElemType::U16 => u16::from_bytes(b) as i64,
            ElemType::I32 | ElemType::Fx(_) => i32::from_bytes(b) as i64,
            ElemType::I64 => i64::from_bytes(b),
        }
    }

    /// All elements.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// Elements of tensors.
pub trait HostElem: Elem {
    /// Which.
    const TYPE: ElemType;
}
macro_rules! host_elems {
    ($($T:ty = $Type:ident),*) => { $( impl HostElem for $T { const TYPE: ElemType = ElemType::$Type; } )* };
}
host_elems!(i8 = I8, i16 = I16, i32 = I32, i64 = I64, u8 = U8, u16 = U16, bool = Bool);
impl<const F: usize> HostElem for crate::value::Fx<F> {
    const TYPE: ElemType = ElemType::Fx(F as u8);
}

/// Weights and biases, as a reference sees a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear<T> {
    /// `[CO, K]`.
    pub weights: Array2<T>,
    /// `[CO]`.
    pub bias: Array1<i32>,
}
