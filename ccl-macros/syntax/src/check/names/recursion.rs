//! Functions that call each other in a circle.

use super::Resolver;
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

impl Resolver<'_, '_> {
    /// Reports each circle of calls once, at a call that closes it.
    pub(super) fn no_recursion(&mut self) {
        let mut callees: Vec<Vec<(usize, Span)>> = vec![Vec::new(); self.fns.len()];
        for (caller, callee, span) in &self.calls {
            callees[*caller].push((*callee, *span));
        }
        // 0 not seen, 1 on the way, 2 done; the way is explicit, since there may be any number of functions.
        let mut state = vec![0u8; self.fns.len()];
        for start in 0..self.fns.len() {
            if state[start] != 0 {
                continue;
            }
            state[start] = 1;
            let mut way = vec![(start, 0)];
            while let Some((function, next)) = way.last_mut() {
                let Some((callee, span)) = callees[*function].get(*next).copied() else {
                    state[*function] = 2;
                    way.pop();
                    continue;
                };
                *next += 1;
                match state[callee] {
                    0 => {
                        state[callee] = 1;
                        way.push((callee, 0));
                    }
                    1 => {
                        let first = way.iter().position(|(f, _)| *f == callee).expect("it is on the way");
                        let circle: Vec<usize> = way[first..].iter().map(|(f, _)| *f).chain([callee]).collect();
                        let names: Vec<&str> = circle.iter().map(|f| self.fns[*f].name.name.name.as_str()).collect();
                        let message = format!("`{}` calls itself: {}", names[0], names.join(" -> "));
                        let diag = Diag::new(Code::Recursion, span, message)
                            .note_at(self.fns[callee].name.name.span, "declared here")
                            .help("the array has no stack; write a loop");
                        self.diags.push(diag);
                    }
                    _ => {}
                }
            }
        }
    }
}
