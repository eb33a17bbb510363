//! What a kernel may take and return: only what a caller outside the machine has.

use super::Checker;
use super::ty::{Memory, Type};
use crate::ast::*;
use crate::code::Code;

impl<'a> Checker<'a, '_> {
    /// The signature of a kernel.
    pub(super) fn kernel(&mut self, function: &'a Fn) {
        let name = &function.name.name.name;
        for param in &function.params {
            let Some(ty) = self.types.get(&param.name.id.0).cloned() else { continue };
            if !is_passed(ty.behind_refs()) {
                let message = format!("kernel `{name}` takes `{ty}`, which no caller has");
                let help = "kernels take `&Ocm<T, L>` and `&mut Ocm<T, L>`, `Ext` likewise, `Scale`, scalars, arrays and tuples of them";
                self.push(Code::KernelParam, param.ty.span, message, help);
            } else if let Some(memory) = owned(&ty) {
                let message = format!("kernel `{name}` takes the tensor `{}` by value", param.name.name.name);
                let help = format!("write `&{memory}<..>` where it is read, `&mut {memory}<..>` where it is written");
                self.push(Code::KernelParam, param.ty.span, message, help);
            }
        }
        if let Some(ret) = &function.ret
            && !matches!(&ret.kind, TyKind::Tuple(parts) if parts.is_empty())
        {
            let message = format!("kernel `{name}` returns a value");
            self.push(Code::KernelParam, ret.span, message, "results leave through tensors: `y: &mut Ocm<T, L>`");
        }
    }
}

fn is_passed(ty: &Type) -> bool {
    match ty {
        Type::Unknown | Type::Tensor(_) | Type::Scalar(_) | Type::Scale => true,
        Type::Array(of, _) => is_passed(of),
        Type::Tuple(parts) => parts.iter().all(is_passed),
        _ => false,
    }
}

/// The memory of a tensor that is taken by value, alone or in an array or tuple.
fn owned(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Tensor(tensor) => Some(if tensor.memory == Memory::Ocm { "Ocm" } else { "Ext" }),
        Type::Array(of, _) => owned(of),
        Type::Tuple(parts) => parts.iter().find_map(owned),
        _ => None,
    }
}
