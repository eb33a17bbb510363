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
