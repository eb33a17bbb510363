//! What the simulator calls while it runs. The hot path is a couple of adds to one flat set of counters; a region is
//! the difference of two snapshots of them.

use std::collections::HashMap;

use super::counters::{Counters, Node, Peaks};
use super::timeline::{Timeline, TransferSpan};
use super::{Profile, ProfileError, StallCause};
use crate::isa::Class;
use crate::isa::operand::Engine;
use crate::target::Target;

/// Regions that may be open at once: as JSON, a tree of them stays within the nesting that readers accept.
const MAX_DEPTH: usize = 48;
/// Different paths of regions.
const MAX_NODES: usize = 65_536;

/// A region's name, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionName(u32);

/// A region's path in the tree: where a transfer that is reported later was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionRef(u32);

/// What one transfer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Cycle at which its engine turned to it.
    pub start: u64,
    /// Cycle at which the last byte had moved.
    pub end: u64,
    /// Cycles between the two during which the engine was busy: a flow may wait for the program in between.
    pub busy: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Tiles (flow), entries (broadcast), accesses (RAU) or rows (DMA).
    pub tiles: u64,
}

/// An open region.
#[derive(Clone, Debug)]
struct Frame {
    node: u32,
    start: Counters,
    /// Peaks of the region around it up to the entry.
    outer_peaks: Peaks,
    span: Option<usize>,
}

/// Counts where the cycles of one run go.
///
/// Time is what has been charged: the cycle of a region or of a stall is the sum of all issues and stalls so far.
///
/// ```
/// use iss::{isa::Class, profile::{Recorder, StallCause}, target::QC_U};
/// let mut recorder = Recorder::new(&QC_U);
/// recorder.enter("conv1", 0)?;
/// recorder.issue(Class::Mac, 1);
/// recorder.mac_products(16 * 1024);
/// recorder.stall(Class::DataOcm, StallCause::Load, 56);
/// recorder.leave(57)?;
/// let profile = recorder.finish(57);
/// assert_eq!(profile.region("conv1").expect("entered").cycles(), 57);
/// # Ok::<(), iss::profile::ProfileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    now: Counters,
    peaks: Peaks,
    timeline: Option<Timeline>,
    open: Vec<Frame>,
    nodes: Vec<Node>,
    children: HashMap<(u32, RegionName), u32>,
    names: Vec<String>,
    by_name: HashMap<String, RegionName>,
    /// By engine: the cycle up to which its busy time is counted.
    covered: [u64; 6],
    target: Target,
}

impl Recorder {
    /// Name of the region around all others.
    pub const ROOT: &'static str = "run";

    /// A recorder of a run on `target`, without a timeline.
    pub fn new(target: &Target) -> Self {
        let mut recorder = Self {
            now: Counters::default(),
            peaks: Peaks::default(),
            timeline: None,
            open: Vec::new(),
            nodes: Vec::new(),
            children: HashMap::new(),
            names: Vec::new(),
            by_name: HashMap::new(),
            covered: [0; 6],
            target: target.clone(),
        };
        let name = recorder.intern(Self::ROOT);
        recorder.add_node(name, None);
        recorder
    }

    /// Also records when things happened, up to `cap` events of each kind.
    pub fn with_timeline(mut self, cap: usize) -> Self {
        self.timeline = Some(Timeline::new(cap));
        self
    }

    /// Cycles charged so far.
    pub fn cycles(&self) -> u64 {
        self.now.cycles()
    }

    /// One instruction of `class` issues for `cycles`.
    #[inline(always)]
    pub fn issue(&mut self, class: Class, cycles: u32) {
        self.now.issued[class as usize] += u64::from(cycles);
        self.now.instructions[class as usize] += 1;
    }

    /// `instructions` of `class` issue for `cycles` together: for blocks whose cost is summed beforehand.
    #[inline(always)]
    pub fn issue_many(&mut self, class: Class, instructions: u64, cycles: u64) {
        self.now.issued[class as usize] += cycles;
        self.now.instructions[class as usize] += instructions;
    }

    /// Issue waits for `cause` for `cycles`, which `class` is charged.
    #[inline(always)]
    pub fn stall(&mut self, class: Class, cause: StallCause, cycles: u64) {
        if self.timeline.is_some() {
            self.stall_span(class, cause, cycles);
        }
        self.now.stalled[class as usize][cause as usize] += cycles;
    }

    /// The MAC units are given `products` products, over all PEs.
    #[inline(always)]
    pub fn mac_products(&mut self, products: u64) {
        self.now.mac_products += products;
    }

    /// Local memory is touched below byte `end`.
    #[inline(always)]
    pub fn touch_lrm(&mut self, end: u64) {
        self.peaks.lrm = self.peaks.lrm.max(end);
    }

    /// On-chip memory is touched below byte `end`.
    #[inline(always)]
    pub fn touch_ocm(&mut self, end: u64) {
        self.peaks.ocm = self.peaks.ocm.max(end);
    }

    /// The id of a name, for [`enter_id`](Self::enter_id).
    pub fn intern(&mut self, name: &str) -> RegionName {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = RegionName(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// Enters the region `name` at `cycle`.
    ///
    /// # Errors
    /// As [`enter_id`](Self::enter_id).
    pub fn enter(&mut self, name: &str, cycle: u64) -> Result<(), ProfileError> {
        let id = self.intern(name);
        self.enter_id(id, cycle)
    }

    /// Enters a region at `cycle`. A path that was entered before accumulates.
    ///
    /// # Errors
    /// [`ProfileError::TooDeep`] and [`ProfileError::TooMany`] stop a program that only ever enters; nothing is
    /// entered.
    pub fn enter_id(&mut self, name: RegionName, cycle: u64) -> Result<(), ProfileError> {
        self.check_clock(cycle);
        if self.open.len() == MAX_DEPTH {
            return Err(ProfileError::TooDeep { name: self.name(name).to_owned(), cycle, limit: MAX_DEPTH });
        }
        let RegionRef(parent) = self.current_region();
        let node = match self.children.get(&(parent, name)) {
            Some(&node) => node,
            None if self.nodes.len() == MAX_NODES => {
                return Err(ProfileError::TooMany { name: self.name(name).to_owned(), cycle, limit: MAX_NODES });
            }
            None => self.add_node(name, Some(parent)),
        };
        let depth = self.open.len();
        let span = self.timeline.as_mut().and_then(|t| t.enter(&self.names[name.0 as usize], depth, cycle));
        self.open.push(Frame { node, start: self.now, outer_peaks: std::mem::take(&mut self.peaks), span });
        Ok(())
    }

    /// Leaves the innermost region at `cycle`.
    ///
    /// # Errors
    /// [`ProfileError::NotOpen`] if no region is open; nothing is changed.
    pub fn leave(&mut self, cycle: u64) -> Result<(), ProfileError> {
        self.check_clock(cycle);
        let frame = self.open.pop().ok_or(ProfileError::NotOpen { cycle })?;
        let node = &mut self.nodes[frame.node as usize];
        node.calls += 1;
        node.counters.add_since(&self.now, &frame.start);
        node.peaks.raise(self.peaks);
        self.peaks.raise(frame.outer_peaks);
        if let (Some(timeline), Some(span)) = (&mut self.timeline, frame.span) {
            timeline.leave(span, cycle);
        }
        Ok(())
    }

    /// Regions that are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The innermost open region, to which a transfer issued now belongs.
    pub fn current_region(&self) -> RegionRef {
        RegionRef(self.open.last().map_or(0, |frame| frame.node))
    }

    /// `engine` moved `bytes` in `tiles` from `start` to `end`, issued in the region that is open now.
    pub fn transfer(&mut self, engine: Engine, start: u64, end: u64, bytes: u64, tiles: u64, label: &str) {
        let work = Work { start, end, busy: end.saturating_sub(start), bytes, tiles };
        self.transfer_from(self.current_region(), engine, work, label);
    }

    /// As [`transfer`](Self::transfer), issued in `region`: for transfers that are reported when they end.
    ///
    /// An engine's transfers come in the order of their starts; where they overlap, as those of a DMA may, the overlap is
    /// busy once, and belongs to the earlier one's region.
    pub fn transfer_from(&mut self, region: RegionRef, engine: Engine, work: Work, label: &str) {
        let Work { start, end, busy, bytes, tiles } = work;
        let covered = &mut self.covered[engine as usize];
        let counters = &mut self.nodes[region.0 as usize].engines[engine as usize];
        counters.transfers += 1;
        counters.tiles += tiles;
        counters.bytes += bytes;
        counters.busy += busy.saturating_sub(covered.saturating_sub(start));
        *covered = end.max(*covered);
        if let Some(timeline) = &mut self.timeline {
            timeline.transfer(TransferSpan { engine, label: label.to_owned(), start, end, bytes, tiles });
        }
    }

    /// Whether events are recorded: their labels are not worth making otherwise.
    pub fn has_timeline(&self) -> bool {
        self.timeline.is_some()
    }

    /// Ends the run at cycle `total`. Regions still open end there too.
    ///
    /// # Panics
    /// If the cycles charged are not `total`: the simulator would have charged a cycle twice or not at all.
    pub fn finish(mut self, total: u64) -> Profile {
        assert_eq!(self.now.cycles(), total, "the six classes should sum to the cycles of the run");
        while !self.open.is_empty() {
            self.leave(total).expect("a region is open");
        }
        let root = &mut self.nodes[0];
        (root.calls, root.counters, root.peaks) = (1, self.now, self.peaks);
        Profile::new(&self.target, &self.names, &self.nodes, self.timeline)
    }

    fn name(&self, name: RegionName) -> &str {
        &self.names[name.0 as usize]
    }

    fn add_node(&mut self, name: RegionName, parent: Option<u32>) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node::new(name, parent));
        if let Some(parent) = parent {
            self.children.insert((parent, name), id);
        }
        id
    }

    /// A region that begins or ends at a cycle other than the one charged up to would not add up.
    fn check_clock(&self, cycle: u64) {
        debug_assert_eq!(cycle, self.now.cycles(), "every cycle should be charged before a region begins or ends");
    }

    #[cold]
    fn stall_span(&mut self, class: Class, cause: StallCause, cycles: u64) {
        let start = self.now.cycles();
        if let Some(timeline) = self.timeline.as_mut().filter(|_| cycles > 0) {
            timeline.stall(class, cause, start, start + cycles);
        }
    }
}

impl RegionName {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{EngineUse, Region, RegionSpan, StallSpan};
    use crate::target::QC_U;

    /// Charges `cycles` of compute.
    fn work(recorder: &mut Recorder, cycles: u32) {
        recorder.issue(Class::Compute, cycles);
    }

    fn enter(recorder: &mut Recorder, name: &str) {
        recorder.enter(name, recorder.cycles()).expect("not too deep");
    }

    fn leave(recorder: &mut Recorder) {
        recorder.leave(recorder.cycles()).expect("a region is open");
    }

    fn finish(recorder: Recorder) -> Profile {
        let total = recorder.cycles();
        let profile = recorder.finish(total);
        profile.check_sums().expect("sums hold");
        profile
    }

    #[test]
    fn a_path_entered_again_accumulates() {
        let mut recorder = Recorder::new(&QC_U);
        for cycles in [3, 4] {
            enter(&mut recorder, "layer");
            work(&mut recorder, cycles);
            enter(&mut recorder, "loop");
            recorder.stall(Class::DataOcm, StallCause::Load, 10);
            leave(&mut recorder);
            leave(&mut recorder);
        }
        enter(&mut recorder, "loop");
        leave(&mut recorder);
        let profile = finish(recorder);
        let layer = profile.region("layer").expect("entered");
        assert_eq!((layer.calls, layer.cycles(), layer.exclusive.cycles), (2, 27, 7));
        let inner = profile.region("layer/loop").expect("entered");
        assert_eq!((inner.calls, inner.cycles(), inner.inclusive.stalls(StallCause::Load)), (2, 20, 20));
        assert_eq!(profile.region("loop").map(|region| (region.calls, region.cycles())), Some((1, 0)));
        assert_eq!((profile.cycles, profile.root.exclusive.cycles), (27, 0));
    }

    #[test]
    fn a_region_in_itself_is_another_path() {
        let mut recorder = Recorder::new(&QC_U);
        enter(&mut recorder, "a");
        enter(&mut recorder, "a");
        work(&mut recorder, 5);
        let profile = finish(recorder);
        assert_eq!(profile.region("a").map(Region::cycles), Some(5));
        assert_eq!(profile.region("a/a").map(Region::cycles), Some(5));
        assert_eq!(profile.root.cycles(), 5);
    }

    #[test]
    fn unbalanced_regions_are_errors_or_closed() {
        let mut recorder = Recorder::new(&QC_U);
        assert_eq!(recorder.leave(0), Err(ProfileError::NotOpen { cycle: 0 }));
        enter(&mut recorder, "open");
        work(&mut recorder, 2);
        let profile = finish(recorder);
        assert_eq!(profile.region("open").map(|region| (region.calls, region.cycles())), Some((1, 2)));
    }

    #[test]
    fn endless_entering_is_an_error() {
        let mut recorder = Recorder::new(&QC_U);
        let error = (0..).find_map(|_| recorder.enter("again", 0).err()).expect("stops");
        assert_eq!(
            error.to_string(),
            "cycle 0: region `again` is nested 48 deep already; is one entered in a loop and never left?"
        );
        assert_eq!(recorder.depth(), MAX_DEPTH);
        let json = serde_json::to_string(&finish(recorder)).expect("serialises");
        serde_json::from_str::<Profile>(&json).expect("the deepest tree can be read");
    }

    #[test]
    #[should_panic(expected = "the six classes should sum to the cycles of the run")]
    fn a_cycle_that_nobody_is_charged_is_our_fault() {
        let mut recorder = Recorder::new(&QC_U);
        work(&mut recorder, 2);
        recorder.finish(3);
    }

    #[test]
    fn overlap_of_an_engines_transfers_is_busy_once() {
        let mut recorder = Recorder::new(&QC_U);
        enter(&mut recorder, "issuer");
        let issuer = recorder.current_region();
        recorder.transfer(Engine::DmaIn, 0, 300, 640, 1, "x");
        leave(&mut recorder);
        recorder.transfer_from(
            issuer,
            Engine::DmaIn,
            Work { start: 10, end: 310, busy: 300, bytes: 64, tiles: 1 },
            "y",
        );
        recorder.transfer(Engine::DmaIn, 400, 410, 6, 1, "z");
        recorder.transfer(Engine::FlowIn, 0, 56, 1024, 1, "x");
        let profile = finish(recorder);
        let all = profile.root.inclusive.engine(Engine::DmaIn);
        assert_eq!(all, EngineUse { transfers: 3, tiles: 3, bytes: 710, busy_cycles: 320 });
        let issuer = profile.region("issuer").expect("entered");
        assert_eq!(issuer.inclusive.engine(Engine::DmaIn).busy_cycles, 310);
        assert_eq!((profile.ext_read_bytes, profile.ext_write_bytes), (710, 0));
    }

    #[test]
    fn peaks_belong_to_the_regions_that_touch() {
        let mut recorder = Recorder::new(&QC_U);
        recorder.touch_ocm(64);
        enter(&mut recorder, "big");
        recorder.touch_ocm(4096);
        leave(&mut recorder);
        enter(&mut recorder, "small");
        recorder.touch_lrm(8);
        recorder.touch_ocm(32);
        leave(&mut recorder);
        let profile = finish(recorder);
        let peaks = |path| profile.region(path).map(|region| (region.peak_lrm_bytes, region.peak_ocm_bytes));
        assert_eq!([peaks(""), peaks("big"), peaks("small")], [Some((8, 4096)), Some((0, 4096)), Some((8, 32))]);
    }

    #[test]
    fn timeline_is_capped_by_kind_and_merges_stalls() {
        let mut recorder = Recorder::new(&QC_U).with_timeline(2);
        enter(&mut recorder, "outer");
        for _ in 0..3 {
            enter(&mut recorder, "inner");
            recorder.stall(Class::DataOcm, StallCause::Load, 0);
            recorder.stall(Class::DataOcm, StallCause::Load, 4);
            leave(&mut recorder);
        }
        recorder.stall(Class::DataOcm, StallCause::Store, 1);
        recorder.stall(Class::DataOcm, StallCause::Load, 1);
        let timeline = finish(recorder).timeline.expect("recorded");
        let span = |name: &str, depth, start, end| RegionSpan { name: name.to_owned(), depth, start, end };
        assert_eq!(timeline.regions, [span("outer", 0, 0, 14), span("inner", 1, 0, 4)]);
        let stall = |cause, start, end| StallSpan { class: Class::DataOcm, cause, start, end };
        assert_eq!(timeline.stalls, [stall(StallCause::Load, 0, 12), stall(StallCause::Store, 12, 13)]);
        assert_eq!((timeline.dropped.regions, timeline.dropped.transfers, timeline.dropped.stalls), (2, 0, 1));
    }
}
