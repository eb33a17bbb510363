//! Attention is found in float and quantised networks, and only there.

mod support;

use std::path::Path;

use graphc::attention::find;
use graphc::graph::Op;
use graphc::import::{Options, import};
use graphc::onnx::Model;
use graphc::onnx::proto::data_type;
use support::{Net, scalar};

fn float() -> Net {
    Net::new(17)
        .input("q", &["1", "2", "6", "8"])
        .input("k", &["1", "2", "8", "5"])
        .input("v", &["1", "2", "5", "4"])
        .constant("scale", scalar(0.35_f32))
        .node("MatMul", &["q", "k"], &["scores"])
        .node("Mul", &["scores", "scale"], &["scaled"])
        .node("Softmax", &["scaled"], &["weights"])
        .node("MatMul", &["weights", "v"], &["y"])
        .output("y")
}

#[test]
fn a_float_attention() {
    let graph = float().build();
    let found = find(&graph);
    let [attention] = &found[..] else { panic!("{found:?}") };
    let name = |id| graph.node(id).name.as_str();
    assert_eq!(
        [name(attention.scores), name(attention.before[0]), name(attention.softmax), name(attention.context)],
        ["MatMul:scores", "Mul:scaled", "Softmax:weights", "MatMul:y"]
    );
    assert!(attention.after.is_empty());
    let value = |id| graph.value(id).name.as_str();
    assert_eq!([attention.queries, attention.keys, attention.values].map(value), ["q", "k", "v"]);
    let a = attention;
    assert_eq!([a.n_heads, a.n_queries, a.n_keys, a.head, a.value], [2, 6, 5, 8, 4]);
}

#[test]
fn the_attentions_of_the_encoder_of_detr() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/detr/networks/detr_encoder_360_int8_qop.onnx");
    let model = Model::read(&file).unwrap();
    let graph = import(&model, &Options::default()).into_graph().unwrap();
    let found = find(&graph);
    assert_eq!(found.len(), 6, "one a layer");
    for a in &found {
        assert_eq!([a.n_heads, a.n_queries, a.n_keys, a.head, a.value], [8, 360, 360, 32, 32]);
        assert!(matches!(graph.node(a.context).op, Op::QLinearMatMul { .. }), "quantised on both sides");
    }
}

#[test]
fn a_quantised_attention() {
    let int8 = data_type::INT8;
    let graph = Net::new(17)
        .typed_input("q", int8, &["2", "6", "8"])
        .typed_input("k", int8, &["2", "8", "5"])
        .typed_input("v", int8, &["2", "5", "4"])
        .constant("s", scalar(0.02_f32))
        .constant("z", scalar(0_i8))
        .node("QLinearMatMul", &["q", "s", "z", "k", "s", "z", "s", "z"], &["scores"])
        .node("DequantizeLinear", &["scores", "s", "z"], &["real"])
        .node("Softmax", &["real"], &["weights"])
        .node("QuantizeLinear", &["weights", "s", "z"], &["steps"])
        .node("QLinearMatMul", &["steps", "s", "z", "v", "s", "z", "s", "z"], &["y"])
        .output("y")
        .build();
    let found = find(&graph);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].before.len(), found[0].after.len(), found[0].n_heads), (1, 1, 2));
}

#[test]
fn what_is_no_attention() {
    // The scores are read elsewhere too.
    assert!(find(&float().output("scores").build()).is_empty());
    // The softmax goes down the rows.
    let mut rows = float();
    rows.graph.node[2].attribute.push(support::int("axis", 2));
    assert!(find(&rows.build()).is_empty());
    // The weights are the right-hand matrix.
    let mut right = float();
    right.graph.node[3].input = vec!["v2".to_owned(), "weights".to_owned()];
    assert!(find(&right.input("v2", &["1", "2", "4", "6"]).build()).is_empty());
}
