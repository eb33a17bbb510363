//! What an instance needs: bytes of local memory in every PE, bytes of on-chip memory, the range of its accumulators, constant
//! assertions that hold, and writes that idle PEs must not make. The machine comes in as numbers.
//!
//! A buffer begins where it is allocated, fetched, filled or returned, and ends at the brace of its block; one without a name ends
//! with its statement. In the body of a walk that is `pipelined(n)` there are `n` of each. A function's buffers lie above those of
//! its caller. Values of `Q<T>` and accumulators are not counted: the allocator keeps a reserve for them, which the caller takes
//! off the budget. Functions from outside the block are not counted either.

mod parts;

use std::collections::HashMap;

use super::names::Def;
use super::types::{Elem, Extent, Layout, Memory, Tensor, Type};
use super::{Checked, Instance};
use crate::ast::*;
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::eval::{Evaluator, Value};
use crate::source::Span;

/// What a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of local memory that a PE has for buffers.
    pub lrm_bytes: u64,
    /// Bytes of on-chip memory.
    pub ocm_bytes: u64,
    /// Rows and columns of PEs.
    pub array: (u64, u64),
}

/// What an instance needs.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Local memory in every PE.
    pub lrm: Most,
    /// On-chip memory, tensors of its parameters included.
    pub ocm: Most,
    /// Writes of every PE that a walk reaches, whether it lies inside the tensor or not.
    pub unmasked: Vec<Unmasked>,
}

/// A `scatter` under no condition of PEs in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// Where it stands.
    pub span: Span,
    /// Rows of elements that are walked, one a PE.
    pub rows: u64,
    /// Columns of them.
    pub cols: u64,
}

/// The moment at which most of a memory is in use.
#[derive(Clone, Debug, Default)]
pub struct Most {
    /// Bytes in use.
    pub bytes: u64,
    /// What is alive then, in the order of allocation.
    pub buffers: Vec<Buffer>,
}

/// A buffer, or a tensor on the chip.
#[derive(Clone, Debug)]
pub struct Buffer {
    place: Place,
    /// The variable, or what made it.
    pub name: String,
    /// Bytes of one instance.
    pub bytes: u64,
    /// How many there are of it.
    pub n_instances: u64,
    /// Where it is allocated.
    pub span: Span,
}

impl Buffer {
    /// Name and bytes, for a list.
    pub fn text(&self) -> String {
        match self.n_instances {
            1 => format!("`{}` has {} bytes", self.name, self.bytes),
            n => format!("`{}` has {n} times {} bytes", self.name, self.bytes),
        }
    }
}

/// What an instance needs. Findings, which are about accumulators and assertions, are in `diags`. `None` if its kernel is not in the module.
pub fn measure(module: &Module, checked: &Checked, instance: &Instance, diags: &mut Diags) -> Option<Needs> {
    let kernel = module.fns().map(|(_, f)| f).find(|f| f.name.name.name == instance.kernel)?;
    // What is no constant is not known here, and no error.
    let mut said = Diags::default();
    let mut meter = Meter {
        checked,
        fns: module.fns().map(|(_, function)| (function.name.id.0, function)).collect(),
        consts: Evaluator::new(module, &mut said),
        diags,
        env: HashMap::new(),
        live: Vec::new(),
        n_instances: 1,
        loops: Vec::new(),
        depth: 0,
        n_calls: 0,
        sums: HashMap::new(),
        needs: Needs::default(),
        masks: 0,
        branches: 0,
        walks: Vec::new(),
        instance: &instance.name,
        place: place_of(module, instance).unwrap_or(kernel.name.name.span),
    };
    meter.enter(kernel.generics.iter().zip(&instance.args).map(|(p, v)| (p.name.name.name.clone(), v.as_int())));
    for param in &kernel.params {
        let Some(ty) = checked.types.of(param.name.id) else { continue };
        if meter.is_empty(ty) {
            let message = format!("instance `{}`: `{}` has no elements", instance.name, param.name.name.name);
            let diag = Diag::new(Code::BadInstance, meter.place, message);
            meter.diags.push(diag.note_at(param.name.name.span, "the parameter").help("extents are at least 1"));
        }
        if let Some(bytes) = meter.ocm_bytes(ty) {
            meter.allocate(Place::Ocm, &param.name.name.name, bytes, param.name.name.span);
        }
    }
    meter.block(&kernel.body);
    let needs = std::mem::take(&mut meter.needs);
    said.take();
    Some(needs)
}

/// The name of an instance.
fn place_of(module: &Module, instance: &Instance) -> Option<Span> {
    module.instances().find(|(name, ..)| name.id.0 == instance.id.0).map(|(name, ..)| name.name.span)
}

/// Checks an instance against a machine; findings are in `diags`. `None` if its kernel is not in the module.
pub fn check_budget(
    module: &Module,
    checked: &Checked,
    instance: &Instance,
    budget: Budget,
    diags: &mut Diags,
) -> Option<Needs> {
    let needs = measure(module, checked, instance, diags)?;
    let place = place_of(module, instance).unwrap_or_default();
    over(instance, place, &needs.lrm, budget.lrm_bytes, Code::LrmBudget, diags);
    over(instance, place, &needs.ocm, budget.ocm_bytes, Code::OcmBudget, diags);
    let (rows, cols) = budget.array;
    for write in &needs.unmasked {
        if !write.rows.is_multiple_of(rows) || !write.cols.is_multiple_of(cols) {
            let message = format!(
                "`scatter` writes from idle PEs too: instance `{}` walks {} x {} elements, `{}` has {rows} x {cols} PEs",
                instance.name, write.rows, write.cols, instance.target
            );
            let help = "put it under `if t.inside() { .. }`, where `t` is the tile of the walk";
            diags.push(Diag::new(Code::IdleWrite, write.span, message).help(help));
        }
    }
    Some(needs)
}

fn over(instance: &Instance, place: Span, most: &Most, budget: u64, code: Code, diags: &mut Diags) {
    if most.bytes <= budget {
        return;
    }
    let (memory, help) = match code {
        Code::LrmBudget => (
            "of local memory in every PE",
            "fetch fewer channels at a time (`chunks::<N>()`), or end a block before the next buffer is allocated",
        ),
        _ => ("of on-chip memory", "work on a part of the tensor at a time, or leave one in external memory"),
    };
    let message = format!(
        "instance `{}` needs {} bytes {memory}, {} more than the {budget} of `{}`",
        instance.name,
        most.bytes,
        most.bytes - budget,
        instance.target
    );
    let diag = Diag::new(code, place, message).help(help);
    diags.push(most.buffers.iter().fold(diag, |diag, buffer| diag.note_at(buffer.span, buffer.text())));
}

/// Bytes of biases and weights in steps of `n_outputs`, each filled up to what the MAC unit pops.
fn stream_bytes(n_outputs: u64, co: u64, k: u64, elem: u64) -> u64 {
    let biases = (4 * n_outputs).next_multiple_of(16);
    let weights = k.div_ceil(16 / n_outputs).saturating_mul(16).saturating_mul(elem);
    co.div_ceil(n_outputs).saturating_mul(weights.saturating_add(biases))
}

/// In whole words of 4.
fn filled_up(n: u64) -> u64 {
    n.checked_next_multiple_of(4).unwrap_or(u64::MAX)
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Lrm,
    Ocm,
}

/// What is known about an accumulator.
#[derive(Clone, Copy)]
struct Sum {
    /// Greatest magnitude.
    bound: u128,
    /// Loops around its declaration.
    n_loops: usize,
}

struct Meter<'a, 'd> {
    checked: &'d Checked,
    fns: HashMap<u32, &'a Fn>,
    consts: Evaluator<'a>,
    diags: &'d mut Diags,
    /// Const parameters of the function at hand.
    env: HashMap<String, i128>,
    live: Vec<Buffer>,
    n_instances: u64,
    /// Trip counts of the loops around, where known.
    loops: Vec<Option<u128>>,
    /// Calls that are open, and all so far.
    depth: u32,
    n_calls: u32,
    sums: HashMap<u32, Sum>,
    needs: Needs,
    /// Conditions of PEs, and conditions of any kind and loops that may not run, that are open.
    masks: u32,
    branches: u32,
    /// Elements of the walks around, row by column, where known.
    walks: Vec<Option<(u64, u64)>>,
    instance: &'d str,
    place: Span,
}

/// Deepest calls, and most of them, that are followed: functions that call two others each are soon without number. What lies
/// beyond is not counted.
const MAX_CALL_DEPTH: u32 = 16;
const MAX_CALLS: u32 = 2_000;

impl<'a> Meter<'a, '_> {
    fn enter(&mut self, args: impl Iterator<Item = (String, Option<i128>)>) -> HashMap<String, i128> {
        let inner = args.filter_map(|(name, value)| Some((name, value?))).collect();
        let outer = std::mem::replace(&mut self.env, inner);
        self.define();
        outer
    }
    fn define(&mut self) {
        self.consts.undefine_all();
        for (name, value) in &self.env {
            self.consts.define(name, Value::usize(*value));
        }
    }

    // ---- sizes ----

    fn extent(&self, extent: &Extent) -> Option<u64> {
        match extent {
            Extent::Known(n) => u64::try_from(*n).ok(),
            Extent::Param(name) => self.env.get(name).and_then(|n| u64::try_from(*n).ok()),
            Extent::Unknown | Extent::Var(_) => None,
        }
    }

    /// Bytes in every PE, in whole words.
    fn lrm_bytes(&self, ty: &Type) -> Option<u64> {
        match ty {
            Type::Lrm(elem, n) => Some(filled_up(self.extent(n)?.saturating_mul(elem_bytes(elem)?))),
            Type::Flow(of) => self.lrm_bytes(of),
            Type::Array(of, n) => Some(self.lrm_bytes(of)?.saturating_mul(self.extent(n)?)),
            Type::Tuple(parts) => {
                let bytes: Vec<u64> = parts.iter().filter_map(|part| self.lrm_bytes(part)).collect();
                (!bytes.is_empty()).then(|| bytes.into_iter().fold(0, u64::saturating_add))
            }
            _ => None,
        }
    }

    fn ocm_bytes(&self, ty: &Type) -> Option<u64> {
        match ty.behind_refs() {
            Type::Tensor(tensor) if tensor.memory == Memory::Ocm => self.tensor_bytes(tensor),
            Type::Array(of, n) => Some(self.ocm_bytes(of)?.saturating_mul(self.extent(n)?)),
            _ => None,
        }
    }

    /// Whether a tensor that is walked has an extent of 0.
    fn is_empty(&self, ty: &Type) -> bool {
        let Type::Tensor(Tensor { layout: Layout::Named(name, extents), .. }) = ty.behind_refs() else { return false };
        *name != "Vector" && extents.iter().any(|extent| self.extent(extent) == Some(0))
    }

    /// Bytes of a tensor; `u64::MAX` for what no number counts.
    fn tensor_bytes(&self, tensor: &Tensor) -> Option<u64> {
        let Layout::Named(name, extents) = &tensor.layout else { return None };
        let n: Vec<u64> = extents.iter().map(|extent| self.extent(extent)).collect::<Option<_>>()?;
        let elem = elem_bytes(&tensor.elem)?;
        let product = |of: &[u64]| of.iter().fold(elem, |a, b| a.saturating_mul(*b));
        Some(match (*name, n.as_slice()) {
            ("Packed", [c, h, w]) => product(&[filled_up(*c), *h, *w]),
            ("Tokens", [n, d]) => product(&[*n, filled_up(*d)]),
            ("Stream", [co, k]) => stream_bytes(4, *co, *k, elem),
            ("StreamDot", [co, k]) => stream_bytes(1, *co, *k, elem),
            ("StreamOuter", [co, k]) => stream_bytes(16, *co, *k, elem),
            (_, n) => product(n),
        })
    }

    // ---- buffers ----

    fn allocate(&mut self, place: Place, name: &str, bytes: u64, span: Span) {
        self.live.push(Buffer { place, name: name.to_owned(), bytes, n_instances: self.n_instances, span });
        let of_place = self.live.iter().filter(|buffer| buffer.place == place);
        let total = of_place.clone().map(|b| b.bytes.saturating_mul(b.n_instances)).fold(0, u64::saturating_add);
        let most = match place {
            Place::Lrm => &mut self.needs.lrm,
            Place::Ocm => &mut self.needs.ocm,
        };
        if total > most.bytes {
            *most = Most { bytes: total, buffers: of_place.cloned().collect() };
        }
    }

    fn block(&mut self, block: &'a Block) {
        let n_live = self.live.len();
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        if let Some(tail) = &block.tail {
            self.value(tail, None);
        }
        self.live.truncate(n_live);
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let n_live = self.live.len();
        match &stmt.kind {
            StmtKind::Let { pattern, value, .. } => {
                let name = pattern.locals().first().map(|local| local.name.name.name.as_str());
                self.value(value, name);
                if let [local] = pattern.locals()
                    && let Some(Type::Acc(_)) = self.checked.types.of(local.name.id)
                {
                    let sum = Sum { bound: self.bound(value), n_loops: self.loops.len() };
                    self.sums.insert(local.name.id.0, sum);
                    self.in_range(sum.bound, &local.name.name.name, value.span);
                }
                return;
            }
            StmtKind::Assign { op, place, value } => {
                self.value(value, None);
                self.value(place, None);
                if *op == Some(BinOp::Add) {
                    self.accumulate(place, value);
                }
            }
            StmtKind::Expr(value) => self.value(value, None),
            StmtKind::For { iter, body, .. } => self.for_stmt(iter, body),
            StmtKind::While { cond, body } => {
                self.value(cond, None);
                let bound = stmt.attrs.iter().find_map(|attr| match &attr.kind {
                    AttrKind::Bound(trips) => Some(trips),
                    _ => None,
                });
                let trips = bound.and_then(|trips| self.int(trips)).and_then(|n| u128::try_from(n).ok());
                self.loop_body(trips, None, false, body);
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.value(value, None)),
            StmtKind::Probe(values) => values.iter().for_each(|value| self.value(value, None)),
            StmtKind::Assert { cond, text } => {
                self.value(cond, None);
                self.assertion(cond, text.as_deref());
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => {}
        }
        self.live.truncate(n_live);
    }

    fn for_stmt(&mut self, iter: &'a Expr, body: &'a Block) {
        self.value(iter, None);
        let trips = self.trips(iter);
        let outer = self.n_instances;
        if let Some(n) = self.pipelined(iter) {
            self.n_instances = self.n_instances.saturating_mul(n.max(1));
        }
        let walk = self.walk(iter);
        // A walk has a tile.
        let is_walk = matches!(self.checked.types.of(iter.id), Some(Type::Walk(_)));
        self.loop_body(trips, walk, is_walk || trips.is_some_and(|trips| trips > 0), body);
        self.n_instances = outer;
    }

    fn loop_body(&mut self, trips: Option<u128>, walk: Option<(u64, u64)>, is_certain: bool, body: &'a Block) {
        self.loops.push(trips);
        self.walks.push(walk);
        self.branches += u32::from(!is_certain);
        self.block(body);
        self.branches -= u32::from(!is_certain);
        self.walks.pop();
        self.loops.pop();
    }

    /// The elements that a walk reaches, one a PE. Not known of tokens, blocks, strides and grids.
    fn walk(&self, iter: &Expr) -> Option<(u64, u64)> {
        let Type::Walk(Some(tensor)) = self.checked.types.of(iter.id)? else { return None };
        let Layout::Named("Planar" | "Packed", extents) = &tensor.layout else { return None };
        let mut of = iter;
        while let ExprKind::Method { recv, name, .. } = &of.kind {
            if matches!(name.name.as_str(), "block" | "stride" | "grid") {
                return None;
            }
            of = recv;
        }
        match extents.as_slice() {
            [_, rows, cols] => Some((self.extent(rows)?, self.extent(cols)?)),
            _ => None,
        }
    }

    /// An assertion that runs for certain and is about constants alone.
    fn assertion(&mut self, cond: &'a Expr, text: Option<&str>) {
        if self.branches == 0 && matches!(self.consts.eval(cond), Ok(Value::Bool(false))) {
            let said = text.map_or_else(|| crate::print::print_expr(cond), str::to_owned);
            let message = format!("instance `{}`: assertion failed: {said}", self.instance);
            let diag = Diag::new(Code::FailedAssert, self.place, message)
                .note_at(cond.span, format!("`{}` is false", crate::print::print_expr(cond)));
            let values: Vec<String> = self.named_in(cond).map(|(name, value)| format!("`{name}` is {value}")).collect();
            self.diags.push(values.into_iter().fold(diag, Diag::note));
        }
    }

    /// The const parameters in an expression, with their values.
    fn named_in(&self, expr: &Expr) -> impl Iterator<Item = (String, i128)> {
        let mut found = std::collections::BTreeMap::new();
        super::sub_exprs(expr, &mut |e| {
            if let ExprKind::Path(path) = &e.kind
                && let Some(value) = self.env.get(&path.text())
            {
                found.insert(path.text(), *value);
            }
        });
        found.into_iter()
    }

    fn pipelined(&mut self, iter: &'a Expr) -> Option<u64> {
        let ExprKind::Method { recv, name, args, .. } = &iter.kind else { return None };
        match (name.name.as_str(), args.first()) {
            ("pipelined", Some(n)) => self.int(n).and_then(|n| u64::try_from(n).ok()),
            _ => self.pipelined(recv),
        }
    }

    /// How often a loop over a range runs.
    fn trips(&mut self, iter: &'a Expr) -> Option<u128> {
        match &iter.kind {
            ExprKind::Range { start: Some(start), end: Some(end), inclusive } => {
                let (start, end) = (self.int(start)?, self.int(end)?);
                let trips = end.checked_sub(start)?.checked_add(i128::from(*inclusive))?;
                Some(trips.max(0).unsigned_abs())
            }
            ExprKind::Method { recv, name, args, .. } => match (name.name.as_str(), args.first()) {
                ("rev", None) => self.trips(recv),
                ("step_by", Some(step)) => {
                    let step = u128::try_from(self.int(step)?).ok().filter(|step| *step > 0)?;
                    Some(self.trips(recv)?.div_ceil(step))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn int(&mut self, expr: &'a Expr) -> Option<i128> {
        self.consts.eval(expr).ok().and_then(|value| value.as_int())
    }

    /// Allocates what an expression brings into being; `name` is the variable that it is bound to.
    fn value(&mut self, expr: &'a Expr, name: Option<&str>) {
        match &expr.kind {
            ExprKind::Lit(_) | ExprKind::Path(_) => {}
            ExprKind::Unary { arg: of, .. }
            | ExprKind::Cast { value: of, .. }
            | ExprKind::Field { base: of, .. }
            | ExprKind::Ref { target: of, .. } => self.value(of, name),
            ExprKind::Binary { lhs: a, rhs: b, .. }
            | ExprKind::Index { base: a, index: b }
            | ExprKind::Repeat { value: a, len: b } => {
                self.value(a, name);
                self.value(b, name);
            }
            ExprKind::Range { start, end, .. } => {
                start.iter().chain(end).for_each(|bound| self.value(bound, None));
            }
            ExprKind::Tuple(of) | ExprKind::Array(of) => of.iter().for_each(|of| self.value(of, name)),
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                self.value(cond, None);
                let is_mask = u32::from(matches!(self.checked.types.of(cond.id), Some(Type::Pe(_))));
                (self.masks, self.branches) = (self.masks + is_mask, self.branches + 1);
                self.block(then);
                otherwise.iter().for_each(|branch| self.value(branch, name));
                (self.masks, self.branches) = (self.masks - is_mask, self.branches - 1);
            }
            ExprKind::Method { recv, name: method, args, .. } => {
                self.value(recv, name);
                args.iter().for_each(|arg| self.value(arg, None));
                match method.name.as_str() {
                    "fetch" | "fill" => self.made(expr, name, &method.name),
                    "view" | "part" => self.part(expr, recv, method, args),
                    "scatter" if self.masks == 0 => {
                        if let Some((rows, cols)) = self.walks.iter().rev().find_map(|walk| *walk) {
                            self.needs.unmasked.push(Unmasked { span: method.span, rows, cols });
                        }
                    }
                    _ => {}
                }
            }
            ExprKind::Call { callee, args } => {
                args.iter().for_each(|arg| self.value(arg, None));
                // What a function returns lies in its caller's memory.
                self.made(expr, name, &callee.text());
                if let Some(Def::Fn(id)) = self.checked.names.of(callee) {
                    self.call(id, callee);
                }
            }
        }
    }

    fn made(&mut self, expr: &Expr, name: Option<&str>, maker: &str) {
        let Some(ty) = self.checked.types.of(expr.id) else { return };
        let named = name.map_or_else(|| format!("{maker}(..)"), str::to_owned);
        if let Some(bytes) = self.lrm_bytes(ty) {
            self.allocate(Place::Lrm, &named, bytes, expr.span);
        } else if maker == "Ocm::new"
            && let Some(bytes) = self.ocm_bytes(ty)
        {
            self.allocate(Place::Ocm, &named, bytes, expr.span);
        }
    }

    fn call(&mut self, id: NodeId, callee: &Path) {
        let Some(function) = self.fns.get(&id.0).copied() else { return };
        if self.depth >= MAX_CALL_DEPTH || self.n_calls >= MAX_CALLS {
            return;
        }
        self.n_calls += 1;
        self.depth += 1;
        let args = self.checked.types.generics_of(callee.id).unwrap_or_default();
        let args: Vec<Option<i128>> = args.iter().map(|arg| self.extent(arg).map(i128::from)).collect();
        let names = function.generics.iter().map(|param| param.name.name.name.clone());
        let outer = self.enter(names.zip(args));
        let n_live = self.live.len();
        self.block(&function.body);
        self.live.truncate(n_live);
        self.env = outer;
        self.define();
        self.depth -= 1;
    }

    // ---- accumulators ----

    /// Greatest magnitude of an accumulator's value; 0 where it is not known.
    fn bound(&self, expr: &Expr) -> u128 {
        match &expr.kind {
            ExprKind::Binary { op: BinOp::Add, lhs, rhs } => self.bound(lhs).saturating_add(self.bound(rhs)),
            ExprKind::Path(path) => match self.checked.names.of(path) {
                Some(Def::Local(id)) => self.sums.get(&id.0).map_or(0, |sum| sum.bound),
                _ => 0,
            },
            ExprKind::Call { callee, args } if callee.text() == "mac" => match args.as_slice() {
                [a, weights] => self.products(a, weights).unwrap_or(0),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Greatest magnitude of the sum of one `mac`.
    fn products(&self, a: &Expr, weights: &Expr) -> Option<u128> {
        let Type::Lrm(elem, n) = self.checked.types.of(a.id)?.behind_refs() else { return None };
        let ExprKind::Method { recv, .. } = &weights.kind else { return None };
        let Type::Broadcast(Some(tensor)) = self.checked.types.of(recv.id)?.behind_refs() else { return None };
        let product = magnitude(elem)?.checked_mul(magnitude(&tensor.elem)?)?;
        product.checked_mul(u128::from(self.extent(n)?))
    }

    /// `acc += value`: as often as the loops between it and the accumulator's declaration run.
    fn accumulate(&mut self, place: &Expr, value: &Expr) {
        let ExprKind::Path(path) = &place.kind else { return };
        let Some(Def::Local(id)) = self.checked.names.of(path) else { return };
        let Some(sum) = self.sums.get(&id.0).copied() else { return };
        let Some(loops) = self.loops.get(sum.n_loops..) else { return };
        // A walk whose length is not known adds at least once.
        let trips = loops.iter().map(|trips| trips.unwrap_or(1)).fold(1, u128::saturating_mul);
        let bound = sum.bound.saturating_add(self.bound(value).saturating_mul(trips));
        self.sums.insert(id.0, Sum { bound, ..sum });
        self.in_range(bound, &path.text(), value.span);
    }

    fn in_range(&mut self, bound: u128, name: &str, span: Span) {
        let most = i32::MAX.unsigned_abs().into();
        if bound > most {
            let message = format!(
                "accumulator `{name}` of instance `{}` may reach {bound}, more than the {most} of 32 bits",
                self.instance
            );
            let diag = Diag::new(Code::AccOverflow, span, message)
                .note("worst case: every element and weight at the end of its range")
                .help("requantise partial sums and add those, or take narrower elements");
            self.diags.push(diag);
        }
    }
}

fn elem_bytes(elem: &Elem) -> Option<u64> {
    match elem {
        Elem::Bool => Some(1),
        _ => elem.bits().map(|(bits, _)| u64::from(bits) / 8),
    }
}

/// Greatest magnitude of an element.
fn magnitude(elem: &Elem) -> Option<u128> {
    let Elem::Int(ty) = elem else { return None };
    let (low, high) = ty.range();
    Some(low.unsigned_abs().max(high.unsigned_abs()))
}
