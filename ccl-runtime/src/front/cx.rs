//! The state of an elaboration: the function under construction, variables, streams and transfers under way, what is known of
//! scalars, how loops are laid out.

use std::collections::HashMap;

use ccl_syntax::ast::*;
use ccl_syntax::{Span, print_expr};
use iss::target::Target;

use super::error::{FrontError, LoopKey, Plan, R, Stop};
use super::program::{Markers, Program};
use super::stream::Stream;
use super::transfer::Flying;
use super::value::{Affine, Next, Number, PlaceRef, Scalar, ScalarTy, Val};
use crate::ir::build::{Builder, Mark};
use crate::ir::range::Range;
use crate::ir::{Block as IrBlock, Id, OpKind, SVal, Type};

/// Most operations of a kernel. More would neither fit instruction memory nor compile in bearable time.
const MOST_OPS: u64 = 1 << 19;
/// Deepest nesting of calls, blocks and expressions.
const MOST_DEPTH: u32 = 512;

/// Sums of scalars, by their terms and number, and the scalar of the IR that is each.
pub(super) type Sums = HashMap<(Vec<(Id, i64)>, i64), Id>;

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub name: String,
    pub val: Val,
    /// Whether what it refers to may be written.
    pub written: bool,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub unit: usize,
    pub locals: HashMap<u32, usize>,
    pub consts: HashMap<String, Scalar>,
    /// Function and place of the call.
    pub called: String,
}

/// What a kernel has learnt about itself when it begins anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Learnt {
    pub plans: HashMap<LoopKey, Plan>,
    /// Streams by place whose biases are taken.
    pub biased: Vec<(usize, u32, u32)>,
    /// Walks whose tensor is also stored to: they cannot be pipelined.
    pub sequential: Vec<LoopKey>,
    /// Loops and functions that are left under a condition that is only known when the kernel runs.
    pub left: Vec<LoopKey>,
}

/// State that a loop laid out anew starts from again.
pub(super) struct Saved {
    mark: Mark,
    slots: Vec<Slot>,
    frames: Vec<Frame>,
    streams: Vec<Stream>,
    flying: Vec<Flying>,
    sums: Vec<Sums>,
    serials: Vec<u32>,
    open_loops: usize,
    pipes: usize,
    around: usize,
    masks: u32,
    prologue: usize,
    n_tables: usize,
}

pub(super) struct Cx<'p> {
    pub program: &'p Program,
    pub target: &'p Target,
    pub markers: Markers,
    pub b: Builder,
    pub slots: Vec<Slot>,
    pub frames: Vec<Frame>,
    pub streams: Vec<Stream>,
    pub flying: Vec<Flying>,
    pub ranges: HashMap<Id, Range>,
    /// Loops that a scalar changes with, the innermost.
    deps: HashMap<Id, LoopKey>,
    /// Sums that have been computed, by block.
    pub sums: Vec<Sums>,
    /// A number for each open block, and for the next.
    pub serials: Vec<u32>,
    serial: u32,
    pub learnt: Learnt,
    /// Loops that are open, outermost first, and whether they may be unrolled.
    pub open_loops: Vec<(LoopKey, bool)>,
    /// Pipelined walks that are open, and the tensors that flows in them read and write.
    pub pipes: Vec<(LoopKey, Vec<Id>, Vec<Id>)>,
    /// Loops and functions around, and the variables of loops that are left early.
    pub around: Vec<super::jump::Around>,
    pub loops_left: HashMap<LoopKey, Id>,
    /// Conditions of PEs that are open.
    pub masks: u32,
    /// Loops around the allocation of local buffers; none are counted of those that a flow fills or empties.
    pub homes: HashMap<Id, usize>,
    /// Alignment that uses of local buffers ask for.
    pub aligns: HashMap<Id, u32>,
    /// Buffers whose last word holds fewer elements than a MAC step reads.
    pub partial: Vec<Id>,
    /// Buffers into which one flow brings tiles of two tensors.
    pub shared: Vec<Id>,
    /// Buffers into parts of which tiles land.
    pub landing: Vec<(Id, super::landing::Bytes)>,
    /// Trips of loops over ranges that stay loops.
    pub trips: HashMap<LoopKey, u64>,
    /// What is done once, before the kernel's body.
    pub prologue: IrBlock,
    pub tables: Vec<(Vec<i64>, crate::kernel::ElemType, Id)>,
    pub span: Span,
    ops: u64,
    depth: u32,
}

impl<'p> Cx<'p> {
    pub fn new(program: &'p Program, target: &'p Target, name: &str, learnt: Learnt) -> Self {
        Cx {
            program,
            target,
            markers: Markers::default(),
            b: Builder::kernel(name),
            slots: Vec::new(),
            frames: Vec::new(),
            streams: Vec::new(),
            flying: Vec::new(),
            ranges: HashMap::new(),
            deps: HashMap::new(),
            sums: vec![HashMap::new()],
            serials: vec![0],
            serial: 0,
            learnt,
            open_loops: Vec::new(),
            pipes: Vec::new(),
            around: Vec::new(),
            loops_left: HashMap::new(),
            masks: 0,
            homes: HashMap::new(),
            aligns: HashMap::new(),
            partial: Vec::new(),
            shared: Vec::new(),
            landing: Vec::new(),
            trips: HashMap::new(),
            prologue: Vec::new(),
            tables: Vec::new(),
            span: Span::default(),
            ops: 0,
            depth: 0,
        }
    }

    pub fn rows(&self) -> usize {
        self.target.spec().rows as usize
    }
    pub fn cols(&self) -> usize {
        self.target.spec().cols as usize
    }
    pub fn border(&self) -> usize {
        self.target.spec().border as usize
    }

    // ---- errors ----

    pub fn error(&self, message: impl Into<String>, help: &str) -> Stop {
        let file = self.frames.last().map_or("", |f| &*self.program.units[f.unit].module.file);
        let mut error = FrontError::new(message).at(file, self.span);
        error.help = (!help.is_empty()).then(|| help.to_owned());
        error.calls = self.frames.iter().skip(1).rev().map(|f| f.called.clone()).collect();
        Stop::Error(Box::new(error))
    }
    pub fn fail<T>(&self, message: impl Into<String>, help: &str) -> R<T> {
        Err(self.error(message, help))
    }
    /// Another kind of value than its place wants; the checks before should have said so.
    pub fn wrong<T>(&self, wanted: &str, found: &Val) -> R<T> {
        self.fail(format!("{wanted} is wanted, this is {}", found.kind()), "")
    }

    /// Operations from here on come from this place.
    pub fn at(&mut self, span: Span) -> Span {
        let before = std::mem::replace(&mut self.span, span);
        if span.start.line > 0 {
            let unit = self.frames.last().map_or(0, |f| f.unit);
            self.b.loc(unit as u32, span.start.line);
        }
        before
    }

    /// Runs something one level deeper.
    pub fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        if self.depth >= MOST_DEPTH {
            return self.fail("calls and blocks are nested too deep", "write fewer levels");
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    // ---- operations ----

    pub fn push(&mut self, kind: OpKind) {
        self.ops += 1;
        self.b.push(kind);
    }
    /// Whether so many operations were emitted that no more should be.
    pub fn budget(&self) -> R<()> {
        if self.ops > MOST_OPS {
            return self.fail(
                format!("the kernel grows beyond {MOST_OPS} operations"),
                "unrolled loops and calls, each of which repeats its function, are the usual reasons: use the loop's variable \
                 where a number need not be known, call once and keep the result",
            );
        }
        Ok(())
    }
    /// A call counts too: calls of calls grow exponentially, whether they emit anything or not.
    pub fn count_call(&mut self) -> R<()> {
        self.ops += 1;
        self.budget()
    }
    pub fn open(&mut self) {
        self.b.open();
        self.sums.push(HashMap::new());
        self.serial += 1;
        self.serials.push(self.serial);
    }
    /// Ends the innermost block as it is.
    pub fn shut(&mut self) -> IrBlock {
        self.sums.pop();
        self.serials.pop();
        self.b.close()
    }
    /// Runs something at the end of an outer block, before the operation that is under construction there.
    pub fn in_outer<T>(&mut self, depth: usize, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let (blocks, sums) = (self.b.set_aside(depth), self.sums.split_off(depth));
        let serials = self.serials.split_off(depth);
        let result = f(self);
        self.b.take_back(blocks);
        self.sums.extend(sums);
        self.serials.extend(serials);
        result
    }
    /// Ends a block: what was started in it is waited for and consumed in it.
    pub fn close(&mut self) -> R<IrBlock> {
        self.settle_block()?;
        Ok(self.shut())
    }
    /// Waits for what was started in the innermost block and ends its streams.
    pub fn settle_block(&mut self) -> R<()> {
        let depth = self.b.depth();
        self.land_block(depth)?;
        self.end_streams(depth)
    }

    pub fn save(&self) -> Saved {
        Saved {
            mark: self.b.mark(),
            slots: self.slots.clone(),
            frames: self.frames.clone(),
            streams: self.streams.clone(),
            flying: self.flying.clone(),
            sums: self.sums.clone(),
            serials: self.serials.clone(),
            open_loops: self.open_loops.len(),
            pipes: self.pipes.len(),
            around: self.around.len(),
            masks: self.masks,
            prologue: self.prologue.len(),
            n_tables: self.tables.len(),
        }
    }
    pub fn restore(&mut self, saved: &Saved) {
        self.b.rollback(&saved.mark);
        self.slots.clone_from(&saved.slots);
        self.frames.clone_from(&saved.frames);
        self.streams.clone_from(&saved.streams);
        self.flying.clone_from(&saved.flying);
        self.sums.clone_from(&saved.sums);
        self.serials.clone_from(&saved.serials);
        self.open_loops.truncate(saved.open_loops);
        self.pipes.truncate(saved.pipes);
        self.around.truncate(saved.around);
        self.masks = saved.masks;
        self.prologue.truncate(saved.prologue);
        self.tables.truncate(saved.n_tables);
        let n = self.b.func().values.len() as u32;
        self.deps.retain(|id, _| id.0 < n);
        self.ranges.retain(|id, _| id.0 < n);
        self.aligns.retain(|id, _| id.0 < n);
        self.homes.retain(|id, _| id.0 < n);
        self.partial.retain(|id| id.0 < n);
        self.shared.retain(|id| id.0 < n);
        self.landing.retain(|(id, _)| id.0 < n);
    }

    // ---- what scalars depend on ----

    pub fn depends_on_loop(&mut self, id: Id, key: LoopKey) {
        self.deps.insert(id, key);
    }
    pub fn depends(&mut self, id: Id, from: &[Id]) {
        let depth = |key: &LoopKey| self.open_loops.iter().position(|(open, _)| open == key);
        let innermost = from.iter().filter_map(|id| self.deps.get(id)).max_by_key(|key| depth(key));
        if let Some(key) = innermost.copied() {
            self.deps.insert(id, key);
        }
    }
    /// The innermost loop that a sum changes with and that may be unrolled.
    pub fn loop_of(&self, sum: &Affine) -> Option<LoopKey> {
        let keys = sum.terms.iter().filter_map(|(id, _)| self.deps.get(id));
        let places = keys.filter_map(|key| self.open_loops.iter().rposition(|(open, may)| open == key && *may));
        places.max().map(|at| self.open_loops[at].0)
    }
    /// The number that a scalar is; if a loop changes it, the loop is unrolled.
    pub fn must_be_known(&self, scalar: &Scalar) -> R<i128> {
        match &scalar.number {
            Number::Known(v) => Ok(*v),
            Number::Run(sum) => self.sum_known(sum).map(i128::from),
        }
    }
    pub fn sum_known(&self, sum: &Affine) -> R<i64> {
        if let Some(v) = sum.as_known() {
            return Ok(v);
        }
        match self.loop_of(sum) {
            Some(key) => Err(Stop::Replan(key, Plan::Whole)),
            None => self.fail(
                "this has to be a number when the kernel is compiled",
                "take a constant, or the variable of a `for` over a constant range, which is then unrolled",
            ),
        }
    }
    pub fn known_usize(&self, scalar: &Scalar) -> R<usize> {
        let v = self.must_be_known(scalar)?;
        match usize::try_from(v) {
            Ok(v) => Ok(v),
            Err(_) => self.fail(format!("{v} is no extent or index"), ""),
        }
    }

    // ---- variables ----

    pub fn frame(&self) -> &Frame {
        self.frames.last().expect("a function is being elaborated")
    }
    pub fn unit(&self) -> &'p super::program::Unit {
        &self.program.units[self.frame().unit]
    }
    pub fn declare(&mut self, name: &Binding, val: Val) -> usize {
        self.slots.push(Slot { name: name.name.name.clone(), val, written: false });
        let slot = self.slots.len() - 1;
        self.frames.last_mut().expect("a function is being elaborated").locals.insert(name.id.0, slot);
        slot
    }
    /// The variable that a path names.
    pub fn slot_of(&self, path: &Path) -> Option<usize> {
        use ccl_syntax::check::Def;
        match self.unit().names.of(path)? {
            Def::Local(id) | Def::Param(id) => self.frame().locals.get(&id.0).copied(),
            _ => None,
        }
    }
    /// Runs something in a scope of its own.
    pub fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let n = self.slots.len();
        let result = self.deeper(f)?;
        self.slots.truncate(n);
        if let Some(frame) = self.frames.last_mut() {
            frame.locals.retain(|_, slot| *slot < n);
        }
        Ok(result)
    }

    /// The value of a variable now.
    pub fn read(&mut self, val: &Val) -> R<Val> {
        Ok(match val {
            Val::ScalarVar(ty, id) => {
                let dst = self.scalar_value("v", &[SVal::Val(*id)], Range::FULL);
                let (op, b) = (crate::ir::SOp::Mov, SVal::Imm(0));
                self.push(OpKind::Scalar { op, dst: crate::ir::SDst::Def(dst), a: SVal::Val(*id), b });
                if *ty == ScalarTy::Bool {
                    self.ranges.insert(dst, Range::between(0, 1));
                }
                Val::Scalar(Scalar::run(*ty, self.variable(dst)))
            }
            Val::PeVar(elem, lo, hi) => {
                let mut pe = super::value::Pe::new(*elem, crate::ir::Src::Val(*lo));
                if let Some(hi) = hi {
                    pe.hi = Some(crate::ir::Src::Val(*hi));
                    pe.range = elem.range();
                }
                Val::Pe(pe)
            }
            Val::Ref(place) => {
                let val = self.place_val(place)?;
                self.read(&val)?
            }
            val => val.clone(),
        })
    }

    /// What a place holds.
    pub fn place_val(&self, place: &PlaceRef) -> R<Val> {
        match place {
            PlaceRef::Slot(slot) => match self.slots.get(*slot) {
                Some(slot) => Ok(slot.val.clone()),
                None => self.fail("a reference outlives what it refers to", ""),
            },
            PlaceRef::Field(of, i) => match self.place_val(of)? {
                Val::Tuple(parts) | Val::Array(parts) if *i < parts.len() => Ok(parts[*i].clone()),
                Val::Ref(of) => self.place_val(&PlaceRef::Field(Box::new(of), *i)),
                other => self.wrong("a tuple or array", &other),
            },
            PlaceRef::Elements(lrm) => Ok(Val::Lrm(lrm.clone())),
        }
    }

    /// Text of an expression, for names of probes.
    pub fn text(expr: &Expr) -> String {
        print_expr(expr)
    }

    /// What a block's end makes of a jump that the text has behind it.
    pub fn no_jump(&self, next: &Next) -> R<()> {
        match next {
            Next::Goes => Ok(()),
            Next::Break | Next::Continue | Next::Maybe => {
                self.fail("`break` and `continue` under a condition that is only known when the kernel runs", LEAVE)
            }
            Next::Return(_) => self.fail("`return` under a condition that is only known when the kernel runs", LEAVE),
        }
    }

    pub fn is_var(&self, id: Id) -> bool {
        matches!(self.b.func().ty(id), Type::Var(_))
    }
}

/// How to do without a jump.
pub(super) const LEAVE: &str = "put what follows into an `if`, or state the condition in the loop's `while`";
