//! What can be wrong with a program under construction.

use std::fmt;
use std::panic::Location;

use crate::image::ImageError;
use crate::isa::InstError;
use crate::isa::operand::OperandError;

/// What is wrong at one place of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// An operand or a combination that no instruction has.
    #[error(transparent)]
    Inst(InstError),
    /// A register of a parameter.
    #[error("parameter: {0}")]
    Param(OperandError),
    /// A label that stands nowhere.
    #[error("the label is never bound\nhelp: call `bind` where it should stand")]
    LabelUnbound,
    /// A label that stands twice.
    #[error("the label is already bound, to instruction {first}")]
    LabelTwice {
        /// Where it stands.
        first: u32,
    },
    /// A label of another program.
    #[error("the label belongs to another program")]
    ForeignLabel,
    /// More constants than an image can hold.
    #[error("{len_bytes} bytes of constants, at most {limit}")]
    Constants {
        /// Bytes with the new ones.
        len_bytes: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// More instructions than an image can hold.
    #[error("more than {limit} instructions")]
    TooLong {
        /// Instructions that fit.
        limit: usize,
    },
    /// What the finished image does not allow.
    #[error(transparent)]
    Image(ImageError),
}

/// One fault and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The instruction; none where the image as a whole is meant.
    pub pc: Option<u32>,
    /// The call of the builder.
    pub location: Option<&'static Location<'static>>,
    /// What is wrong.
    pub cause: Cause,
}

impl Fault {
    pub(super) const fn of_image(error: ImageError) -> Self {
        Fault { pc: None, location: None, cause: Cause::Image(error) }
    }
}
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = self.location {
            write!(f, "{location}: ")?;
        }
        if let Some(pc) = self.pc {
            write!(f, "instruction {pc}: ")?;
        }
        self.cause.fmt(f)
    }
}

/// Every fault of a program; the first hundred, if there are more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The faults, at least one.
    pub faults: Vec<Fault>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}
impl std::error::Error for BuildError {}
