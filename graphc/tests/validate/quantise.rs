//! The quantiser: small float networks quantised, read again, run, and compared with the float network and with ONNX Runtime.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use graphc::golden::{Keep, run};
use graphc::graph::{Graph, Tensor, TensorView};
use graphc::onnx::Model;
use graphc::onnx::proto::{GraphProto, TensorProto};
use graphc::onnx::tensor::tensor;
use graphc::quantize::samples::Files;
use graphc::quantize::{
    Format, Inputs, Method, Options, Quantised, QuantizeError, Ranges, Samples, Scheme, Synthetic, quantize,
    quantize_from_ranges,
};
use graphc::{npy, onnx};
use prost::Message;

use crate::support::{Lcg, Net, float, int, ints, list, scalar};

/// Float networks with an input `x` and an output `y`, and what each must keep of the signal, in decibels.
pub fn networks() -> Vec<(&'static str, Net, f64)> {
    let mut random = Lcg(3);
    let mut draw = |shape: &[usize], scale: f32| random.tensor(shape, scale);
    let pads = [ints("pads", &[1, 1, 1, 1])];
    let kernel = ints("kernel_shape", &[2, 2]);
    let convolution = Net::new(17)
        .input("x", &["1", "3", "8", "6"])
        .constant("w", draw(&[4, 3, 3, 3], 0.4))
        .constant("b", draw(&[4], 1.0))
        .node_with("Conv", &["x", "w", "b"], &["conv"], &pads)
        .node("Relu", &["conv"], &["y"]);
    let dense = Net::new(17)
        .input("x", &["5", "12"])
        .constant("w", draw(&[12, 7], 0.5))
        .constant("b", draw(&[7], 1.0))
        .node("MatMul", &["x", "w"], &["product"])
        .node("Add", &["b", "product"], &["y"]);
    let gemm = Net::new(13)
        .input("x", &["4", "9"])
        .constant("w", draw(&[6, 9], 0.5))
        .constant("b", draw(&[6], 2.0))
        .node_with("Gemm", &["x", "w", "b"], &["y"], &[int("transB", 1), float("alpha", 0.5), float("beta", 2.0)]);
    let attention = Net::new(17)
        .input("x", &["2", "6", "8"])
        .constant("wk", draw(&[8, 8], 0.6))
        .constant("scale", scalar(0.35_f32))
        .node("MatMul", &["x", "wk"], &["keys"])
        .node_with("Transpose", &["keys"], &["turned"], &[ints("perm", &[0, 2, 1])])
        .node("MatMul", &["x", "turned"], &["scores"])
        .node("Mul", &["scores", "scale"], &["scaled"])
        .node_with("Softmax", &["scaled"], &["soft"], &[int("axis", -1)])
        .node_with("Cast", &["soft"], &["weights"], &[int("to", 10)])
        .node("MatMul", &["weights", "x"], &["y"]);
    let norm = Net::new(17)
        .input("x", &["3", "16"])
        .constant("gamma", draw(&[16], 1.0))
        .constant("beta", draw(&[16], 0.3))
        .constant("w", draw(&[16, 5], 0.4))
        .node("Add", &["x", "x"], &["sum"])
        .node_with("LayerNormalization", &["sum", "gamma", "beta"], &["norm"], &[int("axis", -1)])
        .node("MatMul", &["norm", "w"], &["y"]);
    let pools = Net::new(17)
        .input("x", &["1", "4", "8", "8"])
        .constant("w", draw(&[4, 1, 3, 3], 0.6))
        .constant("shape", list(&[1_i64, 8]))
        .node_with("Conv", &["x", "w"], &["depth"], &[ints("pads", &[1, 1, 1, 1]), int("group", 4)])
        .node_with("MaxPool", &["depth"], &["max"], &[kernel.clone(), ints("strides", &[2, 2])])
        .node_with("AveragePool", &["depth"], &["mean"], &[kernel, ints("strides", &[2, 2])])
        .node_with("LeakyRelu", &["mean"], &["leaky"], &[float("alpha", 0.2)])
        .node("Sigmoid", &["max"], &["gate"])
        .node_with("Concat", &["leaky", "gate"], &["both"], &[int("axis", 1)])
        .node("GlobalAveragePool", &["both"], &["global"])
        .node("Reshape", &["global", "shape"], &["y"]);
    let normalised = Net::new(17)
        .input("x", &["1", "3", "8", "6"])
        .constant("w", draw(&[4, 3, 1, 1], 0.7))
        .constant("b", draw(&[4], 1.0))
        .constant("gamma", draw(&[4], 1.0))
        .constant("mean", draw(&[4], 1.0))
        .constant("variance", list(&[0.3_f32, 0.8, 2.0, 1.0]))
        .node("Conv", &["x", "w", "b"], &["conv"])
        .node("BatchNormalization", &["conv", "gamma", "b", "mean", "variance"], &["y"]);
    vec![
        ("normalised", normalised.output("y"), 25.0),
        ("convolution", convolution.output("y"), 25.0),
        ("dense", dense.output("y"), 25.0),
        ("gemm", gemm.output("y"), 25.0),
        ("attention", attention.output("y"), 20.0),
        ("norm", norm.output("y"), 25.0),
        ("pools", pools.output("y"), 25.0),
    ]
}

fn network(name: &str) -> Net {
    let found = networks().into_iter().find(|(found, ..)| *found == name);
    found.unwrap_or_else(|| panic!("there is no network `{name}`")).1
}

/// Every combination of form, scheme and granularity.
fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for format in [Format::QOperator, Format::Qdq] {
        all.push(Options { format, exclude: Vec::new(), ..Options::default() });
        for activations in [Scheme::Symmetric, Scheme::Asymmetric] {
            for per_channel in [false, true] {
                all.push(Options { format, activations, per_channel, ..Options::default() });
            }
        }
    }
    all
}

fn quantised(net: &Net, options: &Options) -> Result<Quantised, QuantizeError> {
    let inputs = Synthetic::new(&net.build(), 4, 1);
    quantize(&Model::from(net.model()), &inputs, options)
}

fn graph_of(quantised: &Quantised) -> &GraphProto {
    quantised.model.proto.graph.as_ref().unwrap()
}

fn imported(model: &Model) -> Graph {
    graphc::import::import(model, &graphc::import::Options::default()).into_graph().unwrap()
}

fn constant(of: &Quantised, name: &str) -> Tensor {
    let proto: &TensorProto =
        graph_of(of).initializer.iter().find(|i| i.name == name).unwrap_or_else(|| panic!("{name}"));
    tensor(proto, &onnx::Folder::none()).unwrap()
}

fn steps(of: &Quantised) -> Vec<String> {
    graph_of(of).node.iter().map(|node| format!("{} -> {}", node.op_type, node.output[0])).collect()
}

#[test]
fn quantised_networks_keep_the_signal() {
    for (name, net, least) in networks() {
        for options in all_options() {
            let q = quantised(&net, &options).unwrap_or_else(|error| panic!("{name} {options:?}: {error}"));
            let output = &q.summary.outputs[0];
            let db = output.sqnr_db.unwrap_or(f64::INFINITY);
            assert!(db >= least, "{name} {options:?}: {db:.1} dB\n{}", q.summary);
            assert!(q.summary.operators.iter().any(|op| op.quantised > 0), "{name}");
            let names: Vec<_> = q.model.proto.opset_import.iter().map(|set| set.domain.as_str()).collect();
            let contributed = graph_of(&q).node.iter().any(|node| node.domain == "com.microsoft");
            assert_eq!(names, ["", "com.microsoft"], "{name}: the network names both, contributed: {contributed}");
        }
    }
}

#[cfg(feature = "ort")]
#[test]
fn golden_equals_onnx_runtime_on_quantised_networks() {
    use graphc::validate::{Golden, Status, compare};

    let runtime = graphc::validate::ort::Runtime::load().unwrap_or_else(|error| panic!("{error}"));
    for (name, net, _) in networks() {
        for options in all_options() {
            let q = quantised(&net, &options).unwrap();
            let import = graphc::import::import(&q.model, &graphc::import::Options::default());
            let nodes = import.report.nodes.clone();
            let graph = import.into_graph().unwrap();
            let inputs = Synthetic::new(&graph, 1, 77).get(0).unwrap().into_owned();
            let reference = runtime.run_all(&q.model, &inputs).unwrap_or_else(|e| panic!("{name} {options:?}: {e}"));
            let validation = compare(&graph, &nodes, &Golden::run(&graph, &inputs).unwrap(), &reference);
            assert_eq!(validation.status, Status::Pass, "{name} {options:?}\n{}", validation.text(5));
        }
    }
}

#[test]
fn the_qoperator_form_is_that_of_onnx_runtime() {
    let dense = quantised(&network("dense"), &Options::default()).unwrap();
    let expected = [
        "QuantizeLinear -> x_quantized",
        "QLinearMatMul -> product_quantized",
        "QLinearAdd -> y_quantized",
        "DequantizeLinear -> y",
    ];
    assert_eq!(steps(&dense), expected);
    let inputs = &graph_of(&dense).node[1].input;
    let of = |name: &str| [format!("{name}_quantized"), format!("{name}_scale"), format!("{name}_zero_point")];
    assert_eq!(inputs[..3], of("x"));
    assert_eq!(inputs[3..6], of("w"));
    assert_eq!(inputs[6..], of("product")[1..]);
    // A Relu is nothing but saturation where the zero point is the lowest value.
    let symmetric = quantised(&network("convolution"), &Options::default()).unwrap();
    assert_eq!(steps(&symmetric)[2..], ["DequantizeLinear -> conv", "Relu -> y"]);
    let asymmetric = Options { activations: Scheme::Asymmetric, ..Options::default() };
    let asymmetric = quantised(&network("convolution"), &asymmetric).unwrap();
    assert_eq!(steps(&asymmetric)[1..], ["QLinearConv -> conv_quantized", "DequantizeLinear -> y"]);
    // A batch normalisation is part of the convolution in front of it.
    let normalised = quantised(&network("normalised"), &Options::default()).unwrap();
    assert_eq!(steps(&normalised)[1..], ["QLinearConv -> y_quantized", "DequantizeLinear -> y"]);
    // What is excluded is in float, between what is not; a conversion between floats is gone.
    let attention = steps(&quantised(&network("attention"), &Options::default()).unwrap());
    let softmax = attention.iter().position(|step| step.starts_with("Softmax")).unwrap();
    assert_eq!(
        attention[softmax - 1..softmax + 2],
        ["DequantizeLinear -> scaled", "Softmax -> soft", "QuantizeLinear -> soft_quantized"]
    );
}

#[test]
fn scales_and_biases_are_those_of_onnx_runtime() {
    // x from -1 to 2, w up to 1.27: s_x = 4 / 254, s_w = 2.54 / 254, bias in steps of s_x * s_w.
    let net = Net::new(17)
        .input("x", &["1", "1", "1", "4"])
        .constant("w", ndarray::arr1(&[1.27_f32, -0.5]).into_shape_with_order(vec![2, 1, 1, 1]).unwrap())
        .constant("b", list(&[1.0_f32, -2.0]))
        .node("Conv", &["x", "w", "b"], &["y"])
        .output("y");
    let x: Tensor = ndarray::arr1(&[-1.0_f32, 0.0, 1.0, 2.0]).into_shape_with_order(vec![1, 1, 1, 4]).unwrap().into();
    let inputs = vec![Inputs::from([("x".to_owned(), x)])];
    let model = Model::from(net.model());
    let q = quantize(&model, &inputs, &Options::default()).unwrap();
    let (sx, sw) = (4.0_f32 / 254.0, (2.0 * f64::from(1.27_f32) / 254.0) as f32);
    assert_eq!(constant(&q, "x_scale"), scalar(sx));
    assert_eq!(constant(&q, "w_scale"), scalar(sw));
    assert_eq!(constant(&q, "w_quantized").to_vec::<i8>(), Some(vec![127, -50]));
    let step = f64::from(sx * sw);
    let steps: Vec<i32> = [1.0, -2.0].map(|v: f64| (v / step).round_ties_even() as i32).to_vec();
    assert_eq!(constant(&q, "b_quantized").to_vec::<i32>(), Some(steps));
    assert_eq!(q.ranges.get("x"), Some([-1.0, 2.0]));
    assert_eq!(q.ranges.get("w"), Some([-0.5, 1.27]));
    // y = 1.27 x + 1 and -0.5 x - 2.
    let [low, high] = q.ranges.get("y").unwrap();
    assert!((low + 3.0).abs() < 1e-6 && (high - 3.54).abs() < 1e-6);
    let again = quantize_from_ranges(&model, q.ranges.clone(), &Options::default()).unwrap();
    assert_eq!(again.model.proto, q.model.proto);
    let channels = Options { per_channel: true, activations: Scheme::Asymmetric, ..Options::default() };
    let q = quantize(&model, &inputs, &channels).unwrap();
    assert_eq!(constant(&q, "w_quantized").to_vec::<i8>(), Some(vec![127, -127]));
    assert_eq!(constant(&q, "x_scale"), scalar(3.0_f32 / 255.0));
    assert_eq!(constant(&q, "x_zero_point"), scalar(-43_i8)); // -128 + 85
}

#[test]
fn outliers_are_left_out() {
    let net = &network("dense");
    let mut random = Lcg(5);
    let mut inputs: Vec<Inputs> =
        (0..50).map(|_| Inputs::from([("x".to_owned(), random.tensor(&[5, 12], 1.0))])).collect();
    if let Some(Tensor::F32(x)) = inputs[7].get_mut("x") {
        x[[2, 3]] = 100.0;
    }
    let model = Model::from(net.model());
    let high = |method| {
        let q = quantize(&model, &inputs, &Options { method, ..Options::default() }).unwrap();
        q.ranges.get("x").unwrap()[1]
    };
    assert_eq!(high(Method::MinMax), 100.0);
    assert_eq!(high(Method::Percentile(100.0)), 100.0);
    assert!(high(Method::Percentile(99.9)) < 2.0);
    assert!(high(Method::Entropy) < 50.0);
}

#[test]
fn exclusions_are_operators_nodes_and_patterns() {
    let net = &network("attention");
    let float_nodes = |more: &str| {
        let mut options = Options::default();
        options.exclude.push(more.to_owned());
        quantised(net, &options).map(|q| (q.summary.n_float(), q.summary.to_string()))
    };
    assert_eq!(float_nodes("Softmax").unwrap().0, 1);
    let (n, table) = float_nodes("MatMul:scores").unwrap();
    assert_eq!(n, 2);
    assert!(table.contains("MatMul                           2       0       1  excluded"), "{table}");
    assert_eq!(float_nodes("*:s*").unwrap().0, 3); // scores, scaled, soft
    let error = float_nodes("MatMul:score").unwrap_err().to_string();
    assert_eq!(error.lines().next(), Some("exclusion `MatMul:score` matches no operator type and no node"));
    assert!(error.contains("did you mean `MatMul:scores`"), "{error}");
    assert!(float_nodes("[").unwrap_err().to_string().contains("is no pattern"));
    let all = Options { exclude: vec!["*".to_owned()], ..Options::default() };
    assert!(quantised(net, &all).unwrap_err().to_string().starts_with("no node can be quantised: the network has"));
}

#[test]
fn what_cannot_be_quantised_is_named() {
    let net = &network("dense");
    let model = Model::from(net.model());
    let error = |inputs: Vec<Inputs>| quantize(&model, &inputs, &Options::default()).unwrap_err().to_string();
    let of = |shape: &[usize], v: f32| {
        let x = ndarray::ArrayD::from_elem(ndarray::IxDyn(shape), v);
        Inputs::from([("x".to_owned(), x.into())])
    };
    assert!(error(vec![]).starts_with("there are no calibration inputs"));
    assert!(
        error(vec![of(&[5, 12], 1.0), of(&[5, 12], f32::NAN)])
            .starts_with("calibration input 1: `x` has elements that are")
    );
    assert!(error(vec![of(&[5, 13], 1.0)]).contains("calibration input 0: input `x` is f32[5x13], expected f32[5x12]"));
    assert!(error(vec![Inputs::new()]).contains("input `x` (f32[5x12]) is missing"));
    assert!(error(vec![of(&[5, 12], f32::MAX)]).starts_with("tensor `product` has no range"));
    let twice = quantised(net, &Options::default()).unwrap();
    let error = quantize(&twice.model, &Synthetic::new(&imported(&twice.model), 1, 0), &Options::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`x_QuantizeLinear` is QuantizeLinear: the network is quantised already"), "{error}");
    let percent = Options { method: Method::Percentile(30.0), ..Options::default() };
    assert!(quantised(net, &percent).unwrap_err().to_string().starts_with("percentile 30 is outside"));
    let old = Net { opset: 11, ..net.clone() };
    let channels = Options { per_channel: true, format: Format::Qdq, ..Options::default() };
    assert!(quantised(&old, &channels).unwrap_err().to_string().contains("opset 11"));
    let error = quantize_from_ranges(&model, Ranges::default(), &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("tensor `x` has no range"), "{error}");
}

#[test]
fn tensors_of_zeros_have_a_scale_of_one() {
    let net = Net::new(17)
        .input("x", &["2", "3"])
        .constant("w", Tensor::from(ndarray::ArrayD::<f32>::zeros(vec![3, 4])))
        .constant("c", scalar(2.5_f32))
        .node("MatMul", &["x", "w"], &["product"])
        .node("Add", &["product", "c"], &["y"])
        .output("y");
    for options in all_options() {
        let q = quantised(&net, &options).unwrap();
        assert_eq!(q.summary.zero_tensors, ["product"]);
        assert!(q.summary.to_string().contains("1 tensors are 0 on all calibration inputs, `product` first"));
        let graph = imported(&q.model);
        let inputs = Synthetic::new(&graph, 1, 3).get(0).unwrap().into_owned();
        let y = run(&graph, &inputs, Keep::Outputs).unwrap();
        let y = y.get(graph.outputs()[0]).unwrap();
        assert!(y.view::<f32>().unwrap().iter().all(|&v| (v - 2.5).abs() < 1e-6), "{y:?}");
    }
}

#[test]
fn inputs_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dense = network("dense").build();
    let open = |graph: &Graph, paths: &[PathBuf]| Files::open(graph, paths).map_err(|error| error.to_string());
    let error = |graph: &Graph, path: &Path| open(graph, &[path.to_path_buf()]).unwrap_err();
    assert!(error(&dense, folder.path()).contains("has no file that ends in"));
    let array = |shape: &[usize]| Lcg(1).tensor(shape, 1.0);
    npy::write(&at("b.npy"), &array(&[5, 12])).unwrap();
    npy::write(&at("a.npy"), &array(&[3, 5, 12])).unwrap();
    let files = open(&dense, &[folder.path().to_path_buf()]).unwrap();
    assert_eq!(files.count(), 4);
    assert!(files.label(1).starts_with("1 of `") && files.label(1).contains("a.npy"));
    let Some(Tensor::F32(stack)) = Some(array(&[3, 5, 12])) else { unreachable!() };
    let second: Tensor = stack.index_axis(ndarray::Axis(0), 1).to_owned().into();
    assert_eq!(files.get(1).unwrap()["x"], second);
    npy::write(&at("wrong.npy"), &array(&[6, 12])).unwrap();
    assert!(error(&dense, &at("wrong.npy")).contains("for input `x` is f32[6x12], expected f32[5x12]"));
    std::fs::write(at("torn.npz"), b"PK\x03\x04").unwrap();
    assert!(error(&dense, &at("torn.npz")).contains("not a .npz file"));
    std::fs::write(at("text.txt"), "").unwrap();
    assert!(error(&dense, &at("text.txt")).contains("ends in none of"));
    assert!(error(&dense, &at("absent.npy")).contains("absent.npy"));
    std::fs::write(at("picture.png"), "").unwrap();
    assert!(error(&dense, &at("picture.png")).contains("pictures suit f32[1x3xHxW]"));
    let pixels = graphc::picture::to_png(&image::RgbImage::from_pixel(8, 6, image::Rgb([255, 0, 124])));
    std::fs::write(at("picture.png"), pixels).unwrap();
    let image =
        Net::new(17).input("pixels", &["1", "3", "3", "4"]).node("Relu", &["pixels"], &["y"]).output("y").build();
    let pictures = open(&image, &[at("picture.png")]).unwrap();
    let (white, black) = ((1.0 - 0.485) / 0.229, -0.456 / 0.224);
    let pixels = pictures.get(0).unwrap()["pixels"].clone();
    let near = |channel: usize, expected: f64| (pixels.element(&[0, channel, 2, 3]).unwrap() - expected).abs() < 1e-5;
    assert!(pixels.shape() == [1, 3, 3, 4] && near(0, white) && near(1, black), "{pixels:?}");
    let two = Net::new(17).input("a", &["2"]).input("b", &["2"]).node("Add", &["a", "b"], &["y"]).output("y").build();
    assert!(error(&two, &at("b.npy")).contains("the network has `a`, `b`"));
}

#[test]
fn a_seed_gives_the_same_network() {
    let net = &network("convolution");
    let of = |seed| quantize(&Model::from(net.model()), &Synthetic::new(&net.build(), 3, seed), &Options::default());
    let proto = |seed| of(seed).unwrap().model.proto;
    assert_eq!(proto(1), proto(1));
    assert!(proto(1) != proto(2));
    let drawn: HashMap<_, _> = Synthetic::new(&net.build(), 3, 1).get(2).unwrap().into_owned();
    assert_eq!(drawn["x"].shape(), [1, 3, 8, 6]);
}

#[test]
fn damaged_networks_give_errors_and_no_panic() {
    let mut random = Lcg(11);
    let (mut quantised, mut refused) = (0, 0);
    for (_, net, _) in networks() {
        let bytes = net.model().encode_to_vec();
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            let bit = random.next() as usize % (8 * damaged.len());
            damaged[bit / 8] ^= 1 << (bit % 8);
            let Ok(model) = Model::decode(damaged.into(), onnx::Folder::none()) else { continue };
            let graph = graphc::import::import(&model, &graphc::import::Options::default()).into_graph();
            // A flipped extent may ask for gigabytes, which is no fault.
            let Ok(graph) = graph else { continue };
            if graph.values().iter().map(|value| value.ty.len()).sum::<usize>() > 100_000 {
                continue;
            }
            let format = if bit.is_multiple_of(2) { Format::QOperator } else { Format::Qdq };
            match quantize(&model, &Synthetic::new(&graph, 1, 0), &Options { format, ..Options::default() }) {
                Ok(_) => quantised += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(quantised > 100 && refused > 0, "{quantised} are quantised, {refused} refused");
}
