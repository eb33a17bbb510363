//! Calls of an attention stub: the function of a kernel's text that lays the stub around the library's steps, and its calls.

use ccl_runtime::kernel::LRM_RESERVE_BYTES;
use ccl_runtime::value::Scale;

use crate::emit::calls::{NN, Reason};
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::op::QParam;
use crate::stub::AttentionStub;

/// Bytes of local memory in each PE that a post-projection stub may allocate; what the softmax of 16 keys has held is free by then.
const SCRATCH: usize = 256;

/// Keys in a chunk at most: what a stub keeps of each is bytes of local memory.
const CHUNK: usize = 64;

/// Keys at most: sums of weights have 32 bits.
const MAX_KEYS: usize = 4096;

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
        const KP: usize,
        const D: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
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
        values: &Ocm<i8, Planar<D, 1, KP>>,
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
        taken_by_zero::<KP, D>(values, zero_points.1, &mut taken);
        for t in q.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let mut row = Lrm::<i8, D>::new();
            attended::<K, KP, D, P, R>(&query, keys, values, &table, &taken, scales, steps, inputs, zero_points, &mut row);
            #[region(\"post_projection\")]
            post_projection::<D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(&mut row, t.index(), head);
            y.at(t).store(row);
        }
    }
";

/// A head by the stub alone.
const WHOLE: &str = "
    /// A head by the stub: keys and values in chunks that are tensors by themselves, filled up by keys of 0.
    fn head_by_stub<
        const N: usize,
        const KEYS: usize,
        const K: usize,
        const CHUNKS: usize,
        const CHUNK: usize,
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        q: &Ocm<i8, Tokens<N, D>>,
        keys: &[Ocm<i8, Tokens<CHUNK, D>>; CHUNKS],
        values: &[Ocm<i8, Planar<D, 1, CHUNK>>; CHUNKS],
        y: &mut Ocm<i8, Tokens<N, D>>,
        head: usize,
    ) {
        for t in q.tiles().pipelined(2) {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let mut row = Lrm::<i8, D>::new();
            whole_head::<KEYS, K, CHUNKS, CHUNK, D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(
                &query,
                keys,
                values,
                &mut row,
                t.index(),
                head,
            );
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

/// An attention whose heads are the stub's.
pub(crate) struct Heads<'a> {
    /// Where queries, keys and values are.
    pub inputs: [&'a Variable; 3],
    /// What they count, and what the result does.
    pub q: [QParam; 4],
    /// Heads, queries, keys, features of each.
    pub extents: [usize; 4],
    /// Rows and columns in which keys lie in a walk.
    pub grid: (usize, usize),
    /// What a step of the products is worth beyond the scales of queries and keys.
    pub factor: f64,
    /// Bytes of local memory.
    pub lrm_bytes: usize,
}

/// Calls heads that are the stub's: keys and values are copied to chunks first.
pub(crate) fn write_whole(text: &mut Text, stub: &Stub, heads: &Heads, y: &Variable) -> Reason {
    let [h, n, keys, d] = heads.extents;
    let function = &stub.stub.function;
    if heads.q.iter().any(|q| q.zero != 0) {
        let [q, k, v, y] = heads.q.map(|q| q.zero);
        return Err(format!(
            "its queries, keys, values and result have the zero points {q}, {k}, {v} and {y}, which the attention stub `{function}` \
             is not told: quantise symmetrically"
        ));
    }
    if d % 4 != 0 || keys > MAX_KEYS {
        return Err(format!(
            "{keys} keys of {d} features: the attention stub `{function}` takes at most {MAX_KEYS}, of multiples of 4"
        ));
    }
    let chunk = keys.next_multiple_of(16).min(CHUNK);
    let n_chunks = keys.div_ceil(chunk);
    let scratch = (heads.lrm_bytes.saturating_sub(LRM_RESERVE_BYTES as usize) / 2).saturating_sub(2 * d) & !15;
    let [q, k, v, out] = heads.q.map(|q| f64::from(q.scale));
    let numbers = [n, keys, n_chunks * chunk, n_chunks, chunk, d, scratch];
    let mut consts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    consts.extend(factor(q * k * heads.factor)?);
    consts.extend(factor(v / out)?);
    use_stub(text, stub, WHOLE);
    text.open();
    text.comment("Keys and values in chunks, values channel by channel, so that 16 keys are 16 bytes.");
    let of_keys = text.allocate_array("key_chunks", n_chunks, &format!("Tokens<{chunk}, {d}>"));
    let of_values = text.allocate_array("value_chunks", n_chunks, &format!("Planar<{d}, 1, {chunk}>"));
    let packed = text.allocate("chunk", TensorType::int8(format!("Tokens<{chunk}, {d}>")));
    // Whole rows of keys where a chunk is some of them.
    let (_, width) = heads.grid;
    let ([rows, columns], [own_rows, own_columns]) = match chunk.is_multiple_of(width) {
        true => ([keys / width, width], [chunk / width, width]),
        false => ([1, keys], [1, chunk]),
    };
    let (all, part) = (format!("Packed<{d}, {rows}, {columns}>"), format!("Packed<{d}, {own_rows}, {own_columns}>"));
    let planes = format!("Planar<{d}, {own_rows}, {own_columns}>");
    let [queries, key, value] = heads.inputs;
    for head in 0..h {
        let first = head * d;
        for c in 0..n_chunks {
            let at = |place: usize| {
                if rows == 1 {
                    ["0".to_owned(), place.to_string()]
                } else {
                    [(place / width).to_string(), "0".to_owned()]
                }
            };
            let generics = [d, rows, columns, d, own_rows, own_columns, 0];
            let [row, column] = at(c * chunk);
            for (from, to) in [(key, format!("&mut {of_keys}[{c}].view::<{part}>()")), (value, packed.write(&part))] {
                let args = [from.part(first, h, &all), to, row.clone(), column.clone()];
                text.call(&format!("{NN}::moves::slice"), &generics, &args);
            }
            let args = [packed.read(&part), format!("&mut {of_values}[{c}].view::<{planes}>()")];
            text.call(&format!("{NN}::moves::to_planar"), &[d, own_rows, own_columns], &args);
        }
        let tokens = format!("Tokens<{n}, {d}>");
        let args = [
            queries.part(first, h, &tokens),
            format!("&{of_keys}"),
            format!("&{of_values}"),
            y.part_mut(first, h, &tokens),
            head.to_string(),
        ];
        text.call_own(HELPER, &consts, &args);
    }
    text.close();
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
