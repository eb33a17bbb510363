//! Two runs side by side: what an edit is worth.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figure::{Grid, grouped, percent, seconds};
use super::{Bars, Profile, Region, StallCause, TextOptions};
use crate::isa::Class;

/// A figure in two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// In the first run.
    pub before: u64,
    /// In the second run.
    pub after: u64,
}

impl Change {
    /// How much more the second run has.
    pub fn delta(self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// The same as a share of the first run; `None` if that has nothing.
    pub fn relative(self) -> Option<f64> {
        (self.before > 0).then(|| self.delta() as f64 / self.before as f64)
    }

    fn cells(self) -> [String; 4] {
        [grouped(self.before), grouped(self.after), signed(self.delta()), self.percent()]
    }

    fn percent(self) -> String {
        match self.relative() {
            Some(_) if self.before == self.after => "0.0".to_owned(),
            Some(relative) if relative > 0.0 => format!("+{}", percent(relative)),
            Some(relative) => percent(relative),
            None if self.after == 0 => "0.0".to_owned(),
            None => "new".to_owned(),
        }
    }
}

/// A region in two runs; where one does not have it, its figures are 0 there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionChange {
    /// Names from the outermost region, `/` between; empty for the whole run.
    pub path: String,
    /// Calls.
    pub calls: Change,
    /// Cycles, with the regions inside.
    pub cycles: Change,
    /// The same by class.
    pub classes: BTreeMap<Class, Change>,
}

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// Target of the first run.
    pub target_before: String,
    /// Target of the second run.
    pub target_after: String,
    /// Seconds of the first run.
    pub latency_before_s: f64,
    /// Seconds of the second run.
    pub latency_after_s: f64,
    /// Stalls by cause; causes without any are absent.
    pub stalls: BTreeMap<StallCause, Change>,
    /// Bytes read from external memory.
    pub ext_read_bytes: Change,
    /// Bytes written to external memory.
    pub ext_write_bytes: Change,
    /// The whole run first, then every region of either run, outer ones first.
    pub regions: Vec<RegionChange>,
}

impl Profile {
    /// Compares this run with a later one.
    pub fn diff(&self, after: &Profile) -> Diff {
        let stall = |cause| {
            let change =
                Change { before: self.root.inclusive.stalls(cause), after: after.root.inclusive.stalls(cause) };
            (change != Change::default()).then_some((cause, change))
        };
        let mut regions = Vec::new();
        compare("", Some(&self.root), Some(&after.root), &mut regions);
        Diff {
            target_before: self.target.clone(),
            target_after: after.target.clone(),
            latency_before_s: self.latency_s,
            latency_after_s: after.latency_s,
            stalls: StallCause::ALL.into_iter().filter_map(stall).collect(),
            ext_read_bytes: Change { before: self.ext_read_bytes, after: after.ext_read_bytes },
            ext_write_bytes: Change { before: self.ext_write_bytes, after: after.ext_write_bytes },
            regions,
        }
    }
}

/// Pairs regions by path: those of the first run in its order, then those that only the second has.
fn compare(path: &str, before: Option<&Region>, after: Option<&Region>, rows: &mut Vec<RegionChange>) {
    let change =
        |figure: &dyn Fn(&Region) -> u64| Change { before: before.map_or(0, figure), after: after.map_or(0, figure) };
    rows.push(RegionChange {
        path: path.to_owned(),
        calls: change(&|region| region.calls),
        cycles: change(&|region| region.cycles()),
        classes: Class::ALL.map(|class| (class, change(&|region| region.inclusive.class(class).cycles))).into(),
    });
    let old = before.map_or(&[][..], |region| &region.children);
    let new = after.map_or(&[][..], |region| &region.children);
    for child in old {
        let same = new.iter().find(|other| other.name == child.name);
        compare(&Region::path(path, &child.name), Some(child), same, rows);
    }
    for child in new.iter().filter(|child| !old.iter().any(|other| other.name == child.name)) {
        compare(&Region::path(path, &child.name), None, Some(child), rows);
    }
}

impl Diff {
    /// Cycles before and after, by class, by cause of stall and by region. Regions without a change are only counted.
    pub fn to_text(&self) -> String {
        let options = TextOptions { bars: Bars::None, ..TextOptions::default() };
        let mut sections = vec![self.headline(), self.classes().render(&options)];
        if !self.stalls.is_empty() {
            sections.push(self.stall_grid().render(&options));
        }
        let (changed, same): (Vec<_>, Vec<_>) =
            self.regions.iter().skip(1).partition(|region| region.classes.values().any(|change| change.delta() != 0));
        if !changed.is_empty() {
            sections.push(region_grid(&changed).render(&options));
        }
        let mut text = sections.join("\n");
        if !same.is_empty() {
            text += &format!("\n{} regions as before\n", same.len());
        }
        text
    }

    /// Cycles of the whole run.
    pub fn cycles(&self) -> Change {
        self.regions.first().map(|run| run.cycles).unwrap_or_default()
    }

    fn headline(&self) -> String {
        let target = if self.target_before == self.target_after {
            self.target_before.clone()
        } else {
            format!("{} -> {}", self.target_before, self.target_after)
        };
        let bytes = |change: Change| format!("{} -> {} B", grouped(change.before), grouped(change.after));
        format!(
            "{target}\nlatency: {} -> {}\nexternal: read {}, written {}\n",
            seconds(self.latency_before_s),
            seconds(self.latency_after_s),
            bytes(self.ext_read_bytes),
            bytes(self.ext_write_bytes)
        )
    }

    fn classes(&self) -> Grid {
        let mut grid = Grid::new(&["class", "before", "after", "change", "%"], 1);
        for (class, change) in self.regions.first().into_iter().flat_map(|run| &run.classes) {
            grid.row(cells(class.to_string(), *change));
        }
        grid.row(cells("total".to_owned(), self.cycles()));
        grid
    }

    fn stall_grid(&self) -> Grid {
        let mut grid = Grid::new(&["stall", "before", "after", "change", "%"], 1);
        for (cause, change) in &self.stalls {
            let direction = match cause {
                StallCause::DmaRead => " read",
                StallCause::DmaWrite => " write",
                _ => "",
            };
            grid.row(cells(format!("{cause}{direction}"), *change));
        }
        grid
    }
}

fn region_grid(regions: &[&RegionChange]) -> Grid {
    let mut grid = Grid::new(&["region", "by class", "before", "after", "change", "%"], 2);
    for region in regions {
        let moved = region.classes.iter().filter(|(_, change)| change.delta() != 0);
        let by_class: Vec<String> =
            moved.map(|(class, change)| format!("{class} {}", signed(change.delta()))).collect();
        let mut row = vec![region.path.clone(), by_class.join(", ")];
        row.extend(region.cycles.cells());
        grid.row(row);
    }
    grid
}

fn cells(word: String, change: Change) -> Vec<String> {
    [word].into_iter().chain(change.cells()).collect()
}

fn signed(delta: i128) -> String {
    let sign = match delta {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", grouped(delta.unsigned_abs() as u64))
}
