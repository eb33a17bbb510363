//! What an import accepts, what it says about the rest, and what it computes at once.

mod support;

use std::collections::BTreeMap;

use graphc::golden::{Keep, run};
use graphc::graph::Op;
use graphc::import::{Options, import};
use graphc::onnx::proto::data_type;
use graphc::onnx::{Folder, Model};
use graphc::operators::Mapping;
use ndarray::array;
use prost::Message;
use support::{Net, int, ints, list, scalar, tensor_proto, text};

#[test]
fn all_problems_in_one_pass() {
    let net = Net::new(13)
        .input("x", &["1", "4", "8", "8"])
        .constant("w", ndarray::Array4::<f32>::zeros((4, 3, 1, 1)).into_dyn())
        .node("Conv", &["x", "w"], &["c"])
        .node("Relu", &["c"], &["r"])
        .node_with("DepthToSpace", &["x"], &["d"], &[int("blocksize", 3)])
        .node("LayerNormalization", &["x", "w"], &["l"])
        .node("Einsum", &["x"], &["e"])
        .node("Frobnicate", &["x"], &["f"])
        .node_with("Softmax", &["x"], &["s"], &[int("axis", 4)])
        .node_with("Softmax", &["x"], &["t"], &[int("angle", 4)])
        .node_with("Resize", &["x"], &["z"], &[text("mode", "cubic")])
        .node("Add", &["x", "nowhere"], &["a"])
        .node("Sigmoid", &["x"], &["y"])
        .output("y")
        .output("gone");
    let report = net.import().report;
    let problems: Vec<String> = report.all_problems().iter().map(ToString::to_string).collect();
    let expected = [
        "output `gone`: nothing defines it",
        "node `Conv:c` (Conv, opset 13): product: `input channels` is 4, expected 3\n  help: accepted: f32, 1 or 2 spatial",
        "node `DepthToSpace:d` (DepthToSpace, opset 13): DepthToSpace: `blocksize` = 3 is not the root of a divisor",
        "node `LayerNormalization:l` (LayerNormalization, opset 13): operator `LayerNormalization` exists from opset 17 on",
        "node `Einsum:e` (Einsum, opset 13): operator `Einsum` is not accepted\n  help: accepted: write Transpose, Reshape and",
        "node `Frobnicate:f` (Frobnicate, opset 13): operator `Frobnicate` is not known",
        "node `Softmax:s` (Softmax, opset 13): `axis` = 4 is outside -4..4",
        "node `Softmax:t` (Softmax, opset 13): attribute `angle` is not known",
        "node `Resize:z` (Resize, opset 13): `mode` = cubic is not nearest or linear",
        "node `Add:a` (Add, opset 13): nothing defines its input `nowhere`",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}\n{expected}");
    }
    // A node behind a refused one is listed, and is no problem of its own.
    let relu = &report.nodes[1];
    assert_eq!((relu.status, relu.error), (Mapping::Mapped, false));
    assert!(relu.reason.contains("input `c`"), "{}", relu.reason);
}

#[test]
fn problems_of_the_model() {
    let net = |opset| Net::new(opset).input("x", &["2"]).node("Relu", &["x"], &["y"]).output("y");
    assert!(net(10).errors().contains("the model: it is written in opset 10\n  help: accepted: opset 11 to"));
    assert!(net(99).errors().contains("opset 99"));
    let mut model = net(17).model();
    model.opset_import.clear();
    let errors = import(&Model::from(model), &Options::default()).into_graph().unwrap_err().to_string();
    assert!(errors.contains("names no version"), "{errors}");
    assert!(Net::new(17).errors().contains("its graph has no outputs"));
    let strings = Net::new(17).typed_input("x", 8, &["2"]).node("Relu", &["x"], &["y"]).output("y");
    assert!(strings.errors().contains("input `x`: element type string is not read"));
    let twice = net(17).constant("c", scalar(1.0_f32)).constant("c", scalar(2.0_f32));
    assert!(twice.errors().contains("initialiser `c`: value `c` is defined twice"));
    let again = net(17).node("Relu", &["x"], &["y"]);
    assert!(again.errors().contains("value `y` is defined twice"));
}

#[test]
fn cycles_and_nodes_out_of_order() {
    let cycle = Net::new(17)
        .input("x", &["2"])
        .node("Add", &["x", "b"], &["a"])
        .node("Relu", &["a"], &["b"])
        .node("Relu", &["b"], &["c"])
        .output("c");
    let errors = cycle.errors();
    assert_eq!(errors.matches("it is part of a cycle").count(), 3, "{errors}");
    let backwards =
        Net::new(17).input("x", &["2"]).node("Neg", &["a"], &["y"]).node("Relu", &["x"], &["a"]).output("y");
    let graph = backwards.build();
    let names: Vec<&str> = graph.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["Relu:a", "Neg:y"]);
}

#[test]
fn dynamic_dimensions_are_bound_by_name() {
    let net = Net::new(17).input("x", &["batch", "3"]).node("Relu", &["x"], &["y"]).output("y");
    let errors = net.errors();
    assert!(errors.contains("dimension 0, `batch`, is dynamic"), "{errors}");
    assert!(errors.contains("`--dim batch=N`"), "{errors}");
    let options = |n| Options { dims: BTreeMap::from([("batch".to_owned(), n)]) };
    let graph = import(&Model::from(net.model()), &options(5)).into_graph().unwrap();
    assert_eq!(graph.value(graph.outputs()[0]).ty.shape, [5, 3]);
    let huge = import(&Model::from(net.model()), &options(usize::MAX)).into_graph().unwrap_err();
    assert!(huge.to_string().contains("has more than"), "{huge}");
}

/// The chain that exporters write for `x.reshape(x.shape[0], -1)`, and a Resize to the size of another tensor.
#[test]
fn shape_chains_are_computed() {
    let net = Net::new(17)
        .input("x", &["2", "3", "4", "4"])
        .input("small", &["2", "3", "2", "2"])
        .constant("zero", scalar(0_i64))
        .constant("axes", list(&[0_i64]))
        .constant("open", list(&[-1_i64]))
        .constant("two", list(&[2_i64]))
        .constant("four", list(&[4_i64]))
        .node("Shape", &["x"], &["shape"])
        .node("Gather", &["shape", "zero"], &["batch"])
        .node("Unsqueeze", &["batch", "axes"], &["batch1"])
        .node_with("Concat", &["batch1", "open"], &["target"], &[int("axis", 0)])
        .node("Reshape", &["x", "target"], &["flat"])
        .node("Slice", &["shape", "two", "four"], &["size"])
        .node("Shape", &["small"], &["shape2"])
        .node_with("Split", &["shape2"], &["front", "back"], &[])
        .node_with("Concat", &["front", "size"], &["sizes"], &[int("axis", 0)])
        .node_with("Resize", &["small", "", "", "sizes"], &["large"], &[text("mode", "linear")])
        .node_with("Cast", &["batch"], &["float"], &[int("to", i64::from(data_type::FLOAT))])
        .node("Sqrt", &["float"], &["root"])
        .node("Div", &["large", "root"], &["scaled"])
        .output("flat")
        .output("scaled");
    let graph = net.build();
    let ops: Vec<&str> = graph.nodes().iter().map(|node| node.origin.op_type.as_str()).collect();
    assert_eq!(ops, ["Reshape", "Resize", "Div"]);
    let shapes: Vec<_> = graph.outputs().iter().map(|&id| graph.value(id).ty.shape.clone()).collect();
    assert_eq!(shapes, [vec![2, 48], vec![2, 3, 4, 4]]);
    let root = graph.value(graph.find("root").unwrap()).constant.clone().unwrap();
    assert_eq!(*root, scalar(2.0_f32.sqrt()));
}

#[test]
fn what_must_be_constant() {
    let net = Net::new(17)
        .input("x", &["2", "3"])
        .typed_input("shape", data_type::INT64, &["1"])
        .node("Reshape", &["x", "shape"], &["y"])
        .output("y");
    let errors = net.errors();
    assert!(errors.contains("input `shape` is computed from the network's inputs, it must be a constant"), "{errors}");
    assert!(errors.contains("accepted: any type; the shape is a constant"), "{errors}");
}

/// The numbers that decide a result when constants are folded can be wrong too.
#[test]
fn constants_without_a_value_are_problems() {
    let net = Net::new(17)
        .input("x", &["2"])
        .constant("a", list(&[1_i64]))
        .constant("zero", list(&[0_i64]))
        .node("Div", &["a", "zero"], &["q"])
        .node("Reshape", &["x", "q"], &["y"])
        .output("y");
    assert!(net.errors().contains("its inputs are constants, and Div: `divisor` = 0 is not"));
}

#[test]
fn operators_change_with_the_opset() {
    let squeeze = |opset| {
        let net = Net::new(opset).input("x", &["1", "3"]);
        if opset < 13 {
            net.node_with("Squeeze", &["x"], &["y"], &[ints("axes", &[0])]).output("y")
        } else {
            net.constant("axes", list(&[0_i64])).node("Squeeze", &["x", "axes"], &["y"]).output("y")
        }
    };
    for opset in [11, 13] {
        let graph = squeeze(opset).build();
        assert_eq!(graph.nodes()[0].op, Op::Reshape { shape: vec![3] });
    }
    let softmax =
        |opset| Net::new(opset).input("x", &["2", "3", "4"]).node("Softmax", &["x"], &["y"]).output("y").build();
    assert_eq!(softmax(12).nodes()[0].op, Op::Softmax { first: 1, last: 2 });
    assert_eq!(softmax(13).nodes()[0].op, Op::Softmax { first: 2, last: 2 });
}

#[test]
fn a_file_is_read_with_its_external_data() {
    use graphc::onnx::proto::StringStringEntryProto;
    let folder = tempfile::tempdir().unwrap();
    let mut net = Net::new(17).input("x", &["2"]).node("Add", &["x", "w"], &["y"]).output("y");
    let mut weights = tensor_proto("w", &list(&[0.0_f32, 0.0]));
    weights.raw_data = Default::default();
    weights.data_location = 1;
    let entry = |key: &str, value: &str| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    weights.external_data = vec![entry("location", "weights.bin"), entry("offset", "3"), entry("length", "8")];
    net.graph.initializer.push(weights);
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, net.model().encode_to_vec()).unwrap();
    let bytes = [vec![9; 3], 1.5_f32.to_le_bytes().to_vec(), 2.0_f32.to_le_bytes().to_vec()].concat();
    std::fs::write(folder.path().join("weights.bin"), bytes).unwrap();
    let graph = import(&Model::read(&path).unwrap(), &Options::default()).into_graph().unwrap();
    let inputs = [("x".to_owned(), list(&[1.0_f32, -1.0]))].into();
    let outcome = run(&graph, &inputs, Keep::Outputs).unwrap();
    assert_eq!(**outcome.get(graph.outputs()[0]).unwrap(), list(&[2.5_f32, 1.0]));
    let alone = Model::decode(net.model().encode_to_vec().into(), Folder::none()).unwrap();
    let errors = import(&alone, &Options::default()).into_graph().unwrap_err().to_string();
    assert!(errors.contains("initialiser `w`: external data: the model is no file"), "{errors}");
}

#[test]
fn inputs_of_a_run_are_checked() {
    let graph = Net::new(17).input("x", &["2"]).node("Relu", &["x"], &["y"]).output("y").build();
    let attempt =
        |name: &str, tensor| run(&graph, &[(name.to_owned(), tensor)].into(), Keep::All).unwrap_err().to_string();
    assert_eq!(attempt("z", list(&[1.0_f32])), "the network has no input `z`");
    assert_eq!(attempt("x", list(&[1.0_f32])), "input `x` is f32[1], expected f32[2]");
    let missing = run(&graph, &Default::default(), Keep::All).unwrap_err().to_string();
    assert_eq!(missing, "input `x` (f32[2]) is missing");
    let kept = run(&graph, &[("x".to_owned(), list(&[-1.0_f32, 2.0]))].into(), Keep::All).unwrap();
    assert_eq!(**kept.get(graph.find("y").unwrap()).unwrap(), array![0.0_f32, 2.0].into_dyn().into());
}
