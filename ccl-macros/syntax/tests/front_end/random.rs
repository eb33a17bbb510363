//! Random trees: `parse(print(tree)) == tree`, the text is Rust, and the bytes come back.

use ccl_syntax::ast::*;
use ccl_syntax::{Module, Span};

use crate::support::{Rng, parse};

/// A generator of trees as the parser could make them.
struct Gen {
    rng: Rng,
}

const NAMES: &[&str] =
    &["a", "b", "acc", "weights", "x0", "_t", "N", "Packed", "broadcast", "probe", "raw", "union", "auto", "fx"];
const TEXTS: &[&str] =
    &["", " a text", "quote \" and \\ slash", "line\nbreak", " é \u{1F980}", "/slashed", "trailing "];

impl Gen {
    fn id<T: Default>(&self) -> T {
        T::default()
    }
    fn span(&self) -> Span {
        Span::default()
    }
    fn ident(&mut self) -> Ident {
        Ident { name: (*self.rng.pick(NAMES)).to_owned(), span: self.span() }
    }
    fn binding(&mut self) -> Binding {
        Binding { id: self.id(), name: self.ident() }
    }
    fn many<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.rng.below(most + 1)).map(|_| make(self)).collect()
    }
    fn text(&mut self) -> String {
        (*self.rng.pick(TEXTS)).to_owned()
    }

    fn module(&mut self) -> Module {
        let mut module = Module { file: "k.rs".into(), items: self.many(4, Self::item) };
        module.renumber();
        module
    }

    fn item(&mut self) -> Item {
        let vis = [Vis::Private, Vis::Public, Vis::Crate, Vis::Super][self.rng.below(4)].clone();
        let mut attrs = self.many(2, |g| AttrKind::Doc(g.text()));
        let kind = match self.rng.below(4) {
            0 => ItemKind::Const { name: self.binding(), ty: self.ty(2), value: self.expr(3) },
            1 => {
                attrs.push(AttrKind::Instance { target: self.path(1) });
                let value = Expr { id: self.id(), kind: ExprKind::Path(self.path(2)), span: self.span() };
                ItemKind::Const { name: self.binding(), ty: self.ty(1), value }
            }
            2 => ItemKind::Use(self.use_tree(2)),
            _ => {
                for _ in 0..self.rng.below(3) {
                    let attr = self.fn_attr();
                    let same = |other: &AttrKind| std::mem::discriminant(other) == std::mem::discriminant(&attr);
                    if !attrs.iter().any(same) {
                        attrs.push(attr);
                    }
                }
                ItemKind::Fn(self.function())
            }
        };
        let attrs = attrs.into_iter().map(|kind| Attr { kind, span: self.span() }).collect();
        Item { attrs, vis, kind, span: self.span() }
    }

    fn fn_attr(&mut self) -> AttrKind {
        match self.rng.below(11) {
            0 => AttrKind::Kernel { reference: None },
            1 => AttrKind::Kernel { reference: Some(self.path(1)) },
            2 => AttrKind::Reference(self.path(1)),
            3 => AttrKind::NoReference(self.text()),
            4 => AttrKind::Overrides(self.path(1)),
            5 => AttrKind::Edit(self.text()),
            6 => AttrKind::Region(self.text()),
            7 => AttrKind::Tap(self.text()),
            8 => AttrKind::Stub(self.path(1)),
            _ => AttrKind::Inline,
        }
    }

    fn use_tree(&mut self, depth: usize) -> UseTree {
        let mut prefix = self.many(2, Self::ident);
        let end = if depth > 0 && self.rng.once_in(3) {
            UseEnd::Group(self.many(3, |g| g.use_tree(depth - 1)))
        } else {
            let alias = self.rng.once_in(3).then(|| self.ident());
            UseEnd::Name { name: self.ident(), alias, id: self.id() }
        };
        if self.rng.once_in(4) {
            prefix.insert(0, Ident { name: "crate".into(), span: self.span() });
        }
        UseTree { prefix, end }
    }

    fn function(&mut self) -> Fn {
        let generics = self.many(3, |g| ConstParam { name: g.binding(), ty: g.ty(0) });
        let params = self.many(3, |g| Param { mutable: g.rng.once_in(3), name: g.binding(), ty: g.ty(2) });
        let ret = self.rng.once_in(2).then(|| self.ty(2));
        Fn { name: self.binding(), generics, params, ret, body: self.block(4) }
    }

    fn ty(&mut self, depth: usize) -> Ty {
        let kind = match if depth == 0 { 0 } else { self.rng.below(6) } {
            3 => TyKind::Ref { mutable: self.rng.once_in(2), target: Box::new(self.ty(depth - 1)) },
            4 => TyKind::Array { elem: Box::new(self.ty(depth - 1)), len: Box::new(self.expr(depth - 1)) },
            5 => TyKind::Tuple(self.many(3, |g| g.ty(depth - 1))),
            _ => TyKind::Path(self.path(depth)),
        };
        Ty { kind, span: self.span() }
    }

    fn path(&mut self, depth: usize) -> Path {
        let n = if self.rng.once_in(3) { 2 } else { 1 };
        let mut segments: Vec<Segment> = (0..n)
            .map(|_| {
                let args = if depth > 0 && self.rng.once_in(2) { self.generics(depth - 1) } else { Vec::new() };
                Segment { name: self.ident(), args }
            })
            .collect();
        if n == 2 && self.rng.once_in(5) {
            segments[0] = Segment { name: Ident { name: "super".into(), span: self.span() }, args: Vec::new() };
        }
        Path { id: self.id(), segments, span: self.span() }
    }

    fn generics(&mut self, depth: usize) -> Vec<GenericArg> {
        self.many(3, |g| match g.rng.below(4) {
            0 => GenericArg::Infer(g.span()),
            1 => {
                let value = g.expr(depth);
                match &value.kind {
                    // `{ N }` reads as the type or constant `N`.
                    ExprKind::Path(path) if path.as_name().is_some() => GenericArg::Infer(g.span()),
                    _ => GenericArg::Const(value),
                }
            }
            _ => GenericArg::Ty(g.ty(depth)),
        })
    }

    fn block(&mut self, depth: usize) -> Block {
        let stmts = self.many(3, |g| g.stmt(depth.saturating_sub(1)));
        let tail = self.rng.once_in(2).then(|| Box::new(self.expr(depth.saturating_sub(1))));
        Block { stmts, tail, span: self.span() }
    }

    fn pattern(&mut self) -> Pattern {
        match self.rng.below(6) {
            0 => Pattern::Ignore(self.span()),
            1 => Pattern::Tuple(self.many(3, Self::local)),
            _ => Pattern::Name(self.local()),
        }
    }
    fn local(&mut self) -> Local {
        Local { mutable: self.rng.once_in(3), name: self.binding() }
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        let mut attrs = Vec::new();
        let kind = match self.rng.below(12) {
            0 | 1 => {
                let ty = self.rng.once_in(3).then(|| self.ty(1));
                StmtKind::Let { pattern: self.pattern(), ty, value: self.expr(depth) }
            }
            2 => {
                let op = self.rng.once_in(2).then(|| *self.rng.pick(&BinOp::ALL[8..]));
                StmtKind::Assign { op, place: self.place(), value: self.expr(depth) }
            }
            3 => StmtKind::For { pattern: self.pattern(), iter: self.expr(depth), body: self.block(depth) },
            4 => {
                attrs.push(AttrKind::Bound(self.expr(1)));
                StmtKind::While { cond: self.expr(depth), body: self.block(depth) }
            }
            5 => StmtKind::Return(self.rng.once_in(2).then(|| self.expr(depth))),
            6 => StmtKind::Break,
            7 => StmtKind::Continue,
            8 => {
                let mut values = self.many(2, |g| g.expr(depth));
                values.push(self.expr(depth));
                StmtKind::Probe(values)
            }
            9 => StmtKind::Assert { cond: self.expr(depth), text: self.rng.once_in(2).then(|| self.text()) },
            _ => StmtKind::Expr(self.expr(depth)),
        };
        if self.rng.once_in(5) {
            attrs.push(match self.rng.below(3) {
                0 => AttrKind::Edit(self.text()),
                1 => AttrKind::Region(self.text()),
                _ => AttrKind::Tap(self.text()),
            });
        }
        let attrs = attrs.into_iter().map(|kind| Attr { kind, span: self.span() }).collect();
        Stmt { attrs, kind, span: self.span() }
    }

    fn place(&mut self) -> Expr {
        let root =
            Path { id: self.id(), segments: vec![Segment { name: self.ident(), args: Vec::new() }], span: self.span() };
        let root = Expr { id: self.id(), kind: ExprKind::Path(root), span: self.span() };
        let kind = match self.rng.below(4) {
            0 => ExprKind::Index { base: Box::new(root), index: Box::new(self.expr(1)) },
            1 => ExprKind::Unary { op: UnOp::Deref, arg: Box::new(root) },
            2 => ExprKind::Field { base: Box::new(root), member: self.number() },
            _ => return root,
        };
        Expr { id: self.id(), kind, span: self.span() }
    }
    fn number(&mut self) -> Ident {
        Ident { name: self.rng.below(3).to_string(), span: self.span() }
    }

    fn lit(&mut self) -> Lit {
        if self.rng.once_in(4) {
            return Lit::Bool(self.rng.once_in(2));
        }
        let value = match self.rng.below(4) {
            0 => u128::from(self.rng.bits()),
            _ => self.rng.below(300) as u128,
        };
        let suffix = self.rng.once_in(4).then(|| *self.rng.pick(IntTy::ALL));
        Lit::Int { value, base: *self.rng.pick(Base::ALL), suffix }
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    fn expr(&mut self, depth: usize) -> Expr {
        let kind = if depth == 0 { self.leaf() } else { self.branch(depth - 1) };
        Expr { id: self.id(), kind, span: self.span() }
    }
    fn leaf(&mut self) -> ExprKind {
        if self.rng.once_in(2) { ExprKind::Lit(self.lit()) } else { ExprKind::Path(self.path(0)) }
    }
    fn branch(&mut self, d: usize) -> ExprKind {
        match self.rng.below(22) {
            0 | 1 => self.leaf(),
            2 | 3 => ExprKind::Unary { op: *self.rng.pick(UnOp::ALL), arg: self.boxed(d) },
            4..=8 => ExprKind::Binary { op: *self.rng.pick(BinOp::ALL), lhs: self.boxed(d), rhs: self.boxed(d) },
            9 => ExprKind::Cast { value: self.boxed(d), ty: self.ty(1) },
            10 => ExprKind::Call { callee: self.path(d), args: self.many(3, |g| g.expr(d)) },
            11 => {
                let fx = Segment { name: Ident { name: "fx".into(), span: self.span() }, args: self.generics(0) };
                let callee = Path { id: self.id(), segments: vec![fx], span: self.span() };
                let text = ["0.5", "1e3", "12.25e-2"][self.rng.below(3)].to_owned();
                let value = Expr { id: self.id(), kind: ExprKind::Lit(Lit::Float(text)), span: self.span() };
                ExprKind::Call { callee, args: vec![value] }
            }
            12 | 13 => {
                let generics = if self.rng.once_in(2) { self.generics(d.min(2)) } else { Vec::new() };
                ExprKind::Method {
                    recv: self.boxed(d),
                    name: self.ident(),
                    generics,
                    args: self.many(2, |g| g.expr(d)),
                }
            }
            14 => {
                let member = if self.rng.once_in(8) { self.ident() } else { self.number() };
                ExprKind::Field { base: self.boxed(d), member }
            }
            15 => ExprKind::Index { base: self.boxed(d), index: self.boxed(d) },
            16 => {
                let start = self.rng.once_in(2).then(|| self.boxed(d));
                let inclusive = self.rng.once_in(3);
                let end = (inclusive || self.rng.once_in(2)).then(|| self.boxed(d));
                ExprKind::Range { start, end, inclusive }
            }
            17 => ExprKind::Tuple(self.many(3, |g| g.expr(d))),
            18 if self.rng.once_in(2) => ExprKind::Repeat { value: self.boxed(d), len: self.boxed(d) },
            18 => ExprKind::Array(self.many(3, |g| g.expr(d))),
            19 => ExprKind::Ref { mutable: self.rng.once_in(2), target: self.boxed(d) },
            20 => ExprKind::Block(self.block(d)),
            _ => {
                let otherwise = self.rng.once_in(2).then(|| {
                    let kind = if self.rng.once_in(2) { ExprKind::Block(self.block(d)) } else { self.if_kind(d) };
                    Box::new(Expr { id: self.id(), kind, span: self.span() })
                });
                ExprKind::If { cond: self.boxed(d), then: self.block(d), otherwise }
            }
        }
    }
    fn if_kind(&mut self, d: usize) -> ExprKind {
        ExprKind::If { cond: self.boxed(d), then: self.block(d), otherwise: None }
    }
}

#[test]
fn random_trees_come_back() {
    let mut n_bytes = 0;
    for seed in 0..2_500 {
        let module = Gen { rng: Rng(seed) }.module();
        let text = ccl_syntax::print(&module);
        n_bytes += text.len();
        let (again, diags, source) = parse(&text);
        let found: String = diags.iter().map(|d| d.render(&source)).collect();
        assert!(found.is_empty(), "seed {seed}: {found}\n{text}");
        assert!(again == module, "seed {seed}:\n{text}\nreads as\n{}", ccl_syntax::print(&again));
        assert_eq!(ccl_syntax::print(&again), text, "seed {seed}");
        let decoded = ccl_syntax::decode(&ccl_syntax::encode(&again)).expect("decodes");
        assert!(format!("{decoded:?}") == format!("{again:?}"), "seed {seed}");
        if seed % 8 == 0 {
            let read = syn::parse_file(&text);
            assert!(read.is_ok(), "seed {seed}: {}\n{text}", read.expect_err("it failed"));
        }
    }
    println!("{n_bytes} bytes of random kernels");
}
