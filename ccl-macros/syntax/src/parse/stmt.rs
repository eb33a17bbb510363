//! Statements and blocks, and how reading goes on behind a broken statement.

use crate::ast::{
    Attr, AttrKind, BinOp, Binding, Block, Expr, ExprKind, Ident, Local, NodeId, Pattern, Stmt, StmtKind, UnOp,
};
use crate::code::Code;
use crate::diag::Diag;
use crate::parse::attr::Place;
use crate::parse::expr::ASSIGN_OPS;
use crate::parse::token::{Delim, Kind};
use crate::parse::{Failed, KEYWORDS, Parsed, Parser};
use crate::source::Span;
use crate::subset::Refused;

/// What was read where a statement may stand.
enum Line {
    Stmt(Box<Stmt>),
    Tail(Box<Expr>),
    Empty,
}

/// Words that begin a statement and never continue an expression on a new line.
const STATEMENT_WORDS: &[&str] =
    &["let", "for", "while", "loop", "return", "break", "continue", "fn", "const", "use", "struct", "match", "unsafe"];
/// Words whose statement ends with its brace.
const BLOCK_WORDS: &[&str] = &[
    "for", "while", "if", "loop", "match", "unsafe", "async", "fn", "struct", "enum", "impl", "trait", "mod", "union",
];

/// Words whose brace holds statements.
const BODY_WORDS: &[&str] = &["for", "while", "if", "loop", "unsafe", "fn"];

impl Parser<'_> {
    /// `{ .. }`. Fails only where there is no brace or too many are nested; broken statements are reported and dropped.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let start = self.span();
        let mut block = Block { stmts: Vec::new(), tail: None, span: start };
        let in_fx = std::mem::replace(&mut self.in_fx, false);
        let result = self.nested(|p| {
            p.group(Delim::Brace, |p| {
                let mut below = 0;
                while !p.at_end() {
                    let first = p.at;
                    match p.line() {
                        Ok(Line::Stmt(stmt)) => block.stmts.push(*stmt),
                        Ok(Line::Tail(expr)) => block.tail = Some(expr),
                        Ok(Line::Empty) => continue,
                        Err(Failed) => {
                            let broken = p.recover_stmt(first);
                            block.stmts.push(broken);
                            p.height = 0;
                        }
                    }
                    below = below.max(p.height);
                }
                p.grow(below)
            })
        });
        self.in_fx = in_fx;
        result?;
        block.span = start.to(self.last_span());
        Ok(block)
    }

    fn line(&mut self) -> Parsed<Line> {
        let start = self.span();
        self.height = 0;
        if self.eat_op(";") {
            return Ok(Line::Empty);
        }
        let attrs = self.attrs(Place::Stmt);
        let below = self.height;
        let line = self.line_behind(attrs, start)?;
        self.height = self.height.max(below);
        Ok(line)
    }

    fn line_behind(&mut self, attrs: Vec<Attr>, start: Span) -> Parsed<Line> {
        let kind = match self.word() {
            Some("let") => self.let_stmt()?,
            Some("for") => self.for_stmt()?,
            Some("while") => self.while_stmt(&attrs)?,
            Some("loop") => return Err(self.refuse(Refused::Loop)),
            Some("return") => {
                self.bump();
                let value = if self.at_end() || self.at_op(";") { None } else { Some(self.expr()?) };
                self.semicolon()?;
                StmtKind::Return(value)
            }
            Some("break") => {
                self.bump();
                self.jump_end()?;
                StmtKind::Break
            }
            Some("continue") => {
                self.bump();
                self.jump_end()?;
                StmtKind::Continue
            }
            Some(word) if self.is_inner_item(word) => return Err(self.refuse(Refused::InnerItem)),
            Some("probe" | "assert") if self.is_macro() => self.macro_stmt()?,
            Some(name) if self.is_macro() && !KEYWORDS.contains(&name) => return Err(self.unknown_macro(name)),
            _ => return self.expr_line(start, attrs),
        };
        let span = start.to(self.last_span());
        if !matches!(kind, StmtKind::While { .. }) {
            self.no_bound(&attrs);
        }
        Ok(Line::Stmt(Box::new(Stmt { attrs, kind, span })))
    }

    fn is_macro(&self) -> bool {
        self.op_at(1) == Some("!") && matches!(self.peek_at(2), Some(Kind::Open { .. }))
    }

    fn is_inner_item(&self, word: &str) -> bool {
        match word {
            "fn" | "struct" | "enum" | "trait" | "impl" | "type" | "mod" | "static" | "use" | "pub" | "extern"
            | "macro" => true,
            "const" => !matches!(self.peek_at(1), Some(Kind::Open { .. })),
            "unsafe" | "async" => self.word_at(1) == Some("fn"),
            "union" => {
                self.word_at(1).is_some() && matches!(self.peek_at(2), Some(Kind::Open { delim: Delim::Brace, .. }))
            }
            "macro_rules" => self.op_at(1) == Some("!") && self.word_at(2).is_some(),
            _ => false,
        }
    }

    /// An expression, an assignment, or the value of the block.
    fn expr_line(&mut self, start: Span, attrs: Vec<Attr>) -> Parsed<Line> {
        self.no_bound(&attrs);
        if matches!(self.peek(), Some(Kind::Lifetime(_))) {
            return Err(self.refuse(Refused::Label));
        }
        // A block or `if` where a statement begins is the whole statement, as in Rust.
        let block_like = self.at_word("if") || self.at_open(Delim::Brace);
        let expr = if self.at_word("if") {
            *self.if_expr()?
        } else if block_like {
            let block = self.block()?;
            let span = block.span;
            Expr { id: NodeId::default(), kind: ExprKind::Block(block), span }
        } else {
            self.expr_or_place()?
        };
        let finish = |p: &Self, kind| {
            Ok(Line::Stmt(Box::new(Stmt { attrs: attrs.clone(), kind, span: start.to(p.last_span()) })))
        };
        if block_like {
            let is_value = self.at_end() && expr.is_block_value();
            if self.eat_op(";") || !is_value || !attrs.is_empty() {
                return finish(self, StmtKind::Expr(expr));
            }
            return Ok(Line::Tail(Box::new(expr)));
        }
        if let Some(op) = self.op().filter(|op| ASSIGN_OPS.contains(op)) {
            self.place(&expr)?;
            self.at += op.len();
            let below = self.height;
            let value = self.expr()?;
            self.height = self.height.max(below);
            self.semicolon()?;
            let word = op.strip_suffix('=').expect("every assignment ends with `=`");
            let op = BinOp::ALL.iter().copied().find(|b| b.word() == word);
            return finish(self, StmtKind::Assign { op, place: expr, value });
        }
        if self.at_end() {
            if !attrs.is_empty() {
                return Err(self.refuse_at(attrs[0].span, Refused::ExprAttribute));
            }
            return Ok(Line::Tail(Box::new(expr)));
        }
        self.semicolon()?;
        finish(self, StmtKind::Expr(expr))
    }

    /// The end of a statement. A semicolon missing at the end of a line is reported, and the statement kept: half-typed lines
    /// stay in the tree for completion.
    fn semicolon(&mut self) -> Parsed<()> {
        if self.eat_op(";") || self.at_end() {
            return Ok(());
        }
        let failed = if self.starts_line(self.at) {
            self.expected_at(self.last_span(), "`;` at the end of the statement")
        } else {
            self.expected("`;` or an operator")
        };
        if self.starts_line(self.at) { Ok(()) } else { Err(failed) }
    }

    fn jump_end(&mut self) -> Parsed<()> {
        if matches!(self.peek(), Some(Kind::Lifetime(_))) {
            return Err(self.refuse(Refused::Label));
        }
        if !self.at_end() && !self.at_op(";") && !self.starts_line(self.at) {
            return Err(self.refuse(Refused::BreakValue));
        }
        self.height = 0;
        self.semicolon()
    }

    /// Checks the left side of an assignment.
    fn place(&mut self, expr: &Expr) -> Parsed<()> {
        let mut at = expr;
        loop {
            match &at.kind {
                ExprKind::Path(path) if path.as_name().is_some() => return Ok(()),
                ExprKind::Unary { op: UnOp::Deref, arg } => at = arg,
                ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => at = base,
                _ => break,
            }
        }
        let diag = Diag::new(Code::NotAPlace, expr.span, "the left side of an assignment is no place").help(
            "assign to a name, to an element `a[i]`, or through a reference `*a`; tensors in OCM take `.store(value)`",
        );
        self.diags.push(diag);
        Err(Failed)
    }

    fn let_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let pattern = self.pattern()?;
        let ty = if self.eat_op(":") { Some(self.ty()?) } else { None };
        let below = if ty.is_some() { self.height } else { 0 };
        if self.at_op(";") || self.at_end() {
            return Err(self.refuse(Refused::LetUninit));
        }
        self.expect_op("=", "and a value")?;
        let value = self.expr()?;
        if self.at_word("else") {
            return Err(self.refuse(Refused::LetElse));
        }
        self.height = self.height.max(below);
        if self.at_end() {
            self.expected("`;` at the end of the statement");
        }
        self.semicolon()?;
        Ok(StmtKind::Let { pattern, ty, value })
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        match self.peek() {
            Some(Kind::Ident(word)) if word == "_" => Ok(Pattern::Ignore(self.bump())),
            Some(Kind::Open { delim: Delim::Paren, .. }) => {
                let (mut locals, trailing) = self.group(Delim::Paren, |p| p.list(Self::local))?;
                if locals.len() == 1 && !trailing {
                    return Ok(Pattern::Name(locals.remove(0)));
                }
                Ok(Pattern::Tuple(locals))
            }
            Some(Kind::Ident(_)) => Ok(Pattern::Name(self.local()?)),
            _ => Err(self.refuse(Refused::LetPattern)),
        }
    }

    fn local(&mut self) -> Parsed<Local> {
        let mutable = self.eat_word("mut");
        match self.word() {
            Some(word) if !KEYWORDS.contains(&word) && word != "_" => {}
            // In a tuple too, so that every element has a name to talk about.
            _ => return Err(self.refuse(Refused::LetPattern)),
        }
        let name = self.ident("a name")?;
        if matches!(self.op(), Some("@" | "::" | "..")) || matches!(self.peek(), Some(Kind::Open { .. })) {
            return Err(self.refuse_at(name.span, Refused::LetPattern));
        }
        Ok(Local { mutable, name: Binding { id: NodeId::default(), name } })
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let pattern = self.pattern()?;
        if !self.eat_word("in") {
            return Err(self.expected("`in` and what to walk"));
        }
        let iter = self.head()?;
        let below = self.height;
        let body = self.block()?;
        self.grow(below.max(self.height))?;
        Ok(StmtKind::For { pattern, iter, body })
    }

    fn while_stmt(&mut self, attrs: &[Attr]) -> Parsed<StmtKind> {
        let keyword = self.bump();
        let cond = self.head()?;
        let below = self.height;
        let body = self.block()?;
        self.grow(below.max(self.height))?;
        if !attrs.iter().any(|a| matches!(a.kind, AttrKind::Bound(_))) {
            let diag = Diag::new(Code::Unbounded, keyword, "`while` without a bound on its iterations")
                .help("write `#[bound(n)]` above it, `n` a constant; the run stops as failed where that is not enough");
            self.diags.push(diag);
        }
        Ok(StmtKind::While { cond, body })
    }

    /// Reports `#[bound]` on anything but `while`.
    fn no_bound(&mut self, attrs: &[Attr]) {
        if let Some(attr) = attrs.iter().find(|a| matches!(a.kind, AttrKind::Bound(_))) {
            self.diags.error(Code::MisplacedAttribute, attr.span, "`#[bound]` stands on `while` only");
        }
    }

    fn macro_stmt(&mut self) -> Parsed<StmtKind> {
        let is_probe = self.at_word("probe");
        self.at += 2;
        if !self.at_open(Delim::Paren) {
            return Err(self.expected("`(`"));
        }
        let kind = self.group(Delim::Paren, |p| {
            if is_probe {
                let mut below = 0;
                let (values, _) = p.list(|p| {
                    let value = p.expr()?;
                    below = below.max(p.height);
                    Ok(value)
                })?;
                p.height = below;
                if values.is_empty() {
                    return Err(p.expected("a value to record"));
                }
                return Ok(StmtKind::Probe(values));
            }
            let cond = p.expr()?;
            let mut text = None;
            if p.eat_op(",") && !p.at_end() {
                text = Some(p.string("a text in quotes: what is said where the condition fails")?);
                p.eat_op(",");
            }
            if !p.at_end() {
                return Err(p.expected("`)`: the text of `assert!` has no arguments; `probe!` shows values"));
            }
            Ok(StmtKind::Assert { cond, text })
        })?;
        self.semicolon()?;
        Ok(kind)
    }

    fn unknown_macro(&mut self, name: &str) -> Failed {
        let diag = Diag::new(Code::UnknownMacro, self.span(), format!("`{name}!` is no macro of the kernel language"))
            .help("there are `probe!(value)` and `assert!(condition, \"text\")`");
        self.diags.push(diag);
        Failed
    }

    /// Moves behind the statement that begins at `first` and could not be read.
    fn recover_stmt(&mut self, first: usize) -> Stmt {
        let failed_at = self.at;
        let mut index = first;
        while matches!(self.tokens[index].kind, Kind::Punct { ch: '#', .. }) && index + 1 < self.end {
            index = self.behind(index + 1).min(self.end - 1);
        }
        let word = match &self.tokens[index].kind {
            Kind::Ident(word) => word.as_str(),
            Kind::Lifetime(_) => "for",
            _ => "",
        };
        let declares = if word == "let" { self.declared(index + 1) } else { Vec::new() };
        let ends_with_brace = BLOCK_WORDS.contains(&word);
        while index < self.end {
            match &self.tokens[index].kind {
                Kind::Punct { ch: ';', .. } => {
                    index += 1;
                    break;
                }
                Kind::Open { delim: Delim::Brace, mate } => {
                    if index >= failed_at && BODY_WORDS.contains(&word) {
                        // The head was broken; the body still has its own mistakes to tell.
                        self.at = index;
                        _ = self.block();
                    }
                    index = mate + 1;
                    let goes_on = index < self.end && matches!(&self.tokens[index].kind, Kind::Ident(w) if w == "else");
                    if ends_with_brace && !goes_on {
                        break;
                    }
                }
                Kind::Ident(word) if index > first && index >= failed_at && self.starts_line(index) => {
                    let after_else = matches!(&self.tokens[index - 1].kind, Kind::Ident(w) if w == "else");
                    if STATEMENT_WORDS.contains(&word.as_str()) || (word == "if" && !after_else) {
                        break;
                    }
                    index += 1;
                }
                _ => index = self.behind(index),
            }
        }
        // A broken statement is at least one token long, so reading always gets on.
        self.at = index.clamp(first + 1, self.end);
        let span = self.tokens[first].span.to(self.last_span());
        Stmt { attrs: Vec::new(), kind: StmtKind::Broken { declares }, span }
    }

    /// The names between `let` and `=`, `:` or the end.
    fn declared(&self, mut index: usize) -> Vec<Binding> {
        let mut names = Vec::new();
        let mut follows_name = false;
        while index < self.end {
            match &self.tokens[index].kind {
                Kind::Ident(word) if KEYWORDS.contains(&word.as_str()) => {}
                // `let a x;` declares one name, not two.
                Kind::Ident(_) if follows_name => break,
                Kind::Ident(word) => {
                    let name = Ident { name: word.clone(), span: self.tokens[index].span };
                    names.push(Binding { id: NodeId::default(), name });
                }
                Kind::Punct { ch: '=' | ':' | ';', .. } | Kind::Literal(_) => break,
                _ => {}
            }
            follows_name = matches!(&self.tokens[index].kind, Kind::Ident(word) if !KEYWORDS.contains(&word.as_str()));
            index += 1;
        }
        names
    }
}
