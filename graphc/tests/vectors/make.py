"""Single-node networks with inputs and ONNX Runtime's outputs: one `.onnx` file a case.

A file is a model with graph inputs, and initialisers `input/NAME` and `expected/NAME` that hold what goes in and what came out.
Needs onnx, onnxruntime and numpy: `python graphc/tests/vectors/make.py`.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent
rng = np.random.default_rng(4)
MS = "com.microsoft"


def f32(*shape, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def i8(*shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def u8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def i64(*values):
    return np.array(values, np.int64)


def scale(value):
    return np.array(value, np.float32)


def case(name, op, inputs, constants=None, outputs=1, opset=17, domain="", **attributes):
    """`inputs` and `constants` map a place to an array; places left out are left out of the node."""
    constants = constants or {}
    places = max([-1, *inputs, *constants]) + 1
    names = ["" for _ in range(places)]
    graph_inputs, initializers, feed = [], [], {}
    for place, array in sorted(inputs.items()):
        names[place] = f"x{place}"
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        graph_inputs.append(helper.make_tensor_value_info(names[place], dtype, array.shape))
        feed[names[place]] = array
    for place, array in sorted(constants.items()):
        names[place] = f"c{place}"
        initializers.append(numpy_helper.from_array(array, names[place]))
    ys = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, ys, name=name, domain=domain, **attributes)
    graph = helper.make_graph([node], name, graph_inputs, [helper.make_empty_tensor_value_info(y) for y in ys], initializers)
    sets = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=8)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(ys, feed)
    for key, array in feed.items():
        graph.initializer.append(numpy_helper.from_array(array, f"input/{key}"))
    for key, array in zip(ys, results):
        graph.initializer.append(numpy_helper.from_array(np.asarray(array), f"expected/{key}"))
    model = helper.make_model(graph, opset_imports=sets, ir_version=8, producer_name=f"onnxruntime {ort.__version__}")
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def at(start, s, z):
    return {start: scale(s), start + 1: z}


def products():
    case("conv", "Conv", {0: f32(2, 4, 6, 5), 1: f32(6, 2, 3, 2), 2: f32(6)}, group=2, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2])
    case("conv_same_upper_1d", "Conv", {0: f32(1, 3, 9)}, {1: f32(2, 3, 4)}, auto_pad="SAME_UPPER", strides=[2])
    case("conv_same_lower", "Conv", {0: f32(1, 1, 5, 6)}, {1: f32(1, 1, 2, 4)}, auto_pad="SAME_LOWER")
    case("conv_valid", "Conv", {0: f32(1, 1, 5, 6)}, {1: f32(1, 1, 3, 3)}, auto_pad="VALID", kernel_shape=[3, 3])
    case("conv_integer", "ConvInteger", {0: u8(1, 2, 5, 4), 1: u8(3, 2, 2, 2)}, {2: np.array(7, np.uint8), 3: np.array(120, np.uint8)}, pads=[1, 1, 0, 0])
    qc = at(1, 0.03, np.array(-5, np.int8)) | {4: f32(4, low=0.01, high=0.05), 5: np.zeros(4, np.int8)} | at(6, 0.1, np.array(9, np.int8))
    case("qlinear_conv", "QLinearConv", {0: i8(1, 3, 6, 6)}, qc | {3: i8(4, 3, 3, 3), 8: rng.integers(-999, 999, 4).astype(np.int32)}, pads=[1, 1, 1, 1], strides=[2, 2])
    qu = at(1, 0.03, np.array(131, np.uint8)) | at(4, 0.02, np.array(0, np.int8)) | at(6, 0.1, np.array(120, np.uint8))
    case("qlinear_conv_depthwise_u8", "QLinearConv", {0: u8(1, 3, 5, 5)}, qu | {3: i8(3, 1, 3, 3)}, group=3)
    case("conv_transpose", "ConvTranspose", {0: f32(1, 4, 3, 4), 1: f32(4, 3, 3, 2), 2: f32(6)}, group=2, strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0], dilations=[1, 2])
    case("conv_transpose_1d", "ConvTranspose", {0: f32(1, 2, 5)}, {1: f32(2, 3, 4)}, strides=[2])
    case("conv_transpose_output_shape", "ConvTranspose", {0: f32(1, 1, 3, 3)}, {1: f32(1, 1, 3, 3)}, strides=[2, 2], output_shape=[6, 6])
    case("matmul", "MatMul", {0: f32(2, 1, 3, 4), 1: f32(3, 4, 5)})
    case("matmul_vector", "MatMul", {0: f32(4), 1: f32(2, 4, 3)})
    case("matmul_integer", "MatMulInteger", {0: u8(3, 4), 1: u8(4, 2)}, {2: np.array(3, np.uint8), 3: np.array(90, np.uint8)})
    qm = at(1, 0.02, np.array(3, np.int8)) | at(4, 0.05, np.array(0, np.int8)) | at(6, 0.2, np.array(-7, np.int8))
    case("qlinear_matmul", "QLinearMatMul", {0: i8(2, 3, 8), 3: i8(2, 8, 4)}, qm)
    case("gemm", "Gemm", {0: f32(4, 3), 1: f32(5, 4), 2: f32(3, 1)}, alpha=0.7, beta=1.3, transA=1, transB=1)
    case("gemm_plain", "Gemm", {0: f32(2, 3), 1: f32(3, 4)})
    qg = at(1, 0.02, np.array(3, np.int8)) | at(4, 0.05, np.array(0, np.int8)) | at(7, 0.2, np.array(-7, np.int8))
    case("qgemm", "QGemm", {0: i8(3, 6)}, qg | {3: i8(4, 6), 6: rng.integers(-999, 999, 4).astype(np.int32)}, domain=MS, transB=1)


def quantisation():
    case("quantize", "QuantizeLinear", {0: f32(3, 7, high=9.0)}, {1: scale(0.05), 2: np.array(4, np.int8)})
    case("quantize_default", "QuantizeLinear", {0: f32(3, 7)}, {1: scale(0.01)}, opset=11)
    case("quantize_axis", "QuantizeLinear", {0: f32(2, 3, 4)}, {1: f32(3, low=0.01, high=0.1), 2: np.array([1, 128, 255], np.uint8)}, axis=-2)
    case("dequantize", "DequantizeLinear", {0: i8(3, 7)}, {1: scale(0.05), 2: np.array(4, np.int8)})
    case("dequantize_axis", "DequantizeLinear", {0: u8(2, 3)}, {1: f32(3, low=0.01, high=0.1), 2: np.array([1, 128, 255], np.uint8)}, axis=1)
    case("dequantize_i32", "DequantizeLinear", {0: rng.integers(-10**6, 10**6, (5,)).astype(np.int32)}, {1: scale(0.001)})
    case("ms_quantize", "QuantizeLinear", {0: f32(3, 7)}, {1: scale(0.05), 2: np.array(4, np.int8)}, domain=MS)
    case("ms_dequantize", "DequantizeLinear", {0: i8(3, 7)}, {1: scale(0.05), 2: np.array(4, np.int8)}, domain=MS)
    case("dynamic_quantize", "DynamicQuantizeLinear", {0: f32(3, 5)}, outputs=3)
    both = at(1, 0.05, np.array(3, np.int8)) | at(4, 0.03, np.array(-9, np.int8)) | at(6, 0.07, np.array(1, np.int8))
    for name in ["Add", "Mul"]:
        case(f"qlinear_{name.lower()}", f"QLinear{name}", {0: i8(2, 3, 4), 3: i8(3, 1)}, both, domain=MS)
    case("qlinear_add_repeated_first", "QLinearAdd", {0: i8(1), 3: i8(3, 5)}, both, domain=MS)
    one = at(1, 0.05, np.array(3, np.int8)) | at(3, 1 / 128, np.array(-9, np.int8))
    case("qlinear_sigmoid", "QLinearSigmoid", {0: i8(3, 9)}, one, domain=MS)
    case("qlinear_leaky_relu", "QLinearLeakyRelu", {0: i8(3, 9)}, one, domain=MS, alpha=0.3)
    pool = at(1, 0.05, np.array(3, np.uint8)) | at(3, 0.06, np.array(9, np.uint8))
    case("qlinear_average_pool", "QLinearAveragePool", {0: u8(1, 2, 5, 6)}, pool, domain=MS, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    case("qlinear_global_average_pool", "QLinearGlobalAveragePool", {0: u8(1, 2, 5, 6)}, pool, domain=MS, channels_last=0)
    parts = {0: scale(0.05), 1: np.array(3, np.int8)} | {3: scale(0.04), 4: np.array(0, np.int8), 6: scale(0.09), 7: np.array(-3, np.int8)}
    case("qlinear_concat", "QLinearConcat", {2: i8(2, 3), 5: i8(2, 4)}, parts, domain=MS, axis=1)
    softmax()


def softmax():
    constants = at(1, 0.05, np.array(3, np.uint8)) | at(3, 1 / 256, np.array(0, np.uint8))
    # The operator has an attribute of the name of an argument of `case`.
    case_with("qlinear_softmax", "QLinearSoftmax", {0: u8(3, 9)}, constants, {"axis": -1, "opset": 13})
    case_with("qlinear_softmax_flat", "QLinearSoftmax", {0: u8(2, 3, 4)}, constants, {"axis": 1, "opset": 11})


def case_with(name, op, inputs, constants, attributes):
    make = helper.make_node
    helper.make_node = lambda *a, **k: make(*a, **k, **attributes)
    try:
        case(name, op, inputs, constants, domain=MS)
    finally:
        helper.make_node = make


def element_wise():
    for op in ["Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Abs", "Neg", "HardSwish", "Softplus"]:
        case(op.lower(), op, {0: f32(2, 9, low=-4, high=4)})
    for op in ["Log", "Sqrt", "Reciprocal"]:
        case(op.lower(), op, {0: f32(2, 9, low=0.1, high=4)})
    case("abs_i64", "Abs", {0: i64(-3, 0, 9)})
    case("gelu", "Gelu", {0: f32(2, 9, low=-4, high=4)}, opset=20)
    case("gelu_tanh", "Gelu", {0: f32(2, 9, low=-4, high=4)}, opset=20, approximate="tanh")
    case("ms_gelu", "Gelu", {0: f32(2, 9)}, domain=MS)
    case("ms_fast_gelu", "FastGelu", {0: f32(2, 9)}, domain=MS)
    case("leaky_relu", "LeakyRelu", {0: f32(2, 9)}, alpha=0.3)
    case("elu", "Elu", {0: f32(2, 9)}, alpha=0.7)
    case("hard_sigmoid", "HardSigmoid", {0: f32(2, 9)}, alpha=0.3)
    case("clip", "Clip", {0: f32(2, 9)}, {1: scale(-0.5), 2: scale(0.7)})
    case("clip_high_i8", "Clip", {0: i8(9)}, {2: np.array(7, np.int8)})
    case("not", "Not", {0: rng.random(9) < 0.5})
    for op in ["Add", "Sub", "Mul", "Div", "Pow"]:
        case(op.lower(), op, {0: f32(2, 1, 4, low=0.3), 1: f32(3, 1, low=0.3)})
    case("pow_square", "Pow", {0: f32(2, 9)}, {1: scale(2)})
    case("div_i64", "Div", {0: i64(-7, 7, 9), 1: i64(2)})
    case("add_i32", "Add", {0: np.array([2**31 - 1, 5], np.int32), 1: np.array([1], np.int32)})
    for op in ["Min", "Max"]:
        case(op.lower(), op, {0: f32(3, 1), 1: f32(4), 2: f32(1)})
        case(op.lower() + "_u8", op, {0: u8(7), 1: u8(7)})
    for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
        case(op.lower(), op, {0: rng.integers(0, 3, (3, 4)).astype(np.int32), 1: rng.integers(0, 3, 4).astype(np.int32)})
    case("less_f32", "Less", {0: f32(3, 4), 1: f32(4)})
    case("where", "Where", {0: rng.random((3, 1)) < 0.5, 1: f32(4), 2: f32(3, 4)})
    case("cast_i32", "Cast", {0: f32(9, low=-9, high=9)}, to=TensorProto.INT32)
    case("cast_bool", "Cast", {0: i64(0, 3, -1)}, to=TensorProto.BOOL)
    case("cast_f32", "Cast", {0: u8(5)}, to=TensorProto.FLOAT)


def axes():
    case("layer_norm", "LayerNormalization", {0: f32(2, 3, 8)}, {1: f32(8), 2: f32(8)}, epsilon=1e-6)
    case("layer_norm_two_axes", "LayerNormalization", {0: f32(2, 3, 4)}, {1: f32(3, 4)}, axis=1)
    case("batch_norm", "BatchNormalization", {0: f32(2, 3, 4, 2)}, {1: f32(3), 2: f32(3), 3: f32(3), 4: f32(3, low=0.5)})
    case("softmax", "Softmax", {0: f32(2, 3, 4)}, axis=1)
    case("softmax_11", "Softmax", {0: f32(2, 3, 4)}, opset=11)
    for op in ["ReduceMean", "ReduceMax", "ReduceMin"]:
        case(f"{op.lower()}_11", op, {0: f32(2, 3, 4)}, opset=11, axes=[-1, 0], keepdims=0)
        case(f"{op.lower()}_18", op, {0: f32(2, 3, 4)}, {1: i64(1)}, opset=18)
    case("reducesum_11", "ReduceSum", {0: f32(2, 3, 4)}, opset=11, axes=[1])
    case("reducesum", "ReduceSum", {0: f32(2, 3, 4)})
    case("reducesum_noop", "ReduceSum", {0: f32(2, 3)}, noop_with_empty_axes=1)
    case("reducesum_i64", "ReduceSum", {0: i64(3, 4, -9)}, keepdims=0)
    case("argmax", "ArgMax", {0: rng.integers(0, 3, (3, 4)).astype(np.float32)}, axis=1, keepdims=0)
    case("argmax_last", "ArgMax", {0: rng.integers(0, 3, (3, 4)).astype(np.float32)}, select_last_index=1)


def windows():
    case("max_pool", "MaxPool", {0: f32(1, 2, 6, 7)}, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], dilations=[1, 2], ceil_mode=1)
    case("max_pool_1d_i8", "MaxPool", {0: i8(1, 2, 9)}, kernel_shape=[3], auto_pad="SAME_UPPER")
    case("average_pool", "AveragePool", {0: f32(1, 2, 6, 7)}, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    case("average_pool_include_pad", "AveragePool", {0: f32(1, 2, 6, 7)}, kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1)
    case("global_average_pool", "GlobalAveragePool", {0: f32(2, 3, 4, 5)})
    for mode in ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]:
        case(f"resize_linear_{mode}", "Resize", {0: f32(1, 2, 3, 4)}, {2: np.array([1, 1, 2, 1.5], np.float32)}, mode="linear", coordinate_transformation_mode=mode)
    case("resize_sizes", "Resize", {0: f32(1, 2, 3, 4)}, {3: i64(1, 2, 7, 9)}, mode="linear")
    case("resize_u8", "Resize", {0: u8(1, 2, 3, 4)}, {2: np.array([1, 1, 2, 2], np.float32)}, mode="linear")
    case("resize_nearest", "Resize", {0: f32(1, 2, 3, 4)}, {2: np.array([1, 1, 2, 2], np.float32)}, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    case("resize_axes", "Resize", {0: f32(1, 2, 3, 4)}, {2: np.array([2, 3], np.float32)}, opset=18, mode="linear", axes=[2, 3])


def moves():
    x = f32(2, 3, 4)
    case("transpose", "Transpose", {0: x}, perm=[2, 0, 1])
    case("transpose_reverse", "Transpose", {0: i8(2, 3)})
    case("reshape", "Reshape", {0: x}, {1: i64(0, -1, 2)})
    case("flatten", "Flatten", {0: x}, axis=-1)
    case("flatten_rank", "Flatten", {0: x}, axis=3)
    case("squeeze", "Squeeze", {0: f32(1, 3, 1, 2)}, {1: i64(-2)})
    case("squeeze_11", "Squeeze", {0: f32(1, 3, 1, 2)}, opset=11)
    case("unsqueeze", "Unsqueeze", {0: x}, {1: i64(0, -1)})
    case("unsqueeze_11", "Unsqueeze", {0: x}, opset=11, axes=[1])
    case("concat", "Concat", {0: x, 1: f32(2, 1, 4)}, axis=-2)
    case("split", "Split", {0: f32(6, 2)}, {1: i64(1, 2, 3)}, outputs=3)
    case("split_11", "Split", {0: f32(2, 6)}, outputs=2, opset=11, axis=1, split=[2, 4])
    case("split_even", "Split", {0: f32(2, 6)}, outputs=3, axis=1)
    case("split_num_outputs", "Split", {0: f32(7, 2)}, outputs=3, opset=18, num_outputs=3)
    case("slice", "Slice", {0: f32(4, 5, 6)}, {1: i64(3, -4), 2: i64(-99, 2**63 - 1), 3: i64(0, -1), 4: i64(-2, 3)})
    case("slice_plain", "Slice", {0: f32(4, 5)}, {1: i64(1), 2: i64(3)})
    case("pad", "Pad", {0: f32(2, 3)}, {1: i64(1, 0, 0, 2), 2: scale(0.5)})
    case("pad_reflect", "Pad", {0: f32(3, 4)}, {1: i64(0, 2, 1, 1)}, mode="reflect")
    case("pad_edge_crop", "Pad", {0: f32(3, 4)}, {1: i64(-1, 2, 0, 1)}, mode="edge")
    case("pad_wrap_axes", "Pad", {0: f32(3, 4)}, {1: i64(2, 1), 3: i64(-1)}, opset=19, mode="wrap")
    case("expand", "Expand", {0: f32(3, 1)}, {1: i64(2, 1, 4)})
    case("gather", "Gather", {0: x, 1: np.array([[0, -1], [2, 1]], np.int64)}, axis=1)
    case("gather_i32", "Gather", {0: i8(5), 1: np.array(3, np.int32)})
    case("space_to_depth", "SpaceToDepth", {0: f32(1, 2, 4, 6)}, blocksize=2)
    case("depth_to_space", "DepthToSpace", {0: f32(1, 8, 2, 3)}, blocksize=2)
    case("depth_to_space_crd", "DepthToSpace", {0: f32(1, 8, 2, 3)}, blocksize=2, mode="CRD")
    case("identity", "Identity", {0: x})
    case("dropout", "Dropout", {0: x})
    case("constant", "Constant", {}, value=numpy_helper.from_array(f32(2, 2)))
    case("constant_ints", "Constant", {}, value_ints=[3, 4])
    case("constant_float", "Constant", {}, value_float=2.5)
    case("constant_of_shape", "ConstantOfShape", {}, {0: i64(2, 3)}, value=numpy_helper.from_array(i64(7)))
    case("shape", "Shape", {0: x}, start=1, end=-1)


if __name__ == "__main__":
    for file in FOLDER.glob("*.onnx"):
        file.unlink()
    for family in [products, quantisation, element_wise, axes, windows, moves]:
        family()
