//! Indices that count with loops become base registers that are moved along: set before the outermost loop that counts, moved
//! at the end of each trip by what that trip adds. What remains, an index from a run-time scalar, is computed where it is used.

use std::collections::HashMap;

use iss::target::Target;

use super::CompileError;
use super::fold::drop_unused;
use crate::ir::range::trips;
use crate::ir::visit::OperandMut;
use crate::ir::*;

/// Words, half-words or bytes that a base reaches.
const REACH: i64 = 511;

/// Replaces indices by base registers.
pub fn reduce_indices(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let mut find = Find { f, stack: Vec::new(), affine: HashMap::new(), depth: HashMap::new(), refs: Vec::new() };
        find.block(&f.body);
        let refs = find.refs;
        let mut plan = Plan { refs: Vec::new(), before: HashMap::new(), end: HashMap::new() };
        plan.make(f, refs);
        let mut n = 0;
        let mut body = std::mem::take(&mut f.body);
        plan.apply(&mut body, &mut n);
        f.body = body;
        drop_unused(f);
    }
    Ok(())
}

/// A sum of loop variables, each times a factor, and a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    pub terms: Vec<(Id, i64)>,
    pub constant: i64,
}

impl Affine {
    pub fn number(v: i64) -> Self {
        Affine { terms: Vec::new(), constant: v }
    }
    pub fn variable(id: Id) -> Self {
        Affine { terms: vec![(id, 1)], constant: 0 }
    }
    pub fn plus(&self, other: &Affine, factor: i64) -> Self {
        let mut sum = self.clone();
        sum.constant += other.constant * factor;
        for (id, k) in &other.terms {
            match sum.terms.iter_mut().find(|(i, _)| i == id) {
                Some((_, have)) => *have += k * factor,
                None => sum.terms.push((*id, k * factor)),
            }
        }
        sum.terms.retain(|(_, k)| *k != 0);
        sum.terms.sort_unstable();
        sum
    }
    pub fn times(&self, factor: i64) -> Self {
        Affine::number(0).plus(self, factor)
    }
    /// What a scalar operation gives, if that is affine.
    pub fn of_op(kind: &OpKind, of: &dyn Fn(SVal) -> Option<Affine>) -> Option<(Id, Affine)> {
        let OpKind::Scalar { op, dst: SDst::Def(id), a, b } = kind else { return None };
        let (a, b) = (of(*a)?, of(*b)?);
        let number = |x: &Affine| x.terms.is_empty().then_some(x.constant);
        let value = match op {
            SOp::Mov => a,
            SOp::Add => a.plus(&b, 1),
            SOp::Sub => a.plus(&b, -1),
            SOp::Mul => match (number(&a), number(&b)) {
                (_, Some(k)) => a.times(k),
                (Some(k), _) => b.times(k),
                _ => return None,
            },
            SOp::Shl => a.times(1 << number(&b).filter(|k| (0..31).contains(k))?),
            _ => return None,
        };
        // Wrapping is not affine; what comes near it is left alone.
        let small = value.constant.abs() < 1 << 30 && value.terms.iter().all(|(_, k)| k.abs() < 1 << 20);
        small.then_some((*id, value))
    }
}

/// A loop around a reference, or a branch that may skip what is inside.
#[derive(Clone, Copy, Debug)]
enum Around {
    Loop { var: Id, lo: Option<i64>, step: i64, trips: Option<u64> },
    Maybe,
}

/// One reference with a run-time index, in the order of the text: the group it can join, if any.
struct Ref {
    group: Option<Group>,
}

#[derive(Clone)]
struct Group {
    buf: Id,
    /// In bytes.
    terms: Vec<(Id, i64)>,
    constant: i64,
    width: i64,
    /// Loops from the outermost that counts to the innermost: variable, first value, step, trips.
    chain: Vec<(Id, i64, i64, u64)>,
}

struct Find<'a> {
    f: &'a Func,
    stack: Vec<Around>,
    affine: HashMap<Id, Affine>,
    /// Length of the stack where a buffer is defined, or where its ring's instance last changes.
    depth: HashMap<Id, usize>,
    refs: Vec<Ref>,
}

impl Find<'_> {
    fn block(&mut self, block: &Block) {
        for op in block {
            let affine = &self.affine;
            let known = Affine::of_op(&op.kind, &|s| match s {
                SVal::Imm(v) => Some(Affine::number(v as i64)),
                SVal::Val(id) => affine.get(&id).cloned(),
            });
            if let Some((id, value)) = known {
                self.affine.insert(id, value);
            }
            match &op.kind {
                OpKind::Lrm { dst, .. } => {
                    self.depth.insert(*dst, self.stack.len());
                }
                OpKind::Acquire { flow } => {
                    let mut bufs = Vec::new();
                    visit::walk(&self.f.body, &mut |op| {
                        if let OpKind::Flow { dst, walk, .. } = &op.kind
                            && dst == flow
                        {
                            bufs.push(walk.lrm);
                        }
                    });
                    for buf in bufs {
                        self.depth.insert(buf, self.stack.len());
                    }
                }
                _ => {}
            }
            let mut elems = Vec::new();
            each_elem(&op.kind, &mut |e| elems.push(*e));
            for e in elems {
                if let Index::Scalar(id, scale) = e.index {
                    let group = self.group(&e, id, scale);
                    self.refs.push(Ref { group });
                }
            }
            match &op.kind {
                OpKind::For { var, lo, hi, step, body, .. } => {
                    let first = match lo {
                        SVal::Imm(v) => Some(*v as i64),
                        SVal::Val(_) => None,
                    };
                    self.affine.insert(*var, Affine::variable(*var));
                    let trips = trips(*lo, *hi, *step);
                    self.stack.push(Around::Loop { var: *var, lo: first, step: *step as i64, trips });
                    self.block(body);
                    self.stack.pop();
                }
                OpKind::If { then, els, .. } => {
                    self.stack.push(Around::Maybe);
                    self.block(then);
                    self.block(els);
                    self.stack.pop();
                }
                OpKind::While { body, .. } => {
                    self.stack.push(Around::Maybe);
                    self.block(body);
                    self.stack.pop();
                }
                kind => kind.blocks().into_iter().for_each(|b| self.block(b)),
            }
        }
    }

    fn group(&self, e: &ElemRef, id: Id, scale: i32) -> Option<Group> {
        let width = e.view.bytes() as i64;
        let index = self.affine.get(&id)?.times(scale as i64).plus(&Affine::number(e.at as i64), 1).times(width);
        let place = |id: Id| self.stack.iter().position(|a| matches!(a, Around::Loop { var, .. } if *var == id));
        let places: Option<Vec<usize>> = index.terms.iter().map(|(id, _)| place(*id)).collect();
        let places = places?;
        let (first, last) = (*places.iter().min()?, *places.iter().max()?);
        let mut chain = Vec::new();
        for around in &self.stack[first..=last] {
            match *around {
                Around::Loop { var, lo: Some(lo), step, trips: Some(n) } => chain.push((var, lo, step, n)),
                // Only the outermost may have a run-time bound: nothing has to be taken back behind it.
                Around::Loop { var, lo: Some(lo), step, trips: None } if chain.is_empty() => {
                    chain.push((var, lo, step, 0));
                }
                _ => return None,
            }
        }
        (*self.depth.get(&e.buf)? <= first).then_some(Group {
            buf: e.buf,
            terms: index.terms,
            constant: index.constant,
            width,
            chain,
        })
    }
}

/// The elements of an operation, always in the same order.
fn each_elem(kind: &OpKind, f: &mut dyn FnMut(&ElemRef)) {
    kind.operands(&mut |o| match o {
        visit::Operand::Src(Src::Elem(e))
        | visit::Operand::Dst(Dst::Elem(e))
        | visit::Operand::Read(e)
        | visit::Operand::Write(e) => f(e),
        _ => {}
    });
}

struct Plan {
    /// For each reference, the base and the constant index, or nothing.
    refs: Vec<Option<(Id, i32)>>,
    /// Operations to put before the loop of a variable.
    before: HashMap<Id, Block>,
    /// Operations to put at the end of its body.
    end: HashMap<Id, Block>,
}

impl Plan {
    fn make(&mut self, f: &mut Func, refs: Vec<Ref>) {
        self.refs = vec![None; refs.len()];
        let mut sets: Vec<Vec<usize>> = Vec::new();
        let group = |i: usize| refs[i].group.as_ref();
        for i in 0..refs.len() {
            let Some(g) = group(i) else { continue };
            let joins = |set: &Vec<usize>| {
                set.iter().filter_map(|j| group(*j)).all(|h| {
                    let far = (g.constant - h.constant).abs() > (REACH - 3) * g.width.min(h.width);
                    h.buf == g.buf && h.terms == g.terms && h.chain == g.chain && !far
                })
            };
            match sets.iter_mut().find(|s| joins(s)) {
                Some(set) => set.push(i),
                None => sets.push(vec![i]),
            }
        }
        for set in sets {
            let members: Vec<&Group> = set.iter().filter_map(|i| group(*i)).collect();
            let lowest = members.iter().map(|g| g.constant).min().expect("a set has members");
            let init = lowest - lowest.rem_euclid(4);
            let g = members[0];
            let factor = |var: Id| g.terms.iter().find(|(id, _)| *id == var).map_or(0, |(_, k)| *k);
            let first: i64 = init + g.chain.iter().map(|(var, lo, ..)| factor(*var) * lo).sum::<i64>();
            let addr = f.fresh(&format!("{}_at", f.name_of(g.buf).replace('.', "_")), Type::Addr);
            let op = |kind| Op { kind, loc: Loc::default() };
            let start = OpKind::Addr { dst: addr, buf: g.buf, at: SVal::Imm(first as i32) };
            self.before.entry(g.chain[0].0).or_default().push(op(start));
            // Inner loops leave the base where they ended; the trip around them takes that back.
            let mut inner = 0;
            for (var, _, step, n) in g.chain.iter().rev() {
                let by = factor(*var) * step - inner;
                if by != 0 {
                    let step = OpKind::AddrStep { addr, by: SVal::Imm(by as i32) };
                    self.end.entry(*var).or_default().push(op(step));
                }
                inner = *n as i64 * factor(*var) * step;
            }
            for i in set {
                if let Some(g) = group(i) {
                    self.refs[i] = Some((addr, ((g.constant - init) / g.width) as i32));
                }
            }
        }
    }

    fn apply(&mut self, block: &mut Block, n: &mut usize) {
        for mut op in std::mem::take(block) {
            let refs = &self.refs;
            let mut change = |e: &mut ElemRef| {
                if let Index::Scalar(..) = e.index {
                    if let Some((addr, at)) = refs[*n] {
                        (e.index, e.at) = (Index::Addr(addr), at);
                    }
                    *n += 1;
                }
            };
            op.kind.operands_mut(&mut |o| match o {
                OperandMut::Src(Src::Elem(e))
                | OperandMut::Dst(Dst::Elem(e))
                | OperandMut::Read(e)
                | OperandMut::Write(e) => change(e),
                _ => {}
            });
            for inner in op.kind.blocks_mut() {
                self.apply(inner, n);
            }
            if let OpKind::For { var, body, .. } = &mut op.kind {
                if let Some(mut before) = self.before.remove(var) {
                    block.append(&mut before);
                }
                if let Some(mut end) = self.end.remove(var) {
                    body.append(&mut end);
                }
            }
            block.push(op);
        }
    }
}
