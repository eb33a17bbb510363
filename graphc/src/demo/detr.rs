//! What `models/detr` holds, and what the demonstration of it found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use iss::profile::figure::grouped;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::graph::Tensor;
use crate::npy::{self, NpyError};
use crate::report::Table;
use crate::run::program::Outcome;
use crate::run::report::RunReport;
use crate::validate::{Validation, compare_tensors};

/// Inputs of the network.
const INPUTS: [&str; 2] = ["src", "pos_embed"];

/// Its output.
const OUTPUT: &str = "encoder_memory";

/// Digest of the file that the quantiser makes of the network: the one of which ONNX Runtime's output is stored.
const QUANTISED_SHA256: &str = "0aa9a4c17c83deffc32c2ea9bb5dd91fcd97f6ec6981f5cb001c744e02d9ea73";

/// Why the demonstration cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetrError {
    /// A tensor of the folder.
    #[error("`{path}`: {source}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: NpyError,
    },
    /// The network has another output.
    #[error("the network has no output `{OUTPUT}`")]
    Output,
    /// A stored output of another type.
    #[error("`{OUTPUT}`: {reason}")]
    Unlike {
        /// How they differ.
        reason: String,
    },
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Models {
    folder: PathBuf,
}

impl Models {
    /// The folder of the project that this was built from.
    pub fn of_project() -> Self {
        Self::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/detr"))
    }

    /// A folder like it.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The file of the network in float32, weights as float16.
    pub fn network(&self) -> PathBuf {
        self.folder.join("networks/detr_encoder_360_f16.onnx")
    }

    /// The supplied inputs.
    ///
    /// # Errors
    /// [`DetrError::Tensor`].
    pub fn inputs(&self) -> Result<HashMap<String, Tensor>, DetrError> {
        INPUTS.into_iter().map(|name| Ok((name.to_owned(), self.tensor(name)?))).collect()
    }

    fn tensor(&self, name: &str) -> Result<Tensor, DetrError> {
        let path = self.folder.join(format!("tensors/{name}.npy"));
        npy::read(&path).map_err(|source| DetrError::Tensor { path, source })
    }
}

/// How close an output is to another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Closeness {
    /// Whose output.
    pub of: &'static str,
    /// The other one.
    pub against: &'static str,
    /// Elements.
    pub total: usize,
    /// Those that differ.
    pub mismatches: usize,
    /// Root of the mean square difference.
    pub rmse: f64,
    /// Largest difference.
    pub max_abs_err: f64,
    /// Peak signal to noise ratio, the peak greatest less least value of the other one; `None` where all are equal.
    pub psnr_db: Option<f64>,
}

/// What the demonstration found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetrReport {
    /// SHA-256 of the quantised network's file.
    pub network_sha256: String,
    /// How close outputs are.
    pub closeness: Vec<Closeness>,
    /// Every node beside the reference.
    pub validation: Validation,
    /// What the run cost.
    #[serde(flatten)]
    pub run: RunReport,
}

impl DetrReport {
    /// Compares the output of a run with stored ones: with ONNX Runtime's where `network` is the file that it ran.
    ///
    /// # Errors
    /// Stored tensors that cannot be read or are of another type.
    pub fn new(models: &Models, network: &[u8], outcome: &Outcome, validation: Validation) -> Result<Self, DetrError> {
        let own = outcome.outputs.iter().find(|(name, _)| name == OUTPUT).map(|(_, tensor)| tensor);
        let own = own.ok_or(DetrError::Output)?;
        let float = models.tensor("encoder_memory_float")?;
        let sha: String = Sha256::digest(network).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut outputs = Vec::new();
        if sha == QUANTISED_SHA256 {
            let ort = models.tensor("encoder_memory_f16_ort")?;
            outputs.push(Closeness::of("simulator", own, "ONNX Runtime, int8", &ort)?);
            outputs.push(Closeness::of("ONNX Runtime, int8", &ort, "float32", &float)?);
        }
        outputs.push(Closeness::of("simulator", own, "float32", &float)?);
        Ok(Self { network_sha256: sha, closeness: outputs, validation, run: outcome.report.clone() })
    }

    /// How close outputs are.
    pub fn table(&self) -> Table {
        let columns = [OUTPUT, "against", "elements", "differ", "largest", "RMSE", "PSNR"];
        let mut table = Table::new("outputs", &columns, 2);
        for line in &self.closeness {
            let psnr = line.psnr_db.map_or_else(|| "equal".to_owned(), |psnr| format!("{psnr:.2} dB"));
            let (count, errors) = ([line.total, line.mismatches], [line.max_abs_err, line.rmse]);
            let counts = count.map(|n| grouped(n as u64));
            let errors = errors.map(|error| format!("{error:.5}"));
            let words = [line.of, line.against].map(str::to_owned);
            table.row([&words[..], &counts, &errors, &[psnr]].concat());
        }
        table
    }

    /// Writes it as JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names of maps are words");
        text.push('\n');
        text
    }
}

impl Closeness {
    fn of(of: &'static str, own: &Tensor, against: &'static str, other: &Tensor) -> Result<Self, DetrError> {
        let found = compare_tensors(own, other).map_err(|reason| DetrError::Unlike { reason })?;
        Ok(Self {
            of,
            against,
            total: found.total,
            mismatches: found.mismatches,
            rmse: found.rmse,
            max_abs_err: found.max_abs_err,
            psnr_db: (found.mismatches > 0).then(|| found.psnr_float()),
        })
    }
}
