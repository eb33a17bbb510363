//! The machine's description: every size and cost that the compiler, the checks and the simulator use.
//!
//! A [`Target`] is valid by construction: it comes from a [`TargetSpec`] (plain data, all fields public) by
//! [`TargetSpec::build`], from a preset, or from text. Nothing here simulates.

mod build;
mod builder;
mod error;
mod file;
mod presets;
mod quantity;
mod rate;
mod text;
mod timing;

pub use builder::TargetBuilder;
pub use error::{Problem, TargetError};
pub use presets::{PRESETS, QC_N, QC_P, QC_U, QC_U_NARROW};
pub use timing::{Param, Standing, Timing};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The sizes and costs of one machine, as plain data. [`build`](Self::build) checks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Product name: letters, digits and `-`.
    pub product: Cow<'static, str>,
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs, without the border columns.
    pub cols: u32,
    /// Border columns on each of the west and east sides; with them a row has at most 64.
    pub border: u32,
    /// int8 multiply-accumulates per PE and cycle: 8 or 16.
    pub macs_per_pe: u32,
    /// Clock in MHz.
    pub clock_mhz: u32,
    /// On-chip memory in bytes.
    pub ocm_bytes: u32,
    /// Local register memory of one PE in bytes.
    pub lrm_bytes: u32,
    /// External read bandwidth in MB/s (10^6 bytes).
    pub ext_read_mb_s: u32,
    /// External write bandwidth in MB/s (10^6 bytes).
    pub ext_write_mb_s: u32,
    /// Cores. One is simulated; the others would run the same program on other frames.
    pub cores: u32,
    /// Costs and capacities.
    #[serde(default)]
    pub timing: Timing,
}

/// A machine whose sizes and costs are legal.
///
/// Serialised as its [`TargetSpec`]; read from the same fields, of which a `base` (any text that [`FromStr`] takes) may
/// stand for those not given.
///
/// [`FromStr`]: std::str::FromStr
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "file::TargetFile", into = "TargetSpec")]
pub struct Target(TargetSpec);

impl Target {
    /// The sizes and costs.
    pub const fn spec(&self) -> &TargetSpec {
        &self.0
    }

    /// The sizes and costs, to change and build again.
    pub fn into_spec(self) -> TargetSpec {
        self.0
    }

    /// Issue cycles of an instruction whose cost is `param` on this machine: PEs with fewer than 16 MACs take longer.
    pub const fn cycles(&self, param: Param) -> u32 {
        let base = self.0.timing.get(param);
        let steps = 16 / self.0.macs_per_pe;
        match param {
            Param::mac8 | Param::mac16x8 | Param::mac16 => base * steps,
            Param::fx_mul if steps > 1 => base + self.0.timing.fx_mul_narrow_extra,
            _ => base,
        }
    }

    /// PEs of the array, without the border.
    pub const fn pes(&self) -> u32 {
        self.0.rows * self.0.cols
    }
}

impl From<Target> for TargetSpec {
    fn from(target: Target) -> Self {
        target.0
    }
}

impl TryFrom<TargetSpec> for Target {
    type Error = TargetError;

    fn try_from(spec: TargetSpec) -> Result<Self, TargetError> {
        spec.build()
    }
}
