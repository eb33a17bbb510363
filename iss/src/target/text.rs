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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::target::{PRESETS, QC_N, QC_U, QC_U_NARROW, Timing};

    #[track_caller]
    fn parse(text: &str) -> Target {
        text.parse().unwrap_or_else(|error| panic!("`{text}`: {error}"))
    }

    #[track_caller]
    fn refusal(text: &str) -> String {
        text.parse::<Target>().expect_err(text).to_string()
    }

    #[test]
    fn presets_print_and_parse() {
        assert_eq!(QC_U.to_string(), LONG_EXAMPLE);
        assert_eq!(parse(LONG_EXAMPLE), QC_U);
        assert_eq!(QC_N.to_string(), "QC-N_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1");
        for preset in PRESETS {
            assert_eq!(&parse(&preset.spec().product), preset);
            assert_eq!(&parse(&preset.to_string()), preset);
        }
        assert_eq!(parse("QC-U-narrow"), QC_U_NARROW);
    }

    #[test]
    fn short_and_long_forms_take_keys() {
        let expected = "QC-U_1d56_8MB_4kB_64GBps_64500MBps_16_OFF_x1_x1";
        assert_eq!(parse("QC-U:ocm=8MB,clock=1.56,ext-rd=64GBps,ext-wr=64.5GBps").to_string(), expected);
        let all = "QC-U: array=8x16, macs=8, ocm=512kB, lrm=1040B, clock=900MHz, cores=2, border=0, flow_start=30";
        let long = "QC-U_0d9_512kB_1040B_128GBps_128GBps_8_OFF_x2_x1:array=8x16,border=0,flow_start=30";
        assert_eq!(parse(all).to_string(), long);
        assert_eq!(parse(long), parse(all));
        assert_eq!(parse(&format!("{LONG_EXAMPLE}:ocm=8MB")).spec().ocm_bytes, 8 << 20);
    }

    #[test]
    fn a_long_name_keeps_the_timing_of_its_preset() {
        assert_eq!(
            parse("QC-U-narrow_1d7_8MB_4kB_128GBps_128GBps_16_OFF_x1_x1").spec().timing,
            QC_U_NARROW.spec().timing
        );
        assert_eq!(parse("other_1d7_8MB_4kB_128GBps_128GBps_16_OFF_x1_x1").spec().timing, Timing::QC_U);
    }

    #[test]
    fn refusals_name_part_value_and_expectation() {
        for (text, message) in [
            (
                "QCU",
                "target `QCU` is unknown, expected `QC-U`, `QC-U-narrow`, `QC-P`, `QC-N` or a long name such as \
                     `QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1`\nhelp: did you mean `QC-U`?",
            ),
            (
                "QC-U_1d7",
                "target `QC-U_1d7` has 2 parts, expected 10: \
                          product_clock_ocm_lrm_extread_extwrite_macs_OFF_xCORES_x1",
            ),
            (
                "QC-U_1d7_16MB_4kB_128GBps_128GBps_16_ON_x1_x1",
                "target, `eighth part`: `ON` is not modelled, only `OFF` is",
            ),
            (
                "QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x2",
                "target, `tenth part`: `x2` is not modelled, only `x1` is",
            ),
            (
                "QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_1x_x1",
                "target, `cores`: cannot read `1x`, expected a number such as `1` or `x1`",
            ),
            (
                "QC-U_1d7_16Mb_4kB_128GBps_128GBps_16_OFF_x1_x1",
                "target, `ocm`: cannot read `16Mb`, expected a size such as `16MB`, `4kB` or `512B`",
            ),
            (
                "QC-U:clock=1.5605",
                "target, `clock`: cannot read `1.5605`, expected GHz such as `1.56` or `1d56`, in whole MHz",
            ),
            ("QC-U:array=8", "target, `array`: cannot read `8`, expected rows and columns such as `8x8`"),
            ("QC-U:array=+8x8", "target, `array`: cannot read `+8x8`, expected rows and columns such as `8x8`"),
            ("QC-U:macs=8,macs=16", "target: `macs` is given twice"),
            ("QC-U:macs", "target: `macs` is no `key=value`"),
            ("QC-U:", "target: `` is no `key=value`"),
            (
                "QC-U:macs=12,cores=99999999999,loop_depth=9",
                "target `QC-U` is impossible: `cores` is 99999999999, legal: 1..=8 cores; \
              `macs_per_pe` is 12, legal: 8 or 16 MACs; `loop_depth` is 9, legal: 1..=8 levels",
            ),
        ] {
            assert_eq!(refusal(text), message);
        }
    }

    #[test]
    fn an_unknown_key_is_answered_with_all_and_the_nearest() {
        let message = refusal("QC-U:flow_strat=3");
        assert!(message.starts_with("target: there is no `flow_strat`, expected one of `array`, `macs`,"), "{message}");
        assert!(message.contains("`loop_depth`\nhelp: did you mean `flow_start`?"), "{message}");
        assert!(!refusal("QC-U:zzz=3").contains("help:"));
    }

    /// A number in the legal range of a parameter, its value on `QC-U` half of the time.
    fn param(param: Param) -> impl Strategy<Value = u32> {
        prop_oneof![Just(Timing::QC_U.get(param)), param.range()]
    }

    prop_compose! {
        fn any_timing()(values in Param::ALL.iter().map(|&p| param(p)).collect::<Vec<_>>()) -> Timing {
            let mut timing = Timing::QC_U;
            Param::ALL.iter().zip(values).for_each(|(&param, value)| timing.set(param, value));
            timing
        }
    }

    prop_compose! {
        fn any_target()(
            product in prop_oneof!["[A-Za-z0-9-]{1,32}", prop::sample::select(Target::preset_names().collect::<Vec<_>>())
                .prop_map(str::to_owned)],
            rows in 1u32..=64, (border, cols) in (0u32..=4).prop_flat_map(|b| (Just(b), 1..=64 - 2 * b)),
            wide in any::<bool>(), clock_mhz in 100u32..=10_000,
            ocm in 1024u32..=1 << 22, lrm in 16u32..=1024,
            ext_read_mb_s in 1u32..=10_000_000, ext_write_mb_s in prop_oneof![1u32..=10_000_000, Just(64_000u32)],
            cores in 1u32..=8, timing in any_timing(), whole in any::<bool>(),
        ) -> Target {
            let ocm_bytes = if whole { (ocm * 64).next_multiple_of(1 << 16) } else { ocm * 64 };
            TargetSpec {
                product: Cow::Owned(product), rows, cols, border, macs_per_pe: if wide { 16 } else { 8 }, clock_mhz,
                ocm_bytes, lrm_bytes: lrm * 16, ext_read_mb_s, ext_write_mb_s, cores, timing,
            }
            .build()
            .expect("every value is legal")
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn text_toml_and_json_round_trip(target in any_target()) {
            prop_assert_eq!(&parse(&target.to_string()), &target);
            prop_assert_eq!(Target::from_toml(&target.to_toml()), Ok(target.clone()));
            prop_assert_eq!(Target::from_json(&target.to_json()), Ok(target.clone()));
        }

        #[test]
        fn no_text_panics(text in "(QC-U|[A-Z_x0-9d]{0,20})(:[a-z_=,0-9.xMB-]{0,40})?|\\PC{0,40}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(parse(&target.to_string()), target);
            }
        }
    }
}
