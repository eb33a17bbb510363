//! What issue costs: arithmetic, latencies, control, predicates, neighbours, markers.

use super::{counts, cycles, own};
use crate::builder::*;
use crate::calibrate::Row;
use crate::calibrate::lab::{Lab, LabError, Program, row};
use crate::isa::Class;
use crate::target::Param;

pub(super) const ROWS: &[Row] = &[
    own("alu", "100 array adds that depend on each other", &[Param::alu], |lab| {
        cycles(lab, |p| (0..100).for_each(|_| _ = p.add(acc(0), acc(0), 1)))
    }),
    own("scalar", "100 scalar adds that depend on each other", &[Param::scalar], |lab| {
        cycles(lab, |p| (0..100).for_each(|_| _ = p.s_add(s(1), s(1), 1)))
    }),
    own("nop", "100 nops", &[Param::idle], |lab| cycles(lab, |p| (0..100).for_each(|_| _ = p.nop()))),
    own("fx-mul", "100 fixed-point multiplies", &[Param::fx_mul], |lab| {
        cycles(lab, |p| (0..100).for_each(|_| _ = p.fx_mul(acc(0), acc(0), 3, 1)))
    }),
    Row {
        machine: |target| target.to_builder().macs_per_pe(8).build(),
        ..own("fx-mul-8", "the same on PEs with 8 MACs", &[Param::fx_mul_narrow_extra], |lab| {
            cycles(lab, |p| (0..100).for_each(|_| _ = p.fx_mul(acc(0), acc(0), 3, 1)))
        })
    },
    own("fx-div", "a fixed-point divide and an add that needs it", &[Param::fx_div], |lab| {
        cycles(lab, |p| _ = p.fx_div(acc(0), 100, 3, q(4)).add(acc(0), acc(0), 1))
    }),
    own("exp-iter", "an iterated exponential and an add that needs it", &[Param::exp_iter], |lab| {
        cycles(lab, |p| _ = p.exp_iter(acc(0), 100, q(10), q(10)).add(acc(0), acc(0), 1))
    }),
    own("exp-use", "exp to use: an exponential and an add that needs it", &[Param::transcendental_latency], |lab| {
        cycles(lab, |p| _ = p.exp(acc(0), 100, q(10), q(10)).add(acc(0), acc(0), 1))
    }),
    own("exp-issue", "ten exponentials that nothing needs", &[Param::transcendental], |lab| {
        cycles(lab, |p| (0..10).for_each(|n| _ = p.exp(acc(n), 100, q(10), q(10))))
    }),
    own("load-use", "scalar load to use: a load and an add that needs it", &[Param::scalar_load_latency], |lab| {
        cycles(lab, |p| _ = p.s_load(s(1), s(0), 0).s_add(s(1), s(1), 1))
    }),
    own("load-issue", "ten scalar loads that nothing needs", &[Param::scalar_load], |lab| {
        cycles(lab, |p| (1..11).for_each(|n| _ = p.s_load(s(n), s(0), 0)))
    }),
    own("any-branch", "any-PE to branch: the test and a branch taken on it", &[Param::any_latency], |lab| {
        cycles(lab, |p| {
            let behind = p.label();
            p.p_any(s(1)).branch(Cond::Eq, s(1), 0, behind);
            p.bind(behind);
        })
    }),
    own("any-issue", "ten any-PE tests that nothing needs", &[Param::any], |lab| {
        cycles(lab, |p| (1..11).for_each(|n| _ = p.p_any(s(n))))
    }),
    own("branch", "a branch taken to the next instruction", &[Param::branch_taken], |lab| {
        cycles(lab, |p| {
            let behind = p.label();
            p.branch(Cond::Eq, s(0), 0, behind);
            p.bind(behind);
        })
    }),
    own("branch-not", "a branch not taken", &[Param::branch_not_taken], |lab| {
        cycles(lab, |p| {
            let behind = p.label();
            p.branch(Cond::Ne, s(0), 0, behind);
            p.bind(behind);
        })
    }),
    own("call-ret", "a call and its return", &[Param::branch_taken], call_and_return),
    own("loop", "a hardware loop of 10 trips over an add", &[Param::loop_setup, Param::alu], |lab| {
        cycles(lab, |p| _ = p.loop_n(10, |p| _ = p.add(acc(0), acc(0), 1)))
    }),
    own("loop-nest", "10 trips over a loop of 10 trips over an add", &[Param::loop_setup, Param::alu], |lab| {
        cycles(lab, |p| _ = p.loop_n(10, |p| _ = p.loop_n(10, |p| _ = p.add(acc(0), acc(0), 1))))
    }),
    own("predicate", "compare, push, move, else, move, pop", &[Param::predicate, Param::alu], |lab| {
        cycles(lab, |p| {
            p.cmp(Cond::Lt, Src::QCol, 16).p_push().mov(acc(0), 1).p_else().mov(acc(0), 2).p_pop();
        })
    }),
    own("disable", "compare, disable, enable", &[Param::predicate, Param::alu], |lab| {
        cycles(lab, |p| _ = p.cmp(Cond::Lt, Src::QCol, 16).p_disable().p_enable())
    }),
    own("axis-sum", "sum of 32 PEs along a row, by hops of 1, 2, 4, 8 and 16", &[Param::hop, Param::alu], |lab| {
        cycles(lab, |p| axis_sum(p, 32))
    }),
    own("markers", "ten probes", &[Param::marker], |lab| {
        let run = lab.run(|p| row(p, |p| (0..10).for_each(|_| _ = p.probe("here", acc(0)))))?;
        Ok(run.cycles())
    }),
    counts(
        "mac",
        own("mac8", "100 steps of 8x8 bit", &[Param::mac8], |lab| {
            macs(lab, 100, |p| _ = p.mac8(MacShape::Dot, acc(0), w(0)))
        }),
    ),
    counts(
        "mac",
        own("mac16x8", "100 steps of 16x8 bit", &[Param::mac16x8], |lab| {
            macs(lab, 100, |p| _ = p.mac16x8(MacShape::Dot, acc(0), w(0)))
        }),
    ),
    counts(
        "mac",
        own("mac16", "100 steps of 16x16 bit", &[Param::mac16], |lab| {
            macs(lab, 200, |p| _ = p.mac16(MacShape::Dot, acc(0), w(0)))
        }),
    ),
    counts(
        "levels",
        own("predicate-depth", "pushes that the predicate stack takes", &[Param::predicate_depth], |lab| {
            lab.largest(|p, n| {
                (0..n).for_each(|_| _ = p.p_push());
                (0..n).for_each(|_| _ = p.p_pop());
            })
        }),
    ),
    counts(
        "levels",
        own("call-depth", "calls inside one another", &[Param::call_depth], |lab| {
            lab.largest(|p, n| {
                let done = p.label();
                let functions: Vec<Label> = (0..n).map(|_| p.label()).collect();
                p.call(functions[0]).jump(done);
                for (i, function) in functions.iter().enumerate() {
                    p.bind(*function);
                    if let Some(next) = functions.get(i + 1) {
                        p.call(*next);
                    }
                    p.ret();
                }
                p.bind(done);
            })
        }),
    ),
    counts(
        "levels",
        own("loop-depth", "hardware loops inside one another", &[Param::loop_depth], |lab| lab.largest(nest)),
    ),
];

fn call_and_return(lab: &Lab) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        let (start, function) = (p.label(), p.label());
        p.jump(start);
        p.bind(function).ret();
        p.bind(start);
        row(p, |p| _ = p.call(function));
    })?;
    Ok(run.cycles())
}

/// The sum of `n` PEs, a power of two, in the westmost of them: values come from ever farther, by way of the PEs between.
fn axis_sum(p: &mut Program, n: u32) {
    let from_east = Src::Port(Dir::East);
    for distance in (0..n.ilog2()).map(|level| 1 << level) {
        p.send(Dir::West, acc(0));
        (1..distance).for_each(|_| _ = p.send(Dir::West, from_east));
        p.add(acc(0), acc(0), from_east);
    }
}

/// Cycles charged to `mac` by 100 steps behind a stream of `entries`.
fn macs(lab: &Lab, entries: u32, step: fn(&mut Program)) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        p.broadcast(d(0), &BroadcastDesc::default().n0(entries)).bcast(d(0), t(0));
        row(p, |p| (0..100).for_each(|_| step(p)));
        p.wait(t(0), Tiles::All);
    })?;
    Ok(run.row().class(Class::Mac).cycles)
}

fn nest(p: &mut Program, n: u32) {
    p.loop_n(2, |p| {
        if n > 1 {
            nest(p, n - 1);
        }
        p.nop();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::QC_U;

    #[test]
    fn the_sum_along_a_row_is_right() {
        let mut run = Lab::new(QC_U)
            .run(|p| {
                p.fx_mul(acc(0), Src::QRow, 100, 0).add(acc(0), acc(0), Src::QCol);
                row(p, |p| axis_sum(p, 32));
            })
            .unwrap();
        assert_eq!(run.cycles(), 36);
        let sums = run.sim.value(Src::Acc(crate::isa::operand::Acc::new(0).unwrap())).unwrap();
        // The eastmost border columns add to what passes the array's edge, never to column 0.
        assert_eq!([0, 7, 31].map(|row: usize| sums.get(row, 0)), [0, 7, 31].map(|row| Some(row * 3200 + 496)));
    }
}
