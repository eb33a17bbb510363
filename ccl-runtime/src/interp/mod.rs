//! An interpreter of the tree of the language over the values of the native layer: the native opinion about kernels that are
//! read at run time, such as hand-edited ones, which no Rust build has seen.
//!
//! `datum` has the values, `machine` what a run keeps, `expr` and `stmt` walk the tree, `call` enters functions, `ops`,
//! `functions` and `methods` are the names of the language, `types` gives types their numbers, `lanes` picks the lane loops by
//! element type, `unit` is a block that was read. Arithmetic, masks, scopes and assignment are those of [`native`](crate::native)
//! and [`__rt`](crate::__rt): nothing is defined a second time here. Scalars compute as Rust's, with its checks of overflow.
//!
//! What a block that passes the front end's checks does wrong is an [`InterpError`] with its place. Steps, memory and depth are
//! bounded ([`Limits`]); what references refer to is looked up at each use, since nothing here checks borrows.

mod call;
mod datum;
mod error;
mod expr;
mod functions;
mod instance;
mod lanes;
mod library;
mod machine;
mod methods;
mod ops;
mod stmt;
mod types;
mod unit;

use std::cell::Cell;
use std::collections::HashMap;

use ccl_syntax::ast::{Fn, IntTy};
use ccl_syntax::check::types::{Elem, Type};
use ccl_syntax::eval;

use crate::kernel::{Access, Argument, Arguments, ElemType, Param, ParamType, TensorType};
use crate::native::Session;
use crate::tensor::store;
use crate::value::Value;
use datum::{Datum, Tensor};
use error::Exit;
pub use error::{Cause, InterpError};
pub use library::{Library, LoadError};
use machine::{At, Frame, Machine};
pub use unit::{Linker, Unit};

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Statements, expressions and vectors made.
    pub steps: u64,
    /// Bytes of the vectors that are alive, those that the session keeps for reuse included.
    pub vector_bytes: usize,
    /// Bytes of all tensors that the kernel allocates.
    pub tensor_bytes: usize,
}

impl Default for Limits {
    /// A hundred million steps, a GiB for each kind of memory.
    fn default() -> Self {
        Self { steps: 100_000_000, vector_bytes: 1 << 30, tensor_bytes: 1 << 30 }
    }
}

/// What is run.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// The block.
    pub unit: &'a Unit,
    /// Its function.
    pub function: &'a str,
    /// Its const arguments.
    pub consts: &'a [eval::Value],
    /// Where functions of other blocks are found.
    pub linker: &'a dyn Linker,
}

/// Runs a function on the array of a session. Tensors that it is lent as `&mut` are changed in `arguments`; where the run ends
/// by an error they hold what was written before it.
///
/// # Errors
/// The function or its arguments do not fit, or the run ended at a place in the text.
///
/// # Panics
/// If it is called inside a run of the same thread.
pub fn run(
    program: Program<'_>,
    arguments: &mut Arguments,
    session: &mut Session,
    limits: Limits,
) -> Result<(), InterpError> {
    let (unit, name) = (program.unit, program.function);
    let no_kernel = || InterpError::NoKernel { name: name.to_owned(), file: unit.module.file.clone() };
    let function = unit.function(name).ok_or_else(no_kernel)?;
    if function.generics.len() != program.consts.len() {
        let (wanted, given) = (function.generics.len(), program.consts.len());
        return Err(InterpError::Consts { name: name.to_owned(), wanted, given });
    }
    let start = function.name.name.span.start;
    let at = Cell::new(At { file: &unit.module.file, line: start.line, column: start.col + 1 });
    let mut tensors = Vec::new();
    let result = session.run(name, || {
        let mut machine = Machine::new(name, program.linker, Frame::new(unit, HashMap::new()), limits, &at);
        machine.kernel(unit, function, program.consts, arguments, &mut tensors)
    });
    for (param, path, ty, tensor) in tensors {
        let bytes = store::read(tensor.view.tensor, <[u8]>::to_vec);
        let unpacked = ty.unpack(&bytes);
        if let (Some(place), Ok(host)) =
            (arguments.get_mut(&param).and_then(|argument| part(argument, &path)), unpacked)
        {
            *place = Argument::Tensor(host);
        }
    }
    match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Exit::Stop(error))) => Err(*error),
        // `break` and `return` end loops and functions; the front end refuses others.
        Ok(Err(_)) => Ok(()),
        Err(fault) => Err(at.get().error(name, fault.cause.into())),
    }
}

/// The parameters of a function with its const arguments.
///
/// # Errors
/// As for [`run`].
pub fn params(program: Program<'_>, session: &mut Session) -> Result<Vec<Param>, InterpError> {
    let (unit, name) = (program.unit, program.function);
    let no_kernel = || InterpError::NoKernel { name: name.to_owned(), file: unit.module.file.clone() };
    let function = unit.function(name).ok_or_else(no_kernel)?;
    let at = Cell::new(At { file: &unit.module.file, line: 0, column: 0 });
    let result = session.run(name, || {
        let mut machine = Machine::new(name, program.linker, Frame::new(unit, HashMap::new()), Limits::default(), &at);
        machine.define_consts(function, program.consts)?;
        machine.params(function)
    });
    match result {
        Ok(Ok(params)) => Ok(params),
        Ok(Err(Exit::Stop(error))) => Err(*error),
        Ok(Err(_)) => Ok(Vec::new()),
        Err(fault) => Err(at.get().error(name, fault.cause.into())),
    }
}

/// A part of an argument that is a list of lists.
fn part<'t>(argument: &'t mut Argument, path: &[usize]) -> Option<&'t mut Argument> {
    match (argument, path) {
        (argument, []) => Some(argument),
        (Argument::List(list), [first, rest @ ..]) => part(list.get_mut(*first)?, rest),
        _ => None,
    }
}

/// A tensor of a parameter that is written, and where its argument is.
type Output = (String, Vec<usize>, TensorType, Tensor);

impl<'a> Machine<'a> {
    fn define_consts(&mut self, function: &'a Fn, consts: &[eval::Value]) -> Result<(), Exit> {
        for (param, value) in function.generics.iter().zip(consts) {
            let value = self.typed_const(expr::of_constant(value), &param.ty)?;
            self.frame.consts.insert(param.name.name.name.clone(), value);
        }
        Ok(())
    }

    /// Runs a kernel with what is passed from outside.
    fn kernel(
        &mut self,
        unit: &'a Unit,
        function: &'a Fn,
        consts: &[eval::Value],
        arguments: &Arguments,
        tensors: &mut Vec<Output>,
    ) -> Result<(), Exit> {
        self.define_consts(function, consts)?;
        let params = self.params(function)?;
        let argument_error = |error| Exit::Stop(Box::new(InterpError::Argument(error)));
        arguments.check(&params).map_err(argument_error)?;
        let mut values = Vec::new();
        for (param, of) in params.iter().zip(&function.params) {
            let argument = arguments.get(&param.name).expect("arguments were checked");
            let ty = self.type_of(of.name.id).expect("the type of a parameter was found");
            let mut path = Vec::new();
            let mut lend = |path: &[usize], ty: &TensorType, tensor: &Tensor| {
                tensors.push((param.name.clone(), path.to_vec(), *ty, tensor.clone()));
            };
            values.push(passed(ty, &param.ty, argument, &mut path, &mut lend).map_err(argument_error)?);
        }
        let consts = self.frame.consts.clone();
        self.call(unit, function, consts, values).map(|value| drop(value.bind()))
    }

    fn params(&self, function: &'a Fn) -> Result<Vec<Param>, Exit> {
        let param = |param: &'a ccl_syntax::ast::Param| {
            let name = param.name.name.name.clone();
            match self.type_of(param.name.id).and_then(|ty| self.param_type(ty, Access::Write)) {
                Some(ty) => Ok(Param { name, ty }),
                None => {
                    let error = InterpError::Parameter { name: function.name.name.name.clone(), param: name };
                    Err(Exit::Stop(Box::new(error)))
                }
            }
        };
        function.params.iter().map(param).collect()
    }

    fn param_type(&self, ty: &Type, access: Access) -> Option<ParamType> {
        Some(match ty {
            Type::Ref { mutable, target } => {
                let access = if *mutable { access } else { Access::Read };
                self.param_type(target, access)?
            }
            Type::Tensor(t) => {
                let (elem, layout) = (self.elem(&t.elem)?, self.layout(&t.layout)?);
                self.size_bytes(&layout, elem)?;
                ParamType::Tensor(TensorType { memory: types::memory(t.memory), elem, layout, access })
            }
            Type::Scale => ParamType::Scale,
            Type::Scalar(Elem::Int(IntTy::Usize | IntTy::U64 | IntTy::U32)) => ParamType::Scalar(ElemType::I64),
            Type::Scalar(elem) => ParamType::Scalar(self.elem(elem)?),
            Type::Tuple(types) => {
                ParamType::Tuple(types.iter().map(|ty| self.param_type(ty, access)).collect::<Option<_>>()?)
            }
            Type::Array(of, n) => ParamType::Array(Box::new(self.param_type(of, access)?), self.extent(n)?),
            _ => return None,
        })
    }
}

/// The value of an argument; tensors that the kernel may write are handed to `lend`.
fn passed(
    of: &Type,
    ty: &ParamType,
    argument: &Argument,
    path: &mut Vec<usize>,
    lend: &mut impl FnMut(&[usize], &TensorType, &Tensor),
) -> Result<Datum, crate::kernel::ArgError> {
    let of = of.behind_refs();
    Ok(match (ty, argument) {
        (ParamType::Tensor(ty), argument) => {
            let tensor = Tensor::new(ty.memory, ty.elem, ty.layout, ty.pack(argument)?);
            if ty.access == Access::Write {
                lend(path, ty, &tensor);
            }
            Datum::Tensor(tensor)
        }
        (ParamType::Scalar(ElemType::Bool), Argument::Scalar(v)) => Datum::Bool(*v != 0),
        (ParamType::Scalar(ElemType::Fx(bits)), Argument::Scalar(v)) => Datum::Fx(*v as i32, *bits),
        (ParamType::Scalar(elem), Argument::Scalar(v)) => match of {
            Type::Scalar(Elem::Int(ty)) if ops::is_in_range((*v).into(), *ty) => Datum::Int((*v).into(), *ty),
            _ => return Err(crate::kernel::ArgError::Range { value: *v, elem: *elem }),
        },
        (ParamType::Array(ty, _), Argument::List(list)) => {
            let Type::Array(of, _) = of else { return Err(mismatch(argument)) };
            let mut values = Vec::new();
            for (i, argument) in list.iter().enumerate() {
                path.push(i);
                values.push(passed(of, ty, argument, path, lend)?);
                path.pop();
            }
            Datum::Array(values)
        }
        (ParamType::Tuple(types), Argument::List(list)) => {
            let Type::Tuple(of) = of else { return Err(mismatch(argument)) };
            let mut values = Vec::new();
            for (i, ((of, ty), argument)) in of.iter().zip(types).zip(list).enumerate() {
                path.push(i);
                values.push(passed(of, ty, argument, path, lend)?);
                path.pop();
            }
            Datum::Tuple(values)
        }
        (ParamType::Scale, Argument::Scale(scale)) if (-255..=255).contains(&scale.shift) => Datum::Scale(*scale),
        (_, argument) => return Err(mismatch(argument)),
    })
}

fn mismatch(argument: &Argument) -> crate::kernel::ArgError {
    crate::kernel::ArgError::Kind { wanted: "what the parameter takes", found: argument.kind() }
}
