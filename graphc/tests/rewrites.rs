//! Each rewrite on small networks: what it makes of them, and that golden results before and after are as it says.

mod support;

use std::collections::HashMap;

use ccl_golden::compare::{Comparison, compare};
use graphc::golden::{Keep, run};
use graphc::graph::{Graph, Op, Tensor};
use graphc::rewrite::{Effect, Ledger, REWRITES, all, one};
use ndarray::ArrayD;
use support::{Lcg, Net, int, ints, list, scalar};

/// Random inputs for a graph: float32 between -3 and 3, or any 8-bit values.
fn inputs(graph: &Graph, seed: u64) -> HashMap<String, Tensor> {
    let mut random = Lcg(seed);
    let value = |id: &graphc::graph::ValueId| {
        let value = graph.value(*id);
        let tensor = match value.ty.dtype {
            graphc::graph::DType::I8 => random.int8(&value.ty.shape),
            _ => random.tensor(&value.ty.shape, 3.0),
        };
        (value.name.clone(), tensor)
    };
    graph.inputs().iter().map(value).collect()
}

fn difference(a: &Tensor, b: &Tensor) -> Comparison {
    match (a, b) {
        (Tensor::F32(a), Tensor::F32(b)) => compare(a.view(), b.view()).unwrap(),
        (Tensor::I8(a), Tensor::I8(b)) => compare(a.view(), b.view()).unwrap(),
        (a, b) => panic!("{} against {}", a.ty(), b.ty()),
    }
}

/// Results before and after differ as the effect allows: not at all, or in a few units in the last place of float32.
#[track_caller]
fn check_results(before: &Graph, after: &Graph, effect: Effect) {
    for seed in 0..3 {
        let inputs = inputs(before, seed);
        let (a, b) = (run(before, &inputs, Keep::Outputs).unwrap(), run(after, &inputs, Keep::Outputs).unwrap());
        for (&x, &y) in before.outputs().iter().zip(after.outputs()) {
            assert_eq!(before.value(x).name, after.value(y).name);
            let c = difference(a.get(x).unwrap(), b.get(y).unwrap());
            match effect {
                Effect::Exact => assert_eq!(c.mismatches, 0, "{c:?}"),
                Effect::Rounding => assert!(c.max_abs_err <= 4e-6 * c.range.max(1.0), "{c:?}"),
            }
        }
    }
}

/// Applies one rewrite by name, checks the results, and returns the operators that are left.
#[track_caller]
fn rewritten(net: &Net, name: &str) -> (Graph, Vec<String>) {
    let before = net.build();
    let rewrite = REWRITES.iter().find(|r| r.name == name).unwrap();
    let (after, ledger) = one(&before, rewrite, Ledger::default()).unwrap();
    check_results(&before, &after, rewrite.effect);
    assert!(ledger.entries.iter().all(|e| e.rewrite == name));
    let ops = after.nodes().iter().map(|node| node.origin.op_type.clone()).collect();
    (after, ops)
}

#[test]
fn no_ops_go_and_reshapes_join() {
    let net = Net::new(17)
        .input("x", &["2", "3"])
        .constant("same", list(&[2_i64, 3]))
        .constant("six", list(&[6_i64]))
        .constant("column", list(&[6_i64, 1]))
        .node("Identity", &["x"], &["a"])
        .node("Reshape", &["a", "same"], &["b"])
        .node_with("Transpose", &["b"], &["c"], &[ints("perm", &[0, 1])])
        .node_with("Cast", &["c"], &["d"], &[int("to", 1)])
        .node("Expand", &["d", "same"], &["e"])
        .node("Neg", &["e"], &["f"])
        .node("Reshape", &["f", "six"], &["g"])
        .node("Reshape", &["g", "column"], &["h"])
        .node("Identity", &["h"], &["y"])
        .output("y");
    // The last Identity stays: without it the output would lose its name.
    assert_eq!(rewritten(&net, "drop-no-ops").1, ["Neg", "Reshape", "Identity"]);
    let swaps =
        Net::new(17).input("x", &["2", "2"]).node("Transpose", &["x"], &["a"]).node("Neg", &["a"], &["y"]).output("y");
    assert_eq!(rewritten(&swaps, "drop-no-ops").1, ["Transpose", "Neg"]);
}

/// The pattern; `square` writes the square, `tail` whether scale and offset follow.
fn layer_norm(square: &str, tail: bool) -> Net {
    let mut random = Lcg(7);
    let mean = |net: Net, x, y| net.node_with("ReduceMean", &[x], &[y], &[ints("axes", &[-1])]);
    let net = Net::new(17)
        .input("x", &["2", "5", "8"])
        .constant("two", scalar(2.0_f32))
        .constant("epsilon", scalar(1e-5_f32))
        .constant("gamma", random.tensor(&[8], 1.0))
        .constant("beta", random.tensor(&[8], 1.0));
    let net = mean(net, "x", "m").node("Sub", &["x", "m"], &["d"]);
    let net = match square {
        "Pow" => net.node("Pow", &["d", "two"], &["s"]),
        "Mul" => net.node("Mul", &["d", "d"], &["s"]),
        _ => net.node("Sub", &["x", "m"], &["d2"]).node("Pow", &["d2", "two"], &["s"]),
    };
    let net = mean(net, "s", "v").node("Add", &["v", "epsilon"], &["e"]).node("Sqrt", &["e"], &["r"]).node(
        "Div",
        &["d", "r"],
        &["n"],
    );
    if tail {
        net.node("Mul", &["gamma", "n"], &["g"]).node("Add", &["g", "beta"], &["y"]).output("y")
    } else {
        net.output("n")
    }
}

#[test]
fn layer_normalisation_is_recognised() {
    for square in ["Pow", "Mul", "twice"] {
        for tail in [true, false] {
            let (graph, ops) = rewritten(&layer_norm(square, tail), "recognise-layer-norm");
            assert_eq!(ops, ["LayerNormalization"], "{square} {tail}");
            assert_eq!(graph.nodes()[0].op, Op::LayerNormalization { axis: 2, epsilon: 1e-5 });
        }
    }
}

#[test]
fn what_is_no_layer_normalisation_stays() {
    let mut other = layer_norm("Pow", true);
    other.graph.initializer[0] = support::tensor_proto("two", &scalar(3.0_f32));
    assert_eq!(rewritten(&other, "recognise-layer-norm").1.len(), 9);
    let read_elsewhere = layer_norm("Pow", true).output("n");
    assert_eq!(rewritten(&read_elsewhere, "recognise-layer-norm").1, ["LayerNormalization", "Mul", "Add"]);
}

#[test]
fn gelu_is_recognised_in_every_order() {
    let orders: [&[(&str, &str, &str)]; 4] = [
        &[("x", "a", "p"), ("p", "half", "y")],
        &[("a", "half", "p"), ("p", "x", "y")],
        &[("half", "a", "p"), ("x", "p", "y")],
        &[("x", "half", "p"), ("p", "a", "y")],
    ];
    for order in orders {
        for op in ["Div", "Mul"] {
            let factor = if op == "Div" { std::f32::consts::SQRT_2 } else { std::f32::consts::FRAC_1_SQRT_2 };
            let mut net = Net::new(17)
                .input("x", &["3", "40"])
                .constant("root", scalar(factor))
                .constant("one", scalar(1.0_f32))
                .constant("half", scalar(0.5_f32))
                .node(op, &["x", "root"], &["scaled"])
                .node("Erf", &["scaled"], &["e"])
                .node("Add", &["e", "one"], &["a"]);
            for (left, right, to) in order {
                net = net.node("Mul", &[left, right], &[to]);
            }
            assert_eq!(rewritten(&net.output("y"), "recognise-gelu").1, ["Gelu"], "{order:?}");
        }
    }
    let wrong = Net::new(17)
        .input("x", &["3"])
        .constant("root", scalar(1.5_f32))
        .constant("one", scalar(1.0_f32))
        .constant("half", scalar(0.5_f32))
        .node("Div", &["x", "root"], &["scaled"])
        .node("Erf", &["scaled"], &["e"])
        .node("Add", &["e", "one"], &["a"])
        .node("Mul", &["a", "x"], &["p"])
        .node("Mul", &["p", "half"], &["y"])
        .output("y");
    assert_eq!(rewritten(&wrong, "recognise-gelu").1.len(), 5);
}

/// A network in which each named tensor is quantised and dequantised again, as quantisers write it.
struct Qdq(Net);

impl Qdq {
    fn new(net: Net) -> Self {
        Qdq(net.constant("zero", scalar(0_i8)).constant("minus3", scalar(-3_i8)))
    }

    fn pair(self, from: &str, to: &str, scale: f32, zero: &str) -> Self {
        let (s, q) = (format!("{to}/scale"), format!("{to}/q"));
        Qdq(self.0.constant(&s, scalar(scale)).node("QuantizeLinear", &[from, &s, zero], &[&q]).node(
            "DequantizeLinear",
            &[&q, &s, zero],
            &[to],
        ))
    }

    fn weight(self, name: &str, tensor: Tensor, scale: f32) -> Self {
        let (s, q) = (format!("{name}/scale"), format!("{name}/q"));
        Qdq(self.0.constant(&s, scalar(scale)).constant(&q, tensor).node(
            "DequantizeLinear",
            &[&q, &s, "zero"],
            &[name],
        ))
    }
}

/// Integer forms round once where the float forms round several times: quantised results are equal but for ties. The scales
/// of these tests are in no simple ratio, so that ties are rare.
#[track_caller]
fn folded(net: &Net, steps: f64) -> Vec<String> {
    let before = net.build();
    let rewrite = REWRITES.iter().find(|r| r.name == "fold-quantisation").unwrap();
    let (after, _) = one(&before, rewrite, Ledger::default()).unwrap();
    for seed in 0..3 {
        let inputs = inputs(&before, seed);
        let (a, b) = (run(&before, &inputs, Keep::Outputs).unwrap(), run(&after, &inputs, Keep::Outputs).unwrap());
        let c = difference(a.get(before.outputs()[0]).unwrap(), b.get(after.outputs()[0]).unwrap());
        assert!(c.max_abs_err <= steps * 1.001 && c.mismatches * 100 <= c.total, "{c:?}");
    }
    after.nodes().iter().map(|node| node.origin.op_type.clone()).collect()
}

#[test]
fn a_convolution_between_quantisations_is_an_integer_one() {
    let mut random = Lcg(3);
    let bias: Tensor = ArrayD::from_shape_simple_fn(vec![5], || (random.next() % 2000) as i32 - 1000).into();
    let net = Net::new(17).input("x", &["1", "3", "9", "8"]);
    let Qdq(net) = Qdq::new(net).pair("x", "xd", 0.0253, "minus3").weight("w", random.int8(&[5, 3, 3, 3]), 0.0109);
    let net = net
        .constant("b/scale", scalar(0.0253_f32 * 0.0109))
        .constant("b/q", bias)
        .node("DequantizeLinear", &["b/q", "b/scale"], &["b"])
        .node_with("Conv", &["xd", "w", "b"], &["c"], &[ints("pads", &[1, 1, 1, 1])]);
    let Qdq(net) = Qdq(net).pair("c", "y", 0.1537, "zero");
    assert_eq!(folded(&net.output("y"), 0.1537), ["QuantizeLinear", "QLinearConv", "DequantizeLinear"]);
}

#[test]
fn products_sums_and_joins_between_quantisations() {
    let mut random = Lcg(5);
    let start = || {
        let net = Net::new(17).input("x", &["4", "6"]).input("z", &["4", "6"]);
        Qdq::new(net).pair("x", "xd", 0.0253, "minus3").pair("z", "zd", 0.0197, "zero")
    };
    let Qdq(net) = start().weight("w", random.int8(&[6, 7]), 0.0109);
    let Qdq(net) = Qdq(net.node("MatMul", &["xd", "w"], &["c"])).pair("c", "y", 0.1031, "minus3");
    assert!(folded(&net.output("y"), 0.1031).contains(&"QLinearMatMul".to_owned()));
    let Qdq(net) = start().weight("w", random.int8(&[7, 6]), 0.0109);
    let net = net.constant("bias", random.tensor(&[7], 1.0));
    let net = net.node_with("Gemm", &["xd", "w", "bias"], &["c"], &[int("transB", 1)]);
    let Qdq(net) = Qdq(net).pair("c", "y", 0.1031, "zero");
    assert!(folded(&net.output("y"), 0.1031).contains(&"QGemm".to_owned()));
    for (op, integer) in [("Add", "QLinearAdd"), ("Mul", "QLinearMul")] {
        let Qdq(net) = start();
        let Qdq(net) = Qdq(net.node(op, &["xd", "zd"], &["c"])).pair("c", "y", 0.0531, "minus3");
        assert!(folded(&net.output("y"), 0.0531).contains(&integer.to_owned()));
    }
    let Qdq(net) = start();
    let net = net.node_with("Concat", &["xd", "zd"], &["c"], &[int("axis", 1)]);
    let Qdq(net) = Qdq(net).pair("c", "y", 0.03, "zero");
    assert!(folded(&net.output("y"), 0.0).contains(&"QLinearConcat".to_owned()));
    // Movement keeps the elements only where the parameters are the same; else all seven nodes stay.
    let moved = |scale: f32| {
        let Qdq(net) = start();
        let Qdq(net) = Qdq(net.node("Transpose", &["xd"], &["c"])).pair("c", "y", scale, "minus3");
        folded(&net.output("y"), 0.0)
    };
    assert_eq!(moved(0.0253), ["QuantizeLinear", "Transpose", "DequantizeLinear"]);
    assert_eq!(moved(0.03).len(), 7);
}

/// GELU as a QOperator network has it: nine nodes with float ones between.
fn quantised_gelu() -> Net {
    let q = |net: Net, name: &str, scale: f32, zero: i8| {
        net.constant(&format!("{name}s"), scalar(scale)).constant(&format!("{name}z"), scalar(zero))
    };
    let net = Net::new(17).typed_input("x", graphc::onnx::proto::data_type::INT8, &["1", "6", "50"]);
    let net = [
        ("x", 0.04, 3),
        ("d", 0.03, 0),
        ("e", 1.0 / 127.0, -1),
        ("a", 2.0 / 127.0, 0),
        ("p", 0.06, 2),
        ("y", 0.03, -9),
    ]
    .into_iter()
    .fold(net, |net, (name, scale, zero)| q(net, name, scale, zero));
    net.constant("root", scalar(std::f32::consts::SQRT_2))
        .constant("one", scalar(127_i8))
        .constant("ones", scalar(1.0_f32 / 127.0))
        .constant("onez", scalar(0_i8))
        .constant("half", list(&[100_i8]))
        .constant("halfs", scalar(0.005_f32))
        .node("DequantizeLinear", &["x", "xs", "xz"], &["xf"])
        .node("Div", &["xf", "root"], &["df"])
        .node("QuantizeLinear", &["df", "ds", "dz"], &["d"])
        .node("DequantizeLinear", &["d", "ds", "dz"], &["dd"])
        .node("Erf", &["dd"], &["ef"])
        .node("QuantizeLinear", &["ef", "es", "ez"], &["e"])
        .node("com.microsoft.QLinearAdd", &["e", "es", "ez", "one", "ones", "onez", "as", "az"], &["a"])
        .node("com.microsoft.QLinearMul", &["x", "xs", "xz", "a", "as", "az", "ps", "pz"], &["p"])
        .node("com.microsoft.QLinearMul", &["p", "ps", "pz", "half", "halfs", "onez", "ys", "yz"], &["y"])
}

#[test]
fn a_chain_of_functions_is_one_table() {
    let (graph, ops) = rewritten(&quantised_gelu().output("y"), "fold-tables");
    assert_eq!(ops, ["Table"]);
    assert!(matches!(graph.nodes()[0].op, Op::Table { .. }));
    // What is read in between becomes a table of its own.
    let (_, ops) = rewritten(&quantised_gelu().output("e").output("y"), "fold-tables");
    assert_eq!(ops, ["Table", "Table"]);
    // A second 8-bit tensor begins another table, and the sum of both is none.
    let net = quantised_gelu()
        .typed_input("z", graphc::onnx::proto::data_type::INT8, &["1", "6", "50"])
        .node("com.microsoft.QLinearAdd", &["y", "ys", "yz", "z", "xs", "xz", "ps", "pz"], &["s"])
        .output("s");
    assert_eq!(rewritten(&net, "fold-tables").1, ["Table", "QLinearAdd"]);
}

#[test]
fn constants_are_folded() {
    let big = ArrayD::from_elem(vec![80, 80], 1.5_f32);
    let net = Net::new(17)
        .input("x", &["80", "80"])
        .constant("w", big)
        .node("Transpose", &["w"], &["t"])
        .node("Neg", &["t"], &["n"])
        .node("Add", &["x", "n"], &["y"])
        .output("y");
    assert_eq!(net.build().nodes().len(), 3);
    assert_eq!(rewritten(&net, "fold-constants").1, ["Add"]);
}

#[test]
fn all_rewrites_together_come_to_an_end_and_are_stable() {
    for net in [layer_norm("Pow", true), quantised_gelu().output("y")] {
        let (once, ledger) = all(&net.build()).unwrap();
        assert!(!ledger.entries.is_empty());
        let (again, second) = all(&once).unwrap();
        assert_eq!((second.entries.len(), second.dead, again.nodes().len()), (0, 0, once.nodes().len()));
    }
}

#[test]
fn what_nothing_reads_goes_even_where_nothing_is_rewritten() {
    let net = Net::new(17).input("x", &["2"]).node("Neg", &["x"], &["unread"]).node("Relu", &["x"], &["y"]).output("y");
    let (graph, ledger) = all(&net.build()).unwrap();
    assert_eq!((graph.nodes().len(), ledger.dead, ledger.entries.len()), (1, 1, 0));
}
