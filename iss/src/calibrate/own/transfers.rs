//! What engines cost: starts, beats, queues, latencies, and what overlaps.

use super::{counts, cycles_after, own};
use crate::builder::*;
use crate::calibrate::Row;
use crate::calibrate::lab::{Lab, LabError, Program, row};
use crate::target::{Param, Target};

pub(super) const ROWS: &[Row] = &[
    own("flow", "a 32x32 int8 tile in, waited for", &[Param::flow_start, Param::flow_beat], |lab| flow(lab, |f| f)),
    own("flow-int32", "a 32x32 int32 tile in, waited for", &[Param::flow_beat], |lab| {
        flow(lab, |f| f.elem(4).row_pitch(512))
    }),
    own("flow-unaligned", "an int8 tile that begins 5 bytes behind a beat", &[Param::flow_beat], |lab| {
        flow(lab, |f| f.x0(5))
    }),
    own("flow-halo", "an int8 tile with 4 columns of halo on each side", &[Param::flow_beat], |lab| {
        flow(lab, |f| f.x0(32).halo(4))
    }),
    own("flow-border", "an int8 tile of which 16 rows lie outside the tensor", &[Param::flow_beat], |lab| {
        flow(lab, |f| f.y0(-16))
    }),
    own("flow-strided", "an int8 tile of every second column", &[Param::flow_strided], |lab| {
        flow(lab, |f| f.col_step(2))
    }),
    own("flow-walk", "a walk over 32 int8 tiles in one flow", &[Param::flow_beat, Param::flow_dead_cycle_in], |lab| {
        flow(lab, |f| f.n0(32).dy0(1).lrm_step(1))
    }),
    own("flow-queued", "two flows in, the second queued behind the first", &[Param::flow_start], |lab| flows(lab, 2)),
    own(
        "flow-third",
        "three flows in, the third start waits for the first flow",
        &[Param::flow_queue],
        starts_of_flows,
    ),
    own("flow-overlap", "a flow in behind 100 adds, waited for", &[Param::engine_start, Param::engine_sync], overlap),
    own(
        "flow-tiles",
        "a walk over 4 tiles, each waited for and followed by 10 adds",
        &[Param::engine_sync],
        tile_waits,
    ),
    own(
        "ring",
        "a walk over 16 tiles through a ring of 2, 40 adds each before the release",
        &[Param::engine_sync],
        ring,
    ),
    own("in-out", "a flow in and a flow out at once, drained", &[Param::flow_start, Param::engine_sync], in_and_out),
    own("bcast-start", "a broadcast and a MAC step on its first entry", &[Param::broadcast_start], |lab| {
        broadcast(lab, 1, |p| _ = p.mac8(MacShape::Dot, acc(0), w(0)))
    }),
    own("bcast-words", "a broadcast of 16 entries, read by 64 moves", &[Param::broadcast_start], |lab| {
        broadcast(lab, 16, |p| (0..64).for_each(|_| _ = p.mov(acc(0), Src::BROADCAST)))
    }),
    own(
        "bcast-third",
        "three broadcasts of an entry each",
        &[Param::broadcast_streams, Param::broadcast_start],
        streams,
    ),
    counts(
        "entries",
        own("bcast-queue", "longest broadcast that can be waited for unread", &[Param::broadcast_queue], |lab| {
            lab.largest(|p, n| {
                p.broadcast(d(0), &BroadcastDesc::default().n0(n)).bcast(d(0), t(0)).wait(t(0), Tiles::All);
                (0..n).for_each(|_| _ = p.mac8(MacShape::Dot, acc(0), w(0)));
            })
        }),
    ),
    own(
        "rau",
        "a RAU store of 1,024 distinct elements",
        &[Param::rau_row, Param::rau_accesses, Param::rau_tail],
        |lab| random(lab, |p| _ = p.fx_mul(w(0), Src::QRow, 32, 0).add(w(0), w(0), Src::QCol)),
    ),
    own("rau-merged", "a RAU store in which each row has one address", &[Param::rau_merges], |lab| {
        random(lab, |p| _ = p.mov(w(0), Src::QRow))
    }),
    own("rau-rows", "a RAU store of 1,024 distinct elements with 16 rows disabled", &[Param::rau_row], |lab| {
        random(lab, |p| {
            p.fx_mul(w(0), Src::QRow, 32, 0).add(w(0), w(0), Src::QCol).cmp(Cond::Lt, Src::QRow, 16).p_disable();
        })
    }),
    own("dma-in", "1 MB from external memory, waited for", &[Param::dma_latency], |lab| dma(lab, true, false)),
    own("dma-out", "1 MB to external memory, waited for", &[Param::dma_latency], |lab| dma(lab, false, true)),
    own("dma-both", "1 MB each way at once, drained", &[Param::dma_latency], |lab| dma(lab, true, true)),
    own("dma-bursts", "1,024 rows of 4 bytes from external memory", &[Param::dma_burst], |lab| {
        dmas(lab, 1, |desc, _| desc.bytes(4).n0(1024).ext_pitch(64).row_pitch(4))
    }),
    own("dma-queue", "16 transfers of 64 bytes from external memory", &[Param::dma_queue, Param::dma_latency], |lab| {
        dmas(lab, 16, |desc, i| desc.bytes(64).ocm(64 * i))
    }),
];

/// A tensor of bytes, wide and high enough for every flow here.
fn tensor(target: &Target) -> FlowDesc {
    FlowDesc::full(target).width(128).height(128).row_pitch(128)
}

fn flow(lab: &Lab, change: fn(FlowDesc) -> FlowDesc) -> Result<u64, LabError> {
    let desc = change(tensor(lab.target()));
    cycles_after(lab, |p| _ = p.flow(d(0), &desc), |p| _ = p.flow_in(d(0), t(0)).wait(t(0), Tiles::All))
}

/// Starts flows in to addresses of their own.
fn start_flows(p: &mut Program, n: u32) {
    (0..n).for_each(|i| _ = p.flow_in(d(i), t(i)));
}

fn set_up_flows(p: &mut Program, n: u32) {
    let desc = tensor(p.target());
    (0..n).for_each(|i| _ = p.flow(d(i), &desc.lrm(i)));
}

fn flows(lab: &Lab, n: u32) -> Result<u64, LabError> {
    cycles_after(
        lab,
        |p| set_up_flows(p, n),
        |p| {
            start_flows(p, n);
            (0..n).for_each(|i| _ = p.wait(t(i), Tiles::All));
        },
    )
}

fn starts_of_flows(lab: &Lab) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        set_up_flows(p, 3);
        row(p, |p| start_flows(p, 3));
        p.drain(Engines::ALL);
    })?;
    Ok(run.cycles())
}

fn overlap(lab: &Lab) -> Result<u64, LabError> {
    cycles_after(
        lab,
        |p| set_up_flows(p, 1),
        |p| {
            start_flows(p, 1);
            (0..100).for_each(|_| _ = p.add(acc(0), acc(0), 1));
            p.wait(t(0), Tiles::All);
        },
    )
}

fn tile_waits(lab: &Lab) -> Result<u64, LabError> {
    let desc = tensor(lab.target()).n0(4).dy0(1).lrm_step(1);
    cycles_after(
        lab,
        |p| _ = p.flow(d(0), &desc),
        |p| {
            p.flow_in(d(0), t(0));
            for tile in 1..=4 {
                p.wait(t(0), tile);
                (0..10).for_each(|_| _ = p.add(acc(0), acc(0), 1));
            }
        },
    )
}

fn ring(lab: &Lab) -> Result<u64, LabError> {
    const TILES: u32 = 16;
    let desc = tensor(lab.target()).n0(TILES).dy0(1).group(1).ring(2).ring_step(1);
    cycles_after(
        lab,
        |p| _ = p.flow(d(0), &desc),
        |p| {
            p.flow_in(d(0), t(0));
            for tile in 1..=TILES {
                p.wait(t(0), tile);
                (0..40).for_each(|_| _ = p.add(acc(0), acc(0), 1));
                p.release(t(0));
            }
        },
    )
}

fn in_and_out(lab: &Lab) -> Result<u64, LabError> {
    let desc = tensor(lab.target());
    cycles_after(
        lab,
        |p| _ = p.flow(d(0), &desc).flow(d(1), &desc.ocm(1 << 20).lrm(1)),
        |p| _ = p.flow_in(d(0), t(0)).flow_out(d(1), t(1)).drain(Engines::ALL),
    )
}

fn broadcast(lab: &Lab, entries: u32, reads: fn(&mut Program)) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        p.broadcast(d(0), &BroadcastDesc::default().n0(entries));
        row(p, |p| {
            p.bcast(d(0), t(0));
            reads(p);
        });
        p.wait(t(0), Tiles::All);
    })?;
    Ok(run.cycles())
}

fn streams(lab: &Lab) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        p.broadcast(d(0), &BroadcastDesc::default());
        row(p, |p| (0..3).for_each(|i| _ = p.bcast(d(0), t(i))));
        (0..3).for_each(|i| _ = p.wait(t(i), Tiles::All).mac8(MacShape::Dot, acc(0), w(0)));
    })?;
    Ok(run.cycles())
}

/// A store to the elements that `index` writes to address 0.
fn random(lab: &Lab, index: fn(&mut Program)) -> Result<u64, LabError> {
    cycles_after(
        lab,
        |p| {
            p.rau(d(0), &RauDesc::default().lrm(0).data(4).limit(1024));
            index(p);
        },
        |p| _ = p.rau_store(d(0), t(0)).wait(t(0), Tiles::All),
    )
}

const MB: u32 = 1 << 20;

fn dma(lab: &Lab, inward: bool, outward: bool) -> Result<u64, LabError> {
    cycles_after(
        lab,
        |p| {
            let place = p.constant(&vec![0; 2 * MB as usize]);
            p.dma(d(0), &DmaDesc::default().bytes(MB)).d_set(d(0), Field::Ext, s(31));
            p.s_add(s(1), s(31), place + MB).dma(d(1), &DmaDesc::default().bytes(MB).ocm(MB).ext(s(1)));
        },
        |p| {
            if inward {
                p.dma_in(d(0), t(0));
            }
            if outward {
                p.dma_out(d(1), t(1));
            }
            p.drain(Engines::ALL);
        },
    )
}

/// Transfers in, started one after another, then drained.
fn dmas(lab: &Lab, n: u32, desc: fn(DmaDesc, u32) -> DmaDesc) -> Result<u64, LabError> {
    cycles_after(
        lab,
        |p| {
            p.constant(&[0; 1024 * 64]);
            p.dma(d(0), &desc(DmaDesc::default(), 0)).d_set(d(0), Field::Ext, s(31));
        },
        |p| {
            for i in 0..n {
                if let (1.., Value::Imm(ocm)) = (i, desc(DmaDesc::default(), i).ocm) {
                    p.d_set(d(0), Field::Ocm, ocm);
                }
                p.dma_in(d(0), t(i));
            }
            p.drain(Engines::ALL);
        },
    )
}
