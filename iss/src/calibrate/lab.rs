//! Runs the rows' programs: entry, halt, checks of the profile, and the pieces that several programs share.

use crate::builder::*;
use crate::image::Image;
use crate::isa::operand::SReg;
use crate::profile::{Profile, ProfileError};
use crate::sim::{Options, SimError, Simulator, Stopped, Trap};
use crate::target::{Target, TargetError};

pub use crate::builder::Program;

/// Region whose figures are read.
const ROW: &str = "row";

/// Why a program of a row gave no figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The target cannot be given the row's sizes.
    #[error(transparent)]
    Target(TargetError),
    /// The program does not build.
    #[error(transparent)]
    Build(BuildError),
    /// The simulator refuses it.
    #[error(transparent)]
    Sim(SimError),
    /// It does not run to its end.
    #[error(transparent)]
    Trap(Box<Trap>),
    /// Its profile does not add up.
    #[error(transparent)]
    Profile(ProfileError),
}

/// A program that gave no figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct LabError {
    /// Why.
    pub cause: Cause,
}

macro_rules! from_cause {
    ($($From:ty => $Cause:ident),* $(,)?) => { $(
        impl From<$From> for LabError {
            fn from(error: $From) -> Self {
                Self { cause: Cause::$Cause(error) }
            }
        }
    )* };
}
from_cause! {
    BuildError => Build, SimError => Sim, Box<Trap> => Trap, ProfileError => Profile, TargetError => Target,
}

/// A machine to run programs on.
#[derive(Clone, Debug)]
pub struct Lab {
    target: Target,
}

/// A program that ran to its end.
#[derive(Debug)]
pub struct Run {
    /// The machine as it stands.
    pub sim: Simulator,
    /// Where its cycles went; it adds up.
    pub profile: Profile,
}

impl Run {
    /// The figures of the part marked by [`row`].
    pub fn row(&self) -> &crate::profile::Table {
        &self.profile.region(ROW).expect("a row's program marks the part that is measured").inclusive
    }
    /// Cycles of that part.
    pub fn cycles(&self) -> u64 {
        self.row().cycles
    }
}

impl Lab {
    /// A lab for a target.
    pub const fn new(target: Target) -> Self {
        Self { target }
    }

    /// The machine.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Builds a program between entry and halt. The address of the constants is in `s31`.
    fn build(&self, body: impl FnOnce(&mut Program)) -> Result<Image, BuildError> {
        let mut p = Program::new(&self.target);
        p.entry("main").constants(s(31));
        body(&mut p);
        p.halt();
        p.finish()
    }

    /// Runs a program to its end and checks that its profile adds up.
    pub fn run(&self, body: impl FnOnce(&mut Program)) -> Result<Run, LabError> {
        let image = self.build(body)?;
        let mut sim = Simulator::new(&image, Options::default())?;
        sim.start("main", &[])?;
        sim.run()?.into_result()?;
        let profile = sim.profile().expect("a run was started");
        profile.check_sums()?;
        Ok(Run { sim, profile })
    }

    /// Whether a program runs to its end.
    pub fn halts(&self, body: impl FnOnce(&mut Program)) -> Result<bool, LabError> {
        let image = self.build(body)?;
        let mut sim = Simulator::new(&image, Options::default())?;
        sim.start("main", &[])?;
        Ok(sim.run()? == Stopped::Halt)
    }

    /// The largest `n` up to 256 for which a program of size `n` and all smaller ones run to their end.
    pub fn largest(&self, body: impl Fn(&mut Program, u32)) -> Result<u64, LabError> {
        let mut n = 0;
        while n < 256 && self.halts(|p| body(p, n + 1))? {
            n += 1;
        }
        Ok(n as u64)
    }
}

/// Marks the part of a program whose figures are read.
pub fn row(p: &mut Program, body: impl FnOnce(&mut Program)) {
    p.region(ROW, body);
}

/// A loop by a branch, `n` times at least once; `counter` counts down. For nests deeper than the hardware's.
pub fn repeat(p: &mut Program, counter: Num<SReg>, n: u32, body: impl FnOnce(&mut Program)) {
    p.s_mov(counter, n);
    let top = p.here();
    body(p);
    p.s_sub(counter, counter, 1);
    p.branch(Cond::Gt, counter, 0, top);
}
