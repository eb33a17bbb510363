//! Functions that were read at run time and say `#[stub(path)]`: which slot they fill, and whether they keep its signature.

use ccl_syntax::ast::{AttrKind, Fn, Ident, Item, Path, Ty};
use ccl_syntax::print_ty_line;

use super::error::FrontError;
use crate::interp::{Linker, Unit};
use crate::kernel::signature_text;

/// A function that a slot leads to: the module of its block, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub name: String,
}

/// The slot of a stub.
///
/// # Errors
/// A function that is not there, names no slot, or one that no block has; with file and line where there is one.
pub fn slot_of(unit: &Unit, stub: &str, linker: &dyn Linker) -> Result<Slot, FrontError> {
    let (of, slot) = find(unit, stub, linker)?;
    Ok(Slot { module: of.path().join("::"), name: slot.name.name.name.clone() })
}

/// Compares the signature of a stub with its slot's, field by field, as the build compares those of a crate.
///
/// # Errors
/// As [`slot_of`]; the first field that differs, with its place and both forms.
pub fn compare(unit: &Unit, stub: &str, linker: &dyn Linker) -> Result<(), FrontError> {
    let (_, slot) = find(unit, stub, linker)?;
    unit.function(stub).map_or(Ok(()), |stub| keeps(slot, stub, &unit.module().file))
}

fn find<'l>(unit: &Unit, stub: &str, linker: &'l dyn Linker) -> Result<(&'l Unit, &'l Fn), FrontError> {
    let path = path_of(unit, stub)?;
    let text = path.text();
    let parts: Vec<&str> = text.split("::").collect();
    let found = linker.find(unit, &parts).and_then(|(of, name)| Some((of, of.function(&name)?)));
    found.ok_or_else(|| {
        let message = format!("stub `{stub}`: there is no slot `{text}`");
        FrontError::new(message).at(&unit.module().file, path.span)
    })
}

/// The functions of a block that say `#[stub(path)]`.
pub fn stubs(unit: &Unit) -> impl Iterator<Item = (&Item, &Fn)> {
    unit.module().fns().filter(|(item, _)| path_in(item).is_some())
}

/// The path of the slot that a function fills.
pub(super) fn path_of<'u>(unit: &'u Unit, stub: &str) -> Result<&'u Path, FrontError> {
    let found = unit.module().fns().find(|(_, f)| f.name.name.name == stub);
    let (item, function) = found.ok_or_else(|| FrontError::new(format!("there is no function `{stub}`")))?;
    path_in(item).ok_or_else(|| {
        let error = FrontError::new(format!("`{stub}` says of no slot that it fills it"));
        error.at(&unit.module().file, function.name.name.span)
    })
}

fn path_in(item: &Item) -> Option<&Path> {
    item.attrs.iter().find_map(|attr| match &attr.kind {
        AttrKind::Stub(path) => Some(path),
        _ => None,
    })
}

/// Compares signatures; parameters may have other names, const parameters may not.
pub(super) fn keeps(slot: &Fn, stub: &Fn, file: &str) -> Result<(), FrontError> {
    let differs = |what: String, own: String, of: String, at: &Ident| {
        let (name, of_slot) = (&stub.name.name.name, &slot.name.name.name);
        let message = format!("stub `{name}`: {what} is `{own}`, that of the slot `{of_slot}` is `{of}`");
        let mut error = FrontError::new(message).at(file, at.span);
        error.help = Some(format!("take over the signature of the slot:\n{}", signature(slot)));
        Err(error)
    };
    for (i, (of, own)) in slot.generics.iter().zip(&stub.generics).enumerate() {
        let (at, of_name) = (&own.name.name, &of.name.name.name);
        if *of_name != at.name {
            return differs(format!("the name of const parameter {}", i + 1), at.name.clone(), of_name.clone(), at);
        }
        if of.ty != own.ty {
            let what = format!("const parameter `{}`", at.name);
            return differs(what, print_ty_line(&own.ty), print_ty_line(&of.ty), at);
        }
    }
    for (of, own) in slot.params.iter().zip(&stub.params) {
        if of.ty != own.ty {
            let what = format!("parameter `{}`", own.name.name.name);
            return differs(what, print_ty_line(&own.ty), print_ty_line(&of.ty), &own.name.name);
        }
    }
    let at = &stub.name.name;
    for (what, own, of) in [
        ("the number of const parameters", stub.generics.len(), slot.generics.len()),
        ("the number of parameters", stub.params.len(), slot.params.len()),
    ] {
        if own != of {
            return differs(what.to_owned(), own.to_string(), of.to_string(), at);
        }
    }
    if slot.ret == stub.ret {
        return Ok(());
    }
    differs("the result".to_owned(), result(stub), result(slot), at)
}

fn result(function: &Fn) -> String {
    function.ret.as_ref().map_or_else(|| "()".to_owned(), print_ty_line)
}

fn signature(function: &Fn) -> String {
    let field = |name: &Ident, ty: &Ty| (name.name.clone(), print_ty_line(ty));
    let consts: Vec<_> = function.generics.iter().map(|p| field(&p.name.name, &p.ty)).collect();
    let params: Vec<_> = function.params.iter().map(|p| field(&p.name.name, &p.ty)).collect();
    signature_text(&function.name.name.name, &pairs(&consts), &pairs(&params), &result(function))
}

fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, ty)| (name.as_str(), ty.as_str())).collect()
}
