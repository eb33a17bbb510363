//! On-chip memory at its peak: a buffer takes its bytes from where it is allocated to its last use, wherever its block ends.

use std::collections::HashMap;

use super::types::*;

/// The buffers that are alive when they take most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes.
    pub bytes: u64,
    /// Buffers, their bytes, and where they are allocated; parameters are nowhere.
    pub live: Vec<(Id, u64, Loc)>,
}

#[derive(Clone, Copy)]
struct Life {
    bytes: u64,
    loc: Loc,
    first: u32,
    last: u32,
}

#[derive(Default)]
struct Lives {
    of: HashMap<Id, Life>,
    pos: u32,
}

impl Lives {
    fn block(&mut self, f: &Func, block: &Block) {
        for op in block {
            self.pos += 1;
            let first = self.pos;
            op.kind.uses(&mut |id| {
                if let Some(life) = self.of.get_mut(&id) {
                    life.last = life.last.max(first);
                }
            });
            if let OpKind::Ocm { dst } = op.kind
                && let Some(Type::Ocm(bytes)) = f.values.get(dst.0 as usize).map(|value| value.ty)
            {
                self.of.insert(dst, Life { bytes: bytes.into(), loc: op.loc, first, last: first });
            }
            op.kind.blocks().into_iter().for_each(|inner| self.block(f, inner));
            if matches!(op.kind, OpKind::For { .. } | OpKind::While { .. }) {
                // What comes from outside is used again in the next trip.
                let from_outside = |life: &&mut Life| life.first < first && life.last > first;
                self.of.values_mut().filter(from_outside).for_each(|life| life.last = self.pos);
            }
        }
    }
}

/// On-chip memory of a function and its parameters at its peak.
pub fn on_chip(f: &Func) -> Peak {
    let mut lives = Lives::default();
    lives.block(f, &f.body);
    let mut params = Peak::default();
    for param in &f.params {
        if let Some(Type::Ocm(bytes)) = f.values.get(param.id.0 as usize).map(|value| value.ty) {
            params.bytes += u64::from(bytes);
            params.live.push((param.id, bytes.into(), Loc::default()));
        }
    }
    let mut all: Vec<(Id, Life)> = lives.of.into_iter().collect();
    all.sort_by_key(|(id, life)| (life.first, *id));
    let alive = |at: u32| all.iter().filter(move |(_, life)| life.first <= at && at <= life.last);
    let bytes = |at: u32| alive(at).map(|(_, life)| life.bytes).sum::<u64>();
    // More is alive only where something begins to live.
    let Some(top) = all.iter().map(|(_, life)| life.first).max_by_key(|&at| (bytes(at), std::cmp::Reverse(at))) else {
        return params;
    };
    params.bytes += bytes(top);
    params.live.extend(alive(top).map(|(id, life)| (*id, life.bytes, life.loc)));
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(body: &str) -> u64 {
        let text = format!("kernel @k(%y: out ocm<64>) {{\n{body}\n}}\n");
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        on_chip(&module.funcs[0]).bytes
    }

    #[test]
    fn a_buffer_ends_behind_its_last_use() {
        assert_eq!(peak(""), 64);
        assert_eq!(peak("%a = ocm <100>\n%b = ocm <60>"), 64 + 100, "one after the other");
        assert_eq!(peak("%a = ocm <100>\n%b = ocm <60>\n%l = s.load %a[0]"), 64 + 160, "both");
    }

    #[test]
    fn what_a_loop_uses_lives_through_it() {
        let looped = "%a = ocm <100>\nfor %i in 0..4 {\n%l = s.load %a[0]\n%b = ocm <60>\n}";
        assert_eq!(peak(looped), 64 + 160);
    }
}
