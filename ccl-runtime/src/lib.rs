//! What `ccl!` kernels link to. So far: the kernel IR ([`ir`]) and its lowering to images of the array processor
//! ([`lower`]).
#![doc = include_str!("../README.md")]

pub mod ir;
pub mod lower;
