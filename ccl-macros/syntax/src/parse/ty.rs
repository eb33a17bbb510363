//! Types, paths and generic arguments.

use crate::ast::{Expr, ExprKind, GenericArg, Lit, NodeId, Path, Segment, Ty, TyKind, UnOp};
use crate::parse::token::{Delim, Kind};
use crate::parse::{KEYWORDS, Parsed, Parser};
use crate::subset::Refused;

/// Whether generic arguments need `::` before them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStyle {
    Expr,
    Type,
}

impl Parser<'_> {
    /// A type; its height counts too, since its extents are expressions.
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        self.height = 0;
        let ty = self.nested(Self::ty_at_depth)?;
        self.grow(self.height)?;
        Ok(ty)
    }

    fn ty_at_depth(&mut self) -> Parsed<Ty> {
        let start = self.span();
        let kind = match self.peek() {
            Some(Kind::Punct { ch: '&', .. }) => {
                self.bump();
                if matches!(self.peek(), Some(Kind::Lifetime(_))) {
                    return Err(self.refuse(Refused::LifetimeGeneric));
                }
                let mutable = self.eat_word("mut");
                TyKind::Ref { mutable, target: Box::new(self.ty()?) }
            }
            Some(Kind::Punct { ch: '*', .. }) => return Err(self.refuse(Refused::RawPointer)),
            Some(Kind::Punct { ch: '!', .. }) => return Err(self.refuse(Refused::Never)),
            Some(Kind::Punct { ch: '<', .. }) => return Err(self.refuse(Refused::Qualified)),
            Some(Kind::Open { delim: Delim::Bracket, mate }) => {
                let close = self.tokens[*mate].span;
                let array = self.group(Delim::Bracket, |p| {
                    let elem = p.ty()?;
                    if p.at_end() {
                        return Err(p.refuse_at(start.to(close), Refused::Slice));
                    }
                    p.expect_op(";", "and the number of elements")?;
                    let below = p.height;
                    let len = p.expr()?;
                    p.height = p.height.max(below);
                    Ok((elem, len))
                })?;
                TyKind::Array { elem: Box::new(array.0), len: Box::new(array.1) }
            }
            Some(Kind::Open { delim: Delim::Paren, .. }) => {
                let mut below = 0;
                let (mut elems, trailing) = self.group(Delim::Paren, |p| {
                    p.list(|p| {
                        let elem = p.ty()?;
                        below = below.max(p.height);
                        Ok(elem)
                    })
                })?;
                self.height = below;
                if elems.len() == 1 && !trailing {
                    return Ok(elems.remove(0));
                }
                TyKind::Tuple(elems)
            }
            Some(Kind::Ident(word)) => match word.as_str() {
                "_" => return Err(self.refuse(Refused::InferType)),
                "dyn" | "impl" | "for" => return Err(self.refuse(Refused::Dyn)),
                "fn" | "unsafe" | "extern" => return Err(self.refuse(Refused::FnPointer)),
                "f32" | "f64" | "f16" => return Err(self.refuse(Refused::FloatType)),
                "i128" | "u128" | "isize" | "char" => return Err(self.refuse(Refused::WideInt)),
                _ => {
                    let path = self.path(PathStyle::Type, "a type")?;
                    if self.at_open(Delim::Paren) {
                        return Err(self.refuse_at(start, Refused::Dyn));
                    }
                    TyKind::Path(path)
                }
            },
            _ => return Err(self.expected("a type")),
        };
        Ok(Ty { kind, span: start.to(self.last_span()) })
    }

    /// `a::b::<C>`; in types `a::b<C>` too.
    pub(super) fn path(&mut self, style: PathStyle, what: &str) -> Parsed<Path> {
        let start = self.span();
        let mut segments = Vec::new();
        let mut height = 0;
        // A path may begin at the root of the crate graph, which needs no name of its own in the tree.
        self.eat_op("::");
        loop {
            let name = match self.word() {
                Some(word @ ("crate" | "super")) => crate::ast::Ident { name: word.to_owned(), span: self.bump() },
                Some("self" | "Self") => return Err(self.refuse(Refused::SelfParam)),
                Some(word) if segments.is_empty() && is_reserved(word) => return Err(self.refuse(Refused::MoveYield)),
                _ => self.ident(if segments.is_empty() { what } else { "a name after `::`" })?,
            };
            let mut args = Vec::new();
            if style == PathStyle::Type && self.at_char('<') && !self.at_op("<=") {
                args = self.generic_args()?;
                height = height.max(self.height);
            }
            let mut more = self.eat_op("::");
            if more && self.at_char('<') && args.is_empty() {
                args = self.generic_args()?;
                height = height.max(self.height);
                more = self.eat_op("::");
            }
            segments.push(Segment { name, args });
            if !more {
                self.height = height;
                return Ok(Path { id: NodeId::default(), segments, span: start.to(self.last_span()) });
            }
        }
    }

    /// `<A, 3, { N }>`.
    pub(super) fn generic_args(&mut self) -> Parsed<Vec<GenericArg>> {
        self.nested(|p| {
            let mut args = Vec::new();
            let mut height = 0;
            p.eat_char('<');
            while !p.at_char('>') {
                p.height = 0;
                args.push(p.generic_arg()?);
                height = height.max(p.height);
                if !p.eat_op(",") && !p.at_char('>') {
                    return Err(p.expected("`,` or `>`"));
                }
            }
            p.eat_char('>');
            p.height = height;
            Ok(args)
        })
    }

    fn generic_arg(&mut self) -> Parsed<GenericArg> {
        let start = self.span();
        match self.peek() {
            Some(Kind::Lifetime(_)) => Err(self.refuse(Refused::LifetimeGeneric)),
            Some(Kind::Ident(word)) if word == "_" => Ok(GenericArg::Infer(self.bump())),
            Some(Kind::Ident(word)) if word == "true" || word == "false" => {
                let kind = ExprKind::Lit(Lit::Bool(word == "true"));
                Ok(GenericArg::Const(Expr { id: NodeId::default(), kind, span: self.bump() }))
            }
            Some(Kind::Ident(_)) if self.op_at(1) == Some("=") => Err(self.refuse(Refused::AssocConstraint)),
            Some(Kind::Ident(_)) if self.op_at(1) == Some(":") => Err(self.refuse(Refused::Bounds)),
            Some(Kind::Literal(text)) => {
                let kind = ExprKind::Lit(self.literal(text)?);
                Ok(GenericArg::Const(Expr { id: NodeId::default(), kind, span: start }))
            }
            Some(Kind::Punct { ch: '-', .. }) => {
                self.bump();
                let inner = self.span();
                let Some(Kind::Literal(text)) = self.peek() else { return Err(self.expected("a number after `-`")) };
                let kind = ExprKind::Lit(self.literal(text)?);
                let arg = Box::new(Expr { id: NodeId::default(), kind, span: inner });
                let kind = ExprKind::Unary { op: UnOp::Neg, arg };
                Ok(GenericArg::Const(Expr { id: NodeId::default(), kind, span: start.to(inner) }))
            }
            Some(Kind::Open { delim: Delim::Brace, .. }) => {
                let value = self.group(Delim::Brace, Self::expr)?;
                Ok(match value.kind {
                    // `{ N }` is `N`.
                    ExprKind::Path(path) if path.as_name().is_some() => {
                        GenericArg::Ty(Ty { span: path.span, kind: TyKind::Path(path) })
                    }
                    _ => GenericArg::Const(value),
                })
            }
            _ => {
                let ty = self.ty()?;
                if !self.at_char('>') && !self.at_op(",") {
                    // `N + 1` without braces is the likely reason.
                    let what = "`,` or `>`; a computed argument stands in braces: `{ N + 1 }`";
                    return Err(self.expected(what));
                }
                Ok(GenericArg::Ty(ty))
            }
        }
    }
}

/// Whether a word is a keyword without a meaning anywhere in the language.
pub(super) fn is_reserved(word: &str) -> bool {
    const OURS: &[&str] =
        &["as", "crate", "else", "in", "mut", "super", "self", "Self", "ref", "where", "fn", "pub", "use"];
    KEYWORDS.contains(&word) && !OURS.contains(&word)
}
