//! Attention stubs: called where they are wanted, told steps and heads, refused with the place of what is wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use graphc::compose::{Composition, Entries};
use graphc::edits::{self, Edit, Edits};
use graphc::emit::{Emission, Emitted, emit_with};
use graphc::graph::Tensor;
use graphc::plan::{kernel, plan};
use graphc::run::program::{Outcome, Program};
use graphc::stub::{AttentionStub, Slot};
use graphc::{npy, rewrite};
use iss::sim::Options;
use iss::target::QC_U;
use prost::Message;

use crate::support::small::{Quantised, encoder_block};
use crate::support::{Lcg, Net, scalar};

/// What heads give, one after the other; its step is 0.05.
const ROWS: &str = "block/attention/MatMul_1_output_0";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/segformer/examples").join(name)
}

/// A network whose kernels end at these tensors, and behind the heads.
fn program(net: &Net, cuts: &[&str], stub: Option<&AttentionStub>) -> Result<(Program, Emitted), String> {
    let (graph, _) = rewrite::all(&net.build()).unwrap();
    let before: String = cuts.iter().enumerate().map(|(i, tensor)| format!("before_{i} {tensor}\n")).collect();
    let cut = kernel::parse(&format!("{before}heads {ROWS}\nrest *\n")).unwrap();
    let plan = plan(graph, Some(&cut)).unwrap();
    let emitted = emit_with(&plan, &Emission { target: QC_U }, stub).map_err(|errors| errors[0].to_string())?;
    let entries = Entries::Count(emitted.manifest.kernels.len());
    let program = Program::compile(plan, emitted.clone(), &Composition { entries, prefetch: true }, &QC_U);
    Ok((program.map_err(|error| error.to_string())?, emitted))
}

/// A block of two heads of 8 features, 32 queries and keys.
fn compile(stub: Option<&AttentionStub>) -> Result<(Program, Emitted), String> {
    program(&encoder_block(16, 2, 4, 8), &[], stub)
}

fn run_on(program: &Program, image: &[usize]) -> Outcome {
    let inputs: HashMap<String, Tensor> = [("image".to_owned(), Lcg(11).tensor(image, 4.0))].into();
    program.run(&inputs, &Options::default(), |_| {}).unwrap()
}

fn run(program: &Program) -> Outcome {
    run_on(program, &[1, 3, 16, 32])
}

/// What heads give: bytes in words of four features, the first head's first.
fn rows(outcome: &Outcome) -> Vec<i8> {
    outcome.tensors[ROWS].iter().map(|&byte| byte as i8).collect()
}

/// A stub whose body is `body`.
fn text(body: &str) -> String {
    format!(
        "use ccl_runtime::ccl;

ccl! {{
    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    pub fn mine<
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        row: &mut Lrm<i8, D>,
        partition: usize,
        head: usize,
    ) {{
        {body}
    }}
}}
"
    )
}

#[test]
fn a_post_projection_stub_is_called_for_each_row() {
    let stub = AttentionStub::read(&example("clip_rows.rs")).unwrap();
    assert_eq!((stub.function.as_str(), stub.slot), ("clip_rows", Slot::PostProjection));
    let (plain, _) = compile(None).unwrap();
    let (filled, emitted) = compile(Some(&stub)).unwrap();
    let (plain, filled) = (run(&plain), run(&filled));
    // 2.0 is 40 steps of 0.05.
    let clipped: Vec<i8> = rows(&plain).into_iter().map(|v| v.clamp(-40, 40)).collect();
    assert_ne!(rows(&plain), clipped);
    assert_eq!(rows(&filled), clipped);
    let text = &emitted.sources["heads.rs"];
    assert!(text.contains("use super::clip_rows::clip_rows as post_projection;"), "{text}");
    // 0.05 and 20.0 as 24 bits and a shift.
    assert!(text.contains("head_by_stub::<32, 32, 32, 8, 1, 32, 25, 23, 256, 13421773, 28, 10485760, 19>("), "{text}");
    assert_eq!(emitted.sources["clip_rows.rs"], stub.text);
    let note = "attention stub `clip_rows` of `clip_rows.rs` fills `post_projection` in kernels `heads`";
    assert!(filled.report.notes.contains(&note.to_owned()), "{:?}", filled.report.notes);
}

#[test]
fn a_stub_is_told_which_head_it_is() {
    let text = text(
        "if head == 1 {\n            for d in 0..D {\n                row[d] = splat(partition as i8);\n            }\n        }",
    );
    let stub = AttentionStub::parse("somewhere/frame.rs", &text).unwrap();
    let (plain, _) = compile(None).unwrap();
    let (filled, emitted) = compile(Some(&stub)).unwrap();
    let (mut expected, filled) = (rows(&run(&plain)), rows(&run(&filled)));
    let second = expected.len() / 2;
    expected[second..].fill(0);
    assert_eq!(filled, expected);
    assert!(emitted.sources.contains_key("stub_frame.rs"), "`frame` is the entry point");
}

/// Runs the command in a folder with the model of the block.
fn graphc(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let model = folder.join("m.onnx");
    if !model.exists() {
        std::fs::write(&model, encoder_block(16, 2, 4, 8).model().encode_to_vec()).unwrap();
    }
    let done = Command::new(env!("CARGO_BIN_EXE_graphc")).current_dir(folder).args(args).output().unwrap();
    let says = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), says(done.stdout), says(done.stderr))
}

#[test]
fn a_package_has_the_stub_as_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let stub = example("clip_rows.rs");
    let with_stub = ["compile", "m.onnx", "--out", "net", "--attention-stubs", stub.to_str().unwrap()];
    let (code, out, err) = graphc(folder.path(), &with_stub);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("note: attention stub `clip_rows` of `clip_rows.rs` fills `post_projection`"), "{out}");
    assert!(out.contains("kernel `attention`: with the stub ") && out.contains(" are not the network's, by "), "{out}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("net").join(name)).unwrap();
    assert_eq!(read("kernels/clip_rows.rs"), std::fs::read_to_string(&stub).unwrap());
    assert!(read("src/lib.rs").contains("#[path = \"../kernels/clip_rows.rs\"]\npub mod clip_rows;\n"));
    let manifest: serde_json::Value = serde_json::from_str(&read("manifest.json")).unwrap();
    assert_eq!(manifest["stub"]["slot"], "post_projection");
    assert_eq!(manifest["stub"]["kernels"], serde_json::json!(["attention"]));
    let tests = read("tests/kernels.rs");
    let of = |name: &str| tests.split("\n#[test]\n").find(|test| test.contains(&format!("fn {name}()"))).unwrap();
    assert!(!of("attention").contains("expect_bytes") && of("attention").contains("the stub's"), "{tests}");
    assert!(of("ffn").contains("expect_bytes"), "{tests}");
    // A stub that changes nothing is held to the golden tensors.
    std::fs::write(folder.path().join("same.rs"), text("let _ = (partition, head, row[0]);")).unwrap();
    let same = ["compile", "m.onnx", "--out", "net", "--attention-stubs", "same.rs"];
    assert_eq!(graphc(folder.path(), &same).0, Some(0));
    assert!(!folder.path().join("net/kernels/clip_rows.rs").exists(), "what the earlier run left is gone");
    let tests = std::fs::read_to_string(folder.path().join("net/tests/kernels.rs")).unwrap();
    assert_eq!(tests.matches("expect_bytes").count(), 3, "{tests}");
}

#[test]
fn a_kernel_by_hand_that_leaves_the_stub_out_is_told() {
    let stub = AttentionStub::read(&example("clip_rows.rs")).unwrap();
    let ((_, plain), (_, mut filled)) = (compile(None).unwrap(), compile(Some(&stub)).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (text, base) = (plain.sources["heads.rs"].clone(), filled.sources["heads.rs"].clone());
    edits::replace(folder.path(), &Edit { kernel: "heads".to_owned(), text, base }).unwrap();
    Edits::open(folder.path()).unwrap().apply(&mut filled).unwrap();
    let note = "kernel `heads` is by hand and does not call the attention stub `clip_rows`";
    assert!(filled.manifest.notes.iter().any(|said| said == note), "{:?}", filled.manifest.notes);
    assert_eq!(filled.manifest.stub.unwrap().kernels, [] as [String; 0]);
}

#[test]
fn run_takes_a_stub_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    npy::write(&folder.path().join("image.npy"), &Lcg(11).tensor(&[1, 3, 16, 32], 4.0)).unwrap();
    let (stub, input) =
        (example("clip_rows.rs"), ["run", "m.onnx", "--input", "image=image.npy", "--output-dir", "out"]);
    let args = [&input[..], &["--json", "cost.json", "--attention-stubs", stub.to_str().unwrap()]].concat();
    let (code, _, err) = graphc(folder.path(), &args);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let json = std::fs::read_to_string(folder.path().join("cost.json")).unwrap();
    assert!(json.contains("attention stub `clip_rows`"), "{json}");
    let (code, _, err) = graphc(folder.path(), &[&input[..], &["--attention-stubs", "nowhere.rs"]].concat());
    assert_eq!(code, Some(2));
    assert!(err.starts_with("error: attention stub `nowhere.rs`: "), "{err}");
}

#[test]
fn what_is_no_stub_is_refused_with_its_place() {
    let good = text("let _ = (partition, head, row[0]);");
    let second = good.replace("use ccl_runtime::ccl;\n", "").replace("mine", "another");
    let cases = [
        ("fn f( {", "s.rs:1:"),
        ("", "s.rs:1:1: no function says which slot it fills: there is no function in a `ccl!` block"),
        (&good.replace("        row:", "        row"), "s.rs:14:13"),
        (
            &good.replace("    #[stub(ccl_runtime::nn::stub::post_projection)]\n", ""),
            "says which slot it fills (there are `mine`)",
        ),
        (&format!("{good}{second}"), "s.rs:25:12: this is a second stub, `mine` is the first"),
        (&good.replace("pub fn", "fn"), "s.rs:6:8: stub `mine` is private"),
        (
            &good.replace("stub::post_projection)", "stub::post_production)"),
            "s.rs:4:12: stub `mine`: there is no slot `ccl_runtime::",
        ),
        (
            &good.replace("stub::post_projection)", "stub::slots::weight)"),
            "s.rs:6:12: stub `mine` fills `ccl_runtime::nn::stub::slots::weight`, which is no slot of an attention",
        ),
        (
            &good.replace("IN_SHIFT", "SHIFT"),
            "s.rs:10:15: stub `mine`: the name of const parameter 4 is `SHIFT`, that of the slot `post_projection` is `IN_SHIFT`",
        ),
        (
            &good.replace("SCRATCH: usize", "SCRATCH: i32"),
            "s.rs:8:15: stub `mine`: const parameter `SCRATCH` is `i32`, that of the slot `post_projection` is `usize`",
        ),
        (
            &good.replace("&mut Lrm<i8, D>", "&mut Lrm<i16, D>"),
            "s.rs:14:9: stub `mine`: parameter `row` is `&mut Lrm<i16, D>`, that of the slot `post_projection` is `&mut Lrm<i8, D>`",
        ),
        (
            &good.replace("        head: usize,\n", "").replace(", head", ""),
            "s.rs:6:12: stub `mine`: the number of parameters is `2`, that of the slot `post_projection` is `3`",
        ),
        (&good.replace("    ) {", "    ) -> Q<i32> {").replace("let _ =", "splat(0);\n let _ ="), "s.rs:"),
    ];
    for (text, wanted) in cases {
        let error = AttentionStub::parse("s.rs", text).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "`{wanted}` is not in\n{error}");
    }
    let drifted =
        AttentionStub::parse("s.rs", &good.replace("&mut Lrm<i8, D>", "&Lrm<i8, D>")).expect_err("another type");
    assert!(
        drifted.to_string().contains("help: take over the signature of the slot:\nfn post_projection<const D: usize")
    );
}

#[test]
fn a_stub_that_cannot_be_compiled_is_told_with_its_place() {
    let stub = AttentionStub::parse("s.rs", &text("elsewhere::f(row, partition, head);")).unwrap();
    let error = compile(Some(&stub)).expect_err("there is no such function");
    assert!(error.contains("s.rs:18:9: `elsewhere::f` is no function of this program"), "{error}");
}

/// Gives what heads give the zero point `z_rows`.
fn shift_rows(net: &mut Net) {
    for node in &mut net.graph.node {
        if node.output[0] == ROWS {
            node.input[7] = "z_rows".to_owned();
        } else if node.input.iter().any(|input| input == "merged") {
            node.input[2] = "z_rows".to_owned();
        }
    }
}

#[test]
fn a_stub_that_nothing_would_call_is_refused() {
    let stub = AttentionStub::read(&example("clip_rows.rs")).unwrap();
    let refused = |net: Net| {
        let (graph, _) = rewrite::all(&net.build()).unwrap();
        let errors = emit_with(&plan(graph, None).unwrap(), &Emission { target: QC_U }, Some(&stub));
        errors.expect_err("nothing calls it")[0].to_string()
    };
    let net = Quantised::image(4, 2, 2).net.constant("w", Lcg(5).int8(&[2, 4, 1, 1]));
    let net = Quantised { net, random: Lcg(1) }.conv("x", "w", "y", &[]).net.output("y");
    let error = refused(net);
    assert!(error.starts_with("attention stub `clip_rows`: the network has no attention"), "{error}");
    let mut shifted = encoder_block(16, 2, 4, 8).constant("z_rows", scalar(3_i8));
    shift_rows(&mut shifted);
    let error = refused(shifted);
    assert!(
        error.contains("its projected rows have the zero point 3, which the attention stub `clip_rows` is not"),
        "{error}"
    );
}

/// Queries, keys and values; steps of 0.05 each.
const PROJECTED: [&str; 3] =
    ["block/attention/q/Add_output_0", "block/attention/k/Add_output_0", "block/attention/v/Add_output_0"];

/// Attention in double precision on what lies on the device: tokens of 16 features in words of four, two heads.
fn attention(outcome: &Outcome) -> Vec<f64> {
    let [q, k, v] = PROJECTED.map(|name| outcome.tensors[name].iter().map(|&b| f64::from(b as i8)).collect::<Vec<_>>());
    let n = q.len() / 16;
    let at = |token: usize, feature: usize| (feature / 4 * n + token) * 4 + feature % 4;
    let mut y = vec![0.0; q.len()];
    for (token, head) in (0..n).flat_map(|token| [(token, 0), (token, 8)]) {
        let score = |key: usize| (head..head + 8).map(|d| q[at(token, d)] * k[at(key, d)]).sum::<f64>() * 0.05 * 0.05;
        let weights: Vec<f64> = (0..n).map(|key| score(key).exp()).collect();
        let total: f64 = weights.iter().sum();
        for d in head..head + 8 {
            y[at(token, d)] = (0..n).map(|key| weights[key] * v[at(key, d)]).sum::<f64>() / total;
        }
    }
    y
}

#[test]
fn a_whole_head_stub_is_near_attention_in_double_precision() {
    let stub = AttentionStub::read(&example("online_softmax.rs")).unwrap();
    assert_eq!(stub.slot, Slot::WholeHead);
    // 96 keys are two chunks of 64, the second of which is filled up.
    for (height, width) in [(4, 8), (8, 12)] {
        let (program, emitted) = program(&encoder_block(16, 2, height, width), &PROJECTED, Some(&stub)).unwrap();
        let text = &emitted.sources["heads.rs"];
        assert!(text.contains("use super::online_softmax::online_softmax as whole_head;"), "{text}");
        let outcome = run_on(&program, &[1, 3, 4 * height, 4 * width]);
        let found = rows(&outcome);
        let differences = attention(&outcome).into_iter().zip(&found).map(|(y, own)| (y - f64::from(*own)).abs());
        // Half a step is rounding. Weights have 12 fraction bits: 96 errors of up to 2^-13 of 127 steps are 0.1 together, as random
        // sums go, and a few times that where they agree.
        let worst = differences.fold(0.0, f64::max);
        assert!(worst < 0.75, "{height} x {width}: {worst}");
        assert!(found.iter().collect::<std::collections::BTreeSet<_>>().len() > 50, "{found:?}");
    }
}

#[test]
fn a_whole_head_stub_takes_no_zero_points() {
    let stub = AttentionStub::read(&example("online_softmax.rs")).unwrap();
    let mut net = encoder_block(16, 2, 4, 8).constant("z_rows", scalar(3_i8));
    shift_rows(&mut net);
    let error = program(&net, &[], Some(&stub)).expect_err("it is asymmetric");
    let wanted = "its queries, keys, values and result have the zero points 0, 0, 0 and 3, which the attention stub `online_softmax`";
    assert!(error.contains(wanted), "{error}");
}
