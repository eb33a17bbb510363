//! A kernel as a whole: its parameters, its body, and what is mended when all is known.

use ccl_syntax::ast::*;
use iss::image::Direction;
use iss::target::Target;

use super::cx::{Cx, Learnt};
use super::error::{FrontError, R, Stop};
use super::program::{Markers, Program};
use super::value::{Scalar, ScalarTy, Val, View};
use crate::ir::{self, Id, OpKind, Type, visit};
use crate::kernel::{Access, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
use crate::tensor::Kind;

/// Attempts at a kernel: each learns at least one thing that its text does not say in advance.
const MOST_ATTEMPTS: usize = 64;

/// Bytes that addresses reach. What the chip has is checked where a kernel is loaded or compiled: interpreters have more.
const MOST_ADDRESSED: u128 = 1 << 32;

/// Buffers are filled up to entries of a broadcast.
pub(crate) const BUFFER_ALIGN: usize = 16;

/// A kernel in the IR.
#[derive(Clone, Debug)]
pub struct Elaborated {
    /// The module: one kernel.
    pub module: ir::Module,
    /// Name of the kernel.
    pub kernel: String,
    /// The kernel's buffers in the order of its parameters.
    pub tensors: Vec<IrTensor>,
}

/// A buffer of the entry point: a tensor of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrTensor {
    /// Name in the IR and the image.
    pub name: String,
    /// The parameter.
    pub param: String,
    /// Which part of the parameter, of arrays and tuples.
    pub path: Vec<usize>,
    /// Its type.
    pub ty: TensorType,
}

impl IrTensor {
    /// The parameter with the indices of arrays and tuples behind.
    pub fn shown(&self) -> String {
        self.path.iter().fold(self.param.clone(), |name, i| format!("{name}[{i}]"))
    }

    /// Bytes of the buffer: those of the tensor, filled up.
    pub fn buffer_bytes(&self) -> usize {
        self.ty.size_bytes().next_multiple_of(BUFFER_ALIGN)
    }
}

/// Elaborates a kernel of a program's unit with its const arguments, for a machine, its scalar parameters bound.
///
/// # Errors
/// What cannot be lowered, with its place and cure.
pub fn elaborate(
    program: &Program,
    (unit, function): (usize, &str),
    consts: &[i128],
    target: &Target,
    scalars: &Arguments,
    markers: Markers,
) -> Result<Elaborated, FrontError> {
    let mut learnt = Learnt::default();
    for _ in 0..MOST_ATTEMPTS {
        let mut cx = Cx::new(program, target, function, learnt);
        cx.markers = markers;
        match cx.kernel(unit, function, consts, scalars) {
            Ok(tensors) => {
                let elaborated = cx.finish(function, tensors);
                super::budget::check(&elaborated.module, target)?;
                return Ok(elaborated);
            }
            Err(Stop::Error(error)) => return Err(*error),
            Err(Stop::Restart) => learnt = cx.learnt,
            Err(Stop::Replan(key, plan)) => {
                cx.learnt.plans.insert(key, plan);
                learnt = cx.learnt;
            }
        }
    }
    Err(FrontError::new(format!("`{function}` is begun anew too often")))
}

/// The parameters of a function with its const arguments.
///
/// # Errors
/// If there is no such function, or a type of a parameter is none that a caller can pass.
pub fn params(
    program: &Program,
    (unit, function): (usize, &str),
    consts: &[i128],
    target: &Target,
) -> Result<Vec<Param>, FrontError> {
    let mut cx = Cx::new(program, target, function, Learnt::default());
    let found = cx.enter_kernel(unit, function, consts).and_then(|function| {
        function
            .params
            .iter()
            .map(|param| {
                let ty = cx.param_ty(&param.ty, Access::Read)?;
                cx.at(param.name.name.span);
                cx.check_extents(&param.name.name.name, &ty)?;
                Ok(Param { name: param.name.name.name.clone(), ty })
            })
            .collect::<R<Vec<_>>>()
    });
    found.map_err(|stop| match stop {
        Stop::Error(error) => *error,
        Stop::Restart | Stop::Replan(..) => FrontError::new("types of parameters depend on the kernel's body"),
    })
}

impl<'p> Cx<'p> {
    /// Begins the outermost frame.
    fn enter_kernel(&mut self, unit: usize, name: &str, consts: &[i128]) -> R<&'p Fn> {
        let program = self.program;
        let of = match program.units.get(unit) {
            Some(of) => of,
            None => return self.fail(format!("a program without a unit {unit}"), ""),
        };
        let Some(function) = of.function(name) else {
            return self.fail(format!("there is no function `{name}` in `{}`", of.module.file), "");
        };
        let values = function.generics.iter().zip(consts).map(|(param, value)| {
            let value = super::call::typed(&param.ty, Scalar::known(ScalarTy::Open, *value));
            (param.name.name.name.clone(), value)
        });
        let (consts_given, wanted) = (consts.len(), function.generics.len());
        let frame =
            super::cx::Frame { unit, locals: Default::default(), consts: values.collect(), called: String::new() };
        self.frames.push(frame);
        self.at(function.name.name.span);
        if consts_given != wanted {
            return self.fail(format!("`{name}` takes {wanted} const arguments, {consts_given} given"), "");
        }
        Ok(function)
    }

    fn kernel(&mut self, unit: usize, name: &str, consts: &[i128], scalars: &Arguments) -> R<Vec<IrTensor>> {
        let function = self.enter_kernel(unit, name, consts)?;
        let mut tensors = Vec::new();
        for param in &function.params {
            let before = self.at(param.name.name.span);
            let ty = self.param_ty(&param.ty, Access::Read)?;
            let name = &param.name.name.name;
            let argument = scalars.get(name);
            let mut val = self.param(name, name, &ty, argument, &mut Vec::new(), &mut tensors)?;
            as_written(&param.ty, &mut val);
            let slot = self.declare(&param.name, val);
            self.slots[slot].written = param.mutable;
            self.at(before);
        }
        self.at(function.name.name.span);
        self.body_of(function)?;
        self.settle_block()?;
        self.budget()?;
        Ok(tensors)
    }

    /// The value of a parameter: buffers of the entry point, or what the caller says.
    fn param(
        &mut self,
        param: &str,
        name: &str,
        ty: &ParamType,
        argument: Option<&Argument>,
        path: &mut Vec<usize>,
        tensors: &mut Vec<IrTensor>,
    ) -> R<Val> {
        let list = match argument {
            Some(Argument::List(list)) => list.as_slice(),
            _ => &[],
        };
        Ok(match ty {
            ParamType::Tensor(ty) => {
                let dir = match ty.access {
                    Access::Read => Direction::In,
                    // What a kernel does not write stays.
                    Access::Write => Direction::InOut,
                };
                let bytes = match u32::try_from(ty.size_bytes().next_multiple_of(BUFFER_ALIGN)) {
                    Ok(bytes) if bytes > 0 && bytes < 1 << 31 => bytes,
                    _ => {
                        return self
                            .fail(format!("`{name}` has {} bytes", ty.size_bytes()), "tensors have 1 to 2^31 - 1");
                    }
                };
                let external = ty.memory == Memory::Ext;
                let buf = match external {
                    true => self.b.ext_param(name, dir, bytes),
                    false => self.b.ocm_param(name, dir, bytes),
                };
                let path = path.clone();
                tensors.push(IrTensor { name: name.to_owned(), param: param.to_owned(), path, ty: *ty });
                let (kind, dims, elem) = (ty.layout.kind, ty.layout.dims, ty.elem);
                Val::Tensor(View::whole(buf, elem, (kind, dims), external))
            }
            ParamType::Scale => match argument {
                Some(Argument::Scale(scale)) => Val::Scale(*scale),
                _ => return self.unbound(name, "a scale"),
            },
            ParamType::Scalar(elem) => match argument {
                Some(Argument::Scalar(value)) => Val::Scalar(Scalar::known(scalar_ty(*elem), (*value).into())),
                _ => return self.unbound(name, "a number"),
            },
            ParamType::Array(of, n) => {
                let mut parts = Vec::new();
                for i in 0..*n {
                    path.push(i);
                    parts.push(self.param(param, &format!("{name}.{i}"), of, list.get(i), path, tensors)?);
                    path.pop();
                }
                Val::Array(parts)
            }
            ParamType::Tuple(types) => {
                let mut parts = Vec::new();
                for (i, ty) in types.iter().enumerate() {
                    path.push(i);
                    parts.push(self.param(param, &format!("{name}.{i}"), ty, list.get(i), path, tensors)?);
                    path.pop();
                }
                Val::Tuple(parts)
            }
        })
    }
    fn unbound<T>(&self, name: &str, what: &str) -> R<T> {
        self.fail(
            format!("`{name}` has no value: {what} is bound when a kernel is compiled"),
            "pass scalar arguments with the instance",
        )
    }

    /// Tensors of a parameter have elements, and no more than can be addressed: looked at before anything is allocated.
    fn check_extents(&self, name: &str, ty: &ParamType) -> R<()> {
        match ty {
            ParamType::Tensor(tensor) => {
                let dims = tensor.layout.dims;
                if dims.contains(&0) && tensor.layout.kind != Kind::Vector {
                    let message = format!("`{name}` is a `{}`, which has no elements", tensor.layout);
                    return self.fail(message, "extents are at least 1");
                }
                let memory = match tensor.memory {
                    Memory::Ocm => "on-chip memory",
                    Memory::Ext => "external memory",
                };
                let bytes = dims.iter().fold(tensor.elem.bytes() as u128, |n, dim| n.saturating_mul(*dim as u128));
                if bytes > MOST_ADDRESSED {
                    let message = format!(
                        "`{name}` needs {bytes} bytes of {memory}, more than the {MOST_ADDRESSED} that can be addressed"
                    );
                    return self.fail(message, "work on a part of the tensor at a time");
                }
                Ok(())
            }
            ParamType::Array(of, _) => self.check_extents(name, of),
            ParamType::Tuple(types) => types.iter().try_for_each(|ty| self.check_extents(name, ty)),
            ParamType::Scale | ParamType::Scalar(_) => Ok(()),
        }
    }

    /// A parameter's type, written.
    fn param_ty(&mut self, ty: &'p Ty, access: Access) -> R<ParamType> {
        match &ty.kind {
            TyKind::Ref { mutable, target } => self.param_ty(target, if *mutable { Access::Write } else { access }),
            TyKind::Array { elem, len } => {
                let n = self.const_usize(len)?;
                if n == 0 || n > 256 {
                    return self.fail(format!("a parameter of {n} parts"), "arrays of parameters have 1 to 256");
                }
                Ok(ParamType::Array(Box::new(self.param_ty(elem, access)?), n))
            }
            TyKind::Tuple(types) => {
                Ok(ParamType::Tuple(types.iter().map(|ty| self.param_ty(ty, access)).collect::<R<Vec<_>>>()?))
            }
            TyKind::Path(path) => {
                let args = path.last().args.as_slice();
                match (path.last().name.name.as_str(), args) {
                    ("Scale", []) => Ok(ParamType::Scale),
                    ("bool", []) => Ok(ParamType::Scalar(ElemType::Bool)),
                    ("Fx", [bits]) => Ok(ParamType::Scalar(ElemType::Fx(self.extent_arg(bits)? as u8))),
                    (memory @ ("Ocm" | "Ext"), [elem, layout]) => {
                        let (elem, (kind, dims)) = (self.elem_ty(elem)?, self.layout_ty(layout)?);
                        let memory = if memory == "Ocm" { Memory::Ocm } else { Memory::Ext };
                        Ok(ParamType::Tensor(TensorType { memory, elem, layout: LayoutType { kind, dims }, access }))
                    }
                    (name, []) if IntTy::parse(name).is_some() => Ok(ParamType::Scalar(match name {
                        "i8" => ElemType::I8,
                        "i16" => ElemType::I16,
                        "i32" => ElemType::I32,
                        "u8" => ElemType::U8,
                        "u16" => ElemType::U16,
                        _ => ElemType::I64,
                    })),
                    (name, _) => self.fail(
                        format!("a parameter of type `{name}`"),
                        "parameters of kernels are tensors, scales, integers, conditions, fixed-point numbers, arrays and tuples of them",
                    ),
                }
            }
        }
    }

    /// The finished module.
    fn finish(mut self, name: &str, tensors: Vec<IrTensor>) -> Elaborated {
        let files = self.program.units.iter().map(|unit| unit.module.file.clone()).collect();
        let prologue = std::mem::take(&mut self.prologue);
        let aligns = std::mem::take(&mut self.aligns);
        let partial = std::mem::take(&mut self.partial);
        let mut f = self.b.finish();
        f.body.splice(0..0, prologue);
        zero_partial_words(&f.values, &mut f.body, partial);
        visit::each_block(&mut f.body, &mut |block| {
            for op in block {
                if let OpKind::Lrm { dst, align } = &mut op.kind
                    && let Some(more) = aligns.get(dst)
                {
                    *align = (*align).max(*more);
                }
            }
        });
        free_regions(&f.values, &mut f.body);
        let module = ir::Module { files, consts: Vec::new(), funcs: vec![f] };
        Elaborated { module, kernel: name.to_owned(), tensors }
    }
}

/// Zeros in the last word of buffers that a MAC step reads beyond their elements; flows bring such words whole.
fn zero_partial_words(values: &[ir::Value], body: &mut ir::Block, mut partial: Vec<Id>) {
    visit::walk(body, &mut |op| {
        if let OpKind::Flow { out: false, walk, .. } = &op.kind {
            partial.retain(|id| *id != walk.lrm);
        }
    });
    visit::each_block(body, &mut |block| {
        let mut i = 0;
        while i < block.len() {
            if let OpKind::Lrm { dst, .. } = block[i].kind
                && partial.contains(&dst)
                && let Type::Lrm { elem, n, .. } = values[dst.0 as usize].ty
            {
                let at = (n * elem.bytes() / 4) as i32 - 1;
                let place = ir::ElemRef { buf: dst, view: ir::Elem::I32, index: ir::Index::Const, at };
                let (op, a, b) = (ir::AluOp::Mov, ir::Src::Imm(0), ir::Src::Imm(0));
                let zero = OpKind::Alu { op, dst: ir::Dst::Elem(place), a, b };
                block.insert(i + 1, ir::Op { kind: zero, loc: block[i].loc });
            }
            i += 1;
        }
    });
}

fn scalar_ty(elem: ElemType) -> ScalarTy {
    match elem {
        ElemType::Bool => ScalarTy::Bool,
        ElemType::Fx(bits) => ScalarTy::Fx(bits),
        ElemType::I8 => ScalarTy::Int(IntTy::I8),
        ElemType::I16 => ScalarTy::Int(IntTy::I16),
        ElemType::I32 => ScalarTy::Int(IntTy::I32),
        ElemType::U8 => ScalarTy::Int(IntTy::U8),
        ElemType::U16 => ScalarTy::Int(IntTy::U16),
        ElemType::I64 => ScalarTy::Int(IntTy::I64),
    }
}

/// Gives integers the types that are written: arguments know less of them.
fn as_written(ty: &Ty, val: &mut Val) {
    match (&ty.kind, val) {
        (TyKind::Path(path), Val::Scalar(s)) => {
            if let Some(int) = path.as_name().and_then(|name| IntTy::parse(&name.name)) {
                s.ty = ScalarTy::Int(int);
            }
        }
        (TyKind::Ref { target, .. }, val) => as_written(target, val),
        (TyKind::Tuple(types), Val::Tuple(parts)) => types.iter().zip(parts).for_each(|(ty, val)| as_written(ty, val)),
        (TyKind::Array { elem, .. }, Val::Array(parts)) => parts.iter_mut().for_each(|val| as_written(elem, val)),
        _ => {}
    }
}

/// A region is a scope. What is allocated in one and outlives it is allocated before it; a region whose values outlive it
/// is none.
fn free_regions(values: &[ir::Value], block: &mut ir::Block) {
    let mut i = 0;
    while i < block.len() {
        for inner in block[i].kind.blocks_mut() {
            free_regions(values, inner);
        }
        let OpKind::Region { body, .. } = &block[i].kind else {
            i += 1;
            continue;
        };
        let mut defs = Vec::new();
        body.iter().for_each(|op| op.kind.defs(&mut |id| defs.push(id)));
        let mut escapes = Vec::new();
        visit::walk(&block[i + 1..].to_vec(), &mut |op| {
            op.kind.uses(&mut |id| {
                if defs.contains(&id) {
                    escapes.push(id);
                }
            });
        });
        let plain = |id: &Id| matches!(values[id.0 as usize].ty, Type::Lrm { .. } | Type::Acc(_) | Type::Ocm(_));
        let all_plain = escapes.iter().all(plain);
        let OpKind::Region { body, .. } = &mut block[i].kind else { unreachable!("it was one") };
        let freed: Vec<ir::Op> = if all_plain {
            let mut outside = Vec::new();
            body.retain(|op| {
                let mut out = false;
                op.kind.defs(&mut |id| out |= escapes.contains(&id));
                if out {
                    outside.push(op.clone());
                }
                !out
            });
            outside
        } else {
            let inner = std::mem::take(body);
            block.remove(i);
            inner
        };
        let n = freed.len();
        block.splice(i..i, freed);
        i += n + usize::from(all_plain);
    }
}
