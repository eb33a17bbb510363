//! `break`, `continue` and `return` where the array decides: natively, by the interpreter of the IR and on the simulator alike.
//! Taps.

use ccl_runtime::front::Markers;
use ccl_runtime::interp::Library;
use ccl_runtime::kernel::Instance;
use iss::target::QC_N;

use crate::kernels::{arguments, instance, run};

const TEXT: &str = "ccl! {
    fn halved(x: Q<i32>, most: i32) -> Q<i32> {
        let mut v = x;
        for i in 0..5 {
            if all(v < most) {
                return v + i;
            }
            v = v >> 1;
        }
        v - 100
    }

    #[kernel]
    #[no_reference(\"jumps\")]
    pub fn jumps<const H: usize, const W: usize>(x: &Ocm<i8, Planar<2, H, W>>, y: &mut Ocm<i32, Planar<4, H, W>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 2>>().wait();
            let (mut sum, mut n) = (splat(0), 0);
            for i in 0..6 {
                let v = a[0].widen::<i32>() >> i;
                if any(v > 60) {
                    n += 10;
                    continue;
                }
                sum += v;
                if !any(v > 20) {
                    break;
                }
                sum += 1000;
                n += 1;
            }
            let mut rounds = 0;
            #[bound(9)]
            while rounds < 9 {
                rounds += 1;
                if any(a[1].widen::<i32>() + rounds * 16 > 127) {
                    break;
                }
            }
            let mut out = Lrm::<i32, 4>::filled(0);
            out[0] = sum;
            out[1] = splat(n);
            out[2] = splat(rounds);
            out[3] = halved(a[1].widen::<i32>(), 20);
            y.at(t).store(out);
        }
    }
}
";

#[test]
fn loops_and_functions_are_left_where_the_array_decides() {
    for seed in 0..6 {
        let case = instance(TEXT, "jumps", &[10, 40], &QC_N);
        run(&case, &arguments(case.params(), seed));
    }
}

#[test]
fn taps_are_recorded_where_they_are_asked_for() {
    let text = "ccl! { pub fn k(y: &mut Ocm<i32, Planar<1, 8, 8>>) { for t in y.tiles() { #[tap(\"places\")] let v = q_row() * \
                10 + q_col(); y.at(t).store(v); } } }";
    let mut library = Library::new();
    library.load("crate", "k.rs", text).unwrap_or_else(|error| panic!("{error}"));
    let unit = library.with_function("k").expect("it is there");
    let instance = Instance::from_unit(unit, "k", &[], &QC_N, &library).unwrap_or_else(|error| panic!("{error}"));
    for (markers, n) in [(Markers::All, 0), (Markers::Taps, 1)] {
        let compiled = instance.compile_with(markers, &instance.zeros(), &Default::default());
        let outcome = compiled.and_then(|compiled| compiled.run(&instance.zeros(), &Default::default()));
        let probes = outcome.unwrap_or_else(|error| panic!("{error}")).probes;
        assert_eq!(probes.len(), n);
        assert!(probes.iter().all(|probe| probe.name == "places"));
    }
}
