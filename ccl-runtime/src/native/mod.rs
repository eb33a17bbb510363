//! Sessions: a machine's array on which the bodies of kernels run as plain Rust.
//!
//! `state` keeps the lanes of all values, `lane` has the loops over them, `math` the arithmetic of one lane, `simd` the paths
//! for host instructions (and all `unsafe`). Nothing here is shared with the simulator: two opinions that check each other.

mod fault;
mod geometry;
pub(crate) mod lane;
pub(crate) mod math;
mod probe;
pub(crate) mod simd;
pub(crate) mod state;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use iss::target::Target;

pub use fault::{Cause, Fault};
pub use geometry::Geometry;
pub use lane::Lane;
pub use probe::{Probe, Probes};
use state::State;
pub use state::{Id, Usage};

/// An array with what runs on it. Buffers are kept from run to run.
pub struct Session {
    state: Option<Box<State>>,
}

impl Session {
    /// A session on the array of `target`.
    pub fn new(target: &Target) -> Self {
        Self::with_geometry(Geometry::of(target))
    }

    /// A session on an array of any extents.
    pub fn with_geometry(geometry: Geometry) -> Self {
        Self { state: Some(Box::new(State::new(geometry))) }
    }

    /// What `probe!` does; off at first.
    pub fn probes(&mut self, probes: Probes) -> &mut Self {
        self.state_mut().set_probes(probes);
        self
    }

    /// Runs `body`, in which values live on this array.
    ///
    /// # Errors
    /// The fault, if the kernel did what the machine refuses. Tensors keep what was written before it.
    ///
    /// # Panics
    /// If it is called inside a run of the same thread, and with whatever `body` panics with.
    pub fn run<R>(&mut self, kernel: &str, body: impl FnOnce() -> R) -> Result<R, Fault> {
        let state = self.state.take().expect("a session holds its state between runs");
        state::enter(state, kernel);
        let result = catch_unwind(AssertUnwindSafe(body));
        self.state = Some(state::leave());
        result.map_err(|payload| match payload.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(payload) => resume_unwind(payload),
        })
    }

    /// Peaks of the last run.
    pub fn usage(&self) -> Usage {
        self.state.as_ref().expect("a session holds its state between runs").usage()
    }

    /// What was probed in the last run.
    pub fn probed(&self) -> &[Probe] {
        self.state.as_ref().expect("a session holds its state between runs").probed()
    }

    fn state_mut(&mut self) -> &mut State {
        self.state.as_mut().expect("a session holds its state between runs")
    }
}
