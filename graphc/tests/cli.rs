//! The command as a user runs it: output, errors, exit codes.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use graphc::{graph::Tensor, npy};
use prost::Message;
use support::{Net, list};

fn graphc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_graphc")).args(args).output().unwrap()
}

fn write(folder: &Path, net: &Net) -> String {
    let path = folder.join("model.onnx");
    std::fs::write(&path, net.model().encode_to_vec()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn check_lists_nodes_and_ends_with_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let net = Net::new(17).input("x", &["n", "4"]).constant("w", ndarray::Array2::<f32>::zeros((4, 5)).into_dyn());
    let good = net.clone().node("MatMul", &["x", "w"], &["m"]).node("Identity", &["m"], &["y"]).output("y");
    let file = write(folder.path(), &good);
    let done = graphc(&["check", &file, "--dim", "n=3"]);
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
    let expected = "\
mapped      MatMul    MatMul:m    f32[3x5]  matrix product
decomposed  Identity  Identity:y  f32[3x5]  nothing
input `x`: f32[3x4]
output `y`: f32[3x5]
2 nodes: 1 mapped, 1 decomposed, 0 refused; 0.000 GMAC; opset 17
";
    assert_eq!(text(&done.stdout), expected);
    let json = graphc(&["check", &file, "--dim", "n=3", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["accepted"], &json["macs"]), (&true.into(), &60.into()));
    assert_eq!(json["nodes"][1]["status"], "decomposed");

    let file = write(folder.path(), &net.node("MatMul", &["w", "x"], &["m"]).node("Loop", &["m"], &["y"]).output("y"));
    let refused = graphc(&["check", &file, "--dim", "n=3"]);
    assert_eq!(refused.status.code(), Some(1));
    let errors = text(&refused.stderr);
    assert!(
        errors.contains("error: node `MatMul:m` (MatMul, opset 17): product: `rows of the second matrix`"),
        "{errors}"
    );
    assert!(errors.contains("help: accepted: unroll it"), "{errors}");
    assert_eq!(graphc(&["check", &file]).status.code(), Some(1));
}

#[test]
fn compile_writes_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), &support::small::encoder_block(16, 2, 4, 8));
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let cut = folder.path().join("cut.txt");
    std::fs::write(&cut, "stem block/stem/Conv_output_0\nrest *\n").unwrap();
    let done = graphc(&["compile", &file, "--out", out, "--boundaries", cut.to_str().unwrap()]);
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
    let said = text(&done.stdout);
    assert!(said.contains("\n2 kernels, ") && said.ends_with("bytes on the chip\n"), "{said}");
    let read = |name: &str| std::fs::read(Path::new(out).join(name)).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&read("manifest.json")).unwrap();
    assert_eq!(manifest["constant_bytes"], read("constants.bin").len());
    assert_eq!(manifest["kernels"][0]["name"], "stem");
    assert!(text(&read("kernels/stem.rs")).contains("pub fn stem("));

    std::fs::write(&cut, "stem nowhere\n").unwrap();
    let refused = graphc(&["compile", &file, "--out", out, "--boundaries", cut.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no kernel writes a tensor `nowhere`"), "{}", text(&refused.stderr));
    let nowhere = graphc(&["compile", &file, "--out", "/dev/null/out"]);
    assert!(text(&nowhere.stderr).contains("cannot write to `/dev/null/out`"), "{}", text(&nowhere.stderr));
}

#[test]
fn compile_takes_its_own_stale_kernels_away_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), &support::small::encoder_block(16, 2, 4, 8));
    let out = folder.path().join("out");
    let compile = |cut: &str| {
        std::fs::write(folder.path().join("cut.txt"), cut).unwrap();
        let cut = folder.path().join("cut.txt");
        graphc(&["compile", &file, "--out", out.to_str().unwrap(), "--boundaries", cut.to_str().unwrap()])
    };
    let kernels = || {
        let entries = std::fs::read_dir(out.join("kernels")).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert!(compile("first *\n").status.success());
    std::fs::write(out.join("kernels/mine.rs"), "// by hand").unwrap();
    assert!(compile("second *\n").status.success());
    assert_eq!(kernels(), ["mine.rs", "second.rs"]);

    // A manifest of somebody else's making leads nowhere.
    let victim = folder.path().join("victim.rs");
    std::fs::write(&victim, "").unwrap();
    let names = r#"{"kernels": [{"file": "../../victim.rs"}, {"file": ".."}, {"file": 3}, {"file": "mine.rs/"}]}"#;
    std::fs::write(out.join("manifest.json"), names).unwrap();
    assert!(compile("third *\n").status.success());
    assert!(victim.exists());
    assert_eq!(kernels(), ["mine.rs", "second.rs", "third.rs"], "the second is not known any more");

    // What cannot be written leaves everything as it was.
    let before = std::fs::read(out.join("constants.bin")).unwrap();
    std::fs::create_dir(out.join("manifest.json.part")).unwrap();
    let failed = compile("fourth *\n");
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("cannot write to `"), "{}", text(&failed.stderr));
    assert_eq!(std::fs::read(out.join("constants.bin")).unwrap(), before);
    assert_eq!(kernels(), ["mine.rs", "second.rs", "third.rs"]);
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let net = Net::new(17).input("x", &["2"]).node("Neg", &["x"], &["y"]).output("y");
    let file = write(folder.path(), &net);
    npy::write(Path::new(&at("long.npy")), &list(&[1.0_f32, 2.0, 3.0])).unwrap();
    npy::write(Path::new(&at("whole.npy")), &list(&[1_i32, 2])).unwrap();
    std::fs::write(at("cut.npy"), &npy::encode(&list(&[1.0_f32, 2.0]))[..70]).unwrap();
    std::fs::write(at("noise.png"), [0x89, b'P', b'N', b'G', 1, 2, 3]).unwrap();
    for (input, says) in [
        ("x=long.npy", "input `x` is f32[3], expected f32[2]"),
        ("x=whole.npy", "input `x` is i32[2], expected f32[2]"),
        ("x=cut.npy", "input `x`"),
        ("x=noise.png", "input `x`"),
        ("x=absent.npy", "input `x`"),
        ("z=long.npy", "no input `z`"),
    ] {
        let (name, file_name) = input.split_once('=').unwrap();
        let input = format!("{name}={}", at(file_name));
        for command in [vec!["golden", &file, "--output-dir", &at("out")], vec!["validate", &file]] {
            let done = graphc(&[&command[..], &["--input", &input]].concat());
            assert_eq!(done.status.code(), Some(2), "{command:?} {input}");
            assert!(text(&done.stderr).contains(says), "{command:?} {input}: {}", text(&done.stderr));
        }
    }
    assert!(!Path::new(&at("out")).exists(), "nothing is written before all is known to be well");
}

#[test]
fn files_that_are_no_models() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.onnx");
    std::fs::write(&path, [0xff; 100]).unwrap();
    for (file, says) in
        [(path.to_str().unwrap(), "not an ONNX model"), ("absent.onnx", "cannot read"), (".", "no plain file")]
    {
        let done = graphc(&["check", file]);
        assert_eq!(done.status.code(), Some(2), "{file}");
        assert!(text(&done.stderr).contains(says), "{}", text(&done.stderr));
    }
    assert_eq!(graphc(&["check", "x.onnx", "--dim", "n"]).status.code(), Some(2));
}

#[test]
fn golden_runs_on_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let net = Net::new(17).input("x", &["2"]).node("Neg", &["x"], &["y:0/out"]).output("y:0/out");
    let file = write(folder.path(), &net);
    npy::write(Path::new(&at("x.npy")), &list(&[1.0_f32, -2.0])).unwrap();
    let done = graphc(&["golden", &file, "--input", &format!("x={}", at("x.npy")), "--output-dir", &at("out")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let expected: Tensor = list(&[-1.0_f32, 2.0]);
    assert_eq!(npy::read(Path::new(&at("out/y_0_out.npy"))).unwrap(), expected);
    let missing = graphc(&["golden", &file, "--output-dir", &at("out")]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("input `x` (f32[2]) is missing"));
}

#[test]
fn quantise_and_cut_write_models() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut random = support::Lcg(2);
    let net = Net::new(17)
        .input("x", &["3", "4"])
        .constant("w", random.tensor(&[4, 5], 1.0))
        .constant("b", random.tensor(&[5], 1.0))
        .node("MatMul", &["x", "w"], &["product"])
        .node("Add", &["product", "b"], &["sum"])
        .node("Softmax", &["sum"], &["y"])
        .output("y");
    let float = write(folder.path(), &net);
    let (to, ranges) = (at("int8.onnx"), at("ranges.json"));
    let quantise = |more: &[&str]| graphc(&[&["quantize", &float, "--output", &to], more].concat());
    let done = quantise(&["--synthetic", "4", "--ranges", &ranges]);
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
    let table = text(&done.stdout);
    for row in [
        "operator                 quantised   moved   float",
        "MatMul                           1       0       0",
        "Softmax                          0       0       1  excluded",
    ] {
        assert!(table.contains(row), "{table}");
    }
    let check = graphc(&["check", &to]);
    assert!(text(&check.stdout).contains("QLinearMatMul"), "{}", text(&check.stdout));
    let json = quantise(&["--from-ranges", &ranges, "--format", "qdq", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["operators"][0]["op"], "Add");
    assert_eq!(json["scales"]["count"], 3);

    let (part, part_ranges) = (at("part.onnx"), at("part.json"));
    let cut = |to: &str| {
        let ends = ["--from", "product", "--to", to, "--output", &part];
        graphc(&[&["cut", &float][..], &ends, &["--ranges", &ranges, "--output-ranges", &part_ranges]].concat())
    };
    let done = cut("y");
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""));
    assert_eq!(text(&done.stdout), "input `product`: f32[3x5]\noutput `y`: f32[3x5]\n2 of 3 nodes, 0 KiB\n");
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&part_ranges).unwrap()).unwrap();
    assert_eq!(kept.as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "product", "sum", "y"]);
    let wrong = cut("summ");
    assert_eq!(wrong.status.code(), Some(2));
    let error = text(&wrong.stderr);
    assert!(error.contains("--to `summ`: the network has no such tensor\n  help: did you mean `sum`?"), "{error}");

    // What was there is as it was if something is wrong.
    let before = std::fs::read(&to).unwrap();
    for (more, says) in [
        (vec!["--synthetic", "0"], "draws nothing"),
        (vec!["--calibrate", folder.path().to_str().unwrap()], "has no file that ends in"),
        (vec!["--synthetic", "1", "--exclude", "Softmacks"], "did you mean `Softmax"),
        (vec!["--synthetic", "1", "--exclude", "*"], "no node can be quantised"),
    ] {
        let done = quantise(&more);
        let error = text(&done.stderr);
        assert!(done.status.code() == Some(2) && error.contains(says), "{more:?}: {error}");
        assert_eq!(std::fs::read(&to).unwrap(), before);
    }
    let again = graphc(&["quantize", &to, "--output", &at("twice.onnx"), "--synthetic", "1"]);
    assert!(text(&again.stderr).contains("the network is quantised already"), "{}", text(&again.stderr));
}

#[test]
fn outputs_are_none_of_the_files_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let net = Net::new(17).input("x", &["2", "4"]).node("Relu", &["x"], &["y"]).output("y");
    let file = write(folder.path(), &net);
    let before = std::fs::read(&file).unwrap();
    let around = folder.path().join(".").join("model.onnx");
    let (around, other) = (around.to_str().unwrap(), folder.path().join("other"));
    let other = other.to_str().unwrap();
    let quantise = |output, more: [&str; 4]| graphc(&[&["quantize", &file, "--output", output][..], &more].concat());
    for (done, says) in [
        (quantise(around, ["--synthetic", "1", "--seed", "0"]), "would be written over what is read"),
        (quantise(other, ["--synthetic", "1", "--ranges", other]), "is given for two outputs"),
        (graphc(&["cut", &file, "--from", "x", "--to", "y", "--output", around]), "would be written over what is read"),
    ] {
        assert!(text(&done.stderr).contains(says), "{}", text(&done.stderr));
        assert_ne!(done.status.code(), Some(0));
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(!Path::new(other).exists());
}

#[test]
fn float_models_run_with_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut random = support::Lcg(4);
    let net = Net::new(17)
        .input("x", &["1", "8", "16"])
        .constant("w", random.tensor(&[16, 16], 0.5))
        .node("MatMul", &["x", "w"], &["product"])
        .node("Softmax", &["product"], &["y"])
        .output("y");
    let file = write(folder.path(), &net);
    npy::write(Path::new(&at("x.npy")), &random.tensor(&[1, 8, 16], 1.0)).unwrap();
    let input = format!("x={}", at("x.npy"));
    let run =
        |more: &[&str], to: &str| graphc(&[&["run", &file, "--input", &input, "--output-dir", &at(to)], more].concat());
    let refused = run(&[], "plain");
    assert_ne!(refused.status.code(), Some(0));
    assert!(text(&refused.stderr).contains("`--ranges auto`"), "{}", text(&refused.stderr));
    let auto = run(&["--ranges", "auto"], "auto");
    assert_eq!((auto.status.code(), text(&auto.stderr).as_str()), (Some(0), ""));
    let note = "note: a float model, quantised to int8 with ranges of the golden run of the given inputs; 1 of 2 nodes stay between";
    assert!(text(&auto.stdout).starts_with(note), "{}", text(&auto.stdout));
    let ranges = at("ranges.json");
    let calibrate = ["--calibrate", &at("x.npy"), "--ranges", &ranges, "--output", &at("int8.onnx")];
    assert_eq!(graphc(&[&["quantize", &file][..], &calibrate].concat()).status.code(), Some(0));
    assert_eq!(run(&["--ranges", &ranges], "file").status.code(), Some(0));
    let y = |to: &str| npy::read(&Path::new(&at(to)).join("y.npy")).unwrap();
    assert_eq!(y("auto"), y("file"));
    let sums = y("auto").to_vec::<f32>().unwrap().chunks(16).map(|row| row.iter().sum::<f32>()).collect::<Vec<_>>();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 0.1), "{sums:?}");
    let absent = run(&["--ranges", &at("absent.json")], "none");
    assert!(text(&absent.stderr).contains("cannot read `"), "{}", text(&absent.stderr));
}
