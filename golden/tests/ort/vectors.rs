//! Reads the vectors that `../vectors/make.py` writes: uncompressed zip archives of arrays, all cases of an operator in five
//! flat streams and an index. Enough of both formats for these files and no more.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use ccl_golden::{Int8, Quant, QuantPer};
use ndarray::{Array1, ArrayD, Dimension, IntoDimension, Ix4, IxDyn};

/// One array of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    I8(ArrayD<i8>),
    U8(ArrayD<u8>),
    I32(ArrayD<i32>),
    I64(ArrayD<i64>),
    F32(ArrayD<f32>),
}

/// An element type of the streams.
pub trait Element: Clone {
    fn wrap(array: ArrayD<Self>) -> Tensor;
    fn unwrap(tensor: Tensor) -> ArrayD<Self>;
}

macro_rules! element { ($($T:ty, $Variant:ident;)*) => { $(
    impl Element for $T {
        fn wrap(array: ArrayD<Self>) -> Tensor {
            Tensor::$Variant(array)
        }

        fn unwrap(tensor: Tensor) -> ArrayD<Self> {
            match tensor {
                Tensor::$Variant(array) => array,
                other => panic!("expected {}, found {other:?}", stringify!($T)),
            }
        }
    }
)* } }

element! { i8, I8; u8, U8; i32, I32; i64, I64; f32, F32; }

/// A case: what goes into an operator, in the order of its function in `make.py`, and what came out of ORT.
#[derive(Debug, Clone)]
pub struct Case {
    pub params: VecDeque<i64>,
    pub arrays: VecDeque<Tensor>,
    pub expected: Tensor,
}

impl Case {
    /// The next parameter.
    pub fn param(&mut self) -> i64 {
        self.params.pop_front().expect("a parameter")
    }

    /// The next parameter, as a size.
    pub fn size(&mut self) -> usize {
        self.param().try_into().expect("a size")
    }

    /// The next `N` parameters, as sizes.
    pub fn sizes<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| self.size())
    }

    /// The next array.
    pub fn array<T: Element>(&mut self) -> ArrayD<T> {
        T::unwrap(self.arrays.pop_front().expect("an array"))
    }

    /// The next array, of fixed rank.
    pub fn ranked<T: Element, D: Dimension>(&mut self) -> ndarray::Array<T, D> {
        self.array().into_dimensionality().expect("the rank that make.py writes")
    }

    /// The next array, an image.
    pub fn image<T: Element>(&mut self) -> ndarray::Array<T, Ix4> {
        self.ranked()
    }

    /// The next array, a list; `None` where it is empty.
    pub fn list<T: Element>(&mut self) -> Option<Array1<T>> {
        Some(self.ranked()).filter(|list| !list.is_empty())
    }

    /// The next array, of one element.
    pub fn scalar<T: Element>(&mut self) -> T {
        self.array::<T>().first().expect("an element").clone()
    }

    /// The next two arrays: scale and zero point of a tensor.
    pub fn quant<T: Element + Int8>(&mut self) -> Quant<T> {
        let scale = self.scalar();
        Quant::new(scale, self.scalar()).expect("make.py writes positive scales")
    }

    /// The next two arrays: scales and zero points of channels.
    pub fn quant_per<T: Element + Int8>(&mut self) -> QuantPer<T> {
        let (scales, zeros): (Array1<f32>, Array1<T>) = (self.ranked(), self.ranked());
        let (scales, zeros) = (scales.to_vec(), zeros.to_vec());
        QuantPer::channels(&scales, &zeros).expect("make.py writes lists of equal length")
    }
}

/// All cases of a file.
pub fn read(path: &Path) -> Vec<Case> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut streams = Streams::new(archive(&bytes));
    let mut cases = Vec::new();
    while !streams.index.is_empty() {
        let params = (0..streams.next()).map(|_| streams.next()).collect();
        let mut arrays: VecDeque<Tensor> = (0..streams.next()).map(|_| streams.tensor()).collect();
        let expected = arrays.pop_back().expect("an output");
        cases.push(Case { params, arrays, expected });
    }
    cases
}

/// What is left to read of the streams.
struct Streams<'a> {
    index: VecDeque<i64>,
    i8: &'a [u8],
    u8: &'a [u8],
    i32: &'a [u8],
    i64: &'a [u8],
    f32: &'a [u8],
}

impl<'a> Streams<'a> {
    fn new(files: HashMap<String, &'a [u8]>) -> Self {
        let of = |name: &str| payload(files[&format!("{name}.npy")]);
        let index = of("index").chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
        Streams { index, i8: of("i8"), u8: of("u8"), i32: of("i32"), i64: of("i64"), f32: of("f32") }
    }

    fn next(&mut self) -> i64 {
        self.index.pop_front().expect("the index ends in the middle of a case")
    }

    fn tensor(&mut self) -> Tensor {
        let stream = self.next();
        let rank = self.next();
        let shape: Vec<usize> = (0..rank).map(|_| self.next() as usize).collect();
        match stream {
            0 => Tensor::I8(take(&mut self.i8, &shape, i8::from_le_bytes)),
            1 => Tensor::U8(take(&mut self.u8, &shape, u8::from_le_bytes)),
            2 => Tensor::I32(take(&mut self.i32, &shape, i32::from_le_bytes)),
            3 => Tensor::I64(take(&mut self.i64, &shape, i64::from_le_bytes)),
            4 => Tensor::F32(take(&mut self.f32, &shape, f32::from_le_bytes)),
            other => panic!("no stream {other}"),
        }
    }
}

/// The next array of a stream, whose elements have `N` bytes.
fn take<T, const N: usize>(stream: &mut &[u8], shape: &[usize], decode: fn([u8; N]) -> T) -> ArrayD<T> {
    let (bytes, rest) = stream.split_at(shape.iter().product::<usize>() * N);
    *stream = rest;
    let elements = bytes.chunks_exact(N).map(|b| decode(b.try_into().unwrap())).collect();
    ArrayD::from_shape_vec(IxDyn(shape).into_dimension(), elements).expect("as many elements as the shape has")
}

/// The files of an uncompressed zip archive, by its central directory.
fn archive(bytes: &[u8]) -> HashMap<String, &[u8]> {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06").expect("a zip archive");
    let (n_files, mut at) = (u16_at(end + 10), u32_at(end + 16));
    let mut files = HashMap::new();
    for _ in 0..n_files {
        assert_eq!((&bytes[at..at + 4], u16_at(at + 10)), (&b"PK\x01\x02"[..], 0), "an uncompressed entry");
        let (len_bytes, name_bytes, local) = (u32_at(at + 20), u16_at(at + 28), u32_at(at + 42));
        let name = String::from_utf8_lossy(&bytes[at + 46..at + 46 + name_bytes]).into_owned();
        let start = local + 30 + u16_at(local + 26) + u16_at(local + 28);
        files.insert(name, &bytes[start..start + len_bytes]);
        at += 46 + name_bytes + u16_at(at + 30) + u16_at(at + 32);
    }
    files
}

/// The elements of a `.npy` file, format 1.
fn payload(file: &[u8]) -> &[u8] {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00", "a numpy array of format 1");
    &file[10 + usize::from(u16::from_le_bytes([file[8], file[9]]))..]
}
