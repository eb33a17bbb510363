//! From plain data to a valid target: the legal range of every size, declared once, and the check of all fields.

use std::borrow::Cow;

use super::{Param, Problem, Target, TargetError, TargetSpec};

/// PEs in a row or column, border columns included: a row's predicates fit one 64-bit mask.
pub(super) const MAX_SIDE: u32 = 64;
/// Characters of a product name.
const MAX_PRODUCT: usize = 32;
/// What a product name may be.
const PRODUCT_RULE: &str = "1 to 32 letters, digits and `-`";

/// Declares the sizes: `name = min..=max, step, unit;`.
macro_rules! define_sizes {
    ($( $name:ident = $min:expr, $max:expr, $step:literal, $unit:literal; )*) => {
        /// A field of [`TargetSpec`] that is a number and no timing parameter.
        #[allow(non_camel_case_types, reason = "the variants are the field names, so that each is written once")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Size { $( $name, )* }

        impl Size {
            /// Every size in the order of the fields.
            pub(super) const ALL: &'static [Size] = &[ $( Size::$name, )* ];

            /// The field's name.
            pub(super) const fn name(self) -> &'static str {
                match self { $( Size::$name => stringify!($name), )* }
            }
            /// The field's value.
            pub(super) const fn get(self, spec: &TargetSpec) -> u32 {
                match self { $( Size::$name => spec.$name, )* }
            }
            /// Sets the field.
            pub(super) fn set(self, spec: &mut TargetSpec, value: u32) {
                match self { $( Size::$name => spec.$name = value, )* }
            }
            /// Smallest and largest legal value, and the step between legal values.
            const fn rule(self) -> (u32, u32, u32) {
                match self { $( Size::$name => ($min, $max, $step), )* }
            }
            const fn unit(self) -> &'static str {
                match self { $( Size::$name => $unit, )* }
            }
            /// What is said of an illegal value where no value can be printed, at compile time.
            const fn complaint(self) -> &'static str {
                match self { $( Size::$name =>
                    concat!("target: `", stringify!($name), "` is outside ", stringify!($min), "..=", stringify!($max),
                        " or no multiple of ", stringify!($step)), )* }
            }
        }
    };
}
define_sizes! {
    rows = 1, 64, 1, "PEs";
    cols = 1, 64, 1, "PEs";
    border = 0, 4, 1, "columns";
    macs_per_pe = 8, 16, 8, "MACs";
    clock_mhz = 100, 10_000, 1, "MHz";
    ocm_bytes = 65_536, 268_435_456, 64, "bytes";
    lrm_bytes = 256, 16_384, 16, "bytes";
    ext_read_mb_s = 1, 10_000_000, 1, "MB/s";
    ext_write_mb_s = 1, 10_000_000, 1, "MB/s";
    cores = 1, 8, 1, "cores";
}

impl Size {
    const fn allows(self, value: u32) -> bool {
        let (min, max, step) = self.rule();
        min <= value && value <= max && value.is_multiple_of(step)
    }

    /// The legal values in words.
    fn legal(self) -> String {
        let (min, max, step) = self.rule();
        let unit = self.unit();
        match step {
            1 => format!("{min}..={max} {unit}"),
            _ if max - min == step => format!("{min} or {max} {unit}"),
            _ => format!("a multiple of {step} in {min}..={max} {unit}"),
        }
    }

    fn problem(self, value: impl ToString) -> Problem {
        Problem { field: self.name(), value: value.to_string(), legal: self.legal() }
    }
}

impl Param {
    const fn allows(self, value: u32) -> bool {
        let range = self.range();
        *range.start() <= value && value <= *range.end()
    }

    fn problem(self, value: impl ToString) -> Problem {
        let range = self.range();
        let legal = format!("{}..={} {}", range.start(), range.end(), self.unit());
        Problem { field: self.name(), value: value.to_string(), legal }
    }
}

impl TargetSpec {
    /// Checks every field.
    ///
    /// # Errors
    /// [`TargetError::Impossible`] with every illegal field, its value and what would be legal.
    pub fn build(self) -> Result<Target, TargetError> {
        Draft::new(self).build()
    }

    /// As [`build`](Self::build), for targets that are a `const` of the user's crate.
    ///
    /// # Panics
    /// If a field is illegal: at compile time where the result is a constant, naming the first such field.
    ///
    /// ```
    /// use iss::target::{QC_U, Target, TargetSpec, Timing};
    /// const SMALL: Target = TargetSpec {
    ///     product: std::borrow::Cow::Borrowed("mine"),
    ///     rows: 8, cols: 8, border: 4, macs_per_pe: 8, clock_mhz: 1000, ocm_bytes: 1 << 20, lrm_bytes: 2048,
    ///     ext_read_mb_s: 16_000, ext_write_mb_s: 16_000, cores: 1, timing: Timing::QC_U,
    /// }
    /// .build_const();
    /// assert!(SMALL.pes() < QC_U.pes());
    /// ```
    pub const fn build_const(self) -> Target {
        if let Some(complaint) = self.first_complaint() {
            panic!("{}", complaint);
        }
        Target(self)
    }

    /// Constants cannot collect, so this stops at the first illegal field.
    const fn first_complaint(&self) -> Option<&'static str> {
        if !self.product_is_legal() {
            return Some("target: `product` is not 1 to 32 letters, digits and `-`");
        }
        let mut i = 0;
        while i < Size::ALL.len() {
            if !Size::ALL[i].allows(Size::ALL[i].get(self)) {
                return Some(Size::ALL[i].complaint());
            }
            i += 1;
        }
        if !self.sides_fit() {
            return Some("target: `cols` and twice `border` exceed 64");
        }
        let mut i = 0;
        while i < Param::ALL.len() {
            if !Param::ALL[i].allows(self.timing.get(Param::ALL[i])) {
                return Some(Param::ALL[i].complaint());
            }
            i += 1;
        }
        None
    }

    const fn product_is_legal(&self) -> bool {
        let bytes = match &self.product {
            Cow::Borrowed(text) => text.as_bytes(),
            Cow::Owned(text) => text.as_bytes(),
        };
        let mut i = 0;
        while i < bytes.len() {
            if !bytes[i].is_ascii_alphanumeric() && bytes[i] != b'-' {
                return false;
            }
            i += 1;
        }
        !bytes.is_empty() && bytes.len() <= MAX_PRODUCT
    }

    const fn sides_fit(&self) -> bool {
        self.cols + 2 * self.border <= MAX_SIDE
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.product_is_legal() {
            let value = format!("{:?}", self.product);
            problems.push(Problem { field: "product", value, legal: PRODUCT_RULE.to_owned() });
        }
        let sizes = Size::ALL.iter().map(|&size| (size, size.get(self)));
        problems.extend(sizes.filter(|&(size, value)| !size.allows(value)).map(|(size, value)| size.problem(value)));
        if Size::cols.allows(self.cols) && Size::border.allows(self.border) && !self.sides_fit() {
            let legal =
                format!("1..={} PEs beside a border of {} on each side", MAX_SIDE - 2 * self.border, self.border);
            problems.push(Problem { field: "cols", value: self.cols.to_string(), legal });
        }
        let params = Param::ALL.iter().map(|&param| (param, self.timing.get(param)));
        problems.extend(params.filter(|&(p, value)| !p.allows(value)).map(|(p, value)| p.problem(value)));
        problems
    }
}

/// A target being put together from text or a file: values of any size come in, those that do not fit are kept as
/// problems.
pub(super) struct Draft {
    pub(super) spec: TargetSpec,
    problems: Vec<Problem>,
}

impl Draft {
    pub(super) fn new(spec: TargetSpec) -> Self {
        Self { spec, problems: Vec::new() }
    }

    /// Sets a size; its range is checked by [`build`](Self::build).
    pub(super) fn set(&mut self, size: Size, value: i128) {
        match u32::try_from(value) {
            Ok(value) => size.set(&mut self.spec, value),
            Err(_) => self.problems.push(size.problem(value)),
        }
    }

    /// Sets a timing parameter; its range is checked by [`build`](Self::build).
    pub(super) fn set_timing(&mut self, param: Param, value: i128) {
        match u32::try_from(value) {
            Ok(value) => self.spec.timing.set(param, value),
            Err(_) => self.problems.push(param.problem(value)),
        }
    }

    pub(super) fn build(mut self) -> Result<Target, TargetError> {
        self.problems.extend(self.spec.problems());
        if self.problems.is_empty() {
            Ok(Target(self.spec))
        } else {
            Err(TargetError::Impossible { product: self.spec.product.into_owned(), problems: self.problems })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{PRESETS, QC_U};

    fn refusal(change: impl FnOnce(&mut TargetSpec)) -> String {
        let mut spec = QC_U.into_spec();
        change(&mut spec);
        spec.build().expect_err("the target is impossible").to_string()
    }

    #[test]
    fn presets_build() {
        for preset in PRESETS {
            assert_eq!(preset.spec().clone().build().as_ref(), Ok(preset));
        }
    }

    #[test]
    fn names_field_value_and_range_of_every_problem() {
        let message = refusal(|spec| {
            spec.product = Cow::Borrowed("QC_U");
            spec.rows = 65;
            spec.macs_per_pe = 12;
            spec.ocm_bytes = (1 << 20) + 1;
            spec.timing.loop_depth = 9;
        });
        assert_eq!(
            message,
            "target `QC_U` is impossible: `product` is \"QC_U\", legal: 1 to 32 letters, digits and `-`; \
             `rows` is 65, legal: 1..=64 PEs; `macs_per_pe` is 12, legal: 8 or 16 MACs; \
             `ocm_bytes` is 1048577, legal: a multiple of 64 in 65536..=268435456 bytes; \
             `loop_depth` is 9, legal: 1..=8 levels"
        );
    }

    #[test]
    #[should_panic(expected = "target: `macs_per_pe` is outside 8..=16 or no multiple of 8")]
    fn a_constant_is_refused_by_field() {
        TargetSpec { macs_per_pe: 12, ..QC_U.into_spec() }.build_const();
    }

    #[test]
    fn border_counts_against_a_row() {
        let message = refusal(|spec| spec.cols = 57);
        assert!(message.ends_with("`cols` is 57, legal: 1..=56 PEs beside a border of 4 on each side"), "{message}");
        let wide = TargetSpec { cols: 64, rows: 64, border: 0, ..QC_U.into_spec() };
        assert_eq!(wide.build().map(|t| t.pes()), Ok(4096));
    }

    #[test]
    fn every_field_is_checked_at_both_ends_by_both_checks() {
        let check = |spec: TargetSpec, name: &str| {
            assert!(spec.first_complaint().is_some_and(|text| text.contains(name)), "{name}");
            let TargetError::Impossible { problems, .. } = spec.build().expect_err(name) else { panic!("{name}") };
            assert_eq!(problems.iter().map(|p| p.field).collect::<Vec<_>>(), [name]);
        };
        for &size in Size::ALL {
            let (min, max, step) = size.rule();
            for value in [min.checked_sub(step), Some(max + step), Some(u32::MAX)].into_iter().flatten() {
                let mut spec = QC_U.into_spec();
                size.set(&mut spec, value);
                check(spec, size.name());
            }
        }
        for &param in Param::ALL {
            let range = param.range();
            for value in [range.start().checked_sub(1), range.end().checked_add(1)].into_iter().flatten() {
                let mut spec = QC_U.into_spec();
                spec.timing.set(param, value);
                check(spec, param.name());
            }
        }
    }
}
