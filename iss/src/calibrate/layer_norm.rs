//! Row 6: layer norm, with a bit-search square root for each pixel and a divide for each element, against
//! 1/sigma = exp(-ln(v)/2) and a multiply.

use super::lab::{Program, row};
use super::{Role, Row, same};
use crate::builder::*;

pub(super) const ROWS: &[Row] = &[Row {
    id: "6",
    what: "layer norm: square root by bit search and divides replaced by exp(-ln(v)/2) and multiplies, \
           5,312 tile-elements, 78 pixel-tiles",
    measures: "cycles saved",
    published: Some(446_096),
    on_paper: Some(436_646),
    tolerance_pct: Some(10.0),
    role: Role::Fixes("fx_div"),
    machine: same,
    run: |lab| {
        let cycles = |scaling| lab.run(|p| row(p, |p| all_norms(p, scaling))).map(|run| run.cycles());
        Ok(cycles(DIVIDES)? - cycles(MULTIPLIES)?)
    },
}];

/// Pixel-tiles and channels of the 30 layer norms of SegFormer-B0 at 256 x 512: for each of the four stages those at its
/// own resolution, and two of the reduced keys for all but the last.
const SHAPES: [(u32, u32); 7] = [(48, 32), (2, 32), (12, 64), (2, 64), (6, 160), (2, 160), (6, 256)];

/// Local memory: elements as words with 10 fraction bits, results as half-words with as many; per-pixel values.
const X: u32 = 1024;
const Y: u32 = 2048;
const MEAN: u32 = 0;
const VARIANCE: u32 = 4;
const SCALE: u32 = 8;
const DELTA: u32 = 12;
const ROOT: u32 = 16;
const TRIAL: u32 = 20;
const SQUARE: u32 = 24;

/// How elements are brought to a variance of 1.
#[derive(Clone, Copy)]
struct Scaling {
    /// Makes `SCALE` from `VARIANCE`.
    prepare: fn(&mut Program),
    /// Makes the result from `DELTA` and `SCALE`.
    apply: fn(&mut Program, At),
}

/// `SCALE` is sigma with 10 fraction bits.
const DIVIDES: Scaling = Scaling {
    prepare: |p| {
        p.shl(w(SQUARE), w(VARIANCE), 10).mov(w(VARIANCE), w(SQUARE)).mov(w(ROOT), 0).s_mov(s(7), 1 << 15);
        p.loop_n(16, |p| {
            p.or(w(TRIAL), w(ROOT), s(7)).fx_mul(w(SQUARE), w(TRIAL), w(TRIAL), 0).s_shr(s(7), s(7), 1);
            p.cmp(Cond::Leu, w(SQUARE), w(VARIANCE)).sel(w(ROOT), w(TRIAL), w(ROOT));
        });
        p.mov(w(SCALE), w(ROOT));
    },
    apply: |p, result| {
        p.fx_div(result, w(DELTA), w(SCALE), q(10));
    },
};

/// `SCALE` is 1/sigma with 20 fraction bits.
const MULTIPLIES: Scaling = Scaling {
    prepare: |p| {
        p.log(w(SCALE), w(VARIANCE), q(10), q(20)).fx_mul(w(SCALE), w(SCALE), -1, 1).exp(
            w(SCALE),
            w(SCALE),
            q(20),
            q(20),
        );
    },
    apply: |p, result| {
        p.fx_mul(result, w(DELTA), w(SCALE), 20);
    },
};

fn all_norms(p: &mut Program, scaling: Scaling) {
    for (tiles, channels) in SHAPES {
        p.loop_n(tiles, |p| norm(p, channels, scaling));
    }
}

/// Calls `body` for each channel, with the address of the element in `s0` and of the result in `s1`.
fn channels(p: &mut Program, n: u32, body: impl FnOnce(&mut Program)) {
    p.s_mov(s(0), X).s_mov(s(1), Y);
    p.loop_n(n, |p| {
        body(p);
        p.s_add(s(0), s(0), 4).s_add(s(1), s(1), 2);
    });
}

/// One layer norm of one tile of pixels, without scale and offset of the channels: they cost both the same.
fn norm(p: &mut Program, n: u32, scaling: Scaling) {
    let (element, result) = (w(0).based(s(0)), h(0).based(s(1)));
    // 1/n with as many fraction bits as an immediate takes.
    let shift = 12 + n.ilog2();
    let one_over_n = ((1 << shift) + n / 2) / n;
    p.mov(w(MEAN), 0).mov(w(VARIANCE), 0);
    channels(p, n, |p| {
        p.add(w(MEAN), w(MEAN), element);
    });
    p.fx_mul(w(MEAN), w(MEAN), one_over_n, shift);
    channels(p, n, |p| {
        p.sub(w(DELTA), element, w(MEAN)).fx_mul(w(DELTA), w(DELTA), w(DELTA), 10).add(
            w(VARIANCE),
            w(VARIANCE),
            w(DELTA),
        );
    });
    // The 1 is the epsilon that keeps the variance above 0.
    p.fx_mul(w(VARIANCE), w(VARIANCE), one_over_n, shift).add(w(VARIANCE), w(VARIANCE), 1);
    (scaling.prepare)(p);
    channels(p, n, |p| {
        p.sub(w(DELTA), element, w(MEAN));
        (scaling.apply)(p, result);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Lab;
    use crate::isa::operand::{Operand, Src};
    use crate::target::QC_U;

    /// Element of a channel in row `row`, column 0.
    fn element(row: i32, channel: i32) -> i32 {
        (row * 67 + channel * 311) % 2048 - 1024
    }

    #[test]
    fn both_variants_normalise() {
        let n = 160;
        for (scaling, slack) in [(DIVIDES, 12.0), (MULTIPLIES, 6.0)] {
            let mut run = Lab::new(QC_U)
                .run(|p| {
                    for channel in 0..n {
                        let at = w(X + 4 * channel as u32);
                        p.fx_mul(at, Src::QRow, 67, 0).s_mov(s(5), 311 * channel).add(at, at, s(5));
                        p.and(at, at, 2047).sub(at, at, 1024);
                    }
                    row(p, |p| norm(p, n as u32, scaling));
                })
                .unwrap();
            for row in [0, 17, 31] {
                let x: Vec<f64> = (0..n).map(|c| element(row, c) as f64 / 1024.0).collect();
                let mean = x.iter().sum::<f64>() / n as f64;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
                for channel in [0, 77, n - 1] {
                    let at = Src::parse(&format!("[{}].h", Y + 2 * channel as u32)).unwrap();
                    let found = run.sim.value(at).unwrap().get(row as usize, 0).unwrap() as f64;
                    let expected = (x[channel as usize] - mean) / variance.sqrt() * 1024.0;
                    assert!((found - expected).abs() < slack, "row {row}, channel {channel}: {found}, not {expected}");
                }
            }
        }
    }
}
