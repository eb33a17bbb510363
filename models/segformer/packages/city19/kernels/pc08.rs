//! Kernel 9 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::{conv_gather, conv_patches};
    use ccl_runtime::nn::layer_norm::{layer_norm, layer_norm_twice};
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 28 nodes, from `/m/segformer/stages.1/blocks.1/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.2/blocks.0/Add_quant`.
    ///
    /// 0.114 GMAC, 303233 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc08(
        blocks_1_add_1: &Ocm<i8, Tokens<2048, 64>>,
        stages_1_transpose_norm: &Ocm<i32, Vector<128>>,
        proj_weights: &Ocm<i8, Stream<160, 576>>,
        layer_norm_2_norm: &Ocm<i32, Vector<320>>,
        layernorm_before_norm: &Ocm<i32, Vector<640>>,
        q_proj_weights: &Ocm<i8, Stream<160, 160>>,
        sequence_reduction_weights: &Ocm<i8, Stream<160, 640>>,
        layer_norm_3_norm: &Ocm<i32, Vector<320>>,
        k_proj_weights: &Ocm<i8, Stream<160, 160>>,
        v_proj_weights: &Ocm<i8, Stream<160, 160>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_0_add_weights: &Ocm<i8, Stream<160, 160>>,
        stages_1_transpose: &mut Ocm<i8, Packed<64, 32, 64>>,
        blocks_0_add: &mut Ocm<i8, Tokens<512, 160>>,
    ) {
        #[region("stages_1_transpose")]
        layer_norm::<64, 64, 32, 128, 24, 4, 0, 27, 21>(
            &blocks_1_add_1.view::<Packed<64, 64, 32>>(),
            stages_1_transpose_norm,
            &mut stages_1_transpose.view::<Packed<64, 64, 32>>(),
            fx::<4>(3.3125),
        );
        let layer_norm_2 = Ocm::<i8, Tokens<512, 160>>::new();
        let attention = Ocm::<i8, Tokens<512, 160>>::new();
        {
            let mut q_proj = Ocm::<i8, Tokens<512, 160>>::new();
            let mut k_proj = Ocm::<i8, Tokens<128, 160>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 160>>::new();
            {
                let layer_norm_3 = Ocm::<i8, Tokens<128, 160>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<160, 8, 16>>::new();
                    {
                        let layernorm_before = Ocm::<i8, Tokens<512, 160>>::new();
                        {
                            let mut proj = Ocm::<i8, Packed<160, 16, 32>>::new();
                            #[region("proj")]
                            conv_gather::<64, 160, 32, 64, 16, 32, 3, 3, 1, 64, 576>(
                                stages_1_transpose,
                                proj_weights,
                                &mut proj,
                                2,
                                (1, 1),
                                (1, 1),
                                Scale::new(11774640, 35),
                                (0, 0),
                            );
                            #[region("layer_norm_2")]
                            layer_norm::<160, 16, 32, 320, 25, 2, 0, 27, 21>(
                                &proj,
                                layer_norm_2_norm,
                                &mut layer_norm_2.view::<Packed<160, 16, 32>>(),
                                fx::<2>(18.0),
                            );
                            #[region("layernorm_before")]
                            layer_norm_twice::<160, 16, 32, 640, 25, 2, 0, 28, 22, 22, 27, 21>(
                                &proj,
                                layernorm_before_norm,
                                &mut layernorm_before.view::<Packed<160, 16, 32>>(),
                                fx::<2>(18.0),
                                fx::<22>(0.001600027084350586),
                            );
                        }
                        #[region("q_proj")]
                        dense_bias::<512, 160, 160, 16, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(15953431, 34), Scale::new(16531285, 24)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches::<160, 160, 16, 32, 8, 16, 2, 640>(
                            &layernorm_before.view::<Packed<160, 16, 32>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(13672699, 36),
                            0,
                        );
                    }
                    #[region("layer_norm_3")]
                    layer_norm::<160, 4, 32, 320, 24, 2, 0, 27, 21>(
                        &sequence_reduction.view::<Packed<160, 4, 32>>(),
                        layer_norm_3_norm,
                        &mut layer_norm_3.view::<Packed<160, 4, 32>>(),
                        fx::<2>(2.5),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 160, 160, 4, 32>(
                    &layer_norm_3,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(16265565, 34), Scale::new(8388950, 23)),
                );
                #[region("v_proj")]
                dense_bias::<128, 160, 160, 4, 32>(
                    &layer_norm_3,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(16008189, 34), Scale::new(16423688, 24)),
                );
            }
            #[region("attention")]
            {
                // Values channel by channel, so that 16 keys are 16 bytes.
                let mut values = Ocm::<i8, Planar<160, 4, 32>>::new();
                #[region("to_planar")]
                to_planar::<160, 4, 32>(&v_proj.view::<Packed<160, 4, 32>>(), &mut values);
                #[region("attention_head")]
                attention_head::<512, 128, 128, 32, 16, 32, 23, 23>(
                    &q_proj.channels(0).view::<Tokens<512, 32>>(),
                    &k_proj.channels(0).view::<Tokens<128, 32>>(),
                    &values.channels(0).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(0).view::<Tokens<512, 32>>(),
                    (Scale::new(11652697, 34), Scale::new(8970552, 30)),
                    fx::<23>(127.04045069217682),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<512, 128, 128, 32, 16, 32, 23, 23>(
                    &q_proj.channels(32).view::<Tokens<512, 32>>(),
                    &k_proj.channels(32).view::<Tokens<128, 32>>(),
                    &values.channels(32).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(32).view::<Tokens<512, 32>>(),
                    (Scale::new(11652697, 34), Scale::new(8970552, 30)),
                    fx::<23>(127.04045069217682),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<512, 128, 128, 32, 16, 32, 23, 23>(
                    &q_proj.channels(64).view::<Tokens<512, 32>>(),
                    &k_proj.channels(64).view::<Tokens<128, 32>>(),
                    &values.channels(64).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(64).view::<Tokens<512, 32>>(),
                    (Scale::new(11652697, 34), Scale::new(8970552, 30)),
                    fx::<23>(127.04045069217682),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<512, 128, 128, 32, 16, 32, 23, 23>(
                    &q_proj.channels(96).view::<Tokens<512, 32>>(),
                    &k_proj.channels(96).view::<Tokens<128, 32>>(),
                    &values.channels(96).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(96).view::<Tokens<512, 32>>(),
                    (Scale::new(11652697, 34), Scale::new(8970552, 30)),
                    fx::<23>(127.04045069217682),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<512, 128, 128, 32, 16, 32, 23, 23>(
                    &q_proj.channels(128).view::<Tokens<512, 32>>(),
                    &k_proj.channels(128).view::<Tokens<128, 32>>(),
                    &values.channels(128).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(128).view::<Tokens<512, 32>>(),
                    (Scale::new(11652697, 34), Scale::new(8970552, 30)),
                    fx::<23>(127.04045069217682),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_0_add")]
        dense_bias_residual::<512, 160, 160, 16, 32>(
            &attention,
            blocks_0_add_weights,
            &layer_norm_2,
            blocks_0_add,
            (Scale::new(12768720, 32), Scale::new(15534440, 24)),
            (Scale::new(11781878, 26), Scale::new(16599169, 24)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC08: Kernel = pc08;
}
