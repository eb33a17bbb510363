//! Instances of kernels of other blocks, with extents that fit no array.

use ccl_runtime::ccl;

ccl! {
    use crate::kernels::add::add;
    use crate::kernels::argmax::argmax;
    use crate::kernels::conv_gather::conv_gather;
    use crate::kernels::conv_space_to_depth::patches;
    use crate::kernels::dense::dense;
    use crate::kernels::depthwise::depthwise3;
    use crate::kernels::layer_norm::layer_norm;
    use crate::kernels::lut_unary::{power, unary};
    use crate::kernels::max_pool::max_pool3;
    use crate::kernels::pointwise::kernels::pointwise as pointwise_1x1;
    use crate::kernels::residual_prefetch::residual;
    use crate::kernels::resize_bilinear::resize;
    use crate::kernels::softmax::softmax_rows;

    #[instance(target = QC_N)]
    pub const ADD: Kernel = add::<5, 9, 11>;
    #[instance(target = QC_U)]
    pub const ARGMAX: Kernel = argmax::<19, 33, 7>;
    #[instance(target = QC_N)]
    pub const CONV: Kernel = conv_gather::<3, 6, 17, 13, 9, 7, 3, 3, 27, 2, 1>;
    #[instance(target = QC_N)]
    pub const DILATED: Kernel = conv_gather::<4, 4, 10, 10, 10, 10, 3, 3, 36, 1, 2>;
    #[instance(target = QC_N)]
    pub const PATCHES: Kernel = patches::<2, 5, 72, 80, 9, 10, 128>;
    #[instance(target = QC_U)]
    pub const DENSE: Kernel = dense::<37, 21, 20>;
    #[instance(target = QC_U)]
    pub const DEPTHWISE: Kernel = depthwise3::<3, 9, 40, 33>;
    #[instance(target = QC_N)]
    pub const NORM: Kernel = layer_norm::<24, 5, 9, 48>;
    #[instance(target = QC_N)]
    pub const UNARY: Kernel = unary::<6, 9, 9>;
    #[instance(target = QC_N)]
    pub const POWER: Kernel = power::<9, 9>;
    #[instance(target = QC_N)]
    pub const POOL: Kernel = max_pool3::<2, 17, 9, 9, 5>;
    #[instance(target = QC_N)]
    pub const POINTWISE: Kernel = pointwise_1x1::<5, 7, 9, 11>;
    #[instance(target = QC_N)]
    pub const RESIDUAL: Kernel = residual::<3, 5, 9, 10>;
    #[instance(target = QC_N)]
    pub const RESIZE: Kernel = resize::<7, 9, 14, 20>;
    #[instance(target = QC_N)]
    pub const SOFTMAX: Kernel = softmax_rows::<70, 12>;
}
