//! `bless-costs` on a crate of its own, whose test writes snapshots as insta does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

const TEST: &str = r#"
use std::{env, fs, path::Path};

fn snapshot(name: &str, now: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        fs::write(&file, now).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), now);
}

#[test]
fn snapshots() {
    snapshot("double.snap", "kernel double on QC-U\ncycles 900 (1.2 of the bound 800)\n");
    snapshot("text.snap", "an error, in other words\n");
    snapshot("new.snap", "something new\n");
    assert!(env::var("FAILS").is_err(), "for another reason");
}
"#;

/// A crate with a snapshot of costs and one of a text, both of yesterday.
fn krate(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    for (file, text) in [
        ("Cargo.toml", "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n"),
        ("src/lib.rs", ""),
        ("tests/costs.rs", TEST),
        ("tests/snapshots/double.snap", "kernel double on QC-U\ncycles 1000 (1.2 of the bound 800)\n"),
        ("tests/snapshots/text.snap", "an error\n"),
    ] {
        let file = dir.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
        fs::write(file, text).expect("it can be written");
    }
    dir
}

fn bless(dir: &Path, set: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bless-costs"));
    command.arg("--root").arg(dir).args(["--test", "costs"]).env_remove("CARGO_TARGET_DIR").envs(set.iter().copied());
    command.output().expect("it runs")
}

#[test]
fn costs_are_accepted_and_nothing_else_is() {
    let dir = krate("bless");
    let out = bless(&dir, &[]);
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{text}{errors}");
    assert!(text.contains("double, double on QC-U: 1000 -> 900 cycles (-10.0 %)\n1 figures moved\n"), "{text}");
    assert!(text.contains("text.snap: no costs, left as it was\n"), "{text}");
    assert!(text.contains("new.snap: no costs, not kept\n"), "{text}");
    let read = |name: &str| fs::read_to_string(dir.join("tests/snapshots").join(name)).ok();
    assert_eq!(read("double.snap").as_deref(), Some("kernel double on QC-U\ncycles 900 (1.2 of the bound 800)\n"));
    assert_eq!(read("text.snap").as_deref(), Some("an error\n"));
    assert_eq!(read("new.snap"), None);

    // Nothing moves twice; a test that fails is told.
    let out = bless(&dir, &[("FAILS", "1")]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(!out.status.success(), "{text}");
    assert!(text.contains("0 figures moved\ntests fail for other reasons"), "{text}");
}
