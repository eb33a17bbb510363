//! What `models/segformer` holds: networks, frames and reference labels.

use std::path::{Path, PathBuf};

use crate::picture::{Frame, LabelMap, Palette, PictureError, palette};
use crate::plan::{Boundary, PlanError, kernel};

/// Frames that are supplied.
pub const N_FRAMES: usize = 4;

/// The frame that is shown if none is asked for.
pub const DEFAULT_FRAME: usize = 1;

/// A network of the demonstration.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub network: &'static str,
    /// The classes that it was trained for: names of stored labels begin so.
    classes: &'static str,
}

/// The networks, in the order of the table.
pub const VARIANTS: [Variant; 3] = [
    Variant { name: "city19", network: "segformer_b0_city19_256x512_labels_int8_qop.onnx", classes: "city19" },
    Variant { name: "scene150", network: "segformer_b0_scene150_256x512_labels_int8_qop.onnx", classes: "scene150" },
    Variant {
        name: "city19_asymmetric",
        network: "segformer_b0_city19_256x512_labels_int8asym_qop.onnx",
        classes: "city19",
    },
];

/// Stored labels of a frame.
#[derive(Debug, Clone)]
pub struct References {
    /// What the float network gives.
    pub float: LabelMap,
    /// What ONNX Runtime gives for the same quantised network.
    pub ort: LabelMap,
    /// What the scene was drawn from.
    pub truth: LabelMap,
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Models {
    folder: PathBuf,
}

impl Models {
    /// The folder of the project that this was built from.
    pub fn of_project() -> Self {
        Self::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/segformer"))
    }

    /// A folder like it.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The file of a network.
    pub fn network(&self, variant: &Variant) -> PathBuf {
        self.folder.join("networks").join(variant.network)
    }

    /// The file of a supplied frame.
    pub fn frame_file(&self, frame: usize) -> PathBuf {
        self.folder.join("frames").join(format!("scene{frame:02}.png"))
    }

    /// A supplied frame.
    ///
    /// # Errors
    /// [`PictureError`] where it cannot be read.
    pub fn frame(&self, frame: usize) -> Result<Frame, PictureError> {
        Frame::read(&self.frame_file(frame))
    }

    /// The stored labels of a supplied frame.
    ///
    /// # Errors
    /// [`PictureError`] where one cannot be read.
    pub fn references(&self, variant: &Variant, frame: usize) -> Result<References, PictureError> {
        let read = |of: &str, kind: &str| {
            LabelMap::read(&self.folder.join("labels").join(format!("{of}_scene{frame:02}_{kind}.png")))
        };
        Ok(References {
            float: read(variant.classes, "float")?,
            ort: read(variant.name, "ort")?,
            truth: read(variant.classes, "true")?,
        })
    }
}

impl Variant {
    /// Names and colours of its classes.
    pub fn palette(&self) -> &'static Palette {
        if self.classes == "scene150" { &palette::SCENE150 } else { &palette::CITY19 }
    }
}

/// Where the kernels of these networks end.
///
/// # Errors
/// None for the text that is built in; [`PlanError`] is what reading it may give.
pub fn boundaries() -> Result<Vec<Boundary>, PlanError> {
    kernel::parse(include_str!("../../boundaries/segformer_b0.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::Model;

    #[test]
    fn networks_frames_and_labels_are_there_and_fit() {
        let models = Models::of_project();
        for variant in &VARIANTS {
            assert!(Model::read(&models.network(variant)).is_ok(), "{}", variant.network);
            for frame in 0..N_FRAMES {
                let references = models.references(variant, frame).unwrap();
                let (width, height) = models.frame(frame).unwrap().pixels().dimensions();
                for map in [&references.float, &references.ort, &references.truth] {
                    assert_eq!(map.extents(), (height as usize, width as usize));
                    assert!(map.classes().iter().all(|&(label, _)| variant.palette().class(label).is_some()));
                }
            }
        }
    }

    #[test]
    fn stored_labels_agree_as_the_models_page_says() {
        let models = Models::of_project();
        let agree = |variant: usize, frame| {
            let references = models.references(&VARIANTS[variant], frame).unwrap();
            (references.ort.equal_pct(&references.float).unwrap() * 100.0).round() / 100.0
        };
        assert_eq!([agree(0, 0), agree(0, 1), agree(1, 1)], [83.71, 95.56, 92.64]);
    }
}
