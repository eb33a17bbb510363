//! Blocks that run under a condition or more than once, and calls.

use iss::image::Direction;

use super::super::range::trips;
use super::super::types::*;
use super::Verifier;

impl<'a> Verifier<'a> {
    /// A block that may run or not: what it finds it leaves.
    pub(super) fn conditional(&mut self, block: &'a Block) {
        let before = self.streams.clone();
        self.block(block);
        if self.streams != before {
            self.say("a stream from outside is read under a condition or in a loop without a constant count");
            self.streams = before;
        }
    }

    pub(super) fn for_loop(&mut self, var: Id, lo: SVal, hi: SVal, step: i32, attr: LoopAttr, body: &'a Block) {
        self.scalar(lo);
        self.scalar(hi);
        if self.f.ty(var) != Type::Scalar {
            self.say("a loop counts in a scalar");
        }
        if step <= 0 {
            return self.say("a loop's step is at least 1");
        }
        let (low, high) = (self.ranges.sval(lo), self.ranges.sval(hi));
        if high.hi + step as i64 > i32::MAX as i64 + 1 && trips(lo, hi, step) != Some(0) {
            self.say("the loop's variable may pass 2^31");
        }
        let _ = low;
        if attr.unroll && trips(lo, hi, step).is_none() {
            self.say("only a loop with constant bounds can be unrolled");
        }
        self.define(var);
        let Some(n) = trips(lo, hi, step) else {
            self.uncounted += 1;
            self.conditional(body);
            self.uncounted -= 1;
            self.defined[var.0 as usize] = false;
            return;
        };
        if n > (1 << 24) - 1 {
            self.say("a loop has fewer than 2^24 trips");
        }
        let (streams, rings, macs) = (self.streams.clone(), self.rings(), self.macs);
        let carried = self.carried();
        if n == 0 {
            // What never runs is checked as if it ran once, and leaves nothing behind.
            let errors = self.errors.len();
            let flights = self.flights.clone();
            self.block(body);
            self.errors.truncate(errors);
            (self.streams, self.flights) = (streams, flights);
            self.defined[var.0 as usize] = false;
            return;
        }
        let (ever, flights) = (self.ever.clone(), self.flights.clone());
        self.block(body);
        let after = self.carried();
        if n > 1 && after != carried {
            // Later trips find in flight what the first has left.
            self.flights.retain(|f| f.ring.is_none());
            self.flights.extend(flights.into_iter().filter(|f| f.ring.is_some()));
            self.streams = streams.clone();
            self.ever = ever;
            let first = self.errors.len();
            self.block(body);
            self.later_trips(first, &after);
        }
        let had_macs = self.macs > macs;
        self.repeat_streams(&streams, n, had_macs);
        self.repeat_rings(&rings, n);
        self.defined[var.0 as usize] = false;
    }

    pub(super) fn call(&mut self, name: &str, args: &[CallArg]) {
        if self.wheres > 0 {
            self.say("a call inside `where`\nhelp: inline it");
        }
        let Some(callee) = self.m.func(name) else {
            return self.say(format!("no function is called @{name}"));
        };
        if callee.kind == FuncKind::Kernel {
            self.say("a kernel is not called by others");
        }
        if callee.params.len() != args.len() {
            return self.say(format!("@{name} takes {} arguments, not {}", callee.params.len(), args.len()));
        }
        for (p, a) in callee.params.iter().zip(args) {
            let given = match a {
                SVal::Imm(_) => Type::Scalar,
                SVal::Val(id) => match self.f.ty(*id) {
                    Type::ScalarVar => Type::Scalar,
                    ty => ty,
                },
            };
            let pname = callee.name_of(p.id).to_owned();
            match (callee.ty(p.id), given) {
                (Type::Scalar, Type::Scalar) => {
                    let r = self.ranges.sval(*a);
                    if let Some((lo, hi)) = p.range
                        && (r.lo < lo as i64 || r.hi > hi as i64)
                    {
                        self.say(format!(
                            "%{pname} of @{name} is {lo}..={hi}, but the argument may be {}..={}",
                            r.lo, r.hi
                        ));
                    }
                }
                (Type::Ocm(n), Type::Ocm(m)) | (Type::Ext(n), Type::Ext(m)) if m >= n => {
                    if let SVal::Val(id) = a {
                        // The callee waits for its own transfers, so that a moment's look is enough.
                        self.fly_memory(*id, p.dir != Direction::In);
                    }
                }
                (want, have) => self.say(format!("%{pname} of @{name} is {want:?}, not {have:?}")),
            }
        }
    }
}
