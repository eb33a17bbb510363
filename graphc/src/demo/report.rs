//! What the demonstration found, as data, a table and pictures.

use image::RgbImage;
use iss::profile::figure::{grouped, seconds};
use serde::{Deserialize, Serialize};

use crate::demo::segformer::{References, Variant};
use crate::picture::{Cell, Frame, LabelMap, PictureError, differences, overlay, panel};
use crate::report::Table;
use crate::run::report::RunReport;

/// All runs of the demonstration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DemoReport {
    /// A run for each network and frame.
    pub variants: Vec<VariantReport>,
}

/// A run of one network on one frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantReport {
    /// The network's name.
    pub name: String,
    /// The frame's.
    pub frame: String,
    /// Pixels with the class that the float network gives them, in percent; absent for frames without references.
    pub agreement_pct: Option<f64>,
    /// Pixels with the class that ONNX Runtime gives them for the same quantised network, in percent.
    pub ort_equal_pct: Option<f64>,
    /// Pixels with the class that the scene was drawn with, in percent.
    pub truth_pct: Option<f64>,
    /// Median seconds of ONNX Runtime for the same network and input on this host; absent where it is not there.
    pub ort_s: Option<f64>,
    /// SHA-256 of the labels, a byte each in row order.
    pub label_sha256: String,
    /// What the run cost.
    #[serde(flatten)]
    pub run: RunReport,
}

impl VariantReport {
    /// Compares the labels of a run with stored ones.
    ///
    /// # Errors
    /// [`PictureError::Extents`] where references are of another size.
    pub fn new(
        variant: &Variant,
        frame: &str,
        run: RunReport,
        labels: &LabelMap,
        references: Option<&References>,
    ) -> Result<Self, PictureError> {
        let equal = |reference: fn(&References) -> &LabelMap| {
            references.map(|references| labels.equal_pct(reference(references))).transpose()
        };
        Ok(Self {
            name: variant.name.to_owned(),
            frame: frame.to_owned(),
            agreement_pct: equal(|references| &references.float)?,
            ort_equal_pct: equal(|references| &references.ort)?,
            truth_pct: equal(|references| &references.truth)?,
            ort_s: None,
            label_sha256: labels.sha256(),
            run,
        })
    }

    /// The pictures of the run beside each other: the frame, what the float network and ONNX Runtime give, what the simulator
    /// gave, and where it differs from each; without references the frame and the simulator's labels.
    ///
    /// # Errors
    /// [`PictureError::Extents`] where references are of another size.
    pub fn panel(
        &self,
        variant: &Variant,
        frame: &Frame,
        labels: &LabelMap,
        references: Option<&References>,
    ) -> Result<RgbImage, PictureError> {
        let palette = variant.palette();
        let (height, width) = labels.extents();
        let cell = |caption: String, picture| Cell { caption, picture };
        let shown = |caption: &str, map: &LabelMap| cell(caption.to_owned(), overlay(frame, map, palette));
        let differ = |from: &str, map: &LabelMap, equal: Option<f64>| {
            let pct = 100.0 - equal.unwrap_or(0.0);
            Ok(cell(format!("{pct:.2} % differ from {from}"), differences(frame, labels, map)?))
        };
        let input = cell("input".to_owned(), frame.resized(height as u32, width as u32).pixels().clone());
        let ours = shown("simulator, int8", labels);
        let cells = match references {
            None => vec![input, ours],
            Some(references) => vec![
                input,
                shown("reference, float32", &references.float),
                shown("ONNX Runtime, int8", &references.ort),
                ours,
                differ("float32", &references.float, self.agreement_pct)?,
                differ("ONNX Runtime", &references.ort, self.ort_equal_pct)?,
            ],
        };
        Ok(panel(&cells, cells.len().min(3), labels, palette))
    }
}

impl DemoReport {
    /// A line for each run.
    pub fn table(&self) -> Table {
        let columns = [
            "network",
            "frame",
            "cycles",
            "latency",
            "frames/s",
            "MAC use%",
            "= ORT %",
            "= float %",
            "= truth %",
            "compiled",
            "simulated",
            "ORT here",
        ];
        let mut table = Table::new("networks", &columns, 2);
        let pct = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        for variant in &self.variants {
            let (run, figures) = (&variant.run, &variant.run.figures);
            table.row([
                variant.name.clone(),
                variant.frame.clone(),
                grouped(figures.cycles.total),
                seconds(run.latency_s),
                format!("{:.1}", run.frames_per_s),
                format!("{:.1}", figures.mac_utilisation * 100.0),
                pct(variant.ort_equal_pct),
                pct(variant.agreement_pct),
                pct(variant.truth_pct),
                seconds(figures.wall_s.compile),
                seconds(figures.wall_s.simulate),
                variant.ort_s.map_or_else(|| "-".to_owned(), seconds),
            ]);
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

#[cfg(test)]
mod tests {
    use iss::profile::TextOptions;

    use super::*;
    use crate::demo::segformer::{Models, VARIANTS};
    use crate::report::tests::report;

    /// A run whose labels are those of ONNX Runtime but for the first row, which is all sky.
    fn variant() -> (VariantReport, Frame, LabelMap, References) {
        let (models, variant) = (Models::of_project(), &VARIANTS[0]);
        let (frame, references) = (models.frame(1).unwrap(), models.references(variant, 1).unwrap());
        let mut labels = references.ort.labels().clone();
        labels.row_mut(0).fill(12);
        let labels = LabelMap::new(labels);
        let report = VariantReport::new(variant, "scene01", report(), &labels, Some(&references)).unwrap();
        (report, frame, labels, references)
    }

    #[test]
    fn labels_are_compared_with_each_reference() {
        let (report, ..) = variant();
        assert_eq!(report.ort_equal_pct, Some(100.0 * 255.0 / 256.0));
        assert!(report.agreement_pct.is_some_and(|pct| (95.0..95.56).contains(&pct)), "{:?}", report.agreement_pct);
        let json: serde_json::Value = serde_json::from_str(&DemoReport { variants: vec![report] }.to_json()).unwrap();
        let variant = &json["variants"][0];
        assert_eq!((&variant["name"], &variant["cycles"]["total"]), (&"city19".into(), &3000.into()));
        assert_eq!(variant["label_sha256"].as_str().map(str::len), Some(64));
    }

    #[test]
    fn a_panel_shows_all_and_a_frame_of_ones_own_has_no_references() {
        let (report, frame, labels, references) = variant();
        let full = report.panel(&VARIANTS[0], &frame, &labels, Some(&references)).unwrap();
        let short = report.panel(&VARIANTS[0], &frame, &labels, None).unwrap();
        assert!(
            full.width() > 3 * 512 && full.height() > 2 * 256 && short.width() > 2 * 512 && short.height() < 2 * 256
        );
        let own = VariantReport::new(&VARIANTS[0], "mine", crate::report::tests::report(), &labels, None).unwrap();
        assert_eq!((own.agreement_pct, own.ort_equal_pct, own.truth_pct), (None, None, None));
        let table = DemoReport { variants: vec![own] }.table().to_text(&TextOptions::default());
        assert!(table.lines().last().is_some_and(|line| line.starts_with("city19   mine")), "{table}");
    }
}
