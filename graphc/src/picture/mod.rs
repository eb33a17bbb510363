//! Pictures: frames as inputs of a network, label maps with the colours and names of their classes, overlays and panels.
//!
//! Absent on purpose: what computes labels, and where files go. Pictures come from outside: their extents and the memory
//! of their decoders are bounded.

mod error;
mod frame;
mod input;
mod labels;
pub mod palette;

pub(crate) mod caption;
mod panel;

pub use error::PictureError;
pub use frame::{Frame, MAX_EXTENT};
pub use input::picture_extents;
pub use labels::LabelMap;
pub use palette::Palette;
pub use panel::{Cell, differences, overlay, panel};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ImageEncoder, RgbImage};

/// A picture as the bytes of a PNG file.
pub fn to_png(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
    encoder
        .write_image(picture.as_raw(), picture.width(), picture.height(), image::ExtendedColorType::Rgb8)
        .expect("a picture of three bytes a pixel has a PNG form, and a vector takes it");
    bytes
}
