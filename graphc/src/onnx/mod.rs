//! ONNX files: the messages, reading them within limits, and their tensors. Knows no operator.

pub mod external;
pub mod file;
pub mod proto;
pub mod tensor;
pub mod wire;

pub use external::Folder;
pub use file::{LoadError, Model};
