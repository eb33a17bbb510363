//! The calibration table: tolerances on `QC-U`, figures of our own rows pinned, the page in the docs current.

use std::sync::LazyLock;

use iss::calibrate::{Role, Table, calibrate, own_rows, rows};
use iss::target::{Param, QC_U, Standing, Target};

/// Measuring checks that every profile adds up.
static TABLE: LazyLock<Table> = LazyLock::new(|| calibrate().unwrap_or_else(|error| panic!("{error}")));

#[test]
fn published_figures_are_met_on_the_default_target() {
    let misses: Vec<_> = TABLE.rows.iter().filter(|row| !row.holds()).collect();
    assert!(misses.is_empty(), "{misses:#?}");
    let asserted: Vec<_> = TABLE.rows.iter().filter(|row| row.tolerance_pct.is_some()).collect();
    assert!(asserted.iter().all(|row| row.target == "QC-U"), "only `QC-U` is asserted");
    assert_eq!(asserted.len(), 9, "rows 1 to 7, of which 2 and 5 are two each");
}

#[test]
fn figures_are_pinned() {
    insta::assert_snapshot!(TABLE.to_text(None));
}

#[test]
fn page_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/calibration.md");
    let page = TABLE.to_markdown();
    if std::env::var_os("CCL_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("the page is in a folder")).expect("the docs folder can be made");
        std::fs::write(&path, &page).expect("the docs folder can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/calibration.md is not current; rewrite it by CCL_BLESS=1 cargo test -p iss");
}

#[test]
fn json_has_the_promised_columns() {
    let json: serde_json::Value = serde_json::from_str(&TABLE.to_json()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), TABLE.rows.len());
    for row in rows {
        assert!(row["target"].is_string() && row["id"].is_string() && row["simulated"].is_u64(), "{row}");
        assert_eq!(row["published"].is_null(), row["miss_pct"].is_null(), "{row}");
    }
}

#[test]
fn rows_have_different_ids() {
    let mut ids: Vec<_> = rows().iter().map(|row| row.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
}

/// The target with another value of a parameter: twice as much where that is legal, or half, or the smallest two.
fn changes(param: Param) -> Vec<Target> {
    let value = QC_U.spec().timing.get(param);
    let others = [value * 2, value / 2, 0, 1, 2];
    let legal = others.into_iter().filter(|v| *v != value && param.range().contains(v));
    legal.filter_map(|v| QC_U.to_builder().timing(param, v).build().ok()).collect()
}

#[test]
fn a_change_of_any_parameter_shows() {
    let figure = |row: &iss::calibrate::Row, target: &Target| row.measure(target).map(|m| m.simulated);
    let rows = own_rows();
    let mut pinned = Vec::new();
    for row in &rows {
        let Role::Pins(params) = row.role else { panic!("`{}` pins nothing", row.id) };
        let before = figure(row, &QC_U).unwrap();
        for param in params {
            // A program that no longer runs shows the change as well.
            let shows = changes(*param).iter().any(|target| figure(row, target) != Ok(before));
            assert!(shows, "`{}` does not change with `{}`", row.id, param.name());
            pinned.push(*param);
        }
    }
    for param in Param::ALL {
        let free = param.standing() == Standing::Free;
        assert!(pinned.contains(param) || !free, "no row pins `{}`, which is free", param.name());
    }
    let unpinned: Vec<_> = Param::ALL.iter().filter(|p| !pinned.contains(p)).map(|p| p.name()).collect();
    assert!(unpinned.is_empty(), "no row of our own pins {unpinned:?}");
}
