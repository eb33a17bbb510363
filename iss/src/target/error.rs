//! Why something is no target.

use std::fmt;

/// One illegal field of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field or timing parameter.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be legal, with the unit.
    pub legal: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, legal: {}", self.field, self.value, self.legal)
    }
}

/// Why data or text is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Fields outside their ranges.
    #[error("target `{product}` is impossible: {}", joined(problems))]
    Impossible {
        /// Its product name.
        product: String,
        /// Every illegal field.
        problems: Vec<Problem>,
    },
    /// A name without `_` that is no preset's.
    #[error("target `{name}` is unknown, expected {known} or a long name such as `{long}`{}", help(suggestion))]
    UnknownName {
        /// The name.
        name: String,
        /// The presets.
        known: String,
        /// A long name.
        long: &'static str,
        /// The nearest preset.
        suggestion: Option<String>,
    },
    /// A long name with too many or too few parts.
    #[error("target `{name}` has {found} parts, expected 10: {form}")]
    PartCount {
        /// The name.
        name: String,
        /// Parts between `_`.
        found: usize,
        /// Names of the parts.
        form: &'static str,
    },
    /// A part of a name, or a value behind a key, that cannot be read.
    #[error("target, `{part}`: cannot read `{value}`, expected {expected}")]
    Part {
        /// The part or key.
        part: &'static str,
        /// What stood there.
        value: String,
        /// The forms.
        expected: &'static str,
    },
    /// A part that names a feature which has no model here.
    #[error("target, `{part}`: `{value}` is not modelled, only `{only}` is")]
    NotModelled {
        /// The part.
        part: &'static str,
        /// What stood there.
        value: String,
        /// The one value that is modelled.
        only: &'static str,
    },
    /// An item behind the colon that is no `key=value`.
    #[error("target: `{0}` is no `key=value`")]
    NoValue(String),
    /// A key that no target has.
    #[error("target: there is no `{key}`, expected one of {known}{}", help(suggestion))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys.
        known: String,
        /// The nearest key.
        suggestion: Option<String>,
    },
    /// A key given twice.
    #[error("target: `{0}` is given twice")]
    Repeated(String),
    /// A file without `base` that does not give every field.
    #[error("target: {fields} not given\nhelp: `base = \"QC-U\"` stands for the fields that a file does not give")]
    Missing {
        /// The fields.
        fields: String,
    },
    /// Text that is no TOML, or not of the right types.
    #[error("target, TOML: {0}")]
    Toml(String),
    /// Text that is no JSON, or not of the right types.
    #[error("target, JSON: {0}")]
    Json(String),
}

impl TargetError {
    /// A key that is none of `known`.
    pub(super) fn unknown_key(key: &str, known: &[&str]) -> Self {
        TargetError::UnknownKey { key: key.to_owned(), known: listed(known), suggestion: nearest(key, known) }
    }
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

fn help(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!("\nhelp: did you mean `{name}`?")).unwrap_or_default()
}

/// Names in backquotes, with commas.
pub(super) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The name most like `text`, if one is like it at all; of equals, the first.
pub(super) fn nearest(text: &str, names: &[&str]) -> Option<String> {
    const ALIKE: f64 = 0.75;
    let text = text.to_ascii_lowercase();
    let scored = names.iter().rev().map(|name| (strsim::jaro_winkler(&text, &name.to_ascii_lowercase()), name));
    let (score, name) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score >= ALIKE).then(|| (*name).to_owned())
}
