//! Whether the buffers of a kernel and of all that it calls fit its machine. The checks at an instance see one block; here the
//! program is linked.

use iss::target::Target;

use super::error::FrontError;
use crate::ir::{Block, Func, Module, OpKind, Type};

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
    /// Whether it counts on-chip memory, else that of PEs.
    on_chip: bool,
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
                OpKind::Lrm { dst, .. } if !self.on_chip => Some(dst),
                OpKind::Ocm { dst } if self.on_chip => Some(dst),
                _ => None,
            };
            if let Some(dst) = of {
                let bytes = match self.func.ty(dst) {
                    Type::Lrm { elem, n, ring } => (n * elem.bytes()) as u64 * ring as u64,
                    Type::Ocm(bytes) => bytes.into(),
                    _ => 0,
                };
                let file = self.module.files.get(op.loc.file as usize).map_or("", |file| file.as_str());
                self.add(self.func.name_of(dst), bytes, format!("{file}:{}", op.loc.line));
            }
            op.kind.blocks().into_iter().for_each(|inner| self.block(inner));
        }
        self.live.truncate(n);
    }
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
            let mut meter = Meter { module, func, on_chip, live: Vec::new(), peak: Peak::default() };
            for param in func.params.iter().filter(|_| on_chip) {
                if let Type::Ocm(bytes) = func.ty(param.id) {
                    meter.add(func.name_of(param.id), bytes.into(), "a parameter".to_owned());
                }
            }
            meter.block(&func.body);
            if meter.peak.bytes > room {
                let (name, bytes, product) = (&func.name, meter.peak.bytes, &spec.product);
                let message = format!(
                    "`{name}` needs {bytes} bytes of {what}, {} more than the {room} of `{product}`",
                    bytes - room
                );
                let mut error = FrontError::new(message);
                error.help = Some(help.to_owned());
                let shown =
                    |(name, bytes, place): &(String, u64, String)| format!("`{name}` has {bytes} bytes ({place})");
                error.calls = meter.peak.live.iter().map(shown).collect();
                return Err(error);
            }
        }
    }
    Ok(())
}
