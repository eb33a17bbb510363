//! Attention stubs: called where they are wanted, told steps and heads, refused with the place of what is wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use graphc::compose::{Composition, Entries};
use graphc::emit::{Emission, Emitted, emit_with};
use graphc::graph::Tensor;
use graphc::plan::{kernel, plan};
use graphc::rewrite;
use graphc::run::program::{Outcome, Program};
use graphc::stub::{AttentionStub, Slot};
use iss::sim::Options;
use iss::target::QC_U;

use crate::support::Lcg;
use crate::support::small::encoder_block;

/// What heads give, one after the other; its step is 0.05.
const ROWS: &str = "block/attention/MatMul_1_output_0";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/segformer/examples").join(name)
}

/// A block of two heads of 8 features, 32 queries and keys, with kernels that end behind the heads.
fn compile(stub: Option<&AttentionStub>) -> Result<(Program, Emitted), String> {
    let (graph, _) = rewrite::all(&encoder_block(16, 2, 4, 8).build()).unwrap();
    let cut = kernel::parse(&format!("heads {ROWS}\nrest *\n")).unwrap();
    let plan = plan(graph, Some(&cut)).unwrap();
    let emitted = emit_with(&plan, &Emission { target: QC_U }, stub).map_err(|errors| errors[0].to_string())?;
    let composition = Composition { entries: Entries::Count(2), prefetch: true };
    let program = Program::compile(plan, emitted.clone(), &composition, &QC_U).map_err(|error| error.to_string())?;
    Ok((program, emitted))
}

fn run(program: &Program) -> Outcome {
    let inputs: HashMap<String, Tensor> = [("image".to_owned(), Lcg(11).tensor(&[1, 3, 16, 32], 4.0))].into();
    program.run(&inputs, &Options::default(), |_| {}).unwrap()
}

/// What heads give: bytes in words of four features, the first head's first.
fn rows(outcome: &Outcome) -> Vec<i8> {
    outcome.tensors[ROWS].iter().map(|&byte| byte as i8).collect()
}

/// A stub whose body is `body`.
fn stub(body: &str) -> String {
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
    assert!(text.contains("head_by_stub::<32, 32, 8, 25, 23, 256, 13421773, 28, 10485760, 19>("), "{text}");
    assert_eq!(emitted.sources["clip_rows.rs"], stub.text);
    let note = "attention stub `clip_rows` of `clip_rows.rs` fills `post_projection` in kernels `heads`";
    assert!(filled.report.notes.contains(&note.to_owned()), "{:?}", filled.report.notes);
}

#[test]
fn a_stub_is_told_which_head_it_is() {
    let text = stub(
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
