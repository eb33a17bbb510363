//! Whether the buffers of a kernel and of all that it calls fit its machine. The checks at an instance see one block; here the
//! program is linked.

use iss::target::Target;

use super::error::FrontError;
use crate::ir::{self, Block, Func, Id, Loc, Module, OpKind, Type};

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
    fn add(&mut self, name: &str, bytes: u64, place: String) {
        self.live.push((name.to_owned(), bytes, place));
        let total = self.live.iter().map(|(_, bytes, _)| bytes).sum();
        if total > self.peak.bytes {
            self.peak = Peak { bytes: total, live: self.live.clone() };
        }
    }

    /// A buffer lives to the end of its block.
    fn block(&mut self, block: &Block) {
        let n = self.live.len();
        for op in block {
            let of = match op.kind {
                OpKind::Lrm { dst, .. } => Some(dst),
                _ => None,
            };
            if let Some(dst) = of {
                let bytes = match self.func.ty(dst) {
                    Type::Lrm { elem, n, ring } => (n * elem.bytes()) as u64 * ring as u64,
                    _ => 0,
                };
                self.add(self.func.name_of(dst), bytes, place(self.module, op.loc));
            }
            op.kind.blocks().into_iter().for_each(|inner| self.block(inner));
        }
        self.live.truncate(n);
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
