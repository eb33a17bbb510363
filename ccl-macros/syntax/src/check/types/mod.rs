//! Types of expressions, and the rules that need them. Each function is checked once, with its const parameters as names.
//!
//! `ty.rs` has the types, `scheme.rs` reads the signatures of the table, `fit.rs` says what fits where, `written.rs` reads written
//! types, `stmt.rs`, `expr.rs`, `ops.rs` and `call.rs` walk the tree, `kernel.rs` has the rules of kernels, `output.rs`
//! says what is never written, `report.rs` what is wrong with a type.
//!
//! An expression with an error has the type [`Type::Unknown`], which fits everywhere, so that one mistake is one error. Inference
//! is forward, within a function: literals take the type that their use gives them, everything else is known where it stands.

mod call;
mod expr;
mod fit;
mod kernel;
mod ops;
mod output;
mod report;
mod scheme;
mod stmt;
mod ty;
mod written;

use std::collections::{HashMap, HashSet};

use crate::ast::*;
use crate::check::names::{Def, Names};
use crate::diag::Diags;
use crate::eval::Evaluator;
use crate::source::Span;

use fit::Literals;
pub use ty::{Elem, Extent, Layout, Memory, Tensor, Type};

/// The types of a module's expressions and bindings.
#[derive(Clone, Debug, Default)]
pub struct Types {
    of: HashMap<u32, Type>,
    generics: HashMap<u32, Vec<Extent>>,
}

impl Types {
    /// Type of the expression or binding with that key, if it was checked.
    pub fn of(&self, id: NodeId) -> Option<&Type> {
        self.of.get(&id.0)
    }
    /// The const arguments of a call of a function of the block, written or inferred; the key is that of the callee's path.
    pub fn generics_of(&self, id: NodeId) -> Option<&[Extent]> {
        self.generics.get(&id.0).map(Vec::as_slice)
    }
}

/// Checks the functions of a module.
pub(super) fn check(module: &Module, names: &Names, diags: &mut Diags) -> Types {
    // What is wrong with constants has been said.
    let mut said = Diags::default();
    let consts = Evaluator::new(module, &mut said);
    let fns: HashMap<u32, &Fn> = module.fns().map(|(_, function)| (function.name.id.0, function)).collect();
    let talking = call::talking(module, names);
    let mut checker = Checker {
        diags,
        names,
        consts,
        fns,
        talking,
        items: module.items.iter().filter_map(|item| Some((item.name()?.id.0, item))).collect(),
        types: HashMap::new(),
        generics: HashMap::new(),
        literals: Literals::default(),
        locals: HashMap::new(),
        scopes: Vec::new(),
        ret: Type::UNIT,
        masks: Vec::new(),
        loops: Vec::new(),
    };
    for (item, function) in module.fns() {
        checker.function(function);
        if item.is_kernel() {
            checker.kernel(function);
            if !checker.diags.has_any_in(item.span) {
                checker.outputs(function);
            }
        }
    }
    let of = checker.types.iter().map(|(id, ty)| (*id, checker.literals.settled(ty))).collect();
    let generics = checker.generics;
    said.take();
    Types { of, generics }
}

/// A variable.
struct Local {
    name: String,
    span: Span,
    ty: Type,
    is_used: bool,
    /// Number of scopes around it, and whether it was declared by `let`.
    depth: usize,
}

/// A loop that is open.
struct Loop {
    /// Conditions of PEs around it.
    n_masks: usize,
    /// Number of scopes around its body.
    depth: usize,
    /// Whether it walks tiles with several instances of its body, and where.
    pipelined: Option<Span>,
    /// Its variable, if it walks tiles.
    tile: Option<u32>,
    /// Whether each PE holds a patch of pixels.
    is_block: bool,
    /// What it walks by chunks of channels.
    chunk: Option<Chunk>,
}

/// The chunks of a walk.
struct Chunk {
    /// The loop's variable.
    tile: u32,
    /// Channels of a chunk.
    n: i128,
    /// Channels of the tensor.
    of: Extent,
    /// `chunks`.
    span: Span,
}

struct Checker<'a, 'd> {
    diags: &'d mut Diags,
    names: &'d Names,
    consts: Evaluator<'a>,
    fns: HashMap<u32, &'a Fn>,
    /// Functions in which PEs and engines exchange data, by their calls too.
    talking: HashSet<u32>,
    items: HashMap<u32, &'a Item>,
    types: HashMap<u32, Type>,
    generics: HashMap<u32, Vec<Extent>>,
    literals: Literals,
    locals: HashMap<u32, Local>,
    /// Variables by scope, innermost last.
    scopes: Vec<Vec<u32>>,
    /// What the function at hand returns.
    ret: Type,
    /// The conditions over PEs that are open, outermost first.
    masks: Vec<Span>,
    loops: Vec<Loop>,
}

impl<'a> Checker<'a, '_> {
    fn function(&mut self, function: &'a Fn) {
        self.scopes.push(Vec::new());
        for param in &function.params {
            let ty = self.ty(&param.ty);
            self.declare(&param.name, ty);
        }
        self.ret = function.ret.as_ref().map_or(Type::UNIT, |ty| self.ty(ty));
        let ret = self.ret.clone();
        let found = self.block(&function.body, Some(&ret));
        let what = format!("the result of `{}`", function.name.name.name);
        let place = function.body.tail.as_ref().map_or(function.name.name.span, |tail| tail.span);
        self.want(&ret, &found, place, &what);
        self.close_scope();
    }

    fn declare(&mut self, name: &'a Binding, ty: Type) {
        let depth = self.scopes.len();
        self.types.insert(name.id.0, ty.clone());
        let local = Local { name: name.name.name.clone(), span: name.name.span, ty, is_used: false, depth };
        self.locals.insert(name.id.0, local);
        self.scopes.last_mut().expect("variables live in a scope").push(name.id.0);
    }

    /// The variable that an expression names, if it is one name.
    fn local(&self, expr: &Expr) -> Option<&Local> {
        let ExprKind::Path(path) = &expr.kind else { return None };
        match self.names.of(path) {
            Some(Def::Local(id) | Def::Param(id)) => self.locals.get(&id.0),
            _ => None,
        }
    }
}
