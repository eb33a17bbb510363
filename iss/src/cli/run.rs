//! `run`: a program with its inputs, to its end or to where it should stop, and what is to be seen there.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use iss::image::{Direction, Entry, Image, ParamKind};
use iss::isa::operand::{Lrm, Operand, Src};
use iss::profile::{Dropped, Profile, TextOptions};
use iss::sim::{Arg, Grid, Options, SimdPath, Simulator, StopAt, Stopped, TraceWriter, Trap, TrapCause};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Exit, files};

/// Events of each kind that a timeline keeps.
const TIMELINE_EVENTS: usize = 200_000;
/// Values of probes that are kept if nothing else is asked for.
const MAX_PROBES: usize = 1_000;
/// Pixels of a PE in a picture.
const PNG_SCALE: usize = 8;

/// Run a program.
///
/// Probes and values asked for are printed as grids of the array, rows downwards, border columns set off by bars. With
/// `--json -` they go to standard error, so that standard output is JSON alone. Constants and buffers may take 1 GiB of
/// external memory.
#[derive(Debug, Args)]
pub struct Run {
    /// Program image, or assembly text (`.s`, or `-` for standard input)
    program: PathBuf,
    /// Entry point; not needed if there is one alone or one called `main`
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Bytes of a buffer from a file, or the value of a scalar (decimal, or hexadecimal with 0x)
    #[arg(long = "input", value_name = "NAME=FILE|NAME=INT", value_parser = binding)]
    inputs: Vec<(String, String)>,
    /// File for the bytes of a buffer as they stand at the end; not written if the program traps
    #[arg(long = "output", value_name = "NAME=FILE", value_parser = binding)]
    outputs: Vec<(String, String)>,

    /// Report as JSON: how it ended, cycles, probes, values, profile; `-` for standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    json: Option<PathBuf>,
    /// Print where the cycles went
    #[arg(long, help_heading = "Reports")]
    profile: bool,
    /// What happened when, in the format of chrome://tracing and ui.perfetto.dev; the first 200,000 events of each kind
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    timeline: Option<PathBuf>,
    /// A line for each instruction: cycle, cycles stalled, pc, text, source line; `-` for standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports", conflicts_with = "stop")]
    trace: Option<PathBuf>,
    /// Print a value of each PE at the end, such as `a0`, `[16]`, `[s1+4].b`, `port.n`, `q_row`
    #[arg(long = "print", value_name = "OPERAND", value_parser = operand, help_heading = "Reports")]
    prints: Vec<Src>,
    /// Write such a value as a picture: smallest black, largest white
    #[arg(long = "png", value_name = "OPERAND=FILE", value_parser = picture, help_heading = "Reports")]
    pictures: Vec<(Src, PathBuf)>,

    #[command(flatten)]
    stop: Stop,

    /// Do not record what `probe` shows
    #[arg(long, help_heading = "Reports", conflicts_with = "max_probes")]
    no_probes: bool,
    /// Values of probes to record; later ones are left out
    #[arg(long, value_name = "N", default_value_t = MAX_PROBES, help_heading = "Reports")]
    max_probes: usize,

    /// Cycles after which the run ends with exit code 3
    #[arg(long, value_name = "N", default_value_t = Options::default().max_cycles, help_heading = "Host and limits")]
    max_cycles: u64,
    /// Instructions after which the run ends with exit code 3
    #[arg(long, value_name = "N", default_value_t = Options::default().max_instructions, help_heading = "Host and limits")]
    max_instructions: u64,
    /// Threads to use; one per core if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Host and limits")]
    threads: Option<u16>,
    /// Instructions of the host to use; the best there are if not given
    #[arg(long, value_name = "PATH", value_parser = simd_path(), help_heading = "Host and limits")]
    simd: Option<SimdPath>,
}

/// Where to stop.
#[derive(Debug, Args)]
#[group(id = "stop", multiple = false)]
struct Stop {
    /// Stop before the instruction with this index
    #[arg(long, value_name = "N", help_heading = "Where to stop")]
    break_pc: Option<u32>,
    /// Stop before an instruction of this source line, `kernel.rs:12`
    #[arg(long, value_name = "FILE:LINE", value_parser = file_line, help_heading = "Where to stop")]
    break_line: Option<(String, u32)>,
    /// Stop at the first instruction that issues at or after this cycle
    #[arg(long, value_name = "N", help_heading = "Where to stop")]
    break_cycle: Option<u64>,
    /// Stop when a region of this name has been entered
    #[arg(long, value_name = "NAME", help_heading = "Where to stop")]
    break_region: Option<String>,
}

fn binding(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name, `=`, and what it is given".to_owned()),
    }
}

fn simd_path() -> impl TypedValueParser<Value = SimdPath> {
    PossibleValuesParser::new(SimdPath::ALL.map(SimdPath::word))
        .map(|word| word.parse().expect("the possible values are paths"))
}

fn operand(text: &str) -> Result<Src, String> {
    Src::parse(text).map_err(|error| error.to_string())
}

fn picture(text: &str) -> Result<(Src, PathBuf), String> {
    let (src, file) = binding(text)?;
    Ok((operand(&src)?, file.into()))
}

fn file_line(text: &str) -> Result<(String, u32), String> {
    let (file, line) = text.rsplit_once(':').ok_or("expected a file, `:` and a line")?;
    match line.parse() {
        Ok(line) if line > 0 && !file.is_empty() => Ok((file.to_owned(), line)),
        _ => Err("expected a file, `:` and a line counted from 1".to_owned()),
    }
}

impl Run {
    pub fn run(self) -> anyhow::Result<Exit> {
        let image = files::program(&self.program)?;
        let entry = self.choose_entry(&image)?;
        let stop = self.stop.resolve(&image)?;
        self.check_outputs(entry)?;
        self.check_places(entry)?;
        let values = self.read_inputs(entry)?;
        let mut sim = Simulator::new(&image, self.options())?;
        let args: Vec<(&str, Arg<'_>)> = values.iter().map(|(name, value)| (*name, value.arg())).collect();
        sim.start(&entry.name, &args).map_err(|error| with_usage(error, entry))?;
        self.check_operands(&mut sim)?;
        let stopped = self.drive(&mut sim, stop.as_ref())?;
        self.report(&image, entry, &mut sim, &stopped, stop.is_some())
    }

    fn options(&self) -> Options {
        Options {
            max_cycles: self.max_cycles,
            max_instructions: self.max_instructions,
            probes: !self.no_probes,
            max_probes: self.max_probes,
            timeline: if self.timeline.is_some() { TIMELINE_EVENTS } else { 0 },
            simd: self.simd,
            threads: self.threads.map(usize::from),
            ..Options::default()
        }
    }

    fn choose_entry<'i>(&self, image: &'i Image) -> anyhow::Result<&'i Entry> {
        let names = || {
            let names: Vec<String> = image.entries().iter().map(|entry| format!("`{}`", entry.name)).collect();
            names.join(", ")
        };
        match (&self.entry, image.entries()) {
            (_, []) => {
                bail!("the program has no entry point\nhelp: write `.entry main` before its first instruction")
            }
            (Some(name), _) => image
                .entry(name)
                .with_context(|| format!("the program has no entry point `{name}`; it has {}", names())),
            (None, [only]) => Ok(only),
            (None, _) => image.entry("main").with_context(|| {
                format!("the program has several entry points\nhelp: choose with --entry one of {}", names())
            }),
        }
    }

    fn read_inputs(&self, entry: &Entry) -> anyhow::Result<Vec<(&str, Given)>> {
        let read = |(name, value): &'_ (String, String)| -> anyhow::Result<Given> {
            // A name that the entry does not know is refused, with those that it knows, when the run is started.
            match entry.param(name).map(|param| param.kind) {
                Some(ParamKind::Scalar) => scalar(value).with_context(|| format!("--input {name}={value}")),
                // A buffer that takes nothing is refused when the run is started.
                Some(ParamKind::Buffer { dir: Direction::Out, .. }) => Ok(Given::Bytes(Vec::new())),
                Some(ParamKind::Buffer { len_bytes, .. }) => {
                    let bytes = files::read_exactly(Path::new(value), len_bytes.into());
                    Ok(Given::Bytes(bytes.with_context(|| format!("--input {name}={value}"))?))
                }
                None => Ok(Given::Scalar(0)),
            }
        };
        self.inputs.iter().map(|input| Ok((input.0.as_str(), read(input)?))).collect()
    }

    fn check_outputs(&self, entry: &Entry) -> anyhow::Result<()> {
        for (name, file) in &self.outputs {
            match entry.param(name).map(|param| param.kind) {
                Some(ParamKind::Buffer { .. }) => {}
                Some(ParamKind::Scalar) => {
                    bail!("--output {name}={file}: `{name}` is a scalar, which gives nothing back")
                }
                None => bail!("--output {name}={file}: no such parameter\n{}", usage(entry)),
            }
        }
        Ok(())
    }

    /// That no output lies where an input or another output does, and that each has a folder.
    fn check_places(&self, entry: &Entry) -> anyhow::Result<()> {
        let is_buffer = |name: &str| matches!(entry.param(name).map(|p| p.kind), Some(ParamKind::Buffer { .. }));
        let mut inputs = vec![self.program.as_path()];
        inputs.extend(self.inputs.iter().filter(|(name, _)| is_buffer(name)).map(|(_, file)| Path::new(file)));
        files::check_outputs(&inputs, &self.files_to_write().collect::<Vec<_>>())
    }

    fn files_to_write(&self) -> impl Iterator<Item = &Path> {
        let outputs = self.outputs.iter().map(|(_, file)| Path::new(file));
        let pictures = self.pictures.iter().map(|(_, file)| file.as_path());
        let reports = [&self.json, &self.trace, &self.timeline].into_iter().flatten().map(PathBuf::as_path);
        outputs.chain(pictures).chain(reports)
    }

    /// That the values asked for can be looked at. Where an address comes from a register, only the end of the run tells.
    fn check_operands(&self, sim: &mut Simulator) -> anyhow::Result<()> {
        for src in self.prints.iter().chain(self.pictures.iter().map(|(src, _)| src)) {
            if !matches!(src, Src::Lrm(Lrm::Rel { .. })) {
                sim.value(*src)?;
            }
        }
        Ok(())
    }

    fn drive(&self, sim: &mut Simulator, stop: Option<&StopAt>) -> anyhow::Result<Stopped> {
        if let Some(path) = &self.trace {
            let mut trace = TraceWriter::new(files::stream(path)?);
            return Ok(sim.run_traced(&mut trace)?);
        }
        match stop {
            Some(stop) => Ok(sim.run_until(stop)?),
            None if std::io::stderr().is_terminal() => Ok(run_with_progress(sim)?),
            None => Ok(sim.run()?),
        }
    }

    fn report(
        &self,
        image: &Image,
        entry: &Entry,
        sim: &mut Simulator,
        stopped: &Stopped,
        to_stop: bool,
    ) -> anyhow::Result<Exit> {
        let mut text = String::new();
        for probe in sim.probes() {
            text += &format!("probe `{}` at cycle {}, pc {}\n{}", probe.name, probe.cycle, probe.pc, probe.grid);
        }
        let mut failures = Vec::new();
        let printed = self.look(sim, &mut failures);
        for (src, grid) in &printed {
            text += &format!("{src}\n{grid}");
        }
        text += &ending(image, sim, stopped, to_stop);
        let profile = sim.profile().context("a run was started")?;
        if self.profile {
            text += &profile.to_text(&TextOptions::default());
        }
        text += &dropped_events(&profile);
        if self.files_to_write().any(files::is_stream) {
            files::complain(text.trim_end());
        } else {
            failures.extend(files::print(&text).err());
        }
        if let (Some(path), Some(timeline)) = (&self.timeline, profile.to_trace_json()) {
            failures.extend(files::write(path, timeline.as_bytes()).err());
        }
        if let Some(path) = &self.json {
            let head = json_report(entry, sim, stopped, &printed);
            let report = serde_json::to_string_pretty(&Report { head, profile: &profile })?;
            failures.extend(files::write(path, (report + "\n").as_bytes()).err());
        }
        let exit = self.finish(sim, stopped, &mut failures);
        for failure in &failures {
            files::complain(&format!("error: {failure:#}"));
        }
        Ok(if exit == Exit::Done && !failures.is_empty() { Exit::Failed } else { exit })
    }

    /// The values asked for; those for pictures are written.
    fn look(&self, sim: &mut Simulator, failures: &mut Vec<anyhow::Error>) -> Vec<(Src, Grid)> {
        for (src, path) in &self.pictures {
            let mut draw = || -> anyhow::Result<()> {
                let mut png = Vec::new();
                sim.value(*src)?.write_png(&mut png, PNG_SCALE)?;
                files::write(path, &png)
            };
            failures.extend(draw().err());
        }
        let mut printed = Vec::new();
        for src in &self.prints {
            match sim.value(*src) {
                Ok(grid) => printed.push((*src, grid)),
                Err(error) => failures.push(error.into()),
            }
        }
        printed
    }

    /// Outputs, or why the program did not come to its end.
    fn finish(&self, sim: &Simulator, stopped: &Stopped, failures: &mut Vec<anyhow::Error>) -> Exit {
        let failed = |kind: &str, trap: &Trap, help: &str| {
            let kept = if self.outputs.is_empty() { "" } else { "\nno output was written" };
            files::complain(&format!("{kind}: {trap}{help}{kept}"));
        };
        match stopped {
            Stopped::Trap(trap) => {
                failed("trap", trap, "");
                return Exit::Trap;
            }
            Stopped::Limit(trap) => {
                let option = match trap.cause {
                    TrapCause::InstructionLimit { .. } => "--max-instructions",
                    _ => "--max-cycles",
                };
                failed("limit", trap, &format!("\nhelp: {option} raises the limit"));
                return Exit::Limit;
            }
            Stopped::Halt | Stopped::At { .. } => {}
        }
        for (name, file) in &self.outputs {
            let put = || files::write(Path::new(file), sim.buffer(name)?);
            failures.extend(put().err());
        }
        Exit::Done
    }
}

/// What a timeline had no room for, as a line; empty if it has all.
fn dropped_events(profile: &Profile) -> String {
    let Some(timeline) = &profile.timeline else { return String::new() };
    let Dropped { regions, transfers, stalls } = timeline.dropped;
    match regions + transfers + stalls {
        0 => String::new(),
        _ => format!(
            "the timeline is full: {regions} regions, {transfers} transfers and {stalls} stalls are not in it\n"
        ),
    }
}

impl Stop {
    /// Where to stop, with the file's name as the image has it.
    fn resolve(&self, image: &Image) -> anyhow::Result<Option<StopAt>> {
        if let Some(pc) = self.break_pc {
            return Ok(Some(StopAt::Pc(pc)));
        }
        if let Some((file, line)) = &self.break_line {
            let known = &image.lines().files;
            let ends_so = |name: &&String| *name == file || name.ends_with(&format!("/{file}"));
            return match known.iter().filter(ends_so).collect::<Vec<_>>()[..] {
                [name] => Ok(Some(StopAt::Line(name.clone(), *line))),
                [] if known.is_empty() => bail!("the image has no source lines\nhelp: `iss asm -g` records them"),
                [] => bail!("no instruction comes from `{file}`; the image knows `{}`", known.join("`, `")),
                _ => bail!("several files end in `{file}`; give more of the path: `{}`", known.join("`, `")),
            };
        }
        let cycle = self.break_cycle.map(StopAt::Cycle);
        Ok(cycle.or_else(|| self.break_region.clone().map(StopAt::Region)))
    }
}

/// What a parameter is given.
enum Given {
    Bytes(Vec<u8>),
    Scalar(i32),
}

impl Given {
    fn arg(&self) -> Arg<'_> {
        match self {
            Given::Bytes(bytes) => Arg::Bytes(bytes),
            Given::Scalar(value) => Arg::Scalar(*value),
        }
    }
}

/// A 32-bit number, signed or unsigned.
fn scalar(text: &str) -> anyhow::Result<Given> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x") {
        // The standard library takes a sign here as well.
        Some(hex) if hex.starts_with(['-', '+']) => {
            bail!("`{text}` is not a 32-bit number\nhelp: decimal, or hexadecimal with 0x")
        }
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse::<i64>(),
    };
    match magnitude.map(|m| if negative { -m } else { m }) {
        Ok(value) if digits.starts_with(|c: char| c.is_ascii_digit()) && (-(1 << 31)..1 << 32).contains(&value) => {
            Ok(Given::Scalar(value as i32))
        }
        _ => bail!("`{text}` is not a 32-bit number\nhelp: decimal, or hexadecimal with 0x"),
    }
}

/// What an entry takes, as options.
fn usage(entry: &Entry) -> String {
    let option = |name: &str, kind: ParamKind| match kind {
        ParamKind::Scalar => format!("--input {name}=INT"),
        ParamKind::Buffer { dir: Direction::Out, len_bytes, .. } => format!("--output {name}=FILE ({len_bytes} bytes)"),
        ParamKind::Buffer { len_bytes, .. } => format!("--input {name}=FILE ({len_bytes} bytes)"),
    };
    let options: Vec<String> = entry.params.iter().map(|param| option(&param.name, param.kind)).collect();
    match options.is_empty() {
        true => format!("help: `{}` takes nothing", entry.name),
        false => format!("help: `{}` takes {}", entry.name, options.join(", ")),
    }
}

fn with_usage(error: iss::sim::SimError, entry: &Entry) -> anyhow::Error {
    anyhow::anyhow!("{error}\n{}", usage(entry))
}

/// Runs to the end with the cycle on standard error, rewritten a few times a second.
fn run_with_progress(sim: &mut Simulator) -> Result<Stopped, iss::sim::SimError> {
    const SLICE: u64 = 2_000_000;
    const PAUSE: Duration = Duration::from_millis(250);
    let (begun, mut shown) = (Instant::now(), None);
    let stopped = loop {
        match sim.run_until(&StopAt::Cycle(sim.cycle().saturating_add(SLICE)))? {
            Stopped::At { cycle, .. } => {
                let now = begun.elapsed();
                if shown.map_or(now > 2 * PAUSE, |last| now - last > PAUSE) {
                    let rate = cycle as f64 / now.as_secs_f64() / 1e6;
                    let _ = write!(std::io::stderr().lock(), "\r{cycle} cycles, {rate:.1} M/s ");
                    shown = Some(now);
                }
            }
            ended => break ended,
        }
    };
    if shown.is_some() {
        let _ = write!(std::io::stderr().lock(), "\r{:60}\r", "");
    }
    Ok(stopped)
}

/// One line on how it ended.
fn ending(image: &Image, sim: &Simulator, stopped: &Stopped, to_stop: bool) -> String {
    let (cycles, instructions) = (sim.cycle(), sim.instructions());
    let after = format!("after {cycles} cycles, {instructions} instructions");
    match stopped {
        Stopped::Halt if to_stop => format!("halted {after}, without coming to where it should stop\n"),
        Stopped::Halt => format!("halted {after}\n"),
        Stopped::At { pc, .. } => {
            let line = image.lines().lookup(*pc).map(|(file, line)| format!(", {file}:{line}")).unwrap_or_default();
            let inst = image.decode().get(*pc as usize).map(ToString::to_string).unwrap_or_default();
            format!("stopped {after}, before pc {pc} `{inst}`{line}\n")
        }
        Stopped::Trap(_) => format!("trapped {after}\n"),
        Stopped::Limit(_) => format!("limited {after}\n"),
    }
}

/// The report; the profile is written as it is, for its timeline may be long.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    head: Value,
    profile: &'a Profile,
}

fn json_report(entry: &Entry, sim: &Simulator, stopped: &Stopped, printed: &[(Src, Grid)]) -> Value {
    let (status, pc, trap) = match stopped {
        Stopped::Halt => ("halt", None, None),
        Stopped::At { pc, .. } => ("stopped", Some(*pc), None),
        Stopped::Trap(trap) => ("trap", Some(trap.pc), Some(trap)),
        Stopped::Limit(trap) => ("limit", Some(trap.pc), Some(trap)),
    };
    let probes = sim.probes().iter();
    let probes = probes.map(|p| json!({ "name": p.name, "pc": p.pc, "cycle": p.cycle, "grid": p.grid }));
    let values = printed.iter().map(|(src, grid)| json!({ "operand": src.to_string(), "grid": grid }));
    json!({
        "entry": entry.name,
        "status": status,
        "pc": pc,
        "trap": trap.map(|trap| {
            let mut fields = json!(trap);
            fields["message"] = json!(trap.to_string());
            fields
        }),
        "cycles": sim.cycle(),
        "instructions": sim.instructions(),
        "probes": probes.collect::<Vec<_>>(),
        "values": values.collect::<Vec<_>>(),
    })
}
