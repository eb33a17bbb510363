//! What tables of a run show.

use iss::isa::Class;
use iss::profile::StallCause;
use iss::profile::figure::{grouped, percent, seconds, share};

use crate::report::Table;
use crate::run::report::{Cycles, Figures, MemoryKind, RunReport, TensorReport};

/// The machine, what of it the run used, and how fast it was.
pub fn module(report: &RunReport) -> Table {
    let mut table = Table::new("module", &["property", "value"], 2);
    let mut line = |name: &str, value: String| table.row([name.to_owned(), value]);
    let (machine, figures) = (&report.machine, &report.figures);
    let peak = figures.peak;
    line("network", report.network.clone());
    line("target", report.target.clone());
    let (rows, cols, macs) = (machine.rows, machine.cols, machine.macs_per_pe);
    line("array", format!("{rows} x {cols} PEs, {macs} int8 MACs each a cycle, {} MHz", machine.clock_mhz));
    line("on-chip memory", used(peak.ocm_bytes, machine.ocm_bytes));
    line("local memory of a PE", used(peak.lrm_bytes, machine.lrm_bytes));
    let (read, write) = (gigabytes(machine.ext_read_mb_s), gigabytes(machine.ext_write_mb_s));
    line("external bandwidth", format!("{read} GB/s read, {write} GB/s written"));
    line("constants", format!("{} B", grouped(report.constant_bytes)));
    line("temporary external memory", format!("{} B", grouped(peak.temp_ext_bytes)));
    let (kernels, entries) = (counted(report.kernels.len(), "kernel"), counted(report.entries, "entry point"));
    line("program", format!("{kernels}, {entries}"));
    line("arithmetic", format!("{:.3} GMAC", figures.macs as f64 / 1e9));
    line("cycles", grouped(figures.cycles.total));
    line("latency", seconds(report.latency_s));
    line("frames per second", format!("{:.1}", report.frames_per_s));
    let watts = if report.latency_s > 0.0 { report.energy.total_mj / 1e3 / report.latency_s } else { 0.0 };
    line("energy, an estimate", format!("{:.2} mJ ({watts:.1} W on average)", report.energy.total_mj));
    line("MAC utilisation", format!("{} %", percent(figures.mac_utilisation)));
    line("external bytes read", traffic(figures.ext_read_bytes, report.latency_s));
    line("external bytes written", traffic(figures.ext_write_bytes, report.latency_s));
    let (compile, simulate) = (figures.wall_s.compile, figures.wall_s.simulate);
    line("on this host", format!("compiled in {}, simulated in {}", seconds(compile), seconds(simulate)));
    table
}

/// Inputs and outputs of the network, in the graph and on the device.
pub fn tensors(report: &RunReport) -> Table {
    let columns = ["tensor", "", "graph", "device", "layout", "bytes", "scale", "zero point"];
    let mut table = Table::new("inputs and outputs", &columns, 5);
    let inputs = report.inputs.iter().map(|tensor| (tensor, "input"));
    for (tensor, way) in inputs.chain(report.outputs.iter().map(|tensor| (tensor, "output"))) {
        let TensorReport { name, r#type, elem, layout, bytes, scale, zero_point, .. } = tensor;
        let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let (scale, zero) = (number(scale.map(|s| s.to_string())), number(zero_point.map(|z| z.to_string())));
        let words = [name, way, r#type, elem, layout].map(|word: &str| word.to_owned());
        table.row([words.to_vec(), vec![grouped(*bytes), scale, zero]].concat());
    }
    table
}

/// Cycles by class.
pub fn classes(figures: &Figures) -> Table {
    let mut table = Table::new("cycles by class", &["class", "cycles", "%"], 1);
    let total = figures.cycles.total;
    for class in Class::ALL {
        let cycles = of_class(&figures.cycles, class);
        let part = share(cycles, total);
        table.bar_row([class.to_string(), grouped(cycles), percent(part)], vec![(Some(class), part)]);
    }
    table.row(["total".to_owned(), grouped(total), percent(share(total, total))]);
    table
}

/// Stalls by cause, the longest first.
pub fn stalls(figures: &Figures) -> Table {
    let mut table = Table::new("stalls, which the classes above hold", &["stall", "cycles", "%"], 1);
    let mut stalls: Vec<(StallCause, u64)> = figures.stalls.iter().map(|(&cause, &cycles)| (cause, cycles)).collect();
    stalls.sort_by_key(|&(cause, cycles)| (std::cmp::Reverse(cycles), cause));
    for (cause, cycles) in stalls {
        let part = share(cycles, figures.cycles.total);
        table.bar_row([stall_name(cause), grouped(cycles), percent(part)], vec![(None, part)]);
    }
    table
}

/// Both directions of external memory are shown by one name elsewhere.
fn stall_name(cause: StallCause) -> String {
    match cause {
        StallCause::DmaRead => format!("{cause} read"),
        StallCause::DmaWrite => format!("{cause} write"),
        _ => cause.to_string(),
    }
}

/// Shares of the six classes, as columns.
const CLASSES: [&str; 6] = ["pred%", "comp%", "array%", "mac%", "ext%", "ocm%"];

/// Kernels: cycles, share of the run, classes, arithmetic.
pub fn kernels(report: &RunReport) -> Table {
    let columns = [&["kernel", "cycles", "%"], &CLASSES[..], &["stall%", "GMAC", "MAC use%"]].concat();
    let mut table = Table::new("kernels", &columns, 1);
    for kernel in &report.kernels {
        let figures = &kernel.figures;
        let mut cells = cycles_cells(&kernel.name, &figures.cycles, report.figures.cycles.total);
        cells.push(percent(share(figures.stalls.values().sum(), figures.cycles.total)));
        cells.extend([format!("{:.3}", figures.macs as f64 / 1e9), percent(figures.mac_utilisation)]);
        table.bar_row(cells, stack(&figures.cycles, longest(report)));
    }
    table
}

/// Kernels: bytes moved and memory used.
pub fn bytes(report: &RunReport) -> Table {
    let columns = ["kernel", "constants", "external read", "external written", "OCM peak", "LRM peak", "compiled"];
    let mut table = Table::new("bytes of kernels", &columns, 1);
    for kernel in &report.kernels {
        let figures = &kernel.figures;
        let (read, written, peak) = (figures.ext_read_bytes, figures.ext_write_bytes, figures.peak);
        let numbers = [kernel.constant_bytes, read, written, peak.ocm_bytes, peak.lrm_bytes].map(grouped);
        let compiled = seconds(figures.wall_s.compile);
        table.row([vec![kernel.name.clone()], numbers.to_vec(), vec![compiled]].concat());
    }
    table
}

/// Operators of kernels, in the order of the run.
pub fn operators(report: &RunReport) -> Table {
    let columns = [&["kernel", "operator", "cycles", "%"], &CLASSES[..], &["stalls", "M products"]].concat();
    let mut table = Table::new("operators", &columns, 2);
    let operators = || report.kernels.iter().flat_map(|kernel| kernel.operators.iter().map(move |op| (kernel, op)));
    let longest = operators().map(|(_, operator)| operator.cycles.total).max().unwrap_or(0);
    for (kernel, operator) in operators() {
        let mut cells = vec![kernel.name.clone()];
        cells.extend(cycles_cells(&operator.name, &operator.cycles, report.figures.cycles.total));
        cells.push(grouped(operator.stalls.values().sum()));
        cells.push(format!("{:.1}", operator.mac_products as f64 / 1e6));
        table.bar_row(cells, stack(&operator.cycles, longest));
    }
    table
}

/// Products of the network, by operator of the file.
pub fn arithmetic(report: &RunReport) -> Table {
    let mut table = Table::new("arithmetic by operator", &["operator", "nodes", "MACs", "%"], 1);
    for operator in &report.macs_by_operator {
        let part = share(operator.macs, report.figures.macs);
        let cells = [operator.op.clone(), operator.nodes.to_string(), grouped(operator.macs), percent(part)];
        table.bar_row(cells, vec![(None, part.min(1.0))]);
    }
    table
}

/// What the run may take of energy.
pub fn energy(report: &RunReport) -> Table {
    let columns = ["events", "of what", "source of pJ", "count", "pJ", "mJ", "%"];
    let mut table = Table::new("energy, an estimate", &columns, 3);
    let total = report.energy.total_mj;
    let of_total = |mj: f64| if total > 0.0 { mj / total } else { 0.0 };
    for part in &report.energy.parts {
        let [name, event, source] = [&part.name, &part.event, &part.source].map(String::clone);
        let [count, mj] = [grouped(part.count), format!("{:.3}", part.mj)];
        let cells = [name, event, source, count, part.pj.to_string(), mj, percent(of_total(part.mj))];
        table.bar_row(cells, vec![(None, of_total(part.mj))]);
    }
    table
}

/// What lies where in memory, and from which kernel to which.
pub fn memory(report: &RunReport) -> Table {
    let mut table = Table::new("memory", &["tensor", "memory", "from", "to", "first byte", "bytes"], 4);
    let kernel = |i: usize| report.kernels.get(i).map_or_else(|| "end".to_owned(), |kernel| kernel.name.clone());
    for place in &report.memory {
        let memory = match place.memory {
            MemoryKind::Ocm => "on-chip",
            MemoryKind::Ext => "external",
        };
        let words = [place.name.clone(), memory.to_owned(), kernel(place.first), kernel(place.last)];
        table.row([words.to_vec(), vec![grouped(place.offset), grouped(place.bytes)]].concat());
    }
    table
}

/// Kernels that were replaced or edited by hand.
pub fn edits(report: &RunReport) -> Table {
    let mut table = Table::new("kernels written by hand", &["kernel", "file", "edits"], 3);
    for kernel in &report.kernels {
        if kernel.replaced_by.is_some() || !kernel.edits.is_empty() {
            let file = kernel.replaced_by.clone().unwrap_or_default();
            table.row([kernel.name.clone(), file, kernel.edits.join("; ")]);
        }
    }
    table
}

/// Name, cycles, share of the run, and the share of each class.
fn cycles_cells(name: &str, cycles: &Cycles, of_run: u64) -> Vec<String> {
    let mut cells = vec![name.to_owned(), grouped(cycles.total), percent(share(cycles.total, of_run))];
    cells.extend(Class::ALL.map(|class| percent(share(of_class(cycles, class), cycles.total))));
    cells
}

/// A bar of the classes, as long as the cycles are of `longest`.
fn stack(cycles: &Cycles, longest: u64) -> Vec<(Option<Class>, f64)> {
    Class::ALL.into_iter().map(|class| (Some(class), share(of_class(cycles, class), longest))).collect()
}

/// Cycles of the kernel that takes most.
fn longest(report: &RunReport) -> u64 {
    report.kernels.iter().map(|kernel| kernel.figures.cycles.total).max().unwrap_or(0)
}

fn of_class(cycles: &Cycles, class: Class) -> u64 {
    cycles.by_class.get(&class).copied().unwrap_or(0)
}

fn used(most: u64, of: u64) -> String {
    format!("{} B, at most {} B used ({} %)", grouped(of), grouped(most), percent(share(most, of)))
}

/// GB/s of MB/s.
fn gigabytes(mb_s: u32) -> f64 {
    f64::from(mb_s) / 1e3
}

/// Bytes, and their bandwidth over the run.
fn traffic(bytes: u64, latency_s: f64) -> String {
    let rate = if latency_s > 0.0 { bytes as f64 / latency_s / 1e9 } else { 0.0 };
    format!("{} ({rate:.2} GB/s on average)", grouped(bytes))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
