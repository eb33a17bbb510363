//! Numbers, bars and tables as plain text, for reports of all kinds.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width};

use super::text::{Bars, TextOptions};

/// Narrowest and widest bar.
const BAR: std::ops::RangeInclusive<usize> = 4..=40;

/// `1234567` as `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `part` of `whole`, 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A share in percent, without the sign.
pub fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Seconds in the unit that leaves one to three digits before the point.
pub fn seconds(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    format!("{:.3} {unit}", seconds * factor)
}

/// A bar of `share` of `width` characters.
fn bar(share: f64, width: usize, bars: Bars) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    match bars {
        Bars::None => String::new(),
        Bars::Ascii => "#".repeat((eighths + 4) / 8),
        Bars::Unicode => {
            let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
            "█".repeat(eighths / 8) + part
        }
    }
}

/// A table whose first `n_words` columns are words and the others numbers, each row with a share that becomes a bar.
#[derive(Clone, Debug)]
pub struct Grid {
    header: Vec<&'static str>,
    n_words: usize,
    rows: Vec<(Vec<String>, Option<f64>)>,
}

impl Grid {
    /// An empty table.
    pub fn new(header: &[&'static str], n_words: usize) -> Self {
        Self { header: header.to_vec(), n_words, rows: Vec::new() }
    }

    /// Adds a row with a bar.
    pub fn bar_row(&mut self, cells: impl Into<Vec<String>>, share: f64) {
        self.rows.push((cells.into(), Some(share)));
    }

    /// Adds a row without one.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push((cells.into(), None));
    }

    /// The table, with bars in what `options.width` leaves of a line. Columns are never cut.
    pub fn render(&self, options: &TextOptions) -> String {
        // A further column brings one character of its own, between it and the last.
        let plain = self.table(None).to_string();
        let used = plain.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let room = options.width.saturating_sub(used + 1).min(*BAR.end());
        let wants_bars = options.bars != Bars::None && self.rows.iter().any(|(_, share)| share.is_some());
        let table =
            if wants_bars && room >= *BAR.start() { self.table(Some((room, options.bars))) } else { self.table(None) };
        table.trim_fmt() + "\n"
    }

    fn table(&self, bars: Option<(usize, Bars)>) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        let ruled = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
        table.load_style(ruled).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.header.iter().copied().chain(bars.map(|_| "")));
        for (cells, share) in &self.rows {
            let bar = bars.map(|(width, bars)| share.map(|share| bar(share, width, bars)).unwrap_or_default());
            table.add_row(cells.iter().cloned().chain(bar));
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 1));
            if i >= self.n_words && i < self.header.len() {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        if let (Some((width, _)), Some(column)) = (bars, table.column_mut(self.header.len())) {
            column.set_padding((0, 0)).set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width as u16)));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn bars_are_rounded_to_eighths() {
        assert_eq!(bar(0.5, 5, Bars::Unicode), "██▌");
        assert_eq!(bar(0.5, 5, Bars::Ascii), "###");
        assert_eq!(
            [bar(0.0, 5, Bars::Unicode), bar(7.0, 2, Bars::Unicode), bar(f64::NAN, 2, Bars::Unicode)],
            ["", "██", ""]
        );
    }

    #[test]
    fn seconds_have_a_fitting_unit() {
        assert_eq!(
            [2.0, 0.0123, 4.5e-5, 1e-9, 0.0].map(seconds),
            ["2.000 s", "12.300 ms", "45.000 us", "1.000 ns", "0.000 ns"]
        );
    }
}
