//! What is wrong with a picture.

/// Why a picture cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The file cannot be read.
    #[error("picture `{name}`: {error}")]
    Io {
        /// The picture.
        name: String,
        /// Why.
        error: std::io::Error,
    },
    /// Its bytes are no picture, or one that is too large.
    #[error("picture `{name}`: {error}\nhelp: PNG and JPEG are read, of at most {max} x {max} pixels", max = super::MAX_EXTENT)]
    Decode {
        /// The picture.
        name: String,
        /// Why.
        error: image::ImageError,
    },
    /// A picture of labels is not one grey byte a pixel.
    #[error("label map `{name}`: pixels are {found:?}, expected a grey value of 8 bits for each class")]
    NoLabels {
        /// The picture.
        name: String,
        /// What its pixels are.
        found: image::ColorType,
    },
    /// A tensor is no label map.
    #[error("label map `{name}`: {found} has no extents [.., height, width] with 1 before them")]
    Shape {
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// A label is no class.
    #[error("label map `{name}`: label {label} at row {row}, column {column} is outside 0..256")]
    Label {
        /// The tensor.
        name: String,
        /// The label.
        label: String,
        /// Row.
        row: usize,
        /// Column.
        column: usize,
    },
    /// A palette is not written as it must be.
    #[error(
        "palette, line {line}: `{text}` is not a number, a name and a colour such as (128, 64, 128), with tabs between"
    )]
    Palette {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Two pictures that are compared differ in extents.
    #[error("a label map of {found:?} rows and columns cannot be compared with one of {expected:?}")]
    Extents {
        /// Rows and columns.
        found: (usize, usize),
        /// Rows and columns of the other.
        expected: (usize, usize),
    },
}
