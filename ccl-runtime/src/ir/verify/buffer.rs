//! Bytes: which an access touches, whether they are in flight, whether they lie inside.

use iss::image::Direction;

use super::super::range::Range;
use super::super::types::*;
use super::Verifier;

impl Verifier<'_> {
    /// An element and the `len` bytes from it on; what they are and whether they may be touched.
    pub(super) fn elem(&mut self, e: &ElemRef, len: u32, align: u32, write: bool) {
        let Type::Lrm { elem, n, ring } = self.f.ty(e.buf) else {
            let name = self.name(e.buf);
            return self.say(format!("{name} is no local buffer"));
        };
        let size = n as i64 * elem.bytes() as i64;
        let view = e.view.bytes() as i64;
        let bytes = match e.index {
            Index::Const => Range::of(e.at as i64 * view),
            Index::Scalar(id, scale) => {
                if !self.f.is_scalar(id) {
                    let name = self.name(id);
                    return self.say(format!("{name} is no scalar"));
                }
                self.ranges.id(id).times(Range::of(scale as i64 * view)).plus(Range::of(e.at as i64 * view))
            }
            Index::Addr(id) => {
                if self.f.ty(id) != Type::Addr {
                    let name = self.name(id);
                    self.say(format!("{name} is no base register"));
                }
                // What it holds was checked as an index; the whole buffer counts as touched.
                return self.touch(e.buf, ring, 0, size, write);
            }
        };
        let name = self.name(e.buf);
        if bytes.lo < 0 || bytes.hi + len as i64 > size {
            return self.say(format!("bytes {}..{} of {name}, which has {size}", bytes.lo, bytes.hi + len as i64));
        }
        if !bytes.multiple_of(align) {
            return self.say(format!("the byte offset into {name} is not known to be a multiple of {align}"));
        }
        self.touch(e.buf, ring, bytes.lo, bytes.hi + len as i64, write);
    }

    fn touch(&mut self, buf: Id, ring: u32, lo: i64, hi: i64, write: bool) {
        let name = self.name(buf);
        if ring > 1 {
            let held = self.flights.iter().any(|f| f.ring.is_some_and(|r| r.buf == buf && r.held));
            if !held {
                self.say(format!("{name} is a ring of which no instance is held\nhelp: `acquire` its flow first"));
            }
            return;
        }
        let found = self.flights.iter().find_map(|f| {
            let hit = f.lrm.iter().find(|(b, l, h, landing)| *b == buf && *l < hi && lo < *h && (*landing || write))?;
            Some((f.token, hit.3))
        });
        if let Some((token, landing)) = found {
            let token = self.name(token);
            let (what, is) = (if write { "writes" } else { "reads" }, if landing { "landing" } else { "leaving" });
            self.say(format!("{what} {name}, which is {is}\nhelp: `wait {token}` first"));
        }
    }

    /// A new transfer's local bytes: as touched by an access.
    pub(super) fn fly_lrm(&mut self, buf: Id, lo: i64, hi: i64, landing: bool) -> (Id, i64, i64, bool) {
        if let Type::Lrm { elem, n, .. } = self.f.ty(buf) {
            let size = n as i64 * elem.bytes() as i64;
            if hi > size {
                let name = self.name(buf);
                self.say(format!("bytes {lo}..{hi} of {name}, which has {size}"));
            }
            self.touch(buf, 1, lo, hi, landing);
        }
        (buf, lo, hi, landing)
    }

    pub(super) fn fly_memory(&mut self, buf: Id, write: bool) -> (Id, bool) {
        let name = self.name(buf);
        let param = self.f.params.iter().find(|p| p.id == buf);
        let readonly = param.is_some_and(|p| p.dir == Direction::In) || self.is_const(buf);
        if write && readonly {
            self.say(format!("writes {name}, which is only read"));
        }
        let other = self.flights.iter().find(|f| f.memory.iter().any(|(b, w)| *b == buf && (*w || write)));
        if let Some(token) = other.map(|f| f.token) {
            let token = self.name(token);
            self.say(format!("{name} is in flight with {token}\nhelp: `wait {token}` first"));
        }
        if write && self.streams.iter().any(|s| s.buf == buf) {
            self.say(format!("{name} is being broadcast"));
        }
        (buf, write)
    }

    fn is_const(&self, buf: Id) -> bool {
        matches!(self.f.ty(buf), Type::Ext(_)) && !self.f.params.iter().any(|p| p.id == buf)
    }

    /// Bytes `at + lo .. at + hi` must lie in a buffer.
    pub(super) fn inside(&mut self, buf: Id, at: SVal, lo: i64, hi: i64, align: u32) {
        self.scalar(at);
        let size = match self.f.ty(buf) {
            Type::Ocm(n) | Type::Ext(n) => n as i64,
            _ => {
                let name = self.name(buf);
                return self.say(format!("{name} is no buffer in memory"));
            }
        };
        let range = self.ranges.sval(at);
        let name = self.name(buf);
        let (lo, hi) = (range.lo.saturating_add(lo), range.hi.saturating_add(hi));
        if lo < 0 || hi > size {
            self.say(format!("bytes {lo}..{hi} of {name}, which has {size}"));
        } else if !range.multiple_of(align) {
            self.say(format!("the byte offset into {name} is not known to be a multiple of {align}"));
        }
    }
}
