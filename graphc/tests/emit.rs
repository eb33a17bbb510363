//! Texts of small networks: kernels that the front end accepts, the same in each run, with constants where the manifest says.

mod support;

use graphc::emit::{Emission, Emitted, emit};
use graphc::plan::{kernel, plan};
use graphc::rewrite;
use iss::target::{QC_N, QC_U, Target};
use support::Net;
use support::small::{Quantised, decode_head, encoder_block};

/// The folder of a network. What the front end finds in a text is an error of `emit` already.
#[track_caller]
fn emitted(net: &Net) -> Emitted {
    emitted_for(net, QC_U)
}

#[track_caller]
fn emitted_for(net: &Net, target: Target) -> Emitted {
    let (graph, _) = rewrite::all(&net.build()).unwrap();
    let plan = plan(graph, None).unwrap_or_else(|error| panic!("{error}"));
    emit(&plan, &Emission { target }).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

#[track_caller]
fn refused(net: &Net) -> String {
    let (graph, _) = rewrite::all(&net.build()).unwrap();
    let errors = emit(&plan(graph, None).unwrap(), &Emission { target: QC_U }).expect_err("there is a kernel for it");
    errors[0].to_string()
}

#[test]
fn an_encoder_block_calls_the_library() {
    let emitted = emitted(&encoder_block(16, 2, 4, 8));
    let names: Vec<&str> = emitted.sources.keys().map(String::as_str).collect();
    assert_eq!(names, ["attention.rs", "ffn.rs", "labels.rs"]);
    let calls = |file: &str, call: &str| emitted.sources[file].matches(call).count();
    assert_eq!(calls("attention.rs", "conv_space_to_depth::<3, 16, 16, 32, 4, 8, 4, 2, 2, 48, 192>("), 1);
    assert_eq!(calls("attention.rs", "attention_head::<32, 32, 32, 8, 1, 32, 25, 23>("), 2, "a call for each head");
    assert_eq!(calls("attention.rs", "dense_bias::<32, 16, 16, 1, 32>("), 3, "queries, keys and values");
    assert_eq!(calls("attention.rs", "dense_bias_residual::<"), 1);
    assert_eq!(calls("ffn.rs", "mix_ffn::<16, 64, 4, 8, 1, 16, 64>("), 1);
    assert_eq!(calls("labels.rs", "argmax::<5, 4, 8>("), 1);
    assert_eq!(calls("labels.rs", "put::<16, 4, 8, 32, 4, 8, 16>("), 1, "the second half of the channels");
}

#[test]
fn a_decode_head_is_one_call() {
    let net = decode_head(16, 40);
    let fused = emitted(&net).sources.into_values().collect::<String>();
    let head = "decode_head::<16, 16, 16, 16, 16, 8, 5, 16, 40, 8, 20, 4, 10, 2, 5, 1, 16, 40, 64, 1, 32, 32, 64, 32>(";
    assert_eq!(fused.matches(head).count(), 1, "{fused}");
    assert_eq!(fused.matches("enlarge_argmax::<5, 16, 40, 64, 160, 4, 16, 1, 40>(").count(), 1);
    assert_eq!(fused.matches("put::<").count(), 0, "nothing is concatenated in on-chip memory");
    // 10 groups of 4 columns are more than 8 columns of PEs.
    let separate = emitted_for(&net, QC_N).sources.into_values().collect::<String>();
    assert_eq!(separate.matches("decode_head::<").count(), 0);
    assert_eq!(separate.matches("dense_bias::<").count(), 4);
    assert_eq!(separate.matches("enlarge_linear::<16, 2, 5, 16, 40, 8, 256>(").count(), 1);
    assert_eq!(separate.matches("put::<").count(), 4);
}

#[test]
fn whatever_the_extents() {
    for (channels, heads, height, width) in [(32, 4, 2, 8), (4, 1, 1, 16), (8, 2, 8, 16)] {
        assert_eq!(emitted(&encoder_block(channels, heads, height, width)).sources.len(), 3);
    }
}

#[test]
fn tokens_fill_rows_of_the_array() {
    let emitted = emitted(&encoder_block(8, 2, 8, 16));
    let text = &emitted.sources["ffn.rs"];
    assert!(text.contains("layer_norm::<8, 4, 32, 16, "), "128 tokens are 4 rows of 32:\n{text}");
    assert!(text.contains("let norm_after = "), "rustc warns of a `mut` that only views would use:\n{text}");
}

#[test]
fn what_is_no_view_is_permuted() {
    let mut q = Quantised::image(8, 3, 5);
    q.net = q.net.node_with("Transpose", &["x"], &["turned"], &[support::ints("perm", &[0, 1, 3, 2])]);
    q.net = q.net.constant("w", support::Lcg(3).int8(&[4, 8, 1, 1]));
    let emitted = emitted(&q.conv("turned", "w", "y", &[]).net.output("y"));
    let text = emitted.sources.values().next().unwrap();
    // Element [c, h, w] of the result is 15 channels' elements, 1 row's and 5 columns' on.
    assert!(text.contains("permute::<120, 8, 5, 3>("), "{text}");
    assert!(text.contains("(15, 1, 5)"), "{text}");
    assert_eq!(emitted.manifest.notes.len(), 1);
}

#[test]
fn the_same_bytes_each_time() {
    assert_eq!(emitted(&encoder_block(16, 2, 4, 8)), emitted(&encoder_block(16, 2, 4, 8)));
}

#[test]
fn constants_are_where_the_manifest_says() {
    let emitted = emitted(&encoder_block(16, 2, 4, 8));
    let mut end = 0;
    for kernel in &emitted.manifest.kernels {
        for constant in &kernel.constants {
            assert!(constant.offset >= end && constant.offset.is_multiple_of(64), "{} overlaps", constant.parameter);
            end = constant.offset + constant.bytes;
            let text = &emitted.sources[&kernel.file];
            assert!(text.contains(&format!("        {}: &Ocm<", constant.parameter)), "{}", constant.parameter);
        }
    }
    assert_eq!(end, emitted.blob.len());
    assert_eq!((emitted.manifest.inputs[0].name.as_str(), emitted.manifest.inputs[0].tensor.as_str()), ("image", "x"));
    assert_eq!(emitted.manifest.outputs[0].name, "labels");
    assert_eq!(emitted.manifest.notes, [] as [String; 0]);
}

#[test]
fn weights_lie_in_stream_order() {
    let net = Quantised::image(4, 2, 2);
    let weights: Vec<i8> = (0..8).collect();
    let weights = ndarray::Array4::from_shape_vec((2, 4, 1, 1), weights).unwrap().into_dyn();
    let net = Quantised { net: net.net.constant("w", weights), ..Quantised::image(4, 2, 2) };
    let emitted = emitted(&net.conv("x", "w", "y", &[]).net.output("y"));
    let biases = [0_u8; 16];
    assert_eq!(emitted.blob[..16], biases);
    assert_eq!(emitted.blob[16..], [0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_the_library_lacks_is_named() {
    // 21 keys are no multiple of 16.
    let error = refused(&encoder_block(4, 1, 3, 7));
    assert!(error.starts_with("kernel `attention`, node `") && error.contains("21 keys of 4 features"), "{error}");
}

#[test]
fn the_boundaries_of_segformer() {
    let boundaries = kernel::parse(include_str!("../boundaries/segformer_b0.txt")).unwrap();
    let names: Vec<String> = (0..17).map(|i| format!("pc{i:02}")).collect();
    assert!(boundaries.iter().map(|b| &b.kernel).eq(&names));
    assert_eq!(boundaries[16].tensor, "*");
}
