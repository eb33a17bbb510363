//! What random programs compute: the simulator's whole final state against the reference machine's, bit by bit.

use std::collections::BTreeSet;

use iss::image::Image;
use iss::isa::Inst;
use iss::isa::operand::*;
use iss::sim::{Options, Simulator, Stopped, TrapCause};
use iss::target::Target;

use crate::generate;
use crate::harness::{check_profile, contents, seeds, started, targets};
use crate::model::{End, Model, Why};

fn end_of(stopped: &Stopped) -> End {
    let trap = match stopped {
        Stopped::Halt => return End::Halt,
        Stopped::Trap(trap) => trap,
        other => panic!("a run ends with a halt or a trap, not {other:?}"),
    };
    let why = match &trap.cause {
        TrapCause::Hazard { memory, .. } => Why::Hazard(*memory),
        TrapCause::EngineHazard { memory, .. } => Why::EngineHazard(*memory),
        TrapCause::Division { .. } => Why::Division,
        TrapCause::Assertion { .. } => Why::Assertion,
        other => panic!("a well-formed program stopped: {other}\n{trap}"),
    };
    End::Stop { pc: trap.pc, why }
}

/// Compares a value of every PE; the border as far as the simulator shows it.
fn check_grid(sim: &mut Simulator, model: &Model, src: Src, value: impl Fn(usize) -> i32, seed: u64) {
    let grid = sim.value(src).expect("nothing is in flight");
    for (i, pe) in model.pes.iter().enumerate() {
        if !pe.core && grid.border() == 0 {
            continue;
        }
        let (found, expected) = (grid.get(pe.row as usize, pe.col as isize), value(i));
        assert_eq!(found, Some(expected), "seed {seed}: {src} of PE ({}, {})", pe.row, pe.col);
    }
}

fn check_state(sim: &mut Simulator, model: &Model, seed: u64) {
    for at in (0..model.pes[0].lrm.len()).step_by(4) {
        let word = |i: usize| i32::from_le_bytes(model.pes[i].lrm[at..at + 4].try_into().expect("four bytes"));
        check_grid(sim, model, Src::Lrm(Lrm::word(at as u32).expect("aligned")), word, seed);
    }
    for n in 0..16 {
        check_grid(sim, model, Src::Acc(Acc::new(n).expect("legal")), |i| model.pes[i].acc[n as usize], seed);
    }
    for dir in Dir::ALL {
        check_grid(sim, model, Src::Port(dir), |i| model.pes[i].port[dir as usize], seed);
    }
    check_grid(sim, model, Src::QRow, |i| model.pes[i].row, seed);
    check_grid(sim, model, Src::QCol, |i| model.pes[i].col, seed);
    assert_eq!(sim.scalars().expect("started"), &model.scalars, "seed {seed}: scalars");
    let differs = |a: &[u8], b: &[u8]| a.iter().zip(b).position(|(a, b)| a != b);
    for (name, expected) in [("ocm", &model.ocm), ("ext", &model.ext)] {
        assert_eq!(differs(sim.buffer(name).expect("a buffer"), expected), None, "seed {seed}: first byte of {name}");
    }
    check_probes(sim, model, seed);
}

fn check_probes(sim: &Simulator, model: &Model, seed: u64) {
    assert_eq!(sim.probes().len(), model.probes.len(), "seed {seed}: probes");
    for (record, (pc, values)) in sim.probes().iter().zip(&model.probes) {
        assert_eq!(record.pc, *pc, "seed {seed}: probe");
        for (pe, value) in model.pes.iter().zip(values) {
            let shown = record.grid.get(pe.row as usize, pe.col as isize);
            assert!(shown.is_none_or(|v| v == *value), "seed {seed}: probe at pc {pc}, PE ({}, {})", pe.row, pe.col);
            assert!(shown.is_some() || !pe.core);
        }
    }
}

/// Runs a program on both; the reference machine at its end, and whether that was a halt.
fn check_program(target: &Target, image: &Image, seed: u64) -> (bool, Model) {
    let (ocm, ext) = contents(target, seed);
    let mut model = Model::new(target, image.decode(), ocm.clone(), ext.clone());
    let mut sim = started(image, Options::default(), &ocm, &ext);
    let stopped = sim.run().expect("started");
    check_profile(&sim);
    let expected = model.run(0);
    assert_eq!(end_of(&stopped), expected, "seed {seed} on {target}: {stopped:?}");
    if expected == End::Halt {
        assert_eq!(sim.instructions(), model.executed, "seed {seed}: instructions");
        check_state(&mut sim, &model, seed);
    }
    (expected == End::Halt, model)
}

/// Runs `default` programs a target; at least `halts` percent of them must get to their end.
fn check_target(index: usize, default: u64, wild: bool, halts: u64) {
    let target = &targets()[index];
    let seeds = seeds(default);
    let (mut halted, mut executed, mut seen) = (0, 0, BTreeSet::new());
    for seed in &seeds {
        let image = generate::program(target, *seed, wild);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_program(target, &image, *seed)));
        let (end, model) = caught.unwrap_or_else(|_| panic!("seed {seed} on {target}, wild: {wild}"));
        halted += end as u64;
        executed += model.executed;
        seen.extend(model.seen);
    }
    let n = seeds.len() as u64;
    // `trap` has its own test.
    let missing = Inst::table().into_iter().filter(|row| row.mnemonic != "trap" && !seen.contains(&row.opcode));
    let missing: Vec<_> = missing.map(|row| row.mnemonic).collect();
    assert!(n < 100 || missing.is_empty(), "instructions that no program executed: {missing:?}");
    assert!(n < 20 || 100 * halted >= halts * n, "only {halted} of {n} programs halt");
    eprintln!("{target}: {n} programs, {executed} instructions, {halted} to the end");
}

#[test]
fn random_programs_8x8() {
    check_target(0, 900, false, 100);
}
#[test]
fn random_programs_16x16() {
    check_target(1, 500, false, 100);
}
#[test]
fn random_programs_5x7_with_border_of_3() {
    check_target(2, 700, false, 100);
}
#[test]
fn random_programs_32x32() {
    check_target(3, 150, false, 100);
}
/// Programs that do not always mind what is in flight: both machines must stop at the same instruction.
#[test]
fn wild_programs_stop_where_the_reference_says() {
    check_target(0, 500, true, 20);
    check_target(2, 500, true, 20);
}
