//! Resize.

use ccl_golden::resize::{Coordinates, Nearest, Resize};
use ndarray::Array3;

use super::{any, argmax, store};

fn resize(x: &Array3<i8>, y: &Array3<i8>) -> Resize {
    Resize::to_sizes(x.shape(), y.shape(), Coordinates::HalfPixel).expect("extents fit")
}

/// Resize, `nearest`, `half_pixel`, `round_prefer_floor`.
pub fn resize_nearest(x: &Array3<i8>, y: &mut Array3<i8>) {
    let to = resize(x, y);
    store(y, ccl_golden::resize::resize_nearest(any(x).view(), &to, Nearest::RoundPreferFloor).expect("extents fit"));
}

/// Resize, `linear`, `half_pixel`.
pub fn resize_linear(x: &Array3<i8>, y: &mut Array3<i8>) {
    let to = resize(x, y);
    store(y, ccl_golden::resize::resize_linear(any(x).view(), &to).expect("extents fit"));
}

/// [`resize_nearest`] by a whole factor.
pub fn enlarge_nearest<const S: usize>(x: &Array3<i8>, y: &mut Array3<i8>) {
    assert_eq!(y.dim().1, S * x.dim().1, "a patch for each element");
    resize_nearest(x, y);
}

/// [`resize_linear`] by a whole factor.
pub fn enlarge_linear<const S: usize>(x: &Array3<i8>, y: &mut Array3<i8>) {
    assert_eq!(y.dim().1, S * x.dim().1, "a patch for each element");
    resize_linear(x, y);
}

/// [`enlarge_linear`] and [`argmax`].
pub fn enlarge_argmax<const S: usize>(x: &Array3<i8>, labels: &mut Array3<u8>) {
    let (channels, height, width) = x.dim();
    let mut enlarged = Array3::zeros((channels, S * height, S * width));
    enlarge_linear::<S>(x, &mut enlarged);
    argmax(&enlarged, labels);
}
