//! What `probe!` shows: values of a run, as grids.

use std::fmt;

/// What `probe!` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probes {
    /// Nothing.
    #[default]
    Off,
    /// Values are kept, see [`Session::probed`](super::Session::probed).
    Record,
    /// Values are kept, and printed.
    Print,
}

/// A value that was probed, natively or on the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The probed text; elements of buffers and arrays have their index behind it.
    pub name: String,
    /// The value in each PE, row by row, without the border; one value of a scalar. Bits of a fixed-point number.
    pub values: Vec<i64>,
    /// Columns of a row; 0 of a scalar.
    pub cols: usize,
    /// Whether the PE was enabled.
    pub enabled: Vec<bool>,
}

/// A grid with coordinates; PEs that are disabled show a dot.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |(v, on): (&i64, &bool)| if *on { v.to_string() } else { ".".to_owned() };
        let cells: Vec<String> = self.values.iter().zip(&self.enabled).map(cell).collect();
        if self.cols == 0 {
            return writeln!(f, "{}: {}", self.name, cells.join(" "));
        }
        let width = cells.iter().map(String::len).max().unwrap_or(1).max(3);
        write!(f, "{}:\n    ", self.name)?;
        (0..self.cols).try_for_each(|col| write!(f, " {col:>width$}"))?;
        for (row, cells) in cells.chunks(self.cols).enumerate() {
            write!(f, "\n{row:>4}")?;
            cells.iter().try_for_each(|cell| write!(f, " {cell:>width$}"))?;
        }
        writeln!(f)
    }
}
