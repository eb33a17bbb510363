//! The kernel library against its references, on arrays of 8 x 8 and 32 x 32, on extents that fit neither.

mod dense;
mod element;
mod fused;
mod moves;
mod rows;
mod stubs;
mod support;
mod text;
mod windows;
