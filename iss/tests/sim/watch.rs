//! Who wrote a byte, and what its PE computed before: on the first program of the assembly page.

use iss::asm::assemble;
use iss::isa::operand::Engine;
use iss::sim::{Arg, Options, SimError, Simulator, Stopped};

fn first() -> Simulator {
    let text = include_str!("../../programs/first.s");
    Simulator::new(&assemble(text).expect("it assembles"), Options::default()).expect("one core")
}

fn start(sim: &mut Simulator, x: &[u8]) {
    sim.start("tile", &[("x", Arg::Bytes(x)), ("bias", Arg::Scalar(5))]).expect("it fits");
}

#[test]
fn the_copy_that_wrote_an_external_byte() {
    let mut sim = first();
    start(&mut sim, &[7; 1024]);
    sim.watch("y", 99).expect("y is a buffer");
    assert_eq!(sim.run().expect("it runs"), Stopped::Halt);
    let [write] = sim.writes() else { panic!("one write: {:?}", sim.writes()) };
    assert_eq!((write.engine, write.pe, write.local), (Engine::DmaOut, None, None));
    let text = sim.image().decode()[write.pc as usize].to_string();
    assert!(text.starts_with("dma_out"), "{text}");
}

/// `y = max(x + 5, 0)` on one tile of on-chip memory.
const KERNEL: &str = "
.target QC-U
.entry main
.param x ocm in 1024 s8
.param y ocm out 1024 s9
    d_set d1, ocm, s8
    d_set d1, elem, #1
    d_set d1, width, #32
    d_set d1, height, #32
    d_set d1, row_pitch, #32
    d_set d1, col_step, #1
    d_set d1, row_step, #1
    d_set d1, rows, #32
    d_set d1, cols, #32
    flow_in d1, t1
    wait t1, all
    add a0, [0].b, #5
    max a0, a0, #0
    mov [4].b, a0
    d_set d1, ocm, s9
    d_set d1, lrm, #4
    flow_out d1, t1
    wait t1, all
    halt
";

#[test]
fn what_a_pe_computed_before_its_element_left() {
    let image = assemble(KERNEL).expect("it assembles");
    let mut sim = Simulator::new(&image, Options::default()).expect("one core");
    let x: Vec<u8> = (0..1024).map(|i| (i % 100) as u8).collect();
    sim.start("main", &[("x", Arg::Bytes(&x))]).expect("it fits");
    sim.watch("y", 32 * 3 + 7).expect("y is a buffer");
    sim.run().expect("it runs");
    let write = sim.writes().last().expect("a flow wrote it").clone();
    assert_eq!((write.engine, write.pe, write.local), (Engine::FlowOut, Some((3, 7)), Some(4)));
    sim.start("main", &[("x", Arg::Bytes(&x))]).expect("it fits");
    let history = sim.history(&write, 3).expect("it runs");
    let seen: Vec<(&str, i32)> = history.iter().map(|op| (op.text.as_str(), op.value)).collect();
    // x is 103 % 100 there.
    assert_eq!(seen, [("add a0, [0].b, #5", 8), ("max a0, a0, #0", 8), ("mov [4].b, a0", 8)]);
}

#[test]
fn what_cannot_be_watched_is_named() {
    let mut sim = first();
    assert!(matches!(sim.watch("y", 0), Err(SimError::NoParam { .. })));
    start(&mut sim, &[0; 1024]);
    assert!(matches!(sim.watch("z", 0), Err(SimError::NoParam { .. })));
    assert!(matches!(sim.watch("y", 1024), Err(SimError::Look { .. })));
    assert_eq!(sim.writes(), []);
}
