//! Calls of an attention stub: the function of a kernel's text that lays the stub around the library's steps, and its calls.

use ccl_runtime::value::Scale;

use crate::emit::calls::{NN, Reason};
use crate::emit::text::Text;
use crate::graph::op::QParam;
use crate::stub::AttentionStub;

/// Bytes of local memory in each PE that a post-projection stub may allocate; what the softmax of 16 keys has held is free by then.
const SCRATCH: usize = 256;

/// A stub, and the module beside the kernels that it becomes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stub<'a> {
    /// The stub.
    pub stub: &'a AttentionStub,
    /// Name of the module.
    pub module: &'a str,
}

/// A head by the library, whose rows go through the stub.
const PROJECTED: &str = "
    /// A head whose projected rows go through the stub before they are stored.
    fn head_by_stub<
        const N: usize,
        const K: usize,
        const D: usize,
        const P: usize,
        const R: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        q: &Ocm<i8, Tokens<N, D>>,
        keys: &Ocm<i8, Tokens<K, D>>,
        values: &Ocm<i8, Planar<D, 1, K>>,
        table: &Ocm<i32, Vector<256>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
        scales: (Scale, Scale),
        steps: Fx<R>,
        inputs: (i32, i32, i32),
        zero_points: (i32, i32, i32),
        head: usize,
    ) {
        let table = broadcast(table).fill::<Lrm<i32, 256>>();
        let mut taken = Lrm::<i32, D>::filled(0);
        taken_by_zero::<K, D>(values, zero_points.1, &mut taken);
        for t in q.tiles().pipelined(2) {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let mut row = Lrm::<i8, D>::new();
            attended::<K, D, P, R>(&query, keys, values, &table, &taken, scales, steps, inputs, zero_points, &mut row);
            #[region(\"post_projection\")]
            post_projection::<D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(&mut row, t.index(), head);
            y.at(t).store(row);
        }
    }
";

/// Calls a head whose projected rows go through the stub: const arguments and arguments of the library's head, and which head it is.
pub(crate) fn write_projected(
    text: &mut Text,
    stub: &Stub,
    generics: &[usize],
    (mut args, head): (Vec<String>, usize),
    out: QParam,
) -> Reason {
    if out.zero != 0 {
        let zero = out.zero;
        return Err(format!(
            "its projected rows have the zero point {zero}, which the attention stub `{}` is not told: quantise symmetrically",
            stub.stub.function
        ));
    }
    text.uses.extend([format!("{NN}::attention::attended"), format!("{NN}::attention::taken_by_zero")]);
    use_stub(text, stub, PROJECTED);
    let mut consts: Vec<String> = generics.iter().map(usize::to_string).collect();
    consts.push(SCRATCH.to_string());
    consts.extend(factor(f64::from(out.scale))?);
    consts.extend(factor(1.0 / f64::from(out.scale))?);
    args.push(head.to_string());
    text.call_own(HELPER, &consts, &args);
    Ok(())
}

/// A factor as const arguments: 24 bits of mantissa and a shift.
fn factor(value: f64) -> Reason<[String; 2]> {
    if !(value > 0.0 && value.is_finite()) {
        return Err(format!("a stub is told the factor {value}, expected a positive number"));
    }
    let scale = Scale::from_f64(value);
    Ok([scale.mantissa.to_string(), scale.shift.to_string()])
}

/// The function of a kernel's text that calls the stub.
const HELPER: &str = "head_by_stub";

fn use_stub(text: &mut Text, Stub { stub, module }: &Stub, helper: &str) {
    let (function, slot) = (&stub.function, stub.slot.name());
    let path = format!("super::{module}::{function}");
    text.uses.insert(if function == slot { path } else { format!("{path} as {slot}") });
    text.helpers.insert(helper.to_owned());
}

/// What a manifest says of a stub in kernels of these names.
pub(crate) fn note(stub: &AttentionStub, kernels: &[String]) -> String {
    let (file, function, slot) = (&stub.file, &stub.function, stub.slot.name());
    format!("attention stub `{function}` of `{file}` fills `{slot}` in kernels `{}`", kernels.join("`, `"))
}
