//! What the kernels of the library cost, over a representative instance of each family, on both readings of the machine.

mod instances;

use ccl_runtime::kernel::{Arguments, Instance, Kernel};
use ccl_runtime::testing::Cost;
use ccl_runtime::testing::check::Subject;
use ccl_runtime::testing::input::{Fill, arguments};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use iss::target::{QC_U, QC_U_NARROW, Target};
use serde::Serialize;

/// Greatest ratio of the total to what arithmetic or the busiest engine needs.
pub const RATIO: f64 = 1.15;
/// Cycles of an output channel, without MACs, that issue 3 asks for: a requantisation.
pub const REQUANTISED: f64 = 7.0;
/// The smallest tensors that have to keep to [`RATIO`].
const TILES: u64 = 8;

/// A kernel, what it is run with, and what of it is counted.
pub struct Case {
    /// Name in the tables.
    pub name: &'static str,
    /// The instance.
    pub kernel: &'static Kernel,
    /// Its scalars, and tensors that are no random data.
    pub given: Arguments,
    /// Tiles of the tensor that it walks over.
    pub tiles: u64,
    /// What an item is.
    pub item: &'static str,
    /// Items of a tile, channels rounded up to 4.
    pub items: u64,
    /// Multiply-accumulate steps of a tile that are not counted.
    pub macs: u64,
    /// Cycles of an item that issue 3 asks for, or that the kernel keeps to where `why` says what else it does.
    pub limit: Option<f64>,
    /// What a kernel does beyond the requantisation that [`REQUANTISED`] allows, if its limit is greater.
    pub why: Option<&'static str>,
}

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Kernel.
    pub kernel: String,
    /// Machine.
    pub target: String,
    /// Tiles of the tensor that it walks over.
    pub tiles: u64,
    /// Cycles.
    pub total: u64,
    /// Cycles issued by the array and its control, without stalls.
    pub arithmetic: u64,
    /// Cycles of the engine that has most to do.
    pub busiest_engine: u64,
    /// Total over the larger of both.
    pub ratio: f64,
    /// Arithmetic of an item and tile.
    pub per_item: f64,
    /// What an item is.
    pub item: String,
    /// Cycles of an item that are asked for, on `QC-U`.
    pub limit: Option<f64>,
    /// Why the limit is greater than that of a requantisation, where it is one of ours.
    pub why: Option<String>,
    /// Whether item and ratio keep to what is asked for; nothing is asked for on `QC-U-narrow`.
    pub met: Option<bool>,
}

/// All rows, as `--json` prints them.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// A row for each kernel and machine.
    pub kernels: Vec<Row>,
}

impl Costs {
    /// Compiles and runs every case on both machines; also what is said of those that do not run.
    pub fn measured() -> (Self, Vec<String>) {
        let (mut kernels, mut errors) = (Vec::new(), Vec::new());
        for case in instances::cases() {
            for target in [&QC_U, &QC_U_NARROW] {
                match case.row(target) {
                    Ok(row) => kernels.push(row),
                    Err(error) => errors.push(format!("{} on {}: {error}", case.name, target.spec().product)),
                }
            }
        }
        (Self { kernels }, errors)
    }

    /// What is asked of an output channel, what is reached, and why not less: a line for each row with a limit of its own.
    pub fn notes(&self) -> String {
        let note = |row: &Row| {
            let (why, limit) = (row.why.as_ref()?, row.limit?);
            let (name, reached) = (&row.kernel, row.per_item);
            Some(format!("{name}: {REQUANTISED} a requantisation, {reached:.2} reached, {limit} at most: {why}\n"))
        };
        self.kernels.iter().filter_map(note).collect()
    }

    /// The rows of a machine as a table.
    pub fn table(&self, target: &str) -> String {
        let mut table = Table::new();
        let ruled = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
        table.load_style(ruled).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header([
            "kernel",
            "tiles",
            "total",
            "arithmetic",
            "busiest",
            "ratio",
            "per item",
            "limit",
            "",
            "item",
        ]);
        for row in self.kernels.iter().filter(|row| row.target == target) {
            table.add_row([
                row.kernel.clone(),
                row.tiles.to_string(),
                row.total.to_string(),
                row.arithmetic.to_string(),
                row.busiest_engine.to_string(),
                format!("{:.3}", row.ratio),
                format!("{:.2}", row.per_item),
                row.limit.map_or_else(String::new, |limit| limit.to_string()),
                row.met.map_or("", |met| if met { "met" } else { "missed" }).to_owned(),
                row.item.clone(),
            ]);
        }
        for column in 1..8 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

impl Case {
    fn row(&self, target: &Target) -> Result<Row, String> {
        let cost = self.cost(target)?;
        let counted = cost.arithmetic().saturating_sub(self.macs * self.tiles);
        let per_item = counted as f64 / (self.items * self.tiles) as f64;
        let asked = target.spec().product == QC_U.spec().product;
        let keeps = (self.tiles < TILES || cost.ratio() <= RATIO) && self.limit.is_none_or(|limit| per_item <= limit);
        Ok(Row {
            kernel: self.name.to_owned(),
            target: target.spec().product.to_string(),
            tiles: self.tiles,
            total: cost.total,
            arithmetic: cost.arithmetic(),
            busiest_engine: cost.busiest_engine(),
            ratio: rounded(cost.ratio()),
            per_item: rounded(per_item),
            item: self.item.to_owned(),
            limit: self.limit.filter(|_| asked),
            why: self.why.filter(|_| asked).map(str::to_owned),
            met: asked.then_some(keeps),
        })
    }

    fn cost(&self, target: &Target) -> Result<Cost, String> {
        let consts: Vec<i128> = self.kernel.consts.iter().map(|(_, value)| *value).collect();
        let instance = Instance::from_source(self.kernel.source(), self.kernel.function(), &consts, target);
        let instance = instance.map_err(|error| error.to_string())?;
        let mut inputs = arguments(instance.params(), &self.given, Fill::Uniform, 1)
            .map_err(|missing| format!("no value for {}", missing.join(", ")))?;
        instance.simulate(&mut inputs)
    }
}

/// Three digits behind the point, so that snapshots show what moved and nothing else.
fn rounded(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}
