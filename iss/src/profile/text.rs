//! A profile as tables and bars, in plain text without colour.

use std::convert::Infallible;
use std::fmt::Write;

use super::figure::{Grid, grouped, percent, seconds, share};
use super::{Profile, Region, StallCause, Table};
use crate::isa::Class;
use crate::isa::operand::Engine;

/// How bars are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bars {
    /// Block characters, to an eighth of a column.
    #[default]
    Unicode,
    /// `#`.
    Ascii,
    /// Not at all.
    None,
}

/// What the text of a profile shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextOptions {
    /// Columns of the terminal; bars take what the tables leave, and are left out where that is under four.
    pub width: usize,
    /// How bars are drawn.
    pub bars: Bars,
    /// Levels of regions.
    pub max_depth: usize,
    /// Regions with a smaller share of the run are not shown, nor those inside them; 0 shows all.
    pub min_share: f64,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 120, bars: Bars::Unicode, max_depth: usize::MAX, min_share: 0.0 }
    }
}

impl Profile {
    /// The whole profile: headline, classes, stalls, engines and regions.
    pub fn to_text(&self, options: &TextOptions) -> String {
        let mut text = self.headline();
        push_tables(&mut text, &self.root.inclusive, self.cycles, options);
        if !self.root.children.is_empty() {
            text.push('\n');
            text += &self.regions(options);
        }
        text
    }

    /// The tables of the region at `path`, with the regions inside; percentages are of the region's cycles.
    pub fn region_to_text(&self, path: &str, options: &TextOptions) -> Option<String> {
        let region = self.region(path)?;
        let mut text = format!(
            "region {}: {} calls, {} cycles, {} % of the run, {} of them its own\npeak: OCM {} B, LRM {} B\n",
            if path.is_empty() { &region.name } else { path },
            grouped(region.calls),
            grouped(region.cycles()),
            percent(share(region.cycles(), self.cycles)),
            grouped(region.exclusive.cycles),
            grouped(region.peak_ocm_bytes),
            grouped(region.peak_lrm_bytes),
        );
        push_tables(&mut text, &region.inclusive, region.cycles(), options);
        Some(text)
    }

    fn headline(&self) -> String {
        format!(
            "{}\n{} cycles, {}, {:.1} runs/s; MAC utilisation {} %\nexternal: {} B read, {} B written; \
             peak: OCM {} B, LRM {} B\n",
            self.target,
            grouped(self.cycles),
            seconds(self.latency_s),
            self.runs_per_s,
            percent(self.mac_utilisation),
            grouped(self.ext_read_bytes),
            grouped(self.ext_write_bytes),
            grouped(self.root.peak_ocm_bytes),
            grouped(self.root.peak_lrm_bytes),
        )
    }

    fn regions(&self, options: &TextOptions) -> String {
        let header = ["region", "calls", "cycles", "%", "own", "pred%", "comp%", "array%", "mac%", "ext%", "ocm%"];
        let mut grid = Grid::new(&header, 1);
        let mut hidden = 0;
        let mut visit = |_: &str, depth: usize, region: &Region| {
            let of_run = share(region.cycles(), self.cycles);
            if depth > options.max_depth || of_run < options.min_share {
                hidden += 1;
            } else {
                grid.bar_row(region_cells(depth, region, of_run), of_run);
            }
            Ok::<(), Infallible>(())
        };
        let Ok(()) = self.root.walk(&mut visit);
        let mut text = grid.render(options);
        if hidden > 0 {
            let _ = writeln!(text, "({hidden} regions not shown)");
        }
        text
    }
}

/// One line of the table of regions.
fn region_cells(depth: usize, region: &Region, of_run: f64) -> Vec<String> {
    let mut cells = vec![
        format!("{}{}", "  ".repeat(depth), region.name),
        grouped(region.calls),
        grouped(region.cycles()),
        percent(of_run),
        grouped(region.exclusive.cycles),
    ];
    let class_share = |class| percent(share(region.inclusive.class(class).cycles, region.cycles()));
    cells.extend(Class::ALL.map(class_share));
    cells
}

fn push_tables(text: &mut String, table: &Table, cycles: u64, options: &TextOptions) {
    for grid in [classes(table, cycles), stalls(table, cycles), engines(table, cycles)].into_iter().flatten() {
        text.push('\n');
        *text += &grid.render(options);
    }
}

fn classes(table: &Table, cycles: u64) -> Option<Grid> {
    let mut grid = Grid::new(&["class", "instructions", "issue", "stall", "cycles", "%"], 1);
    for class in Class::ALL {
        let used = table.class(class);
        let part = share(used.cycles, cycles);
        let figures =
            [used.instructions, used.issue_cycles, used.cycles.saturating_sub(used.issue_cycles), used.cycles];
        grid.bar_row(line(&class.to_string(), figures, part), part);
    }
    let issue = table.classes.values().map(|used| used.issue_cycles).sum();
    let figures = [table.instructions(), issue, table.cycles.saturating_sub(issue), table.cycles];
    grid.row(line("total", figures, share(table.cycles, cycles)));
    Some(grid)
}

/// Word, numbers and a percentage.
fn line(word: &str, figures: [u64; 4], part: f64) -> Vec<String> {
    let numbers = figures.into_iter().map(grouped);
    [word.to_owned()].into_iter().chain(numbers).chain([percent(part)]).collect()
}

/// Stalls by cause and class, the longest first.
fn stalls(table: &Table, cycles: u64) -> Option<Grid> {
    let by_class =
        table.classes.iter().flat_map(|(class, used)| used.stalls.iter().map(move |(&cause, &n)| (n, cause, class)));
    let mut stalls: Vec<_> = by_class.collect();
    stalls.sort_by_key(|&(n, cause, class)| (std::cmp::Reverse(n), cause, class));
    let mut grid = Grid::new(&["stall", "charged to", "cycles", "%"], 2);
    for &(n, cause, class) in &stalls {
        let direction = match cause {
            StallCause::DmaRead => " read",
            StallCause::DmaWrite => " write",
            _ => "",
        };
        let part = share(n, cycles);
        grid.bar_row([format!("{cause}{direction}"), class.to_string(), grouped(n), percent(part)], part);
    }
    (!stalls.is_empty()).then_some(grid)
}

fn engines(table: &Table, cycles: u64) -> Option<Grid> {
    let mut grid = Grid::new(&["engine", "transfers", "tiles", "bytes", "busy", "busy%", "B/cycle"], 1);
    for engine in Engine::ALL.into_iter().filter(|engine| table.engines.contains_key(engine)) {
        let used = table.engine(engine);
        let part = share(used.busy_cycles, cycles);
        let mut cells = line(&engine.to_string(), [used.transfers, used.tiles, used.bytes, used.busy_cycles], part);
        cells.push(format!("{:.1}", share(used.bytes, used.busy_cycles)));
        grid.bar_row(cells, part);
    }
    (!table.engines.is_empty()).then_some(grid)
}
