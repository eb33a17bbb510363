//! Kernels of the network `main_graph` for QC-U, made by `graphc compile`.
//!
//! `cargo test` compares them with golden tensors; `graphc fork` makes one yours.

#[path = "../kernels/pc00.rs"]
pub mod pc00;

#[path = "../kernels/pc01.rs"]
pub mod pc01;

#[path = "../kernels/pc02.rs"]
pub mod pc02;

#[path = "../kernels/pc03.rs"]
pub mod pc03;

#[path = "../kernels/pc04.rs"]
pub mod pc04;

#[path = "../kernels/pc05.rs"]
pub mod pc05;

#[path = "../kernels/pc06.rs"]
pub mod pc06;

#[path = "../kernels/pc07.rs"]
pub mod pc07;

#[path = "../kernels/pc08.rs"]
pub mod pc08;

#[path = "../kernels/pc09.rs"]
pub mod pc09;

#[path = "../kernels/pc10.rs"]
pub mod pc10;

#[path = "../kernels/pc11.rs"]
pub mod pc11;

#[path = "../kernels/pc12.rs"]
pub mod pc12;

#[path = "../kernels/pc13.rs"]
pub mod pc13;

#[path = "../kernels/pc14.rs"]
pub mod pc14;

#[path = "../kernels/pc15.rs"]
pub mod pc15;

#[path = "../kernels/pc16.rs"]
pub mod pc16;

#[path = "../entries/frame.rs"]
pub mod frame;
