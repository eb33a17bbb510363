//! Biases that are tensors of their own, as the kernels add them to products in int8.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ccl_golden::binary::qlinear_add;
use ccl_golden::{Quant, Scale};
use ndarray::Array1;

use crate::graph::op::QParam;

/// Fraction bits of what `nn::requantise::biased` adds.
const FRACTION: u32 = 21;

/// How far from the exact number one is looked for, in its last bits.
const REACH: i32 = 8;

/// A bias that is added in int8.
pub struct Bias {
    /// Its elements.
    pub elements: Vec<i8>,
    /// What they stand for.
    pub q: QParam,
    /// What the product stands for that it is added to.
    pub product: QParam,
    /// What the sum stands for.
    pub y: QParam,
    /// Whether it is the first operand, whose product with its scale is the one that float32 does not round.
    pub is_first: bool,
}

impl Bias {
    /// The elements, less their zero point, in steps of the sum, whose zero point they have.
    ///
    /// A product in int8 has 256 values: of the numbers around the exact one, each is the nearest one by which the kernel's sums are
    /// QLinearAdd's for most of them, halves and float32's own roundings to a half included.
    ///
    /// # Units
    /// 21 fraction bits.
    /// # Errors
    /// In words, where a scale is none.
    pub fn addends(&self) -> Result<Vec<i32>, String> {
        let scale = Scale::from_f32(self.product.scale / self.y.scale).map_err(|error| error.to_string())?;
        let products: Vec<i8> = (i8::MIN..=i8::MAX).collect();
        let scaled: Vec<i64> = products.iter().map(|&p| self.scaled(p, scale)).collect();
        let mut known = HashMap::new();
        let mut addends = Vec::with_capacity(self.elements.len());
        for &element in &self.elements {
            addends.push(match known.entry(element) {
                Entry::Occupied(found) => *found.get(),
                Entry::Vacant(place) => {
                    *place.insert(best(self.exact(element), &scaled, &self.sums(element, &products)?))
                }
            });
        }
        Ok(addends)
    }

    /// A product in steps of the sum, as the kernels cut it.
    fn scaled(&self, product: i8, scale: Scale) -> i64 {
        let product = i64::from(product) - i64::from(self.product.zero);
        let exact = product * i64::from(scale.mantissa());
        let shift = i32::from(scale.shift()) - FRACTION as i32;
        if shift < 0 { exact << -shift } else { exact >> shift.min(63) }
    }

    /// The addend of an element without a look at products.
    fn exact(&self, element: i8) -> i32 {
        let steps = (i32::from(element) - self.q.zero) as f32 * (self.q.scale / self.y.scale);
        ((f64::from(steps) + f64::from(self.y.zero)) * f64::from(1_u32 << FRACTION)).round_ties_even() as i32
    }

    /// What the operator gives for each product.
    fn sums(&self, element: i8, products: &[i8]) -> Result<Vec<i8>, String> {
        let quant = |q: QParam| Quant::new(q.scale, q.zero as i8).map_err(|error| error.to_string());
        let (product, bias, y) = (quant(self.product)?, quant(self.q)?, quant(self.y)?);
        let products = Array1::from(products.to_vec()).into_dyn();
        let biases = Array1::from_elem(products.len(), element).into_dyn();
        let sums = if self.is_first {
            qlinear_add(biases.view(), bias, products.view(), product, y)
        } else {
            qlinear_add(products.view(), product, biases.view(), bias, y)
        };
        Ok(sums.map_err(|error| error.to_string())?.iter().copied().collect())
    }
}

/// The number nearest to `exact` for which most sums are those expected.
fn best(exact: i32, scaled: &[i64], expected: &[i8]) -> i32 {
    let half = 1_i64 << (FRACTION - 1);
    let wrong = |addend: i32| {
        let sum = |v: i64| ((v + i64::from(addend) + half) >> FRACTION).clamp(-128, 127);
        scaled.iter().zip(expected).filter(|&(&v, &y)| sum(v) != i64::from(y)).count()
    };
    let near = (0..=REACH).flat_map(|by| [exact.saturating_add(by), exact.saturating_sub(by)]);
    let mut found = (usize::MAX, exact);
    for addend in near {
        let n = wrong(addend);
        if n < found.0 {
            found = (n, addend);
        }
        if n == 0 {
            break;
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DType;

    fn bias(elements: &[i8], scales: [f32; 3], zeros: [i32; 3]) -> Bias {
        let [q, product, y] = std::array::from_fn(|i| QParam { scale: scales[i], zero: zeros[i], dtype: DType::I8 });
        Bias { elements: elements.to_vec(), q, product, y, is_first: false }
    }

    #[test]
    fn addends_have_zero_points() {
        assert_eq!(bias(&[3, -4], [0.5, 0.3, 1.0], [0, 0, -1]).addends().unwrap(), [1 << 20, -3 << 21]);
    }

    #[test]
    fn sums_that_float32_rounds_to_a_half_go_to_the_even_number() {
        // 32 * 0.986586 + 52 * 0.0178699 is a little below 32.5, and float32 has nothing between.
        let (scales, zeros) = ([0.017_869_914, 0.986_586_3, 1.0], [0, 0, 0]);
        let bias = bias(&(-128..=127).collect::<Vec<i8>>(), scales, zeros);
        let products: Vec<i8> = (i8::MIN..=i8::MAX).collect();
        let scale = Scale::from_f32(scales[1]).unwrap();
        let half = 1_i64 << (FRACTION - 1);
        for (&element, addend) in bias.elements.iter().zip(bias.addends().unwrap()) {
            let sums = bias.sums(element, &products).unwrap();
            for (&product, sum) in products.iter().zip(sums) {
                let own = (bias.scaled(product, scale) + i64::from(addend) + half) >> FRACTION;
                assert_eq!(own.clamp(-128, 127), i64::from(sum), "{product} and {element}");
            }
        }
    }
}
