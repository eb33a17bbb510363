//! Buffers in local memory: their elements as sources and destinations, copies, views.

use std::rc::Rc;

use super::cx::Cx;
use super::error::{Plan, R, Stop};
use super::pe::stored;
use super::value::{Affine, Lrm, Pe, Place, Rows};
use crate::ir::{AluOp, Dst, Elem, ElemRef, Id, Index, LoopAttr, OpKind, SVal, Src, Type};
use crate::kernel::ElemType;

/// Elements from which on a copy is a loop.
const LONG: usize = 16;

impl Lrm {
    /// Values side by side.
    pub fn lanes(elem: ElemType, lanes: Vec<Pe>) -> Self {
        Lrm { elem, n: lanes.len(), place: Place::Lanes(Rc::new(lanes)), rows: Rows::ONE, fresh: true }
    }
    /// Elements `first..first + n`.
    pub fn part(&self, first: &Affine, n: usize) -> Option<Self> {
        let place = match &self.place {
            Place::Buffer { id, first: base } => Place::Buffer { id: *id, first: base.plus(first) },
            Place::Lanes(lanes) => {
                let first = usize::try_from(first.as_known()?).ok()?;
                Place::Lanes(Rc::new(lanes.get(first..first + n)?.to_vec()))
            }
        };
        Some(Lrm { elem: self.elem, n, place, rows: Rows::ONE, fresh: false })
    }
}

/// IR elements of a buffer of `n` elements, filled up to whole words.
fn room(elem: ElemType, n: usize) -> u32 {
    let of = stored(elem);
    let n = if elem == ElemType::I64 { 2 * n } else { n };
    (n as u32).next_multiple_of(4 / of.bytes())
}

impl Cx<'_> {
    /// A buffer, its contents undefined.
    pub(super) fn new_lrm(&mut self, name: &str, elem: ElemType, n: usize) -> R<Lrm> {
        let bytes = n.saturating_mul(elem.bytes());
        let most = self.target.spec().lrm_bytes as usize;
        if n == 0 {
            return self.fail(format!("a buffer of no `{elem}`"), "a buffer has at least one element");
        }
        if bytes > most {
            let message = format!("a buffer of {n} elements of `{elem}`, {bytes} bytes in each PE");
            return self.fail(message, &format!("a PE has {most} bytes: work in chunks"));
        }
        let id = self.raw_lrm(name, stored(elem), room(elem, n));
        Ok(Lrm { elem, n, place: Place::Buffer { id, first: Affine::number(0) }, rows: Rows::ONE, fresh: true })
    }
    pub(super) fn raw_lrm(&mut self, name: &str, elem: Elem, n: u32) -> Id {
        let id = self.b.value(name, Type::Lrm { elem, n, ring: 1 });
        self.push(OpKind::Lrm { dst: id, align: 1 });
        self.homes.insert(id, self.open_loops.len());
        id
    }

    /// The buffer that holds the elements, made if they are in none.
    pub(super) fn in_buffer(&mut self, lrm: &Lrm, name: &str) -> R<(Id, Affine)> {
        match &lrm.place {
            Place::Buffer { id, first } => Ok((*id, first.clone())),
            Place::Lanes(lanes) => {
                let new = self.new_lrm(name, lrm.elem, lrm.n)?;
                for (i, lane) in lanes.iter().enumerate() {
                    self.write(&new, &Affine::number(i as i64), *lane)?;
                }
                let Place::Buffer { id, first } = new.place else { unreachable!("new buffers are buffers") };
                Ok((id, first))
            }
        }
    }

    /// An index checked against an extent.
    fn within(&self, at: &Affine, n: usize, len: usize) -> R<()> {
        let (lo, hi) = (at.range.lo, at.range.hi.saturating_add(len as i64));
        if lo >= 0 && hi <= n as i64 {
            return Ok(());
        }
        if at.as_known().is_none()
            && let Some(key) = self.loop_of(at)
        {
            return Err(Stop::Replan(key, Plan::Whole));
        }
        let what = if lo + 1 == hi { format!("index {lo}") } else { format!("indices {lo}..{hi}") };
        self.fail(format!("{what} of a buffer of {n} elements"), "")
    }

    /// A place in a buffer, by a sum that counts elements of the view.
    pub(super) fn element(&mut self, buf: Id, view: Elem, at: &Affine) -> ElemRef {
        let (index, at) = match at.terms.as_slice() {
            [] => (Index::Const, at.constant),
            [(id, k)] => (Index::Scalar(*id, *k as i32), at.constant),
            _ => {
                let terms = Affine { constant: 0, ..at.clone() };
                match self.sval(&terms) {
                    SVal::Val(id) => (Index::Scalar(id, 1), at.constant),
                    SVal::Imm(v) => (Index::Const, at.constant + v as i64),
                }
            }
        };
        ElemRef { buf, view, index, at: at as i32 }
    }

    /// The element of every PE.
    pub(super) fn read_at(&mut self, lrm: &Lrm, at: &Affine) -> R<Pe> {
        match &lrm.place {
            Place::Lanes(lanes) => match at.as_known().map(usize::try_from) {
                Some(Ok(i)) if i < lanes.len() => Ok(lanes[i]),
                Some(_) => self.fail(format!("index {} of {} elements", at.constant, lanes.len()), ""),
                None => match self.loop_of(at) {
                    Some(key) if lrm.n <= LONG => Err(Stop::Replan(key, Plan::Whole)),
                    _ => {
                        let (id, first) = self.in_buffer(lrm, "lanes")?;
                        let lrm = Lrm { place: Place::Buffer { id, first }, ..lrm.clone() };
                        self.read_at(&lrm, at)
                    }
                },
            },
            Place::Buffer { id, first } => {
                self.within(at, lrm.n, 1)?;
                let (buf, at) = (*id, first.plus(at));
                if lrm.elem == ElemType::I64 {
                    let (low, high) = (at.times(2), at.times(2).add(1));
                    let (low, high) = (self.element(buf, Elem::I32, &low), self.element(buf, Elem::I32, &high));
                    let (lo, hi) = (self.copy(Src::Elem(low)), self.copy(Src::Elem(high)));
                    return Ok(Pe { elem: lrm.elem, lo, hi: Some(hi), range: lrm.elem.range(), exact: true });
                }
                let place = self.element(buf, stored(lrm.elem), &at);
                let lo = self.copy(Src::Elem(place));
                let signed = lrm.elem.range().0 < 0 || lrm.elem == ElemType::Bool;
                Ok(Pe { elem: lrm.elem, lo, hi: None, range: lrm.elem.range(), exact: signed })
            }
        }
    }

    /// Writes an element where PEs are enabled.
    pub(super) fn write(&mut self, lrm: &Lrm, at: &Affine, value: Pe) -> R<()> {
        let Place::Buffer { id, first } = &lrm.place else {
            return self.fail("an element of values that are in no buffer is assigned", "make it `let mut`");
        };
        if value.elem != lrm.elem {
            let (wanted, found) = (lrm.elem, value.elem);
            return self.fail(format!("a `Q<{found}>` for an element of `{wanted}`"), "`narrow` or `widen` it");
        }
        self.within(at, lrm.n, 1)?;
        let (buf, at) = (*id, first.plus(at));
        let mut words = vec![(stored(lrm.elem), at.clone(), value.lo)];
        if lrm.elem == ElemType::I64 {
            let (lo, hi) = self.both_words(value);
            words = vec![(Elem::I32, at.times(2), lo), (Elem::I32, at.times(2).add(1), hi)];
        }
        self.touch_lrm(buf)?;
        for (view, at, word) in words {
            let place = self.element(buf, view, &at);
            self.store_word(place, word);
        }
        Ok(())
    }
    pub(super) fn store_word(&mut self, place: ElemRef, word: Src) {
        self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Elem(place), a: word, b: Src::Imm(0) });
    }

    /// Copies all elements of one buffer to another.
    pub(super) fn copy_lrm(&mut self, to: &Lrm, from: &Lrm) -> R<()> {
        if to.n != from.n {
            return self.fail(format!("{} elements are assigned to {}", from.n, to.n), "");
        }
        if let (Place::Buffer { id: a, first: x }, Place::Buffer { id: b, first: y }) = (&to.place, &from.place)
            && a == b
            && x == y
        {
            return Ok(());
        }
        if let (Place::Lanes(lanes), _) = (&from.place, from.n) {
            for (i, lane) in lanes.clone().iter().enumerate() {
                self.write(to, &Affine::number(i as i64), *lane)?;
            }
            return Ok(());
        }
        // By words, where both lie so.
        let per_word = 4 / stored(to.elem).bytes() as usize;
        if let (Place::Buffer { id: a, first: x }, Place::Buffer { id: b, first: y }) = (&to.place, &from.place)
            && per_word > 1
            && to.n.is_multiple_of(per_word)
            && let (Some(x), Some(y)) = (x.divided(per_word as i64), y.divided(per_word as i64))
        {
            let (a, b) = (*a, *b);
            self.touch_lrm(a)?;
            return self.each(to.n / per_word, |cx, i| {
                let (from, to) = (cx.element(b, Elem::I32, &y.plus(i)), cx.element(a, Elem::I32, &x.plus(i)));
                let word = cx.copy(Src::Elem(from));
                cx.store_word(to, word);
                Ok(())
            });
        }
        self.each(to.n, |cx, i| {
            let value = cx.read_at(from, i)?;
            cx.write(to, i, value)
        })
    }

    /// A buffer with the same elements that nobody else refers to.
    pub(super) fn own_copy(&mut self, lrm: &Lrm, name: &str) -> R<Lrm> {
        if lrm.fresh
            && let Place::Buffer { .. } = lrm.place
        {
            return Ok(lrm.clone());
        }
        let new = Lrm { rows: lrm.rows, ..self.new_lrm(name, lrm.elem, lrm.n)? };
        self.copy_lrm(&new, lrm)?;
        Ok(new)
    }

    /// Runs something for each of some indices: in a loop of several a trip where they are many.
    pub(super) fn each(&mut self, n: usize, mut f: impl FnMut(&mut Self, &Affine) -> R<()>) -> R<()> {
        if n <= LONG {
            return (0..n).try_for_each(|i| f(self, &Affine::number(i as i64)));
        }
        let by = 8;
        let whole = n / by * by;
        let var = self.b.value("i", Type::Scalar);
        self.ranges.insert(var, crate::ir::range::Range { lo: 0, hi: (whole - by) as i64, zeros: 3 });
        self.open();
        let base = self.variable(var);
        for j in 0..by {
            f(self, &base.add(j as i64))?;
        }
        let body = self.close()?;
        let (lo, hi) = (SVal::Imm(0), SVal::Imm(whole as i32));
        self.push(OpKind::For { var, lo, hi, step: by as i32, attr: LoopAttr::default(), body });
        (whole..n).try_for_each(|i| f(self, &Affine::number(i as i64)))
    }
}
