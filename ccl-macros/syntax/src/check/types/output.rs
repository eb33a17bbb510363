//! What should be written and is not: tensors that a kernel takes as `&mut`, channels of a chunk.

use std::collections::{HashMap, HashSet};

use super::call::Site;
use super::stmt::step;
use super::ty::{Extent, Type};
use super::{Checker, Chunk};
use crate::ast::*;
use crate::check::names::Def;
use crate::check::walk::exprs;
use crate::code::Code;
use crate::diag::Diag;

/// What becomes of a tensor at one mention of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    /// Its tiles are walked: a store to one of them may follow.
    Walked,
    /// It is written, or goes where it may be.
    MayBeWritten,
}

impl<'a> Checker<'a, '_> {
    /// Reports each `&mut` tensor of a kernel that nothing can have written.
    pub(super) fn outputs(&mut self, function: &'a Fn) {
        let is_output =
            |ty: &Type| matches!(ty, Type::Ref { mutable: true, target } if matches!(**target, Type::Tensor(_)));
        // As in Rust, a name that begins with `_` is unused on purpose.
        let named = function.params.iter().filter(|p| !p.name.name.name.starts_with('_'));
        let outputs = named.filter(|p| self.types.get(&p.name.id.0).is_some_and(is_output));
        let outputs: Vec<&Param> = outputs.collect();
        if outputs.is_empty() {
            return;
        }
        let uses = self.uses(function);
        let tiles_are_written = self.tiles_are_written(function);
        for param in outputs {
            let is_written = uses.get(&param.name.id.0).into_iter().flatten().any(|of| match of {
                Use::Read => false,
                Use::Walked => tiles_are_written,
                Use::MayBeWritten => true,
            });
            if !is_written {
                let name = &param.name.name.name;
                let message = format!("`{name}` is taken as `&mut`, and nothing writes it");
                let help = format!("store to its tiles, `{name}.at(t).store(..)`, or take it as `&` or not at all");
                self.push(Code::NeverWritten, param.name.name.span, message, help);
            }
        }
    }

    /// What becomes of each parameter.
    fn uses(&self, function: &'a Fn) -> HashMap<u32, Vec<Use>> {
        let mut all: HashMap<u32, Vec<Use>> = HashMap::new();
        // An expression is visited before what it consists of: the first chain or call that a mention is seen in is the whole one.
        let mut seen = HashSet::new();
        exprs(&function.body, &mut |expr| {
            let (mention, what) = match &expr.kind {
                ExprKind::Method { .. } => chain_use(expr),
                ExprKind::Call { callee, args } if callee.last().name.name == "broadcast" => {
                    let Some(arg) = args.first() else { return };
                    (arg, Use::Read)
                }
                ExprKind::Path(_) => (expr, Use::MayBeWritten),
                _ => return,
            };
            if let ExprKind::Path(path) = &mention.kind
                && let Some(Def::Param(id)) = self.names.of(path)
                && seen.insert(path.id.0)
            {
                all.entry(id.0).or_default().push(what);
            }
        });
        all
    }

    /// Whether something is stored to a variable, or a tile goes to a function that may do so.
    fn tiles_are_written(&self, function: &'a Fn) -> bool {
        let mut found = false;
        exprs(&function.body, &mut |expr| match &expr.kind {
            ExprKind::Method { recv, name, .. } if name.name == "store" => {
                found |= matches!(&root(recv).kind, ExprKind::Path(path) if matches!(self.names.of(path), Some(Def::Local(_))));
            }
            ExprKind::Call { args, .. } => {
                let is_tile =
                    |arg: &Expr| matches!(self.types.get(&arg.id.0).map(Type::behind_refs), Some(Type::Tile(_)));
                found |= args.iter().any(is_tile);
            }
            _ => {}
        });
        found
    }

    /// The chunks that a loop walks by.
    pub(super) fn chunk(&mut self, pattern: &'a Pattern, walk: &Type, iter: &'a Expr) -> Option<Chunk> {
        let (Pattern::Name(local), Type::Walk(Some(tensor))) = (pattern, walk.behind_refs()) else { return None };
        let (of, tile) = (tensor.channels()?.clone(), local.name.id.0);
        let (name, args) = step(iter, "chunks")?;
        match self.extent_arg(args.first()?) {
            Extent::Known(n) => Some(Chunk { tile, n, of, span: name.span }),
            _ => None,
        }
    }

    /// `t.store(..)` and `y.at(t).store(..)` write every channel of a chunk.
    pub(super) fn whole_chunk(&mut self, on: &'a Expr, place: &Type, site: &Site<'a>) {
        let tile = match &on.kind {
            ExprKind::Method { name, args, .. } if name.name == "at" => args.first(),
            ExprKind::Path(_) => Some(on),
            _ => None,
        };
        let Some(ExprKind::Path(path)) = tile.map(|tile| &tile.kind) else { return };
        let Some(Def::Local(id)) = self.names.of(path) else { return };
        let walk = self.loops.iter().find(|l| !l.is_block && l.chunk.as_ref().is_some_and(|chunk| chunk.tile == id.0));
        let (Some(chunk), Type::Tile(Some(tensor))) = (walk.and_then(|l| l.chunk.as_ref()), place) else { return };
        let Some(arg) = site.args.first() else { return };
        let n = match self.types.get(&arg.id.0).map(Type::behind_refs) {
            Some(Type::Lrm(_, Extent::Known(n))) => *n,
            Some(Type::Pe(_)) => 1,
            _ => return,
        };
        // Of fewer channels than are walked, a chunk may have all there are.
        let has_more = match &chunk.of {
            Extent::Known(of) => n < *of,
            Extent::Param(_) => true,
            _ => false,
        };
        if n >= chunk.n || !has_more || tensor.channels() != Some(&chunk.of) {
            return;
        }
        let plural = if n == 1 { "" } else { "s" };
        let message = format!(
            "`store` of {n} channel{plural} where the walk goes on by {}: the others are never written",
            chunk.n
        );
        let diag = Diag::new(Code::PartOfChunk, arg.span, message).note_at(chunk.span, "the chunks").help(format!(
            "store the whole chunk, walk by `chunks::<{n}>()`, or name the channel: `.channels(c).store(..)`"
        ));
        self.diags.push(diag);
    }
}

/// The value that a chain of methods begins with.
fn root(mut expr: &Expr) -> &Expr {
    while let ExprKind::Method { recv, .. } = &expr.kind {
        expr = recv;
    }
    expr
}

/// The root of a chain of methods, and what the chain does to it.
fn chain_use(chain: &Expr) -> (&Expr, Use) {
    let (mut at, mut names) = (chain, Vec::new());
    while let ExprKind::Method { recv, name, .. } = &at.kind {
        names.push(name.name.as_str());
        at = recv;
    }
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(name));
    let what = if has(&["store", "scatter"]) {
        Use::MayBeWritten
    } else if has(&["fetch", "gather"]) {
        Use::Read
    } else if has(&["tiles"]) {
        Use::Walked
    } else {
        Use::MayBeWritten
    };
    (at, what)
}
