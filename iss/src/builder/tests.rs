use super::*;
use crate::target::QC_U;

fn program() -> Program {
    Program::new(&QC_U)
}

#[test]
fn labels_go_both_ways() {
    let mut p = program();
    let (top, out) = (p.here(), p.label());
    p.branch(Cond::Eq, s(1), 0, out).s_sub(s(1), s(1), 1).jump(top);
    p.bind(out).halt();
    let code = p.finish().unwrap().decode();
    assert_eq!(code[0].code_addr().unwrap().get(), 3);
    assert_eq!(code[2].code_addr().unwrap().get(), 0);
}

#[test]
fn every_fault_is_reported_with_its_place() {
    let mut p = program();
    let never = p.label();
    p.mov(w(5000), 1).add(acc(3), acc(16), 9000).jump(never).s_add(s(1), s(2), s(40));
    p.clip(acc(0), acc(0), 5, 4);
    p.wait(t(0), -1).d_set(d(8), Field::Ocm, 1u32 << 31);
    let error = p.finish().unwrap_err();
    assert_eq!(error.faults.iter().map(|f| f.pc.unwrap()).collect::<Vec<_>>(), [0, 1, 3, 4, 5, 6, 2]);
    let text = error.to_string();
    assert!(text.contains("`mov`, operand `dst`: local memory: 5000 is outside 0..=4092"), "{text}");
    assert!(text.contains("never bound"), "{text}");
    assert!(error.faults.iter().all(|f| f.location.unwrap().file().ends_with("builder/tests.rs")), "{text}");
}

#[test]
fn empty_loop_is_refused() {
    let mut p = program();
    p.loop_n(4, |_| {}).halt();
    let text = p.finish().unwrap_err().to_string();
    assert_eq!(text, "image: instruction 0, `loop_i 4, @1`: target 1 is outside 2..=2");
}

#[test]
fn descriptors_set_what_is_not_zero() {
    let mut p = program();
    p.flow(d(1), &FlowDesc::full(&QC_U).ocm(s(8)).width(128).height(64).row_pitch(128).lrm(16));
    p.dma(d(2), &DmaDesc { ext: s(3).into(), bytes: 64.into(), ..DmaDesc::default() });
    let text: Vec<String> = p.finish().unwrap().decode().iter().map(ToString::to_string).collect();
    assert_eq!(text[..4], ["d_clear d1", "d_set d1, ocm, s8", "d_set d1, elem, #1", "d_set d1, width, #128"]);
    assert!(text.contains(&"d_set d1, lrm, #16".to_owned()) && !text.contains(&"d_set d1, x0, #0".to_owned()));
    assert_eq!(text[text.len() - 4..], ["d_clear d2", "d_set d2, n0, #1", "d_set d2, ext, s3", "d_set d2, bytes, #64"]);
}

#[test]
fn names_lines_constants_and_entries_land_in_the_image() {
    let mut p = program();
    let [a, c] = [p.constant(&[1, 2, 3]), p.constant(&[4])];
    p.entry("main")
        .ext("x", Direction::In, 100, s(8))
        .ocm("y", Direction::Out, 50, s(9))
        .scalar("n", s(10))
        .constants(s(11));
    p.line("kernel.rs", 12).region("conv", |p| {
        p.probe("conv", w(0)).line("kernel.rs", 13).nop();
    });
    p.no_line().trap("should not happen");
    let image = p.finish().unwrap();
    assert_eq!((a, c, image.constants().len()), (0, 64, 65));
    assert_eq!(image.names(), ["conv", "should not happen"]);
    assert_eq!(image.lines().lookup(1), Some(("kernel.rs", 12)));
    assert_eq!(image.lines().lookup(3), Some(("kernel.rs", 13)));
    assert_eq!(image.lines().lookup(4), None);
    assert_eq!(image.entry("main").unwrap().param("y").unwrap().reg, SReg::new(9).unwrap());
    assert_eq!(Image::from_bytes(&image.to_bytes()).unwrap(), image);
}

#[test]
fn raw_instructions_are_checked() {
    let mut p = program();
    let wild = crate::isa::operand::Lrm::Abs { width: crate::isa::operand::Width::Word, addr: 0xfff0 };
    p.inst(Inst::Mov { dst: wild.into(), a: Src::Imm(0) });
    assert_eq!(p.finish().unwrap_err().faults.len(), 1);
}
