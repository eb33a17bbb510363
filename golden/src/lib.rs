#![doc = include_str!("../README.md")]

pub mod error;

pub mod int8;
pub mod quant;
pub mod scale;

pub mod linear;
pub mod requantize;

mod dot;

pub mod conv;
pub mod conv_transpose;
pub mod matmul;

pub mod binary;
pub mod broadcast;
pub mod cast;
pub mod concat;
pub mod elementwise;
pub mod float32;
pub mod pool;
pub mod reduce;
pub mod relation;
pub mod unary;

pub mod argmax;
pub mod attention;
pub mod norm;
pub mod softmax;

pub mod moves;
pub mod resize;

pub mod fixed;

pub mod compare;

pub use error::GoldenError;
pub use int8::Int8;
pub use quant::{Quant, QuantPer};
pub use scale::{Rounding, Scale};
