//! Transfers: their extents and walks.

use super::lex::Tok;
use super::{MAX_COUNT, Parser, Result};
use crate::ir::types::*;

impl Parser {
    pub(super) fn restart(&mut self, flow: Id) -> Result<OpKind> {
        let out = self.eat_word("flow.out");
        if !out {
            self.expect_word("flow.in")?;
        }
        Ok(OpKind::Restart { out, flow, walk: Box::new(self.walk(out)?) })
    }

    pub(super) fn stride(&mut self) -> Result<(u32, i32)> {
        self.expect("(")?;
        let n = self.count()?;
        self.expect(":")?;
        let step = self.int()?;
        self.expect(")")?;
        Ok((n, step))
    }

    pub(super) fn elem_bytes(&mut self) -> Result<Elem> {
        self.expect_word("elem")?;
        let at = self.place();
        let n = self.number(1, 4)?;
        match Elem::of_bytes(n as u32) {
            Some(elem) => Ok(elem),
            None => self.fail_at(at, format!("`{n}`"), "1, 2 or 4"),
        }
    }

    /// `64x128`: lexed as a number and a word, or as one word.
    fn extent(&mut self) -> Result<(u32, u32)> {
        let a = self.count()?;
        match self.peek().clone() {
            Tok::Word(w) => {
                match w.strip_prefix('x').and_then(|n| n.parse::<u32>().ok()).filter(|n| *n as i64 <= MAX_COUNT) {
                    Some(b) => {
                        self.next();
                        Ok((a, b))
                    }
                    None => self.fail("`x` and a number"),
                }
            }
            _ => self.fail("`x` and a number"),
        }
    }

    pub(super) fn walk(&mut self, out: bool) -> Result<Walk> {
        let lrm_side = |p: &mut Self| -> Result<(Id, u32)> {
            let lrm = p.id("a local buffer", |t| matches!(t, Type::Lrm { .. }))?;
            p.expect("[")?;
            let slot = p.count()?;
            p.expect("]")?;
            Ok((lrm, slot))
        };
        let ocm_side = |p: &mut Self| p.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)));
        let mut second = None;
        let ((lrm, slot), (buf, at)) = if out {
            let inside = lrm_side(self)?;
            self.expect("->")?;
            (inside, ocm_side(self)?)
        } else {
            let outside = ocm_side(self)?;
            if self.eat_word("and") {
                second = Some(ocm_side(self)?);
            }
            self.expect("->")?;
            (lrm_side(self)?, outside)
        };
        let elem = self.elem_bytes()?;
        self.expect_word("size")?;
        let (height, width) = self.extent()?;
        self.expect_word("pitch")?;
        let pitch = self.count()?;
        let plane = if self.eat_word("plane") { self.count()? } else { 0 };
        self.expect_word("tile")?;
        let (rows, cols) = self.extent()?;
        let (mut x0, mut y0) = (SVal::Imm(0), SVal::Imm(0));
        if self.eat_word("at") {
            self.expect("(")?;
            x0 = self.sval()?;
            y0 = self.comma_sval()?;
            self.expect(")")?;
        }
        let (mut col_step, mut row_step) = (1, 1);
        if self.eat_word("step") {
            self.expect("(")?;
            col_step = self.count()?;
            self.expect(",")?;
            row_step = self.count()?;
            self.expect(")")?;
        }
        let halo = if self.eat_word("halo") { self.count()? } else { 0 };
        let mut loops = Vec::new();
        while self.is("(") {
            if loops.len() == 4 {
                return self.fail("at most four loops of a walk");
            }
            self.next();
            let n = self.count()?;
            self.expect(":")?;
            let dx = self.int()?;
            self.expect(",")?;
            let dy = self.int()?;
            self.expect(",")?;
            let dp = self.int()?;
            self.expect(")")?;
            loops.push(WalkLoop { n, dx, dy, dp });
        }
        let slot_step = if self.eat_word("slot") { self.count()? } else { 0 };
        let group = if self.eat_word("group") { self.count()? } else { 0 };
        Ok(Walk {
            buf,
            at,
            second,
            elem,
            height,
            width,
            pitch,
            plane,
            x0,
            y0,
            col_step,
            row_step,
            rows,
            cols,
            halo,
            loops,
            lrm,
            slot,
            slot_step,
            group,
        })
    }
}
