//! The kernel library, written in `ccl!`: a file a family, generic over extents and scales, int8 in and out unless said.
//!
//! An instance names a kernel, its extents and a machine:
//!
//! ```
//! use ccl_runtime::ccl;
//! use ccl_runtime::testing::Bar;
//!
//! ccl! {
//!     use ccl_runtime::nn::pointwise::pointwise;
//!
//!     #[instance(target = QC_U)]
//!     pub const EXPAND: Kernel = pointwise::<32, 128, 64, 128>;
//! }
//! assert_eq!(EXPAND.params().len(), 5);
//! # let _ = Bar { by: 1, one_in: 100_000 };
//! ```
//!
//! Each kernel names a plain function of [`mod@reference`] that says what it must give, by the operators of `ccl-golden`. Streams hold
//! biases first. Zero points of inputs are folded into biases by whoever makes them, wherever padding allows it.

pub mod reference;
pub mod tables;

pub mod requantise;
pub mod unary;
pub mod elementwise;

pub mod pointwise;
pub mod depthwise;
pub mod conv;
pub mod matmul;
pub mod mix_ffn;
pub mod decode_head;

pub mod softmax;
pub mod layer_norm;
pub mod pool;
pub mod argmax;
pub mod attention;
pub mod stub;

pub mod resize;
pub mod moves;
