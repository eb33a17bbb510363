//! The layout algebra: which Reshapes and Transposes change nothing in memory.
//!
//! A buffer holds channels and pixels, each pixel's place the same in all channels (`Packed<C, H, W>`; `Tokens<N, D>` with
//! `N = H * W` has the same bytes). A value is a *view* of a buffer if each of its axes counts channels or pixels, in steps. Then
//! `[1, C, H, W]`, `[1, N, C]`, `[1, N, heads, D]` and `[1, heads, N, D]` are one buffer under four names.

use crate::graph::ValueId;

/// What a digit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Channels of the buffer.
    Channel,
    /// Pixels of the buffer, row by row.
    Pixel,
}

/// A factor of an axis: counts to `extent` in steps of `stride` channels or pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digit {
    /// What it counts.
    pub side: Side,
    /// Channels or pixels a step.
    pub stride: usize,
    /// Steps.
    pub extent: usize,
}

/// A value as a view of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The value that the buffer was made for.
    pub root: ValueId,
    /// Digits of each axis, the outermost first; an axis of one element has none.
    axes: Vec<Vec<Digit>>,
}

/// Rows of features: how a dense layer, a norm or a table sees a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Tokens, or pixels.
    pub tokens: usize,
    /// Features of each.
    pub features: usize,
}

/// An image: how a convolution sees a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Image {
    /// Channels.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

/// Heads of attention: each is a range of channels of the same tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Heads {
    /// Heads.
    pub heads: usize,
    /// Tokens.
    pub tokens: usize,
    /// Features of a head.
    pub features: usize,
}

impl View {
    /// The view of a value that is made as a buffer of its own: `channel` is the axis of its channels, all others are pixels.
    pub fn fresh(root: ValueId, shape: &[usize], channel: Option<usize>) -> Self {
        let mut axes = vec![Vec::new(); shape.len()];
        let mut stride = 1;
        for (i, &extent) in shape.iter().enumerate().rev() {
            let digit = if channel == Some(i) {
                Digit { side: Side::Channel, stride: 1, extent }
            } else {
                let digit = Digit { side: Side::Pixel, stride, extent };
                stride *= extent;
                digit
            };
            axes[i].push(digit);
        }
        View { root, axes: axes.into_iter().map(joined).collect() }
    }

    /// The same view of another buffer with the same extents.
    pub fn of_root(&self, root: ValueId) -> Self {
        View { root, axes: self.axes.clone() }
    }

    /// The view after a Transpose: axis `i` is axis `permutation[i]` of this one.
    pub fn transposed(&self, permutation: &[usize]) -> Option<Self> {
        let axes = permutation.iter().map(|&axis| self.axes.get(axis).cloned()).collect::<Option<_>>()?;
        Some(View { root: self.root, axes })
    }

    /// The view after a Reshape, if it still is one: no axis of the result crosses a step of channels or pixels.
    pub fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        if self.is_empty() || shape.iter().product::<usize>() != self.len() {
            return None;
        }
        let mut digits: Vec<Digit> = self.axes.iter().flatten().copied().collect();
        digits.reverse();
        let mut axes = Vec::with_capacity(shape.len());
        for &extent in shape {
            axes.push(joined(take(&mut digits, extent)?));
        }
        Some(View { root: self.root, axes })
    }

    /// Extents of the axes.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.iter().map(|d| d.extent).product()).collect()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether another view shows the same elements at the same indices of its buffer.
    pub fn same_places(&self, other: &View) -> bool {
        self.axes == other.axes
    }

    /// Channel and pixel of an element.
    pub fn place(&self, index: &[usize]) -> (usize, usize) {
        let (mut channel, mut pixel) = (0, 0);
        for (axis, &index) in self.axes.iter().zip(index) {
            let mut rest = index;
            for digit in axis.iter().rev() {
                let count = digit.stride * (rest % digit.extent);
                rest /= digit.extent;
                match digit.side {
                    Side::Channel => channel += count,
                    Side::Pixel => pixel += count,
                }
            }
        }
        (channel, pixel)
    }

    /// The extents as an image: axes `[1, C, H, W]` or `[C, H, W]`; one spatial axis is a row.
    pub fn as_image(&self) -> Option<Image> {
        let shape = self.shape();
        let first = match shape.len() {
            3 if shape[0] != 1 || !self.axes[1].iter().all(|d| d.side == Side::Channel) => 0,
            3 | 4 => 1,
            _ => return None,
        };
        let (width, above) = (*shape.last()?, &shape[first + 1..shape.len() - 1]);
        let image = Image { channels: shape[first], height: above.iter().product(), width };
        let whole = self.whole(first..first + 1, Side::Channel)
            && self.whole(first + 1..shape.len(), Side::Pixel)
            && shape[..first].iter().all(|&n| n == 1);
        whole.then_some(image)
    }

    /// The extents as rows of features: the last axis counts all channels, the others all pixels.
    pub fn as_rows(&self) -> Option<Rows> {
        let last = self.axes.len().checked_sub(1)?;
        let shape = self.shape();
        let rows = Rows { tokens: shape[..last].iter().product(), features: shape[last] };
        (self.whole(last..last + 1, Side::Channel) && self.whole(0..last, Side::Pixel)).then_some(rows)
    }

    /// The extents as heads: axes `[1, heads, N, D]` or `[heads, N, D]`, each head a range of channels.
    pub fn as_heads(&self) -> Option<Heads> {
        let shape = self.shape();
        let (n, d) = (shape.len().checked_sub(2)?, shape.len() - 1);
        let heads = Heads { heads: shape[..n].iter().product(), tokens: shape[n], features: shape[d] };
        let mut channels: Vec<Digit> = self.axes[..n].iter().flatten().copied().collect();
        channels.extend(&self.axes[d]);
        let whole = is_whole(channels, Side::Channel, heads.heads * heads.features) && self.whole(n..d, Side::Pixel);
        whole.then_some(heads)
    }

    /// Where elements come from when the view is copied into a buffer of its own, whose channels are the axis `channel`: for the
    /// channel and the outer and inner pixels one step each, if there are no more.
    pub fn as_source(&self, channel: Option<usize>) -> Option<[Digit; 3]> {
        let one = Digit { side: Side::Pixel, stride: 1, extent: 1 };
        let single = |digits: Vec<Digit>| match joined(digits)[..] {
            [] => Some(one),
            [digit] => Some(digit),
            _ => None,
        };
        let channels = channel.map_or(Vec::new(), |axis| self.axes[axis].clone());
        let others =
            self.axes.iter().enumerate().filter(|(i, _)| Some(*i) != channel).flat_map(|(_, axis)| axis.clone());
        match joined(others.collect())[..] {
            [] => Some([single(channels)?, one, one]),
            [inner] => Some([single(channels)?, one, inner]),
            [outer, inner] => Some([single(channels)?, outer, inner]),
            _ => None,
        }
    }

    /// Channels and pixels of the buffer, if the view shows all of it.
    pub fn extents(&self) -> (usize, usize) {
        let count = |side| self.axes.iter().flatten().filter(|d| d.side == side).map(|d| d.extent).product();
        (count(Side::Channel), count(Side::Pixel))
    }

    fn whole(&self, axes: std::ops::Range<usize>, side: Side) -> bool {
        let extent = self.shape()[axes.clone()].iter().product();
        is_whole(self.axes[axes].iter().flatten().copied().collect(), side, extent)
    }
}

/// Whether digits count all of a side in order.
fn is_whole(digits: Vec<Digit>, side: Side, extent: usize) -> bool {
    match joined(digits)[..] {
        [] => extent == 1,
        [one] => one == Digit { side, stride: 1, extent },
        _ => false,
    }
}

/// Neighbouring digits of one run as one, and none that count a single element.
fn joined(digits: Vec<Digit>) -> Vec<Digit> {
    let mut run: Vec<Digit> = Vec::new();
    for digit in digits.into_iter().filter(|d| d.extent != 1) {
        match run.last_mut() {
            Some(outer) if outer.side == digit.side && outer.stride == digit.stride * digit.extent => {
                *outer = Digit { extent: outer.extent * digit.extent, ..digit };
            }
            _ => run.push(digit),
        }
    }
    run
}

/// Takes digits that count to `extent` from the outermost, which is the last of the list; the rest of one that is split stays.
fn take(digits: &mut Vec<Digit>, extent: usize) -> Option<Vec<Digit>> {
    let mut taken = Vec::new();
    let mut left = extent;
    while left != 1 {
        let digit = digits.pop()?;
        if left.is_multiple_of(digit.extent) {
            left /= digit.extent;
            taken.push(digit);
        } else if digit.extent.is_multiple_of(left) {
            let inner = digit.extent / left;
            taken.push(Digit { stride: digit.stride * inner, extent: left, ..digit });
            digits.push(Digit { extent: inner, ..digit });
            left = 1;
        } else {
            return None;
        }
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, Dimension, IxDyn};
    use proptest::prelude::*;

    use super::*;

    const ROOT: ValueId = ValueId(0);

    fn image(c: usize, h: usize, w: usize) -> View {
        View::fresh(ROOT, &[1, c, h, w], Some(1))
    }

    #[test]
    fn an_image_is_tokens() {
        let tokens = image(32, 8, 16).reshaped(&[1, 32, 128]).unwrap().transposed(&[0, 2, 1]).unwrap();
        assert_eq!(tokens.as_rows(), Some(Rows { tokens: 128, features: 32 }));
        let back = tokens.reshaped(&[1, 8, 16, 32]).unwrap().transposed(&[0, 3, 1, 2]).unwrap();
        assert_eq!(back.as_image(), Some(Image { channels: 32, height: 8, width: 16 }));
        assert_eq!(tokens.as_image(), None, "tokens first are no image");
    }

    #[test]
    fn heads_are_ranges_of_channels() {
        let tokens = View::fresh(ROOT, &[1, 10, 24], Some(2));
        let heads = tokens.reshaped(&[1, 10, 3, 8]).unwrap().transposed(&[0, 2, 1, 3]).unwrap();
        assert_eq!(heads.as_heads(), Some(Heads { heads: 3, tokens: 10, features: 8 }));
        assert_eq!(heads.place(&[0, 2, 7, 5]), (2 * 8 + 5, 7));
        // Channels dealt out to heads in turn are no ranges.
        let dealt = tokens.reshaped(&[1, 10, 8, 3]).unwrap().transposed(&[0, 3, 1, 2]).unwrap();
        assert_eq!(dealt.as_heads(), None);
    }

    #[test]
    fn what_is_no_view() {
        assert_eq!(image(6, 2, 2).reshaped(&[5, 5]), None, "another number of elements");
        assert_eq!(image(6, 2, 2).reshaped(&[4, 6]), None, "an axis across channels and pixels that do not divide");
        // One axis of channels and pixels is a view, but neither rows nor an image.
        let flat = image(6, 2, 2).reshaped(&[1, 24]).unwrap();
        assert_eq!((flat.as_rows(), flat.as_image()), (None, None));
    }

    /// A Reshape, by a way to factor the number of elements, or a Transpose, by a permutation.
    #[derive(Debug, Clone)]
    enum Move {
        Reshape(Vec<usize>),
        Transpose(u64),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let reshape = prop::collection::vec(1_usize..7, 1..5).prop_map(Move::Reshape);
        prop::collection::vec(prop_oneof![reshape, any::<u64>().prop_map(Move::Transpose)], 0..7)
    }

    /// Extents with the given product: each wish as far as it divides what is left.
    fn factored(len: usize, wishes: &[usize]) -> Vec<usize> {
        let mut left = len;
        let mut shape: Vec<usize> = Vec::new();
        for &wish in wishes {
            let extent = (1..=wish).rev().find(|&n| left.is_multiple_of(n)).unwrap_or(1);
            left /= extent;
            shape.push(extent);
        }
        shape.push(left);
        shape
    }

    fn permutation(rank: usize, mut seed: u64) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            axes.swap(i, (seed % (i as u64 + 1)) as usize);
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 3;
        }
        axes
    }

    proptest! {
        #[test]
        fn views_show_what_moving_gives(c in 1_usize..9, h in 1_usize..5, w in 1_usize..5, moves in moves()) {
            let mut view = image(c, h, w);
            let ids: Vec<usize> = (0..c * h * w).collect();
            let mut array = ArrayD::from_shape_vec(IxDyn(&[1, c, h, w]), ids).unwrap();
            for step in moves {
                match step {
                    Move::Reshape(wishes) => {
                        let shape = factored(array.len(), &wishes);
                        let Some(next) = view.reshaped(&shape) else { return Ok(()) };
                        view = next;
                        array = array.as_standard_layout().into_owned().into_shape_with_order(IxDyn(&shape)).unwrap();
                    }
                    Move::Transpose(seed) => {
                        let axes = permutation(array.ndim(), seed);
                        view = view.transposed(&axes).unwrap();
                        array = array.permuted_axes(IxDyn(&axes));
                    }
                }
                prop_assert_eq!(view.shape(), array.shape());
                for (index, &id) in array.indexed_iter() {
                    let (channel, pixel) = view.place(index.slice());
                    prop_assert_eq!(channel * h * w + pixel, id);
                }
            }
        }
    }
}
