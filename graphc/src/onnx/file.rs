//! Reading a model file, within limits.

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message;

use crate::onnx::external::Folder;
use crate::onnx::proto::ModelProto;
use crate::onnx::wire::{MAX_MESSAGES, count_messages};

/// Bytes that a model file may have: what protobuf itself allows.
pub const MAX_FILE_BYTES: u64 = (1 << 31) - 1;

/// A model as its file says, and where its other files may be.
#[derive(Debug, Clone)]
pub struct Model {
    /// The decoded messages.
    pub proto: ModelProto,
    /// Where external data may come from.
    pub folder: Folder,
}

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than any model.
    #[error("`{path}` has more than {MAX_FILE_BYTES} bytes, which no ONNX file may have")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The bytes are no model.
    #[error("not an ONNX model: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The model holds too many nodes, attributes and names.
    #[error("the model holds more than {MAX_MESSAGES} nodes, attributes, tensors and names together")]
    TooManyMessages,
}

impl Model {
    /// Reads a model file.
    ///
    /// # Errors
    /// [`LoadError`] if it cannot be read, is too large, or is no ONNX.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let io = |source| LoadError::Io { path: path.to_path_buf(), source };
        let not_plain = || io(std::io::Error::other("it is no plain file"));
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(not_plain());
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(io)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(LoadError::TooLarge { path: path.to_path_buf() });
        }
        Self::decode(bytes.into(), Folder::of(path))
    }

    /// Decodes a model from bytes.
    ///
    /// # Errors
    /// [`LoadError::Decode`], [`LoadError::TooManyMessages`].
    pub fn decode(bytes: Bytes, folder: Folder) -> Result<Self, LoadError> {
        count_messages(&bytes, MAX_MESSAGES).ok_or(LoadError::TooManyMessages)?;
        Ok(Model { proto: ModelProto::decode(bytes)?, folder })
    }
}

impl From<ModelProto> for Model {
    fn from(proto: ModelProto) -> Self {
        Model { proto, folder: Folder::none() }
    }
}
