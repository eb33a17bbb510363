//! What the clock and the bandwidths come to: cycles of a transfer, seconds of a run. Integer arithmetic wherever the
//! result is a number of cycles, so that every host agrees.

use super::Target;

impl Target {
    /// Cycles to read `bytes` from external memory at the bandwidth, rounded up; latency and bursts are not in it.
    pub const fn ext_read_cycles(&self, bytes: u64) -> u64 {
        cycles_at(bytes, self.spec().clock_mhz, self.spec().ext_read_mb_s)
    }

    /// Cycles to write `bytes` to external memory at the bandwidth, rounded up; latency and bursts are not in it.
    pub const fn ext_write_cycles(&self, bytes: u64) -> u64 {
        cycles_at(bytes, self.spec().clock_mhz, self.spec().ext_write_mb_s)
    }

    /// Seconds that `cycles` take at the clock.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (f64::from(self.spec().clock_mhz) * 1e6)
    }
}

/// `ceil(bytes / (mb_s / clock_mhz))`: the 10^6 of MHz and of MB/s cancel. More than 2^64 cycles are given as
/// `u64::MAX`.
const fn cycles_at(bytes: u64, clock_mhz: u32, mb_s: u32) -> u64 {
    let cycles = (bytes as u128 * clock_mhz as u128).div_ceil(mb_s as u128);
    if cycles > u64::MAX as u128 { u64::MAX } else { cycles as u64 }
}

#[cfg(test)]
mod tests {
    use crate::target::{QC_U, Target};

    #[test]
    fn cycles_are_rounded_up_exactly() {
        // 128 GB/s at 1.7 GHz are 1280/17 = 75.29 bytes a cycle.
        for (bytes, cycles) in
            [(0, 0), (1, 1), (75, 1), (76, 2), (1280, 17), (1281, 18), (u64::MAX / 1280 * 1280, u64::MAX / 1280 * 17)]
        {
            assert_eq!((QC_U.ext_read_cycles(bytes), QC_U.ext_write_cycles(bytes)), (cycles, cycles), "{bytes} bytes");
        }
    }

    #[test]
    fn read_and_write_have_their_own_bandwidth() {
        let target = Target::builder().clock_ghz(1.56).ext_read_mb_s(64_000).ext_write_mb_s(1).build().expect("legal");
        assert_eq!(target.ext_read_cycles(4100), 100);
        assert_eq!(target.ext_write_cycles(2), 3120);
        assert_eq!(target.ext_write_cycles(u64::MAX), u64::MAX);
    }

    #[test]
    fn seconds_follow_the_clock() {
        assert_eq!(QC_U.seconds(1_700_000_000), 1.0);
    }
}
