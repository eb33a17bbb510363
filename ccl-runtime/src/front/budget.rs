//! Whether the buffers of a kernel and of all that it calls fit its machine. The checks at an instance see one block; here the
//! program is linked.

use std::collections::HashMap;

use iss::target::Target;

use super::error::FrontError;
use crate::ir::{Block, Func, Id, Module, Op, OpKind, Type, visit};

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
    /// Keeps the buffers in scope if none were larger.
    fn measure(&mut self) {
        let total = self.live.iter().map(|(_, bytes, _)| bytes).sum();
        if total > self.peak.bytes {
            self.peak = Peak { bytes: total, live: self.live.clone() };
        }
    }

    /// A buffer that an operation makes.
    fn buffer(&self, op: &Op) -> Option<(Id, (String, u64, String))> {
        let dst = match op.kind {
            OpKind::Lrm { dst, .. } if !self.on_chip => dst,
            OpKind::Ocm { dst } if self.on_chip => dst,
            _ => return None,
        };
        let bytes = match self.func.ty(dst) {
            Type::Lrm { elem, n, ring } => (n * elem.bytes()) as u64 * ring as u64,
            Type::Ocm(bytes) => bytes.into(),
            _ => 0,
        };
        let file = self.module.files.get(op.loc.file as usize).map_or("", |file| file.as_str());
        Some((dst, (self.func.name_of(dst).to_owned(), bytes, format!("{file}:{}", op.loc.line))))
    }

    /// A buffer of a PE lives to the last operation of its block that uses it, since what is laid out trip by trip is one block here; one
    /// on the chip lives to the end of its block.
    fn block(&mut self, block: &Block) {
        let outer = self.live.len();
        let last = if self.on_chip { HashMap::new() } else { visit::last_uses(block) };
        let mut own = Vec::new();
        for (i, op) in block.iter().enumerate() {
            let (made, inner) = (self.buffer(op), op.kind.blocks());
            if made.is_some() || !inner.is_empty() {
                own.retain(|(end, _)| *end >= i);
                let end = |id| if self.on_chip { usize::MAX } else { last.get(&id).copied().unwrap_or(i) };
                own.extend(made.map(|(id, buffer)| (end(id), buffer)));
                self.live.truncate(outer);
                self.live.extend(own.iter().map(|(_, buffer)| buffer.clone()));
                self.measure();
            }
            inner.into_iter().for_each(|inner| self.block(inner));
        }
        self.live.truncate(outer);
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
                    meter.live.push((func.name_of(param.id).to_owned(), bytes.into(), "a parameter".to_owned()));
                    meter.measure();
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
