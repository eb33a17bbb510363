//! Plans of small networks: what becomes one step, what is a view, what no step takes.

mod support;

use std::collections::BTreeSet;

use graphc::graph::Graph;
use graphc::plan::group::{Grouped, group};
use graphc::plan::{PlanError, kernel, memory, plan};
use graphc::rewrite;
use support::small::{Quantised, encoder_block};
use support::{Lcg, list};

#[track_caller]
fn grouped(graph: &Graph) -> (Graph, Grouped) {
    let (graph, _) = rewrite::all(graph).unwrap();
    let grouped = group(&graph).unwrap_or_else(|errors| panic!("{}", errors[0]));
    (graph, grouped)
}

fn words(grouped: &Grouped) -> String {
    grouped.steps.iter().map(|step| step.word()).collect::<Vec<_>>().join(" ")
}

/// Every node is in exactly one place.
#[track_caller]
fn covered(graph: &Graph, grouped: &Grouped) {
    let steps = grouped.steps.iter().flat_map(|step| step.nodes.iter());
    let all: Vec<usize> = steps.chain(&grouped.aliases).chain(&grouped.host).map(|id| id.index()).collect();
    let each: BTreeSet<usize> = all.iter().copied().collect();
    assert_eq!((all.len(), each.len()), (graph.nodes().len(), graph.nodes().len()));
}

#[test]
fn an_encoder_block() {
    let (graph, grouped) = grouped(&encoder_block(16, 2, 4, 8).build());
    covered(&graph, &grouped);
    let expected =
        "input conv norm norm dense dense dense attention dense norm ffn norm put conv resize put conv labels";
    assert_eq!(words(&grouped), expected, "a fused norm of a norm, three projections, one attention, one Mix-FFN");
    assert!(grouped.notes.is_empty(), "{:?}", grouped.notes);
}

#[test]
fn every_node_is_taken_once_whatever_the_extents() {
    for (channels, heads, height, width) in [(8, 1, 3, 5), (32, 4, 2, 8), (4, 1, 1, 16)] {
        let (graph, grouped) = grouped(&encoder_block(channels, heads, height, width).build());
        covered(&graph, &grouped);
    }
}

#[test]
fn what_is_no_view_moves() {
    // Height and width change places, which no reader can follow.
    let mut q = Quantised::image(8, 3, 5);
    q.net = q.net.node_with("Transpose", &["x"], &["turned"], &[support::ints("perm", &[0, 1, 3, 2])]);
    q.net = q.net.constant("w", Lcg(3).int8(&[4, 8, 1, 1]));
    let (graph, grouped) = grouped(&q.conv("turned", "w", "y", &[]).net.output("y").build());
    covered(&graph, &grouped);
    assert_eq!(words(&grouped), "input move conv");
    assert_eq!(grouped.notes, ["tensor `turned`: is no view of its source, so that its elements move one by one"]);
}

#[test]
fn what_no_kernel_takes_is_named() {
    let graph = support::Net::new(17)
        .input("x", &["1", "4", "6", "6"])
        .node("Sqrt", &["x"], &["root"])
        .node("Exp", &["root"], &["y"])
        .output("y")
        .build();
    let errors = group(&graph).unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = "node `Sqrt:root` (Sqrt, opset 17): no kernel takes it in float\n  help: quantise the network with \
                    `graphc quantize`, or on the way with `--ranges auto`";
    assert_eq!(texts, [expected], "what is behind is no error of its own");
}

#[test]
fn a_sum_of_tensors_that_lie_differently_is_refused() {
    let q = Quantised::image(4, 4, 4);
    let net = q.net.node_with("Transpose", &["x"], &["t"], &[support::ints("perm", &[0, 3, 2, 1])]);
    let net = net.constant("unused", list(&[0_i8]));
    let net = net.node("com.microsoft.QLinearAdd", &["x", "s", "z", "t", "s", "z", "s", "z"], &["y"]).output("y");
    let errors = group(&net.build()).unwrap_err();
    assert!(errors[0].to_string().contains("lie differently"), "{}", errors[0]);
}

#[test]
fn kernels_end_behind_residuals() {
    let (graph, _) = rewrite::all(&encoder_block(16, 2, 4, 8).build()).unwrap();
    let plan = plan(graph, None).unwrap();
    let names: Vec<&str> = plan.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["attention", "ffn", "labels"]);
    let steps: usize = plan.kernels.iter().map(|kernel| kernel.steps.len()).sum();
    assert_eq!(steps + 1, plan.grouped.steps.len(), "all but the host's");
    let value = |ids: &[graphc::graph::ValueId]| -> Vec<String> {
        ids.iter().map(|&id| plan.graph.value(id).name.clone()).collect()
    };
    assert_eq!(value(&plan.kernels[0].inputs), ["x"]);
    assert_eq!(value(&plan.kernels[0].outputs), value(&plan.kernels[1].inputs));
    assert_eq!(value(&plan.kernels[2].outputs), ["labels"]);
    assert!(plan.notes(1 << 20).is_empty());
    assert_eq!(plan.notes(1000).len(), 3, "each kernel needs more than 1000 bytes");
}

#[test]
fn boundaries_cut_where_they_say() {
    let (graph, _) = rewrite::all(&encoder_block(16, 2, 4, 8).build()).unwrap();
    let text = "# name tensor\nstem block/stem/Conv_output_0\n\nencoder hidden # a view of fc1\nrest *\n";
    let boundaries = kernel::parse(text).unwrap();
    // The hidden channels of a Mix-FFN are inside of one step.
    let error = plan(graph.clone(), Some(&boundaries)).unwrap_err();
    assert!(matches!(&error, PlanError::NoTensor { tensor, .. } if tensor == "hidden"), "{error}");
    let cut = kernel::parse("stem block/stem/Conv_output_0\nencoder block/Add_1_output_0\nrest *").unwrap();
    let plan = plan(graph, Some(&cut)).unwrap();
    let sizes: Vec<(&str, usize)> = plan.kernels.iter().map(|k| (k.name.as_str(), k.steps.len())).collect();
    assert_eq!(sizes, [("stem", 1), ("encoder", 9), ("rest", 7)]);
}

#[test]
fn a_boundaries_file_that_cannot_be_read() {
    for (text, line) in [("a", 1), ("\na b c", 2), ("a x\na y", 2), ("3 x", 1), ("a *\nb x", 2)] {
        let error = kernel::parse(text).unwrap_err();
        assert!(matches!(error, PlanError::Boundary { line: found, .. } if found == line), "{text}: {error}");
    }
}

#[test]
fn scopes_nest_and_places_do_not_overlap() {
    let (graph, _) = rewrite::all(&encoder_block(16, 2, 4, 8).build()).unwrap();
    let plan = plan(graph, None).unwrap();
    for kernel in &plan.kernels {
        let scopes = memory::scopes(&plan.grouped, kernel);
        for (i, a) in scopes.iter().enumerate() {
            for b in &scopes[i + 1..] {
                assert!(a.last < b.first || b.last <= a.last, "{a:?} {b:?} cross");
            }
        }
    }
    let places: Vec<_> = plan.places.values().collect();
    for (i, a) in places.iter().enumerate() {
        for b in &places[i + 1..] {
            let apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
            assert!(apart || a.last < b.first || b.last < a.first, "{a:?} {b:?} overlap");
        }
    }
}
