//! Random access under conditions of PEs: natively, by the interpreter of the IR and on the simulator alike.

use ccl_runtime::kernel::{Argument, ElemType, HostTensor};
use iss::isa::operand::Engine;
use iss::target::QC_N;

use crate::kernels::{arguments, instance, run};

const TEXT: &str = "ccl! {
    #[kernel]
    #[no_reference(\"random access under a condition\")]
    pub fn gathers<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i8, Planar<1, H, W>>) {
        for t in x.tiles() {
            let mut v = t.fetch::<Lrm<i8, 1>>().wait()[0];
            if v > 0 {
                let (found, inside) = x.gather(v.widen::<i32>() * 2).wait();
                if inside {
                    v = found;
                }
            }
            y.at(t).store(v);
        }
    }

    #[inline]
    fn found<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, at: Q<i32>) -> Q<i32> {
        let (found, inside) = x.gather(at).wait();
        select(inside, found.widen::<i32>(), splat(-1000))
    }

    #[kernel]
    #[no_reference(\"random access in both arms, nested, in a loop, as a value\")]
    pub fn arms<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i32, Planar<3, H, W>>) {
        for t in x.tiles() {
            let v = t.fetch::<Lrm<i8, 1>>().wait()[0].widen::<i32>();
            let mut out = Lrm::<i32, 3>::filled(7);
            if v > 0 {
                if v > 60 {
                    out[0] = found(x, v - 60);
                } else {
                    out[0] = found(x, v + 1) + found(x, v + 3);
                }
            } else {
                out[0] = found(x, -v);
            }
            out[1] = if v < 20 { found(x, v + 5) } else { v };
            for i in 0..4 {
                if v > 10 * i {
                    out[2] += found(x, v - 10 * i);
                }
            }
            y.at(t).store(out);
        }
    }

    #[kernel]
    #[no_reference(\"started before the condition\")]
    pub fn started_before<const H: usize, const W: usize>(
        x: &Ocm<i8, Planar<1, H, W>>,
        y: &mut Ocm<i8, Planar<1, H, W>>,
    ) {
        for t in x.tiles() {
            let mut v = t.fetch::<Lrm<i8, 1>>().wait()[0];
            let coming = x.gather(v.widen::<i32>());
            if v > 5 {
                let (found, inside) = coming.wait();
                if !inside {
                    v = found + 1;
                } else {
                    v = found;
                }
            }
            y.at(t).store(v);
        }
    }

    #[kernel]
    #[no_reference(\"random writes under a condition\")]
    pub fn scatters<const H: usize, const W: usize, const N: usize>(
        x: &Ocm<i8, Planar<1, H, W>>,
        all: &mut Ocm<i8, Vector<N>>,
        few: &mut Ocm<i8, Vector<256>>,
    ) {
        for t in x.tiles() {
            let v = t.fetch::<Lrm<i8, 1>>().wait()[0];
            if t.inside() {
                let place = (q_row() + t.y()) * W as i32 + q_col() + t.x();
                if v > 0 {
                    all.scatter(place, v).wait();
                } else {
                    all.scatter(place, v >> 1).wait();
                    if v < -100 {
                        // Of equal places the last PE's stays.
                        few.scatter(v.widen::<i32>() + 128, splat(3)).wait();
                    }
                }
            }
        }
    }
}
";

#[test]
fn gathers_skip_disabled_pes() {
    let case = instance(TEXT, "gathers", &[12, 12], &QC_N);
    run(&case, &arguments(case.params(), 3));
}

#[test]
fn arms_loops_and_values_gather() {
    for (seed, (h, w)) in [(8, 8), (9, 19), (3, 1)].into_iter().enumerate() {
        let case = instance(TEXT, "arms", &[h, w], &QC_N);
        run(&case, &arguments(case.params(), seed as u64));
    }
}

#[test]
fn what_was_started_before_a_condition_is_waited_for_under_it() {
    let case = instance(TEXT, "started_before", &[9, 10], &QC_N);
    run(&case, &arguments(case.params(), 5));
}

#[test]
fn scatters_skip_disabled_pes() {
    for (seed, (h, w)) in [(8, 8), (9, 19)].into_iter().enumerate() {
        let case = instance(TEXT, "scatters", &[h, w, h * w], &QC_N);
        run(&case, &arguments(case.params(), seed as u64));
    }
}

/// The unit passes over rows in which nobody is enabled.
#[test]
fn disabled_rows_cost_nothing() {
    let case = instance(TEXT, "gathers", &[8, 8], &QC_N);
    let busy = |value: i64| {
        let filled = |value| Argument::Tensor(HostTensor::from_fn(ElemType::I8, &[1, 8, 8], |_| value));
        let arguments = arguments(case.params(), 0).with("x", filled(value));
        run(&case, &arguments).1.root.inclusive.engines[&Engine::Rau].busy_cycles
    };
    // 8 rows of 3 cycles and one access: all ask for the same element.
    assert_eq!(busy(1) - busy(-1), 8 * 4);
}
