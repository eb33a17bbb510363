//! Functions of extents, for constants and scalars.

/// `a / b` rounded up.
pub const fn div_ceil(a: usize, b: usize) -> usize {
    a.div_ceil(b)
}

/// The least multiple of `b` from `a` on.
pub const fn next_multiple_of(a: usize, b: usize) -> usize {
    a.next_multiple_of(b)
}

/// Whole part of the binary logarithm.
pub const fn log2(a: usize) -> usize {
    a.ilog2() as usize
}

/// Power.
pub const fn pow(a: usize, n: u32) -> usize {
    a.pow(n)
}

/// Whether exactly one bit is set.
pub const fn is_power_of_two(a: usize) -> bool {
    a.is_power_of_two()
}
