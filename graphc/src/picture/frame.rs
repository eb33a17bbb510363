//! Frames: pictures from outside, and the tensors that networks take.

use std::io::Cursor;
use std::path::Path;

use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};
use ndarray::Array4;

use crate::graph::Tensor;
use crate::picture::PictureError;

/// Rows or columns that a picture may have.
pub const MAX_EXTENT: u32 = 8192;

/// Bytes that a file may have, and that its decoder may ask for.
const MAX_BYTES: u64 = 512 << 20;

/// Mean and standard deviation of ImageNet's channels, where white is 1.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

/// A picture in colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pixels: RgbImage,
}

impl Frame {
    /// Reads a PNG or JPEG file, by its content and not by its name.
    ///
    /// # Errors
    /// [`PictureError::Io`], [`PictureError::Decode`]; a picture that is too large is refused before it is decoded.
    pub fn read(path: &Path) -> Result<Self, PictureError> {
        let name = path.display().to_string();
        Self::decode(&name, &bytes(path)?)
    }

    /// Reads a picture from the bytes of a file; `name` is for messages.
    ///
    /// # Errors
    /// [`PictureError::Decode`].
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Self, PictureError> {
        Ok(Self { pixels: decode(name, bytes)?.into_rgb8() })
    }

    /// Pixels, 8 bits a channel.
    pub fn pixels(&self) -> &RgbImage {
        &self.pixels
    }

    /// The picture with other extents: bilinear, and averaging where it shrinks.
    pub fn resized(&self, height: u32, width: u32) -> Frame {
        if self.pixels.dimensions() == (width, height) {
            return self.clone();
        }
        Frame { pixels: image::imageops::resize(&self.pixels, width, height, FilterType::Triangle) }
    }

    /// What networks that were trained with ImageNet's normalisation take: `(value / 255 - mean) / deviation` by channel, in
    /// float32, so that quantising it gives what the network's own QuantizeLinear does.
    ///
    /// # Shapes
    /// `[1, 3, height, width]`, of the frame resized to that.
    pub fn pixel_values(&self, height: u32, width: u32) -> Tensor {
        let pixels = self.resized(height, width).pixels;
        let normalised = |(_, c, y, x): (usize, usize, usize, usize)| {
            let value = f32::from(pixels.get_pixel(x as u32, y as u32).0[c]);
            (value / 255.0 - MEAN[c]) / DEVIATION[c]
        };
        Array4::from_shape_fn((1, 3, height as usize, width as usize), normalised).into_dyn().into()
    }
}

impl From<RgbImage> for Frame {
    fn from(pixels: RgbImage) -> Self {
        Self { pixels }
    }
}

/// The bytes of a file, unless it is too large to be a picture.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, PictureError> {
    let failed = |error| PictureError::Io { name: path.display().to_string(), error };
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > MAX_BYTES {
        return Err(failed(std::io::Error::other(format!("{length} bytes are more than {MAX_BYTES}"))));
    }
    std::fs::read(path).map_err(failed)
}

/// Decodes a picture and turns it the way up that its camera says.
pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<DynamicImage, PictureError> {
    let failed = |error| PictureError::Decode { name: name.to_owned(), error };
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| failed(error.into()))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_EXTENT);
    limits.max_image_height = Some(MAX_EXTENT);
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(failed)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).map_err(failed)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;
    use crate::picture::to_png;

    fn striped(width: u32, height: u32) -> Frame {
        RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 255])).into()
    }

    #[test]
    fn values_are_normalised_by_channel() {
        let Tensor::F32(values) = striped(4, 2).pixel_values(2, 4) else { panic!("floats") };
        assert_eq!(values.shape(), [1, 3, 2, 4]);
        assert_eq!(values[[0, 0, 1, 3]], (3.0_f32 / 255.0 - 0.485) / 0.229);
        assert_eq!(values[[0, 2, 0, 0]], (1.0_f32 - 0.406) / 0.225);
    }

    #[test]
    fn a_file_gives_its_pixels_again() {
        let frame = striped(5, 3);
        assert_eq!(Frame::decode("x", &to_png(frame.pixels())).unwrap(), frame);
        assert_eq!(frame.resized(6, 10).pixels().dimensions(), (10, 6));
        let grey = image::GrayImage::from_pixel(2, 2, image::Luma([7]));
        let mut jpeg = Cursor::new(Vec::new());
        grey.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
        assert_eq!(Frame::decode("x", jpeg.get_ref()).unwrap().pixels().get_pixel(1, 1), &Rgb([7, 7, 7]));
    }

    #[test]
    fn large_pictures_are_refused_by_their_header() {
        // The header of a PNG of 20,000 x 20,000 pixels; what follows does not matter.
        let mut bytes = to_png(striped(1, 1).pixels());
        bytes[16..24].copy_from_slice(&[0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20]);
        let crc = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        let error = Frame::decode("bomb.png", &bytes).unwrap_err().to_string();
        assert!(error.starts_with("picture `bomb.png`: ") && error.contains("8192 x 8192"), "{error}");
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        let bytes = to_png(striped(9, 9).pixels());
        for cut in [0, 1, 20, bytes.len() / 2] {
            let error = Frame::decode("cut", &bytes[..cut]).unwrap_err();
            assert!(matches!(error, PictureError::Decode { .. }), "{error}");
        }
        assert!(matches!(Frame::read(Path::new("/nowhere.png")), Err(PictureError::Io { .. })));
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |crc: u32, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        })
    }
}
