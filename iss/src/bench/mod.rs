//! How fast the simulator is on this host: programs whose speed is worth knowing, and figures from running them, each a median
//! of several runs beside a plain copy of memory.
//!
//! `iss bench` prints [`run`]; `cargo bench -p iss --bench iss` times the same [`programs`] with statistics. What the array
//! executor alone can do is measured by `benches/array.rs`.

pub mod programs;

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::image::Image;
use crate::profile::grouped;
use crate::sim::{Options, SimError, SimdPath, Simulator, Trap};
use programs::Alu;

/// Runs of each program, of which the median counts.
const RUNS: usize = 5;

/// What went wrong with a program of the benchmark.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BenchError {
    /// The simulator refused it.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// It did not run to its end.
    #[error("benchmark: {0}")]
    Trap(#[from] Box<Trap>),
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Short and unique.
    pub id: String,
    /// What was run.
    pub what: String,
    /// Unit of the values.
    pub unit: String,
    /// The median.
    pub value: f64,
    /// The slowest and the fastest run, in the order of their values.
    pub range: [f64; 2],
    /// Host threads.
    pub threads: usize,
}

/// Every figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Host instructions used.
    pub simd: String,
    /// Cores of the host.
    pub cores: usize,
    /// Runs behind each median.
    pub runs: usize,
    /// Whether the simulator was compiled for speed.
    pub optimised: bool,
    /// The figures.
    pub figures: Vec<Figure>,
}

impl Report {
    /// A line for each figure.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "host: {} cores, {}; medians of {} runs, with the slowest and the fastest\n",
            self.cores, self.simd, self.runs
        );
        if !self.optimised {
            text += "note: built with debug assertions; `cargo run --release` gives the figures that count\n";
        }
        let width = self.figures.iter().map(|f| f.what.chars().count()).max().unwrap_or(0);
        for f in &self.figures {
            let [low, high] = f.range.map(shown);
            let (threads, value) = (f.threads, shown(f.value));
            let threads = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
            _ = writeln!(text, "{:width$}  {threads:9}  {value:>12} {:<15} {low} .. {high}", f.what, f.unit);
        }
        text
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers have a JSON form")
    }

    /// The figure with an id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }
}

/// Three digits that say something.
fn shown(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => grouped(value.round() as u64),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A program, loaded and started; what is timed is its run alone.
///
/// # Errors
/// Those of the simulator.
pub fn started(image: &Image, threads: usize) -> Result<Simulator, SimError> {
    let mut sim = Simulator::new(image, Options { threads: Some(threads), ..Options::default() })?;
    sim.start("main", &[])?;
    Ok(sim)
}

/// What a run of a program did.
#[derive(Clone, Copy, Debug)]
struct Done {
    time: Duration,
    instructions: u64,
    cycles: u64,
    mac_products: u64,
    flow_bytes: u64,
    flow_tiles: u64,
}

fn time(image: &Image, threads: usize) -> Result<Vec<Done>, BenchError> {
    let one = |_| -> Result<Done, BenchError> {
        let mut sim = started(image, threads)?;
        let begun = Instant::now();
        let stopped = sim.run()?;
        let time = begun.elapsed();
        stopped.into_result()?;
        let profile = sim.profile().expect("a run was started");
        let table = &profile.root.inclusive;
        let flows = table.engine(crate::isa::operand::Engine::FlowIn);
        Ok(Done {
            time,
            instructions: sim.instructions(),
            cycles: sim.cycle(),
            mac_products: table.mac_products,
            flow_bytes: flows.bytes,
            flow_tiles: flows.tiles,
        })
    };
    (0..RUNS).map(one).collect()
}

/// Collects figures.
struct Bench {
    figures: Vec<Figure>,
}

impl Bench {
    fn add(
        &mut self,
        id: impl Into<String>,
        what: impl Into<String>,
        unit: &str,
        threads: usize,
        mut values: Vec<f64>,
    ) {
        values.sort_by(f64::total_cmp);
        let value = values[values.len() / 2];
        let range = [values[0], values[values.len() - 1]];
        self.figures.push(Figure { id: id.into(), what: what.into(), unit: unit.to_owned(), value, range, threads });
    }

    fn macs(&mut self) -> Result<(), BenchError> {
        for channels in [64, 256, 1024] {
            let done = time(&programs::mac_loop(channels, 1 << 16), 1)?;
            let rates = done.iter().map(|d| d.mac_products as f64 / d.time.as_secs_f64() / 1e9).collect();
            self.add(
                format!("mac-{channels}"),
                format!("MAC loop over {channels} input channels"),
                "int8 GMAC/s",
                1,
                rates,
            );
        }
        Ok(())
    }

    fn alu(&mut self) -> Result<(), BenchError> {
        for (words, suffix, which) in [(programs::NEAR, "", "64"), (programs::FAR, "-far", "all")] {
            for alu in Alu::ALL {
                let done = time(&programs::alu_loop(alu, 1 << 16, words), 1)?;
                let times = done.iter().map(|d| d.time.as_secs_f64() * 1e9 / d.instructions as f64).collect();
                let what = format!("`{}` over 1,024 PEs, {which} of their words", alu.word());
                self.add(format!("alu-{}{suffix}", alu.word()), what, "ns/instruction", 1, times);
            }
        }
        Ok(())
    }

    fn flows(&mut self) -> Result<(), BenchError> {
        let single = time(&programs::flow_loop(1 << 15), 1)?;
        let walks = time(&programs::flow_walk(1 << 9), 1)?;
        let per_second = |done: &[Done], f: fn(&Done) -> u64, unit: f64| -> Vec<f64> {
            done.iter().map(|d| f(d) as f64 / d.time.as_secs_f64() / unit).collect()
        };
        let tiles = per_second(&single, |d| d.flow_tiles, 1e6);
        self.add("flows", "flows of one int8 tile, each waited for", "M flows/s", 1, tiles);
        self.add("flow-bytes", "the same, bytes", "GB/s", 1, per_second(&single, |d| d.flow_bytes, 1e9));
        let bytes = per_second(&walks, |d| d.flow_bytes, 1e9);
        self.add("walk-bytes", "walks over 64 int8 tiles in one flow, bytes", "GB/s", 1, bytes);
        Ok(())
    }

    fn mixed(&mut self, cores: usize) -> Result<(), BenchError> {
        let image = programs::mixed(5_000_000);
        let mut all = vec![1, cores];
        all.dedup();
        for threads in all {
            let done = time(&image, threads)?;
            let which = if threads == 1 { "one" } else { "all" };
            let per_second =
                |f: fn(&Done) -> u64| done.iter().map(move |d| f(d) as f64 / d.time.as_secs_f64() / 1e6).collect();
            let seconds = done.iter().map(|d| d.time.as_secs_f64()).collect();
            self.add(format!("mix-{which}"), "mix of 5 million array instructions", "s", threads, seconds);
            self.add(
                format!("mix-{which}-instructions"),
                "the same, instructions",
                "M/s",
                threads,
                per_second(|d| d.instructions),
            );
            self.add(format!("mix-{which}-cycles"), "the same, cycles", "M/s", threads, per_second(|d| d.cycles));
        }
        Ok(())
    }

    /// The host's own yardstick: copies of what an instruction writes, one word of 1,024 PEs, walking the size of all local
    /// memory, and of half of that at once.
    fn memcpy(&mut self) {
        const WORD: usize = 4 * 1024;
        const ALL: usize = WORD * 1024;
        let (from, mut to) = (vec![1u8; ALL], vec![0u8; ALL]);
        let mut copy = |piece: usize| -> Vec<f64> {
            let one = |_| {
                const ROUNDS: usize = 16;
                let begun = Instant::now();
                for _ in 0..ROUNDS {
                    for (to, from) in to.chunks_exact_mut(piece).zip(from.chunks_exact(piece)) {
                        black_box(to).copy_from_slice(black_box(from));
                    }
                }
                begun.elapsed().as_secs_f64() * 1e9 / (ROUNDS * ALL / piece) as f64
            };
            // The first touches the pages.
            (0..RUNS + 1).map(one).skip(1).collect()
        };
        let words = copy(WORD);
        let rates = copy(ALL / 2).into_iter().map(|ns| (ALL / 2) as f64 / ns).collect();
        self.add("memcpy-word", "memcpy of one word of 1,024 PEs (4 kB, over 4 MB)", "ns", 1, words);
        self.add("memcpy", "memcpy of 2 MB", "GB/s", 1, rates);
    }
}

/// Measures everything, in under a minute.
///
/// # Errors
/// A program that does not run: a fault of the simulator.
pub fn run() -> Result<Report, BenchError> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut bench = Bench { figures: Vec::new() };
    bench.macs()?;
    bench.alu()?;
    bench.flows()?;
    bench.mixed(cores)?;
    bench.memcpy();
    Ok(Report {
        simd: SimdPath::detect().to_string(),
        cores,
        runs: RUNS,
        optimised: !cfg!(debug_assertions),
        figures: bench.figures,
    })
}
