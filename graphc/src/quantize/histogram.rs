//! Ranges that leave outliers out, from histograms.

use crate::quantize::parameters::Scheme;
use crate::quantize::ranges::Range;

/// Bins of a histogram.
const BINS: usize = 2048;

/// Magnitudes that 8 bits tell apart.
const LEVELS: usize = 128;

/// How often which values occur, in bins of equal width over a range that was observed before.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    span: Range,
    /// Whether it counts magnitudes.
    magnitudes: bool,
}

impl Histogram {
    /// Of magnitudes up to the largest of a range.
    pub fn of_magnitudes([low, high]: Range) -> Self {
        Histogram { counts: vec![0; BINS], span: [0.0, high.max(-low)], magnitudes: true }
    }

    /// Of values in a range.
    pub fn of_values(range: Range) -> Self {
        Histogram { counts: vec![0; BINS], span: range, magnitudes: false }
    }

    /// Counts values.
    pub fn add<'a>(&mut self, values: impl IntoIterator<Item = &'a f32>) {
        let [low, high] = self.span;
        let width = f64::from(high) - f64::from(low);
        if width <= 0.0 {
            return;
        }
        let bins_per_unit = BINS as f64 / width;
        for &v in values {
            let v = if self.magnitudes { v.abs() } else { v };
            let bin = ((f64::from(v) - f64::from(low)) * bins_per_unit) as usize;
            self.counts[bin.min(BINS - 1)] += 1;
        }
    }

    /// Adds the counts of another histogram of the same tensor.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// The upper end of a bin, or the lower one of the next.
    fn edge(&self, bin: usize) -> f32 {
        let [low, high] = self.span.map(f64::from);
        (low + (high - low) * bin as f64 / BINS as f64) as f32
    }

    /// The bin before whose end so large a part of all values lies.
    fn bin_of(&self, part: f64) -> usize {
        let total: u64 = self.counts.iter().sum();
        let mut below = 0;
        let reaches = |count: &u64| {
            below += count;
            below as f64 >= part * total as f64
        };
        self.counts.iter().position(reaches).unwrap_or(BINS - 1)
    }

    /// The part of `observed` that holds so many percent of all values: of magnitudes, or with as many cut off at either end.
    pub fn percentile(&self, percent: f64, observed: Range) -> Range {
        if self.magnitudes {
            return within(observed, self.edge(self.bin_of(percent / 100.0) + 1));
        }
        let cut = (100.0 - percent) / 200.0;
        let (first, last) = (self.bin_of(cut), self.bin_of(1.0 - cut));
        let first = if cut == 0.0 { 0 } else { first };
        [self.edge(first).max(observed[0]), self.edge(last + 1).min(observed[1])]
    }

    /// The part of `observed` whose quantisation to 128 magnitudes diverges least from the observed distribution.
    pub fn entropy(&self, observed: Range) -> Range {
        let candidates = (LEVELS..=BINS).step_by(8);
        let best = candidates.map(|n| (self.divergence(n), n)).min_by(|a, b| a.0.total_cmp(&b.0));
        within(observed, self.edge(best.map_or(BINS, |(_, n)| n)))
    }

    /// How much is lost if the first `n` bins become 128 levels and what is beyond counts to the last bin.
    fn divergence(&self, n: usize) -> f64 {
        let total: u64 = self.counts.iter().sum();
        if total == 0 {
            return 0.0;
        }
        let beyond: u64 = self.counts[n..].iter().sum();
        let inside = total - beyond;
        let mut sum = 0.0;
        for level in 0..LEVELS {
            let bins = level * n / LEVELS..(level + 1) * n / LEVELS;
            let counts = &self.counts[bins.clone()];
            let occupied = counts.iter().filter(|&&count| count > 0).count();
            let mean = counts.iter().sum::<u64>() as f64 / occupied.max(1) as f64;
            for (i, &count) in bins.zip(counts) {
                let clipped = count + if i == n - 1 { beyond } else { 0 };
                if clipped == 0 {
                    continue;
                }
                let p = clipped as f64 / total as f64;
                // A bin that holds nothing but what was cut off has no level of its own: nearly none of q is there.
                let q = if count > 0 { mean / inside.max(1) as f64 } else { 1e-4 / total as f64 };
                sum += p * (p / q).ln();
            }
        }
        sum
    }
}

fn within([low, high]: Range, magnitude: f32) -> Range {
    [low.max(-magnitude), high.min(magnitude)]
}

/// The histogram that a percentile of a scheme is read from.
pub(super) fn for_percentile(scheme: Scheme, observed: Range) -> Histogram {
    match scheme {
        Scheme::Symmetric => Histogram::of_magnitudes(observed),
        Scheme::Asymmetric => Histogram::of_values(observed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearly all from -1 to 1, and one far out.
    fn values() -> Vec<f32> {
        let mut values: Vec<f32> = (0..20_000).map(|i| (i as f32 / 10_000.0 - 1.0).powi(3)).collect();
        values.push(30.0);
        values
    }

    #[test]
    fn a_percentile_leaves_outliers_out() {
        let observed = [-1.0, 30.0];
        let mut h = Histogram::of_magnitudes(observed);
        h.add(&values());
        let [low, high] = h.percentile(99.99, observed);
        assert!(low == -1.0 && (0.98..1.1).contains(&high), "{low} {high}");
        assert_eq!(h.percentile(100.0, observed), observed);
        let mut h = Histogram::of_values(observed);
        h.add(&values());
        let [low, high] = h.percentile(90.0, observed);
        assert!((-0.9..-0.6).contains(&low) && (0.6..0.9).contains(&high), "{low} {high}");
        assert_eq!(h.percentile(100.0, observed), observed);
    }

    #[test]
    fn entropy_leaves_outliers_out_and_keeps_a_plain_distribution() {
        let observed = [-1.0, 30.0];
        let mut h = Histogram::of_magnitudes(observed);
        h.add(&values());
        let [_, high] = h.entropy(observed);
        assert!(high < 10.0, "{high}");
        let even: Vec<f32> = (0..=100_000).map(|i| i as f32 / 100_000.0).collect();
        let mut h = Histogram::of_magnitudes([0.0, 1.0]);
        h.add(&even);
        assert!(h.entropy([0.0, 1.0])[1] > 0.95);
    }

    #[test]
    fn counts_of_parts_add_up() {
        let observed = [-1.0, 30.0];
        let (values, mut whole) = (values(), Histogram::of_magnitudes(observed));
        whole.add(&values);
        let mut parts = [whole.clone(), whole.clone()].map(|h| Histogram { counts: vec![0; BINS], ..h });
        parts[0].add(&values[..500]);
        parts[1].add(&values[500..]);
        let [mut a, b] = parts;
        a.merge(&b);
        assert_eq!(a.counts, whole.counts);
    }
}
