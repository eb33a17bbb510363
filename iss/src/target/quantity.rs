//! Decimal numbers with a unit, read and printed exactly.

/// Units of memory: powers of two, as in the product's name.
pub(super) const MEMORY: &[(&str, u64)] = &[("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];
/// Units of bandwidth in MB/s: powers of ten.
pub(super) const BANDWIDTH: &[(&str, u64)] = &[("GBps", 1000), ("MBps", 1)];
/// Units of clock in MHz.
pub(super) const CLOCK: &[(&str, u64)] = &[("GHz", 1000), ("MHz", 1), ("", 1000)];

/// Reads `text` as a number and one of `units`: `16MB`, `1.5kB`. `None` if it is neither, or no whole number of the
/// smallest unit, or beyond 2^64.
pub(super) fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.len() > 9 || fraction.contains('.') {
        return None;
    }
    let parts = 10u64.pow(fraction.len() as u32);
    let fraction = fraction.parse::<u64>().ok()?.checked_mul(*factor)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(*factor)?;
    if fraction.is_multiple_of(parts) { whole.checked_add(fraction / parts) } else { None }
}

/// Prints `value` in the first of `units` of which it is a whole number; the last must be 1.
pub(super) fn print(value: u32, units: &[(&str, u64)]) -> String {
    let value = u64::from(value);
    let (name, factor) = units.iter().find(|(_, factor)| value.is_multiple_of(*factor)).unwrap_or(&("", 1));
    format!("{}{name}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_exactly_or_not_at_all() {
        for (text, units, value) in [
            ("16MB", MEMORY, Some(16 << 20)),
            ("1.5kB", MEMORY, Some(1536)),
            ("0.0001MB", MEMORY, None),
            ("4k", MEMORY, None),
            ("4096", MEMORY, None),
            ("12345678901234567890MB", MEMORY, None),
            ("75.3GBps", BANDWIDTH, Some(75_300)),
            ("1.56", CLOCK, Some(1560)),
            ("1560 MHz", CLOCK, Some(1560)),
            ("1.5605", CLOCK, None),
            ("1.", CLOCK, None),
            (".5", CLOCK, None),
            ("1.2.3", CLOCK, None),
            ("", CLOCK, None),
            ("-1", CLOCK, None),
        ] {
            assert_eq!(parse(text, units), value, "{text}");
        }
    }

    #[test]
    fn prints_the_largest_whole_unit() {
        assert_eq!(
            [print(16 << 20, MEMORY), print(1536, MEMORY), print(1 << 14, MEMORY), print(64_500, BANDWIDTH)],
            ["16MB", "1536B", "16kB", "64500MBps"]
        );
    }
}
