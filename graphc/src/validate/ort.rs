//! ONNX Runtime, loaded at run time: every tensor of a network as it computes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ndarray::{ArrayD, IxDyn};
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session, SessionInputValue};
use ort::value::{DynValue, PrimitiveTensorElementType, TensorElementType};
use prost::Message;

use crate::graph::{DType, Tensor};
use crate::onnx::Model;
use crate::onnx::proto::ModelProto;
use crate::onnx::tensor::TensorError;
use crate::validate::expose;
use crate::validate::values::Named;

/// The environment variable that names the shared library.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// Why there are no values of ONNX Runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrtError {
    /// Nobody says where the library is.
    #[error(
        "ONNX Runtime's shared library is not known\n  help: set `{LIBRARY_VARIABLE}` to its path; the wheel `onnxruntime` has it as `onnxruntime/capi/libonnxruntime.so.*`"
    )]
    NoLibrary,
    /// The library cannot be loaded.
    #[error("ONNX Runtime's shared library `{path}` (from `{LIBRARY_VARIABLE}`): {reason}")]
    Load {
        /// The library.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The model's tensors cannot be read.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// ONNX Runtime refuses the model or the inputs.
    #[error("ONNX Runtime: {0}")]
    Session(String),
}

impl<R> From<ort::Error<R>> for OrtError {
    fn from(error: ort::Error<R>) -> Self {
        OrtError::Session(error.to_string())
    }
}

/// ONNX Runtime, ready to run models.
#[derive(Debug, Clone)]
pub struct Runtime {
    label: String,
}

impl Runtime {
    /// Loads the library that [`LIBRARY_VARIABLE`] names, once for the process.
    ///
    /// # Errors
    /// [`OrtError::NoLibrary`], [`OrtError::Load`].
    pub fn load() -> Result<Self, OrtError> {
        let path = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()).ok_or(OrtError::NoLibrary)?;
        let path = PathBuf::from(path);
        let fault = |reason: String| OrtError::Load { path: path.clone(), reason };
        // The `ort` crate looks beside the executable for relative paths; users mean the working directory.
        let absolute = std::path::absolute(&path).map_err(|e| fault(e.to_string()))?;
        ort::init_from(&absolute).map_err(|e| fault(e.to_string()))?.commit();
        let version = absolute.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let version = version.split_once(".so.").map_or(String::new(), |(_, version)| format!(" {version}"));
        Ok(Runtime { label: format!("ONNX Runtime{version}") })
    }

    /// Name and version.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Runs a model without optimisation, and keeps what every node gives.
    ///
    /// # Errors
    /// [`OrtError::Tensor`], [`OrtError::Session`].
    pub fn run_all(&self, model: &Model, inputs: &HashMap<String, Tensor>) -> Result<Named, OrtError> {
        let tensors = self.run(&expose::with_all_outputs(model)?, inputs)?;
        let inputs = inputs.iter().map(|(name, tensor)| (name.clone(), Arc::new(tensor.clone())));
        Ok(Named::new(self.label.clone(), tensors.into_iter().chain(inputs).collect()))
    }

    /// Runs a model and returns its outputs by name.
    ///
    /// # Errors
    /// [`OrtError::Session`].
    pub fn run(
        &self,
        model: &ModelProto,
        inputs: &HashMap<String, Tensor>,
    ) -> Result<HashMap<String, Arc<Tensor>>, OrtError> {
        let mut session = Session::builder()?
            .with_optimization_level(GraphOptimizationLevel::Disable)?
            .with_intra_threads(1)?
            .commit_from_memory(&model.encode_to_vec())?;
        let outputs = session.run(values(inputs)?)?;
        let named = outputs.iter().map(|(name, value)| Ok((name.to_owned(), Arc::new(tensor(name, &value)?))));
        named.collect()
    }

    /// Median seconds of so many runs of a model's file, optimised as is the default and on all cores, after one that does not count.
    ///
    /// # Errors
    /// [`OrtError::Tensor`], [`OrtError::Session`].
    pub fn seconds(&self, model: &Path, inputs: &HashMap<String, Tensor>, runs: usize) -> Result<f64, OrtError> {
        let mut session = Session::builder()?.commit_from_file(model)?;
        let mut all = Vec::new();
        for run in 0..=runs.max(1) {
            let (values, start) = (values(inputs)?, Instant::now());
            session.run(values)?;
            if run > 0 {
                all.push(start.elapsed().as_secs_f64());
            }
        }
        all.sort_by(f64::total_cmp);
        Ok(all[all.len() / 2])
    }
}

/// Inputs of a session; they are gone with the run.
fn values(inputs: &HashMap<String, Tensor>) -> Result<Vec<(&str, SessionInputValue<'_>)>, OrtError> {
    inputs.iter().map(|(name, tensor)| Ok((name.as_str(), value(tensor)?.into()))).collect()
}

fn value(tensor: &Tensor) -> Result<DynValue, OrtError> {
    fn of<T: PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static>(
        array: &ArrayD<T>,
    ) -> Result<DynValue, OrtError> {
        let elements: Vec<T> = array.iter().cloned().collect();
        Ok(ort::value::Tensor::from_array((array.shape().to_vec(), elements))?.into_dyn())
    }
    crate::graph::each_tensor!(tensor, array => of(array))
}

fn tensor(name: &str, value: &DynValue) -> Result<Tensor, OrtError> {
    fn of<T: PrimitiveTensorElementType, U>(value: &DynValue, convert: impl Fn(&T) -> U) -> Result<Tensor, OrtError>
    where
        Tensor: From<ArrayD<U>>,
    {
        let (shape, elements) = value.try_extract_tensor::<T>()?;
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), elements.iter().map(convert).collect());
        Ok(array.expect("the runtime's shape has as many elements as it gives").into())
    }
    let unread = |what: String| OrtError::Session(format!("output `{name}` is {what}"));
    let ty = value.dtype().tensor_type().ok_or_else(|| unread("no tensor".to_owned()))?;
    match ty {
        TensorElementType::Float32 => of(value, |&v: &f32| v),
        TensorElementType::Float64 => of(value, |&v: &f64| v as f32),
        TensorElementType::Float16 => of(value, |v: &half::f16| v.to_f32()),
        TensorElementType::Bfloat16 => of(value, |v: &half::bf16| v.to_f32()),
        TensorElementType::Int8 => of(value, |&v: &i8| v),
        TensorElementType::Uint8 => of(value, |&v: &u8| v),
        TensorElementType::Int32 => of(value, |&v: &i32| v),
        TensorElementType::Int64 => of(value, |&v: &i64| v),
        TensorElementType::Bool => of(value, |&v: &bool| v),
        other => Err(unread(format!("of {other}, which no graph has ({:?} and others are)", DType::F32))),
    }
}
