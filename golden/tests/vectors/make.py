#!/usr/bin/env python3
"""Makes the reference vectors beside this file: single-node ONNX models, run by ONNX Runtime. For maintainers only.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install onnxruntime onnx numpy
    /tmp/venv/bin/python golden/tests/vectors/make.py                     rewrites the stored vectors and the note of their origin
    /tmp/venv/bin/python golden/tests/vectors/make.py --large DIR [--seed N]   makes millions of elements per operator elsewhere
    CCL_GOLDEN_VECTORS=DIR cargo test -p ccl-golden --test ort -- --nocapture --test-threads 1

One `<operator>.npz` per operator, uncompressed, with five flat streams (`i8`, `u8`, `i32`, `i64`, `f32`) and `index`: for each
case the integer parameters (count, values) and the arrays in order (count; for each: stream, rank, extents). The last array
is what ORT computed. `../ort/` reads them; the order of parameters and arrays of an operator is that of its function here.
"""
import argparse, itertools, pathlib, platform

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

f32 = np.float32
STREAMS = [np.dtype(t) for t in ("int8", "uint8", "int32", "int64", "float32")]
ONNX_TYPE = dict(zip(STREAMS, (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT)))
I8, U8 = np.dtype("int8"), np.dtype("uint8")
MS = "com.microsoft"
LARGE = False
rng = np.random.default_rng(1)


class Pack:
    """The cases of one operator."""

    def __init__(self):
        self.index, self.data, self.n_cases, self.n_elements = [], {t: [] for t in STREAMS}, 0, 0

    def add(self, params, *arrays):
        arrays = [np.asarray(a) for a in arrays]
        self.index += [len(params), *(int(p) for p in params), len(arrays)]
        for a in arrays:
            self.index += [STREAMS.index(a.dtype), a.ndim, *a.shape]
            self.data[a.dtype].append(a.reshape(-1))
        self.n_cases += 1
        self.n_elements += arrays[-1].size

    def save(self, path):
        streams = {t.name.replace("uint", "u").replace("int", "i").replace("float", "f"): np.concatenate(d) if d else np.zeros(0, t)
                   for t, d in self.data.items()}
        np.savez(path, index=np.array(self.index, np.int64), **streams)


def run(nodes, inputs, out_type, opset=17, outputs=("y",)):
    """Runs nodes on named arrays; those whose name begins with an underscore become initialisers."""
    inputs = {k: np.asarray(v) for k, v in inputs.items()}
    fed = {k: v for k, v in inputs.items() if not k.startswith("_")}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(k, ONNX_TYPE[v.dtype], v.shape) for k, v in fed.items()],
        [helper.make_tensor_value_info(o, ONNX_TYPE[np.dtype(out_type)], None) for o in outputs],
        [numpy_helper.from_array(v, k) for k, v in inputs.items() if k.startswith("_")])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)])
    options = ort.SessionOptions()
    # No graph optimisation: each node runs as it stands, so that a float node between DQ and Q stays one.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(list(outputs), fed)


def run1(nodes, inputs, out_type, opset=17):
    return run(nodes, inputs, out_type, opset)[0]


node = helper.make_node
info = np.iinfo


def ints(shape, dtype, style="random"):
    lo, hi = info(dtype).min, info(dtype).max
    if style == "corner":
        return rng.choice(np.array([lo, lo + 1, (lo + hi) // 2, (lo + hi) // 2 + 1, hi - 1, hi]), shape).astype(dtype)
    return rng.integers(lo, hi + 1, shape).astype(dtype)


def zero(dtype, symmetric, style="random"):
    if symmetric:
        return dtype.type(0 if dtype == I8 else 128)
    lo, hi = info(dtype).min, info(dtype).max
    return dtype.type(rng.choice([lo, hi]) if style == "corner" else rng.integers(lo, hi + 1))


def scale(around, style="random", shape=()):
    """A random scale near `around`, or one that makes ties: a power of two, sometimes times or through 3 or 5."""
    if style == "ties":
        s = 2.0 ** np.round(np.log2(around) + rng.integers(-1, 2, shape)) * rng.choice([1, 1, 1, 0.75, 1.25, 1 / 3, 0.2], shape)
    else:
        s = around * 2.0 ** rng.uniform(-2, 2, shape)
    return np.asarray(s, f32)


def styles(repeat=1, dtypes=(I8, U8)):
    for _ in range(repeat):
        yield from itertools.product(dtypes, ("random", "ties", "corner"), (True, False))


def qdq(op, x_type, y_type, attrs={}, extra=()):
    """DequantizeLinear, a float node, QuantizeLinear."""
    return [node("DequantizeLinear", ["x", "_sx", "_zx"], ["xf"]), node(op, ["xf", *extra], ["yf"], **attrs),
            node("QuantizeLinear", ["yf", "_sy", "_zy"], ["y"])]


# ---- convolution and products -------------------------------------------------------------------------------------------

def conv_shapes():
    """(x shape, w shape, strides, dilations, pads, groups)"""
    if LARGE:
        return [((2, 32, 40, 44), (64, 32, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
                ((1, 16, 45, 51), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1),
                ((1, 3, 120, 130), (32, 3, 7, 7), (4, 4), (1, 1), (3, 3, 3, 3), 1),
                ((2, 64, 33, 47), (64, 1, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 64),
                ((1, 32, 40, 41), (48, 8, 3, 2), (2, 1), (2, 3), (2, 0, 1, 3), 4),
                ((1, 64, 40, 40), (32, 64, 8, 8), (8, 8), (1, 1), (0, 0, 0, 0), 1)]
    return [((1, 5, 4, 6), (7, 5, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
            ((2, 3, 7, 6), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1),
            ((1, 3, 13, 11), (5, 3, 7, 7), (4, 4), (1, 1), (3, 3, 3, 3), 1),
            ((1, 8, 6, 7), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 8),
            ((1, 4, 5, 7), (8, 1, 3, 2), (2, 1), (1, 1), (1, 0, 1, 1), 4),
            ((1, 6, 9, 8), (4, 3, 3, 2), (2, 1), (2, 3), (2, 0, 1, 3), 2),
            ((1, 4, 1, 17), (3, 4, 1, 5), (1, 2), (1, 1), (0, 2, 0, 2), 1),
            ((1, 16, 8, 8), (6, 16, 4, 4), (4, 4), (1, 1), (0, 0, 0, 0), 1)]


def conv_attrs(w, strides, dilations, pads, groups):
    return dict(kernel_shape=list(w.shape[2:]), strides=list(strides), dilations=list(dilations), pads=list(pads), group=groups)


def conv(pack):
    """params: strides, dilations, pads, groups; arrays: x, sx, zx, w, sw[], zw[], bias (empty: none), sy, zy, y"""
    shapes = itertools.cycle(conv_shapes())
    for i, (xt, style, sym) in enumerate(styles(6 if LARGE else 2)):
        wt = U8 if xt == U8 and i % 4 == 1 else I8
        xs, ws, strides, dilations, pads, groups = next(shapes)
        if i % 2: next(shapes)  # walks the list out of step with the styles
        x, w = ints(xs, xt, style), ints(ws, wt, style)
        per = ws[0] if i % 3 else 1
        sx, sw = scale(0.02, style), scale(0.005, style, (per,))
        taps = np.prod(ws[1:])
        sy = scale(sx * np.mean(sw) * 70 * np.sqrt(taps), style)
        zx, zw, zy = zero(xt, sym, style), np.full(per, zero(wt, sym if wt == I8 else False)), zero(xt, sym, style)
        bias = rng.integers(-5000, 5000, ws[0]).astype(np.int32) if i % 5 else np.zeros(0, np.int32)
        if i % 7 == 3: bias = rng.integers(-2**31 + 2**24, 2**31 - 2**24, ws[0]).astype(np.int32) >> rng.integers(0, 16, ws[0]).astype(np.int32)
        names = ["x", "_sx", "_zx", "_w", "_sw", "_zw", "_sy", "_zy"] + (["_b"] if bias.size else [])
        feed = dict(x=x, _sx=sx, _zx=zx, _w=w, _sw=sw, _zw=zw, _sy=sy, _zy=zy, _b=bias)
        y = run1([node("QLinearConv", names, ["y"], **conv_attrs(w, strides, dilations, pads, groups))],
                 {k: v for k, v in feed.items() if k in names}, xt)
        pack.add([*strides, *dilations, *pads, groups], x, [sx], [zx], w, sw, zw, bias, [sy], [zy], y)


def conv_integer(pack):
    """params: strides, dilations, pads, groups; arrays: x, zx, w, zw, y"""
    for (xs, ws, strides, dilations, pads, groups), style in itertools.product(conv_shapes(), ("random", "corner")):
        x, w = ints(xs, U8, style), ints(ws, U8, style)
        zx, zw = zero(U8, False, style), zero(U8, False)
        y = run1([node("ConvInteger", ["x", "_w", "_zx", "_zw"], ["y"], **conv_attrs(w, strides, dilations, pads, groups))],
                 dict(x=x, _w=w, _zx=zx, _zw=zw), np.int32)
        pack.add([*strides, *dilations, *pads, groups], x, [zx], w, [zw], y)


def matmul_shapes():
    if LARGE:
        return [((200, 64), (64, 300)), ((8, 100, 32), (8, 32, 150)), ((500, 256), (256, 100)), ((2, 1, 64, 33), (3, 33, 65))]
    return [((5, 7), (7, 9)), ((3, 4, 6), (3, 6, 5)), ((2, 1, 3, 8), (3, 8, 4)), ((4, 16), (2, 16, 3)), ((17, 33), (33, 19)),
            ((1, 1), (1, 1)), ((70, 40), (40, 3))]


def matmul(pack):
    """arrays: a, sa, za, b, sb[], zb[], sy, zy, y"""
    shapes = itertools.cycle(matmul_shapes())
    for i, (at, style, sym) in enumerate(styles(6 if LARGE else 2)):
        bt = U8 if at == U8 and i % 4 == 1 else I8
        sa_, sb_ = next(shapes)
        a, b = ints(sa_, at, style), ints(sb_, bt, style)
        per = sb_[-1] if i % 3 == 1 and len(sb_) == 2 else 1
        sa, sb = scale(0.02, style), scale(0.01, style, (per,))
        sy = scale(sa * np.mean(sb) * 70 * 50 * np.sqrt(sa_[-1]) / 50, style)
        za, zb, zy = zero(at, sym, style), np.full(per, zero(bt, sym)), zero(at, sym, style)
        scalars = dict(_sb=sb if per > 1 else sb[0], _zb=zb if per > 1 else zb[0])
        y = run1([node("QLinearMatMul", ["a", "_sa", "_za", "b", "_sb", "_zb", "_sy", "_zy"], ["y"])],
                 dict(a=a, _sa=sa, _za=za, b=b, _sy=sy, _zy=zy, **scalars), at)
        pack.add([], a, [sa], [za], b, sb, zb, [sy], [zy], y)


def matmul_integer(pack):
    """arrays: a, za, b, zb[], y"""
    for i, ((sa_, sb_), at, bt) in enumerate(itertools.product(matmul_shapes(), (I8, U8), (I8, U8))):
        if at == I8 and bt == U8: continue
        a, b = ints(sa_, at), ints(sb_, bt, "corner" if i % 5 == 0 else "random")
        za = zero(at, False)
        zb = ints((sb_[-1],), bt) if i % 3 == 0 and len(sb_) == 2 else np.array([zero(bt, False)])
        y = run1([node("MatMulInteger", ["a", "b", "_za", "_zb"], ["y"])],
                 dict(a=a, b=b, _za=za, _zb=zb if zb.size > 1 else zb[0]), np.int32)
        pack.add([], a, [za], b, zb, y)


def gemm(pack):
    """params: transA, transB; arrays: a, sa, za, b, sb[], zb[], c (empty: none), alpha, sy, zy, y"""
    sizes = [(300, 64, 200), (128, 256, 160)] if LARGE else [(5, 7, 9), (1, 12, 4), (8, 33, 3)]
    for i, (at, style, sym) in enumerate(styles(5 if LARGE else 1)):
        bt = at
        m, k, n = sizes[i % len(sizes)]
        ta, tb = int(rng.integers(2)), int(rng.integers(2))
        a, b = ints((k, m) if ta else (m, k), at, style), ints((n, k) if tb else (k, n), bt, style)
        per = n if i % 2 else 1
        sa, sb, alpha = scale(0.02, style), scale(0.01, style, (per,)), f32([1.0, 0.5, 1.3][i % 3])
        sy = scale(sa * np.mean(sb) * 70 * np.sqrt(k), style)
        za, zb, zy = zero(at, sym, style), np.full(per, zero(bt, sym)), zero(at, sym, style)
        c = rng.integers(-9000, 9000, (n,) if i % 3 else (m, n)).astype(np.int32) if i % 4 else np.zeros(0, np.int32)
        names = ["a", "_sa", "_za", "_b", "_sb", "_zb", "_c" if c.size else "", "_sy", "_zy"]
        feed = dict(a=a, _sa=sa, _za=za, _b=b, _sb=sb if per > 1 else sb[0], _zb=zb if per > 1 else zb[0], _c=c, _sy=sy, _zy=zy)
        y = run1([node("QGemm", names, ["y"], domain=MS, alpha=float(alpha), transA=ta, transB=tb)],
                 {k_: v for k_, v in feed.items() if k_ in names}, at)
        pack.add([ta, tb], a, [sa], [za], b, sb, zb, c, [alpha], [sy], [zy], y)


# ---- quantise and dequantise --------------------------------------------------------------------------------------------

def reals(shape, s, style):
    if style == "ties":
        return (rng.integers(-600, 600, shape) * f32(0.5) * s).astype(f32)
    if style == "corner":
        special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 3e38, -3e38, 1e-40, s, -s, s / 2, -s / 2], f32)
        return rng.choice(special, shape)
    return rng.normal(0, 60 * s, shape).astype(f32)


def quantize(pack):
    """params: axis (-1000: per tensor); arrays: x, s[], z[], y"""
    for i, (t, style, sym) in enumerate(styles(8 if LARGE else 2)):
        shape = (5, 300, 41) if LARGE else (3, 5, 11)
        axis = -1000 if i % 3 else int(rng.integers(-3, 3))
        n = 1 if axis == -1000 else shape[axis]
        s = scale(0.1, style, (n,))
        z = np.array([zero(t, sym, style) for _ in range(n)])
        x = reals(shape, np.max(s), style)
        attrs = {} if axis == -1000 else dict(axis=axis)
        y = run1([node("QuantizeLinear", ["x", "_s", "_z"], ["y"], **attrs)], dict(x=x, _s=s if n > 1 else s[0], _z=z if n > 1 else z[0]), t)
        pack.add([axis], x, s, z, y)


def dequantize(pack):
    """params: axis (-1000: per tensor); arrays: x, s[], z[], y"""
    for i, (t, style, sym) in enumerate(styles(4 if LARGE else 1)):
        shape = (5, 300, 41) if LARGE else (3, 5, 7)
        axis = -1000 if i % 3 else int(rng.integers(-3, 3))
        n = 1 if axis == -1000 else shape[axis]
        s, z = scale(0.1, style, (n,)), np.array([zero(t, sym, style) for _ in range(n)])
        x = ints(shape, t, style)
        attrs = {} if axis == -1000 else dict(axis=axis)
        y = run1([node("DequantizeLinear", ["x", "_s", "_z"], ["y"], **attrs)], dict(x=x, _s=s if n > 1 else s[0], _z=z if n > 1 else z[0]), f32)
        pack.add([axis], x, s, z, y)


def dequantize_i32(pack):
    """arrays: x, s, y"""
    for style in ("random", "ties", "corner"):
        x = rng.integers(-2**31, 2**31, 200_000 if LARGE else 200).astype(np.int32) >> rng.integers(0, 31, 200_000 if LARGE else 200).astype(np.int32)
        s = scale(1e-4, style)
        pack.add([], x, [s], run1([node("DequantizeLinear", ["x", "_s"], ["y"])], dict(x=x, _s=s), f32))


def dynamic_quantize(pack):
    """arrays: x, y scale, y zero point, y"""
    for i in range(40 if LARGE else 10):
        x = (rng.normal(rng.normal(), 1, 20_000 if LARGE else 60) * 10.0 ** rng.uniform(-4, 4)).astype(f32)
        if i == 0: x = np.zeros(5, f32)
        if i == 1: x = np.abs(x)
        if i == 2: x = np.round(x).astype(f32)
        y, s, z = run_dynamic(x)
        pack.add([], x, [s], [z], y)


def run_dynamic(x):
    graph = helper.make_graph(
        [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(n, t, None) for n, t in (("y", TensorProto.UINT8), ("s", TensorProto.FLOAT), ("z", TensorProto.UINT8))])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(["y", "s", "z"], {"x": x})


# ---- element by element -------------------------------------------------------------------------------------------------

def pair_shapes():
    if LARGE:
        return [((200, 500), (200, 500)), ((300, 300), (300,)), ((100, 1000), ()), ((16, 50, 1), (1, 50, 130)), ((), (100_000,)),
                ((50, 1, 1), (1, 2000, 1))]
    return [((4, 19), (4, 19)), ((6, 13), (13,)), ((3, 17), ()), ((2, 5, 1), (1, 5, 7)), ((), (3, 33)), ((257,), (257,)),
            ((1, 70), (3, 70)), ((90, 1), (1, 1)), ((1, 1), (90, 1))]


def qlinear_pair(op, spread):
    def make(pack):
        """arrays: a, sa, za, b, sb, zb, sc, zc, y"""
        shapes = itertools.cycle(pair_shapes())
        for t, style, sym in styles(6 if LARGE else 3):
            sa_, sb_ = next(shapes)
            a, b = ints(sa_, t, style), ints(sb_, t, style)
            sa, sb = scale(0.05, style), scale(0.05, style)
            sc = scale(spread(sa, sb), style)
            za, zb, zc = (zero(t, sym, style) for _ in range(3))
            if op in ("Add", "Mul"):
                nodes = [node("QLinear" + op, ["a", "_sa", "_za", "b", "_sb", "_zb", "_sc", "_zc"], ["y"], domain=MS)]
            else:
                nodes = [node("DequantizeLinear", ["a", "_sa", "_za"], ["af"]), node("DequantizeLinear", ["b", "_sb", "_zb"], ["bf"]),
                         node(op, ["af", "bf"], ["yf"]), node("QuantizeLinear", ["yf", "_sc", "_zc"], ["y"])]
            y = run1(nodes, dict(a=a, b=b, _sa=sa, _sb=sb, _sc=sc, _za=za, _zb=zb, _zc=zc), t)
            pack.add([], a, [sa], [za], b, [sb], [zb], [sc], [zc], y)
    return make


def concat(pack):
    """params: axis; arrays: n times (x, sx, zx), sy, zy, y"""
    for i, (t, style, sym) in enumerate(styles(4 if LARGE else 1)):
        n, axis, base = 2 + i % 2, i % 3, [20, 60, 30] if LARGE else [2, 3, 5]
        shapes = [[*base[:axis], base[axis] + j, *base[axis + 1:]] for j in range(n)]
        xs = [ints(s, t, style) for s in shapes]
        ss, zs = [scale(0.1, style) for _ in xs], [zero(t, sym, style) for _ in xs]
        sy, zy = scale(0.1, style), zero(t, sym, style)
        if i % 4 == 0: ss[0], zs[0] = sy, zy
        names, feed = ["_sy", "_zy"], dict(_sy=sy, _zy=zy)
        for j in range(n):
            names += [f"x{j}", f"_s{j}", f"_z{j}"]
            feed |= {f"x{j}": xs[j], f"_s{j}": ss[j], f"_z{j}": zs[j]}
        y = run1([node("QLinearConcat", names, ["y"], domain=MS, axis=axis)], feed, t)
        pack.add([axis], *itertools.chain.from_iterable((x, [s], [z]) for x, s, z in zip(xs, ss, zs)), [sy], [zy], y)


UNARY = {  # name: (nodes between xf and yf, scale of x, scale of y)
    "Sigmoid": (lambda: [node("Sigmoid", ["xf"], ["yf"])], 0.06, 1 / 256),
    "Tanh": (lambda: [node("Tanh", ["xf"], ["yf"])], 0.03, 1 / 128),
    "Erf": (lambda: [node("Erf", ["xf"], ["yf"])], 0.03, 1 / 128),
    "ErfOfQuotient": (lambda: [node("Div", ["xf", "_root"], ["d"]), node("Erf", ["d"], ["yf"])], 0.03, 1 / 128),
    "Gelu": (lambda: [node("Gelu", ["xf"], ["yf"])], 0.04, 0.03),
    "GeluTanh": (lambda: [node("Gelu", ["xf"], ["yf"], approximate="tanh")], 0.04, 0.03),
    "Relu": (lambda: [node("Relu", ["xf"], ["yf"])], 0.04, 0.03),
    "LeakyRelu": (lambda: [node("LeakyRelu", ["xf"], ["yf"], alpha=0.1)], 0.04, 0.03),
    "HardSigmoid": (lambda: [node("HardSigmoid", ["xf"], ["yf"], alpha=0.2, beta=0.5)], 0.04, 1 / 256),
    "HardSwish": (lambda: [node("HardSwish", ["xf"], ["yf"])], 0.04, 0.03),
    "Elu": (lambda: [node("Elu", ["xf"], ["yf"], alpha=1.1)], 0.04, 0.03),
    "Softplus": (lambda: [node("Softplus", ["xf"], ["yf"])], 0.04, 0.03),
    "Exp": (lambda: [node("Exp", ["xf"], ["yf"])], 0.02, 0.05),
    "Log": (lambda: [node("Log", ["xf"], ["yf"])], 0.05, 0.03),
    "Sqrt": (lambda: [node("Sqrt", ["xf"], ["yf"])], 0.05, 0.02),
    "Reciprocal": (lambda: [node("Reciprocal", ["xf"], ["yf"])], 0.05, 0.03),
    "Abs": (lambda: [node("Abs", ["xf"], ["yf"])], 0.05, 0.04),
    "Neg": (lambda: [node("Neg", ["xf"], ["yf"])], 0.05, 0.04),
    "QLinearSigmoid": (None, 0.06, 1 / 256),
    "QLinearLeakyRelu": (None, 0.04, 0.03),
}


def unary(pack):
    """params: position in UNARY; arrays: x (all 256 values, or one row of them), sx, zx, sy, zy, y"""
    for code, (name, (middle, around_x, around_y)) in enumerate(UNARY.items()):
        for t, style, sym in styles(27 if LARGE else 1):
            if not LARGE and (t == I8) == sym: continue
            x = np.arange(info(t).min, info(t).max + 1).astype(t)
            sx, sy, zx, zy = scale(around_x, style), scale(around_y, style), zero(t, sym, style), zero(t, sym, style)
            feed = dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy)
            if middle is None:
                attrs = dict(alpha=0.1) if "Leaky" in name else {}
                nodes = [node(name, ["x", "_sx", "_zx", "_sy", "_zy"], ["y"], domain=MS, **attrs)]
            else:
                nodes = [node("DequantizeLinear", ["x", "_sx", "_zx"], ["xf"]), *middle(), node("QuantizeLinear", ["yf", "_sy", "_zy"], ["y"])]
                if name == "ErfOfQuotient": feed["_root"] = f32(np.sqrt(2))
            pack.add([code], x, [sx], [zx], [sy], [zy], run1(nodes, feed, t, 20))


def elementwise(pack):
    """params: operator (0 min, 1 max, 2 clip by the two values of b, 3 add, 4 sub, 5 mul, 6 div); arrays: a, b, y"""
    ops = ("Min", "Max", "Clip", "Add", "Sub", "Mul", "Div")
    for code, op in enumerate(ops):
        for t in (I8, U8, np.dtype(f32)) if code < 3 else (np.dtype(f32),):
            for sa_, sb_ in pair_shapes():
                gen = lambda s: reals(s, f32(0.1), "random") if t == f32 else ints(s, t)
                a, b = gen(sa_), gen(sb_)
                if op == "Clip":
                    b = np.sort(gen((2,)))
                    y = run1([node(op, ["a", "_lo", "_hi"], ["y"])], dict(a=a, _lo=b[0], _hi=b[1]), t)
                else:
                    y = run1([node(op, ["a", "b"], ["y"])], dict(a=a, b=b), t)
                pack.add([code], a, b, y)


# ---- pooling ------------------------------------------------------------------------------------------------------------

POOLS = [((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)), ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1)), ((3, 2), (2, 3), (1, 1), (1, 0, 0, 1)),
         ((1, 4), (1, 3), (1, 1), (0, 1, 0, 2)), ((3, 3), (2, 2), (2, 1), (2, 1, 1, 1))]


def pool_attrs(kernel, strides, dilations, pads, ceil):
    return dict(kernel_shape=list(kernel), strides=list(strides), pads=list(pads), ceil_mode=ceil) | (
        dict(dilations=list(dilations)) if dilations != (1, 1) else {})


def max_pool(pack):
    """params: kernel, strides, dilations, pads, ceil; arrays: x, y"""
    for i, (t, p, ceil) in enumerate(itertools.product((I8, U8, np.dtype(f32)), POOLS, (0, 1))):
        shape = (2, 8, 60 + i % 3, 71) if LARGE else (1, 2, 7 + i % 3, 8)
        x = ints(shape, I8).astype(f32) if t == f32 else ints(shape, t, "corner" if i % 2 else "random")
        pack.add([*p[0], *p[1], *p[2], *p[3], ceil], x, run1([node("MaxPool", ["x"], ["y"], **pool_attrs(*p, ceil))], dict(x=x), t))


def average_pool(pack):
    """params: kernel, strides, dilations, pads, ceil, include; arrays: x, sx, zx, sy, zy, y"""
    plain = [p for p in POOLS if p[2] == (1, 1)]
    for i, ((t, style, sym), p) in enumerate(itertools.product(styles(3 if LARGE else 1), plain)):
        ceil, include = i % 3 == 1, i % 2
        if ceil and include: include = 0
        shape = (2, 12, 60 + i % 3, 71) if LARGE else (1, 2, 7 + i % 3, 8)
        x, sx, sy = ints(shape, t, style), scale(0.05, style), scale(0.03, style)
        zx, zy = zero(t, sym, style), zero(t, sym, style)
        y = run1([node("QLinearAveragePool", ["x", "_sx", "_zx", "_sy", "_zy"], ["y"], domain=MS, count_include_pad=int(include),
                       **pool_attrs(*p, int(ceil)))], dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy), t)
        pack.add([*p[0], *p[1], *p[2], *p[3], ceil, include], x, [sx], [zx], [sy], [zy], y)


def global_average_pool(pack):
    """arrays: x, sx, zx, sy, zy, y"""
    for i, (t, style, sym) in enumerate(styles(20 if LARGE else 2)):
        shape = [(40, 256, 4, 4), (8, 512, 7, 7), (2, 128, 31, 33), (16, 512, 1, 6)][i % 4] if LARGE else [(2, 7, 4, 4), (1, 5, 7, 7), (1, 9, 1, 6)][i % 3]
        x, sx, sy = ints(shape, t, style), scale(0.05, style), scale(0.02, style)
        if i % 2: x = np.clip(x.astype(int) // 2 + 20, info(t).min, info(t).max).astype(t)
        zx, zy = zero(t, sym, style), zero(t, sym, style)
        y = run1([node("QLinearGlobalAveragePool", ["x", "_sx", "_zx", "_sy", "_zy"], ["y"], domain=MS, channels_last=0)],
                 dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy), t)
        pack.add([], x, [sx], [zx], [sy], [zy], y)


# ---- softmax and layer norm ---------------------------------------------------------------------------------------------

def rows():
    return [((300, 128), -1), ((50, 1000), -1), ((4, 64, 300), 1), ((1000, 19), -1)] if LARGE else [((6, 32), -1), ((3, 100), -1), ((2, 10, 7), 1), ((9, 1), -1)]


def qlinear_softmax(pack):
    """params: axis; arrays: x, sx, zx, sy, zy, y"""
    for i, (t, style, sym) in enumerate(styles(4 if LARGE else 1)):
        for shape, axis in rows():
            x, sx = ints(shape, t, style), scale(0.02 if i % 2 else 0.2, style)
            sy = scale(1 / 256, style) if i % 3 else f32(1 / 256)
            zx, zy = zero(t, sym, style), (t.type(info(t).min) if i % 2 else zero(t, sym, style))
            y = run1([node("QLinearSoftmax", ["x", "_sx", "_zx", "_sy", "_zy"], ["y"], domain=MS, axis=axis, opset=13)],
                     dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy), t)
            pack.add([axis], x, [sx], [zx], [sy], [zy], y)


def softmax(pack):
    """params: axis; arrays: x, sx, zx, sy, zy, y"""
    for i, (t, style, sym) in enumerate(styles(4 if LARGE else 1)):
        for shape, axis in rows():
            x, sx = ints(shape, t, style), scale(0.02 if i % 2 else 0.1, style)
            sy = scale(1 / 256, style) if i % 3 else f32(1 / 256)
            zx, zy = zero(t, sym, style), (t.type(info(t).min) if i % 2 else zero(t, sym, style))
            y = run1(qdq("Softmax", t, t, dict(axis=axis)), dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy), t)
            pack.add([axis], x, [sx], [zx], [sy], [zy], y)


def layer_norm(pack):
    """params: axis; arrays: x, sx, zx, gamma, beta (empty: none), epsilon, sy, zy, y"""
    shapes = [((1500, 32), -1), ((600, 64), -1), ((200, 256), -1), ((100, 4, 40), 1)] if LARGE else [((9, 32), -1), ((4, 64), -1), ((3, 2, 20), 1)]
    for i, (t, style, sym) in enumerate(styles(3 if LARGE else 1)):
        for shape, axis in shapes:
            n = int(np.prod(shape[axis:]))
            x, sx, sy = ints(shape, t, style), scale(0.05, style), scale(0.02, style)
            if i % 2: x = np.clip(np.round(rng.normal(0, 20, shape)) + zero(t, True), info(t).min, info(t).max).astype(t)
            zx, zy = zero(t, sym, style), zero(t, sym, style)
            gamma, beta = rng.normal(1, 0.3, n).astype(f32), rng.normal(0, 0.3, n).astype(f32) if i % 4 else np.zeros(0, f32)
            epsilon = f32([1e-5, 1e-6, 1e-12][i % 3])
            names = ["_g", "_b"] if beta.size else ["_g"]
            feed = dict(x=x, _sx=sx, _zx=zx, _sy=sy, _zy=zy, _g=gamma.reshape(shape[axis:])) | (
                dict(_b=beta.reshape(shape[axis:])) if beta.size else {})
            y = run1(qdq("LayerNormalization", t, t, dict(axis=axis, epsilon=float(epsilon)), names), feed, t)
            pack.add([axis], x, [sx], [zx], gamma, beta, [epsilon], [sy], [zy], y)


def attention(pack):
    """arrays: q, k, v, factor, scales[8] and zero points[8] of (q, k, v, score, factor, scaled, probability, output),
    then flat in one: scores, scaled, probabilities, output"""
    shapes = [(2, 300, 32, 128, 32), (4, 200, 64, 77, 64), (1, 500, 32, 128, 32)] if LARGE else [(1, 5, 8, 7, 8), (2, 3, 4, 6, 5), (1, 9, 32, 16, 3)]
    for i, (t, style, sym) in enumerate(styles(4 if LARGE else 1)):
        h, m, d, n, e = shapes[i % len(shapes)]
        q, k, v = ints((h, m, d), t, style), ints((h, n, d), t, style), ints((h, n, e), t, style)
        s = [scale(0.03, style), scale(0.03, style), scale(0.05, style)]
        s.append(scale(s[0] * s[1] * 70 * np.sqrt(d), style))
        s.append(f32(1 / np.sqrt(d) / 127))
        s.append(scale(s[3] * 0.3, style))
        s.append(f32(1 / 128) if i % 2 else scale(1 / 200, style))
        s.append(scale(0.05, style))
        z = [zero(t, sym) for _ in s]
        z[6] = t.type(info(t).min) if not sym else zero(t, True)
        factor = t.type(min(info(t).max, int(z[4]) + 127))
        names = "q k v score factor scaled prob out".split()
        feed = dict(q=q, kt=np.ascontiguousarray(np.swapaxes(k, -1, -2)), v=v, _factor=factor)
        feed |= {f"_s{a}": b for a, b in zip(names, s)} | {f"_z{a}": b for a, b in zip(names, z)}
        p = lambda a: [f"_s{a}", f"_z{a}"]
        nodes = [node("QLinearMatMul", ["q", *p("q"), "kt", *p("k"), *p("score")], ["score"]),
                 node("QLinearMul", ["score", *p("score"), "_factor", *p("factor"), *p("scaled")], ["scaled"], domain=MS),
                 node("DequantizeLinear", ["scaled", *p("scaled")], ["f"]), node("Softmax", ["f"], ["sm"], axis=-1),
                 node("QuantizeLinear", ["sm", *p("prob")], ["prob"]),
                 node("QLinearMatMul", ["prob", *p("prob"), "v", *p("v"), *p("out")], ["y"])]
        score, scaled, prob, y = run(nodes, feed, t, outputs=("score", "scaled", "prob", "y"))
        pack.add([], q, k, v, [factor], np.array(s, f32), np.array(z, t), np.concatenate([a.reshape(-1) for a in (score, scaled, prob, y)]))


# ---- resize, movement, argmax -------------------------------------------------------------------------------------------

COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resize_cases():
    base = (2, 4, 33, 47) if LARGE else (1, 2, 5, 7)
    for coordinates, factors in itertools.product(range(4), ((2, 2), (4, 4), (3, 1.5), (0.6, 2.25), (1, 1 / 3), "sizes")):
        if factors == "sizes":
            yield coordinates, base, None, [*base[:2], base[2] * 3 - 4, base[3] - 2]
            yield coordinates, base, None, [*base[:2], 1, base[3] * 8]
        else:
            yield coordinates, base, f32([1, 1, *factors]), None


def resize(mode):
    def make(pack):
        """params: coordinates, nearest, sizes (all 0: by scales); arrays: x, scales (empty: by sizes), y"""
        for i, (coordinates, shape, scales, sizes) in enumerate(resize_cases()):
            for t in (I8, U8, np.dtype(f32)):
                x = reals(shape, f32(1), "random") if t == f32 else ints(shape, t, "corner" if i % 3 == 2 else "random")
                nearest = i % 4
                attrs = dict(mode=mode, coordinate_transformation_mode=COORDINATES[coordinates], nearest_mode=NEAREST[nearest])
                feed = dict(x=x) | (dict(_s=scales) if sizes is None else dict(_n=np.array(sizes, np.int64)))
                names = ["x", "", "_s"] if sizes is None else ["x", "", "", "_n"]
                y = run1([node("Resize", names, ["y"], **attrs)], feed, t, 18)
                pack.add([coordinates, nearest, *(sizes or [0] * 4)], x, scales if sizes is None else np.zeros(0, f32), y)
    return make


def moves(pack):
    """params: operator, then its own; arrays: x, y. 0 transpose (permutation); 1 reshape (shape); 2 slice (4 per axis); 3 pad
    (mode, value, before, after); 4 space to depth, 5, 6 depth to space DCR, CRD (block); 7 gather (axis, indices); 8 split
    (axis, sizes, part); 9 expand (shape); 10 concat with itself (axis)"""
    big = 4 if LARGE else 1
    x = ints((2, 3, 4 * big, 5 * big), U8)
    def add(params, nodes, feed={}, opset=19, x=x):
        pack.add(params, x, run1(nodes, dict(x=x, **{k: np.array(v, np.int64) if not isinstance(v, np.generic) else v for k, v in feed.items()}), x.dtype, opset))
    for perm in ((0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 3, 2)):
        add([0, *perm], [node("Transpose", ["x"], ["y"], perm=perm)])
    for shape in ((0, -1), (-1,), (3, 2, -1, 4 * big), (1, 0, 2, -1, 1)):
        add([1, *shape], [node("Reshape", ["x", "_s"], ["y"])], dict(_s=shape))
    top, low = 2**31 - 1, -2**31
    for cuts in ([(2, 1, 3, 1)], [(3, -1, low, -2), (0, 0, 1, 1)], [(-1, 1, top, 2), (-2, -3, -1, 1)], [(1, 5, -9, -1)], [(1, 2, 0, -1)]):
        add([2, *itertools.chain.from_iterable(cuts)], [node("Slice", ["x", "_b", "_e", "_a", "_s"], ["y"])],
            dict(_a=[c[0] for c in cuts], _b=[c[1] for c in cuts], _e=[c[2] for c in cuts], _s=[c[3] for c in cuts]))
    for code, mode in enumerate(("constant", "reflect", "edge", "wrap")):
        for pads in ((0, 0, 1, 2, 0, 0, 3, 1), (1, 2, 3, 0, 0, 1, 0, 4), (0, 0, -1, 2, 0, 0, 1, -2)):
            if mode == "reflect": pads = [min(p, 1) if j % 4 < 2 else p for j, p in enumerate(pads)]
            if mode == "reflect" and min(pads) < 0: continue
            if mode == "wrap" and min(pads) < 0: continue
            add([3, code, 77, *pads], [node("Pad", ["x", "_p", "_v"], ["y"], mode=mode)], dict(_p=pads, _v=np.uint8(77)))
    block = ints((2, 3, 4 * big, 6 * big), U8)
    add([4, 2], [node("SpaceToDepth", ["x"], ["y"], blocksize=2)], x=block)
    deep = ints((2, 12, 3 * big, 2 * big), U8)
    for code, mode in ((5, "DCR"), (6, "CRD")):
        add([code, 2], [node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)], x=deep)
    add([7, 2, 0, -1, 2, 2], [node("Gather", ["x", "_i"], ["y"], axis=2)], dict(_i=[0, -1, 2, 2]))
    sizes = (1, 3 * big, big)
    for part in range(3):
        outs = ["a", "b", "c"]; outs[part] = "y"
        add([8, 3, *(1, 3 * big, 2 * big - 1), part], [node("Split", ["x", "_s"], outs, axis=3)], dict(_s=(1, 3 * big, 2 * big - 1)))
    small = ints((3, 1, 5 * big), U8)
    add([9, 2, 1, 4, 1], [node("Expand", ["x", "_s"], ["y"])], dict(_s=(2, 1, 4, 1)), x=small)
    add([10, -2], [node("Concat", ["x", "x"], ["y"], axis=-2)])


def argmax(pack):
    """params: axis, last; arrays: x, y"""
    shape = (4, 150, 60, 50) if LARGE else (2, 19, 3, 4)
    for t, axis, last in itertools.product((I8, U8, np.dtype(f32)), (1, -1, 0), (0, 1)):
        x = ints(shape, I8).astype(f32) if t == f32 else ints(shape, t, "corner" if last else "random")
        if axis == 1: x = (x.astype(int) // 16).astype(t)
        pack.add([axis, last], x, run1([node("ArgMax", ["x"], ["y"], axis=axis, keepdims=1, select_last_index=last)], dict(x=x), np.int64))


OPERATORS = dict(
    conv=conv, conv_integer=conv_integer, matmul=matmul, matmul_integer=matmul_integer, gemm=gemm, quantize=quantize,
    dequantize=dequantize, dequantize_i32=dequantize_i32, dynamic_quantize=dynamic_quantize,
    add=qlinear_pair("Add", lambda a, b: a + b), mul=qlinear_pair("Mul", lambda a, b: 70 * a * b),
    sub=qlinear_pair("Sub", lambda a, b: a + b), div=qlinear_pair("Div", lambda a, b: a / b / 20), concat=concat, unary=unary,
    elementwise=elementwise, max_pool=max_pool, average_pool=average_pool, global_average_pool=global_average_pool,
    qlinear_softmax=qlinear_softmax, softmax=softmax, layer_norm=layer_norm, attention=attention,
    resize_linear=resize("linear"), resize_nearest=resize("nearest"), moves=moves, argmax=argmax)


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else []
    model = next((l.split(":")[1].strip() for l in lines if l.startswith("model name")), "unknown")
    flags = next((l.split(":")[1].split() for l in lines if l.startswith("flags")), [])
    return f"{model}, {', '.join(f for f in ('avx2', 'fma', 'avx512f', 'avx512_vnni', 'avx_vnni', 'amx_int8') if f in flags)}"


def main():
    global LARGE, rng
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(OPERATORS))
    args = parser.parse_args()
    LARGE, folder = args.large is not None, args.large or pathlib.Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in args.only:
        rng = np.random.default_rng([args.seed, *name.encode()])  # an operator's vectors do not depend on the others
        pack = Pack()
        OPERATORS[name](pack)
        pack.save(folder / f"{name}.npz")
        rows.append(f"| `{name}` | {pack.n_cases} | {pack.n_elements} |")
        print(rows[-1], flush=True)
    if set(args.only) == set(OPERATORS):
        (folder / "README.md").write_text("\n".join([
            "# Reference vectors", "", "Outputs of ONNX Runtime on single-node models; format and contents are described in `make.py`, which wrote this page",
            "too. `../ort/` compares them with this crate.", "",
            f"- ONNX Runtime {ort.__version__}, CPU provider, one thread, no graph optimisation; onnx {onnx.__version__}; numpy {np.__version__}",
            f"- host: {platform.system()} {platform.machine()}, {processor()}", f"- seed {args.seed}", "",
            "| operator | cases | elements compared |", "| --- | --- | --- |", *rows, ""]))


if __name__ == "__main__":
    main()
