//! Ranges of tensors, and the files that hold them: a JSON object of `"name": [lowest, highest]`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

/// The smallest and the largest value of a tensor.
pub type Range = [f32; 2];

/// Ranges by the names of tensors.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct Ranges(pub BTreeMap<String, Range>);

/// Why a text holds no ranges.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangesError {
    /// It is no JSON of the right form.
    #[error("not a file of ranges: {0}; expected {{\"name\": [lowest, highest], ..}}")]
    Json(#[from] serde_json::Error),
    /// A range is empty or not finite.
    #[error("the range of `{name}`, [{low}, {high}], is none: expected two finite numbers, the lower first")]
    Range {
        /// The tensor.
        name: String,
        /// Lower end.
        low: f32,
        /// Upper end.
        high: f32,
    },
}

impl Ranges {
    /// The range of a tensor.
    pub fn get(&self, name: &str) -> Option<Range> {
        self.0.get(name).copied()
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`RangesError`].
    pub fn from_json(text: &str) -> Result<Self, RangesError> {
        let ranges: Ranges = serde_json::from_str(text)?;
        for (name, &[low, high]) in &ranges.0 {
            if !(low.is_finite() && high.is_finite() && low <= high) {
                return Err(RangesError::Range { name: name.clone(), low, high });
            }
        }
        Ok(ranges)
    }

    /// The text of a file, a tensor on each line.
    pub fn to_json(&self) -> String {
        let mut text = "{".to_owned();
        for (i, (name, [low, high])) in self.0.iter().enumerate() {
            let name = serde_json::Value::from(name.as_str());
            // In float64, whose decimals other readers take for the same number.
            let (low, high) = (f64::from(*low), f64::from(*high));
            let _ = write!(text, "{}\n  {name}: [{low:?}, {high:?}]", if i == 0 { "" } else { "," });
        }
        text + "\n}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ranges = Ranges(BTreeMap::from([("a\"\n".to_owned(), [-0.1, 1e-30]), ("b".to_owned(), [0.0, 0.0])]));
        assert_eq!(Ranges::from_json(&ranges.to_json()).unwrap(), ranges);
        assert_eq!(Ranges::from_json("{\n}").unwrap(), Ranges::default());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, says) in [
            ("[]", "not a file of ranges"),
            ("{\"a\": [1]}", "not a file of ranges"),
            ("{\"a\": [2, 1]}", "the range of `a`"),
            ("{\"a\": [0, 1e39]}", "the range of `a`"),
        ] {
            let error = Ranges::from_json(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
