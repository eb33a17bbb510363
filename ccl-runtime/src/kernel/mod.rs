//! Kernels as data: where they come from, their signatures and parameters, instances on a machine, and tensors as the host holds
//! them: what the macro fills in. `compiled` takes them to the simulator.
//!
//! ```
//! use ccl_runtime::ccl;
//! use ccl_runtime::kernel::{Arguments, ElemType, HostTensor};
//! use ccl_runtime::native::Session;
//!
//! mod golden {
//!     /// What the kernel must give: the same parameters as the host holds them.
//!     pub fn double(x: &ndarray::Array3<i8>, y: &mut ndarray::Array3<i8>) {
//!         y.zip_mut_with(x, |y, x| *y = x.saturating_mul(2));
//!     }
//! }
//!
//! ccl! {
//!     #[kernel(reference = golden::double)]
//!     pub fn double<const H: usize, const W: usize>(
//!         x: &Ocm<i8, Planar<1, H, W>>,
//!         y: &mut Ocm<i8, Planar<1, H, W>>,
//!     ) {
//!         for t in x.tiles() {
//!             let a = t.fetch::<Lrm<i8, 1>>().wait();
//!             y.at(t).store((a[0].widen::<i16>() * 2).narrow::<i8>(Saturate));
//!         }
//!     }
//!
//!     #[instance(target = QC_N)]
//!     pub const DOUBLE: Kernel = double::<5, 7>;
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let x = HostTensor::from_fn(ElemType::I8, &[1, 5, 7], |i| i as i64 * 4);
//! let mut arguments = Arguments::new().with("x", x.clone()).with("y", x);
//! let mut expected = arguments.clone();
//! DOUBLE.run_native(&mut Session::new(DOUBLE.target), &mut arguments)?;
//! DOUBLE.run_reference(&mut expected)?;
//! assert_eq!(arguments, expected);
//! # Ok(())
//! # }
//! ```

pub mod args;
mod host;

mod compiled;
mod instance;
mod ledger;
mod parameter;
#[doc(hidden)]
pub mod reference;
mod signature;
mod source;

mod budget;
mod text;

#[cfg(test)]
mod tests;

pub use args::{Access, ArgError, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
pub use budget::{LRM_RESERVE_BYTES, check_idle, check_lrm, check_ocm};
pub use compiled::{CompiledKernel, Instance, InstanceError, Outcome};
pub use host::{HostElem, HostTensor, Linear};
pub use instance::{Entry, Kernel, NativeError, Reference};
pub use ledger::{Edit, HandWork, ledger};
pub use parameter::{HostLayout, Parameter};
#[doc(hidden)]
pub use parameter::{host, native, param, write_host, write_native};
pub use signature::{Field, Role, Signature, check_signature, signature_text};
pub use source::{Fills, Link, Linked, Source};
