//! Tensors whose elements are in another file: which file, which bytes, and that it lies in the model's own folder.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use crate::onnx::proto::TensorProto;
use crate::onnx::tensor::{self, TensorError};

/// Brings the elements of a tensor into its message, as they are.
///
/// # Errors
/// [`TensorError`] as [`Folder::read`] and [`tensor::shape`] give it.
pub fn inline(tensor: &mut TensorProto, folder: &Folder) -> Result<(), TensorError> {
    if tensor.data_location != 1 {
        return Ok(());
    }
    let n: usize = tensor::shape(&tensor.dims)?.iter().product();
    tensor.raw_data = folder.read(tensor, n * tensor::bytes_of(tensor.data_type)?)?;
    tensor.external_data.clear();
    tensor.data_location = 0;
    Ok(())
}

/// The folder that a model's external data may come from.
#[derive(Debug, Clone)]
pub struct Folder(Option<PathBuf>);

impl Folder {
    /// The folder of a model file.
    pub fn of(model: &Path) -> Self {
        let folder = model.parent().filter(|folder| !folder.as_os_str().is_empty());
        Folder(Some(folder.unwrap_or(Path::new(".")).to_path_buf()))
    }

    /// For models that are no file: external data is refused.
    pub fn none() -> Self {
        Folder(None)
    }

    /// Reads the elements of a tensor that says it has `n_bytes` of them elsewhere. Offsets need no alignment.
    ///
    /// # Errors
    /// [`TensorError::External`] for a place outside the folder, something that is no plain file, or a range that the file
    /// does not have. Nothing is allocated before that is known.
    pub fn read(&self, tensor: &TensorProto, n_bytes: usize) -> Result<Bytes, TensorError> {
        let fault = |reason: String| TensorError::External { reason };
        let entry = |key: &str| tensor.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => {
                text.parse::<u64>().map(Some).map_err(|_| fault(format!("`{key}` is `{text}`, expected a number")))
            }
        };
        let location = entry("location").ok_or_else(|| fault("it has no `location`".to_owned()))?;
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        if length.is_some_and(|length| length != n_bytes as u64) {
            return Err(fault(format!("`length` is {}, but its shape and type need {n_bytes}", length.unwrap_or(0))));
        }
        let path = self.resolve(location)?;
        let mut file = File::open(&path).map_err(|e| fault(format!("`{location}`: {e}")))?;
        let size = file.metadata().map_err(|e| fault(format!("`{location}`: {e}")))?.len();
        if offset.checked_add(n_bytes as u64).is_none_or(|end| end > size) {
            return Err(fault(format!("`{location}` has {size} bytes, and {n_bytes} at {offset} are asked for")));
        }
        let mut bytes = vec![0; n_bytes];
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| fault(format!("`{location}`: {e}")))?;
        Ok(bytes.into())
    }

    /// The plain file inside the folder that `location` names.
    fn resolve(&self, location: &str) -> Result<PathBuf, TensorError> {
        let fault = |reason: String| TensorError::External { reason };
        let Some(folder) = &self.0 else { return Err(fault("the model is no file, so it has no folder".to_owned())) };
        let relative = Path::new(location);
        let inside = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside || location.is_empty() {
            return Err(fault(format!("`{location}` leaves the model's folder")));
        }
        let real = |path: &Path| path.canonicalize().map_err(|e| fault(format!("`{location}`: {e}")));
        let path = real(&folder.join(relative))?;
        if !path.starts_with(real(folder)?) {
            return Err(fault(format!("`{location}` leads out of the model's folder")));
        }
        if !path.is_file() {
            return Err(fault(format!("`{location}` is no plain file")));
        }
        Ok(path)
    }
}
