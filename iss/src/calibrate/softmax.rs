//! Row 5: the exponential of a softmax, iterated and evaluated twice per score, against a table looked up once.

use super::lab::{Lab, LabError, Program, row};
use super::{Role, Row, same};
use crate::builder::*;

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "5",
        what: "softmax exponential iterated, twice a score, replaced by a table: 3,072 tile-scores",
        measures: "cycles saved",
        published: Some(116_608),
        on_paper: Some(116_736),
        tolerance_pct: Some(10.0),
        role: Role::Fixes("exp_iter"),
        machine: same,
        run: |lab| saved(lab, 24),
    },
    Row {
        id: "5b",
        what: "the same, 3,328 tile-scores",
        measures: "cycles saved",
        published: Some(124_801),
        on_paper: Some(126_464),
        tolerance_pct: Some(10.0),
        role: Role::Fixes("exp_iter"),
        machine: same,
        run: |lab| saved(lab, 26),
    },
];

/// Keys of one row of scores: 8 x 16 reduced pixels.
const KEYS: u32 = 128;
/// Local memory: the scores, a word each with 8 fraction bits and at most 0; their exponentials with 15; a table of 256
/// half-words; the sum, the current exponential, the reciprocal.
const SCORES: u32 = 1024;
const EXPS: u32 = 2048;
const TABLE: u32 = 3072;
const SUM: u32 = 0;
const EXP: u32 = 4;
const RECIPROCAL: u32 = 8;

fn saved(lab: &Lab, heads: u32) -> Result<u64, LabError> {
    Ok(lab.run(|p| iterated(p, heads))?.cycles() - lab.run(|p| looked_up(p, heads))?.cycles())
}

/// For each of `heads` rows of scores: the sum of the exponentials, its reciprocal, and each exponential times that.
fn softmax(p: &mut Program, heads: u32, sum: impl FnOnce(&mut Program), scale: impl FnOnce(&mut Program)) {
    row(p, |p| {
        p.loop_n(heads, |p| {
            p.mov(w(SUM), 0).s_mov(s(0), SCORES).s_mov(s(1), EXPS);
            p.loop_n(KEYS, |p| {
                sum(p);
                p.s_add(s(0), s(0), 4).s_add(s(1), s(1), 2);
            });
            p.fx_div(w(RECIPROCAL), 1, w(SUM), q(30)).s_mov(s(0), SCORES).s_mov(s(1), EXPS);
            p.loop_n(KEYS, |p| {
                scale(p);
                p.s_add(s(0), s(0), 4).s_add(s(1), s(1), 2);
            });
        });
    });
}

fn iterated(p: &mut Program, heads: u32) {
    let (score, result) = (w(0).based(s(0)), h(0).based(s(1)));
    softmax(
        p,
        heads,
        |p| {
            p.exp_iter(w(EXP), score, q(8), q(15)).add(w(SUM), w(SUM), w(EXP));
        },
        |p| {
            p.exp_iter(w(EXP), score, q(8), q(15)).fx_mul(result, w(EXP), w(RECIPROCAL), 15);
        },
    );
}

fn looked_up(p: &mut Program, heads: u32) {
    let (score, result) = (w(0).based(s(0)), h(0).based(s(1)));
    // A score of -16..0 in steps of 1/16; entry 0, reached by 0 and by -16, is the exponential of 0.
    for i in 0..256i32 {
        let score = if i == 0 { 0 } else { i - 256 };
        p.exp(h(TABLE + 2 * i as u32), score, q(4), q(14));
    }
    softmax(
        p,
        heads,
        |p| {
            p.sar(w(EXP), score, 4).lut(result, w(EXP), h(TABLE), 8).add(w(SUM), w(SUM), result);
        },
        |p| {
            p.fx_mul(result, result, w(RECIPROCAL), 15);
        },
    );
}
