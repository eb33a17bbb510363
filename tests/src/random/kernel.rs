//! Whole kernels: tensors, walks, flows, broadcasts, and what is computed at each place.

use ccl_runtime::kernel::{Argument, Arguments, ElemType};
use ccl_runtime::value::Scale;
use ccl_syntax::ast::*;

use super::generate::{BORDER, Buffer, Generator, Value};
use super::tree::*;

/// What a walk delivers into each PE.
struct Walk {
    /// `t.`..
    stmts: Vec<Stmt>,
    iter: Expr,
    /// Elements of a PE: rows and columns of its block, halo rows, channels of a step.
    block: (usize, usize),
    halo_rows: usize,
    halo_cols: usize,
    channels: usize,
    is_chunked: bool,
    /// Whether it leaves PEs of the array out.
    is_partial: bool,
}

/// A tensor that a kernel walks.
#[derive(Clone)]
struct Walked {
    elem: ElemType,
    layout: &'static str,
    channels: usize,
}

impl Walked {
    /// Channels that lie in one word.
    fn pack(&self) -> usize {
        if self.layout == "Planar" { 1 } else { (4 / self.elem.bytes()).max(1) }
    }
    fn ty(&self) -> Ty {
        let (h, w, c) = (arg_name("H"), arg_name("W"), arg(self.channels));
        let layout = match self.layout {
            "Tokens" => ty("Tokens", vec![w, c]),
            of => ty(of, vec![c, h, w]),
        };
        ty("Ocm", vec![arg_ty(elem(self.elem)), arg_ty(layout)])
    }
}

/// A kernel `k` with its scalars; the extents `H` and `W` are its const parameters.
pub(super) struct Made {
    pub module: Module,
    pub consts: Vec<usize>,
    pub scalars: Arguments,
}

/// Grows a kernel.
pub(super) fn grow(seed: u64) -> Made {
    let mut g = Generator::new(seed);
    g.add_items();
    let mut scalars = Arguments::new();
    let mut params = Vec::new();
    let mut stmts = Vec::new();
    if g.once_in(2) {
        let scale = Scale::new(1 + g.below(1 << 24) as i32, 20 + g.below(8) as i32);
        scalars.set("scale", scale);
        params.push(param("scale", ty("Scale", Vec::new())));
        g.scales.push("scale".to_owned());
    }
    if g.once_in(3) {
        let elem = g.elem();
        scalars.set("number", Argument::Scalar(g.number_of(elem).clamp(elem.range().0, elem.range().1)));
        params.push(param("number", super::tree::elem(elem)));
        stmts.push(bind(false, "given", call("splat", vec![name("number")])));
        g.values.push(Value { name: "given".to_owned(), elem, border: BORDER, mutable: false });
    }
    if g.once_in(3) {
        table_by_broadcast(&mut g, &mut params, &mut stmts);
    }
    let is_flat = g.once_in(6);
    let (h, w) = if is_flat { (1, 1 + g.below(90)) } else { (1 + g.below(18), 1 + g.below(18)) };
    for walk in 0..1 + g.below(2) {
        g.room += 60;
        walk_of(&mut g, walk, is_flat, &mut params, &mut stmts);
        if g.once_in(3) {
            stmts.push(run(call("drain", Vec::new())));
        }
    }
    let (h_param, w_param) = (const_param("H"), const_param("W"));
    let body = function("k", vec![h_param, w_param], params, None, block(stmts, None));
    let reason = "a random kernel, compared between interpreter and simulator".to_owned();
    let attrs = vec![AttrKind::Kernel { reference: None }, AttrKind::NoReference(reason)];
    let mut items = std::mem::take(&mut g.items);
    items.push(item(attrs, Vis::Public, ItemKind::Fn(body)));
    items.push(instance("K", "QC_N", "k", &[h, w]));
    let mut module = Module { file: String::new(), items };
    module.renumber();
    Made { module, consts: vec![h, w], scalars }
}

/// A table that comes to the PEs once.
fn table_by_broadcast(g: &mut Generator, params: &mut Vec<Param>, stmts: &mut Vec<Stmt>) {
    let (elem, len) = (g.pick(&[ElemType::I8, ElemType::U8, ElemType::I16, ElemType::I32]), 1 << g.below(6));
    let layout = ty("Vector", vec![arg(len)]);
    params.push(param("table", lent(ty("Ocm", vec![arg_ty(super::tree::elem(elem)), arg_ty(layout)]), false)));
    let fill = vec![arg_ty(lrm(elem, len))];
    let stream = call("broadcast", vec![name("table")]);
    stmts.push(bind(false, "entries", method_with(stream, "fill", fill, Vec::new())));
    g.buffers.push(Buffer { name: "entries".to_owned(), elem, len, border: 0, mutable: false, halo: 0 });
}

fn walked(g: &mut Generator, is_flat: bool) -> Walked {
    use ElemType::*;
    let elem = g.pick(&[I8, I8, I8, I16, I32, U8, U16]);
    let layout = if is_flat { "Tokens" } else { g.pick(&["Planar", "Packed"]) };
    let mut of = Walked { elem, layout, channels: 1 + g.below(8) };
    of.channels = of.channels.next_multiple_of(of.pack());
    of
}

/// One walk over a tensor, and what is done at each place.
fn walk_of(g: &mut Generator, number_of_walk: usize, is_flat: bool, params: &mut Vec<Param>, out: &mut Vec<Stmt>) {
    let [x, y, z, s, w, m] = ["x", "y", "z", "s", "w", "m"].map(|of| format!("{of}{number_of_walk}"));
    let scope = g.open();
    let input = walked(g, is_flat);
    params.push(param(&x, lent(input.ty(), false)));
    let walk = walk(g, &x, &input);
    (g.is_partial, g.may_talk) = (walk.is_partial, !walk.is_partial);
    let mut stmts = walk.stmts;
    let n = (walk.block.0 + 2 * walk.halo_rows) * walk.block.1 * walk.channels;
    let per_place = walk.block.0 * walk.block.1;

    let fetch = |tile: Expr, elem: ElemType, n: usize| {
        method(method_with(tile, "fetch", vec![arg_ty(lrm(elem, n))], Vec::new()), "wait", Vec::new())
    };
    let mutable = g.once_in(3);
    stmts.push(bind(mutable, "a", fetch(name("t"), input.elem, n)));
    let border = walk.halo_cols as u8;
    let halo = if walk.block == (1, 1) { walk.halo_rows } else { 0 };
    g.buffers.push(Buffer { name: "a".to_owned(), elem: input.elem, len: n, border, mutable, halo });
    if g.once_in(2) {
        g.values.push(Value { name: "inside".to_owned(), elem: ElemType::Bool, border: 0, mutable: false });
        stmts.push(bind(false, "inside", method(name("t"), "inside", Vec::new())));
    }
    if g.once_in(3) {
        let mut other = walked(g, is_flat);
        other.channels = input.channels.next_multiple_of(other.pack());
        params.push(param(&z, lent(other.ty(), false)));
        let mut tile = method(name(&z), "at", vec![name("t")]);
        if !is_flat && !walk.is_chunked && g.once_in(2) {
            let (dy, dx) = (g.below(5) as i64 - 2, g.below(5) as i64 - 2);
            tile = method(tile, "tap", vec![int(dy, None), int(dx, None)]);
        }
        let channels = if walk.is_chunked { walk.channels } else { other.channels };
        // A chunk of one tensor may be no whole number of words of another.
        if channels.is_multiple_of(other.pack()) {
            stmts.push(bind(false, "b", fetch(tile, other.elem, per_place * channels)));
            let len = per_place * channels;
            g.buffers.push(Buffer { name: "b".to_owned(), elem: other.elem, len, border: 0, mutable: false, halo: 0 });
        } else {
            params.pop();
        }
    }
    if g.once_in(3) {
        elements_by_broadcast(g, &s, params, &mut stmts);
    }
    if input.elem == ElemType::I8 && !walk.is_chunked && walk.block == (1, 1) && g.once_in(2) {
        multiply(g, (&w, &m), n, is_flat, params, &mut stmts);
    }
    g.counters(&mut stmts);
    let n_stmts = 1 + g.below(6);
    stmts.extend(g.stmts(n_stmts, 3));
    g.counted(&mut stmts);

    let mut output = walked(g, is_flat);
    output.channels = if walk.is_chunked { input.channels } else { output.channels };
    if walk.is_chunked && !walk.channels.is_multiple_of(output.pack()) {
        output.layout = if is_flat { "Tokens" } else { "Planar" };
        output.elem = if is_flat { input.elem } else { output.elem };
    }
    params.push(param(&y, lent(output.ty(), true)));
    let channels = if walk.is_chunked { walk.channels } else { output.channels };
    store(g, &y, output.elem, per_place * channels, &mut stmts);
    g.close(scope);
    (g.is_partial, g.may_talk) = (false, true);
    out.push(for_in("t", walk.iter, block(stmts, None)));
}

/// The walk and its options.
fn walk(g: &mut Generator, x: &str, of: &Walked) -> Walk {
    let mut iter = method(name(x), "tiles", Vec::new());
    let mut walk = Walk {
        stmts: Vec::new(),
        iter: name(x),
        block: (1, 1),
        halo_rows: 0,
        halo_cols: 0,
        channels: of.channels,
        is_chunked: false,
        is_partial: false,
    };
    let is_flat = of.layout == "Tokens";
    match g.below(6) {
        0 if !is_flat => {
            let h = 1 + g.below(2);
            let kind = g.pick(&["halo", "halo_rows", "halo_cols"]);
            walk.halo_rows = if kind == "halo_cols" { 0 } else { h };
            walk.halo_cols = if kind == "halo_rows" { 0 } else { h };
            iter = method(iter, kind, vec![number(h)]);
        }
        1 if !is_flat => {
            let (by, bx) = g.pick(&[(1, 2), (2, 1), (2, 2)]);
            walk.block = (by, bx);
            iter = method_with(iter, "block", vec![arg(by), arg(bx)], Vec::new());
        }
        2 if !is_flat => iter = method(iter, "stride", vec![number(2 + g.below(2))]),
        3 if g.once_in(2) => {
            walk.is_partial = true;
            iter = method(iter, "grid", vec![number(1 + g.below(8)), number(1 + g.below(8))]);
        }
        _ => {}
    }
    if walk.block == (1, 1) && g.once_in(3) {
        let words = of.channels / of.pack();
        let divisors: Vec<usize> = (1..=words).filter(|n| words.is_multiple_of(*n)).collect();
        walk.channels = g.pick(&divisors) * of.pack();
        walk.is_chunked = true;
        iter = method_with(iter, "chunks", vec![arg(walk.channels)], Vec::new());
    }
    if g.once_in(2) {
        iter = method(iter, "pipelined", vec![number(1 + g.below(3))]);
    }
    walk.iter = iter;
    walk
}

/// Some elements that every PE receives.
fn elements_by_broadcast(g: &mut Generator, s: &str, params: &mut Vec<Param>, stmts: &mut Vec<Stmt>) {
    let (elem, n) = (g.pick(&[ElemType::I8, ElemType::I16, ElemType::I32]), 1 + g.below(4));
    let layout = ty("Vector", vec![arg(n + g.below(3))]);
    params.push(param(s, lent(ty("Ocm", vec![arg_ty(super::tree::elem(elem)), arg_ty(layout)]), false)));
    stmts.push(bind(true, "stream", call("broadcast", vec![name(s)])));
    for _ in 0..n {
        let of = g.fresh("v");
        let next = method_with(name("stream"), "next", vec![arg_ty(super::tree::elem(elem))], Vec::new());
        stmts.push(bind(false, &of, next));
        g.values.push(Value { name: of, elem, border: 0, mutable: false });
    }
}

/// A matrix product of what was fetched, in one of the three shapes.
fn multiply(
    g: &mut Generator,
    (w, m): (&str, &str),
    n: usize,
    is_flat: bool,
    params: &mut Vec<Param>,
    stmts: &mut Vec<Stmt>,
) {
    let (layout, step) = g.pick(&[("StreamDot", 1), ("Stream", 4), ("StreamOuter", 16)]);
    let outputs = step * (1 + g.below(3));
    let layout = ty(layout, vec![arg(outputs), arg(n)]);
    params.push(param(w, lent(ty("Ocm", vec![arg_ty(elem(ElemType::I8)), arg_ty(layout)]), false)));
    let product = Walked {
        elem: ElemType::I8,
        layout: match (is_flat, outputs.is_multiple_of(4)) {
            (true, _) => "Tokens",
            (false, true) if step > 1 => "Packed",
            _ => "Planar",
        },
        channels: outputs,
    };
    // Single channels of a packed tensor are no words.
    if is_flat && step == 1 {
        params.pop();
        return;
    }
    params.push(param(m, lent(product.ty(), true)));
    stmts.push(bind(true, "weights", call("broadcast", vec![name(w)])));
    let shape = || vec![arg(step)];
    let bias = method_with(name("weights"), "bias", shape(), Vec::new());
    let products = call("mac", vec![name("a"), method_with(name("weights"), "take", shape(), Vec::new())]);
    let mut body = Vec::new();
    if g.once_in(2) {
        body.push(bind(true, "acc", bias));
        body.push(assign(Some(BinOp::Add), name("acc"), products));
    } else {
        body.push(bind(false, "acc", binary(BinOp::Add, bias, products)));
    }
    let (rounding, overflow) = (g.rounding(), g.overflow());
    let scale =
        associated("Scale", Vec::new(), "new", vec![int(1 + g.below(1 << 24) as i64, None), number(26 + g.below(8))]);
    let requantised = call("requant", vec![name("acc"), scale, rounding, overflow]);
    let tile = method(method(name(m), "at", vec![name("t")]), "channels", vec![name("o")]);
    body.push(run(method(tile, "store", vec![requantised])));
    let iter = method(range(number(0), number(outputs), false), "step_by", vec![number(step)]);
    stmts.push(for_in("o", iter, block(body, None)));
}

/// Sends `n` elements out.
fn store(g: &mut Generator, y: &str, elem: ElemType, n: usize, stmts: &mut Vec<Stmt>) {
    let value = if n == 1 {
        g.pe(elem, 3)
    } else {
        let generics = vec![arg_ty(super::tree::elem(elem)), arg(n)];
        let zero = int(0, None);
        stmts.push(bind(true, "out", associated("Lrm", generics, "filled", vec![zero])));
        for i in 0..n.min(6) {
            let value = g.pe(elem, 2);
            stmts.push(assign(None, index(name("out"), number(i)), value));
        }
        name("out")
    };
    let tile = method(name(y), "at", vec![name("t")]);
    stmts.push(run(method(tile, "store", vec![value])));
}
