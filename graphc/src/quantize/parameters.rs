//! Scales and zero points from ranges, in the arithmetic of ONNX Runtime's quantiser.

use std::collections::HashMap;

use crate::graph::DType;
use crate::graph::op::QParam;
use crate::quantize::network::Network;
use crate::quantize::operators::Role;
use crate::quantize::ranges::{Range, Ranges};
use crate::quantize::select::{Choice, Selection};
use crate::quantize::{Options, QuantizeError};

/// Where 0 lies among the 256 values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// At 0: values from -127 to 127, a range as far below 0 as above.
    #[default]
    Symmetric,
    /// At a zero point: values from -128 to 127.
    Asymmetric,
}

impl Scheme {
    /// Scale and zero point for a range, which is widened to hold 0. A range of 0 alone has a scale of 1.
    pub(super) fn parameters(self, [low, high]: Range) -> QParam {
        let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
        let scale = match self {
            Scheme::Symmetric => 2.0 * high.max(-low) / 254.0,
            Scheme::Asymmetric => (high - low) / 255.0,
        };
        // Smaller scales are subnormal, and lose digits of what they scale.
        if scale < f64::from(f32::MIN_POSITIVE) {
            return QParam { scale: 1.0, zero: 0, dtype: DType::I8 };
        }
        let zero = match self {
            Scheme::Symmetric => 0,
            Scheme::Asymmetric => (-128.0 - low / scale).round_ties_even() as i32,
        };
        QParam { scale: scale as f32, zero, dtype: DType::I8 }
    }
}

/// Scales and zero points of the activations of a network.
pub(super) struct Parameters {
    of: HashMap<String, QParam>,
    scheme: Scheme,
}

impl Parameters {
    /// What follows from the ranges. The input of a Relu or Clip that nothing else reads has the range of its result: what
    /// is beyond is cut off anyway.
    pub fn new(network: &Network, selection: &Selection, ranges: &Ranges, options: &Options) -> Self {
        let mut ranges = ranges.0.clone();
        for (site, choice) in selection.of(network) {
            if choice == Choice::Quantise(Role::Clamp) && is_only_read_by_it(network, &site.proto.input[0]) {
                let of_result = site.proto.output.first().and_then(|name| ranges.get(name)).copied();
                if let Some(range) = of_result {
                    ranges.insert(site.proto.input[0].clone(), range);
                }
            }
        }
        let scheme = options.activations;
        Parameters { of: ranges.into_iter().map(|(name, range)| (name, scheme.parameters(range))).collect(), scheme }
    }

    /// Those of a tensor.
    pub fn of(&self, name: &str) -> Result<QParam, QuantizeError> {
        self.of.get(name).copied().ok_or_else(|| QuantizeError::NoRange { tensor: name.to_owned() })
    }

    /// Whether a Relu or Clip is nothing but the saturation of its input's 8-bit values.
    pub fn saturates(&self, network: &Network, input: &str) -> bool {
        self.scheme == Scheme::Asymmetric && is_only_read_by_it(network, input)
    }
}

fn is_only_read_by_it(network: &Network, name: &str) -> bool {
    network.n_readers(name) == 1 && network.value(name).is_some_and(|value| value.producer.is_some())
}

/// `Ok` if a constant has a range.
pub(super) fn check_finite(name: &str, range: Range) -> Result<Range, QuantizeError> {
    let finite = range.iter().all(|v| v.is_finite());
    if finite { Ok(range) } else { Err(QuantizeError::Constant { tensor: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_zero() {
        let (s, a) = (Scheme::Symmetric, Scheme::Asymmetric);
        let q = |scale, zero| QParam { scale, zero, dtype: DType::I8 };
        assert_eq!(s.parameters([-1.0, 127.0]), q(1.0, 0));
        assert_eq!(s.parameters([-254.0, 1.0]), q(2.0, 0));
        assert_eq!(a.parameters([0.0, 255.0]), q(1.0, -128));
        assert_eq!(a.parameters([-255.0, 0.0]), q(1.0, 127));
        assert_eq!(a.parameters([100.0, 255.0]), q(1.0, -128));
        assert_eq!(a.parameters([-127.5, 127.5]), q(1.0, 0)); // -0.5, to even
    }

    #[test]
    fn a_range_of_zero_has_a_scale_of_one() {
        for scheme in [Scheme::Symmetric, Scheme::Asymmetric] {
            assert_eq!(scheme.parameters([0.0, 0.0]), QParam { scale: 1.0, zero: 0, dtype: DType::I8 });
            assert_eq!(scheme.parameters([0.0, 1e-38]).scale, 1.0);
        }
    }
}
