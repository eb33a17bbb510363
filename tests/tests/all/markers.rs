//! `probe!` and `assert!`: the same grids and the same failures natively, by the interpreter and on the simulator; free when off.

use ccl_runtime::ccl;
use ccl_runtime::front::Markers;
use ccl_runtime::interp::{Library, Limits};
use ccl_runtime::kernel::{Arguments, ElemType, HostTensor, Instance, Kernel};
use ccl_runtime::lower::Options;
use ccl_runtime::native::{Probe, Probes, Session};
use ccl_runtime::testing::{Check, Probed};

ccl! {
    /// Negative elements doubled; a partial tile, a scalar, a buffer, and a value under a mask are probed.
    #[kernel]
    #[no_reference("what is probed matters")]
    fn probed<const H: usize, const W: usize>(x: &Ocm<i8, Packed<4, H, W>>, y: &mut Ocm<i8, Packed<4, H, W>>) {
        for t in x.tiles() {
            let mut a = t.fetch::<Lrm<i8, 4>>().wait();
            probe!(a, t.index() + 3);
            for c in 0..4 {
                let negative = a[c] < 0;
                if negative {
                    let twice = a[c].widen::<i16>() * 2;
                    probe!(twice);
                    a[c] = twice.narrow::<i8>(Saturate);
                }
                probe!(negative, fx_raw::<4>(a[c].widen::<i32>()));
            }
            y.at(t).store(a);
        }
    }

    /// The same without markers.
    #[kernel]
    #[no_reference("its cost matters")]
    fn bare<const H: usize, const W: usize>(x: &Ocm<i8, Packed<4, H, W>>, y: &mut Ocm<i8, Packed<4, H, W>>) {
        for t in x.tiles() {
            let mut a = t.fetch::<Lrm<i8, 4>>().wait();
            for c in 0..4 {
                let negative = a[c] < 0;
                if negative {
                    let twice = a[c].widen::<i16>() * 2;
                    a[c] = twice.narrow::<i8>(Saturate);
                }
            }
            y.at(t).store(a);
        }
    }

    /// Fails where an element is 7.
    #[kernel]
    #[no_reference("its assertion matters")]
    fn no_seven<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i8, Planar<1, H, W>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            assert!(a[0] != 7, "an element is 7");
            y.at(t).store(a);
        }
    }

    #[instance(target = QC_N)]
    const PROBED: Kernel = probed::<8, 11>;
    #[instance(target = QC_N)]
    const BARE: Kernel = bare::<8, 11>;
    #[instance(target = QC_N)]
    const NO_SEVEN: Kernel = no_seven::<8, 8>;
}

const TEXT: &str = include_str!("markers.rs");

fn inputs(kernel: &Kernel, value: impl Fn(usize) -> i64) -> Arguments {
    let dims = match kernel.function() {
        "no_seven" => [1, 8, 8],
        _ => [4, 8, 11],
    };
    let x = HostTensor::from_fn(ElemType::I8, &dims, value);
    Arguments::new().with("x", x).with("y", HostTensor::zeros(ElemType::I8, &dims))
}

fn of_text(name: &str) -> Instance {
    Instance::from_text("tests/tests/markers.rs", TEXT, name, &Library::new()).expect("the text of this file")
}

fn interpreted(name: &str, arguments: &Arguments) -> Vec<Probe> {
    let instance = of_text(name);
    let mut session = Session::new(instance.target());
    session.probes(Probes::Record);
    instance.interpret_on(&mut session, &mut arguments.clone(), Limits::default()).expect("it runs");
    session.probed().to_vec()
}

#[test]
fn probes_show_the_same_grids_in_all_three() {
    use ccl_runtime::testing::check::Subject;
    let arguments = inputs(&PROBED, |i| (i as i64 * 37 % 256) - 128);
    let probed = PROBED.probes(&arguments).expect("it runs");
    assert_eq!(probed.native, interpreted("PROBED", &arguments));
    assert!(probed.agree(), "{probed}");
    // Two tiles of a buffer of 4, a scalar, and three probes a channel.
    assert_eq!(probed.native.len(), 2 * (4 + 1 + 3 * 4));
    let masked = probed.native.iter().find(|probe| probe.name == "twice").expect("it is probed").to_string();
    let rows: Vec<&str> = masked.lines().collect();
    assert_eq!(rows[..2], ["twice:", "        0    1    2    3    4    5    6    7"]);
    assert!(rows[2].starts_with("   0 -256 -182 -108  -34    .    .    ."), "{masked}");
    assert!(Probed { simulated: Vec::new(), ..probed }.to_string().contains("simulator: nothing"));
}

#[test]
fn probes_that_are_off_are_free() {
    let cycles = |kernel: &Kernel, markers| {
        let arguments = inputs(kernel, |i| (i as i64 % 200) - 100);
        let instance = Instance::of_kernel(kernel).expect("an instance");
        let compiled = instance.compile_with(markers, &arguments, &Options::default()).expect("it compiles");
        let outcome = compiled.run(&arguments, &Default::default()).expect("it runs");
        (outcome.profile.cycles, outcome.probes.len())
    };
    assert_eq!(cycles(&PROBED, Markers::Asserts), cycles(&BARE, Markers::Asserts));
    assert_eq!(cycles(&PROBED, Markers::All).1, 34);
    assert!(cycles(&NO_SEVEN, Markers::None).0 < cycles(&NO_SEVEN, Markers::Asserts).0, "the comparison is left out");
    Check::new(&PROBED).cases(1).print_probes().run();
}

#[test]
fn a_failed_assertion_has_place_element_and_text_in_all_three() {
    let arguments = inputs(&NO_SEVEN, |i| if i == 2 * 8 + 5 { 7 } else { 0 });
    let line = 1 + TEXT.lines().position(|line| line.contains("a[0] != 7,")).expect("the assertion");
    let native = NO_SEVEN.run_native(&mut Session::new(NO_SEVEN.target), &mut arguments.clone()).map_err(text);
    let interpreted = of_text("NO_SEVEN").interpret(&mut arguments.clone(), Limits::default()).map_err(text);
    let simulated = Instance::of_kernel(&NO_SEVEN).expect("an instance").run(&arguments).map(|_| ()).map_err(text);
    for failure in [native, interpreted, simulated] {
        let failure = failure.expect_err("an element is 7");
        assert!(failure.contains(&format!("markers.rs:{line}")), "{failure}");
        assert!(failure.contains("PE (row 2, column 5)"), "{failure}");
        assert!(failure.contains("an element is 7"), "{failure}");
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
