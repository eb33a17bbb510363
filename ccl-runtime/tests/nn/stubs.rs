//! Attention stubs: the supplied ones against their contracts, and the ways to compose a kernel with one.

use ccl_runtime::ccl;
use ccl_runtime::interp::{Library, Limits};
use ccl_runtime::kernel::{ElemType, HostTensor, Instance};
use ccl_runtime::nn::stub::{head_cost_only, online_softmax, slots, whole_head};
use ccl_runtime::stub_conformance;
use ccl_runtime::testing::stub::{Claim, claim, scratch};
use ccl_runtime::testing::{Bar, Check};

// Weights of 12 bits are summed in another order and scaled down on the way.
const NEAR: Bar = Bar { by: 2, one_in: 4 };

stub_conformance!(mod cost_only_projection: post_projection = ccl_runtime::nn::stub::projection_cost_only, scratch = 0, Claim::Other);
stub_conformance!(mod mine: post_projection = crate::stubs::keep_positive, scratch = 0, Claim::Other);
stub_conformance!(mod again: post_projection = crate::stubs::plain_again, scratch = 128, Claim::Exact);
stub_conformance!(mod online: whole_head = ccl_runtime::nn::stub::online_softmax, scratch = 640, Claim::Within(super::NEAR));
stub_conformance!(mod cost_only_head: whole_head = ccl_runtime::nn::stub::head_cost_only, scratch = 640, Claim::Other);

ccl! {
    /// Negative elements become 0 behind the plain way, which a stub may call.
    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    pub fn keep_positive<
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        row: &mut Lrm<i8, D>,
        partition: usize,
        head: usize,
    ) {
        slots::post_projection::<D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(row, partition, head);
        for d in 0..D {
            row[d] = max(row[d], 0);
        }
    }

    /// The plain way by a buffer of its own.
    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    pub fn plain_again<
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        row: &mut Lrm<i8, D>,
        partition: usize,
        head: usize,
    ) {
        let mut values = Lrm::<Fx<20>, D>::new();
        let _ = (partition, head);
        for d in 0..D {
            values[d] = dequantize::<20>(row[d], Scale::new(IN_MANTISSA, IN_SHIFT), 0);
        }
        for d in 0..D {
            row[d] = quantize(values[d], Scale::new(OUT_MANTISSA, OUT_SHIFT), 0);
        }
    }

    use ccl_runtime::nn::stub::{attention_by_slot, project_by_slot};

    #[instance(target = QC_N)]
    const PROJECTED: Kernel = project_by_slot::<70, 8, 0, 13421773, 28, 12582912, 19>;
    #[instance(target = QC_N)]
    const KEPT: Kernel = project_by_slot::<70, 8, 0, 1, 0, 1, 0>;
    #[instance(target = QC_N)]
    const HEAD: Kernel = attention_by_slot::<70, 50, 64, 4, 16, 8, 640, 12582912, 35, 12582912, 23>;
    #[instance(target = QC_U)]
    const WIDE_HEAD: Kernel = attention_by_slot::<1030, 128, 128, 2, 64, 32, 1024, 12582912, 36, 1, 0>;
}

#[test]
fn the_plain_ways_are_near_double_precision() {
    Check::new(&PROJECTED).within(Bar { by: 1, one_in: 500 }).run();
    Check::new(&HEAD).within(Bar { by: 1, one_in: 8 }).run();
    Check::new(&WIDE_HEAD).within(Bar { by: 1, one_in: 8 }).cases(2).run();
}

#[test]
fn a_stub_of_the_crate_fills_the_slot_of_a_kernel_of_the_library() {
    let instance = Instance::of_kernel(&PROJECTED).expect("an instance");
    let x = HostTensor::from_fn(ElemType::I8, &[70, 8], |i| i as i64 % 256 - 128);
    let arguments = instance.zeros().with("x", x);
    let plain = instance.run(&arguments).expect("it runs").arguments;
    let filled = instance.fill::<slots::post_projection, keep_positive>().expect("the kernel has the slot");
    let simulated = filled.run(&arguments).expect("it runs").arguments;
    let mut interpreted = arguments;
    filled.interpret(&mut interpreted, Limits::default()).expect("it runs");
    assert_eq!(simulated, interpreted);
    let (plain, filled) = (plain.tensor("y").expect("an output"), simulated.tensor("y").expect("an output"));
    assert!((0..plain.len()).all(|i| filled.get(i) == plain.get(i).max(0)));
    assert!((0..plain.len()).any(|i| plain.get(i) < 0));
    let refused = Instance::of_kernel(&HEAD).expect("an instance").fill::<slots::post_projection, keep_positive>();
    let refused = refused.expect_err("the slot is another").to_string();
    let calls = "help: of other blocks it calls `whole_head`";
    assert_eq!(refused, format!("there is no slot `post_projection` in `attention_by_slot`\n{calls}"));
}

#[test]
fn a_stub_that_breaks_its_claim_or_its_contract_is_told() {
    let broken = claim(&KEPT, &PROJECTED, Claim::Exact).expect_err("one scales, the other does not");
    assert!(broken.contains("Exact of the plain way"), "{broken}");
    claim(&KEPT, &PROJECTED, Claim::Within(Bar { by: 26, one_in: 1 })).expect("128 * 1.2 saturates 26 steps off");
    scratch(&HEAD, 16, 416).expect("6 bytes a key and 4 a feature");
    let excess = scratch(&HEAD, 16, 415).expect_err("a byte is missing");
    assert!(excess.contains("allocates 416 bytes in each PE, its contract allows 415"), "{excess}");
}

/// A stub as a user's file has it.
const FILE: &str = "ccl! {
    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    fn negated<const D: usize, const SCRATCH: usize, const IN_MANTISSA: i32, const IN_SHIFT: i32, const OUT_MANTISSA: i32, const OUT_SHIFT: i32>(
        row: &mut Lrm<i8, D>, partition: usize, head: usize,
    ) {
        let _ = (partition, head);
        for d in 0..D {
            row[d] = (0 - row[d].widen::<i16>()).narrow::<i8>(Saturate);
        }
    }

    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    fn drifted<const D: usize, const SCRATCH: usize, const IN_MANTISSA: i32, const IN_SHIFT: i32, const OUT_MANTISSA: i32, const OUT_SHIFT: i32>(
        row: &mut Lrm<i16, D>, partition: usize, head: usize,
    ) {
        let _ = (partition, head, row[0]);
    }

    fn no_stub(x: i32) -> i32 {
        x
    }
}";

#[test]
fn a_stub_of_a_file_fills_the_slot_if_it_keeps_the_signature() {
    let mut library = Library::new();
    library.load("crate::stubs", "stubs.rs", FILE).expect("it has no mistakes");
    let instance = || Instance::of_kernel(&PROJECTED).expect("an instance");
    let x = HostTensor::from_fn(ElemType::I8, &[70, 8], |i| i as i64 % 256 - 128);
    let arguments = instance().zeros().with("x", x.clone());
    let filled = instance().fill_from(&library, "negated").expect("it keeps the signature");
    let outcome = filled.run(&arguments).expect("it runs").arguments;
    let mut interpreted = arguments;
    filled.interpret(&mut interpreted, Limits::default()).expect("it runs");
    assert_eq!(outcome, interpreted);
    let y = outcome.tensor("y").expect("an output");
    assert!((0..y.len()).all(|i| y.get(i) == (-x.get(i)).min(127)));
    let refusal = |stub: &str| instance().fill_from(&library, stub).expect_err("it cannot").to_string();
    let drifted = refusal("drifted");
    let field = "parameter `row` is `&mut Lrm<i16, D>`, that of the slot `post_projection` is `&mut Lrm<i8, D>`";
    assert!(drifted.starts_with(&format!("stubs.rs:16:9: stub `drifted`: {field}\nhelp: ")), "{drifted}");
    assert!(drifted.contains("    projected: &mut Lrm<i8, D>,\n"), "the slot's signature is shown: {drifted}");
    assert!(refusal("no_stub").contains("says of no slot that it fills it"));
    let known = "help: functions with `#[stub(path)]` are `negated`, `drifted`";
    assert_eq!(refusal("nothing"), format!("there is no function `nothing`\n{known}"));
}

/// What the arithmetic of a head costs is what it costs beyond moving its data.
#[test]
fn the_cost_only_stub_shows_what_the_arithmetic_costs() {
    let cost = |instance: Instance| {
        let arguments = instance.zeros();
        instance.run(&arguments).expect("it runs").profile.cycles
    };
    let wide = || Instance::of_kernel(&WIDE_HEAD).expect("an instance");
    let plain = cost(wide());
    let moved = cost(wide().fill::<whole_head, head_cost_only>().expect("the slot"));
    let online = cost(wide().fill::<whole_head, online_softmax>().expect("the slot"));
    println!("plain {plain}, online {online}, data movement alone {moved}");
    assert!(moved < plain && moved < online, "plain {plain}, online {online}, moved {moved}");
}
