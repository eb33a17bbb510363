//! Makes functions in Rust, for front ends: one method per operation, blocks as closures, every value typed when it is made.
//!
//! Nothing is checked here but what Rust's types say; [`verify`](super::verify::verify) checks the rest.
//!
//! ```
//! use ccl_runtime::ir::{build::Builder, verify::verify, *};
//! use iss::image::Direction;
//!
//! let mut b = Builder::kernel("twice");
//! let x = b.ocm_param("x", Direction::In, 1024);
//! let y = b.ocm_param("y", Direction::Out, 1024);
//! let a = b.lrm("a", Elem::I8, 1);
//! let tile = b.tile(x, a, Elem::I8, (32, 32), 32);
//! let f = b.flow_in(tile.clone());
//! b.wait(f);
//! let sum = b.alu("sum", AluOp::Bin(BinOp::Add), b.elem(a, 0), b.elem(a, 0));
//! b.store(b.at(a, 0), AluOp::Clip(-128, 127), sum, 0);
//! let g = b.flow_out(Walk { buf: y, ..tile });
//! b.wait(g);
//! let m = Module { funcs: vec![b.finish()], ..Module::default() };
//! verify(&m, Some(&iss::target::QC_U)).unwrap();
//! assert_eq!(Module::parse(&m.to_string()).unwrap(), m.canonical());
//! ```

use iss::image::Direction;
use iss::isa::operand::{Cond, MacShape};

use super::types::*;

impl From<i32> for Src {
    fn from(v: i32) -> Self {
        Src::Imm(v)
    }
}
impl From<Id> for Src {
    fn from(id: Id) -> Self {
        Src::Val(id)
    }
}
impl From<ElemRef> for Src {
    fn from(e: ElemRef) -> Self {
        Src::Elem(e)
    }
}
impl From<i32> for SVal {
    fn from(v: i32) -> Self {
        SVal::Imm(v)
    }
}
impl From<Id> for SVal {
    fn from(id: Id) -> Self {
        SVal::Val(id)
    }
}
impl From<ElemRef> for Dst {
    fn from(e: ElemRef) -> Self {
        Dst::Elem(e)
    }
}

/// A place in a function under construction.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    values: usize,
    lens: Vec<usize>,
}

/// A function under construction.
#[derive(Debug)]
pub struct Builder {
    func: Func,
    /// Open blocks, the innermost last.
    blocks: Vec<Block>,
    loc: Loc,
}

impl Builder {
    /// An entry point.
    pub fn kernel(name: &str) -> Self {
        Self::new(name, FuncKind::Kernel)
    }
    /// A function that others call.
    pub fn function(name: &str) -> Self {
        Self::new(name, FuncKind::Fn)
    }
    fn new(name: &str, kind: FuncKind) -> Self {
        let (params, values, body) = (Vec::new(), Vec::new(), Vec::new());
        let func = Func { name: name.into(), kind, params, values, body, loc: Loc::default() };
        Builder { func, blocks: vec![Vec::new()], loc: Loc::default() }
    }
    /// The finished function.
    ///
    /// # Panics
    /// If it is called inside a block's closure.
    pub fn finish(mut self) -> Func {
        assert_eq!(self.blocks.len(), 1, "every block is closed");
        self.func.body = self.blocks.pop().expect("the body is there");
        self.func
    }
    /// Where the operations from here on come from.
    pub fn loc(&mut self, file: u32, line: u32) -> &mut Self {
        self.loc = Loc { file, line };
        if self.func.loc.line == 0 {
            self.func.loc = self.loc;
        }
        self
    }
    /// The function so far: types and names of values.
    pub fn func(&self) -> &Func {
        &self.func
    }
    /// A new value, to be defined by an operation that is pushed.
    pub fn value(&mut self, name: &str, ty: Type) -> Id {
        // Names that clash are told apart when printed.
        self.func.values.push(Value { name: name.into(), ty });
        Id(self.func.values.len() as u32 - 1)
    }
    /// Appends an operation made elsewhere.
    pub fn push(&mut self, kind: OpKind) {
        let loc = self.loc;
        self.blocks.last_mut().expect("one block is always open").push(Op { kind, loc });
    }
    fn block(&mut self, body: impl FnOnce(&mut Self)) -> Block {
        self.open();
        body(self);
        self.close()
    }
    /// Begins a block that [`close`](Self::close) ends: for front ends that cannot nest closures.
    pub(crate) fn open(&mut self) {
        self.blocks.push(Vec::new());
    }
    /// Ends the innermost block, for the operation that it belongs to.
    ///
    /// # Panics
    /// If only the body is open.
    pub(crate) fn close(&mut self) -> Block {
        assert!(self.blocks.len() > 1, "a block was opened");
        self.blocks.pop().expect("there are two")
    }
    /// Blocks that are open, the body among them.
    pub(crate) fn depth(&self) -> usize {
        self.blocks.len()
    }
    /// The innermost block.
    pub(crate) fn innermost(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("one block is always open")
    }
    /// Sets the blocks inside the `depth` outermost aside, so that what follows is put behind the outer ones.
    pub(crate) fn set_aside(&mut self, depth: usize) -> Vec<Block> {
        self.blocks.split_off(depth)
    }
    /// Goes on in blocks that were set aside.
    pub(crate) fn take_back(&mut self, blocks: Vec<Block>) {
        self.blocks.extend(blocks);
    }
    /// The place up to which [`rollback`](Self::rollback) drops what follows.
    pub(crate) fn mark(&self) -> Mark {
        Mark { values: self.func.values.len(), lens: self.blocks.iter().map(Vec::len).collect() }
    }
    /// Drops everything behind a mark; what stood before it must not have been changed.
    pub(crate) fn rollback(&mut self, mark: &Mark) {
        self.func.values.truncate(mark.values);
        self.blocks.truncate(mark.lens.len());
        self.blocks.iter_mut().zip(&mark.lens).for_each(|(block, len)| block.truncate(*len));
    }
    /// Changes the type of a value: its size is known only when its last use is.
    pub(crate) fn retype(&mut self, id: Id, ty: Type) {
        self.func.values[id.0 as usize].ty = ty;
    }

    // ---- parameters ----

    /// A buffer in on-chip memory, in bytes.
    pub fn ocm_param(&mut self, name: &str, dir: Direction, bytes: u32) -> Id {
        self.param(name, Type::Ocm(bytes), dir, None)
    }
    /// A buffer in external memory, in bytes.
    pub fn ext_param(&mut self, name: &str, dir: Direction, bytes: u32) -> Id {
        self.param(name, Type::Ext(bytes), dir, None)
    }
    /// A scalar, with the range that the caller promises.
    pub fn scalar_param(&mut self, name: &str, range: Option<(i32, i32)>) -> Id {
        self.param(name, Type::Scalar, Direction::In, range)
    }
    fn param(&mut self, name: &str, ty: Type, dir: Direction, range: Option<(i32, i32)>) -> Id {
        let id = self.value(name, ty);
        self.func.params.push(Param { id, dir, range });
        id
    }

    // ---- scalars ----

    /// `op a, b` on scalars.
    pub fn scalar(&mut self, name: &str, op: SOp, a: impl Into<SVal>, b: impl Into<SVal>) -> Id {
        let id = self.value(name, Type::Scalar);
        self.push(OpKind::Scalar { op, dst: SDst::Def(id), a: a.into(), b: b.into() });
        id
    }
    /// A scalar variable.
    pub fn scalar_var(&mut self, name: &str, init: impl Into<SVal>) -> Id {
        let dst = self.value(name, Type::ScalarVar);
        self.push(OpKind::ScalarVar { dst, init: init.into() });
        dst
    }
    /// Assigns a scalar variable.
    pub fn assign_scalar(&mut self, var: Id, op: SOp, a: impl Into<SVal>, b: impl Into<SVal>) {
        self.push(OpKind::Scalar { op, dst: SDst::Var(var), a: a.into(), b: b.into() });
    }
    /// The word of an on-chip buffer at a byte offset.
    pub fn scalar_load(&mut self, name: &str, buf: Id, at: impl Into<SVal>) -> Id {
        let dst = self.value(name, Type::Scalar);
        self.push(OpKind::ScalarLoad { dst, buf, at: at.into() });
        dst
    }
    /// Whether `a cond b` in any enabled PE.
    pub fn any(&mut self, name: &str, cond: Cond, a: impl Into<Src>, b: impl Into<Src>) -> Id {
        let dst = self.value(name, Type::Scalar);
        self.push(OpKind::Any { dst, cond, a: a.into(), b: b.into() });
        dst
    }

    // ---- per-PE values ----

    /// A 32-bit value of an operation; the second source of a unary one is ignored.
    pub fn alu(&mut self, name: &str, op: AluOp, a: impl Into<Src>, b: impl Into<Src>) -> Id {
        self.alu_as(name, Fmt::I32, op, a, b)
    }
    /// The same with a promise of its range.
    pub fn alu_as(&mut self, name: &str, fmt: Fmt, op: AluOp, a: impl Into<Src>, b: impl Into<Src>) -> Id {
        let id = self.value(name, Type::Q(fmt));
        self.store(Dst::Def(id), op, a, b);
        id
    }
    /// Writes the value of an operation to an element, accumulator or variable.
    pub fn store(&mut self, dst: impl Into<Dst>, op: AluOp, a: impl Into<Src>, b: impl Into<Src>) {
        self.push(OpKind::Alu { op, dst: dst.into(), a: a.into(), b: b.into() });
    }
    /// A per-PE variable.
    pub fn var(&mut self, name: &str, fmt: Fmt, init: impl Into<Src>) -> Id {
        let dst = self.value(name, Type::Var(fmt));
        self.push(OpKind::Var { dst, init: init.into() });
        dst
    }
    /// `t` where `x cond y`, else `f`.
    pub fn select(&mut self, name: &str, cond: Cond, [x, y, t, f]: [Src; 4]) -> Id {
        let id = self.value(name, Type::Q(Fmt::I32));
        self.push(OpKind::Sel { dst: Dst::Def(id), cond, x, y, t, f });
        id
    }
    /// `table[idx & (2^bits - 1)]`.
    pub fn lut(&mut self, name: &str, idx: impl Into<Src>, table: ElemRef, bits: u8) -> Id {
        let id = self.value(name, Type::Q(table.view.fmt()));
        self.push(OpKind::Lut { dst: Dst::Def(id), idx: idx.into(), table, bits });
        id
    }
    /// The value of the PE `dr` rows and `dc` columns further on.
    pub fn shift(&mut self, name: &str, a: impl Into<Src>, dr: i32, dc: i32) -> Id {
        let id = self.value(name, Type::Q(Fmt::I32));
        self.push(OpKind::Shift { dst: Dst::Def(id), a: a.into(), dr, dc });
        id
    }

    // ---- memories ----

    /// A local buffer.
    pub fn lrm(&mut self, name: &str, elem: Elem, n: u32) -> Id {
        let dst = self.value(name, Type::Lrm { elem, n, ring: 1 });
        self.push(OpKind::Lrm { dst, align: 1 });
        dst
    }
    /// An on-chip buffer, in bytes.
    pub fn ocm(&mut self, name: &str, bytes: u32) -> Id {
        let dst = self.value(name, Type::Ocm(bytes));
        self.push(OpKind::Ocm { dst });
        dst
    }
    /// 1, 4 or 16 accumulators.
    pub fn acc(&mut self, name: &str, n: u8) -> Id {
        let dst = self.value(name, Type::Acc(n));
        self.push(OpKind::Acc { dst });
        dst
    }
    /// An element of a local buffer at a number.
    ///
    /// # Panics
    /// If `buf` is no local buffer.
    pub fn at(&self, buf: Id, at: i32) -> ElemRef {
        let Type::Lrm { elem, .. } = self.func.ty(buf) else { panic!("%{} is a local buffer", self.func.name_of(buf)) };
        ElemRef { buf, view: elem, index: Index::Const, at }
    }
    /// The same as a source.
    pub fn elem(&self, buf: Id, at: i32) -> Src {
        Src::Elem(self.at(buf, at))
    }

    // ---- transfers ----

    /// One tile of a tensor of `size` rows and columns that fills the array from its corner; fields may be changed.
    pub fn tile(&self, buf: Id, lrm: Id, elem: Elem, size: (u32, u32), pitch: u32) -> Walk {
        Walk {
            buf,
            at: SVal::Imm(0),
            second: None,
            elem,
            height: size.0,
            width: size.1,
            pitch,
            plane: 0,
            x0: SVal::Imm(0),
            y0: SVal::Imm(0),
            col_step: 1,
            row_step: 1,
            rows: size.0.min(32),
            cols: size.1.min(32),
            halo: 0,
            loops: Vec::new(),
            lrm,
            slot: 0,
            slot_step: 0,
            group: 0,
        }
    }
    /// Starts a flow into the array.
    pub fn flow_in(&mut self, walk: Walk) -> Id {
        self.flow(false, walk)
    }
    /// Starts a flow out of the array.
    pub fn flow_out(&mut self, walk: Walk) -> Id {
        self.flow(true, walk)
    }
    fn flow(&mut self, out: bool, walk: Walk) -> Id {
        let dst = self.value("flow", Type::Flow);
        self.push(OpKind::Flow { out, dst, walk: Box::new(walk) });
        dst
    }
    /// Starts a stream of `n` entries that follow one another.
    pub fn bcast(&mut self, buf: Id, at: impl Into<SVal>, n: u32) -> Id {
        let dst = self.value("stream", Type::Stream);
        self.push(OpKind::Bcast { dst, buf, at: at.into(), n0: n, step0: 16, n1: 1, step1: 0 });
        dst
    }
    /// The next word of a stream.
    pub fn word(&self, stream: Id) -> Src {
        Src::Stream { stream, view: Elem::I32, lane: 0, pop: true }
    }
    /// A MAC step.
    pub fn mac(&mut self, width: MacWidth, shape: MacShape, (acc, at): (Id, u8), a: ElemRef, stream: Id) {
        self.push(OpKind::Mac { width, shape, acc, at, a, stream });
    }
    /// Waits for a whole transfer.
    pub fn wait(&mut self, token: Id) {
        self.push(OpKind::Wait { token });
    }

    // ---- control ----

    /// A counted loop; the closure gets its variable.
    pub fn for_loop(
        &mut self,
        name: &str,
        (lo, hi, step): (impl Into<SVal>, impl Into<SVal>, i32),
        attr: LoopAttr,
        body: impl FnOnce(&mut Self, Id),
    ) {
        let var = self.value(name, Type::Scalar);
        let body = self.block(|b| body(b, var));
        self.push(OpKind::For { var, lo: lo.into(), hi: hi.into(), step, attr, body });
    }
    /// A loop while `a cond b`, at most `bound` trips.
    pub fn while_loop(
        &mut self,
        (cond, a, b): (Cond, impl Into<SVal>, impl Into<SVal>),
        bound: u32,
        body: impl FnOnce(&mut Self),
    ) {
        let body = self.block(body);
        self.push(OpKind::While { cond, a: a.into(), b: b.into(), bound, body });
    }
    /// A scalar branch.
    pub fn if_else(
        &mut self,
        (cond, a, b): (Cond, impl Into<SVal>, impl Into<SVal>),
        then: impl FnOnce(&mut Self),
        els: impl FnOnce(&mut Self),
    ) {
        let (then, els) = (self.block(then), self.block(els));
        self.push(OpKind::If { cond, a: a.into(), b: b.into(), then, els });
    }
    /// A per-PE branch.
    pub fn where_else(
        &mut self,
        (cond, a, b): (Cond, impl Into<Src>, impl Into<Src>),
        then: impl FnOnce(&mut Self),
        els: impl FnOnce(&mut Self),
    ) {
        let (then, els) = (self.block(then), self.block(els));
        self.push(OpKind::Where { cond, a: a.into(), b: b.into(), then, els });
    }
    /// A region of the profile.
    pub fn region(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        let body = self.block(body);
        self.push(OpKind::Region { name: name.into(), body });
    }
}
