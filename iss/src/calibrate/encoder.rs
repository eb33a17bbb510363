//! Row 7: the encoder of DETR, one token per PE, 360 of them on an 18 x 20 grid: its linear layers, and its accesses to
//! scores kept in on-chip memory.

use super::lab::{Program, repeat, row};
use super::{Role, Row};
use crate::builder::*;
use crate::isa::Class;
use crate::target::{Target, TargetError};

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "7",
        what: "DETR encoder, linear layers of 6 layers, 360 tokens on an 18x20 grid",
        measures: "mac",
        published: Some(489_686),
        on_paper: Some(491_520),
        tolerance_pct: Some(3.0),
        role: Role::Fixes("mac8"),
        machine: detr_machine,
        run: |lab| Ok(lab.run(linear_layers)?.row().class(Class::Mac).cycles),
    },
    Row {
        id: "7b",
        what: "the same, scores kept in OCM: 22,016 tile accesses a layer, one flow each",
        measures: "data_ocm",
        published: Some(6_007_000),
        on_paper: Some(5_548_032),
        tolerance_pct: None,
        role: Role::Predicts,
        machine: detr_machine,
        run: |lab| Ok(lab.run(score_accesses)?.row().class(Class::DataOcm).cycles),
    },
    Row {
        id: "7c",
        what: "the same, bytes read from external memory; simulated: weights, biases and scales of the linear layers only",
        measures: "external bytes",
        published: Some(13_070_000),
        on_paper: None,
        tolerance_pct: None,
        role: Role::Predicts,
        machine: detr_machine,
        run: |lab| Ok(lab.run(linear_layers)?.profile.ext_read_bytes),
    },
];

/// The published run had half the on-chip memory, a slower clock and half the bandwidth.
fn detr_machine(target: &Target) -> Result<Target, TargetError> {
    target.to_builder().ocm_mb(8).clock_mhz(1560).ext_gb_s(64).build()
}

const LAYERS: u32 = 6;
const MODEL: u32 = 256;
const HIDDEN: u32 = 2048;

/// A matrix: channels in and out, and where they lie in local memory, a byte each.
struct Linear {
    inputs: u32,
    outputs: u32,
    from: u32,
    to: u32,
}

/// Queries, keys, values, output projection (the attention between them is not part of the row), feed-forward up and down.
const LINEARS: [Linear; 6] = [
    Linear { inputs: MODEL, outputs: MODEL, from: 0, to: 256 },
    Linear { inputs: MODEL, outputs: MODEL, from: 0, to: 512 },
    Linear { inputs: MODEL, outputs: MODEL, from: 0, to: 768 },
    Linear { inputs: MODEL, outputs: MODEL, from: 768, to: 1024 },
    Linear { inputs: MODEL, outputs: HIDDEN, from: 1024, to: 1280 },
    Linear { inputs: HIDDEN, outputs: MODEL, from: 1280, to: 0 },
];

impl Linear {
    /// Entries of the weight stream for one output: bias, multiplier and zero point, then 16 weights each.
    const fn entries(&self) -> u32 {
        1 + self.inputs / 16
    }
    const fn bytes(&self) -> u32 {
        self.outputs * self.entries() * 16
    }
}

/// The layers one after another; the next layer's weights arrive while one is computed.
fn linear_layers(p: &mut Program) {
    let layer_bytes = LINEARS.iter().map(Linear::bytes).sum::<u32>().next_multiple_of(64);
    let weights = p.constant(&vec![1; layer_bytes as usize]);
    p.s_add(s(30), s(31), weights);
    let fetch = |p: &mut Program, layer: u32| {
        p.dma(d(0), &DmaDesc::default().ext(s(30)).ocm(layer % 2 * layer_bytes).bytes(layer_bytes));
        p.dma_in(d(0), t(layer % 2));
    };
    row(p, |p| {
        fetch(p, 0);
        for layer in 0..LAYERS {
            p.wait(t(layer % 2), Tiles::All);
            if layer + 1 < LAYERS {
                fetch(p, layer + 1);
            }
            LINEARS.iter().fold(layer % 2 * layer_bytes, |at, linear| {
                multiply(p, linear, at);
                at + linear.bytes()
            });
        }
    });
}

/// One matrix, its weights at `ocm`.
fn multiply(p: &mut Program, linear: &Linear, ocm: u32) {
    let entries = linear.outputs * linear.entries();
    p.broadcast(d(1), &BroadcastDesc::default().ocm(ocm).n0(entries)).bcast(d(1), t(2)).s_mov(s(0), linear.to);
    p.loop_n(linear.outputs, |p| {
        // The fourth word pads the entry.
        for word in 0..4 {
            p.mov(acc(word), Src::BROADCAST);
        }
        for slot in 0..linear.inputs / 16 {
            p.mac8(MacShape::Dot, acc(0), w(linear.from + 16 * slot));
        }
        p.fx_mul(acc(0), acc(0), acc(1), 24).add(acc(0), acc(0), acc(2)).clip(acc(0), acc(0), -128, 127);
        p.mov(b(0).based(s(0)), acc(0)).s_add(s(0), s(0), 1);
    });
    p.wait(t(2), Tiles::All);
}

/// Tiles written and read back in turn, each by a flow of its own that is waited for at once.
fn score_accesses(p: &mut Program) {
    const ACCESSES: u32 = 22_016;
    // More tiles than fit: the walk over on-chip memory begins again after this many.
    const ROUND: u32 = 5_504;
    const PITCH: u32 = 32;
    const TILE: u32 = 18 * PITCH;
    let flow = FlowDesc::default().rows(18).cols(20).width(20).height(18).row_pitch(PITCH);
    p.flow(d(0), &flow).flow(d(1), &flow);
    row(p, |p| {
        repeat(p, s(20), LAYERS, |p| {
            p.loop_n(ACCESSES / 2 / ROUND, |p| {
                p.s_mov(s(8), 0);
                p.loop_n(ROUND, |p| {
                    p.d_set(d(0), Field::Ocm, s(8)).d_set(d(1), Field::Ocm, s(8)).s_add(s(8), s(8), TILE);
                    p.flow_out(d(0), t(0)).wait(t(0), Tiles::All);
                    p.flow_in(d(1), t(1)).wait(t(1), Tiles::All);
                });
            });
        });
    });
}
