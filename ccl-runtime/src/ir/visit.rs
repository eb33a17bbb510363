//! What an operation defines, reads and writes, by role: the one place that lists the operands of every operation.

use std::collections::HashMap;

use super::types::*;

/// An operand, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand<'a> {
    /// A value that the operation defines.
    Def(&'a Id),
    /// A value used as a whole: buffer, stream, token, group of accumulators, variable that is stepped.
    Use(&'a Id),
    /// A scalar.
    S(&'a SVal),
    /// A per-PE source.
    Src(&'a Src),
    /// A per-PE destination.
    Dst(&'a Dst),
    /// A scalar destination.
    SDst(&'a SDst),
    /// An element read.
    Read(&'a ElemRef),
    /// An element written.
    Write(&'a ElemRef),
}

/// An operand, to change.
#[derive(Debug, PartialEq, Eq)]
pub enum OperandMut<'a> {
    /// See [`Operand::Def`].
    Def(&'a mut Id),
    /// See [`Operand::Use`].
    Use(&'a mut Id),
    /// See [`Operand::S`].
    S(&'a mut SVal),
    /// See [`Operand::Src`].
    Src(&'a mut Src),
    /// See [`Operand::Dst`].
    Dst(&'a mut Dst),
    /// See [`Operand::SDst`].
    SDst(&'a mut SDst),
    /// See [`Operand::Read`].
    Read(&'a mut ElemRef),
    /// See [`Operand::Write`].
    Write(&'a mut ElemRef),
}

macro_rules! walk_operands {
    ($walk:ident, $O:ident, $f:ident, $($m:ident)?) => {{
        let walk: &$($m)? Walk = $walk;
        $f($O::Use(&$($m)? walk.buf));
        $f($O::S(&$($m)? walk.at));
        if let Some((buf, at)) = &$($m)? walk.second {
            $f($O::Use(buf));
            $f($O::S(at));
        }
        $f($O::S(&$($m)? walk.x0));
        $f($O::S(&$($m)? walk.y0));
        $f($O::Use(&$($m)? walk.lrm));
    }};
}

macro_rules! operands {
    ($kind:expr, $O:ident, $f:ident, $($m:ident)?) => {{
        use OpKind::*;
        match $kind {
            Scalar { op, dst, a, b } => {
                $f($O::S(a));
                if *op != SOp::Mov {
                    $f($O::S(b));
                }
                $f($O::SDst(dst));
            }
            ScalarSet { dst, a, b, .. } => {
                $f($O::S(a));
                $f($O::S(b));
                $f($O::SDst(dst));
            }
            ScalarVar { dst, init } => {
                $f($O::S(init));
                $f($O::Def(dst));
            }
            ScalarLoad { dst, buf, at } => {
                $f($O::Use(buf));
                $f($O::S(at));
                $f($O::Def(dst));
            }
            Any { dst, a, b, .. } => {
                $f($O::Src(a));
                $f($O::Src(b));
                $f($O::Def(dst));
            }
            Var { dst, init } => {
                $f($O::Src(init));
                $f($O::Def(dst));
            }
            Acc { dst } | Lrm { dst, .. } | Ocm { dst } | Const { dst, .. } | Idle { dst } => $f($O::Def(dst)),
            Alu { op, dst, a, b } => {
                $f($O::Src(a));
                if op.binary() {
                    $f($O::Src(b));
                }
                $f($O::Dst(dst));
            }
            Sel { dst, x, y, t, f, .. } => {
                $f($O::Src(x));
                $f($O::Src(y));
                $f($O::Src(t));
                $f($O::Src(f));
                $f($O::Dst(dst));
            }
            Lut { dst, idx, table, .. } => {
                $f($O::Src(idx));
                $f($O::Read(table));
                $f($O::Dst(dst));
            }
            Send { a, .. } => $f($O::Src(a)),
            Shift { dst, a, .. } => {
                $f($O::Src(a));
                $f($O::Dst(dst));
            }
            Mac { acc, a, stream, .. } => {
                $f($O::Use(acc));
                $f($O::Read(a));
                $f($O::Use(stream));
            }
            Flow { dst, walk, .. } => {
                walk_operands!(walk, $O, $f, $($m)?);
                $f($O::Def(dst));
            }
            Restart { flow, walk, .. } => {
                walk_operands!(walk, $O, $f, $($m)?);
                $f($O::Use(flow));
            }
            Bcast { dst, buf, at, .. } => {
                $f($O::Use(buf));
                $f($O::S(at));
                $f($O::Def(dst));
            }
            Dma { dst, ocm, ocm_at, ext, ext_at, .. } => {
                $f($O::Use(ocm));
                $f($O::S(ocm_at));
                $f($O::Use(ext));
                $f($O::S(ext_at));
                $f($O::Def(dst));
            }
            Rau { store, dst, buf, at, index, data, valid, .. } => {
                $f($O::Use(buf));
                $f($O::S(at));
                $f($O::Read(index));
                if *store {
                    $f($O::Read(data));
                } else {
                    $f($O::Write(data));
                }
                if let Some(valid) = valid {
                    $f($O::Write(valid));
                }
                $f($O::Def(dst));
            }
            Wait { token } => $f($O::Use(token)),
            Acquire { flow } | Release { flow } | Push { flow } => $f($O::Use(flow)),
            Drain => {}
            Where { a, b, .. } => {
                $f($O::Src(a));
                $f($O::Src(b));
            }
            If { a, b, .. } | While { a, b, .. } => {
                $f($O::S(a));
                $f($O::S(b));
            }
            For { var, lo, hi, .. } => {
                $f($O::S(lo));
                $f($O::S(hi));
                $f($O::Def(var));
            }
            Region { .. } => {}
            Probe { a, .. } | Assert { a, .. } => $f($O::Src(a)),
            Call { args, .. } => {
                for a in args {
                    $f($O::S(a));
                }
            }
            Addr { dst, buf, at } => {
                $f($O::Use(buf));
                $f($O::S(at));
                $f($O::Def(dst));
            }
            AddrStep { addr, by } => {
                $f($O::S(by));
                $f($O::Use(addr));
            }
        }
    }};
}

impl OpKind {
    /// Calls `f` with each operand, sources before destinations; blocks apart.
    pub fn operands<'a>(&'a self, f: &mut dyn FnMut(Operand<'a>)) {
        operands!(self, Operand, f,)
    }
    /// Calls `f` with each operand, to change it; blocks apart.
    pub fn operands_mut<'a>(&'a mut self, f: &mut dyn FnMut(OperandMut<'a>)) {
        operands!(self, OperandMut, f, mut)
    }
    /// The blocks inside.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            OpKind::Where { then, els, .. } | OpKind::If { then, els, .. } => vec![then, els],
            OpKind::For { body, .. } | OpKind::While { body, .. } | OpKind::Region { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }
    /// The blocks inside, to change them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            OpKind::Where { then, els, .. } | OpKind::If { then, els, .. } => vec![then, els],
            OpKind::For { body, .. } | OpKind::While { body, .. } | OpKind::Region { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }
    /// Calls `f` with each id that is read or used; blocks apart.
    pub fn uses(&self, f: &mut dyn FnMut(Id)) {
        self.operands(&mut |o| match o {
            Operand::Def(_) => {}
            Operand::Use(id) => f(*id),
            Operand::S(s) => s.ids(f),
            Operand::Src(s) => s.ids(f),
            Operand::Dst(d) => match d {
                Dst::Def(_) => {}
                Dst::Var(id) | Dst::Acc(id, _) => f(*id),
                Dst::Elem(e) => e.ids(f),
            },
            Operand::SDst(d) => {
                if let SDst::Var(id) = d {
                    f(*id)
                }
            }
            Operand::Read(e) | Operand::Write(e) => e.ids(f),
        });
    }
    /// Calls `f` with each id that is defined; blocks apart.
    pub fn defs(&self, f: &mut dyn FnMut(Id)) {
        self.operands(&mut |o| match o {
            Operand::Def(id) | Operand::Dst(Dst::Def(id)) | Operand::SDst(SDst::Def(id)) => f(*id),
            _ => {}
        });
    }
    /// Replaces every id, in blocks too.
    pub fn map_ids(&mut self, f: &mut dyn FnMut(Id) -> Id) {
        fn elem(e: &mut ElemRef, f: &mut dyn FnMut(Id) -> Id) {
            e.buf = f(e.buf);
            match &mut e.index {
                Index::Scalar(id, _) | Index::Addr(id) => *id = f(*id),
                Index::Const => {}
            }
        }
        self.operands_mut(&mut |o| match o {
            OperandMut::Def(id) | OperandMut::Use(id) => *id = f(*id),
            OperandMut::S(SVal::Val(id)) => *id = f(*id),
            OperandMut::S(SVal::Imm(_)) => {}
            OperandMut::Src(s) => match s {
                Src::Val(id) | Src::Acc(id, _) | Src::Stream { stream: id, .. } => *id = f(*id),
                Src::Elem(e) => elem(e, f),
                Src::Imm(_) | Src::Port(_) | Src::QRow | Src::QCol => {}
            },
            OperandMut::Dst(d) => match d {
                Dst::Def(id) | Dst::Var(id) | Dst::Acc(id, _) => *id = f(*id),
                Dst::Elem(e) => elem(e, f),
            },
            OperandMut::SDst(SDst::Def(id) | SDst::Var(id)) => *id = f(*id),
            OperandMut::Read(e) | OperandMut::Write(e) => elem(e, f),
        });
        for block in self.blocks_mut() {
            block.iter_mut().for_each(|op| op.kind.map_ids(f));
        }
    }
}

impl ElemRef {
    /// Calls `f` with the buffer and the index.
    pub fn ids(&self, f: &mut dyn FnMut(Id)) {
        f(self.buf);
        if let Index::Scalar(id, _) | Index::Addr(id) = self.index {
            f(id);
        }
    }
}

impl SVal {
    /// Calls `f` with the id, if it is one.
    pub fn ids(&self, f: &mut dyn FnMut(Id)) {
        if let SVal::Val(id) = self {
            f(*id);
        }
    }
}

impl Src {
    /// Calls `f` with each id.
    pub fn ids(&self, f: &mut dyn FnMut(Id)) {
        match self {
            Src::Val(id) | Src::Acc(id, _) | Src::Stream { stream: id, .. } => f(*id),
            Src::Elem(e) => e.ids(f),
            Src::Imm(_) | Src::Port(_) | Src::QRow | Src::QCol => {}
        }
    }
}

/// Calls `f` with every operation of a block, those inside after the one that holds them.
pub fn walk<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Op)) {
    for op in block {
        f(op);
        op.kind.blocks().into_iter().for_each(|b| walk(b, f));
    }
}

/// The last operation of a block that uses a value, itself or inside.
pub fn last_uses(block: &Block) -> HashMap<Id, usize> {
    let mut last = HashMap::new();
    for (i, op) in block.iter().enumerate() {
        let mut used = |id| _ = last.insert(id, i);
        op.kind.uses(&mut used);
        op.kind.blocks().into_iter().for_each(|inner| walk(inner, &mut |op| op.kind.uses(&mut used)));
    }
    last
}

/// As [`walk`], to change operations.
pub fn walk_mut(block: &mut Block, f: &mut dyn FnMut(&mut Op)) {
    for op in block {
        f(op);
        op.kind.blocks_mut().into_iter().for_each(|b| walk_mut(b, f));
    }
}

/// Calls `f` with every block, inner ones first.
pub fn each_block(block: &mut Block, f: &mut dyn FnMut(&mut Block)) {
    for op in block.iter_mut() {
        op.kind.blocks_mut().into_iter().for_each(|b| each_block(b, f));
    }
    f(block);
}
