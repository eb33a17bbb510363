//! The targets that have a name. `QC-U` follows the published machine; the other three are ours.

use std::borrow::Cow;

use super::{Target, TargetSpec, Timing};

/// The product `QC-U`: 32 x 32 PEs of 16 MACs at 1.7 GHz.
pub const QC_U: Target = family("QC-U", 32, Timing::QC_U);

/// A slower reading of the figures from which the timing of [`QC_U`] is inferred: 16-byte beats, no start cost, a
/// strided row pays for every beat of its span, one dead cycle in 20, a RAU row costs 4 and merges nothing.
///
/// Printed beside the default, never asserted: a claim that holds on both does not hang on the choice.
pub const QC_U_NARROW: Target = family(
    "QC-U-narrow",
    32,
    Timing {
        flow_beat: 16,
        flow_start: 0,
        flow_strided: 0,
        flow_dead_cycle_in: 20,
        rau_row: 4,
        rau_merges: 0,
        ..Timing::QC_U
    },
);

/// A 16 x 16 member of the family. That the array's size exists is public; every other figure is `QC-U`'s, by our
/// choice.
pub const QC_P: Target = family("QC-P", 16, Timing::QC_U);

/// An 8 x 8 member of the family. That the array's size exists is public; every other figure is `QC-U`'s, by our
/// choice.
pub const QC_N: Target = family("QC-N", 8, Timing::QC_U);

/// Every preset; the first is the default.
pub const PRESETS: &[Target] = &[QC_U, QC_U_NARROW, QC_P, QC_N];

impl Target {
    /// The preset whose product is `name`.
    pub fn preset(name: &str) -> Option<Target> {
        PRESETS.iter().find(|target| target.spec().product == name).cloned()
    }

    /// The names that [`preset`](Self::preset) knows.
    pub fn preset_names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|target| &*target.spec().product)
    }

    /// The target whose figures stand where a long name is silent: the preset of that product, else `QC-U`.
    pub(super) fn base_of(product: &str) -> Target {
        Self::preset(product).unwrap_or(QC_U)
    }
}

/// `QC-U` with another array and timing.
const fn family(product: &'static str, side: u32, timing: Timing) -> Target {
    TargetSpec {
        product: Cow::Borrowed(product),
        rows: side,
        cols: side,
        border: 4,
        macs_per_pe: 16,
        clock_mhz: 1700,
        ocm_bytes: 16 << 20,
        lrm_bytes: 4 << 10,
        ext_read_mb_s: 128_000,
        ext_write_mb_s: 128_000,
        cores: 1,
        timing,
    }
    .build_const()
}
