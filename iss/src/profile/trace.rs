//! The timeline in the Chrome trace format, which ui.perfetto.dev and chrome://tracing read: a track with the stack of
//! regions, one per engine, one with the stalls.
//!
//! Times are whole nanoseconds, given in microseconds: cycles are mapped to them by one rounding that keeps their
//! order, and lengths are differences of what was rounded, so slices nest and do not overlap. Cycles stand in `args`.

use serde::Serialize;
use serde_json::{Value, json};

use super::timeline::{RegionSpan, StallSpan, Timeline, TransferSpan};
use super::{Profile, Recorder};
use crate::isa::operand::Engine;

/// Every track belongs to one process.
const PID: u32 = 1;
const REGIONS: u32 = 1;
const STALLS: u32 = 2;
const FIRST_ENGINE: u32 = 3;

/// An event of the format: a slice (`X`) or a track's name (`M`).
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: Value,
}

impl Profile {
    /// The timeline as Chrome trace JSON, one event a line; `None` if none was recorded.
    pub fn to_trace_json(&self) -> Option<String> {
        let timeline = self.timeline.as_ref()?;
        // Each event becomes text at once: its JSON takes several times the room.
        let mut lines: Vec<String> = track_names(&self.target).iter().map(line).collect();
        self.add_regions(timeline, &mut lines);
        lines.extend(timeline.stalls.iter().map(|stall| self.stall(stall)));
        for engine in Engine::ALL {
            self.add_transfers(timeline, engine, &mut lines);
        }
        let other = json!({ "target": self.target, "clock_mhz": self.clock_mhz, "dropped": timeline.dropped });
        let lines = lines.join(",\n");
        Some(format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[\n{lines}\n]}}\n"))
    }

    fn add_regions(&self, timeline: &Timeline, events: &mut Vec<String>) {
        let args = json!({ "start_cycle": 0, "end_cycle": self.cycles });
        events.push(self.slice(REGIONS, Recorder::ROOT, 0, self.cycles, args));
        events.extend(timeline.regions.iter().map(|RegionSpan { name, depth, start, end }| {
            let args = json!({ "start_cycle": start, "end_cycle": end, "depth": depth });
            self.slice(REGIONS, name, *start, *end, args)
        }));
    }

    fn stall(&self, stall: &StallSpan) -> String {
        let StallSpan { class, cause, start, end } = stall;
        let args = json!({ "start_cycle": start, "end_cycle": end, "class": class, "cause": cause });
        self.slice(STALLS, cause.shown(), *start, *end, args)
    }

    /// A track cannot show slices that overlap without nesting, so a transfer that begins under another is drawn from
    /// that one's end; `args` have its true cycles.
    fn add_transfers(&self, timeline: &Timeline, engine: Engine, events: &mut Vec<String>) {
        let mut transfers: Vec<&TransferSpan> =
            timeline.transfers.iter().filter(|span| span.engine == engine).collect();
        transfers.sort_by_key(|span| span.start);
        let mut drawn = 0;
        for TransferSpan { label, start, end, bytes, tiles, .. } in transfers {
            let (from, to) = ((*start).max(drawn), (*end).max(drawn));
            let args = json!({ "start_cycle": start, "end_cycle": end, "bytes": bytes, "tiles": tiles });
            events.push(self.slice(engine_track(engine), label, from, to, args));
            drawn = to;
        }
    }

    fn slice(&self, tid: u32, name: &str, start: u64, end: u64, args: Value) -> String {
        let (start, end) = (self.nanoseconds(start), self.nanoseconds(end));
        line(&Event {
            name,
            ph: "X",
            pid: PID,
            tid,
            ts: Some(microseconds(start)),
            dur: Some(microseconds(end.saturating_sub(start))),
            args,
        })
    }

    /// Whole nanoseconds before `cycle`.
    fn nanoseconds(&self, cycle: u64) -> u64 {
        (u128::from(cycle) * 1000 / u128::from(self.clock_mhz.max(1))) as u64
    }
}

fn line(event: &Event<'_>) -> String {
    serde_json::to_string(event).expect("names and numbers have a JSON form")
}

const fn engine_track(engine: Engine) -> u32 {
    FIRST_ENGINE + engine as u32
}

/// Names and order of the tracks.
fn track_names(target: &str) -> Vec<Event<'static>> {
    let meta = |name, tid, args| Event { name, ph: "M", pid: PID, tid, ts: None, dur: None, args };
    let tracks = [(REGIONS, "regions"), (STALLS, "stalls")];
    let engines = Engine::ALL.map(|engine| (engine_track(engine), engine.word()));
    let mut events = vec![meta("process_name", 0, json!({ "name": target }))];
    for (tid, name) in tracks.into_iter().chain(engines) {
        events.push(meta("thread_name", tid, json!({ "name": name })));
        events.push(meta("thread_sort_index", tid, json!({ "sort_index": tid })));
    }
    events
}

/// Readers turn microseconds back into nanoseconds, some by truncation of an inexact product: a thousandth of a
/// nanosecond on top keeps that from losing one.
fn microseconds(ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { (ns as f64 * 1000.0 + 1.0) / 1e6 }
}
