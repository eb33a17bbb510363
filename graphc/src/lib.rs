#![doc = include_str!("../README.md")]

pub mod onnx;

pub mod graph;
pub mod infer;
pub mod macs;

pub mod operators;

pub mod import;

pub mod golden;

pub mod quantize;

pub mod cut;

pub mod rewrite;

pub mod attention;

pub mod plan;

pub mod stub;

pub mod emit;

pub mod compose;

pub mod run;

pub mod edits;

pub mod picture;

pub mod report;

pub mod demo;

pub mod check;

pub mod files;

pub mod names;

pub mod npy;

pub mod npz;

pub mod validate;
