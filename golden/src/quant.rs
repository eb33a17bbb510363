//! Quantisation parameters: one pair for a tensor, or one per slice along an axis.
//!
//! Scales are `float32`, as ONNX stores them. Their integer form is in [`crate::scale`], the conversions of values in
//! [`crate::linear`].

use crate::error::GoldenError;
use crate::int8::Int8;

/// Scale and zero point of a tensor: a stored `q` stands for `(q - zero_point) * scale`.
///
/// The scale is positive and finite, which is why the fields are private.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quant<T> {
    scale: f32,
    zero_point: T,
}

impl<T: Int8> Quant<T> {
    /// Parameters of a tensor.
    ///
    /// # Units
    /// `scale` is real units per step; `zero_point` is in steps.
    /// # Errors
    /// [`GoldenError::ScaleInvalid`] if `scale` is zero, negative, infinite or not a number.
    pub fn new(scale: f32, zero_point: T) -> Result<Self, GoldenError> {
        if scale.is_finite() && scale > 0.0 {
            Ok(Quant { scale, zero_point })
        } else {
            Err(GoldenError::ScaleInvalid { scale })
        }
    }

    /// Real units per step.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The stored value that stands for 0.
    pub fn zero_point(&self) -> T {
        self.zero_point
    }

    /// The zero point, widened.
    pub(crate) fn zero(&self) -> i32 {
        self.zero_point.widen()
    }
}

/// Parameters of a weight: one for all of it, or one per output channel (per column of a matrix, per slice of an axis).
#[derive(Debug, Clone, PartialEq)]
pub struct QuantPer<T>(Vec<Quant<T>>);

impl<T: Int8> QuantPer<T> {
    /// One pair of parameters for the whole tensor.
    pub fn tensor(quant: Quant<T>) -> Self {
        QuantPer(vec![quant])
    }

    /// One scale per channel; the zero points are one per channel, or one for all.
    ///
    /// # Shapes
    /// `scales: [n]` with `n >= 1`; `zero_points: [n]` or `[1]`.
    /// # Errors
    /// [`GoldenError::Empty`] without scales, [`GoldenError::Extent`] if the lists do not fit together,
    /// [`GoldenError::ScaleInvalid`] as for [`Quant::new`].
    pub fn channels(scales: &[f32], zero_points: &[T]) -> Result<Self, GoldenError> {
        const OP: &str = "QuantPer";
        if scales.is_empty() {
            return Err(GoldenError::Empty { op: OP, tensor: "scales" });
        }
        if zero_points.len() != 1 {
            crate::error::expect_extent(OP, "zero points", zero_points.len(), scales.len())?;
        }
        let zero = |channel: usize| zero_points[if zero_points.len() == 1 { 0 } else { channel }];
        scales.iter().enumerate().map(|(c, &s)| Quant::new(s, zero(c))).collect::<Result<_, _>>().map(QuantPer)
    }

    /// Number of distinct parameters: 1 for a whole tensor.
    pub fn n_params(&self) -> usize {
        self.0.len()
    }

    /// The parameters, where there is one pair for all.
    pub fn single(&self) -> Option<Quant<T>> {
        match self.0[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Parameters of a channel.
    ///
    /// # Panics
    /// If `channel` is out of range; the operators call [`Self::check`] first.
    pub(crate) fn at(&self, channel: usize) -> Quant<T> {
        if self.0.len() == 1 { self.0[0] } else { self.0[channel] }
    }

    /// `Ok` if these parameters serve `n` channels.
    pub(crate) fn check(&self, op: &'static str, n: usize) -> Result<(), GoldenError> {
        if self.0.len() == 1 { Ok(()) } else { crate::error::expect_extent(op, "channel scales", self.0.len(), n) }
    }

    /// Zero points of `n` channels, widened.
    pub(crate) fn zeros(&self, n: usize) -> Vec<i32> {
        (0..n).map(|c| self.at(c).zero()).collect()
    }
}

impl<T: Int8> From<Quant<T>> for QuantPer<T> {
    fn from(quant: Quant<T>) -> Self {
        QuantPer::tensor(quant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_scales_that_are_not_positive() {
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(Quant::new(scale, 0_i8).is_err(), "{scale}");
        }
        assert!(Quant::new(f32::from_bits(1), 0_u8).is_ok());
    }

    #[test]
    fn one_zero_point_serves_all_channels() {
        let per = QuantPer::channels(&[0.5, 0.25], &[3_i8]).unwrap();
        assert_eq!((per.at(1).scale(), per.at(1).zero_point()), (0.25, 3));
        let err = QuantPer::channels(&[0.5, 0.25, 1.0], &[3_i8, 4]).unwrap_err();
        assert_eq!(err.to_string(), "QuantPer: `zero points` is 2, expected 3");
    }
}
