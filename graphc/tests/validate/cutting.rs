//! Parts of networks: cut out, read again, run, and compared with the whole.

use graphc::cut::{Ends, Part, Whole, ranges_of};
use graphc::golden::{Keep, run};
use graphc::import::{Options, import};
use graphc::onnx::Model;
use graphc::quantize::{self, Ranges, Samples, Synthetic, quantize};

use crate::support::{Lcg, Net, int, list};

/// Two layers of an encoder: a dense layer on the sum with a position, a norm, and a shape that is computed.
fn encoder() -> Net {
    let mut random = Lcg(9);
    let mut net = Net::new(17).input("src", &["4", "6"]).input("pos", &["4", "6"]);
    let mut x = "src".to_owned();
    for layer in 0..2 {
        let name = |part: &str| format!("/layers.{layer}/{part}");
        let [sum, product, shape, flat, norm, w] = ["sum", "product", "shape", "flat", "norm", "w"].map(name);
        let gamma = name("gamma");
        net = net
            .constant(&w, random.tensor(&[6, 6], 0.5))
            .constant(&gamma, random.tensor(&[6], 1.0))
            .node("Add", &[&x, "pos"], &[&sum])
            .node("MatMul", &[&sum, &w], &[&product])
            .node("Shape", &[&x], &[&shape])
            .node("Reshape", &[&product, &shape], &[&flat])
            .node_with("LayerNormalization", &[&flat, &gamma], &[&norm], &[int("axis", -1)]);
        x = norm;
    }
    for node in &mut net.graph.node {
        node.name = node.output[0].clone();
    }
    net.output(&x)
}

fn ends(from: &[&str], to: &[&str]) -> Ends {
    let own = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    Ends { from: own(from), to: own(to) }
}

#[track_caller]
fn check_part(model: &Model, part: &Part) {
    let whole = import(model, &Options::default()).into_graph().unwrap();
    let inputs = Synthetic::new(&whole, 1, 5).get(0).unwrap().into_owned();
    let all = run(&whole, &inputs, Keep::All).unwrap();
    let value = |name: &str| all.get(whole.find(name).unwrap()).unwrap();
    let given = part.graph.inputs().iter().map(|&id| part.graph.value(id).name.clone());
    let given = given.map(|name| (name.clone(), (**value(&name)).clone())).collect();
    let result = run(&part.graph, &given, Keep::Outputs).unwrap();
    for &id in part.graph.outputs() {
        assert_eq!(result.get(id).unwrap(), value(&part.graph.value(id).name));
    }
}

#[test]
fn a_part_computes_what_the_whole_does() {
    let model = Model::from(encoder().model());
    let whole = Whole::new(&model, &Options::default()).unwrap();
    let part = whole.part(&ends(&["/layers.0/product", "pos"], &["/layers.1/product", "/layers.0/norm"])).unwrap();
    check_part(&model, &part);
    let proto = part.model.proto.graph.as_ref().unwrap();
    let constants: Vec<&str> = proto.initializer.iter().map(|i| i.name.as_str()).collect();
    // The second layer's norm is not needed, and the shape is no computation any more.
    assert_eq!(constants, ["/layers.0/gamma", "/layers.1/w", "/layers.0/shape"]);
    assert_eq!(part.graph.nodes().len(), 4);
    assert!(proto.value_info.iter().any(|info| info.name == "/layers.0/flat"));
}

#[test]
fn a_layer_is_found_by_its_name() {
    let model = Model::from(encoder().model());
    let whole = Whole::new(&model, &Options::default()).unwrap();
    assert_eq!(whole.layer(1).unwrap(), ends(&["/layers.0/norm", "pos"], &["/layers.1/norm"]));
    for n in 0..2 {
        check_part(&model, &whole.part(&whole.layer(n).unwrap()).unwrap());
    }
    let error = whole.layer(2).unwrap_err().to_string();
    assert_eq!(error, "the network has no layer 2: they are `/layers.0`, `/layers.1`");
    let plain = Model::from(Net::new(17).input("x", &["2"]).node("Relu", &["x"], &["y"]).output("y").model());
    let error = Whole::new(&plain, &Options::default()).unwrap().layer(0).unwrap_err().to_string();
    assert!(error.contains("no name of a node has one of `layers.`"), "{error}");
}

#[test]
fn layers_of_several_series_are_counted_through() {
    let mut net = Net::new(17).input("x", &["2"]);
    let mut x = "x".to_owned();
    for name in ["/stages.0/blocks.0", "/stages.0/blocks.1", "/stages.1/blocks.0"] {
        let y = format!("{name}/Relu_output_0");
        net = net.node("Relu", &[&x], &[&y]);
        net.graph.node.last_mut().unwrap().name = format!("{name}/Relu");
        x = y;
    }
    let model = Model::from(net.output(&x).model());
    let whole = Whole::new(&model, &Options::default()).unwrap();
    let expected = ends(&["/stages.0/blocks.1/Relu_output_0"], &["/stages.1/blocks.0/Relu_output_0"]);
    assert_eq!(whole.layer(2).unwrap(), expected);
    let error = whole.layer(3).unwrap_err().to_string();
    assert!(error.starts_with("the network has no layer 3: 0 to 2 are `/stages.0/blocks.0`, `"), "{error}");
}

#[test]
fn a_quantised_network_is_cut_and_keeps_its_ranges() {
    let net = encoder();
    let float = Model::from(net.model());
    let inputs = Synthetic::new(&net.build(), 2, 4);
    let quantised = quantize(&float, &inputs, &quantize::Options::default()).unwrap();
    let whole = Whole::new(&quantised.model, &Options::default()).unwrap();
    let layer = whole.layer(1).unwrap();
    assert_eq!(layer, ends(&["/layers.0/norm_quantized", "pos_quantized"], &["/layers.1/norm"]));
    let part = whole.part(&layer).unwrap();
    check_part(&quantised.model, &part);
    let ranges = ranges_of(&part.graph, &quantised.ranges);
    let names: Vec<&str> = ranges.0.keys().map(String::as_str).collect();
    assert!(names.contains(&"/layers.0/norm") && names.contains(&"/layers.1/product"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("layers.0/product")), "{names:?}");
    assert_eq!(Ranges::from_json(&ranges.to_json()).unwrap(), ranges);
    // The same layer of the float network, quantised with the whole's ranges, has the whole's scales.
    let layer = Whole::new(&float, &Options::default()).unwrap();
    let layer = layer.part(&layer.layer(1).unwrap()).unwrap();
    let alone = quantize::quantize_from_ranges(&layer.model, quantised.ranges, &quantize::Options::default()).unwrap();
    let constants = |model: &Model| model.proto.graph.as_ref().unwrap().initializer.clone();
    let of_whole = constants(&quantised.model);
    for constant in constants(&alone.model) {
        assert!(of_whole.contains(&constant), "{}", constant.name);
    }
}

#[test]
fn wrong_ends_are_named() {
    let model = Model::from(encoder().model());
    let whole = Whole::new(&model, &Options::default()).unwrap();
    let error = |from: &[&str], to: &[&str]| whole.part(&ends(from, to)).unwrap_err().to_string();
    let unknown = error(&["src", "poss"], &["/layers.0/norm"]);
    assert_eq!(unknown, "--from `poss`: the network has no such tensor\n  help: did you mean `pos`?");
    assert!(error(&["src"], &["layers.0/nor"]).contains("did you mean `/layers.0/norm`"));
    let missing = error(&["/layers.0/norm"], &["/layers.1/norm"]);
    assert_eq!(missing, "`/layers.1/norm` also depends on `pos`\n  help: add `--from pos`");
    assert!(
        error(&["src", "pos", "/layers.0/norm"], &["/layers.0/sum"])
            .contains("does not depend on --from `/layers.0/norm`")
    );
    assert!(error(&["src"], &["/layers.0/w"]).contains("is a constant"));
    assert!(error(&["pos"], &["src"]).contains("is an input of the network"));
    assert!(error(&["/layers.0/sum"], &["/layers.0/sum"]).contains("both where the part begins and where it ends"));
}

#[test]
fn external_data_is_brought_along() {
    use graphc::onnx::proto::StringStringEntryProto;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("weights"), [0_u8, 0, 128, 63, 0, 0, 0, 64]).unwrap(); // 1, 2
    let net = Net::new(17).input("x", &["2"]).constant("w", list(&[0.0_f32, 0.0]));
    let mut proto = net.node("Add", &["x", "w"], &["y"]).output("y").model();
    let entry = |key: &str, value: &str| StringStringEntryProto { key: key.into(), value: value.into() };
    let constant = &mut proto.graph.as_mut().unwrap().initializer[0];
    constant.raw_data = Default::default();
    constant.data_location = 1;
    constant.external_data = vec![entry("location", "weights"), entry("length", "8")];
    let file = folder.path().join("model.onnx");
    std::fs::write(&file, prost::Message::encode_to_vec(&proto)).unwrap();
    let model = Model::read(&file).unwrap();
    let part = Whole::new(&model, &Options::default()).unwrap().part(&ends(&["x"], &["y"])).unwrap();
    std::fs::remove_file(folder.path().join("weights")).unwrap();
    let w = part.graph.value(part.graph.find("w").unwrap()).constant.clone().unwrap();
    assert_eq!(w.to_vec::<f32>(), Some(vec![1.0, 2.0]));
}
