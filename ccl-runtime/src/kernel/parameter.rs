//! Types of a kernel's parameters: how an argument becomes the native value, and what a reference takes in its place.

use ndarray::{Array1, Array2, Array3};

use super::args::{Access, ArgError, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
use super::host::{HostElem, HostTensor, Linear};
use crate::tensor::layout::{Layout, Packed, Planar, Stream, StreamDot, StreamOuter, Tokens, Vector};
use crate::tensor::{Ext, Ocm};
use crate::value::{Fx, Scale};

/// Types that a kernel may take: tensors, scales, integers, conditions, fixed-point numbers, arrays and tuples of them.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take `{Self}`",
    label = "not a parameter of a kernel",
    note = "kernels take `&Ocm<T, L>`, `&mut Ocm<T, L>`, `Ext` likewise, `Scale`, scalars, arrays and tuples of them"
)]
pub trait Parameter: Sized {
    /// What a reference takes: an `ndarray` of the elements, [`Linear`] for a stream, a scalar itself.
    type Host;
    /// The type as data.
    fn param_type(access: Access) -> ParamType;
    /// The native value.
    ///
    /// # Errors
    /// If the argument does not fit.
    fn native(argument: &Argument) -> Result<Self, ArgError>;
    /// What the native value holds after a run.
    ///
    /// # Errors
    /// If it is a stream, which is only read.
    fn into_argument(self) -> Result<Argument, ArgError>;
    /// What a reference takes.
    ///
    /// # Errors
    /// If the argument does not fit.
    fn host(argument: &Argument) -> Result<Self::Host, ArgError>;
    /// What a reference has written.
    fn host_argument(host: Self::Host) -> Argument;
}

/// How the host holds a tensor of a layout.
pub trait HostLayout: Layout {
    /// The array.
    type Array<T: HostElem>;
    #[doc(hidden)]
    fn array<T: HostElem>(argument: &Argument) -> Self::Array<T>;
    #[doc(hidden)]
    fn argument<T: HostElem>(array: Self::Array<T>) -> Argument;
}

macro_rules! host_layouts {
    ($( $Layout:ident<$($N:ident),*> = $Array:ident; )*) => { $(
        impl<$(const $N: usize),*> HostLayout for $Layout<$($N),*> {
            type Array<T: HostElem> = $Array<T>;
            fn array<T: HostElem>(argument: &Argument) -> $Array<T> {
                match argument {
                    Argument::Tensor(tensor) => tensor.to_array(),
                    _ => unreachable!("the argument has been checked"),
                }
            }
            fn argument<T: HostElem>(array: $Array<T>) -> Argument {
                Argument::Tensor(HostTensor::from_array(&array))
            }
        }
    )* };
    (streams $($Layout:ident),*) => { $(
        impl<const CO: usize, const K: usize> HostLayout for $Layout<CO, K> {
            type Array<T: HostElem> = Linear<T>;
            fn array<T: HostElem>(argument: &Argument) -> Linear<T> {
                match argument {
                    Argument::Stream { weights, bias } => {
                        Linear { weights: weights.to_array(), bias: Array1::from_vec(bias.clone()) }
                    }
                    _ => unreachable!("the argument has been checked"),
                }
            }
            fn argument<T: HostElem>(array: Linear<T>) -> Argument {
                Argument::Stream { weights: HostTensor::from_array(&array.weights), bias: array.bias.to_vec() }
            }
        }
    )* };
}
host_layouts! {
    Planar<C, H, W> = Array3;
    Packed<C, H, W> = Array3;
    Tokens<N, D> = Array2;
    Vector<N> = Array1;
}
host_layouts!(streams Stream, StreamDot, StreamOuter);

fn tensor_type<T: HostElem, L: Layout>(memory: Memory, access: Access) -> TensorType {
    TensorType { memory, elem: T::TYPE, layout: LayoutType { kind: L::KIND, dims: L::DIMS }, access }
}

macro_rules! tensors {
    ($($Memory:ident),*) => { $(
        impl<T: HostElem, L: HostLayout> Parameter for $Memory<T, L> {
            type Host = L::Array<T>;
            fn param_type(access: Access) -> ParamType {
                ParamType::Tensor(tensor_type::<T, L>(Memory::$Memory, access))
            }
            fn native(argument: &Argument) -> Result<Self, ArgError> {
                let bytes = tensor_type::<T, L>(Memory::$Memory, Access::Read).pack(argument)?;
                Ok(Self::from_bytes(&bytes))
            }
            fn into_argument(self) -> Result<Argument, ArgError> {
                tensor_type::<T, L>(Memory::$Memory, Access::Write).unpack(&self.to_bytes()).map(Argument::Tensor)
            }
            fn host(argument: &Argument) -> Result<Self::Host, ArgError> {
                Self::param_type(Access::Read).check(argument)?;
                Ok(L::array(argument))
            }
            fn host_argument(host: Self::Host) -> Argument {
                L::argument(host)
            }
        }
    )* };
}
tensors!(Ocm, Ext);

/// Parameters that a reference takes as they are.
macro_rules! by_value {
    ($( [$($generics:tt)*] $T:ty, $ty:expr, |$from:pat_param| $native:expr, |$value:ident| $argument:expr; )*) => { $(
        impl<$($generics)*> Parameter for $T {
            type Host = Self;
            fn param_type(_: Access) -> ParamType {
                $ty
            }
            fn native(argument: &Argument) -> Result<Self, ArgError> {
                Self::param_type(Access::Read).check(argument)?;
                match argument {
                    $from => Ok($native),
                    _ => unreachable!("the argument has been checked"),
                }
            }
            fn into_argument(self) -> Result<Argument, ArgError> {
                let $value = self;
                Ok($argument)
            }
            fn host(argument: &Argument) -> Result<Self, ArgError> {
                Self::native(argument)
            }
            fn host_argument(host: Self) -> Argument {
                let $value = host;
                $argument
            }
        }
    )* };
    (integers $($T:ident = $Elem:ident),*) => { by_value! { $(
        [] $T, ParamType::Scalar(ElemType::$Elem), |Argument::Scalar(v)| *v as $T, |v| Argument::Scalar(v as i64);
    )* } };
}
by_value!(integers i8 = I8, i16 = I16, i32 = I32, i64 = I64, u8 = U8, u16 = U16);
by_value! {
    [] bool, ParamType::Scalar(ElemType::Bool), |Argument::Scalar(v)| *v != 0, |v| Argument::Scalar(v as i64);
    [] Scale, ParamType::Scale, |Argument::Scale(scale)| *scale, |scale| Argument::Scale(scale);
    [const F: usize] Fx<F>, ParamType::Scalar(ElemType::Fx(F as u8)),
        |Argument::Scalar(v)| Fx::from_raw(*v as i32), |v| Argument::Scalar(v.raw() as i64);
}

/// `usize` and `u32` have no element type of their own.
macro_rules! counts {
    ($($T:ident),*) => { $(
        impl Parameter for $T {
            type Host = Self;
            fn param_type(_: Access) -> ParamType {
                ParamType::Scalar(ElemType::I64)
            }
            fn native(argument: &Argument) -> Result<Self, ArgError> {
                let value = i64::native(argument)?;
                Self::try_from(value).map_err(|_| ArgError::Range { value, elem: ElemType::I64 })
            }
            fn into_argument(self) -> Result<Argument, ArgError> {
                Ok(Argument::Scalar(self as i64))
            }
            fn host(argument: &Argument) -> Result<Self, ArgError> {
                Self::native(argument)
            }
            fn host_argument(host: Self) -> Argument {
                Argument::Scalar(host as i64)
            }
        }
    )* };
}
counts!(u32, u64, usize);

fn list(argument: &Argument, len: usize) -> Result<&[Argument], ArgError> {
    match argument {
        Argument::List(list) if list.len() == len => Ok(list),
        Argument::List(list) => Err(ArgError::Extents { wanted: vec![len], found: vec![list.len()] }),
        other => Err(ArgError::Kind { wanted: "a list", found: other.kind() }),
    }
}

impl<P: Parameter, const N: usize> Parameter for [P; N] {
    type Host = [P::Host; N];
    fn param_type(access: Access) -> ParamType {
        ParamType::Array(Box::new(P::param_type(access)), N)
    }
    fn native(argument: &Argument) -> Result<Self, ArgError> {
        each(list(argument, N)?, P::native)
    }
    fn into_argument(self) -> Result<Argument, ArgError> {
        self.into_iter().map(P::into_argument).collect::<Result<_, _>>().map(Argument::List)
    }
    fn host(argument: &Argument) -> Result<Self::Host, ArgError> {
        each(list(argument, N)?, P::host)
    }
    fn host_argument(host: Self::Host) -> Argument {
        Argument::List(host.into_iter().map(P::host_argument).collect())
    }
}

fn each<T, const N: usize>(
    list: &[Argument],
    make: impl Fn(&Argument) -> Result<T, ArgError>,
) -> Result<[T; N], ArgError> {
    let made: Vec<T> = list.iter().map(make).collect::<Result<_, _>>()?;
    Ok(made.try_into().unwrap_or_else(|_| unreachable!("the length has been checked")))
}

macro_rules! tuples {
    ($( $len:literal: $($T:ident $n:tt),*; )*) => { $(
        impl<$($T: Parameter),*> Parameter for ($($T,)*) {
            type Host = ($($T::Host,)*);
            fn param_type(access: Access) -> ParamType {
                ParamType::Tuple(vec![$( $T::param_type(access) ),*])
            }
            fn native(argument: &Argument) -> Result<Self, ArgError> {
                let list = list(argument, $len)?;
                Ok(($( $T::native(&list[$n])?, )*))
            }
            fn into_argument(self) -> Result<Argument, ArgError> {
                Ok(Argument::List(vec![$( self.$n.into_argument()? ),*]))
            }
            fn host(argument: &Argument) -> Result<Self::Host, ArgError> {
                let list = list(argument, $len)?;
                Ok(($( $T::host(&list[$n])?, )*))
            }
            fn host_argument(host: Self::Host) -> Argument {
                Argument::List(vec![$( $T::host_argument(host.$n) ),*])
            }
        }
    )* };
}
tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
}

// ---- for the macro ----

/// A parameter as data.
#[doc(hidden)]
pub fn param<P: Parameter>(name: &str, access: Access) -> Param {
    Param { name: name.to_owned(), ty: P::param_type(access) }
}

fn named<T>(arguments: &Arguments, name: &str, make: impl Fn(&Argument) -> Result<T, ArgError>) -> Result<T, ArgError> {
    let argument = arguments.get(name).ok_or_else(|| ArgError::Missing { name: name.to_owned() })?;
    make(argument).map_err(|error| error.of(name))
}

/// The native value of an argument.
#[doc(hidden)]
pub fn native<P: Parameter>(arguments: &Arguments, name: &str) -> Result<P, ArgError> {
    named(arguments, name, P::native)
}

/// Writes a native value back.
#[doc(hidden)]
pub fn write_native<P: Parameter>(arguments: &mut Arguments, name: &str, value: P) -> Result<(), ArgError> {
    arguments.set(name, value.into_argument().map_err(|error| error.of(name))?);
    Ok(())
}

/// What a reference takes for an argument.
#[doc(hidden)]
pub fn host<P: Parameter>(arguments: &Arguments, name: &str) -> Result<P::Host, ArgError> {
    named(arguments, name, P::host)
}

/// Writes back what a reference has written.
#[doc(hidden)]
pub fn write_host<P: Parameter>(arguments: &mut Arguments, name: &str, value: P::Host) {
    arguments.set(name, P::host_argument(value));
}
