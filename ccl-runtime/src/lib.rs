//! What `ccl!` kernels link to. So far: the kernel IR ([`ir`]) and its lowering to images of the array processor
//! ([`lower`]).
//!
//! ```
//! use ccl_runtime::{ir::Module, lower::{compile, Options}};
//!
//! let m = Module::parse(r#"
//! kernel @double(%x: in ocm<1024>, %y: out ocm<1024>) {
//!   %a = lrm <i8 x 1>
//!   %b = lrm <i8 x 1>
//!   %f = flow.in %x[0] -> %a[0] elem 1 size 32x32 pitch 32 tile 32x32
//!   wait %f
//!   %t = add %a[0], %a[0]
//!   %b[0] = clip %t, -128, 127
//!   %g = flow.out %b[0] -> %y[0] elem 1 size 32x32 pitch 32 tile 32x32
//!   wait %g
//! }"#)?;
//! let compiled = compile(&m, &iss::target::QC_U, &Options::default())?;
//! assert!(compiled.image.entry("double").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ir;
pub mod lower;
