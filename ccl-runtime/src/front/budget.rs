//! Whether the buffers of a kernel and of all that it calls fit its machine. The checks at an instance see one block; here the
//! program is linked.

use iss::target::Target;

use super::error::FrontError;
use crate::ir::{self, Block, Func, Id, Loc, Module, Op, OpKind, Type, visit};

/// Buffers in scope: name, bytes, file and line.
type Live = Vec<(String, u64, String)>;

#[derive(Default)]
struct Peak {
    bytes: u64,
    live: Live,
}

struct Meter<'m> {
    module: &'m Module,
    func: &'m Func,
    live: Live,
    peak: Peak,
}

impl Meter<'_> {
    /// Keeps the buffers in use if none were larger.
    fn measure(&mut self) {
        let total = self.live.iter().map(|(_, bytes, _)| bytes).sum();
        if total > self.peak.bytes {
            self.peak = Peak { bytes: total, live: self.live.clone() };
        }
    }

    /// A buffer that an operation makes.
    fn buffer(&self, op: &Op) -> Option<(Id, (String, u64, String))> {
        let OpKind::Lrm { dst, .. } = op.kind else { return None };
        let Type::Lrm { elem, n, ring } = self.func.ty(dst) else { return None };
        let bytes = (n * elem.bytes()) as u64 * ring as u64;
        Some((dst, (self.func.name_of(dst).to_owned(), bytes, place(self.module, op.loc))))
    }

    /// A buffer lives to the last operation of its block that uses it, since what is laid out trip by trip is one block here.
    fn block(&mut self, block: &Block) {
        let outer = self.live.len();
        let last = visit::last_uses(block);
        let mut own = Vec::new();
        for (i, op) in block.iter().enumerate() {
            let (made, inner) = (self.buffer(op), op.kind.blocks());
            if made.is_some() || !inner.is_empty() {
                own.retain(|(end, _)| *end >= i);
                own.extend(made.map(|(id, buffer)| (last.get(&id).copied().unwrap_or(i), buffer)));
                self.live.truncate(outer);
                self.live.extend(own.iter().map(|(_, buffer)| buffer.clone()));
                self.measure();
            }
            inner.into_iter().for_each(|inner| self.block(inner));
        }
        self.live.truncate(outer);
    }
}

fn place(module: &Module, loc: Loc) -> String {
    let file = module.files.get(loc.file as usize).map_or("", |file| file.as_str());
    format!("{file}:{}", loc.line)
}

fn local_peak(module: &Module, func: &Func) -> Peak {
    let mut meter = Meter { module, func, live: Vec::new(), peak: Peak::default() };
    meter.block(&func.body);
    meter.peak
}

fn on_chip_peak(module: &Module, func: &Func) -> Peak {
    let peak = ir::peak::on_chip(func);
    let shown = |(id, bytes, loc): &(Id, u64, Loc)| {
        let is_param = func.params.iter().any(|param| param.id == *id);
        let at = if is_param { "a parameter".to_owned() } else { place(module, *loc) };
        (func.name_of(*id).to_owned(), *bytes, at)
    };
    Peak { bytes: peak.bytes, live: peak.live.iter().map(shown).collect() }
}

/// Checks both memories.
///
/// # Errors
/// What is needed, what there is, and the buffers that are alive when most is needed.
pub(super) fn check(module: &Module, target: &Target) -> Result<(), FrontError> {
    let spec = target.spec();
    for (on_chip, room, what, help) in [
        (
            false,
            u64::from(spec.lrm_bytes),
            "local memory in every PE",
            "fetch fewer channels at a time (`chunks::<N>()`), or end a block before the next buffer is allocated",
        ),
        (
            true,
            u64::from(spec.ocm_bytes),
            "on-chip memory",
            "work on a part of the tensor at a time, or leave one outside",
        ),
    ] {
        for func in &module.funcs {
            let peak = if on_chip { on_chip_peak(module, func) } else { local_peak(module, func) };
            if peak.bytes > room {
                let (name, bytes, product) = (&func.name, peak.bytes, &spec.product);
                let message = format!(
                    "`{name}` needs {bytes} bytes of {what}, {} more than the {room} of `{product}`",
                    bytes - room
                );
                let mut error = FrontError::new(message);
                error.help = Some(help.to_owned());
                let shown =
                    |(name, bytes, place): &(String, u64, String)| format!("`{name}` has {bytes} bytes ({place})");
                error.calls = peak.live.iter().map(shown).collect();
                return Err(error);
            }
        }
    }
    Ok(())
}
