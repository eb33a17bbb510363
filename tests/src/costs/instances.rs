//! A representative instance of each family of the library, 8 tiles or more.

use ccl_runtime::ccl;
use ccl_runtime::kernel::{Argument, Arguments, ElemType, HostTensor, Kernel};
use ccl_runtime::nn::tables;
use ccl_runtime::prelude::Scale;

use super::Case;

ccl! {
    use ccl_runtime::nn::argmax::{argmax, enlarge_argmax};
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::{conv_by_taps, conv_gather, conv_patches, conv_patches_near, conv_space_to_depth};
    use ccl_runtime::nn::decode_head::decode_head;
    use ccl_runtime::nn::depthwise::{depthwise, depthwise3};
    use ccl_runtime::nn::elementwise::{add, clip, div, maximum, mul};
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::matmul::{dense, dense_bias, dense_bias_around, dense_bias_residual, matmul, matmul_transposed};
    use ccl_runtime::nn::mix_ffn::mix_ffn;
    use ccl_runtime::nn::moves::{put, to_packed};
    use ccl_runtime::nn::pointwise::{pointwise, pointwise_per_channel};
    use ccl_runtime::nn::pool::{average_pool, global_average_pool, max_pool};
    use ccl_runtime::nn::requantise::requantise;
    use ccl_runtime::nn::resize::{enlarge_linear, enlarge_nearest, resize_linear, resize_nearest};
    use ccl_runtime::nn::softmax::{softmax, softmax_wide};
    use ccl_runtime::nn::unary::{relu, unary};

    #[instance(target = QC_U)]
    const POINTWISE: Kernel = pointwise::<32, 128, 64, 128>;
    #[instance(target = QC_U)]
    const PER_CHANNEL: Kernel = pointwise_per_channel::<32, 128, 64, 128, 30, 128>;
    #[instance(target = QC_U)]
    const DENSE: Kernel = dense::<8192, 64, 64, 32, 32>;
    #[instance(target = QC_U)]
    const DENSE_BIAS: Kernel = dense_bias::<8192, 64, 64, 32, 32>;
    #[instance(target = QC_U)]
    const DENSE_AROUND: Kernel = dense_bias_around::<8192, 64, 64, 32, 32, 68>;
    #[instance(target = QC_U)]
    const DENSE_RESIDUAL: Kernel = dense_bias_residual::<8192, 64, 64, 32, 32>;
    #[instance(target = QC_U)]
    const MIX_FFN: Kernel = mix_ffn::<32, 128, 64, 128, 2, 64, 256>;
    // Half as many channels as a SegFormer-B0 has: the whole one takes as long to compile as all others together.
    #[instance(target = QC_U)]
    const DECODE_HEAD: Kernel =
        decode_head::<32, 64, 160, 256, 128, 128, 19, 64, 128, 32, 64, 16, 32, 8, 16, 2, 32, 256, 128, 1, 128, 256, 512, 80>;
    #[instance(target = QC_U)]
    const LABELS: Kernel = enlarge_argmax::<19, 64, 128, 256, 512, 4, 16, 1, 128>;
    #[instance(target = QC_U)]
    const STEM: Kernel = conv_space_to_depth::<3, 32, 256, 512, 64, 128, 4, 2, 2, 48, 192>;
    #[instance(target = QC_U)]
    const PATCHES: Kernel = conv_patches::<32, 64, 128, 256, 64, 128, 2, 128>;
    #[instance(target = QC_U)]
    const PATCHES_NEAR: Kernel = conv_patches_near::<32, 32, 64, 128, 8, 16, 8, 2048, 1024>;
    #[instance(target = QC_U)]
    const GATHERED: Kernel = conv_gather::<32, 64, 64, 128, 64, 128, 3, 3, 1, 32, 288>;
    #[instance(target = QC_U)]
    const BY_TAPS: Kernel = conv_by_taps::<32, 64, 64, 128, 64, 128, 3, 3, 576>;
    #[instance(target = QC_U)]
    const DEPTHWISE3: Kernel = depthwise3::<32, 64, 128>;
    #[instance(target = QC_U)]
    const DEPTHWISE: Kernel = depthwise::<16, 64, 128, 64, 128, 5, 5, 100>;
    #[instance(target = QC_U)]
    const SCORES: Kernel = matmul_transposed::<8192, 32, 128>;
    #[instance(target = QC_U)]
    const VALUES: Kernel = matmul::<8192, 128, 32, 8, 16>;
    #[instance(target = QC_U)]
    const HEAD: Kernel = attention_head::<8192, 128, 128, 32, 32, 32, 22, 22>;

    #[instance(target = QC_U)]
    const REQUANTISE: Kernel = requantise::<32, 64, 128>;
    #[instance(target = QC_U)]
    const UNARY: Kernel = unary::<32, 64, 128>;
    #[instance(target = QC_U)]
    const RELU: Kernel = relu::<32, 64, 128>;
    #[instance(target = QC_U)]
    const CLIP: Kernel = clip::<32, 64, 128>;
    #[instance(target = QC_U)]
    const ADD: Kernel = add::<32, 64, 128>;
    #[instance(target = QC_U)]
    const MUL: Kernel = mul::<32, 64, 128>;
    #[instance(target = QC_U)]
    const DIV: Kernel = div::<32, 64, 128>;
    #[instance(target = QC_U)]
    const MAXIMUM: Kernel = maximum::<32, 64, 128>;

    #[instance(target = QC_U)]
    const SOFTMAX: Kernel = softmax::<8192, 128, 22, 22>;
    #[instance(target = QC_U)]
    const SOFTMAX_WIDE: Kernel = softmax_wide::<8192, 128, 22, 22>;
    #[instance(target = QC_U)]
    const NORM_32: Kernel = layer_norm::<32, 64, 128, 64, 22, 6, 0, 28, 20>;
    #[instance(target = QC_U)]
    const NORM_256: Kernel = layer_norm::<256, 64, 128, 512, 22, 0, 0, 26, 20>;
    #[instance(target = QC_U)]
    const ARGMAX: Kernel = argmax::<20, 64, 128>;

    #[instance(target = QC_U)]
    const MAX_POOL: Kernel = max_pool::<16, 128, 256, 64, 128, 3, 3>;
    #[instance(target = QC_U)]
    const AVERAGE_POOL: Kernel = average_pool::<16, 128, 256, 64, 128, 3, 3>;
    #[instance(target = QC_U)]
    const GLOBAL_POOL: Kernel = global_average_pool::<64, 64, 128>;
    #[instance(target = QC_U)]
    const NEAREST_2: Kernel = enlarge_nearest::<16, 64, 128, 128, 256, 2, 16>;
    #[instance(target = QC_U)]
    const LINEAR_2: Kernel = enlarge_linear::<16, 64, 128, 128, 256, 2, 16>;
    #[instance(target = QC_U)]
    const NEAREST: Kernel = resize_nearest::<4, 48, 96, 64, 128>;
    #[instance(target = QC_U)]
    const LINEAR: Kernel = resize_linear::<4, 48, 96, 64, 128>;
    #[instance(target = QC_U)]
    const TO_PACKED: Kernel = to_packed::<32, 64, 128>;
    #[instance(target = QC_U)]
    const PUT: Kernel = put::<32, 64, 128, 64, 64, 128, 32>;
}

/// A scale of a network that makes no ties, and one that does.
const PLAIN: f64 = 0.002134719;
const TIES: f64 = 0.00390625;

type Given = Vec<(&'static str, Argument)>;

/// A case over 64 x 128 places, 8 tiles, one to a PE.
fn case(
    (name, kernel): (&'static str, &'static Kernel),
    given: Given,
    (item, items, macs): (&'static str, u64, u64),
    limit: impl Into<Option<f64>>,
) -> Case {
    let given = given.into_iter().fold(Arguments::new(), |all, (name, argument)| all.with(name, argument));
    Case { name, kernel, given, tiles: 8, item, items, macs, limit: limit.into(), why: None }
}

impl Case {
    /// A limit of its own, and what the kernel does beyond a requantisation.
    fn own(self, limit: f64, why: &'static str) -> Self {
        Self { limit: Some(limit), why: Some(why), ..self }
    }
}

fn scale(value: f64) -> Argument {
    Scale::from_f64(f64::from(value as f32)).into()
}
fn scales(values: [f64; 2]) -> Argument {
    Argument::List(values.map(scale).into())
}
fn list<const N: usize>(values: [i64; N]) -> Argument {
    Argument::List(values.map(Argument::from).into())
}
fn bits(value: f64, fraction: u32) -> Argument {
    ((value * f64::from(1u32 << fraction)).round() as i64).into()
}
fn words(values: &[i32]) -> Argument {
    HostTensor::from_fn(ElemType::I32, &[values.len()], |i| values[i].into()).into()
}
fn scaled(value: f64, zero_point: i64) -> Given {
    vec![("scale", scale(value)), ("zero_point", zero_point.into())]
}
fn window(stride: i64, pad: i64) -> Given {
    vec![("stride", stride.into()), ("pad", list([pad; 2]))]
}
fn with(given: Given, more: Given) -> Given {
    given.into_iter().chain(more).collect()
}

/// All cases.
pub(super) fn cases() -> Vec<Case> {
    [products(), fused(), windows(), elements(), rows(), pools_and_moves()].into_iter().flatten().collect()
}

const OUTPUT: &str = "output channel, without MACs";

fn products() -> Vec<Case> {
    let per_channel: Vec<i32> = (0..128).map(|i| 2_000_000 + 7919 * i).collect();
    let activations = |zeros| vec![("scale", scale(PLAIN)), ("zero_points", list(zeros))];
    let head = vec![
        ("table", words(&tables::exponentials(0.05, 22))),
        ("scales", scales([0.000913477, 0.002134719])),
        ("steps", bits(127.0, 22)),
        ("inputs", list([0; 3])),
        ("zero_points", list([0; 3])),
    ];
    vec![
        case(("pointwise", &POINTWISE), scaled(PLAIN, 3), (OUTPUT, 128, 256), 7.0),
        case(("pointwise, ties", &POINTWISE), scaled(TIES, 3), (OUTPUT, 128, 256), 10.0),
        case(
            ("pointwise, scale a channel", &PER_CHANNEL),
            vec![("scales", words(&per_channel)), ("zero_point", 3.into())],
            (OUTPUT, 128, 256),
            7.0,
        ),
        case(("dense", &DENSE), scaled(PLAIN, 3), (OUTPUT, 64, 256), 7.0),
        case(("scores", &SCORES), activations([0, 0, 0]), (OUTPUT, 128, 256), 7.0),
        case(("values", &VALUES), activations([0, 0, 0]), (OUTPUT, 32, 256), 7.0),
        case(("attention head", &HEAD), head, ("score, without MACs", 128, 256 + 256), None),
    ]
}

const BIAS: &str = "the network rounds twice: the product to int8, and that times a scale plus the bias to int8 again";
const RESIDUAL: &str = "the network rounds three times: the product, with the bias, and the sum of that and the residual, of which \
                        each has a scale";

fn fused() -> Vec<Case> {
    let biases = |n: usize| tables::addends(&vec![5; n], 0.31719);
    let layer = |n_outputs: usize, n_inputs: usize| {
        let weights = HostTensor::from_fn(ElemType::I8, &[n_outputs, n_inputs], |i| (i % 251) as i64 - 125);
        Argument::Stream { weights, bias: biases(n_outputs) }
    };
    let dense = vec![("w", layer(64, 64)), ("scales", scales([PLAIN, 0.813]))];
    let around = vec![("w", layer(64, 68)), ("scales", scales([PLAIN, 0.813])), ("zero_point", 3.into())];
    let residual = vec![("residual", scales([0.613, 0.937]))];
    let block = |are_added: bool| {
        let layers =
            vec![("expand", layer(128, 32)), ("project", layer(32, 128)), ("are_added", i64::from(are_added).into())];
        let steps = vec![
            ("expand_scales", scales([0.00313, 0.813])),
            ("depthwise_scale", scale(PLAIN)),
            ("project_scales", scales([0.00213, 0.773])),
        ];
        with(with(layers, steps), residual.clone())
    };
    let level = || scales([PLAIN, 0.813]);
    let head = vec![
        ("scales1", level()),
        ("scales2", level()),
        ("scales4", level()),
        ("scales8", level()),
        ("fuse_scale", scale(0.00071)),
        ("classify_scale", scale(PLAIN)),
    ];
    // Steps of the MAC unit for a line of 1024 pixels: levels, some of which several lines share, and both layers behind them.
    let products = (8 * 32 * 128 + 2 * 64 * 128 + 160 * 128 + 256 * 128) / 128 + 512 * 128 / 16 + 128 * 20 / 16;
    vec![
        case(("decode head", &DECODE_HEAD), head, ("joined channel, without MACs", 512, products), 40.0),
        case(("labels of logits x4", &LABELS), vec![], ("label of a channel", 20 * 16, 0), 14.0),
        case(("dense and bias", &DENSE_BIAS), dense.clone(), (OUTPUT, 64, 256), None).own(12.0, BIAS),
        case(("dense and bias, zero points", &DENSE_AROUND), around, (OUTPUT, 64, 256), None).own(12.0, BIAS),
        case(("dense, bias and residual", &DENSE_RESIDUAL), with(dense, residual.clone()), (OUTPUT, 64, 256), None)
            .own(19.0, RESIDUAL),
        case(("Mix-FFN with residual", &MIX_FFN), block(false), ("pixel of a PE", 1, 0), None),
        case(("Mix-FFN, biases apart", &MIX_FFN), block(true), ("pixel of a PE", 1, 0), None),
    ]
}

fn windows() -> Vec<Case> {
    let walk = |stride, pad| {
        let more = vec![("dilation", list([1, 1])), ("scale", scale(PLAIN))];
        with(window(stride, pad), more)
    };
    vec![
        case(
            ("convolution by patches of 4x4", &STEM),
            vec![("scale", scale(PLAIN)), ("zero_points", list([0, 3])), ("pad", list([1, 1]))],
            (OUTPUT, 32, 384),
            None,
        )
        .own(
            11.0,
            "rows and columns of a window come from neighbours, by shifts that 32 outputs share: flows would take three times \
             as long",
        ),
        case(("convolution without overlap", &PATCHES), scaled(PLAIN, 3), (OUTPUT, 64, 512), 7.0),
        case(
            ("convolution of few patches", &PATCHES_NEAR),
            scaled(PLAIN, 3),
            ("word of input", 256 / 8, 4096 / 8),
            64.0,
        ),
        case(
            ("convolution 3x3", &GATHERED),
            with(walk(1, 1), vec![("zero_points", list([0, 3]))]),
            (OUTPUT, 64, 1152),
            7.0,
        ),
        case(
            ("convolution 3x3, sums kept", &BY_TAPS),
            with(walk(1, 1), vec![("zero_point", 3.into())]),
            (OUTPUT, 64, 1152),
            None,
        )
        .own(30.0, "the sums of all outputs stay in local memory: each of the 9 taps adds to them out of the accumulators"),
        case(("depthwise 3x3", &DEPTHWISE3), scaled(PLAIN, 3), ("channel", 32, 0), 36.0),
        case(
            ("depthwise 5x5", &DEPTHWISE),
            with(window(1, 2), vec![("dilation", 1.into()), ("scale", scale(PLAIN)), ("zero_points", list([0, 3]))]),
            ("channel", 16, 0),
            None,
        ),
    ]
}

fn elements() -> Vec<Case> {
    let two = || vec![("scales", scales([0.7134719, 0.3137193])), ("zero_points", list([3, -7, 5]))];
    let requantised = |value| vec![("scale", scale(value)), ("zero_points", list([3, -7]))];
    let of = |case: Case| Case { items: 32, item: "element", ..case };
    let all = vec![
        case(("requantise", &REQUANTISE), requantised(0.377), ("", 0, 0), 6.0),
        case(("requantise, ties", &REQUANTISE), requantised(0.5), ("", 0, 0), 9.0),
        case(("unary", &UNARY), vec![], ("", 0, 0), 3.0),
        case(("relu", &RELU), vec![("zero_point", 3.into())], ("", 0, 0), 3.0),
        case(("clip", &CLIP), vec![("low", (-3).into()), ("high", 77.into())], ("", 0, 0), 3.0),
        case(("add", &ADD), two(), ("", 0, 0), None),
        case(("mul", &MUL), vec![("scale", scale(0.012347193)), ("zero_points", list([3, -7, 5]))], ("", 0, 0), None),
        case(
            ("div", &DIV),
            vec![("reciprocals", words(&tables::reciprocals(0.77, -7))), ("zero_points", list([3, -7, 5]))],
            ("", 0, 0),
            None,
        ),
        case(("maximum", &MAXIMUM), vec![], ("", 0, 0), None),
    ];
    all.into_iter().map(of).collect()
}

fn rows() -> Vec<Case> {
    let steps = || vec![("steps", bits(256.0, 22)), ("zero_point", (-128).into())];
    let table = vec![("table", words(&tables::exponentials(0.05, 22)))];
    let norm = |channels: usize, epsilon: i64| {
        let parameters =
            HostTensor::from_fn(ElemType::I32, &[2 * channels], |i| if i % 2 == 0 { 30 << 22 } else { 9 << 16 });
        vec![("parameters", parameters.into()), ("epsilon", epsilon.into())]
    };
    vec![
        case(("softmax, table", &SOFTMAX), with(table, steps()), ("score", 128, 0), 10.0),
        case(
            ("softmax, 32-bit scores", &SOFTMAX_WIDE),
            with(vec![("scale", scale(1.5e-5))], steps()),
            ("score", 128, 0),
            10.0,
        ),
        case(("layer norm, 32 channels", &NORM_32), norm(32, 1640), ("element", 32, 0), 14.0),
        case(("layer norm, 256 channels", &NORM_256), norm(256, 1640), ("element", 256, 0), 14.0),
        case(("arg-max", &ARGMAX), vec![], ("channel", 20, 0), None),
    ]
}

fn pools_and_moves() -> Vec<Case> {
    let average = vec![("ratio", bits(0.7713471, 24)), ("zero_points", list([-128, 5]))];
    vec![
        case(("max pool 3x3", &MAX_POOL), window(2, 1), ("output", 16, 0), None),
        case(("average pool 3x3", &AVERAGE_POOL), with(window(2, 1), average), ("output", 16, 0), None),
        case(
            ("global average", &GLOBAL_POOL),
            vec![("scale", scale(0.9134719 / 8192.0)), ("zero_points", list([0, 7]))],
            ("element", 64, 0),
            None,
        ),
        case(("nearest x2", &NEAREST_2), vec![], ("output", 64, 0), None),
        case(("bilinear x2", &LINEAR_2), vec![], ("output", 64, 0), None),
        case(("nearest, general", &NEAREST), vec![], ("output", 4, 0), None),
        case(("bilinear, general", &LINEAR), vec![], ("output", 4, 0), None),
        case(("to packed", &TO_PACKED), vec![], ("element", 32, 0), None),
        case(("concatenate", &PUT), vec![("row", 0.into()), ("column", 0.into())], ("element", 32, 0), None),
    ]
}
