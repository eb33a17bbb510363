//! Micro-op programs whose speed is worth knowing, for `cargo bench --bench array`, and [`figures`], which times them for
//! a command line in seconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::isa::operand::{Dir, Dirs, MacShape, Width};

use super::{Array, BinaryOp, Dest, Geometry, Mac, MacWidth, Place, SimdPath, Source, TraceBuffer, Uop};

/// The array that the figures are for: 32 x 32 PEs, 4 kB of local memory each, borders off.
pub fn array() -> Array {
    let mut array = Array::new(Geometry { rows: 32, cols: 32, border: 4 }, 4096);
    array.set_borders(false);
    let mut trace = TraceBuffer::new();
    for word in 0..1024u32 {
        let a = Source::Splat(word.wrapping_mul(0x9e37_79b1) as i32);
        trace.push(Uop::Binary { op: BinaryOp::Add, dst: Dest::word(4 * word), a, b: Source::QCol });
    }
    array.run(&mut trace).expect("no division");
    array
}

/// A pointwise convolution on every PE: `n_channels` int8 channels (a multiple of 16, at most 4,096) to 16 outputs,
/// channels outermost, as often as makes at least 4,096 MACs. Returns the multiply-accumulates per PE beside it.
pub fn mac_dot(n_channels: u32) -> (TraceBuffer, u64) {
    let mut trace = TraceBuffer::new();
    let mut n_macs = 0;
    while n_macs < 4096 {
        for addr in (0..n_channels).step_by(16) {
            for acc in 0..16 {
                let weights = std::array::from_fn::<u8, 16, _>(|i| (addr + acc as u32 * 37 + i as u32 * 11) as u8);
                trace.push_mac(Mac { width: MacWidth::W8x8, shape: MacShape::Dot, acc, addr }, &weights);
                n_macs += 1;
            }
        }
        // An ALU operation ends the run of MACs, as a requantisation does.
        trace.push(Uop::Binary { op: BinaryOp::Sar, dst: Dest::Acc(0), a: Source::Acc(0), b: Source::Splat(1) });
    }
    (trace, n_macs * 16)
}

/// An ALU operation to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the instruction")]
pub enum AluKernel {
    Add,
    FxMul,
    Select,
    LutByte,
    Compare,
    Exp,
    Log,
    /// Add, each on the result of the one before.
    Chain,
    /// One after the other of add, shift, select, compare and clip, operands of all kinds.
    Mixed,
}

impl AluKernel {
    /// Every kernel.
    pub const ALL: [AluKernel; 9] = [
        AluKernel::Add,
        AluKernel::FxMul,
        AluKernel::Select,
        AluKernel::LutByte,
        AluKernel::Compare,
        AluKernel::Exp,
        AluKernel::Log,
        AluKernel::Chain,
        AluKernel::Mixed,
    ];

    /// The name in tables.
    pub const fn word(self) -> &'static str {
        match self {
            AluKernel::Add => "add",
            AluKernel::FxMul => "fx_mul",
            AluKernel::Select => "sel",
            AluKernel::LutByte => "lut",
            AluKernel::Compare => "cmp",
            AluKernel::Exp => "exp",
            AluKernel::Log => "log",
            AluKernel::Chain => "add chain",
            AluKernel::Mixed => "mixed",
        }
    }
    fn uop(self, i: u32) -> Uop {
        // 64 words each of operands and results, at places that differ from one to the next.
        let word = |k: u32| 4 * ((i * 7 + k * 13) % 64);
        let (a, b, dst) = (Source::word(word(0)), Source::word(256 + word(1)), Dest::word(512 + word(2)));
        match self {
            AluKernel::Add => Uop::Binary { op: BinaryOp::Add, dst, a, b },
            AluKernel::FxMul => Uop::FxMul { dst, a, b, shift: 16 },
            AluKernel::Select => Uop::Sel { dst, a, b },
            AluKernel::LutByte => Uop::Lut { dst, idx: a, table: Place::byte(1024), bits: 8 },
            AluKernel::Compare => Uop::Cmp { cond: crate::isa::operand::Cond::Lt, a, b },
            AluKernel::Exp => Uop::Exp { dst, a, from: 27, to: 24 },
            AluKernel::Log => Uop::Log { dst, a, from: 16, to: 24 },
            AluKernel::Chain => Uop::Binary { op: BinaryOp::Add, dst: Dest::Acc(0), a: Source::Acc(0), b },
            AluKernel::Mixed => match i % 6 {
                0 => Uop::Binary { op: BinaryOp::Add, dst, a, b: Source::Splat(i as i32) },
                1 => Uop::Binary { op: BinaryOp::Sar, dst: Dest::Acc((i % 16) as u8), a, b: Source::Splat(3) },
                2 => Uop::Cmp { cond: crate::isa::operand::Cond::Lt, a, b },
                3 => Uop::Sel { dst, a: Source::Acc((i % 16) as u8), b },
                4 => Uop::Clip { dst: Dest::Lrm(Place::byte(512 + word(2))), a, lo: -128, hi: 127 },
                _ => {
                    let half = Source::Lrm(Place { width: Width::Half, addr: word(0) });
                    Uop::Binary { op: BinaryOp::Max, dst, a: half, b: Source::Port(Dir::North) }
                }
            },
        }
    }
    /// `n_uops` of the operation.
    pub fn trace(self, n_uops: u32) -> TraceBuffer {
        let mut trace = TraceBuffer::new();
        (0..n_uops).for_each(|i| trace.push(self.uop(i)));
        trace
    }
}

/// `n` sends of words, east and south in turn, each behind its own short run, as in a reduction.
pub fn send_and_add(array: &mut Array, trace: &mut TraceBuffer, n: u32) {
    for i in 0..n {
        let dir = if i % 2 == 0 { Dir::East } else { Dir::South };
        array.send(Dirs::one(dir), Source::word(0));
        trace.clear();
        trace.push(Uop::Binary {
            op: BinaryOp::Add,
            dst: Dest::word(0),
            a: Source::word(0),
            b: Source::Port(dir.opposite()),
        });
        array.run(trace).expect("no division");
    }
}

/// `n` rounds of 20 array instructions on array and border, mixed as in a network: 4 MACs, 5 moves, 8 plain ALU operations
/// and 3 of a requantisation. Moves are spread, so that no run between them is long.
pub fn mixed_rounds(array: &mut Array, trace: &mut TraceBuffer, n: u32) {
    for round in 0..n {
        trace.clear();
        for acc in 0..4 {
            let addr = (round * 16) % 2048;
            trace.push_mac(Mac { width: MacWidth::W8x8, shape: MacShape::Dot, acc, addr }, &[round as u8; 16]);
        }
        trace.push(Uop::FxMul { dst: Dest::Acc(4), a: Source::Acc(0), b: Source::Splat(77), shift: 12 });
        trace.push(Uop::Binary { op: BinaryOp::Sar, dst: Dest::Acc(4), a: Source::Acc(4), b: Source::Splat(3) });
        trace.push(Uop::Clip { dst: Dest::Lrm(Place::byte(2100)), a: Source::Acc(4), lo: -128, hi: 127 });
        for i in 0..5 {
            array.run(trace).expect("no division");
            trace.clear();
            let (dir, at) = (Dir::ALL[i as usize % 4], 2048 + 4 * i);
            array.send(Dirs::one(dir), Source::word(at));
            let port = Source::Port(dir.opposite());
            trace.push(Uop::Binary { op: BinaryOp::Add, dst: Dest::word(at), a: Source::word(at), b: port });
            if i < 3 {
                trace.push(Uop::Binary {
                    op: BinaryOp::Max,
                    dst: Dest::Acc(5),
                    a: Source::word(at),
                    b: Source::Acc(5),
                });
            }
        }
        array.run(trace).expect("no division");
    }
}

/// A measured speed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Figure {
    /// What was run.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// Times every kernel on one core: the fastest of the repetitions that fit `budget` each, at least three, so that other
/// work on the host disturbs little.
///
/// # Panics
/// If the host lacks the path's instructions.
pub fn figures(path: SimdPath, budget: Duration) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |name: String, value: f64, unit| figures.push(Figure { name, value, unit });
    let mut array = array();
    array.set_path(path);
    for n_channels in [64, 256, 1024] {
        let (mut trace, n_macs) = mac_dot(n_channels);
        let time = fastest(budget, || array.run(&mut trace).expect("no division"));
        add(format!("mac8.dot, {n_channels} channels"), n_macs as f64 * 1024.0 / time / 1e9, "GMAC/s");
    }
    for kernel in AluKernel::ALL {
        let n_uops = 1000;
        let mut trace = kernel.trace(n_uops);
        let time = fastest(budget, || array.run(&mut trace).expect("no division"));
        add(format!("{}, 1,024 PEs", kernel.word()), time / n_uops as f64 * 1e9, "ns");
    }
    let n_sends = 100;
    for borders in [false, true] {
        array.set_borders(borders);
        let beside = if borders { " and border" } else { "" };
        for dir in [Dir::East, Dir::South] {
            let time =
                fastest(budget, || (0..n_sends).for_each(|_| array.send(Dirs::one(dir), black_box(Source::word(0)))));
            add(format!("send {}, 1,024 PEs{beside}", dir.letter()), time / n_sends as f64 * 1e9, "ns");
        }
        let mut trace = TraceBuffer::new();
        let time = fastest(budget, || send_and_add(&mut array, &mut trace, n_sends));
        add(format!("send and add, 1,024 PEs{beside}"), time / n_sends as f64 * 1e9, "ns");
    }
    let n_rounds = 500;
    let mut trace = TraceBuffer::new();
    let time = fastest(budget, || mixed_rounds(&mut array, &mut trace, n_rounds));
    add("mixed array instruction, 1,024 PEs and border".to_owned(), time / (20 * n_rounds) as f64 * 1e9, "ns");
    let (from, mut to) = (vec![1u8; 4 << 20], vec![0u8; 4 << 20]);
    let time = fastest(budget, || black_box(&mut to[..]).copy_from_slice(black_box(&from)));
    add("memory copy, 4 MB".to_owned(), from.len() as f64 / time / 1e9, "GB/s");
    figures
}

/// Seconds of the fastest run.
fn fastest(budget: Duration, mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    for n_runs in 0.. {
        if n_runs >= 3 && start.elapsed() > budget {
            break;
        }
        let run_start = Instant::now();
        run();
        best = best.min(run_start.elapsed().as_secs_f64());
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_figure() {
        let figures = figures(SimdPath::detect(), Duration::ZERO);
        assert!(figures.iter().all(|f| f.value.is_finite() && f.value > 0.0), "{figures:?}");
        assert_eq!(figures.len(), 3 + AluKernel::ALL.len() + 6 + 2);
    }
}
