//! Targets in TOML and JSON. A file gives every field of [`TargetSpec`], or a `base` and what differs from it.
//!
//! ```toml
//! base = "QC-U:ocm=8MB"
//! clock_mhz = 1560
//! [timing]
//! flow_start = 30
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::build::{Draft, Size};
use super::{Param, QC_U, Target, TargetError, TargetSpec};

/// A file's fields as they stand there: numbers of any size, so that their ranges are checked in one place.
#[derive(Deserialize)]
pub(super) struct TargetFile {
    base: Option<String>,
    product: Option<String>,
    rows: Option<i64>,
    cols: Option<i64>,
    border: Option<i64>,
    macs_per_pe: Option<i64>,
    clock_mhz: Option<i64>,
    ocm_bytes: Option<i64>,
    lrm_bytes: Option<i64>,
    ext_read_mb_s: Option<i64>,
    ext_write_mb_s: Option<i64>,
    cores: Option<i64>,
    #[serde(default)]
    timing: BTreeMap<String, i64>,
    /// Fields that no target has.
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

impl TargetFile {
    const fn size(&self, size: Size) -> Option<i64> {
        match size {
            Size::rows => self.rows,
            Size::cols => self.cols,
            Size::border => self.border,
            Size::macs_per_pe => self.macs_per_pe,
            Size::clock_mhz => self.clock_mhz,
            Size::ocm_bytes => self.ocm_bytes,
            Size::lrm_bytes => self.lrm_bytes,
            Size::ext_read_mb_s => self.ext_read_mb_s,
            Size::ext_write_mb_s => self.ext_write_mb_s,
            Size::cores => self.cores,
        }
    }

    /// What stands for the fields that the file does not give. Timing may always be left out.
    fn base(&self) -> Result<TargetSpec, TargetError> {
        if let Some(base) = &self.base {
            return Ok(base.parse::<Target>()?.into_spec());
        }
        let sizes = Size::ALL.iter().filter(|&&size| self.size(size).is_none()).map(|size| size.name());
        let missing: Vec<&str> = self.product.is_none().then_some("product").into_iter().chain(sizes).collect();
        if missing.is_empty() {
            Ok(QC_U.into_spec())
        } else {
            Err(TargetError::Missing { fields: super::error::listed(&missing) })
        }
    }

    fn refuse_unknown(&self) -> Result<(), TargetError> {
        if let Some(key) = self.unknown.keys().next() {
            let sizes = Size::ALL.iter().map(|size| size.name());
            let known: Vec<&str> = ["base", "product"].into_iter().chain(sizes).chain(["timing"]).collect();
            return Err(TargetError::unknown_key(key, &known));
        }
        Ok(())
    }
}

impl TryFrom<TargetFile> for Target {
    type Error = TargetError;

    fn try_from(file: TargetFile) -> Result<Self, TargetError> {
        file.refuse_unknown()?;
        let mut draft = Draft::new(file.base()?);
        for &size in Size::ALL {
            if let Some(value) = file.size(size) {
                draft.set(size, value.into());
            }
        }
        for (name, &value) in &file.timing {
            let known = || Param::ALL.iter().map(|param| param.name()).collect::<Vec<_>>();
            let param = Param::from_name(name).ok_or_else(|| TargetError::unknown_key(name, &known()))?;
            draft.set_timing(param, value.into());
        }
        if let Some(product) = file.product {
            draft.spec.product = Cow::Owned(product);
        }
        draft.build()
    }
}

impl Target {
    /// Reads TOML.
    ///
    /// # Errors
    /// [`TargetError::Toml`] for text that is no TOML; else as [`TargetSpec::build`], or what is missing or unknown.
    pub fn from_toml(text: &str) -> Result<Self, TargetError> {
        toml::from_str::<TargetFile>(text).map_err(|error| TargetError::Toml(error.to_string()))?.try_into()
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// [`TargetError::Json`] for text that is no JSON; else as [`TargetSpec::build`], or what is missing or unknown.
    pub fn from_json(text: &str) -> Result<Self, TargetError> {
        serde_json::from_str::<TargetFile>(text).map_err(|error| TargetError::Json(error.to_string()))?.try_into()
    }

    /// Every field as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self.spec()).expect("numbers and one string have a TOML form")
    }

    /// Every field as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self.spec()).expect("numbers and one string have a JSON form")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::QC_U_NARROW;

    #[test]
    fn base_stands_for_what_is_not_given() {
        let text = "base = 'QC-U-narrow:ocm=8MB'\nclock_mhz = 1560\n[timing]\nflow_start = 30\n";
        let expected = QC_U_NARROW.to_builder().ocm_mb(8).clock_mhz(1560).timing(Param::flow_start, 30).build();
        assert_eq!(Target::from_toml(text), expected);
        let json = r#"{"base": "QC-U-narrow:ocm=8MB", "clock_mhz": 1560, "timing": {"flow_start": 30}}"#;
        assert_eq!(Target::from_json(json), expected);
        assert_eq!(serde_json::from_str::<Target>(json).ok(), expected.ok());
    }

    #[test]
    fn refusals_are_those_of_build_and_text() {
        for (toml, message) in [
            (
                "base = 'QC-U'\nrows = -1\nmacs_per_pe = 12",
                "target `QC-U` is impossible: `rows` is -1, legal: 1..=64 PEs; \
              `macs_per_pe` is 12, legal: 8 or 16 MACs",
            ),
            (
                "base = 'QC-V'",
                "target `QC-V` is unknown, expected `QC-U`, `QC-U-narrow`, `QC-P`, `QC-N` or a long name \
              such as `QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1`\nhelp: did you mean `QC-U`?",
            ),
            (
                "product = 'mine'\nrows = 8",
                "target: `cols`, `border`, `macs_per_pe`, `clock_mhz`, `ocm_bytes`, `lrm_bytes`, \
              `ext_read_mb_s`, `ext_write_mb_s`, `cores` not given\nhelp: `base = \"QC-U\"` stands for the fields that a \
              file does not give",
            ),
            (
                "base = 'QC-U'\nclock_mhzz = 8",
                "target: there is no `clock_mhzz`, expected one of `base`, `product`, `rows`, \
              `cols`, `border`, `macs_per_pe`, `clock_mhz`, `ocm_bytes`, `lrm_bytes`, `ext_read_mb_s`, `ext_write_mb_s`, \
              `cores`, `timing`\nhelp: did you mean `clock_mhz`?",
            ),
        ] {
            let error = Target::from_toml(toml).expect_err(toml);
            assert_eq!(error.to_string(), message);
            let through_serde = toml::from_str::<Target>(toml).expect_err(toml).to_string();
            assert!(through_serde.contains(message.trim_end()), "{through_serde}");
        }
        let error = Target::from_toml("base = 'QC-U'\ntiming = { flow_strat = 1 }").expect_err("no such parameter");
        assert!(error.to_string().ends_with("help: did you mean `flow_start`?"), "{error}");
    }

    #[test]
    fn text_of_another_format_is_an_error_with_its_place() {
        assert!(
            Target::from_toml("rows = ")
                .expect_err("no value")
                .to_string()
                .starts_with("target, TOML: TOML parse error at line 1")
        );
        let error = Target::from_json(r#"{"rows": "8"}"#).expect_err("no number");
        assert_eq!(error.to_string(), "target, JSON: invalid type: string \"8\", expected i64 at line 1 column 12");
    }
}
