//! Stands in for `TargetSpec::build` until the checks of the target module arrive; then this file goes.

use super::{Param, Target, TargetSpec};

impl TargetSpec {
    /// Makes a target of sizes and parameters that are in range.
    pub(crate) fn build_shim(self) -> Result<Target, String> {
        let sizes = [
            ("rows", self.rows, 1, 64),
            ("cols", self.cols, 1, 64),
            ("border", self.border, 0, 4),
            ("clock_mhz", self.clock_mhz, 1, 10_000),
            ("ocm_bytes", self.ocm_bytes, 1 << 10, 1 << 30),
            ("lrm_bytes", self.lrm_bytes, 64, 4096),
            ("ext_read_mb_s", self.ext_read_mb_s, 1, 10_000_000),
            ("ext_write_mb_s", self.ext_write_mb_s, 1, 10_000_000),
            ("cores", self.cores, 1, 64),
        ];
        for (field, value, min, max) in sizes {
            if !(min..=max).contains(&value) {
                return Err(format!("`{field}` = {value} is outside {min}..={max}"));
            }
        }
        if !matches!(self.macs_per_pe, 8 | 16) {
            return Err(format!("`macs_per_pe` = {} is neither 8 nor 16", self.macs_per_pe));
        }
        for param in Param::ALL {
            let (value, range) = (self.timing.get(*param), param.range());
            if !range.contains(&value) {
                return Err(format!("`{}` = {value} is outside {range:?}", param.name()));
            }
        }
        Ok(Target(self))
    }
}
