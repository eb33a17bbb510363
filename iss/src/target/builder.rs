//! A target made by changing another, field by field.

use std::borrow::Cow;

use super::{Param, QC_U, Target, TargetError, TargetSpec, Timing};

/// Changes fields of a target; [`build`](Self::build) checks them all.
///
/// ```
/// use iss::target::{Param, QC_U};
/// let small = QC_U.to_builder().array(8, 8).macs_per_pe(8).ocm_mb(8).clock_ghz(1.56).timing(Param::flow_start,
/// 30).build()?; assert_eq!(small.to_string(),
/// "QC-U_1d56_8MB_4kB_128GBps_128GBps_8_OFF_x1_x1:array=8x8,flow_start=30");
/// # Ok::<(), iss::target::TargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TargetBuilder {
    spec: TargetSpec,
}

impl Target {
    /// A builder that starts as [`QC_U`].
    pub fn builder() -> TargetBuilder {
        QC_U.to_builder()
    }

    /// A builder that starts as this target.
    pub fn to_builder(&self) -> TargetBuilder {
        TargetBuilder { spec: self.spec().clone() }
    }
}

impl TargetBuilder {
    /// Product name: letters, digits and `-`.
    pub fn product(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.spec.product = name.into();
        self
    }

    /// Rows and columns of PEs, without the border.
    pub fn array(mut self, rows: u32, cols: u32) -> Self {
        (self.spec.rows, self.spec.cols) = (rows, cols);
        self
    }

    /// Border columns on each side.
    pub fn border(mut self, columns: u32) -> Self {
        self.spec.border = columns;
        self
    }

    /// int8 multiply-accumulates per PE and cycle: 8 or 16.
    pub fn macs_per_pe(mut self, macs: u32) -> Self {
        self.spec.macs_per_pe = macs;
        self
    }

    /// Clock in MHz.
    pub fn clock_mhz(mut self, mhz: u32) -> Self {
        self.spec.clock_mhz = mhz;
        self
    }

    /// Clock in GHz, rounded to whole MHz.
    pub fn clock_ghz(self, ghz: f64) -> Self {
        self.clock_mhz((ghz * 1e3).round() as u32)
    }

    /// On-chip memory in bytes.
    pub fn ocm_bytes(mut self, bytes: u32) -> Self {
        self.spec.ocm_bytes = bytes;
        self
    }

    /// On-chip memory in MB (2^20 bytes).
    pub fn ocm_mb(self, mb: u32) -> Self {
        self.ocm_bytes(mb.saturating_mul(1 << 20))
    }

    /// Local register memory of one PE in bytes.
    pub fn lrm_bytes(mut self, bytes: u32) -> Self {
        self.spec.lrm_bytes = bytes;
        self
    }

    /// Local register memory of one PE in kB (2^10 bytes).
    pub fn lrm_kb(self, kb: u32) -> Self {
        self.lrm_bytes(kb.saturating_mul(1 << 10))
    }

    /// External read bandwidth in MB/s (10^6 bytes).
    pub fn ext_read_mb_s(mut self, mb_s: u32) -> Self {
        self.spec.ext_read_mb_s = mb_s;
        self
    }

    /// External write bandwidth in MB/s (10^6 bytes).
    pub fn ext_write_mb_s(mut self, mb_s: u32) -> Self {
        self.spec.ext_write_mb_s = mb_s;
        self
    }

    /// External bandwidth in GB/s (10^9 bytes), the same each way.
    pub fn ext_gb_s(self, gb_s: u32) -> Self {
        let mb_s = gb_s.saturating_mul(1000);
        self.ext_read_mb_s(mb_s).ext_write_mb_s(mb_s)
    }

    /// Cores.
    pub fn cores(mut self, cores: u32) -> Self {
        self.spec.cores = cores;
        self
    }

    /// One timing parameter.
    pub fn timing(mut self, param: Param, value: u32) -> Self {
        self.spec.timing.set(param, value);
        self
    }

    /// Every timing parameter.
    pub fn timings(mut self, timing: Timing) -> Self {
        self.spec.timing = timing;
        self
    }

    /// The target.
    ///
    /// # Errors
    /// [`TargetError::Impossible`] with every illegal field.
    pub fn build(self) -> Result<Target, TargetError> {
        self.spec.build()
    }
}
