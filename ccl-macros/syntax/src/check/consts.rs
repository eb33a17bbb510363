//! Constants have values in the range of their type, instances name a kernel of the block and give it its arguments.

use crate::ast::{AttrKind, ConstParam, ExprKind, GenericArg, IntTy, Item, ItemKind, Module, NodeId, Path, Ty, TyKind};
use crate::check::names::is_kernel;
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::eval::{Evaluator, Value};
use crate::source::Span;

/// A kernel with its arguments on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The constant.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The kernel, a function of the block.
    pub kernel: String,
    /// Its const arguments, in order.
    pub args: Vec<Value>,
    /// The machine as written.
    pub target: String,
}

/// Evaluates every constant and the arguments of every instance.
pub(super) fn check(module: &Module, diags: &mut Diags) -> Vec<Instance> {
    let mut evaluator = Evaluator::new(module, diags);
    for item in &module.items {
        if let ItemKind::Const { name, ty, .. } = &item.kind
            && is_scalar(ty)
            && item.instance_target().is_none()
        {
            // The reason why not is reported by the evaluator.
            _ = evaluator.constant(&name.name.name);
        }
    }
    module.items.iter().filter_map(|item| instance(module, item, &mut evaluator)).collect()
}

/// Integers, conditions and arrays of them, which the evaluator knows.
fn is_scalar(ty: &Ty) -> bool {
    match &ty.kind {
        TyKind::Array { elem, .. } => is_scalar(elem),
        TyKind::Path(path) => {
            path.as_name().is_some_and(|name| name.name == "bool" || IntTy::parse(&name.name).is_some())
        }
        _ => false,
    }
}

fn instance<'a>(module: &'a Module, item: &'a Item, evaluator: &mut Evaluator<'a>) -> Option<Instance> {
    let ItemKind::Const { name, ty, value } = &item.kind else { return None };
    let is_kernel_type = is_kernel(ty);
    let attr = item.attrs.iter().find(|a| matches!(a.kind, AttrKind::Instance { .. }));
    let diags = evaluator.diags();
    let bad = |diags: &mut Diags, span: Span, message: String, help: &str| {
        diags.push(Diag::new(Code::BadInstance, span, message).help(help));
        None
    };
    let name_text = &name.name.name;
    let form = "write `pub const NAME: Kernel = kernel::<arguments>;`";
    let Some(attr) = attr else {
        if is_kernel_type {
            let help = "put `#[instance(target = QC_U)]` above it";
            return bad(diags, name.name.span, format!("instance `{name_text}` names no machine"), help);
        }
        return None;
    };
    if !is_kernel_type {
        return bad(diags, ty.span, format!("instance `{name_text}` is no `Kernel`"), form);
    }
    let ExprKind::Path(path) = &value.kind else {
        return bad(diags, value.span, format!("instance `{name_text}` names no kernel"), form);
    };
    // A kernel from elsewhere: whether it exists and what it takes is for rustc to say.
    let [segment] = path.segments.as_slice() else { return None };
    let kernel = module.fns().find(|(_, f)| f.name.name.name == segment.name.name);
    let (kernel_item, function) = kernel?;
    if !kernel_item.is_kernel() {
        let diag =
            Diag::new(Code::BadInstance, path.span, format!("`{}` is a function, not a kernel", segment.name.name))
                .note_at(function.name.name.span, format!("`{}` is declared here", segment.name.name))
                .help("put `#[kernel]` above it");
        diags.push(diag);
        return None;
    }
    if segment.args.len() != function.generics.len() {
        let params: Vec<&str> = function.generics.iter().map(|p| p.name.name.name.as_str()).collect();
        let (wanted, given) = (function.generics.len(), segment.args.len());
        let message =
            format!("instance `{name_text}`: `{}` takes {wanted} const arguments, {given} given", segment.name.name);
        let help = format!("its parameters are `{}`", params.join(", "));
        let diag = Diag::new(Code::BadInstance, path.span, message)
            .note_at(function.name.name.span, format!("`{}` is declared here", segment.name.name))
            .help(help);
        diags.push(diag);
        return None;
    }
    let AttrKind::Instance { target } = &attr.kind else { return None };
    let args = arguments(&segment.args, evaluator)?;
    let all_fit = function
        .generics
        .iter()
        .zip(segment.args.iter().zip(&args))
        .fold(true, |all_fit, (param, given)| fits(name_text, param, given, evaluator.diags()) && all_fit);
    if !all_fit {
        return None;
    }
    let (id, name, kernel) = (name.id, name_text.clone(), segment.name.name.clone());
    Some(Instance { id, name, kernel, args, target: target.text() })
}

/// Whether an argument is a value of its parameter's type.
fn fits(instance: &str, param: &ConstParam, (arg, value): (&GenericArg, &Value), diags: &mut Diags) -> bool {
    let TyKind::Path(path) = &param.ty.kind else { return true };
    let Some(ty) = path.as_name().map(|name| name.name.as_str()) else { return true };
    let found = match (value, IntTy::parse(ty)) {
        (Value::Int { value, .. }, Some(int)) if (int.range().0..=int.range().1).contains(value) => return true,
        (Value::Bool(_), None) if ty == "bool" => return true,
        (Value::Int { value, .. }, _) => value.to_string(),
        (Value::Bool(value), _) => value.to_string(),
        _ => return true,
    };
    let span = match arg {
        GenericArg::Const(value) => value.span,
        GenericArg::Ty(ty) => ty.span,
        GenericArg::Infer(span) => *span,
    };
    let name = &param.name.name.name;
    let message = format!("instance `{instance}`: `{found}` is no `{ty}`, which `{name}` is");
    diags.push(Diag::new(Code::BadInstance, span, message).note_at(param.name.name.span, "the parameter"));
    false
}

/// Instances of kernels of other blocks, their path in the place of the name: those whose arguments this block knows.
pub(super) fn imported(module: &Module) -> Vec<Instance> {
    // Of such an instance rustc says what is wrong.
    let mut said = Diags::default();
    let mut evaluator = Evaluator::new(module, &mut said);
    let declares = |name: &str| module.fns().any(|(_, function)| function.name.name.name == name);
    let is_own = |path: &Path| matches!(path.segments.as_slice(), [of] if declares(&of.name.name));
    let found = module.instances().filter(|(_, path, _)| !is_own(path)).filter_map(|(name, path, target)| {
        let args = arguments(&path.last().args, &mut evaluator)?;
        let (name, id) = (name.name.name.clone(), name.id);
        Some(Instance { id, name, kernel: path.text(), args, target: target.text() })
    });
    let found = found.collect();
    said.take();
    found
}

fn arguments<'a>(args: &'a [GenericArg], evaluator: &mut Evaluator<'a>) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for arg in args {
        let value = match arg {
            GenericArg::Const(value) => evaluator.eval(value).ok(),
            GenericArg::Ty(Ty { kind: TyKind::Path(path), span }) => match path.as_name() {
                // An unknown name has been reported by the resolution of names.
                Some(name) => evaluator.constant(&name.name).and_then(Result::ok),
                None => {
                    evaluator.diags().error(Code::BadInstance, *span, "expected a constant, found a type");
                    None
                }
            },
            GenericArg::Ty(ty) => {
                evaluator.diags().error(Code::BadInstance, ty.span, "expected a constant, found a type");
                None
            }
            GenericArg::Infer(span) => {
                evaluator.diags().error(Code::BadInstance, *span, "an instance gives every argument; `_` infers none");
                None
            }
        };
        values.push(value);
    }
    values.into_iter().collect()
}
