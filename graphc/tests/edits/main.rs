//! What users put in the places of generated texts: hand edits, forked, listed, refused where the signature drifts, rebased; stubs.

#[path = "../support/mod.rs"]
mod support;

mod stubs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use graphc::edits::{Edit, EditError, Edits, Generated};
use graphc::emit::{Emission, Emitted, emit};
use graphc::import::{Options, import};
use graphc::onnx::Model;
use graphc::plan::{kernel, plan};
use graphc::rewrite;
use iss::target::QC_U;
use prost::Message;
use support::small::encoder_block;

fn emitted() -> Emitted {
    let (graph, _) = rewrite::all(&encoder_block(16, 2, 4, 8).build()).unwrap();
    emit(&plan(graph, None).unwrap(), &Emission { target: QC_U }).unwrap()
}

/// A folder that `graphc compile` has made, and one for edits beside it.
struct Folders {
    _held: tempfile::TempDir,
    of: PathBuf,
    kernels: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let (model, of, kernels) = (held.path().join("m.onnx"), held.path().join("out"), held.path().join("edits"));
        std::fs::write(&model, encoder_block(16, 2, 4, 8).model().encode_to_vec()).unwrap();
        let args = ["compile", model.to_str().unwrap(), "--out", of.to_str().unwrap()];
        let done = Command::new(env!("CARGO_BIN_EXE_graphc")).args(args).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        Folders { _held: held, of, kernels }
    }

    fn graphc(&self, args: &[&str]) -> Output {
        let folders = ["--of", self.of.to_str().unwrap(), "--kernels", self.kernels.to_str().unwrap()];
        Command::new(env!("CARGO_BIN_EXE_graphc")).args(args).args(folders).output().unwrap()
    }

    fn change(file: &Path, from: &str, to: &str) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "`{from}` is in\n{text}");
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_fork_is_listed_and_rebased() {
    let folders = Folders::new();
    let forked = folders.graphc(&["fork", "ffn"]);
    assert_eq!((forked.status.code(), text(&forked.stderr).as_str()), (Some(0), ""));
    let (edit, generated) = (folders.kernels.join("ffn.rs"), folders.of.join("kernels/ffn.rs"));
    assert_eq!(std::fs::read(&edit).unwrap(), std::fs::read(&generated).unwrap());
    let again = folders.graphc(&["fork", "ffn"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("ffn.rs` is there already"), "{}", text(&again.stderr));

    Folders::change(&edit, "    #[kernel]\n", "    #[kernel]\n    #[edit(\"nothing yet\")]\n");
    let list = text(&folders.graphc(&["edits"]).stdout);
    assert!(list.contains("ffn") && list.contains("+1 -0") && list.contains("nothing yet"), "{list}");
    assert!(list.contains("as forked") && list.contains("(+0.0 %)") && list.contains("equal"), "{list}");

    Folders::change(&generated, "GMAC", "billion steps");
    let list = text(&folders.graphc(&["edits"]).stdout);
    assert!(list.contains("has changed: rebase") && list.contains("billion steps"), "{list}");
    let json = folders.graphc(&["edits", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json[0]["kernel"], &json[0]["added"]), (&"ffn".into(), &1.into()));
    assert_eq!(json[0]["effect"]["cycles_before"], json[0]["effect"]["cycles_after"]);
    assert!(json[0]["base_moved"].as_str().unwrap().contains("+"));

    let rebased = folders.graphc(&["rebase", "ffn"]);
    assert_eq!((rebased.status.code(), text(&rebased.stderr).as_str()), (Some(0), ""));
    let both = std::fs::read_to_string(&edit).unwrap();
    assert!(both.contains("nothing yet") && both.contains("billion steps"), "{both}");
    assert!(text(&folders.graphc(&["edits"]).stdout).contains("as forked"));
}

/// The worked example of `models/segformer/examples`.
#[test]
fn the_example_saves_cycles_and_changes_no_result() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/segformer");
    let model = Model::read(&models.join("networks/segformer_b0_city19_256x512_labels_int8_qop.onnx")).unwrap();
    let (graph, _) = rewrite::all(&import(&model, &Options::default()).into_graph().unwrap()).unwrap();
    let cut = kernel::parse(include_str!("../../boundaries/segformer_b0.txt")).unwrap();
    let generated = Generated::of(&emit(&plan(graph, Some(&cut)).unwrap(), &Emission { target: QC_U }).unwrap());
    let edits = Edits::open(&models.join("examples/kernels")).unwrap();
    let edit = edits.of("pc02").unwrap();
    let state = edit.state(generated.text("pc02").unwrap()).unwrap();
    assert_eq!(state.base_moved, None, "`graphc rebase pc02` brings the example up to what is generated");
    assert!(
        state.drift.is_none() && state.says[0].starts_with("query, head, projection and sum in one walk"),
        "{state:?}"
    );
    let effect = generated.effect(edit).unwrap();
    assert_eq!((effect.changed_bytes, effect.output_bytes), (0, 8192 * 32));
    // 63,288 of 80,335 cycles.
    assert!(effect.cycles_after * 100 < effect.cycles_before * 80, "{effect:?}");
}

#[test]
fn compile_takes_edits() {
    let folders = Folders::new();
    assert!(folders.graphc(&["fork", "ffn"]).status.success());
    Folders::change(&folders.kernels.join("ffn.rs"), "    #[kernel]\n", "    #[kernel]\n    #[edit(\"by hand\")]\n");
    let model = folders.of.parent().unwrap().join("m.onnx");
    let (model, out) = (model.to_str().unwrap(), folders.of.with_file_name("edited"));
    let args = ["compile", model, "--out", out.to_str().unwrap(), "--kernels", folders.kernels.to_str().unwrap()];
    let done = Command::new(env!("CARGO_BIN_EXE_graphc")).args(args).output().unwrap();
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
    assert!(text(&done.stdout).contains("by hand"), "{}", text(&done.stdout));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert!(read("kernels/ffn.rs").contains("by hand"));
    assert!(read("tests/snapshots/kernels__ffn_source.snap").contains("by hand"));
    assert!(read("src/lib.rs").contains("pub mod ffn;"));
    assert!(read("tests/kernels.rs").contains(".expect_bytes("));
    assert!(read("Cargo.toml").contains("name = \"edited\""));
}

#[test]
fn where_both_have_changed_a_line_nothing_is_replaced() {
    let folders = Folders::new();
    assert!(folders.graphc(&["fork", "ffn"]).status.success());
    let (edit, generated) = (folders.kernels.join("ffn.rs"), folders.of.join("kernels/ffn.rs"));
    Folders::change(&edit, "GMAC", "by hand");
    Folders::change(&generated, "GMAC", "generated");
    let before = std::fs::read(&edit).unwrap();
    let refused = folders.graphc(&["rebase", "ffn"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("both texts have changed the same lines"), "{}", text(&refused.stderr));
    assert_eq!(std::fs::read(&edit).unwrap(), before);
    let conflict = std::fs::read_to_string(folders.kernels.join("ffn.rs.conflict")).unwrap();
    assert!(conflict.contains("<<<<<<<") && conflict.contains("by hand") && conflict.contains("generated"));
}

#[test]
fn a_signature_that_drifts_is_refused_with_the_field() {
    let mut emitted = emitted();
    let before = emitted.clone();
    let base = emitted.sources["ffn.rs"].clone();
    let edit = |text: String| {
        let folder = tempfile::tempdir().unwrap();
        graphc::edits::replace(folder.path(), &Edit { kernel: "ffn".to_owned(), text, base: base.clone() }).unwrap();
        Edits::open(folder.path()).unwrap()
    };
    let cases = [
        (
            "    pub fn ffn(\n",
            "    pub fn ffn(\n        more: &Ocm<i8, Vector<4>>,\n",
            "the name of parameter 1 is `more`",
        ),
        (
            "Ocm<i8, Stream<64, 16>>",
            "Ocm<i8, Stream<64, 20>>",
            "is `&Ocm<i8, Stream<64, 20>>`, generated is `&Ocm<i8, Stream<64, 16>>`",
        ),
    ];
    for (from, to, wanted) in cases {
        assert!(base.contains(from), "{base}");
        let errors = edit(base.replacen(from, to, 1)).apply(&mut emitted).expect_err("another signature");
        let error = errors[0].to_string();
        assert!(error.starts_with("kernel `ffn`: ") && error.contains(wanted), "{error}");
        assert_eq!(emitted, before, "nothing is replaced");
    }
    let errors = edit(base.replacen("pub fn ffn(", "pub fn ffn((", 1)).apply(&mut emitted).expect_err("no text");
    assert!(matches!(&errors[0], EditError::Text { .. }), "{}", errors[0]);
    let errors = edit(base.replacen("pub fn ffn", "pub fn other", 1)).apply(&mut emitted).expect_err("another name");
    assert!(errors[0].to_string().contains("no"), "{}", errors[0]);
    let states =
        edit(base.replacen("    #[kernel]\n", "    // By hand.\n    #[kernel]\n", 1)).apply(&mut emitted).unwrap();
    assert_eq!((states[0].added, states[0].removed), (1, 0));
    assert!(emitted.sources["ffn.rs"].contains("// By hand."));
}

#[test]
fn folders_that_are_none() {
    let folders = Folders::new();
    let error = |args: &[&str]| {
        let done = folders.graphc(args);
        assert_eq!(done.status.code(), Some(2));
        text(&done.stderr)
    };
    let unknown = error(&["fork", "fnn"]);
    assert!(unknown.contains("there is no kernel `fnn`\nhelp: there are `ffn`"), "{unknown}");
    assert!(error(&["edits"]).contains("edits`"));
    std::fs::create_dir_all(&folders.kernels).unwrap();
    std::fs::write(folders.kernels.join("ffn.rs"), "").unwrap();
    assert!(error(&["edits"]).contains("has no base"));
}
