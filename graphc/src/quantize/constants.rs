//! Constants in 8 and 32 bits.

use ndarray::{ArrayD, ArrayViewD, Axis, aview0};

use crate::graph::{Tensor, TensorView};
use crate::quantize::QuantizeError;
use crate::quantize::parameters::{Scheme, check_finite};
use crate::quantize::ranges::Range;

/// A weight in 8 bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weight {
    /// Elements of int8; their zero points are 0.
    pub elements: Tensor,
    /// One scale, or one for each slice of an axis.
    pub scales: Vec<f32>,
    /// That axis.
    pub axis: Option<usize>,
}

/// Smallest and largest element; `[0, 0]` where there are none.
pub(super) fn range(x: &ArrayViewD<f32>) -> Range {
    x.iter()
        .fold(None, |range: Option<Range>, &v| {
            range.map_or(Some([v, v]), |[low, high]| Some([min(low, v), max(high, v)]))
        })
        .unwrap_or_default()
}

/// The smaller, or what is no number.
pub(super) fn min(a: f32, b: f32) -> f32 {
    if b < a || b.is_nan() { b } else { a }
}

/// The larger, or what is no number.
pub(super) fn max(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

/// Quantises a weight symmetrically, with one scale or one for each slice of `axis`. `least` gives the smallest scale that a
/// slice may have, for a bias to fit.
pub(super) fn weight(
    name: &str,
    tensor: &Tensor,
    axis: Option<usize>,
    least: impl Fn(usize) -> f64,
) -> Result<Weight, QuantizeError> {
    let no_floats = || QuantizeError::Constant { tensor: name.to_owned() };
    let x = tensor.view::<f32>().ok_or_else(no_floats)?;
    let mut elements = ArrayD::zeros(x.raw_dim());
    let mut scales = Vec::new();
    match axis {
        None => {
            let scale = scale(name, &x, least(0))?;
            elements.zip_mut_with(&x, |e, &v| *e = quantised(v, scale));
            scales.push(scale);
        }
        Some(axis) => {
            let slices = x.axis_iter(Axis(axis)).zip(elements.axis_iter_mut(Axis(axis)));
            for (i, (x, mut elements)) in slices.enumerate() {
                let scale = scale(name, &x, least(i))?;
                elements.zip_mut_with(&x, |e, &v| *e = quantised(v, scale));
                scales.push(scale);
            }
        }
    }
    Ok(Weight { elements: elements.into(), scales, axis })
}

fn scale(name: &str, x: &ArrayViewD<f32>, least: f64) -> Result<f32, QuantizeError> {
    let scale = Scheme::Symmetric.parameters(check_finite(name, range(x))?).scale;
    Ok(if f64::from(scale) < least { least as f32 } else { scale })
}

fn quantised(v: f32, scale: f32) -> i8 {
    (v / scale).round_ties_even().clamp(-128.0, 127.0) as i8
}

/// The smallest scale of a weight with which a bias fits into 32 bits, for a scale of x.
pub(super) fn least_weight_scale(bias: f32, x_scale: f32) -> f64 {
    const STEPS: f64 = (i32::MAX as f64) * 2.0;
    1.0001 * 2.0 * f64::from(bias.abs()) / STEPS / f64::from(x_scale)
}

/// Quantises a bias to steps of `x scale * weight scale`, a scale or one for each element.
///
/// # Units
/// `factor` is what the elements are multiplied by first.
pub(super) fn bias(tensor: &Tensor, factor: f32, x_scale: f32, weight_scales: &[f32]) -> Option<(Tensor, Vec<f32>)> {
    let x = tensor.view::<f32>()?;
    let scales: Vec<f32> = weight_scales.iter().map(|s| x_scale * s).collect();
    let step = |i: usize| f64::from(if let [one] = scales[..] { one } else { scales[i % scales.len()] });
    let steps = |(i, &v): (usize, &f32)| {
        let steps = f64::from(v) * f64::from(factor) / step(i);
        steps.round_ties_even().clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32
    };
    let elements: Vec<i32> = x.iter().enumerate().map(steps).collect();
    let elements = ArrayD::from_shape_vec(x.raw_dim(), elements).expect("one step for each element");
    Some((elements.into(), scales))
}

/// A list, or one number.
pub(super) fn numbers<T: Clone>(list: &[T]) -> Tensor
where
    Tensor: From<ArrayD<T>>,
{
    match list {
        [one] => aview0(one).to_owned().into_dyn().into(),
        many => ndarray::aview1(many).to_owned().into_dyn().into(),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    #[test]
    fn a_scale_for_each_slice() {
        let x: Tensor = arr2(&[[127.0_f32, -12.7], [0.0, 0.0], [2.54, 1.27]]).into_dyn().into();
        let q = weight("w", &x, Some(0), |_| 0.0).unwrap();
        assert_eq!(q.scales[..2], [1.0, 1.0]);
        assert_eq!(q.elements, arr2(&[[127_i8, -13], [0, 0], [127, 64]]).into_dyn().into());
        let one = weight("w", &x, None, |_| 0.0).unwrap();
        assert_eq!(one.scales, [1.0]);
    }

    #[test]
    fn a_bias_fits() {
        let x: Tensor = arr1(&[1e-6_f32]).into_dyn().into();
        let least = least_weight_scale(1.0, 1e-6);
        let w = weight("w", &x, None, |_| least).unwrap();
        let (b, _) = bias(&arr1(&[1.0_f32, -1.0]).into_dyn().into(), 1.0, 1e-6, &w.scales).unwrap();
        let steps = b.to_vec::<i32>().unwrap();
        assert!(steps[0] > 2_000_000_000 && steps[0] < i32::MAX && steps[1] == -steps[0], "{steps:?}");
    }

    #[test]
    fn what_is_no_number_has_no_range() {
        let x: Tensor = arr1(&[0.0, f32::NAN, 1.0]).into_dyn().into();
        assert_eq!(
            weight("w", &x, None, |_| 0.0).unwrap_err().to_string().lines().next(),
            Some("constant `w` has elements that are infinite or no numbers")
        );
    }
}
