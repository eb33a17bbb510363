//! Hosts other than x86-64: only the portable path.

use super::exec;
use super::exec::{GroupFault, Share};
use super::group::Lanes;
use super::simd::{Portable, SimdPath};
use super::trace::{Operand, TraceBuffer};

/// The portable path; only [`Host::new`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host(SimdPath);

impl Host {
    /// Checks that the host can run the path.
    ///
    /// # Panics
    /// If it cannot.
    pub fn new(path: SimdPath) -> Self {
        assert!(path.available(), "simd path `{path}`: this host lacks its instructions");
        Self(path)
    }
    /// The path.
    pub fn path(self) -> SimdPath {
        self.0
    }
}

macro_rules! entry_points {
    ($( $(#[$doc:meta])* $name:ident($($arg:ident: $Arg:ty),*) -> $Ret:ty; )*) => { impl Host { $(
        $(#[$doc])*
        pub fn $name(self, $($arg: $Arg),*) -> $Ret {
            exec::$name::<Portable>($($arg),*)
        }
    )* } };
}

exec::for_each_entry!(entry_points);
