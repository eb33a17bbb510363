use std::collections::BTreeMap;

use image::{Rgb, RgbImage};
use iss::isa::Class;
use iss::profile::{StallCause, TextOptions};
use iss::target::QC_U;

use super::*;
use crate::run::energy::Energy;
use crate::run::report::{
    Cycles, Figures, KernelReport, Machine, MemoryKind, OperatorMacs, OperatorReport, Peak, Placement, TensorReport,
    WallTime,
};

fn figures(scale: u64) -> Figures {
    let cycles = [10, 400, 20, 300, 70, 200].map(|n| n * scale);
    Figures {
        cycles: Cycles { total: cycles.iter().sum(), by_class: Class::ALL.into_iter().zip(cycles).collect() },
        stalls: BTreeMap::from([(StallCause::Load, 150 * scale), (StallCause::DmaRead, 60 * scale)]),
        macs: 4_000_000 * scale,
        mac_utilisation: 0.244_1,
        ext_read_bytes: 65_536 * scale,
        ext_write_bytes: 1_024,
        peak: Peak { ocm_bytes: 1 << 20, lrm_bytes: 3_072, temp_ext_bytes: 0 },
        wall_s: WallTime { compile: 0.25, simulate: 0.5 },
    }
}

fn kernel(name: &str, scale: u64) -> KernelReport {
    let Figures { cycles, stalls, .. } = figures(scale);
    let operator = OperatorReport { name: "dense_bias".to_owned(), cycles, stalls, mac_products: 4_100_000 * scale };
    KernelReport {
        name: name.to_owned(),
        figures: figures(scale),
        constant_bytes: 65_536,
        operators: vec![operator],
        replaced_by: (scale == 2).then(|| "kernels/pc01.rs".to_owned()),
        edits: if scale == 2 { vec!["rows of 8 pixels a PE".to_owned()] } else { Vec::new() },
    }
}

/// A run of two kernels with figures that are easy to follow.
pub(crate) fn report() -> RunReport {
    let tensor = |name: &str, elem: &str, scale| TensorReport {
        name: name.to_owned(),
        r#type: "f32[1x3x8x16]".to_owned(),
        tensor: format!("{name}_quantized"),
        elem: elem.to_owned(),
        layout: "Packed<3, 8, 16>".to_owned(),
        bytes: 512,
        scale,
        zero_point: scale.map(|_| 0),
    };
    let place = |name: &str, offset, first, last| Placement {
        name: name.to_owned(),
        memory: MemoryKind::Ocm,
        offset,
        bytes: 4096,
        first,
        last,
    };
    RunReport {
        network: "a <small> network".to_owned(),
        target: QC_U.to_string(),
        machine: Machine::of(&QC_U),
        entries: 1,
        figures: figures(3),
        constant_bytes: 131_072,
        latency_s: 1.765e-6,
        frames_per_s: 566_666.7,
        energy: Energy::of(std::iter::empty(), &Machine::of(&QC_U)),
        macs_by_operator: vec![OperatorMacs { op: "QLinearConv".to_owned(), nodes: 2, macs: 12_000_000 }],
        inputs: vec![tensor("pixel_values", "i8", Some(0.018_658_448))],
        outputs: vec![tensor("labels", "i32", None)],
        kernels: vec![kernel("pc00", 1), kernel("pc01", 2)],
        memory: vec![place("x", 0, 0, 0), place("y", 4096, 0, 1)],
        notes: vec!["node `n`: is slow".to_owned()],
    }
}

#[test]
fn a_summary_and_its_details() {
    let options = TextOptions::default();
    insta::assert_snapshot!(format!("{}\n{}", summary(&report(), &options), details(&report(), &options)));
}

#[test]
fn bars_of_kernels_end_where_their_cycles_do() {
    let table = tables::kernels(&report());
    let shares: Vec<f64> = table.rows.iter().map(Row::share).collect();
    assert!((shares[0] - 0.5).abs() < 1e-9 && (shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn a_page_stands_alone_and_is_well_formed() {
    let mut page = Page::new("run");
    page.chapter("city19");
    page.picture("a <panel>", &RgbImage::from_pixel(2, 2, Rgb([1, 2, 3])));
    page.run(&report());
    let text = page.finish();
    assert!(text.contains("a &lt;small&gt; network") && !text.contains("<small>"), "names are escaped");
    assert!(text.contains("src=\"data:image/png;base64,iVBOR"), "pictures are inside");
    for outside in ["http", "<script", "<link", "url("] {
        assert!(!text.contains(outside), "`{outside}` leads elsewhere");
    }
    for tag in ["table", "tr", "svg", "figure", "p", "h3", "div", "title", "body", "html"] {
        let opened = text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert_eq!(text.matches("bytes from").count(), 2, "a rectangle for each tensor of the map");
}

#[test]
fn json_has_the_names_of_the_tables() {
    let json: serde_json::Value = serde_json::from_str(&report().to_json()).unwrap();
    assert_eq!(json["cycles"]["by_class"]["data_ocm"], 600);
    assert_eq!(
        (&json["macs"], &json["peak"]["temp_ext_bytes"], &json["entries"]),
        (&12_000_000.into(), &0.into(), &1.into())
    );
    assert_eq!(json["kernels"][1]["cycles"]["total"], 2000);
    assert_eq!(json["wall_s"]["simulate"], 0.5);
    let again: RunReport = serde_json::from_value(json).unwrap();
    assert_eq!(again, report());
}
