//! Calibration: published figures of the machine beside what the simulator makes of the same work, and rows of our own that
//! pin what was chosen freely.
//!
//! A [`Row`] is a program written through the builder and the figure that is read from its profile. No row has a switch of
//! its own: programs depend on the target alone, and one target, `QC-U`, must reproduce every published figure.
//! `QC-U-narrow` is printed beside it and never asserted. Nothing here is tuned to a figure; what the parameters are stands
//! in `target`.

mod encoder;
mod lab;
mod layer_norm;
mod own;
mod softmax;
mod table;
mod transfers;

pub use lab::{Cause, Lab, LabError, Program};
pub use table::{Measured, Table};

use crate::target::{Param, QC_U, QC_U_NARROW, Target, TargetError};

/// What a row says of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The published figure was used to find the value of a parameter.
    Fixes(&'static str),
    /// The published figure was not used.
    Predicts,
    /// A row of our own: a change of any of these parameters changes it.
    Pins(&'static [Param]),
}

impl Role {
    fn text(self) -> String {
        match self {
            Role::Fixes(what) => format!("fixes {what}"),
            Role::Predicts => "predicts".to_owned(),
            Role::Pins(params) => {
                let names: Vec<&str> = params.iter().map(|param| param.name()).collect();
                format!("pins {}", names.join(", "))
            }
        }
    }
}

/// One figure: what it is of, what is known of it, and how it is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Short and unique.
    pub id: &'static str,
    /// The work.
    pub what: &'static str,
    /// The figure read from the profile.
    pub measures: &'static str,
    /// The published figure.
    pub published: Option<u64>,
    /// The figure of `QC-U` by hand from the rules of the engines, without what a program issues around them.
    pub on_paper: Option<u64>,
    /// Largest miss in percent on `QC-U`; none: printed only.
    pub tolerance_pct: Option<f64>,
    /// What it says of the parameters.
    pub role: Role,
    /// Sizes and bandwidths of the run, from those of the target; the timing stays.
    machine: fn(&Target) -> Result<Target, TargetError>,
    /// Builds and runs the programs, and reads the figure.
    run: fn(&Lab) -> Result<u64, LabError>,
}

/// The target as it is.
fn same(target: &Target) -> Result<Target, TargetError> {
    Ok(target.clone())
}

impl Row {
    /// Runs the row on a target.
    ///
    /// # Errors
    /// If a program does not build, run to its end or add up: a fault of the row, of the target, or of the simulator.
    pub fn measure(&self, target: &Target) -> Result<Measured, CalibrationError> {
        let failed = |cause| CalibrationError { row: self.id, target: target.to_string(), cause: Box::new(cause) };
        let machine = (self.machine)(target).map_err(|error| failed(Cause::Target(error)))?;
        let lab = Lab::new(machine);
        let simulated = (self.run)(&lab).map_err(|error| failed(error.cause))?;
        Ok(Measured::new(self, target, lab.target(), simulated))
    }
}

/// A row that could not be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("calibration row `{row}` on `{target}`: {cause}")]
pub struct CalibrationError {
    /// The row.
    pub row: &'static str,
    /// The target.
    pub target: String,
    /// Why.
    pub cause: Box<Cause>,
}

/// The rows with a published figure.
pub fn published_rows() -> Vec<Row> {
    [transfers::ROWS, softmax::ROWS, layer_norm::ROWS, encoder::ROWS].concat()
}

/// Our own rows.
pub fn own_rows() -> Vec<Row> {
    own::rows()
}

/// Every row.
pub fn rows() -> Vec<Row> {
    let mut rows = published_rows();
    rows.extend(own_rows());
    rows
}

/// The targets of the table: the default, and the slower reading that is printed beside it.
pub const TARGETS: [Target; 2] = [QC_U, QC_U_NARROW];

/// Every row on each of [`TARGETS`].
///
/// # Errors
/// The first row that could not be measured.
pub fn calibrate() -> Result<Table, CalibrationError> {
    let rows = rows();
    let measure = |target: &Target| rows.iter().map(|row| row.measure(target)).collect::<Result<Vec<_>, _>>();
    let measured = TARGETS.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    Ok(Table { rows: measured.concat() })
}
