//! Tests that need a whole profile: its text, its trace, its comparison, and the sums over random runs.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::isa::Class;
use crate::isa::operand::Engine;
use crate::target::{QC_N, QC_U, Target};

/// A run of two kernels; `narrow` halves what the loads of the first cost.
fn sample(narrow: bool, target: &Target) -> Profile {
    let mut recorder = Recorder::new(target).with_timeline(100);
    let at = |recorder: &Recorder| recorder.cycles();
    recorder.transfer(Engine::DmaIn, 1, 2300, 131_072, 1, "weights");
    recorder.issue(Class::DataExternal, 1);
    recorder.transfer(Engine::DmaIn, 2, 2700, 32_768, 1, "frame");
    recorder.stall(Class::DataExternal, StallCause::DmaRead, 2699);
    recorder.enter("conv1", at(&recorder)).expect("shallow");
    recorder.touch_ocm(163_840);
    for tile in 0..4 {
        recorder.enter("tile", at(&recorder)).expect("shallow");
        let (start, load) = (at(&recorder), if narrow { 28 } else { 56 });
        recorder.issue(Class::DataOcm, 1);
        recorder.transfer(Engine::FlowIn, start, start + load, 1024, 1, &format!("x[{tile}]"));
        recorder.stall(Class::DataOcm, StallCause::Load, load - 1);
        recorder.issue_many(Class::Mac, 288, 288);
        recorder.mac_products(288 * 16 * u64::from(target.pes()));
        recorder.stall(Class::DataOcm, StallCause::Broadcast, 8);
        recorder.touch_lrm(512 + 64 * tile);
        recorder.leave(at(&recorder)).expect("open");
    }
    recorder.issue_many(Class::Compute, 400, 400);
    recorder.issue_many(Class::Predication, 20, 60);
    recorder.leave(at(&recorder)).expect("open");
    recorder.enter(if narrow { "softmax_table" } else { "softmax" }, at(&recorder)).expect("shallow");
    recorder.issue_many(Class::Compute, 1000, 1000);
    recorder.issue_many(Class::DataArray, 72, 72);
    recorder.stall(Class::Compute, StallCause::Latency, 33);
    recorder.stall(Class::Compute, StallCause::Scalar, 7);
    recorder.leave(at(&recorder)).expect("open");
    recorder.transfer(Engine::DmaOut, at(&recorder), at(&recorder) + 314, 1024, 1, "labels");
    recorder.stall(Class::DataExternal, StallCause::DmaWrite, 314);
    let total = at(&recorder);
    let profile = recorder.finish(total);
    profile.check_sums().expect("sums hold");
    profile
}

#[test]
fn text_of_a_run() {
    insta::assert_snapshot!(sample(false, &QC_U).to_text(&TextOptions::default()));
}

#[test]
fn text_in_ascii_without_small_regions() {
    let options = TextOptions { width: 100, bars: Bars::Ascii, max_depth: 1, min_share: 0.25 };
    insta::assert_snapshot!(sample(false, &QC_N).to_text(&options));
}

#[test]
fn text_of_a_region() {
    let profile = sample(false, &QC_U);
    insta::assert_snapshot!(profile.region_to_text("conv1/tile", &TextOptions::default()).expect("entered"));
    assert_eq!(profile.region_to_text("conv1/til", &TextOptions::default()), None);
}

#[test]
fn text_of_nothing() {
    let profile = Recorder::new(&QC_U).finish(0);
    assert_eq!((profile.runs_per_s, profile.mac_utilisation), (0.0, 0.0));
    insta::assert_snapshot!(profile.to_text(&TextOptions { bars: Bars::None, ..TextOptions::default() }));
}

#[test]
fn no_line_is_wider_than_asked_and_narrow_terminals_lose_only_bars() {
    let profile = sample(false, &QC_U);
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for width in [100, 101, 120, 250] {
        let text = profile.to_text(&TextOptions { width, ..TextOptions::default() });
        assert!(longest(&text) <= width, "{width}:\n{text}");
    }
    let narrow = profile.to_text(&TextOptions { width: 0, ..TextOptions::default() });
    assert_eq!(narrow, profile.to_text(&TextOptions { bars: Bars::None, ..TextOptions::default() }));
}

#[test]
fn what_an_edit_is_worth() {
    let diff = sample(false, &QC_U).diff(&sample(true, &QC_U));
    assert_eq!(diff.cycles().delta(), -4 * 28);
    insta::assert_snapshot!(diff.to_text());
}

#[test]
fn the_same_run_twice_differs_nowhere() {
    let diff = sample(false, &QC_U).diff(&sample(false, &QC_N));
    assert!(diff.regions.iter().all(|region| region.cycles.delta() == 0));
    insta::assert_snapshot!(diff.to_text());
}

#[test]
fn figures_of_the_whole_run() {
    let profile = sample(false, &QC_U);
    assert_eq!(profile.latency_s, QC_U.seconds(profile.cycles));
    assert_eq!(profile.mac_utilisation, 4.0 * 288.0 / profile.cycles as f64);
    assert_eq!((profile.ext_read_bytes, profile.ext_write_bytes), (163_840, 1024));
    assert_eq!(profile.target.parse::<Target>().as_ref(), Ok(&QC_U));
}

#[test]
fn json_round_trips() {
    let profile = sample(false, &QC_U);
    let json = serde_json::to_string(&profile).expect("serialises");
    let read: Profile = serde_json::from_str(&json).expect("reads back");
    assert_eq!((&read.root, &read.timeline, read.cycles), (&profile.root, &profile.timeline, profile.cycles));
    read.check_sums().expect("sums hold");
}

#[test]
fn a_changed_figure_is_found() {
    let mut profile = sample(false, &QC_U);
    profile.root.children[0].children[0].inclusive.classes.get_mut(&Class::Mac).expect("there").issue_cycles += 1;
    let error = profile.check_sums().expect_err("one cycle too many");
    assert_eq!(error.to_string(), "region `conv1/tile`: issue and stalls of `mac` is 1153, expected 1152");
}

/// Slices of a trace by track, as nanoseconds; a reader may truncate.
fn slices(trace: &Value) -> BTreeMap<u64, Vec<(u64, u64, String)>> {
    let mut tracks: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("a list") {
        if event["ph"] == "X" {
            let ns = |field: &str| (event[field].as_f64().expect("a number") * 1000.0) as u64;
            let name = event["name"].as_str().expect("text").to_owned();
            let slice = (ns("ts"), ns("ts") + ns("dur"), name);
            tracks.entry(event["tid"].as_u64().expect("a track")).or_default().push(slice);
        }
    }
    tracks
}

#[track_caller]
fn check_trace(profile: &Profile) {
    let trace: Value = serde_json::from_str(&profile.to_trace_json().expect("recorded")).expect("JSON");
    for (track, slices) in slices(&trace) {
        for (i, a) in slices.iter().enumerate() {
            for b in &slices[i + 1..] {
                let apart = a.1 <= b.0 || b.1 <= a.0;
                let nested = a.0 <= b.0 && b.1 <= a.1;
                assert!(apart || (nested && track == 1), "track {track}: {a:?} and {b:?}");
            }
        }
    }
}

#[test]
fn trace_has_named_tracks_and_nested_slices() {
    let profile = sample(false, &QC_U);
    check_trace(&profile);
    insta::assert_snapshot!(profile.to_trace_json().expect("recorded"));
    assert_eq!(Recorder::new(&QC_U).finish(0).to_trace_json(), None);
}

/// A step of a random run.
#[derive(Clone, Debug)]
enum Step {
    Issue(Class, u32),
    Stall(Class, StallCause, u64),
    Transfer(Engine, u64, u64),
    Enter(&'static str),
    Leave,
}

fn step() -> impl Strategy<Value = Step> {
    let class = || prop::sample::select(&Class::ALL[..]);
    prop_oneof![
        3 => (class(), 0u32..100).prop_map(|(class, cycles)| Step::Issue(class, cycles)),
        2 => (class(), prop::sample::select(&StallCause::ALL[..]), 0u64..100)
            .prop_map(|(class, cause, cycles)| Step::Stall(class, cause, cycles)),
        1 => (prop::sample::select(&Engine::ALL[..]), 0u64..100, 0u64..9999)
            .prop_map(|(engine, cycles, bytes)| Step::Transfer(engine, cycles, bytes)),
        2 => prop::sample::select(vec!["a", "b", "c"]).prop_map(Step::Enter),
        2 => Just(Step::Leave),
    ]
}

/// Runs the steps; leaving what is not open and nesting too deep are errors that change nothing.
fn run(steps: &[Step], target: &Target) -> (Recorder, u64) {
    let (mut recorder, mut total, mut depth) = (Recorder::new(target).with_timeline(200), 0, 0);
    for step in steps {
        match *step {
            Step::Issue(class, cycles) => {
                recorder.issue(class, cycles);
                total += u64::from(cycles);
            }
            Step::Stall(class, cause, cycles) => {
                recorder.stall(class, cause, cycles);
                total += cycles;
            }
            Step::Transfer(engine, cycles, bytes) => recorder.transfer(engine, total, total + cycles, bytes, 1, "t"),
            Step::Enter(name) => depth += usize::from(recorder.enter(name, total).is_ok()),
            Step::Leave => {
                assert_eq!(recorder.leave(total).is_ok(), depth > 0);
                depth = depth.saturating_sub(1);
            }
        }
        assert_eq!((recorder.cycles(), recorder.depth()), (total, depth));
    }
    (recorder, total)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_add_up(steps in prop::collection::vec(step(), 0..200), clock_mhz in 100u32..10_000) {
        let target = Target::builder().clock_mhz(clock_mhz).build().expect("legal");
        let (recorder, total) = run(&steps, &target);
        let profile = recorder.finish(total);
        prop_assert_eq!(profile.check_sums(), Ok(()));
        prop_assert_eq!(profile.cycles, total);
        let charged: u64 = Class::ALL.map(|class| profile.root.inclusive.class(class).cycles).iter().sum();
        prop_assert_eq!(charged, total);
        for engine in Engine::ALL {
            let n = steps.iter().filter(|step| matches!(step, Step::Transfer(e, ..) if *e == engine)).count() as u64;
            prop_assert_eq!(profile.root.inclusive.engine(engine).transfers, n);
        }
        check_trace(&profile);
        prop_assert!(profile.diff(&profile).regions.iter().all(|region| region.cycles.delta() == 0));
        profile.to_text(&TextOptions::default());
    }
}
