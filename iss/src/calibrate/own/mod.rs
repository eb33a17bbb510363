//! Rows of our own: small programs whose figure follows from few parameters each, so that a change of any of them shows.
//! Most pin what nothing public says, and was chosen freely.

mod issue;
mod transfers;

use super::lab::{Lab, LabError, Program, row};
use super::{Role, Row, same};
use crate::target::Param;

pub(super) fn rows() -> Vec<Row> {
    [issue::ROWS, transfers::ROWS].concat()
}

const fn own(
    id: &'static str,
    what: &'static str,
    pins: &'static [Param],
    run: fn(&Lab) -> Result<u64, LabError>,
) -> Row {
    Row {
        id,
        what,
        measures: "cycles",
        published: None,
        on_paper: None,
        tolerance_pct: None,
        role: Role::Pins(pins),
        machine: same,
        run,
    }
}

/// The same, of something else than cycles.
const fn counts(measures: &'static str, row: Row) -> Row {
    Row { measures, ..row }
}

/// Cycles of a program that is measured as a whole.
fn cycles(lab: &Lab, body: impl FnOnce(&mut Program)) -> Result<u64, LabError> {
    Ok(lab.run(|p| row(p, body))?.cycles())
}

/// Cycles of `body` behind what `before` sets up.
fn cycles_after(
    lab: &Lab,
    before: impl FnOnce(&mut Program),
    body: impl FnOnce(&mut Program),
) -> Result<u64, LabError> {
    let run = lab.run(|p| {
        before(p);
        row(p, body);
    })?;
    Ok(run.cycles())
}
