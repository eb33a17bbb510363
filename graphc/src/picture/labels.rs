//! Label maps: the class of each pixel.

use std::path::Path;

use image::{DynamicImage, Rgb, RgbImage};
use ndarray::Array2;
use sha2::{Digest, Sha256};

use crate::graph::Tensor;
use crate::picture::{Palette, PictureError, frame};

/// The class of each pixel, 256 classes at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelMap {
    labels: Array2<u8>,
}

impl LabelMap {
    /// Takes labels in rows and columns.
    pub fn new(labels: Array2<u8>) -> Self {
        Self { labels }
    }

    /// Labels that a network gave. `name` is for messages.
    ///
    /// # Shapes
    /// `[.., height, width]`, what stands before these being 1.
    /// # Errors
    /// [`PictureError::Shape`]; [`PictureError::Label`] for the first that is no class.
    pub fn from_tensor(name: &str, tensor: &Tensor) -> Result<Self, PictureError> {
        let no_map = || PictureError::Shape { name: name.to_owned(), found: tensor.ty().to_string() };
        let [before @ .., height, width] = tensor.shape() else { return Err(no_map()) };
        if before.iter().any(|&n| n != 1) {
            return Err(no_map());
        }
        let values: Vec<i64> = match tensor {
            Tensor::I8(a) => a.iter().map(|&v| v.into()).collect(),
            Tensor::U8(a) => a.iter().map(|&v| v.into()).collect(),
            Tensor::I32(a) => a.iter().map(|&v| v.into()).collect(),
            Tensor::I64(a) => a.iter().copied().collect(),
            Tensor::F32(_) | Tensor::Bool(_) => return Err(no_map()),
        };
        let label = |(i, &value): (usize, &i64)| {
            u8::try_from(value).map_err(|_| PictureError::Label {
                name: name.to_owned(),
                label: value.to_string(),
                row: i / width,
                column: i % width,
            })
        };
        let labels: Vec<u8> = values.iter().enumerate().map(label).collect::<Result<_, _>>()?;
        let labels = Array2::from_shape_vec((*height, *width), labels).map_err(|_| no_map())?;
        Ok(Self { labels })
    }

    /// Reads a picture of class numbers, a grey value of 8 bits each.
    ///
    /// # Errors
    /// [`PictureError`] where the file cannot be read or its pixels are something else.
    pub fn read(path: &Path) -> Result<Self, PictureError> {
        let name = path.display().to_string();
        Self::decode(&name, &frame::bytes(path)?)
    }

    /// Reads such a picture from the bytes of a file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Self, PictureError> {
        match frame::decode(name, bytes)? {
            DynamicImage::ImageLuma8(grey) => {
                let (width, height) = grey.dimensions();
                let at = |(y, x): (usize, usize)| grey.get_pixel(x as u32, y as u32).0[0];
                Ok(Self { labels: Array2::from_shape_fn((height as usize, width as usize), at) })
            }
            other => Err(PictureError::NoLabels { name: name.to_owned(), found: other.color() }),
        }
    }

    /// The labels.
    pub fn labels(&self) -> &Array2<u8> {
        &self.labels
    }

    /// Rows and columns.
    pub fn extents(&self) -> (usize, usize) {
        self.labels.dim()
    }

    /// Pixels with the same class in both, in percent.
    ///
    /// # Errors
    /// [`PictureError::Extents`].
    pub fn equal_pct(&self, other: &Self) -> Result<f64, PictureError> {
        self.same_extents(other)?;
        let equal = self.labels.iter().zip(&other.labels).filter(|(a, b)| a == b).count();
        Ok(100.0 * equal as f64 / self.labels.len().max(1) as f64)
    }

    pub(super) fn same_extents(&self, other: &Self) -> Result<(), PictureError> {
        let (found, expected) = (self.extents(), other.extents());
        if found == expected { Ok(()) } else { Err(PictureError::Extents { found, expected }) }
    }

    /// SHA-256 of the labels, a byte each in row order, as hexadecimal digits.
    pub fn sha256(&self) -> String {
        let bytes: Vec<u8> = self.labels.iter().copied().collect();
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Classes that occur, those with most pixels first, and how many each has.
    pub fn classes(&self) -> Vec<(u8, usize)> {
        let mut counts = [0; 256];
        self.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
        let mut found: Vec<(u8, usize)> = (0..=255).zip(counts).filter(|&(_, n)| n > 0).collect();
        found.sort_by_key(|&(label, n)| (std::cmp::Reverse(n), label));
        found
    }

    /// Each pixel in the colour of its class.
    pub fn coloured(&self, palette: &Palette) -> RgbImage {
        let (height, width) = self.extents();
        let at = |x: u32, y: u32| Rgb(palette.colour(self.labels[[y as usize, x as usize]]));
        RgbImage::from_fn(width as u32, height as u32, at)
    }

    /// The bytes of a PNG file whose pixels are the class numbers themselves, shown in the colours of the palette.
    pub fn to_indexed_png(&self, palette: &Palette) -> Vec<u8> {
        let (height, width) = self.extents();
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette((0..=255).flat_map(|label| palette.colour(label)).collect::<Vec<u8>>());
        let labels: Vec<u8> = self.labels.iter().copied().collect();
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&labels));
        written.expect("a label map with pixels has an indexed form, and a vector takes it");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;
    use crate::picture::palette::CITY19;

    #[test]
    fn tensors_become_maps() {
        let tensor: Tensor =
            arr2(&[[0_i32, 1, 2], [3, 255, 5]]).into_shape_with_order((1, 1, 2, 3)).unwrap().into_dyn().into();
        let map = LabelMap::from_tensor("labels", &tensor).unwrap();
        assert_eq!(map.labels(), arr2(&[[0, 1, 2], [3, 255, 5]]));
        let wrong = |tensor: Tensor| LabelMap::from_tensor("labels", &tensor).unwrap_err().to_string();
        let outside: Tensor = arr2(&[[0_i64, 0], [300, 0]]).into_dyn().into();
        assert_eq!(wrong(outside), "label map `labels`: label 300 at row 1, column 0 is outside 0..256");
        let logits: Tensor = ndarray::Array4::<i32>::zeros((1, 19, 2, 2)).into_dyn().into();
        assert!(wrong(logits).contains("i32[1x19x2x2] has no extents"));
    }

    #[test]
    fn an_indexed_file_holds_the_labels() {
        let map = LabelMap::new(arr2(&[[0, 13], [10, 18]]));
        let file = map.to_indexed_png(&CITY19);
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        assert_eq!(&reader.info().palette.as_ref().unwrap()[39..42], [0, 0, 142]);
        let mut pixels = [0; 4];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [0, 13, 10, 18]);
        assert!(matches!(LabelMap::decode("x", &file), Err(PictureError::NoLabels { .. })), "colours are no labels");
    }

    #[test]
    fn maps_are_compared() {
        let a = LabelMap::new(arr2(&[[0, 1], [2, 2]]));
        assert_eq!(a.equal_pct(&LabelMap::new(arr2(&[[0, 1], [2, 3]]))).unwrap(), 75.0);
        assert_eq!(a.classes(), [(2, 2), (0, 1), (1, 1)]);
        assert!(a.equal_pct(&LabelMap::new(arr2(&[[0, 1]]))).is_err());
        // The digest of the bytes 0, 1, 2, 2.
        assert_eq!(a.sha256().len(), 64);
        assert_ne!(a.sha256(), LabelMap::new(arr2(&[[0, 1], [2, 3]])).sha256());
    }
}
