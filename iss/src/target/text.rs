//! The text of a target: the product's long name, the presets' short names, and `key=value` for what a name cannot say.
//!
//! `parse(display(t)) == t` for every target. The long name has ten parts:
//! `product_clock_ocm_lrm_extread_extwrite_macs_OFF_xCORES_x1`. The eighth and the tenth stand for features of the
//! product that are not modelled, so nothing but `OFF` and `x1` is accepted there.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::build::{Draft, Size};
use super::error::{listed, nearest};
use super::{Param, Target, TargetError, TargetSpec, quantity};

const LONG_EXAMPLE: &str = "QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1";
const LONG_FORM: &str = "product_clock_ocm_lrm_extread_extwrite_macs_OFF_xCORES_x1";
/// Keys behind the colon, without the timing parameters.
const KEYS: &[&str] = &["array", "macs", "ocm", "lrm", "clock", "ext-rd", "ext-wr", "cores", "border"];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.spec();
        write!(
            f,
            "{}_{}_{}_{}_{}_{}_{}_OFF_x{}_x1",
            spec.product,
            clock(spec.clock_mhz),
            quantity::print(spec.ocm_bytes, quantity::MEMORY),
            quantity::print(spec.lrm_bytes, quantity::MEMORY),
            quantity::print(spec.ext_read_mb_s, quantity::BANDWIDTH),
            quantity::print(spec.ext_write_mb_s, quantity::BANDWIDTH),
            spec.macs_per_pe,
            spec.cores
        )?;
        for (i, item) in self.unnamed().iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl Target {
    /// What the long name cannot say, as `key=value`.
    fn unnamed(&self) -> Vec<String> {
        let (spec, base) = (self.spec(), Target::base_of(&self.spec().product).into_spec());
        let mut items = Vec::new();
        if (spec.rows, spec.cols) != (base.rows, base.cols) {
            items.push(format!("array={}x{}", spec.rows, spec.cols));
        }
        if spec.border != base.border {
            items.push(format!("border={}", spec.border));
        }
        let differing = Param::ALL.iter().filter(|&&p| spec.timing.get(p) != base.timing.get(p));
        items.extend(differing.map(|&p| format!("{}={}", p.name(), spec.timing.get(p))));
        items
    }
}

/// GHz with `d` for the point.
fn clock(mhz: u32) -> String {
    let fraction = format!("{:03}", mhz % 1000);
    let digits = fraction.trim_end_matches('0');
    format!("{}d{}", mhz / 1000, if digits.is_empty() { "0" } else { digits })
}

impl FromStr for Target {
    type Err = TargetError;

    /// Reads a preset's name or a long name, and `:key=value,..` behind either.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (name, items) = text.split_once(':').map_or((text, None), |(name, items)| (name, Some(items)));
        let mut draft = named(name.trim())?;
        if let Some(items) = items {
            set_items(&mut draft, items)?;
        }
        draft.build()
    }
}

/// The preset, or the machine of a long name.
fn named(name: &str) -> Result<Draft, TargetError> {
    let parts: Vec<&str> = name.split('_').collect();
    match parts[..] {
        [short] => Ok(Draft::new(Target::preset(short).ok_or_else(|| unknown_name(short))?.into_spec())),
        [product, clock, ocm, lrm, ext_read, ext_write, macs, off, cores, last] => {
            only("eighth part", off, "OFF")?;
            only("tenth part", last, "x1")?;
            let mut draft = Draft::new(TargetSpec {
                product: Cow::Owned(product.to_owned()),
                ..Target::base_of(product).into_spec()
            });
            for (key, value) in [
                ("clock", clock),
                ("ocm", ocm),
                ("lrm", lrm),
                ("ext-rd", ext_read),
                ("ext-wr", ext_write),
                ("macs", macs),
                ("cores", cores),
            ] {
                set(&mut draft, key, value)?;
            }
            Ok(draft)
        }
        _ => Err(TargetError::PartCount { name: name.to_owned(), found: parts.len(), form: LONG_FORM }),
    }
}

/// Applies `key=value,..`.
fn set_items(draft: &mut Draft, items: &str) -> Result<(), TargetError> {
    let mut seen = Vec::new();
    for item in items.split(',').map(str::trim) {
        let (key, value) = item.split_once('=').ok_or_else(|| TargetError::NoValue(item.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        if seen.contains(&key) {
            return Err(TargetError::Repeated(key.to_owned()));
        }
        seen.push(key);
        set(draft, key, value)?;
    }
    Ok(())
}

/// Sets what `key` names.
fn set(draft: &mut Draft, key: &str, value: &str) -> Result<(), TargetError> {
    const MEMORY: &str = "a size such as `16MB`, `4kB` or `512B`";
    const BANDWIDTH: &str = "a bandwidth such as `128GBps` or `64500MBps`";
    const CLOCK: &str = "GHz such as `1.56` or `1d56`, in whole MHz";
    let quantity = |part, text: &str, units, expected| {
        quantity::parse(text, units).map(i128::from).ok_or_else(|| unreadable(part, value, expected))
    };
    match key {
        "array" => {
            let expected = "rows and columns such as `8x8`";
            let (rows, cols) = value.split_once('x').ok_or_else(|| unreadable("array", value, expected))?;
            draft.set(Size::rows, number("array", rows, value, expected)?);
            draft.set(Size::cols, number("array", cols, value, expected)?);
        }
        "border" => draft.set(Size::border, number("border", value, value, "columns on each side, such as `4`")?),
        "macs" => draft.set(Size::macs_per_pe, number("macs", value, value, "`8` or `16`")?),
        "cores" => {
            let count = value.strip_prefix('x').unwrap_or(value);
            draft.set(Size::cores, number("cores", count, value, "a number such as `1` or `x1`")?);
        }
        "clock" => draft.set(Size::clock_mhz, quantity("clock", &value.replace('d', "."), quantity::CLOCK, CLOCK)?),
        "ocm" => draft.set(Size::ocm_bytes, quantity("ocm", value, quantity::MEMORY, MEMORY)?),
        "lrm" => draft.set(Size::lrm_bytes, quantity("lrm", value, quantity::MEMORY, MEMORY)?),
        "ext-rd" => draft.set(Size::ext_read_mb_s, quantity("ext-rd", value, quantity::BANDWIDTH, BANDWIDTH)?),
        "ext-wr" => draft.set(Size::ext_write_mb_s, quantity("ext-wr", value, quantity::BANDWIDTH, BANDWIDTH)?),
        _ => {
            let param = Param::from_name(key).ok_or_else(|| unknown_key(key))?;
            draft.set_timing(param, number(param.name(), value, value, "a whole number")?);
        }
    }
    Ok(())
}

fn number(part: &'static str, digits: &str, value: &str, expected: &'static str) -> Result<i128, TargetError> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).ok_or_else(|| unreadable(part, value, expected))
}

fn only(part: &'static str, value: &str, only: &'static str) -> Result<(), TargetError> {
    if value == only { Ok(()) } else { Err(TargetError::NotModelled { part, value: value.to_owned(), only }) }
}

fn unreadable(part: &'static str, value: &str, expected: &'static str) -> TargetError {
    TargetError::Part { part, value: value.to_owned(), expected }
}

fn unknown_name(name: &str) -> TargetError {
    let known: Vec<&str> = Target::preset_names().collect();
    let suggestion = nearest(name, &known);
    TargetError::UnknownName { name: name.to_owned(), known: listed(&known), long: LONG_EXAMPLE, suggestion }
}

fn unknown_key(key: &str) -> TargetError {
    let params = Param::ALL.iter().map(|param| param.name());
    TargetError::unknown_key(key, &KEYS.iter().copied().chain(params).collect::<Vec<_>>())
}
