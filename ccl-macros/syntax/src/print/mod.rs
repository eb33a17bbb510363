//! A tree as formatted Rust, as rustfmt would lay it out at a width of 120: `parse(print(tree)) == tree`, and the same tree
//! gives the same text. Parentheses are written where the tree needs them.
//!
//! Statements stand on lines of their own; `layout.rs` decides where one is broken.

mod layout;

use crate::ast::*;
use layout::{Doc, INDENT, cat, group, nest, render, text};

/// Prints the items of a module.
pub fn print(module: &Module) -> String {
    print_at(module, 0)
}

/// Prints what stands between the brackets of a block whose closing bracket is indented by `indent`.
pub(crate) fn print_block(module: &Module, indent: usize) -> String {
    if module.items.is_empty() {
        return String::new();
    }
    format!("\n{}{}", print_at(module, indent + INDENT), " ".repeat(indent))
}

/// Prints one expression on as many lines as it takes.
pub fn print_expr(value: &Expr) -> String {
    render(&expr(value), 0)
}

/// Prints a type.
pub fn print_ty(value: &Ty) -> String {
    render(&ty(value), 0)
}

/// Prints a type on one line, however long it is.
pub fn print_ty_line(value: &Ty) -> String {
    let words = print_ty(value).split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace("< ", "<").replace(", >", ">").replace("( ", "(").replace(", )", ")")
}

fn print_at(module: &Module, indent: usize) -> String {
    let mut out = String::new();
    let mut last: Option<&Item> = None;
    for item in &module.items {
        // Imports stand together, as constants and instances do; everything else has a line of air.
        let joins = |a: &Item, b: &Item| match (&a.kind, &b.kind) {
            (ItemKind::Use(_), ItemKind::Use(_)) => true,
            (ItemKind::Const { .. }, ItemKind::Const { .. }) => {
                a.instance_target().is_some() == b.instance_target().is_some()
            }
            _ => false,
        };
        if last.is_some_and(|last| !joins(last, item)) {
            out.push('\n');
        }
        let text = render(&cat([text(" ".repeat(indent)), Doc::Nest(indent, Box::new(item_doc(item)))]), 0);
        out += text.trim_end_matches(' ');
        out.push('\n');
        last = Some(item);
    }
    out
}

/// `open a, b close`: on one line, or one a line with a comma behind each.
fn list(open: &str, docs: Vec<Doc>, close: &str) -> Doc {
    if docs.is_empty() {
        return text(format!("{open}{close}"));
    }
    let inner = separated(docs);
    group(cat([text(open), nest(cat([Doc::Line(""), inner])), Doc::IfBroken(","), Doc::Line(""), text(close)]))
}

fn separated(docs: Vec<Doc>) -> Doc {
    let mut out = Vec::new();
    for (i, doc) in docs.into_iter().enumerate() {
        if i > 0 {
            out.extend([text(","), Doc::Line(" ")]);
        }
        out.push(doc);
    }
    cat(out)
}

// ---- items ----

fn item_doc(item: &Item) -> Doc {
    let vis = match item.vis {
        Vis::Private => "",
        Vis::Public => "pub ",
        Vis::Crate => "pub(crate) ",
        Vis::Super => "pub(super) ",
    };
    let kind = match &item.kind {
        ItemKind::Const { name, ty: of, value } => {
            let head = cat([text(format!("const {}: ", name.name.name)), ty(of), text(" = ")]);
            cat([head, expr(value), text(";")])
        }
        ItemKind::Fn(function) => fn_doc(function),
        ItemKind::Use(tree) => cat([text("use "), use_doc(tree), text(";")]),
        ItemKind::Broken { .. } => text("/* an item with errors */"),
    };
    cat([attrs(&item.attrs), text(vis), kind])
}

fn attrs(attrs: &[Attr]) -> Doc {
    cat(attrs.iter().flat_map(|attr| [attr_doc(&attr.kind), Doc::Hard]))
}

fn attr_doc(kind: &AttrKind) -> Doc {
    let path_arg = |name: &str, value: &Path| cat([text(format!("#[{name}(")), path(value, true), text(")]")]);
    let text_arg = |name: &str, value: &str| text(format!("#[{name}({value:?})]"));
    match kind {
        AttrKind::Doc(line) => {
            let is_plain = !line.contains(['\n', '\r']) && !line.starts_with('/') && line.trim_end() == line;
            text(if is_plain { format!("///{line}") } else { format!("#[doc = {line:?}]") })
        }
        AttrKind::Kernel { reference: None } => text("#[kernel]"),
        AttrKind::Kernel { reference: Some(of) } => cat([text("#[kernel(reference = "), path(of, true), text(")]")]),
        AttrKind::Reference(of) => path_arg("reference", of),
        AttrKind::NoReference(reason) => text_arg("no_reference", reason),
        AttrKind::Instance { target } => cat([text("#[instance(target = "), path(target, true), text(")]")]),
        AttrKind::Overrides(of) => path_arg("overrides", of),
        AttrKind::Edit(what) => text_arg("edit", what),
        AttrKind::Region(name) => text_arg("region", name),
        AttrKind::Tap(name) => text_arg("tap", name),
        AttrKind::Inline => text("#[inline]"),
        AttrKind::Stub(of) => path_arg("stub", of),
        AttrKind::Bound(trips) => cat([text("#[bound("), expr(trips), text(")]")]),
    }
}

fn fn_doc(function: &Fn) -> Doc {
    let generics = function.generics.iter().map(|p| cat([text(format!("const {}: ", p.name.name.name)), ty(&p.ty)]));
    let params = function.params.iter().map(|p| {
        let mutable = if p.mutable { "mut " } else { "" };
        cat([text(format!("{mutable}{}: ", p.name.name.name)), ty(&p.ty)])
    });
    let generics = if function.generics.is_empty() { text("") } else { list("<", generics.collect(), ">") };
    let ret = function.ret.as_ref().map_or_else(|| text(""), |of| cat([text(" -> "), ty(of)]));
    let name = text(format!("fn {}", function.name.name.name));
    cat([name, generics, list("(", params.collect(), ")"), ret, text(" "), block(&function.body)])
}

fn use_doc(tree: &UseTree) -> Doc {
    let prefix: String = tree.prefix.iter().map(|name| format!("{}::", name.name)).collect();
    let end = match &tree.end {
        UseEnd::Name { name, alias: None, .. } => text(&name.name),
        UseEnd::Name { name, alias: Some(alias), .. } => text(format!("{} as {}", name.name, alias.name)),
        UseEnd::Group(trees) => list("{", trees.iter().map(use_doc).collect(), "}"),
    };
    cat([text(prefix), end])
}

// ---- types ----

fn ty(of: &Ty) -> Doc {
    match &of.kind {
        TyKind::Path(of) => path(of, false),
        TyKind::Ref { mutable, target } => cat([text(if *mutable { "&mut " } else { "&" }), ty(target)]),
        TyKind::Array { elem, len } => cat([text("["), ty(elem), text("; "), expr(len), text("]")]),
        TyKind::Tuple(elems) => tuple(elems.iter().map(ty).collect()),
    }
}

fn tuple(mut docs: Vec<Doc>) -> Doc {
    match docs.len() {
        1 => cat([text("("), docs.remove(0), text(",)")]),
        _ => list("(", docs, ")"),
    }
}

fn path(of: &Path, in_expr: bool) -> Doc {
    let mut docs = Vec::new();
    for (i, segment) in of.segments.iter().enumerate() {
        if i > 0 {
            docs.push(text("::"));
        }
        docs.push(text(&segment.name.name));
        if !segment.args.is_empty() {
            docs.push(generic_args(&segment.args, in_expr));
        }
    }
    cat(docs)
}

fn generic_args(args: &[GenericArg], turbofish: bool) -> Doc {
    list(if turbofish { "::<" } else { "<" }, args.iter().map(generic_arg).collect(), ">")
}

fn generic_arg(arg: &GenericArg) -> Doc {
    match arg {
        GenericArg::Ty(of) => ty(of),
        GenericArg::Infer(_) => text("_"),
        GenericArg::Const(value) => {
            if is_bare_arg(value) {
                expr(value)
            } else {
                cat([text("{ "), expr(value), text(" }")])
            }
        }
    }
}

/// Whether a constant stands as a generic argument without braces.
pub(crate) fn is_bare_arg(value: &Expr) -> bool {
    let is_number = |e: &Expr| matches!(e.kind, ExprKind::Lit(Lit::Int { .. }));
    match &value.kind {
        ExprKind::Lit(Lit::Int { .. } | Lit::Bool(_)) => true,
        ExprKind::Unary { op: UnOp::Neg, arg } => is_number(arg),
        _ => false,
    }
}

// ---- statements ----

/// A block on lines of its own.
fn block(block: &Block) -> Doc {
    if block.stmts.is_empty() && block.tail.is_none() {
        return text("{}");
    }
    let mut lines = Vec::new();
    for (i, stmt) in block.stmts.iter().enumerate() {
        let is_last = i + 1 == block.stmts.len() && block.tail.is_none();
        lines.extend([Doc::Hard, stmt_doc(stmt, is_last)]);
    }
    if let Some(tail) = &block.tail {
        lines.extend([Doc::Hard, tail_doc(tail)]);
    }
    cat([text("{"), nest(cat(lines)), Doc::Hard, text("}")])
}

/// The value of a block. What would read as a statement there stands in parentheses.
fn tail_doc(tail: &Expr) -> Doc {
    if tail.is_block_like() {
        return if tail.is_block_value() { expr(tail) } else { parens(expr(tail)) };
    }
    first_in_line(tail)
}

fn stmt_doc(stmt: &Stmt, is_last: bool) -> Doc {
    let kind = match &stmt.kind {
        StmtKind::Let { pattern, ty: of, value } => {
            let of = of.as_ref().map_or_else(|| text(""), |of| cat([text(": "), ty(of)]));
            cat([text("let "), pattern_doc(pattern), of, text(" = "), expr(value), text(";")])
        }
        StmtKind::Assign { op, place, value } => {
            let op = op.map_or("", BinOp::word);
            cat([first_in_line(place), text(format!(" {op}= ")), expr(value), text(";")])
        }
        StmtKind::Expr(value) if value.is_block_like() => {
            // Without it, the last statement would be read as the block's value.
            let end = if is_last && stmt.attrs.is_empty() && value.is_block_value() { ";" } else { "" };
            cat([statement_block(value), text(end)])
        }
        StmtKind::Expr(value) => cat([first_in_line(value), text(";")]),
        StmtKind::For { pattern, iter, body } => {
            cat([text("for "), pattern_doc(pattern), text(" in "), expr(iter), text(" "), block(body)])
        }
        StmtKind::While { cond, body } => cat([text("while "), expr(cond), text(" "), block(body)]),
        StmtKind::Return(None) => text("return;"),
        StmtKind::Return(Some(value)) => cat([text("return "), expr(value), text(";")]),
        StmtKind::Break => text("break;"),
        StmtKind::Continue => text("continue;"),
        StmtKind::Probe(values) => cat([list("probe!(", values.iter().map(expr).collect(), ")"), text(";")]),
        StmtKind::Assert { cond, text: said } => {
            let said = said.as_ref().map(|said| text(format!("{said:?}")));
            cat([list("assert!(", [Some(expr(cond)), said].into_iter().flatten().collect(), ")"), text(";")])
        }
        StmtKind::Broken { .. } => text("/* a statement with errors */"),
    };
    cat([attrs(&stmt.attrs), kind])
}

fn pattern_doc(pattern: &Pattern) -> Doc {
    let local = |local: &Local| text(format!("{}{}", if local.mutable { "mut " } else { "" }, local.name.name.name));
    match pattern {
        Pattern::Name(name) => local(name),
        Pattern::Tuple(names) => tuple(names.iter().map(local).collect()),
        Pattern::Ignore(_) => text("_"),
    }
}

/// A block or `if` as a statement: branches on lines of their own.
fn statement_block(value: &Expr) -> Doc {
    match &value.kind {
        ExprKind::Block(body) => block(body),
        ExprKind::If { cond, then, otherwise } => {
            let head = cat([text("if "), expr(cond), text(" "), block(then)]);
            let otherwise = match otherwise {
                Some(branch) if branch.is_block_like() => cat([text(" else "), statement_block(branch)]),
                Some(branch) => cat([text(" else { "), expr(branch), text(" }")]),
                None => text(""),
            };
            cat([head, otherwise])
        }
        _ => expr(value),
    }
}

// ---- expressions ----

/// Precedence of ranges and casts, unary operators, and what needs no parentheses.
const RANGE: u8 = 0;
const CAST: u8 = 10;
const UNARY: u8 = 11;
const POSTFIX: u8 = 12;

fn precedence(value: &Expr) -> u8 {
    match &value.kind {
        ExprKind::Range { .. } => RANGE,
        ExprKind::Binary { op, .. } => op.precedence(),
        ExprKind::Cast { .. } => CAST,
        ExprKind::Unary { .. } | ExprKind::Ref { .. } => UNARY,
        _ => POSTFIX,
    }
}

fn parens(doc: Doc) -> Doc {
    cat([text("("), doc, text(")")])
}

/// An expression where any may stand.
fn expr(value: &Expr) -> Doc {
    operand(value, RANGE, false)
}

/// An expression where a statement begins: a block or `if` at its left end would end it.
fn first_in_line(value: &Expr) -> Doc {
    operand(value, RANGE, true)
}

/// An expression that binds at least as tightly as `min`; `first` if it stands where a statement begins.
fn operand(value: &Expr, min: u8, first: bool) -> Doc {
    if precedence(value) < min || (first && value.is_block_like()) {
        return parens(bare(value, false));
    }
    bare(value, first)
}

fn bare(value: &Expr, first: bool) -> Doc {
    match &value.kind {
        ExprKind::Lit(lit) => text(lit_text(lit)),
        ExprKind::Path(of) => path(of, true),
        ExprKind::Unary { op, arg } => cat([text(op.word()), operand(arg, UNARY, false)]),
        ExprKind::Ref { mutable, target } => {
            cat([text(if *mutable { "&mut " } else { "&" }), operand(target, UNARY, false)])
        }
        ExprKind::Binary { .. } => binary(value, first),
        ExprKind::Cast { value, ty: of } => cat([operand(value, CAST, first), text(" as "), ty(of)]),
        ExprKind::Call { callee, args } => cat([path(callee, true), list("(", args.iter().map(expr).collect(), ")")]),
        ExprKind::Method { .. } => chain(value, first),
        ExprKind::Field { base, member } => cat([member_base(base, first), text(format!(".{}", member.name))]),
        ExprKind::Index { base, index } => cat([operand(base, POSTFIX, first), text("["), expr(index), text("]")]),
        ExprKind::Range { start, end, inclusive } => {
            let start = start.as_ref().map_or_else(|| text(""), |start| operand(start, RANGE + 1, first));
            let end = end.as_ref().map_or_else(
                || text(""),
                // In the head of a loop a brace would begin the body.
                |end| if begins_with_brace(end) { parens(expr(end)) } else { operand(end, RANGE + 1, false) },
            );
            cat([start, text(if *inclusive { "..=" } else { ".." }), end])
        }
        ExprKind::Tuple(elems) => tuple(elems.iter().map(expr).collect()),
        ExprKind::Array(elems) => list("[", elems.iter().map(expr).collect(), "]"),
        ExprKind::Repeat { value, len } => cat([text("["), expr(value), text("; "), expr(len), text("]")]),
        ExprKind::Block(body) => value_block(body),
        ExprKind::If { .. } => group(value_if(value)),
    }
}

/// A block whose value is used: on one line where it is nothing but that value.
fn value_block(body: &Block) -> Doc {
    match &body.tail {
        Some(tail) if body.stmts.is_empty() => {
            group(cat([text("{"), nest(cat([Doc::Line(" "), tail_doc(tail)])), Doc::Line(" "), text("}")]))
        }
        _ => block(body),
    }
}

fn value_if(value: &Expr) -> Doc {
    let ExprKind::If { cond, then, otherwise } = &value.kind else { return value_branch(value) };
    let branch = |body: &Block| match &body.tail {
        Some(tail) if body.stmts.is_empty() => {
            cat([text("{"), nest(cat([Doc::Line(" "), tail_doc(tail)])), Doc::Line(" "), text("}")])
        }
        _ => block(body),
    };
    let otherwise = match otherwise.as_deref() {
        Some(Expr { kind: ExprKind::Block(body), .. }) => cat([text(" else "), branch(body)]),
        Some(other) => cat([text(" else "), value_if(other)]),
        None => text(""),
    };
    cat([text("if "), expr(cond), text(" "), branch(then), otherwise])
}

/// What stands behind `else` without being a block or `if` is put into a block.
fn value_branch(value: &Expr) -> Doc {
    cat([text("{ "), expr(value), text(" }")])
}

fn binary(value: &Expr, first: bool) -> Doc {
    // Operators of one precedence in a row break together; the left end is found first, so that the chain is a loop.
    let ExprKind::Binary { op: outer, .. } = &value.kind else { unreachable!("called for binary nodes") };
    let mut links = Vec::new();
    let mut left = value;
    while let ExprKind::Binary { op, lhs, rhs } = &left.kind {
        let chains = op.precedence() == outer.precedence() && (std::ptr::eq(left, value) || !op.is_comparison());
        if !chains {
            break;
        }
        links.push((*op, rhs));
        left = lhs;
    }
    let (innermost, _) = links.last().expect("the node itself is a link");
    let mut docs = vec![side(left, *innermost, true, first)];
    for (op, rhs) in links.iter().rev() {
        let rhs = side(rhs, *op, false, false);
        docs.push(nest(cat([Doc::Line(" "), text(format!("{} ", op.word())), rhs])));
    }
    group(cat(docs))
}

/// An operand of a binary operator, in parentheses where the grammar or the reader needs them.
fn side(value: &Expr, op: BinOp, is_left: bool, first: bool) -> Doc {
    let tighter = if is_left && !op.is_comparison() { 0 } else { 1 };
    let mixes = match &value.kind {
        ExprKind::Binary { op: inner, .. } => class(op) != class(*inner) && class(op) > 0 && class(*inner) > 0,
        _ => false,
    };
    // `a as T < b` would read `T<b`.
    let opens_generics = is_left && op.word().starts_with('<') && ends_with_cast(value);
    if mixes || opens_generics {
        return parens(bare(value, false));
    }
    operand(value, op.precedence() + tighter, first)
}

/// Kinds of operators that few people mix without parentheses; 0 for those that everybody does.
fn class(op: BinOp) -> u8 {
    match op.precedence() {
        4..=6 => op.precedence(),
        7 => 7,
        8 | 9 => 8,
        _ => 0,
    }
}

fn ends_with_cast(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Cast { .. } => true,
        ExprKind::Binary { rhs, .. } => ends_with_cast(rhs),
        _ => false,
    }
}

fn begins_with_brace(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Block(_) => true,
        ExprKind::Binary { lhs: left, .. }
        | ExprKind::Cast { value: left, .. }
        | ExprKind::Method { recv: left, .. }
        | ExprKind::Field { base: left, .. }
        | ExprKind::Index { base: left, .. } => begins_with_brace(left),
        _ => false,
    }
}

/// What stands before a dot and a number: `5.0` would be a fraction.
fn member_base(base: &Expr, first: bool) -> Doc {
    if matches!(base.kind, ExprKind::Lit(_)) { parens(expr(base)) } else { operand(base, POSTFIX, first) }
}

/// `x.a().b()`: on one line, or one method a line.
fn chain(value: &Expr, first: bool) -> Doc {
    let mut links = Vec::new();
    let mut base = value;
    while let ExprKind::Method { recv, name, generics, args } = &base.kind {
        let generics = if generics.is_empty() { text("") } else { generic_args(generics, true) };
        let args = list("(", args.iter().map(expr).collect(), ")");
        links.push(cat([text(format!(".{}", name.name)), generics, args]));
        base = recv;
    }
    let mut docs = vec![operand(base, POSTFIX, first)];
    // One method breaks in its arguments rather than before its dot.
    if links.len() == 1 {
        docs.extend(links.pop());
        return cat(docs);
    }
    let links = links.into_iter().rev().map(|link| cat([Doc::Line(""), link]));
    docs.push(nest(cat(links)));
    group(cat(docs))
}

pub(crate) fn lit_text(lit: &Lit) -> String {
    match lit {
        Lit::Bool(value) => value.to_string(),
        Lit::Float(text) => text.clone(),
        Lit::Int { value, base, suffix } => {
            let digits = match base {
                Base::Dec => value.to_string(),
                Base::Hex => format!("0x{value:x}"),
                Base::Oct => format!("0o{value:o}"),
                Base::Bin => format!("0b{value:b}"),
            };
            format!("{digits}{}", suffix.map_or("", IntTy::word))
        }
    }
}
