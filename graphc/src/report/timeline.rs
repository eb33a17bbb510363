//! What happened when, as a trace for ui.perfetto.dev and chrome://tracing.

use iss::profile::{Profile, Timeline};

/// Profiles of entry points that ran one after the other, as one trace; `None` if a timeline was not recorded for each of them.
pub fn trace(profiles: &[Profile]) -> Option<String> {
    let mut joined = profiles.first()?.clone();
    let mut timeline = joined.timeline.take()?;
    for profile in &profiles[1..] {
        append(&mut timeline, profile.timeline.as_ref()?, joined.cycles);
        joined.cycles += profile.cycles;
    }
    joined.timeline = Some(timeline);
    joined.to_trace_json()
}

/// Adds events that were counted from cycle `start`.
fn append(timeline: &mut Timeline, later: &Timeline, start: u64) {
    let shift = |first: &mut u64, last: &mut u64| {
        *first += start;
        *last += start;
    };
    timeline.regions.extend(later.regions.iter().cloned().map(|mut span| {
        shift(&mut span.start, &mut span.end);
        span
    }));
    timeline.transfers.extend(later.transfers.iter().cloned().map(|mut span| {
        shift(&mut span.start, &mut span.end);
        span
    }));
    timeline.stalls.extend(later.stalls.iter().cloned().map(|mut span| {
        shift(&mut span.start, &mut span.end);
        span
    }));
    timeline.dropped.regions += later.dropped.regions;
    timeline.dropped.transfers += later.dropped.transfers;
    timeline.dropped.stalls += later.dropped.stalls;
}

#[cfg(test)]
mod tests {
    use iss::builder::{Emit, Program, acc, imm};
    use iss::isa::operand::Src;
    use iss::sim::{Options, Simulator};
    use iss::target::QC_U;

    use super::*;

    fn profile() -> Profile {
        let mut program = Program::new(&QC_U);
        program.entry("main");
        program.region("adds", |p| {
            p.add(acc(0), Src::QRow, imm(1));
        });
        program.halt();
        let options = Options { timeline: 100, ..Options::default() };
        let mut sim = Simulator::new(&program.finish().unwrap(), options).unwrap();
        sim.start("main", &[]).unwrap();
        sim.run().unwrap().into_result().unwrap();
        sim.profile().unwrap()
    }

    #[test]
    fn entry_points_follow_each_other() {
        let (one, two) = (profile(), profile());
        let trace = trace(&[one.clone(), two.clone()]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&trace).unwrap();
        let starts: Vec<u64> = json["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["name"] == "adds")
            .map(|event| event["args"]["start_cycle"].as_u64().unwrap())
            .collect();
        let inside = one.timeline.as_ref().unwrap().regions[0].start;
        assert_eq!(starts, [inside, one.cycles + inside]);
        let unrecorded = Profile { timeline: None, ..two };
        assert_eq!(super::trace(&[one, unrecorded]), None);
    }
}
