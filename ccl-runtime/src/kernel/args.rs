//! Parameters of a kernel, and what a caller passes for them.

use std::fmt;

use super::host::HostTensor;
use crate::tensor::Kind;
use crate::tensor::store::TensorId;
use crate::tensor::view::View;
use crate::value::Scale;

/// Type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the language")]
pub enum ElemType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    /// With so many fraction bits, in 32 bits.
    Fx(u8),
}

impl ElemType {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            ElemType::Bool | ElemType::I8 | ElemType::U8 => 1,
            ElemType::I16 | ElemType::U16 => 2,
            ElemType::I32 | ElemType::Fx(_) => 4,
            ElemType::I64 => 8,
        }
    }

    /// Least and greatest value, of `Fx` as bits.
    pub const fn range(self) -> (i64, i64) {
        match self {
            ElemType::Bool => (0, 1),
            ElemType::I8 => (i8::MIN as i64, i8::MAX as i64),
            ElemType::U8 => (0, u8::MAX as i64),
            ElemType::I16 => (i16::MIN as i64, i16::MAX as i64),
            ElemType::U16 => (0, u16::MAX as i64),
            ElemType::I32 | ElemType::Fx(_) => (i32::MIN as i64, i32::MAX as i64),
            ElemType::I64 => (i64::MIN, i64::MAX),
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElemType::Bool => f.write_str("bool"),
            ElemType::I8 => f.write_str("i8"),
            ElemType::I16 => f.write_str("i16"),
            ElemType::I32 => f.write_str("i32"),
            ElemType::I64 => f.write_str("i64"),
            ElemType::U8 => f.write_str("u8"),
            ElemType::U16 => f.write_str("u16"),
            ElemType::Fx(bits) => write!(f, "Fx<{bits}>"),
        }
    }
}

/// Where a tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// On chip.
    Ocm,
    /// External.
    Ext,
}

/// What a kernel does with a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `&`.
    Read,
    /// `&mut`: it may also be read.
    Write,
}

/// A layout with its extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutType {
    /// Which.
    pub kind: Kind,
    /// Channels, rows, columns; of tokens features, 1, tokens; of streams outputs, 1, inputs.
    pub dims: [usize; 3],
}

impl LayoutType {
    /// Extents as the host holds the tensor: `[C, H, W]`, tokens `[N, D]`, a vector `[N]`, weights of a stream `[CO, K]`.
    pub fn host_dims(&self) -> Vec<usize> {
        let [c, h, w] = self.dims;
        match self.kind {
            Kind::Planar | Kind::Packed => vec![c, h, w],
            Kind::Tokens => vec![w, c],
            Kind::Vector => vec![w],
            Kind::Stream(_) => vec![c, w],
        }
    }

    /// Bytes in memory.
    pub const fn size_bytes(&self, elem: ElemType) -> usize {
        self.kind.size_bytes(self.dims, elem.bytes())
    }

    /// Index in memory of each element, in the order of the host; no stream.
    fn addresses(&self, elem: ElemType) -> impl Iterator<Item = usize> {
        let view = View::whole(TensorId::NONE, self.kind, elem.bytes(), self.dims);
        let ([c, h, w], kind) = (self.dims, self.kind);
        (0..c * h * w).map(move |i| match kind {
            Kind::Tokens => view.address(i % c, 0, i / c),
            _ => view.address(i / (h * w), i / w % h, i % w),
        })
    }
}

impl fmt::Display for LayoutType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.host_dims().iter().map(usize::to_string).collect();
        write!(f, "{}<{}>", self.kind.name().trim_matches('`'), dims.join(", "))
    }
}

/// A tensor of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Where it lies.
    pub memory: Memory,
    /// Its elements.
    pub elem: ElemType,
    /// How they are laid out.
    pub layout: LayoutType,
    /// What the kernel does with it.
    pub access: Access,
}

impl TensorType {
    /// Bytes in memory.
    pub const fn size_bytes(&self) -> usize {
        self.layout.size_bytes(self.elem)
    }

    /// The bytes in memory of an argument; what fills up words is 0.
    ///
    /// # Errors
    /// If the argument has another kind, other extents or another element type.
    pub fn pack(&self, argument: &Argument) -> Result<Vec<u8>, ArgError> {
        match (self.layout.kind, argument) {
            (Kind::Stream(order), Argument::Stream { weights, bias }) => {
                self.check(weights)?;
                let [outputs, _, inputs] = self.layout.dims;
                if bias.len() != outputs {
                    return Err(ArgError::Extents { wanted: vec![outputs], found: vec![bias.len()] });
                }
                Ok(order.pack(inputs, self.elem.bytes(), weights.bytes(), bias))
            }
            (Kind::Stream(_), other) => Err(ArgError::Kind { wanted: "weights with biases", found: other.kind() }),
            (_, Argument::Tensor(tensor)) => {
                self.check(tensor)?;
                let (size, mut bytes) = (self.elem.bytes(), vec![0; self.size_bytes()]);
                for (from, at) in tensor.bytes().chunks_exact(size).zip(self.layout.addresses(self.elem)) {
                    bytes[at * size..][..size].copy_from_slice(from);
                }
                Ok(bytes)
            }
            (_, other) => Err(ArgError::Kind { wanted: "a tensor", found: other.kind() }),
        }
    }

    /// The tensor that lies in memory as `bytes`.
    ///
    /// # Errors
    /// If it is a stream, which is only read, or if there are more or fewer bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Result<HostTensor, ArgError> {
        if matches!(self.layout.kind, Kind::Stream(_)) {
            return Err(ArgError::Kind { wanted: "a tensor", found: "weights with biases" });
        }
        if bytes.len() != self.size_bytes() {
            return Err(ArgError::Extents { wanted: vec![self.size_bytes()], found: vec![bytes.len()] });
        }
        let (size, mut out) = (self.elem.bytes(), HostTensor::zeros(self.elem, &self.layout.host_dims()));
        for (to, at) in out.bytes_mut().chunks_exact_mut(size).zip(self.layout.addresses(self.elem)) {
            to.copy_from_slice(&bytes[at * size..][..size]);
        }
        Ok(out)
    }

    /// The argument that lies in memory as `bytes`: a tensor, or weights with biases.
    ///
    /// # Errors
    /// If there are more or fewer bytes.
    pub fn argument(&self, bytes: &[u8]) -> Result<Argument, ArgError> {
        let Kind::Stream(order) = self.layout.kind else { return self.unpack(bytes).map(Argument::Tensor) };
        if bytes.len() != self.size_bytes() {
            return Err(ArgError::Extents { wanted: vec![self.size_bytes()], found: vec![bytes.len()] });
        }
        let [outputs, _, inputs] = self.layout.dims;
        let (own, bias) = order.unpack([outputs, inputs], self.elem.bytes(), bytes);
        let mut weights = HostTensor::zeros(self.elem, &self.layout.host_dims());
        weights.bytes_mut().copy_from_slice(&own);
        Ok(Argument::Stream { weights, bias })
    }

    /// First byte in memory of an element of the host's order; none of a stream or behind the end.
    pub fn byte_of(&self, element: usize) -> Option<usize> {
        if matches!(self.layout.kind, Kind::Stream(_)) {
            return None;
        }
        Some(self.layout.addresses(self.elem).nth(element)? * self.elem.bytes())
    }

    fn check(&self, tensor: &HostTensor) -> Result<(), ArgError> {
        if tensor.elem() != self.elem {
            return Err(ArgError::Element { wanted: self.elem, found: tensor.elem() });
        }
        let wanted = self.layout.host_dims();
        if tensor.dims() != wanted {
            return Err(ArgError::Extents { wanted, found: tensor.dims().to_vec() });
        }
        Ok(())
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.access == Access::Write { "&mut " } else { "&" };
        let memory = if self.memory == Memory::Ocm { "Ocm" } else { "Ext" };
        write!(f, "{access}{memory}<{}, {}>", self.elem, self.layout)
    }
}

/// Type of a parameter, its extents known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// A tensor.
    Tensor(TensorType),
    /// A scale.
    Scale,
    /// An integer, a condition or a fixed-point number; `usize` is an [`ElemType::I64`].
    Scalar(ElemType),
    /// `[T; N]`, behind a reference or not.
    Array(Box<ParamType>, usize),
    /// `(A, B)`.
    Tuple(Vec<ParamType>),
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the text of the kernel.
    pub name: String,
    /// Its type.
    pub ty: ParamType,
}

/// What is passed for a parameter. Outputs are passed too, with any contents.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// For a tensor of any layout but a stream.
    Tensor(HostTensor),
    /// For a stream.
    Stream {
        /// `[CO, K]`.
        weights: HostTensor,
        /// One for each output.
        bias: Vec<i32>,
    },
    /// A scale.
    Scale(Scale),
    /// An integer, a condition (0 or 1), or the bits of a fixed-point number.
    Scalar(i64),
    /// For arrays and tuples.
    List(Vec<Argument>),
}

impl Argument {
    /// What it is, in an error.
    pub const fn kind(&self) -> &'static str {
        match self {
            Argument::Tensor(_) => "a tensor",
            Argument::Stream { .. } => "weights with biases",
            Argument::Scale(_) => "a scale",
            Argument::Scalar(_) => "a number",
            Argument::List(_) => "a list",
        }
    }
}

impl From<HostTensor> for Argument {
    fn from(tensor: HostTensor) -> Self {
        Argument::Tensor(tensor)
    }
}
impl From<Scale> for Argument {
    fn from(scale: Scale) -> Self {
        Argument::Scale(scale)
    }
}
impl From<i64> for Argument {
    fn from(value: i64) -> Self {
        Argument::Scalar(value)
    }
}

/// What is passed to a kernel, by the names of its parameters, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    list: Vec<(String, Argument)>,
}

impl Arguments {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more; an argument of that name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, argument: impl Into<Argument>) -> Self {
        self.set(name, argument);
        self
    }

    /// Adds or replaces an argument.
    pub fn set(&mut self, name: &str, argument: impl Into<Argument>) {
        let argument = argument.into();
        match self.get_mut(name) {
            Some(old) => *old = argument,
            None => self.list.push((name.to_owned(), argument)),
        }
    }

    /// The argument of that name.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.list.iter().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    /// The argument of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Argument> {
        self.list.iter_mut().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&HostTensor> {
        match self.get(name) {
            Some(Argument::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// Names and arguments in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Argument)> {
        self.list.iter().map(|(n, a)| (n.as_str(), a))
    }

    /// Checks that there is one argument of the right kind for each parameter, and no other.
    ///
    /// # Errors
    /// The first parameter without a fitting argument, or the first argument without a parameter.
    pub fn check(&self, params: &[Param]) -> Result<(), ArgError> {
        for param in params {
            let argument = self.get(&param.name).ok_or_else(|| ArgError::Missing { name: param.name.clone() })?;
            param.ty.check(argument).map_err(|error| error.of(&param.name))?;
        }
        match self.list.iter().find(|(name, _)| params.iter().all(|p| p.name != *name)) {
            None => Ok(()),
            Some((name, _)) => Err(ArgError::Unknown {
                name: name.clone(),
                params: params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join("`, `"),
            }),
        }
    }
}

impl ParamType {
    /// Checks an argument against the type.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, argument: &Argument) -> Result<(), ArgError> {
        match (self, argument) {
            (ParamType::Tensor(ty), Argument::Stream { weights, bias })
                if matches!(ty.layout.kind, Kind::Stream(_)) =>
            {
                ty.check(weights)?;
                let outputs = ty.layout.dims[0];
                if bias.len() == outputs {
                    return Ok(());
                }
                Err(ArgError::Extents { wanted: vec![outputs], found: vec![bias.len()] })
            }
            (ParamType::Tensor(ty), Argument::Tensor(tensor)) if !matches!(ty.layout.kind, Kind::Stream(_)) => {
                ty.check(tensor)
            }
            (ParamType::Scale, Argument::Scale(_)) => Ok(()),
            (ParamType::Scalar(elem), Argument::Scalar(value)) => {
                let (lo, hi) = elem.range();
                if (lo..=hi).contains(value) {
                    return Ok(());
                }
                Err(ArgError::Range { value: *value, elem: *elem })
            }
            (ParamType::Array(of, n), Argument::List(list)) if list.len() == *n => {
                list.iter().try_for_each(|argument| of.check(argument))
            }
            (ParamType::Tuple(types), Argument::List(list)) if list.len() == types.len() => {
                types.iter().zip(list).try_for_each(|(ty, argument)| ty.check(argument))
            }
            (ParamType::Array(_, n), Argument::List(list)) => {
                Err(ArgError::Extents { wanted: vec![*n], found: vec![list.len()] })
            }
            (ParamType::Tuple(types), Argument::List(list)) => {
                Err(ArgError::Extents { wanted: vec![types.len()], found: vec![list.len()] })
            }
            (wanted, found) => Err(ArgError::Kind { wanted: wanted.kind(), found: found.kind() }),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            ParamType::Tensor(ty) if matches!(ty.layout.kind, Kind::Stream(_)) => "weights with biases",
            ParamType::Tensor(_) => "a tensor",
            ParamType::Scale => "a scale",
            ParamType::Scalar(_) => "a number",
            ParamType::Array(..) | ParamType::Tuple(_) => "a list",
        }
    }
}

/// Why an argument does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum ArgError {
    #[error("no argument for the parameter `{name}`")]
    Missing { name: String },
    #[error("no parameter `{name}`; there are `{params}`")]
    Unknown { name: String, params: String },
    #[error("{wanted} is wanted, this is {found}")]
    Kind { wanted: &'static str, found: &'static str },
    #[error("elements of `{wanted}` are wanted, these are `{found}`")]
    Element { wanted: ElemType, found: ElemType },
    #[error("extents {wanted:?} are wanted, these are {found:?}")]
    Extents { wanted: Vec<usize>, found: Vec<usize> },
    #[error("{value} is no `{elem}`")]
    Range { value: i64, elem: ElemType },
    #[error("`{name}`: {error}")]
    Of { name: String, error: Box<ArgError> },
}

impl ArgError {
    /// With the name of the parameter.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        ArgError::Of { name: name.to_owned(), error: Box::new(self) }
    }
}
