//! Rows 1 to 4: tiles between on-chip memory and the array, gathered, packed, at random and copied.

use super::lab::{Lab, LabError, Program, repeat, row};
use super::{Role, Row, same};
use crate::builder::*;
use crate::profile::StallCause;

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "1",
        what: "7x7 stride-4 stem, 3x256x512 int8 to 32x64x128, gathered one tap at a time: 1,176 loads",
        measures: "Stall[LOAD]",
        published: Some(322_818),
        on_paper: Some(327_264),
        tolerance_pct: Some(5.0),
        role: Role::Fixes("flow_start and flow_strided, with 2"),
        machine: same,
        run: |lab| load_stalls(lab, stem),
    },
    Row {
        id: "2",
        what: "8x8 stride-8 convolution, 32x64x128 to 8x16, one tap at a time: 2,048 loads",
        measures: "Stall[LOAD]",
        published: Some(119_742),
        on_paper: Some(114_688),
        tolerance_pct: Some(5.0),
        role: Role::Fixes("flow_start and flow_strided, with 1"),
        machine: same,
        run: |lab| load_stalls(lab, strided_convolution),
    },
    Row {
        id: "2b",
        what: "the same by packed space-to-depth reads: 128 loads of 16x32 words, 1,024 of 8x16 pairs",
        measures: "Stall[LOAD]",
        published: Some(43_917),
        on_paper: Some(44_032),
        tolerance_pct: Some(5.0),
        role: Role::Fixes("flow_beat; its start predicts"),
        machine: same,
        run: |lab| load_stalls(lab, space_to_depth),
    },
    Row {
        id: "3",
        what: "384 RAU stores of 1,024 distinct elements replaced by one flow of 384 tiles",
        measures: "cycles saved",
        published: Some(122_922),
        on_paper: Some(124_392),
        tolerance_pct: Some(5.0),
        role: Role::Fixes("rau_row"),
        machine: same,
        run: |lab| Ok(lab.run(random_stores)?.cycles() - lab.run(one_flow)?.cycles()),
    },
    Row {
        id: "4",
        what: "8,192 int8 tiles copied OCM to array to OCM, one flow each, in and out overlapped",
        measures: "cycles",
        published: Some(450_596),
        on_paper: Some(458_752),
        tolerance_pct: Some(5.0),
        role: Role::Predicts,
        machine: same,
        run: |lab| Ok(lab.run(fusion_buffer)?.cycles()),
    },
];

fn load_stalls(lab: &Lab, program: fn(&mut Program)) -> Result<u64, LabError> {
    Ok(lab.run(program)?.row().stalls(StallCause::Load))
}

/// Loads one tile and waits for it at once.
fn load(p: &mut Program) {
    p.flow_in(d(0), t(0)).wait(t(0), Tiles::All);
}

/// Row 1. A tap's tile takes every fourth column and row; the padding of 3 lies outside the tensor.
fn stem(p: &mut Program) {
    let (width, height, tile) = (512, 256, 128);
    let flow = FlowDesc::full(p.target()).width(width).height(height).row_pitch(width).col_step(4).row_step(4);
    p.flow(d(0), &flow);
    row(p, |p| {
        p.s_mov(s(9), -3);
        repeat(p, s(20), 2, |p| {
            p.s_mov(s(10), -3);
            repeat(p, s(21), 4, |p| {
                p.s_mov(s(8), 0);
                repeat(p, s(22), 3, |p| {
                    p.d_set(d(0), Field::Ocm, s(8)).s_add(s(8), s(8), width * height);
                    taps(p, 7, 7);
                });
                p.s_add(s(10), s(10), tile);
            });
            p.s_add(s(9), s(9), tile);
        });
    });
}

/// Loads `ky` x `kx` tiles, the first with its corner at row `s9` and column `s10`.
fn taps(p: &mut Program, ky: u32, kx: u32) {
    p.s_mov(s(11), s(9));
    p.loop_n(ky, |p| {
        p.d_set(d(0), Field::Y0, s(11)).s_add(s(11), s(11), 1).s_mov(s(12), s(10));
        p.loop_n(kx, |p| {
            p.d_set(d(0), Field::X0, s(12)).s_add(s(12), s(12), 1);
            load(p);
        });
    });
}

/// Row 2: 8 x 16 output pixels, so a tile fills an eighth of the array.
fn strided_convolution(p: &mut Program) {
    let (width, height) = (128, 64);
    let flow =
        FlowDesc::default().rows(8).cols(16).width(width).height(height).row_pitch(width).col_step(8).row_step(8);
    p.flow(d(0), &flow);
    row(p, |p| {
        p.s_mov(s(8), 0).s_mov(s(9), 0).s_mov(s(10), 0);
        repeat(p, s(20), 32, |p| {
            p.d_set(d(0), Field::Ocm, s(8)).s_add(s(8), s(8), width * height);
            taps(p, 8, 8);
        });
    });
}

/// Row 2b: a PE takes 4 adjacent columns as a word, then, of the result, 2 as a pair; rows come one of 4, then one of 2.
fn space_to_depth(p: &mut Program) {
    let words = FlowDesc::default().elem(4).rows(16).cols(32).width(32).height(64).row_pitch(128).row_step(4);
    let pairs = FlowDesc::default().elem(2).rows(8).cols(16).width(16).height(16).row_pitch(32).row_step(2);
    row(p, |p| {
        for (flow, channels, plane, taps) in [(words, 32, 128 * 64, 4), (pairs, 512, 32 * 16, 2)] {
            p.flow(d(0), &flow).s_mov(s(8), 0);
            p.loop_n(channels, |p| {
                p.d_set(d(0), Field::Ocm, s(8)).s_add(s(8), s(8), plane).s_mov(s(9), 0);
                p.loop_n(taps, |p| {
                    p.d_set(d(0), Field::Y0, s(9)).s_add(s(9), s(9), 1);
                    load(p);
                });
            });
        }
    });
}

/// Tiles of row 3.
const N_STORES: u32 = 384;

/// Row 3, before: each PE stores to the place of its own.
fn random_stores(p: &mut Program) {
    let (index, data, tile) = (0, 4, p.target().pes());
    let cols = p.target().spec().cols;
    p.fx_mul(w(index), Src::QRow, cols, 0).add(w(index), w(index), Src::QCol);
    p.rau(d(0), &RauDesc::default().lrm(index).data(data).limit(tile));
    row(p, |p| {
        p.s_mov(s(8), 0);
        p.loop_n(N_STORES, |p| {
            p.d_set(d(0), Field::Ocm, s(8)).s_add(s(8), s(8), tile);
            p.rau_store(d(0), t(0)).wait(t(0), Tiles::All);
        });
    });
}

/// Row 3, after: the tiles leave one after another, from adjacent bytes.
fn one_flow(p: &mut Program) {
    let (cols, tile) = (p.target().spec().cols, p.target().pes());
    let flow = FlowDesc::full(p.target()).width(cols).height(tile / cols).row_pitch(cols).plane_pitch(tile);
    p.flow(d(0), &flow.n0(N_STORES).dp0(1).lrm_step(1));
    row(p, |p| {
        p.flow_out(d(0), t(0)).wait(t(0), Tiles::All);
    });
}

/// Row 4: 1,024 channels of 64 x 128. Two tiles are on their way in and two on their way out, so that both engines always
/// have a flow queued; tile `i` uses the `i % 4`-th buffer, its flows the `i % 2`-th token.
fn fusion_buffer(p: &mut Program) {
    // Four tiles stand side by side in a row of tiles.
    const TILES: u32 = 8192;
    const ROW_OF_TILES: u32 = 32 * 128;
    const OUT: u32 = TILES * 32 * 32;
    let flow = FlowDesc::full(p.target()).width(32).height(32).row_pitch(128);
    let start_in = |p: &mut Program, i: u32| {
        p.s_add(s(10), s(8), i % 4 * 32).d_set(d(0), Field::Ocm, s(10)).d_set(d(0), Field::Lrm, i % 4);
        p.flow_in(d(0), t(i % 2));
    };
    let start_out = |p: &mut Program, i: u32| {
        p.s_add(s(10), s(9), i % 4 * 32).d_set(d(1), Field::Ocm, s(10)).d_set(d(1), Field::Lrm, i % 4);
        p.flow_out(d(1), t(2 + i % 2));
    };
    p.flow(d(0), &flow).flow(d(1), &flow);
    row(p, |p| {
        p.s_mov(s(8), 0).s_mov(s(9), OUT);
        for i in 0..2 {
            start_in(p, i);
        }
        for i in 0..2 {
            p.wait(t(i % 2), Tiles::All);
            start_out(p, i);
            start_in(p, i + 2);
        }
        p.s_add(s(8), s(8), ROW_OF_TILES);
        p.loop_n((TILES - 4) / 4, |p| {
            for i in 2..6 {
                p.wait(t(i % 2), Tiles::All).wait(t(2 + i % 2), Tiles::All);
                start_out(p, i);
                if i == 3 {
                    p.s_add(s(9), s(9), ROW_OF_TILES);
                }
                start_in(p, i + 2);
            }
            p.s_add(s(8), s(8), ROW_OF_TILES);
        });
        for i in 2..4 {
            p.wait(t(i % 2), Tiles::All).wait(t(2 + i % 2), Tiles::All);
            start_out(p, i);
        }
        p.wait(t(2), Tiles::All).wait(t(3), Tiles::All);
    });
}
