//! Blocks of kernels as the interpreter reads them.

use std::collections::{HashMap, HashSet};

use ccl_syntax::ast::{Block, Expr, ExprKind, Fn, Item, ItemKind, Module, Stmt, StmtKind};
use ccl_syntax::check::{Checked, Def, Names};
use ccl_syntax::eval::{Evaluator, Value};
use ccl_syntax::{Diags, check};

/// A block that was read and checked.
#[derive(Clone, Debug)]
pub struct Unit {
    pub(super) module: Module,
    pub(super) checked: Checked,
    /// Constants that the front end evaluates; others are evaluated where they are used.
    pub(super) constants: HashMap<String, Value>,
    /// Names of variables that are read in an expression which may change them.
    pub(super) reads: HashSet<u32>,
    /// Path of the module around the block, by which others import from it.
    path: Vec<String>,
}

impl Unit {
    /// A block, and what was found out about it. `path` is that of the module around it: `crate::kernels`.
    pub fn new(path: &str, module: Module, checked: Checked) -> Self {
        let mut said = Diags::default();
        let mut evaluator = Evaluator::new(&module, &mut said);
        let names = module.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Const { name, .. } => Some(&name.name.name),
            _ => None,
        });
        let value = |name: &String| Some((name.clone(), evaluator.constant(name)?.ok()?));
        let constants = names.filter_map(value).collect();
        // What is wrong with constants was said by the check.
        said.take();
        let mut reads = HashSet::new();
        let mut find = Reads { names: &checked.names, reads: &mut reads };
        module.fns().for_each(|(_, function)| find.block(&function.body));
        let path = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self { module, checked, constants, reads, path }
    }

    /// As [`new`](Self::new), checking the block; findings are in `diags`.
    pub fn check(path: &str, module: Module, diags: &mut Diags) -> Self {
        let checked = check(&module, diags);
        Self::new(path, module, checked)
    }

    /// The block.
    pub fn module(&self) -> &Module {
        &self.module
    }
    /// What was found out about it.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }
    /// Path of the module around the block.
    pub fn path(&self) -> &[String] {
        &self.path
    }
    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Fn> {
        self.module.fns().map(|(_, function)| function).find(|function| function.name.name.name == name)
    }
    /// The constant of that name.
    pub(super) fn constant(&self, name: &str) -> Option<&Expr> {
        let is_it = |item: &&Item| item.name().is_some_and(|of| of.name.name == name);
        match &self.module.items.iter().find(is_it)?.kind {
            ItemKind::Const { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// Where the functions and constants of other blocks are found.
pub trait Linker {
    /// The block with the item that `path` means in `from`, and the item's name there.
    fn find<'a>(&'a self, from: &Unit, path: &[&str]) -> Option<(&'a Unit, String)>;
}

/// A block that stands alone.
impl Linker for () {
    fn find<'a>(&'a self, _: &Unit, _: &[&str]) -> Option<(&'a Unit, String)> {
        None
    }
}

/// A value that an expression reads is kept from what the rest of the expression assigns: in blocks, branches, and functions that
/// are lent it as `&mut`.
struct Reads<'a> {
    names: &'a Names,
    reads: &'a mut HashSet<u32>,
}

impl Reads<'_> {
    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        block.tail.iter().for_each(|tail| self.statement(tail));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { value, .. } => self.whole(vec![value]),
            StmtKind::Assign { place, value, .. } => self.whole(vec![place, value]),
            StmtKind::Expr(expr) => self.statement(expr),
            StmtKind::For { iter, body, .. } => {
                self.whole(vec![iter]);
                self.block(body);
            }
            StmtKind::While { cond, body } => {
                self.whole(vec![cond]);
                self.block(body);
            }
            StmtKind::Return(value) => self.whole(value.iter().collect()),
            StmtKind::Probe(values) => values.iter().for_each(|value| self.whole(vec![value])),
            StmtKind::Assert { cond, .. } => self.whole(vec![cond]),
            StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => {}
        }
    }

    /// An expression in the place of a statement: its blocks are blocks, not parts of an expression.
    fn statement(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                self.whole(vec![cond]);
                self.block(then);
                otherwise.iter().for_each(|branch| self.statement(branch));
            }
            _ => self.whole(vec![expr]),
        }
    }

    /// What is computed together.
    fn whole(&mut self, mut open: Vec<&Expr>) {
        let (mut names, mut assigns) = (Vec::new(), false);
        let mut blocks: Vec<&Block> = Vec::new();
        while let Some(expr) = open.pop() {
            match &expr.kind {
                ExprKind::Path(path) => names.push(path.id.0),
                ExprKind::Block(_) | ExprKind::If { .. } | ExprKind::Ref { mutable: true, .. } => assigns = true,
                // A reference that is passed on may be written through.
                ExprKind::Call { callee, .. } => assigns |= !matches!(self.names.of(callee), Some(Def::Builtin(_))),
                _ => {}
            }
            children(expr, &mut open, &mut blocks);
            while let Some(block) = blocks.pop() {
                self.block(block);
                open.extend(block.tail.as_deref());
            }
        }
        if assigns {
            self.reads.extend(names);
        }
    }
}

/// The expressions and blocks right inside an expression.
fn children<'a>(expr: &'a Expr, open: &mut Vec<&'a Expr>, blocks: &mut Vec<&'a Block>) {
    match &expr.kind {
        ExprKind::Lit(_) | ExprKind::Path(_) => {}
        ExprKind::Unary { arg: of, .. }
        | ExprKind::Cast { value: of, .. }
        | ExprKind::Field { base: of, .. }
        | ExprKind::Ref { target: of, .. } => open.push(of),
        ExprKind::Binary { lhs: a, rhs: b, .. }
        | ExprKind::Index { base: a, index: b }
        | ExprKind::Repeat { value: a, len: b } => open.extend([&**a, &**b]),
        ExprKind::Call { args: of, .. } | ExprKind::Tuple(of) | ExprKind::Array(of) => open.extend(of),
        ExprKind::Method { recv, args, .. } => {
            open.push(recv);
            open.extend(args);
        }
        ExprKind::Range { start, end, .. } => open.extend(start.iter().chain(end).map(|bound| &**bound)),
        ExprKind::Block(block) => blocks.push(block),
        ExprKind::If { cond, then, otherwise } => {
            open.push(cond);
            blocks.push(then);
            open.extend(otherwise.as_deref());
        }
    }
}
