//! Everything but the corpus, which must be a crate of its own: one program, so that `ccl-runtime` is linked once and what waits for
//! rustc runs beside what computes.

mod bless;
mod checks;
mod costs;
mod markers;
mod overrides;
mod parts;
mod random;
mod ui;
