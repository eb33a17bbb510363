//! Kernels of the front end's corpus, expanded and compiled by rustc, run natively against their references.

extern crate self as golden;

#[path = "../../ccl-macros/syntax/tests/corpus/argmax.rs"]
mod argmax_rs;

use ndarray::Array3;

/// Reference of `argmax`.
pub fn argmax(x: &Array3<i8>, labels: &mut Array3<u8>) {
    let (c, h, w) = x.dim();
    for (y, x_) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
        labels[[0, y, x_]] = (0..c).rev().max_by_key(|c| x[[*c, y, x_]]).unwrap() as u8;
    }
}

#[test]
fn first() {
    println!("{:?} {:?}", argmax_rs::LABELS, argmax_rs::LABELS.params());
}
