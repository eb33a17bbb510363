//! What is counted through constant loops: words taken from streams, instances of rings.

use super::{Flight, Ring, Stream, Verifier};
use crate::ir::types::*;

impl Verifier<'_> {
    pub(super) fn take(&mut self, stream: Id, words: u64, whole: bool) {
        let name = self.name(stream);
        if self.f.ty(stream) != Type::Stream {
            return self.say(format!("{name} is no stream"));
        }
        if self.wheres > 0 {
            self.say("a stream is read inside `where`");
        }
        match self.streams.iter().position(|s| s.left > 0) {
            Some(i) if self.streams[i].id == stream => {
                let s = &mut self.streams[i];
                let misaligned = whole && !(s.words - s.left).is_multiple_of(4);
                if s.left < words || (words == 0 && s.left == 0) {
                    let n = s.words;
                    self.say(format!("{name} has {n} words and no more is left"));
                } else {
                    s.left -= words;
                }
                if misaligned {
                    self.say(format!("a MAC reads {name} in the middle of a 16-byte entry"));
                }
            }
            Some(i) if self.streams.iter().any(|s| s.id == stream && s.left > 0) => {
                let head = self.name(self.streams[i].id);
                self.say(format!("{name} comes behind {head}, of which {} words are left", self.streams[i].left));
            }
            _ => self.say(format!("nothing is left of {name}")),
        }
    }

    pub(super) fn ring_op(&mut self, flow: Id, what: &OpKind) {
        let name = self.name(flow);
        if self.wheres > 0 || !self.reaches(flow) {
            return self.say("instances of a ring change under a condition or in a loop without a constant count");
        }
        let Some(i) = self.flights.iter().position(|f| f.token == flow) else {
            return self.say(format!("{name} is not in flight"));
        };
        let out = self.flights[i].flow == Some(true);
        let here = self.block;
        let Some(ring) = &mut self.flights[i].ring else {
            return self.say(format!("{name} has no ring"));
        };
        match what {
            OpKind::Acquire { .. } if ring.held => self.say(format!("an instance of {name} is already held")),
            OpKind::Acquire { .. } if ring.taken == ring.total => {
                let total = ring.total;
                self.say(format!("{name} has {total} instances and no more"));
            }
            OpKind::Acquire { .. } => {
                ring.held = true;
                ring.taken += 1;
            }
            _ if matches!(what, OpKind::Push { .. }) != out => {
                self.say("`release` is for flows in, `push` for flows out");
            }
            _ if !ring.held => self.say(format!("no instance of {name} is held")),
            _ => {
                ring.held = false;
                let done = ring.taken == ring.total && !out;
                if done && self.flights[i].block == here {
                    self.flights.remove(i);
                }
            }
        }
    }

    pub(super) fn rings(&self) -> Vec<(Id, Ring)> {
        self.flights.iter().filter_map(|f| Some((f.token, f.ring?))).collect()
    }

    /// What one trip took from the streams outside, the other trips take too.
    pub(super) fn repeat_streams(&mut self, before: &[Stream], n: u64, had_macs: bool) {
        let mut touched = 0;
        for old in before {
            let Some(i) = self.streams.iter().position(|s| s.id == old.id) else { continue };
            let used = old.left - self.streams[i].left;
            if used == 0 {
                continue;
            }
            touched += 1;
            let name = self.name(old.id);
            if touched > 1 && n > 1 {
                return self.say("a loop reads two streams from outside in turn, but they come one after the other");
            }
            if had_macs && !used.is_multiple_of(4) && n > 1 {
                self.say(format!("a trip takes {used} words of {name}, so that the next trip's MAC is misaligned"));
            }
            match old.left.checked_sub(used.saturating_mul(n)) {
                Some(left) => self.streams[i].left = left,
                None => {
                    let (words, left) = (old.words, old.left);
                    self.say(format!("{n} trips take {used} words each of {name}, which has {left} of {words} left"));
                }
            }
        }
    }

    pub(super) fn repeat_rings(&mut self, before: &[(Id, Ring)], n: u64) {
        for (token, old) in before {
            let Some(i) = self.flights.iter().position(|f| f.token == *token) else { continue };
            let Some(ring) = self.flights[i].ring else { continue };
            let used = ring.taken - old.taken;
            let name = self.name(*token);
            if ring.held != old.held {
                self.say(format!("a trip begins and ends with {name} in different states"));
            }
            let total = old.taken.saturating_add(used.saturating_mul(n));
            if total > ring.total {
                self.say(format!("{n} trips take {used} instances each of {name}, which has {}", ring.total));
            }
            if let Some(ring) = &mut self.flights[i].ring {
                ring.taken = total.min(ring.total);
            }
            let (block, out) = (self.flights[i].block, self.flights[i].flow == Some(true));
            if !out && block == self.block && total == ring.total && !ring.held {
                self.flights.remove(i);
            }
        }
    }

    /// Remembers where a flow's token is defined.
    pub(super) fn own(&mut self, token: Id) {
        self.owners.insert(token, (self.block, self.uncounted));
    }

    /// Whether only counted loops are between here and the definition of a flow's token.
    pub(super) fn reaches(&self, token: Id) -> bool {
        self.owners.get(&token).is_some_and(|(_, uncounted)| *uncounted == self.uncounted)
    }

    /// Transfers in flight that have no ring, in the order of their tokens.
    pub(super) fn carried(&self) -> Vec<Flight> {
        let mut list: Vec<Flight> = self.flights.iter().filter(|f| f.ring.is_none()).cloned().collect();
        list.sort_by_key(|f| f.token);
        list
    }

    /// Says what only a loop's later trips do wrong: errors from `first` on. What a trip leaves in flight is what it found.
    pub(super) fn later_trips(&mut self, first: usize, found: &[Flight]) {
        let again = self.errors.split_off(first);
        for mut e in again.into_iter().filter(|e| !self.errors.contains(e)).collect::<Vec<_>>() {
            e.message = format!("in the second trip of a loop around it: {}", e.message);
            self.errors.push(e);
        }
        let left = self.carried();
        let differs = |f: &&Flight| !found.contains(f) || !left.contains(f);
        if self.errors.len() == first
            && let Some(f) = found.iter().chain(&left).find(differs)
        {
            let name = self.name(f.token);
            self.say(format!("a trip begins and ends with {name} in different states"));
        }
    }
}
