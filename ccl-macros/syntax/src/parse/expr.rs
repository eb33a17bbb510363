//! Expressions, by precedence.

use crate::ast::{BinOp, Block, Expr, ExprKind, Ident, NodeId, Path, UnOp};
use crate::parse::token::{Delim, Kind};
use crate::parse::ty::{PathStyle, is_reserved};
use crate::parse::{Failed, Parsed, Parser};
use crate::source::Span;
use crate::subset::Refused;

/// The operators of assignments.
pub(super) const ASSIGN_OPS: &[&str] = &["=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="];

impl Parser<'_> {
    /// An expression; an assignment in its place is refused.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        let expr = self.expr_or_place()?;
        match self.op() {
            Some(op) if ASSIGN_OPS.contains(&op) => Err(self.refuse(Refused::AssignValue)),
            _ => Ok(expr),
        }
    }

    /// An expression in the head of `if`, `while` or `for`.
    pub(super) fn head(&mut self) -> Parsed<Expr> {
        let outer = std::mem::replace(&mut self.in_head, true);
        let expr = if self.at_word("let") { Err(self.refuse(Refused::IfLet)) } else { self.expr() };
        self.in_head = outer;
        expr
    }

    /// An expression that may be the left side of an assignment.
    pub(super) fn expr_or_place(&mut self) -> Parsed<Expr> {
        self.nested(Self::range).map(|expr| *expr)
    }

    /// Makes a node over children whose greatest height is `below`. On the heap at once: what recursion passes around by value
    /// decides how much stack a level takes.
    fn node(&mut self, span: Span, below: u32, kind: ExprKind) -> Parsed<Box<Expr>> {
        self.grow(below)?;
        Ok(Box::new(Expr { id: NodeId::default(), kind, span }))
    }

    fn range(&mut self) -> Parsed<Box<Expr>> {
        let start_span = self.span();
        let start = if self.at_op("..") || self.at_op("..=") { None } else { Some(self.binary(1)?) };
        let start_height = if start.is_some() { self.height } else { 0 };
        let inclusive = self.at_op("..=");
        if !self.eat_op("..=") && !self.eat_op("..") {
            return start.ok_or(Failed);
        }
        let has_end = inclusive || self.starts_expr();
        let (end, end_height) = if has_end { (Some(self.binary(1)?), self.height) } else { (None, 0) };
        if self.at_op("..") || self.at_op("..=") {
            return Err(self.expected("one range, not two"));
        }
        let kind = ExprKind::Range { start, end, inclusive };
        self.node(start_span.to(self.last_span()), start_height.max(end_height), kind)
    }

    /// Whether an expression begins at the cursor.
    fn starts_expr(&self) -> bool {
        match self.peek() {
            None | Some(Kind::Close(_)) => false,
            Some(Kind::Open { delim: Delim::Brace, .. }) => !self.in_head,
            Some(Kind::Punct { ch, .. }) => "-!*&<|#".contains(*ch) && !self.at_op("=>"),
            Some(Kind::Ident(word)) => !matches!(word.as_str(), "as" | "else" | "in"),
            Some(_) => true,
        }
    }

    fn binary(&mut self, min_precedence: u8) -> Parsed<Box<Expr>> {
        let mut lhs = self.cast()?;
        loop {
            let lhs_height = self.height;
            let Some(op) = self.binary_op() else { break };
            if op.precedence() < min_precedence {
                break;
            }
            self.at += op.word().len();
            // Operands bind tighter than the operator: to the left by this loop, to the right by the argument.
            let rhs = self.binary(op.precedence() + 1)?;
            let below = lhs_height.max(self.height);
            let span = lhs.span.to(rhs.span);
            lhs = self.node(span, below, ExprKind::Binary { op, lhs, rhs })?;
            if op.is_comparison() && self.binary_op().is_some_and(BinOp::is_comparison) {
                return Err(self.refuse(Refused::ChainedCompare));
            }
        }
        Ok(lhs)
    }

    fn binary_op(&self) -> Option<BinOp> {
        let op = self.op()?;
        BinOp::ALL.iter().copied().find(|b| b.word() == op)
    }

    fn cast(&mut self) -> Parsed<Box<Expr>> {
        let mut value = self.unary()?;
        while self.at_word("as") {
            let below = self.height;
            self.bump();
            let ty = self.ty()?;
            let below = below.max(self.height);
            let span = value.span.to(ty.span);
            value = self.node(span, below, ExprKind::Cast { value, ty })?;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Parsed<Box<Expr>> {
        let start = self.span();
        // `&&x` is two references here, so single characters are what is looked at.
        let Some(&Kind::Punct { ch, .. }) = self.peek() else { return self.postfix() };
        let op = match ch {
            '-' => UnOp::Neg,
            '!' => UnOp::Not,
            '*' => UnOp::Deref,
            '&' => {
                self.bump();
                let mutable = self.eat_word("mut");
                if self.at_word("raw") && matches!(self.word_at(1), Some("const" | "mut")) {
                    return Err(self.refuse_at(start, Refused::RawRef));
                }
                let target = self.nested(Self::unary)?;
                let (span, below) = (start.to(target.span), self.height);
                return self.node(span, below, ExprKind::Ref { mutable, target });
            }
            _ => return self.postfix(),
        };
        self.bump();
        let arg = self.nested(Self::unary)?;
        let (span, below) = (start.to(self.last_span()), self.height);
        self.node(span, below, ExprKind::Unary { op, arg })
    }

    fn postfix(&mut self) -> Parsed<Box<Expr>> {
        let start = self.span();
        let mut expr = self.primary()?;
        loop {
            let below = self.height;
            let kind = if self.at_op(".") {
                self.bump();
                self.member(expr)?
            } else if self.at_open(Delim::Bracket) {
                let index = self.group(Delim::Bracket, Self::expr)?;
                ExprKind::Index { base: expr, index: Box::new(index) }
            } else if self.at_open(Delim::Paren) {
                let ExprKind::Path(callee) = expr.kind else { return Err(self.refuse(Refused::CallValue)) };
                let (args, height) = self.call_args(&callee)?;
                self.height = height;
                ExprKind::Call { callee, args }
            } else if self.at_op("?") {
                return Err(self.refuse(Refused::Try));
            } else {
                return Ok(expr);
            };
            let below = below.max(self.height);
            expr = self.node(start.to(self.last_span()), below, kind)?;
        }
    }

    /// What follows a dot.
    fn member(&mut self, base: Box<Expr>) -> Parsed<ExprKind> {
        let span = self.span();
        match self.peek() {
            Some(Kind::Literal(text)) if text.chars().all(|c| c.is_ascii_digit()) => {
                self.bump();
                Ok(ExprKind::Field { base, member: Ident { name: text.clone(), span } })
            }
            // `x.0.1`: the lexer, like rustc's, takes `0.1` for a fraction.
            Some(Kind::Literal(text)) if text.chars().all(|c| c.is_ascii_digit() || c == '.') => {
                let (first, second) = text.split_once('.').expect("a fraction has a point");
                if second.is_empty() || second.contains('.') {
                    return Err(self.expected("a member"));
                }
                self.bump();
                let member = Ident { name: first.to_owned(), span };
                let below = self.height;
                let inner_span = base.span.to(span);
                let inner = self.node(inner_span, below, ExprKind::Field { base, member })?;
                Ok(ExprKind::Field { base: inner, member: Ident { name: second.to_owned(), span } })
            }
            Some(Kind::Ident(word)) if word == "await" => Err(self.refuse(Refused::AsyncBlock)),
            _ => {
                let name = self.ident("a method or the number of a tuple's member after `.`")?;
                let generics = if self.at_op("::") {
                    self.eat_op("::");
                    if !self.at_char('<') {
                        return Err(self.expected("`<` after `::`"));
                    }
                    self.generic_args()?
                } else {
                    Vec::new()
                };
                if !self.at_open(Delim::Paren) {
                    if !generics.is_empty() {
                        return Err(self.expected("`(` and the arguments of the method"));
                    }
                    return Ok(ExprKind::Field { base, member: name });
                }
                let base_height = self.height;
                let (args, height) = self.args()?;
                self.height = height.max(base_height);
                Ok(ExprKind::Method { recv: base, name, generics, args })
            }
        }
    }

    fn call_args(&mut self, callee: &Path) -> Parsed<(Vec<Expr>, u32)> {
        let outer = std::mem::replace(&mut self.in_fx, callee.last().name.name == "fx");
        let args = self.args();
        self.in_fx = outer;
        args
    }

    /// `(a, b)` and the height of the highest.
    fn args(&mut self) -> Parsed<(Vec<Expr>, u32)> {
        let mut height = 0;
        let (args, _) = self.group(Delim::Paren, |p| {
            p.list(|p| {
                let arg = p.expr()?;
                height = height.max(p.height);
                Ok(arg)
            })
        })?;
        Ok((args, height))
    }

    fn primary(&mut self) -> Parsed<Box<Expr>> {
        let start = self.span();
        self.height = 0;
        match self.peek() {
            Some(Kind::Literal(text)) => {
                let lit = self.literal(text)?;
                self.node(start, 0, ExprKind::Lit(lit))
            }
            Some(Kind::Ident(word)) => self.word_expr(word),
            Some(Kind::Open { delim: Delim::Paren, .. }) => {
                let mut below = 0;
                let (mut elems, trailing) = self.group(Delim::Paren, |p| {
                    p.list(|p| {
                        let elem = p.expr()?;
                        below = below.max(p.height);
                        Ok(elem)
                    })
                })?;
                if elems.len() == 1 && !trailing {
                    return Ok(Box::new(elems.remove(0)));
                }
                self.node(start.to(self.last_span()), below, ExprKind::Tuple(elems))
            }
            Some(Kind::Open { delim: Delim::Bracket, .. }) => self.array(),
            Some(Kind::Open { delim: Delim::Brace, .. }) => {
                let block = self.block()?;
                let (span, below) = (block.span, self.height);
                self.node(span, below, ExprKind::Block(block))
            }
            Some(Kind::Lifetime(_)) => Err(self.refuse(Refused::Label)),
            Some(Kind::Punct { ch: '|', .. }) => Err(self.refuse(Refused::Closure)),
            Some(Kind::Punct { ch: '#', .. }) => Err(self.refuse(Refused::ExprAttribute)),
            Some(Kind::Punct { ch: '<', .. }) => Err(self.refuse(Refused::Qualified)),
            _ if self.at_op("::") => self.path_expr(),
            _ => Err(self.expected("an expression")),
        }
    }

    /// What begins with a name or keyword.
    fn word_expr(&mut self, word: &str) -> Parsed<Box<Expr>> {
        let start = self.span();
        let refused = match word {
            "true" | "false" => {
                self.bump();
                return self.node(start, 0, ExprKind::Lit(crate::ast::Lit::Bool(word == "true")));
            }
            "if" => return self.if_expr(),
            "match" => Refused::Match,
            "loop" | "for" | "while" => Refused::LoopValue,
            "unsafe" => Refused::UnsafeBlock,
            "async" => Refused::AsyncBlock,
            "const" => Refused::ConstBlock,
            "return" | "break" | "continue" => Refused::ReturnValue,
            "let" => Refused::LetValue,
            "move" | "static" => Refused::Closure,
            "_" => Refused::Underscore,
            _ if is_reserved(word) => Refused::MoveYield,
            _ => return self.path_expr(),
        };
        Err(self.refuse(refused))
    }

    fn path_expr(&mut self) -> Parsed<Box<Expr>> {
        let path = self.path(PathStyle::Expr, "an expression")?;
        if self.at_op("!") && matches!(self.peek_at(1), Some(Kind::Open { .. })) {
            return Err(self.refuse_at(path.span, Refused::Macro));
        }
        if self.at_open(Delim::Brace) && !self.in_head && self.is_struct_body() {
            return Err(self.refuse_at(path.span, Refused::StructLit));
        }
        let (span, below) = (path.span, self.height);
        self.node(span, below, ExprKind::Path(path))
    }

    /// Whether the brace at the cursor holds `name: ..`, `name, ..` or nothing.
    fn is_struct_body(&self) -> bool {
        let begins_field = matches!((self.peek_at(1), self.op_at(2)), (Some(Kind::Ident(_)), Some(":" | ",")));
        begins_field || matches!(self.peek_at(1), Some(Kind::Close(_) | Kind::Punct { ch: '.', .. }))
    }

    fn array(&mut self) -> Parsed<Box<Expr>> {
        let start = self.span();
        let mut below = 0;
        let kind = self.group(Delim::Bracket, |p| {
            if p.at_end() {
                return Ok(ExprKind::Array(Vec::new()));
            }
            let first = p.expr()?;
            below = p.height;
            if p.eat_op(";") {
                let len = p.expr()?;
                below = below.max(p.height);
                return Ok(ExprKind::Repeat { value: Box::new(first), len: Box::new(len) });
            }
            let mut elems = vec![first];
            if !p.at_end() {
                p.expect_op(",", "or `]`")?;
            }
            let (rest, _) = p.list(|p| {
                let elem = p.expr()?;
                below = below.max(p.height);
                Ok(elem)
            })?;
            elems.extend(rest);
            Ok(ExprKind::Array(elems))
        })?;
        self.node(start.to(self.last_span()), below, kind)
    }

    /// `if`, with every `else if` behind it.
    pub(super) fn if_expr(&mut self) -> Parsed<Box<Expr>> {
        self.nested(|p| {
            let start = p.bump();
            let cond = p.head()?;
            let mut below = p.height;
            let then: Block = p.block()?;
            below = below.max(p.height);
            let otherwise = if p.eat_word("else") {
                let branch = if p.at_word("if") {
                    p.if_expr()?
                } else {
                    let block = p.block()?;
                    let (span, height) = (block.span, p.height);
                    p.node(span, height, ExprKind::Block(block))?
                };
                below = below.max(p.height);
                Some(branch)
            } else {
                None
            };
            let span = start.to(p.last_span());
            p.node(span, below, ExprKind::If { cond: Box::new(cond), then, otherwise })
        })
    }
}
