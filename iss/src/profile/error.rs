//! What a simulated program, or a reader of profiles, can get wrong.

/// Why a region or a profile is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A region is left that was never entered.
    #[error("cycle {cycle}: a region is left, but none is open")]
    NotOpen {
        /// The cycle.
        cycle: u64,
    },
    /// Regions nest too deep.
    #[error("cycle {cycle}: region `{name}` is nested {limit} deep already; is one entered in a loop and never left?")]
    TooDeep {
        /// The region.
        name: String,
        /// The cycle.
        cycle: u64,
        /// Most regions that may be open.
        limit: usize,
    },
    /// Too many different paths of regions.
    #[error("cycle {cycle}: region `{name}` would be one more than {limit} paths of regions")]
    TooMany {
        /// The region.
        name: String,
        /// The cycle.
        cycle: u64,
        /// Most paths.
        limit: usize,
    },
    /// A profile whose figures do not add up.
    #[error("region `{region}`: {what} is {found}, expected {expected}")]
    Sum {
        /// Path of the region.
        region: String,
        /// The figure.
        what: String,
        /// What it is.
        found: u64,
        /// What it should be.
        expected: u64,
    },
}
