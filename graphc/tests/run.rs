//! Networks on the simulator: what the kernels give together is what golden operators give, however they are grouped.

#[path = "run/detr.rs"]
mod detr;
mod support;

use std::collections::HashMap;

use graphc::compose::{Composition, Entries};
use graphc::emit::{Emission, emit};
use graphc::golden::{self, Keep};
use graphc::graph::{Graph, Tensor, TensorView};
use graphc::import::{self, import};
use graphc::onnx::Model;
use graphc::plan::plan;
use graphc::quantize::{self, Samples, Synthetic, quantize};
use graphc::rewrite;
use graphc::run::program::{Outcome, Program};
use iss::sim::Options;
use iss::target::QC_U;
use support::small::{Quantised, encoder_block};
use support::{Lcg, Net, float, int, ints, list, scalar};

/// An image of random values within the range of the networks' scales.
fn image(shape: &[usize]) -> HashMap<String, Tensor> {
    HashMap::from([("image".to_owned(), Lcg(11).tensor(shape, 4.0))])
}

#[track_caller]
fn program(net: &Net, composition: &Composition) -> Program {
    program_of(&net.build(), composition)
}

#[track_caller]
fn program_of(graph: &Graph, composition: &Composition) -> Program {
    let (graph, _) = rewrite::all(graph).unwrap();
    let plan = plan(graph, None).unwrap_or_else(|error| panic!("{error}"));
    let emitted = emit(&plan, &Emission { target: QC_U }).unwrap_or_else(|errors| panic!("{}", errors[0]));
    Program::compile(plan, emitted, composition, &QC_U).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn run(program: &Program, inputs: &HashMap<String, Tensor>) -> Outcome {
    program.run(inputs, &Options::default(), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_convolution_is_the_golden_one_to_the_bit() {
    let net = Quantised::image(8, 6, 10).net.constant("w", Lcg(5).int8(&[12, 8, 3, 3]));
    let q = Quantised { net, random: Lcg(1) };
    let net = q.conv("x", "w", "y", &[ints("pads", &[1, 1, 1, 1])]).net.output("y");
    let inputs = image(&[1, 8, 6, 10]);
    let graph = net.build();
    let reference = golden::run(&graph, &inputs, Keep::Outputs).unwrap();
    let outcome = run(&program(&net, &Composition::default()), &inputs);
    assert_eq!(outcome.outputs.len(), 1);
    assert_eq!(outcome.outputs[0].0, "y");
    assert_eq!(&outcome.outputs[0].1, &**reference.get(graph.outputs()[0]).unwrap());
}

#[test]
fn tensors_at_boundaries_are_the_same_however_kernels_are_grouped() {
    let net = encoder_block(16, 2, 4, 8);
    let inputs = image(&[1, 3, 16, 32]);
    let each = run(&program(&net, &Composition { entries: Entries::Count(3), prefetch: true }), &inputs);
    let groups = Entries::parse("first attention ffn\nsecond labels\n").unwrap();
    for composition in [
        Composition::default(),
        Composition { entries: Entries::Count(1), prefetch: false },
        Composition { entries: groups, prefetch: true },
    ] {
        let together = run(&program(&net, &composition), &inputs);
        assert_eq!(together.outputs, each.outputs, "{composition:?}");
        for (name, bytes) in &together.tensors {
            assert_eq!(bytes, &each.tensors[name], "`{name}` of {composition:?}");
        }
    }
}

#[test]
fn labels_are_mostly_the_golden_ones() {
    let net = encoder_block(16, 2, 4, 8);
    let inputs = image(&[1, 3, 16, 32]);
    let graph = net.build();
    let reference = golden::run(&graph, &inputs, Keep::Outputs).unwrap();
    let outcome = run(&program(&net, &Composition::default()), &inputs);
    let expected: Vec<i64> =
        reference.get(graph.outputs()[0]).unwrap().view::<i64>().unwrap().iter().copied().collect();
    let found: Vec<i64> = outcome.outputs[0].1.view::<i64>().unwrap().iter().copied().collect();
    // Norms in fixed point may differ by a step, which changes few labels.
    let differ = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
    assert!(differ <= 1, "{differ} of {} labels differ", expected.len());
}

#[test]
fn the_report_adds_up() {
    let net = encoder_block(16, 2, 4, 8);
    let outcome = run(&program(&net, &Composition::default()), &image(&[1, 3, 16, 32]));
    let report = &outcome.report;
    assert_eq!((report.entries, report.kernels.len()), (1, 3));
    assert_eq!(report.figures.cycles.by_class.values().sum::<u64>(), report.figures.cycles.total);
    let kernels: u64 = report.kernels.iter().map(|kernel| kernel.figures.cycles.total).sum();
    assert!(kernels <= report.figures.cycles.total && kernels * 10 > report.figures.cycles.total * 8);
    for kernel in &report.kernels {
        assert!(!kernel.operators.is_empty() && kernel.figures.macs > 0, "{}", kernel.name);
    }
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    for path in ["target", "entries", "cycles/total", "cycles/by_class/data_ocm", "stalls", "macs", "mac_utilisation"] {
        assert!(!json.pointer(&format!("/{path}")).unwrap_or(&serde_json::Value::Null).is_null(), "{path}");
    }
    for path in ["ext_read_bytes", "ext_write_bytes", "peak/ocm_bytes", "peak/lrm_bytes", "peak/temp_ext_bytes"] {
        assert!(json.pointer(&format!("/{path}")).is_some_and(serde_json::Value::is_u64), "{path}");
        assert!(json.pointer(&format!("/kernels/0/{path}")).is_some(), "{path}");
    }
    for path in ["wall_s/compile", "wall_s/simulate", "kernels/0/wall_s/simulate", "kernels/2/cycles/total"] {
        assert!(json.pointer(&format!("/{path}")).is_some_and(serde_json::Value::is_number), "{path}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let program = program(&encoder_block(16, 2, 4, 8), &Composition::default());
    let error = |inputs| program.run(&inputs, &Options::default(), |_| {}).expect_err("it does not fit").to_string();
    assert_eq!(error(HashMap::new()), "input `image` (f32[1x3x16x32]) is missing");
    assert_eq!(error(image(&[1, 3, 16, 16])), "input `image` is f32[1x3x16x16], expected f32[1x3x16x32]");
    let mut more = image(&[1, 3, 16, 32]);
    more.insert("mask".to_owned(), Lcg(1).tensor(&[1], 1.0));
    assert_eq!(error(more), "the network has no input `mask`; there are `image`");
}

#[test]
fn groups_are_all_kernels_in_their_order() {
    let net = encoder_block(16, 2, 4, 8);
    let (graph, _) = rewrite::all(&net.build()).unwrap();
    let plan = plan(graph, None).unwrap();
    let emitted = emit(&plan, &Emission { target: QC_U }).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let refused = |text: &str| {
        let composition = Composition { entries: Entries::parse(text).unwrap(), prefetch: true };
        let error = graphc::compose::compose(&emitted.manifest, &composition, "QC_U").expect_err("no composition");
        error.to_string()
    };
    assert_eq!(refused("a ffn"), "entry point `a`: kernel `ffn` where `attention` is next");
    assert_eq!(refused("a attention"), "kernel `ffn` and those behind it are in no entry point");
    assert_eq!(refused("a attention ffn\na labels"), "entry point `a`: stands twice");
    assert_eq!(refused("a-b attention"), "entry point `a-b`: is no name of a function");
    assert_eq!(
        refused("a attention ffn labels attention"),
        "entry point `a`: kernel `attention` where `the end` is next"
    );
    let none = Entries::parse("# nothing\nlonely\n").expect_err("no kernels");
    assert_eq!(
        none.to_string(),
        "line 2: `lonely` has no kernels, expected the name of an entry point and of its kernels"
    );
}

#[test]
fn tensors_in_one_buffer_live_one_after_the_other() {
    let net = encoder_block(16, 2, 4, 8);
    let (graph, _) = rewrite::all(&net.build()).unwrap();
    let plan = plan(graph, None).unwrap();
    let emitted = emit(&plan, &Emission { target: QC_U }).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let composed = graphc::compose::compose(&emitted.manifest, &Composition::default(), "QC_U").unwrap();
    assert_eq!(composed.len(), 1);
    let slots = &composed[0].slots;
    // The input's buffer is free again when the second kernel writes.
    assert!(slots.iter().any(|slot| slot.tensors.len() > 1), "{slots:?}");
    for slot in slots {
        for (i, a) in slot.tensors.iter().enumerate() {
            assert!(a.bytes <= slot.bytes);
            assert!(slot.tensors[..i].iter().all(|b| a.last < b.first || b.last < a.first), "{slot:?}");
        }
    }
    let text = &composed[0].source;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("`{part}` is not in\n{text}"));
    assert!(at("let ffn_constants = prefetch(") < at("attention("), "constants come under the kernel before");
    assert!(at("let ffn_constants = prefetch(") < at("ffn_constants.wait()"));
}

/// Float networks of the operators that a user tries first.
fn float_networks() -> Vec<(&'static str, Net)> {
    let mut random = Lcg(21);
    let mut draw = |shape: &[usize], scale: f32| random.tensor(shape, scale);
    let dense = Net::new(17)
        .input("x", &["1", "12", "16"])
        .constant("w", draw(&[16, 20], 0.5))
        .constant("b", draw(&[20], 1.0))
        .node("MatMul", &["x", "w"], &["product"])
        .node("Add", &["product", "b"], &["y"]);
    let mlp = Net::new(17)
        .input("x", &["12", "16"])
        .constant("w1", draw(&[24, 16], 0.5))
        .constant("b1", draw(&[24], 1.0))
        .constant("w2", draw(&[24, 8], 0.5))
        .constant("b2", draw(&[8], 1.0))
        .node_with("Gemm", &["x", "w1", "b1"], &["hidden"], &[int("transB", 1)])
        .node("Relu", &["hidden"], &["active"])
        .node_with("Gemm", &["active", "w2", "b2"], &["y"], &[float("alpha", 0.5)]);
    let conv = Net::new(17)
        .input("x", &["1", "8", "6", "10"])
        .constant("w", draw(&[8, 8, 3, 3], 0.3))
        .constant("b", draw(&[8], 1.0))
        .node_with("Conv", &["x", "w", "b"], &["conv"], &[ints("pads", &[1, 1, 1, 1])])
        .node("Relu", &["conv"], &["y"]);
    let sum =
        Net::new(17).input("x", &["1", "12", "16"]).input("z", &["1", "12", "16"]).node("Add", &["x", "z"], &["y"]);
    let difference =
        Net::new(17).input("x", &["1", "12", "16"]).input("z", &["1", "12", "16"]).node("Sub", &["x", "z"], &["y"]);
    let norm = Net::new(17)
        .input("x", &["1", "12", "16"])
        .constant("gamma", draw(&[16], 1.0))
        .constant("beta", draw(&[16], 0.3))
        .node_with("LayerNormalization", &["x", "gamma", "beta"], &["y"], &[int("axis", -1)]);
    let softmax = Net::new(17).input("x", &["1", "12", "16"]).node_with("Softmax", &["x"], &["y"], &[int("axis", -1)]);
    let relu = Net::new(17).input("x", &["1", "12", "16"]).node("Relu", &["x"], &["y"]);
    let classifier = Net::new(17)
        .input("x", &["1", "3", "16", "16"])
        .constant("w1", draw(&[8, 3, 3, 3], 0.5))
        .constant("w2", draw(&[8, 8, 3, 3], 0.3))
        .constant("b", draw(&[8], 1.0))
        .constant("w3", draw(&[8, 4], 0.5))
        .node_with("Conv", &["x", "w1", "b"], &["c1"], &[ints("pads", &[1, 1, 1, 1]), ints("strides", &[2, 2])])
        .node("Relu", &["c1"], &["r1"])
        .node_with("MaxPool", &["r1"], &["p"], &[ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])])
        .constant("gamma", draw(&[8], 1.0))
        .constant("variance", list(&[0.5_f32; 8]))
        .node_with("Conv", &["p", "w2"], &["u2"], &[ints("pads", &[1, 1, 1, 1])])
        .node("BatchNormalization", &["u2", "gamma", "b", "b", "variance"], &["c2"])
        .node("Add", &["p", "c2"], &["s"])
        .node("Relu", &["s"], &["r2"])
        .node("GlobalAveragePool", &["r2"], &["g"])
        .node("Flatten", &["g"], &["f"])
        .node("Gemm", &["f", "w3"], &["y"]);
    let scaled =
        Net::new(17).input("x", &["1", "12", "16"]).constant("c", scalar(0.37_f32)).node("Mul", &["x", "c"], &["y"]);
    let leaky = Net::new(17).input("x", &["1", "12", "16"]).node("LeakyRelu", &["x"], &["y"]);
    vec![
        ("leaky", leaky.output("y")),
        ("scaled", scaled.output("y")),
        ("classifier", classifier.output("y")),
        ("dense", dense.output("y")),
        ("mlp", mlp.output("y")),
        ("conv", conv.output("y")),
        ("sum", sum.output("y")),
        ("difference", difference.output("y")),
        ("norm", norm.output("y")),
        ("softmax", softmax.output("y")),
        ("relu", relu.output("y")),
    ]
}

#[test]
fn float_networks_run_in_8_bits() {
    for (name, net) in float_networks() {
        let float = net.build();
        let samples = Synthetic::new(&float, 4, 1);
        let options = quantize::Options { compilable: true, ..quantize::Options::default() };
        let quantised =
            quantize(&Model::from(net.model()), &samples, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let db = quantised.summary.outputs[0].sqnr_db.unwrap();
        assert!(db > 25.0, "{name}: {db:.1} dB");
        let graph = import(&quantised.model, &import::Options::default()).into_graph().unwrap();
        let inputs = samples.get(0).unwrap().into_owned();
        let reference = golden::run(&graph, &inputs, Keep::Outputs).unwrap();
        let expected = reference.get(graph.outputs()[0]).unwrap().to_vec::<f32>().unwrap();
        let outcome = run(&program_of(&graph, &Composition::default()), &inputs);
        let found = outcome.outputs[0].1.to_vec::<f32>().unwrap();
        let differ = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
        // Softmax and norm are in fixed point: one in a thousand may be off by a step.
        let most = if ["norm", "softmax"].contains(&name) { 1 } else { 0 };
        assert!(differ <= most && expected.len() == found.len(), "{name}: {differ} of {} differ", expected.len());
    }
}

#[test]
fn a_network_that_computes_nothing_is_an_error() {
    let net = Quantised::image(8, 6, 10).net.node_with("Transpose", &["x"], &["y"], &[ints("perm", &[0, 2, 3, 1])]);
    let error = plan(net.output("y").build(), None).unwrap_err().to_string();
    assert_eq!(error, "the network computes nothing: its outputs are its inputs under other names and shapes");
}
