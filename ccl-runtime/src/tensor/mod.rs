//! Memories as types: tensors in external ([`Ext`]) and on-chip memory ([`Ocm`]), buffers in the local memory of every PE
//! ([`Lrm`]), accumulators ([`Acc`]), and what reads them: [`lookup`], [`mac`].

pub mod layout;
pub(crate) mod lrm;
pub(crate) mod mac;
mod ocm;
pub(crate) mod store;
pub(crate) mod view;

pub use lrm::{Acc, Elements, Lrm, Slices, Table, lookup};
pub use mac::{MacElem, mac};
pub use ocm::{Dyn, Ext, Ocm};
pub(crate) use view::PART_ALIGN;
pub use view::{Kind, Order, View};
