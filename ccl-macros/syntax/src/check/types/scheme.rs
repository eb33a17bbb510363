//! The signatures of the table as types: the text that people read is the rule that is checked.
//!
//! In a signature `T`, `U` and `I` stand for an element type (`T` alone for any type), `L` for a layout, other capitals for an
//! extent. Forms of one function are separated by ` or `.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::ty::{Elem, Extent, Layout, Memory, Tensor, Type};
use crate::ast::IntTy;
use crate::builtins::{BUILTINS, Builtin, BuiltinKind, TYPE_KINDS, named};

/// One form of a function, method or constant.
#[derive(Debug)]
pub(super) struct Form {
    /// The types that have it, if it is a method.
    pub(super) owners: Vec<Type>,
    /// Its generic arguments.
    pub(super) generics: Vec<Pattern>,
    /// Its parameters: name, and type unless any will do.
    pub(super) params: Vec<(&'static str, Option<Type>)>,
    /// What it gives: `None` is the receiver's type.
    pub(super) ret: Option<Type>,
}

/// What a generic argument stands for.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// An element type.
    Elem(&'static str),
    /// A layout.
    Layout(&'static str),
    /// An extent.
    Extent(&'static str),
    /// A type of this form.
    Type(Type),
}

static FORMS: LazyLock<HashMap<(&'static str, &'static str), Vec<Form>>> = LazyLock::new(|| {
    let has_form = |row: &&Builtin| !TYPE_KINDS.contains(&row.kind);
    let rows = BUILTINS.iter().filter(has_form);
    rows.map(|row| (row_key(row), row.signature.split(" or ").map(|text| form(row, text)).collect())).collect()
});

fn row_key(row: &Builtin) -> (&'static str, &'static str) {
    (row.owner, row.name)
}

/// The forms of a row of the table.
pub(super) fn forms(row: &Builtin) -> &'static [Form] {
    FORMS.get(&row_key(row)).map_or(&[], Vec::as_slice)
}

fn form(row: &Builtin, text: &'static str) -> Form {
    let owners = match row.kind {
        BuiltinKind::Method => split(row.owner).into_iter().map(ty).collect(),
        _ => Vec::new(),
    };
    if row.kind == BuiltinKind::Constant {
        let (_, of) = text.split_once(": ").expect("a constant has a type");
        return Form { owners, generics: Vec::new(), params: Vec::new(), ret: Some(ty(of)) };
    }
    let open = text.find('(').expect("a callable has parentheses");
    let generics = text[..open].find("::<").map_or(Vec::new(), |at| split(inside(&text[at + 2..])));
    let params = split(inside(&text[open..])).into_iter().map(|param| match param.split_once(": ") {
        Some((name, of)) => (name, Some(ty(of))),
        None => (param, None),
    });
    let ret = text.split_once(") -> ").map_or("()", |(_, ret)| ret);
    Form {
        owners,
        generics: generics.into_iter().map(pattern).collect(),
        params: params.collect(),
        ret: (ret != "Self").then(|| ty(ret)),
    }
}

fn pattern(text: &'static str) -> Pattern {
    match text {
        "T" | "U" | "I" => Pattern::Elem(text),
        "L" => Pattern::Layout(text),
        _ if is_var(text) => Pattern::Extent(text),
        _ => Pattern::Type(ty(text)),
    }
}

fn is_var(text: &str) -> bool {
    text.len() <= 2 && text.chars().all(|c| c.is_ascii_uppercase())
}

/// What stands between the bracket at the start of a text and its partner.
fn inside(text: &'static str) -> &'static str {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..i];
        }
    }
    unreachable!("the brackets of a signature are balanced")
}

/// The parts between the commas outside brackets.
fn split(text: &'static str) -> Vec<&'static str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

fn extent(text: &'static str) -> Extent {
    text.parse().map_or_else(|_| Extent::Var(text.to_owned()), Extent::Known)
}

fn elem(text: &'static str) -> Elem {
    match text.strip_prefix("Fx") {
        Some(bits) => Elem::Fx(extent(inside(bits))),
        None if text == "bool" => Elem::Bool,
        None if is_var(text) => Elem::Var(text),
        None => Elem::Int(IntTy::parse(text).expect("an element type of the table")),
    }
}

fn layout(text: &'static str) -> Layout {
    match text.find('<') {
        Some(at) => {
            let name = layout_name(&text[..at]).expect("a layout of the table");
            Layout::Named(name, split(inside(&text[at..])).into_iter().map(extent).collect())
        }
        None => Layout::Var(text),
    }
}

fn ty(text: &'static str) -> Type {
    if let Some(target) = text.strip_prefix('&') {
        let (mutable, target) = target.strip_prefix("mut ").map_or((false, target), |target| (true, target));
        return Type::Ref { mutable, target: Box::new(ty(target)) };
    }
    if text.starts_with('(') {
        return Type::Tuple(split(inside(text)).into_iter().map(ty).collect());
    }
    if text.starts_with('[') {
        let (elem, n) = inside(text).split_once("; ").expect("an array has a length");
        return Type::Array(Box::new(ty(elem)), extent(n));
    }
    let (name, args) = text.find('<').map_or((text, Vec::new()), |at| (&text[..at], split(inside(&text[at..]))));
    let tensor = |memory| Tensor { memory, elem: elem(args[0]), layout: layout(args[1]), is_shared: false };
    match name {
        "Q" => Type::Pe(elem(args[0])),
        "Lrm" => Type::Lrm(elem(args[0]), extent(args[1])),
        "Acc" => Type::Acc(extent(args[0])),
        "Weights" => Type::Weights(extent(args[0])),
        "Ocm" => Type::Tensor(tensor(Memory::Ocm)),
        "Ext" => Type::Tensor(tensor(Memory::Ext)),
        "Walk" => Type::Walk(None),
        "Tile" => Type::Tile(None),
        "Flow" => Type::Flow(Box::new(ty(args[0]))),
        "Broadcast" => Type::Broadcast(None),
        "Token" => Type::Token,
        "Scale" => Type::Scale,
        "range" => Type::Range(Elem::Unknown),
        "Rounding" | "Overflow" | "Direction" | "Reduction" | "Axis" => Type::Choice(name),
        _ if is_var(name) => Type::Var(name),
        _ => Type::Scalar(elem(text)),
    }
}

/// Name of a choice, for messages: its constants.
pub(super) fn choices(of: &str) -> Vec<&'static str> {
    let rows = BUILTINS.iter().filter(|row| row.kind == BuiltinKind::Constant);
    rows.filter(|row| row.signature.split_once(": ").is_some_and(|(_, ty)| ty == of)).map(|row| row.name).collect()
}

/// The layout of that name, with its static spelling.
pub(super) fn layout_name(name: &str) -> Option<&'static str> {
    named(name, &[BuiltinKind::Layout]).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of a form, put back into the shape of the signature.
    fn text(row: &Builtin, form: &Form, of: &str) -> String {
        let params: Vec<String> = form
            .params
            .iter()
            .map(|(name, ty)| ty.as_ref().map_or((*name).to_owned(), |ty| format!("{name}: {ty}")))
            .collect();
        let head = &of[..of.find('(').unwrap_or(0)];
        let ret = form.ret.as_ref().map_or("Self".to_owned(), Type::to_string);
        match row.kind {
            BuiltinKind::Constant => format!("{}: {ret}", row.name),
            _ if !of.contains("->") => format!("{head}({})", params.join(", ")),
            _ => format!("{head}({}) -> {ret}", params.join(", ")),
        }
    }

    #[test]
    fn every_signature_is_read_whole() {
        for row in BUILTINS.iter().filter(|row| !TYPE_KINDS.contains(&row.kind)) {
            let texts: Vec<String> =
                forms(row).iter().zip(row.signature.split(" or ")).map(|(form, of)| text(row, form, of)).collect();
            assert_eq!(texts.join(" or ").replace("range of _", "range"), row.signature);
            assert_eq!(row.kind == BuiltinKind::Method, !forms(row)[0].owners.is_empty(), "{}", row.signature);
        }
    }
}
