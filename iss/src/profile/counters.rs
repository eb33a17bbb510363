//! What is counted while a run goes on: flat sums, and the same sums by path of regions.

use super::RegionName;

/// What the whole run has counted so far, or a region's share of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Cycles of issue, by class.
    pub(super) issued: [u64; 6],
    /// Instructions, by class.
    pub(super) instructions: [u64; 6],
    /// Cycles of stalls, by class and cause.
    pub(super) stalled: [[u64; 8]; 6],
    /// Products issued to the MAC units.
    pub(super) mac_products: u64,
}

impl Counters {
    /// Cycles charged.
    pub(super) fn cycles(&self) -> u64 {
        self.issued.iter().sum::<u64>() + self.stalled.iter().flatten().sum::<u64>()
    }

    /// Takes a part away, to leave what is not in it.
    pub(super) fn subtract(&mut self, part: &Counters) {
        let whole = std::mem::take(self);
        self.add_since(&whole, part);
    }

    pub(super) fn add_since(&mut self, now: &Counters, start: &Counters) {
        self.mac_products += now.mac_products - start.mac_products;
        for class in 0..6 {
            self.issued[class] += now.issued[class] - start.issued[class];
            self.instructions[class] += now.instructions[class] - start.instructions[class];
            for cause in 0..8 {
                self.stalled[class][cause] += now.stalled[class][cause] - start.stalled[class][cause];
            }
        }
    }
}

/// What one engine has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EngineCounters {
    pub(super) transfers: u64,
    pub(super) tiles: u64,
    pub(super) bytes: u64,
    pub(super) busy: u64,
}

impl EngineCounters {
    pub(super) fn add(&mut self, other: EngineCounters) {
        self.transfers += other.transfers;
        self.tiles += other.tiles;
        self.bytes += other.bytes;
        self.busy += other.busy;
    }
}

/// Highest byte touched, plus one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peaks {
    pub(super) lrm: u64,
    pub(super) ocm: u64,
}

impl Peaks {
    pub(super) fn raise(&mut self, other: Peaks) {
        self.lrm = self.lrm.max(other.lrm);
        self.ocm = self.ocm.max(other.ocm);
    }
}

/// One path of regions.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: RegionName,
    pub(super) parent: Option<u32>,
    pub(super) calls: u64,
    /// With children.
    pub(super) counters: Counters,
    /// Of transfers issued here, without children.
    pub(super) engines: [EngineCounters; 6],
    /// With children.
    pub(super) peaks: Peaks,
}

impl Node {
    pub(super) fn new(name: RegionName, parent: Option<u32>) -> Self {
        Self {
            name,
            parent,
            calls: 0,
            counters: Counters::default(),
            engines: Default::default(),
            peaks: Peaks::default(),
        }
    }
}
