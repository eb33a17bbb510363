//! Types of operands, and the accumulators and formats that they name.

use super::super::types::*;
use super::Verifier;

impl Verifier<'_> {
    pub(super) fn scalar(&mut self, s: SVal) {
        if let SVal::Val(id) = s
            && !self.f.is_scalar(id)
        {
            let name = self.name(id);
            self.say(format!("{name} is no scalar"));
        }
    }

    pub(super) fn src(&mut self, s: &Src) {
        match s {
            Src::Val(id) => {
                let ok = matches!(self.f.ty(*id), Type::Scalar | Type::ScalarVar | Type::Q(_) | Type::Var(_));
                if !ok {
                    let name = self.name(*id);
                    self.say(format!("{name} is no source"));
                }
            }
            Src::Elem(e) => self.elem(e, e.view.bytes(), e.view.bytes(), false),
            Src::Acc(id, k) => self.acc(*id, *k, 1),
            Src::Stream { stream, view, lane, pop } => {
                if *lane as u32 * view.bytes() >= 4 || (*view == Elem::I32 && !pop) {
                    self.say("no such lane of a word");
                }
                self.take(*stream, u64::from(*pop), false);
            }
            Src::Imm(_) | Src::Port(_) | Src::QRow | Src::QCol => {}
        }
    }

    pub(super) fn acc(&mut self, id: Id, k: u8, count: u8) {
        match self.f.ty(id) {
            Type::Acc(n) if k + count <= n => {}
            Type::Acc(n) => {
                let name = self.name(id);
                self.say(format!("accumulators {k}..{} of {name}, which has {n}", k + count));
            }
            _ => {
                let name = self.name(id);
                self.say(format!("{name} is no group of accumulators"));
            }
        }
    }

    pub(super) fn dst(&mut self, d: &Dst, range: (i64, i64)) {
        match d {
            Dst::Def(id) | Dst::Var(id) => {
                let fmt = match (d, self.f.ty(*id)) {
                    (Dst::Def(_), Type::Q(fmt)) | (Dst::Var(_), Type::Var(fmt)) => fmt,
                    _ => {
                        let name = self.name(*id);
                        return self.say(format!("{name} is no place for a per-PE value"));
                    }
                };
                let (lo, hi) = fmt.range();
                if range.0 < lo || range.1 > hi {
                    let name = self.name(*id);
                    self.say(format!(
                        "{name} is {}, {lo}..={hi}, but the value may be {}..={}\nhelp: clip it",
                        fmt.word(),
                        range.0,
                        range.1
                    ));
                }
            }
            Dst::Elem(e) => self.elem(e, e.view.bytes(), e.view.bytes(), true),
            Dst::Acc(id, k) => self.acc(*id, *k, 1),
        }
    }
}
