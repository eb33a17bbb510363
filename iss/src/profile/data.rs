//! The finished profile: plain data, serialised as it stands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::{Counters, EngineCounters, Node};
use super::timeline::Timeline;
use super::{ProfileError, StallCause};
use crate::isa::Class;
use crate::isa::operand::Engine;
use crate::target::Target;

/// Where the cycles of a run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The target, as text that parses.
    pub target: String,
    /// Clock in MHz.
    pub clock_mhz: u32,
    /// PEs, without the border.
    pub pes: u32,
    /// MACs per PE and cycle.
    pub macs_per_pe: u32,
    /// Cycles of the run.
    pub cycles: u64,
    /// Seconds of the run at the clock.
    pub latency_s: f64,
    /// Runs a second at the clock; 0 for a run without cycles.
    pub runs_per_s: f64,
    /// Products issued, over those that the MAC units could have been given in the same cycles.
    pub mac_utilisation: f64,
    /// Bytes read from external memory.
    pub ext_read_bytes: u64,
    /// Bytes written to external memory.
    pub ext_write_bytes: u64,
    /// The whole run, and in it the regions.
    pub root: Region,
    /// When it happened, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// One region: all stays on one path of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Name.
    pub name: String,
    /// Times that it was entered.
    pub calls: u64,
    /// With the regions inside.
    pub inclusive: Table,
    /// Without the regions inside.
    pub exclusive: Table,
    /// Bytes of local memory touched: highest byte plus one.
    pub peak_lrm_bytes: u64,
    /// Bytes of on-chip memory touched: highest byte plus one.
    pub peak_ocm_bytes: u64,
    /// Regions inside, in order of first entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Region>,
}

/// What a region was charged, and what the engines did for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Cycles; the six classes sum to it.
    pub cycles: u64,
    /// The six classes.
    pub classes: BTreeMap<Class, ClassUse>,
    /// Products issued to the MAC units, over all PEs.
    pub mac_products: u64,
    /// The engines' work for transfers issued here; engines without any are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engines: BTreeMap<Engine, EngineUse>,
}

/// One class in a region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassUse {
    /// Cycles: issue and stalls.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles of issue.
    pub issue_cycles: u64,
    /// Cycles of stalls, by cause; causes without any are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stalls: BTreeMap<StallCause, u64>,
}

/// One engine's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineUse {
    /// Transfers.
    pub transfers: u64,
    /// Tiles.
    pub tiles: u64,
    /// Bytes.
    pub bytes: u64,
    /// Cycles in which it had a transfer under way.
    pub busy_cycles: u64,
}

impl Profile {
    pub(super) fn new(target: &Target, names: &[String], nodes: &[Node], timeline: Option<Timeline>) -> Self {
        let spec = target.spec();
        let root = tree(names, nodes);
        let (cycles, latency_s) = (root.cycles(), target.seconds(root.cycles()));
        let possible = cycles as f64 * f64::from(target.pes()) * f64::from(spec.macs_per_pe);
        let over_time = |amount: f64, time: f64| if cycles == 0 { 0.0 } else { amount / time };
        Self {
            target: target.to_string(),
            clock_mhz: spec.clock_mhz,
            pes: target.pes(),
            macs_per_pe: spec.macs_per_pe,
            cycles,
            latency_s,
            runs_per_s: over_time(1.0, latency_s),
            mac_utilisation: over_time(root.inclusive.mac_products as f64, possible),
            ext_read_bytes: root.inclusive.engine(Engine::DmaIn).bytes,
            ext_write_bytes: root.inclusive.engine(Engine::DmaOut).bytes,
            root,
            timeline,
        }
    }

    /// The region at `path`, names with `/` between; the empty path is the whole run. Names may hold `/` themselves.
    pub fn region(&self, path: &str) -> Option<&Region> {
        self.root.find(path)
    }

    /// Checks that the six classes of every region sum to its cycles, and that each region is its own part and its
    /// children.
    ///
    /// # Errors
    /// [`ProfileError::Sum`] with the first figure that does not add up.
    pub fn check_sums(&self) -> Result<(), ProfileError> {
        expect(&self.root.name, "cycles of the run", self.cycles, self.root.cycles())?;
        self.root.walk(&mut |path, depth, region| region.check_sums(if depth == 0 { &region.name } else { path }))
    }
}

impl Region {
    /// Cycles, with the regions inside.
    pub fn cycles(&self) -> u64 {
        self.inclusive.cycles
    }

    /// Calls `visit` with path, depth and region for this region (whose path is empty) and all inside, outer ones
    /// first.
    pub fn walk<E>(&self, visit: &mut impl FnMut(&str, usize, &Region) -> Result<(), E>) -> Result<(), E> {
        self.walk_from("", 0, visit)
    }

    fn walk_from<E>(
        &self,
        path: &str,
        depth: usize,
        visit: &mut impl FnMut(&str, usize, &Region) -> Result<(), E>,
    ) -> Result<(), E> {
        visit(path, depth, self)?;
        self.children.iter().try_for_each(|child| child.walk_from(&Self::path(path, &child.name), depth + 1, visit))
    }

    /// The path of `name` inside `parent`.
    pub(super) fn path(parent: &str, name: &str) -> String {
        if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
    }

    fn find(&self, path: &str) -> Option<&Region> {
        if path.is_empty() {
            return Some(self);
        }
        self.children.iter().find_map(|child| match path.strip_prefix(&child.name)? {
            "" => Some(child),
            rest => child.find(rest.strip_prefix('/').filter(|rest| !rest.is_empty())?),
        })
    }

    fn check_sums(&self, path: &str) -> Result<(), ProfileError> {
        self.inclusive.check_sums(path)?;
        self.exclusive.check_sums(path)?;
        let mut parts = self.exclusive.clone();
        self.children.iter().for_each(|child| parts.add(&child.inclusive));
        expect(path, "own cycles and those of the regions inside", parts.cycles, self.cycles())?;
        expect(
            path,
            "own MAC products and those of the regions inside",
            parts.mac_products,
            self.inclusive.mac_products,
        )?;
        for class in Class::ALL {
            let (parts, whole) = (parts.class(class), self.inclusive.class(class));
            expect(path, format!("`{class}`, own and inside"), parts.cycles, whole.cycles)?;
            expect(path, format!("instructions of `{class}`, own and inside"), parts.instructions, whole.instructions)?;
        }
        for engine in Engine::ALL {
            let (parts, whole) = (parts.engine(engine), self.inclusive.engine(engine));
            expect(path, format!("bytes of `{engine}`, own and inside"), parts.bytes, whole.bytes)?;
            expect(path, format!("busy cycles of `{engine}`, own and inside"), parts.busy_cycles, whole.busy_cycles)?;
        }
        Ok(())
    }
}

impl Table {
    /// One class.
    pub fn class(&self, class: Class) -> ClassUse {
        self.classes.get(&class).cloned().unwrap_or_default()
    }

    /// One engine.
    pub fn engine(&self, engine: Engine) -> EngineUse {
        self.engines.get(&engine).copied().unwrap_or_default()
    }

    /// Cycles of stalls with one cause, over all classes.
    pub fn stalls(&self, cause: StallCause) -> u64 {
        self.classes.values().filter_map(|class| class.stalls.get(&cause)).sum()
    }

    /// Instructions of all classes.
    pub fn instructions(&self) -> u64 {
        self.classes.values().map(|class| class.instructions).sum()
    }

    fn from_counters(counters: &Counters, engines: &[EngineCounters; 6]) -> Self {
        let class = |class: Class| {
            let (issue_cycles, stalled) = (counters.issued[class as usize], &counters.stalled[class as usize]);
            let cycles = issue_cycles + stalled.iter().sum::<u64>();
            let stalls = StallCause::ALL.iter().map(|&cause| (cause, stalled[cause as usize])).filter(|&(_, n)| n > 0);
            let instructions = counters.instructions[class as usize];
            (class, ClassUse { cycles, instructions, issue_cycles, stalls: stalls.collect() })
        };
        let engines = Engine::ALL.iter().map(|&engine| (engine, engines[engine as usize]));
        let used = engines.filter(|(_, counters)| counters.transfers > 0);
        Self {
            cycles: counters.cycles(),
            classes: Class::ALL.into_iter().map(class).collect(),
            mac_products: counters.mac_products,
            engines: used.map(|(engine, counters)| (engine, counters.into())).collect(),
        }
    }

    /// Adds another region's figures.
    fn add(&mut self, other: &Table) {
        self.cycles += other.cycles;
        self.mac_products += other.mac_products;
        for (class, used) in &other.classes {
            let sum = self.classes.entry(*class).or_default();
            sum.cycles += used.cycles;
            sum.instructions += used.instructions;
            sum.issue_cycles += used.issue_cycles;
            used.stalls.iter().for_each(|(cause, n)| *sum.stalls.entry(*cause).or_default() += n);
        }
        for (engine, used) in &other.engines {
            let sum = self.engines.entry(*engine).or_default();
            sum.transfers += used.transfers;
            sum.tiles += used.tiles;
            sum.bytes += used.bytes;
            sum.busy_cycles += used.busy_cycles;
        }
    }

    fn check_sums(&self, path: &str) -> Result<(), ProfileError> {
        expect(path, "sum of the six classes", self.classes.values().map(|class| class.cycles).sum(), self.cycles)?;
        self.classes.iter().try_for_each(|(class, used)| {
            let parts = used.issue_cycles + used.stalls.values().sum::<u64>();
            expect(path, format!("issue and stalls of `{class}`"), parts, used.cycles)
        })
    }
}

impl From<EngineCounters> for EngineUse {
    fn from(counters: EngineCounters) -> Self {
        let EngineCounters { transfers, tiles, bytes, busy } = counters;
        Self { transfers, tiles, bytes, busy_cycles: busy }
    }
}

fn expect(region: impl Into<String>, what: impl Into<String>, found: u64, expected: u64) -> Result<(), ProfileError> {
    if found == expected {
        Ok(())
    } else {
        Err(ProfileError::Sum { region: region.into(), what: what.into(), found, expected })
    }
}

/// The tree of regions from the recorder's list, in which a parent stands before its children.
fn tree(names: &[String], nodes: &[Node]) -> Region {
    let (mut own, mut engines): (Vec<Counters>, Vec<_>) = nodes.iter().map(|n| (n.counters, n.engines)).unzip();
    let mut children = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent.map(|parent| parent as usize) {
            own[parent].subtract(&node.counters);
            let inner = engines[i];
            engines[parent].iter_mut().zip(inner).for_each(|(sum, inner)| sum.add(inner));
        }
        let mut inside: Vec<Region> = std::mem::take(&mut children[i]);
        inside.reverse();
        let region = Region {
            name: names[node.name.index()].clone(),
            calls: node.calls,
            inclusive: Table::from_counters(&node.counters, &engines[i]),
            exclusive: Table::from_counters(&own[i], &node.engines),
            peak_lrm_bytes: node.peaks.lrm,
            peak_ocm_bytes: node.peaks.ocm,
            children: inside,
        };
        match node.parent {
            Some(parent) => children[parent as usize].push(region),
            None => return region,
        }
    }
    unreachable!("the first node has no parent")
}
