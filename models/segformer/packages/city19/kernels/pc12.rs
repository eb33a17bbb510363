//! Kernel 13 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::conv_gather;
    use ccl_runtime::nn::layer_norm::{layer_norm, layer_norm_twice};
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 24 nodes, from `/m/segformer/stages.2/blocks.1/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.3/blocks.0/Add_quant`.
    ///
    /// 0.089 GMAC, 638209 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc12(
        blocks_1_add_1: &Ocm<i8, Tokens<512, 160>>,
        stages_2_transpose_norm: &Ocm<i32, Vector<320>>,
        proj_weights: &Ocm<i8, Stream<256, 1440>>,
        layer_norm_2_norm: &Ocm<i32, Vector<512>>,
        layernorm_before_norm: &Ocm<i32, Vector<1024>>,
        k_proj_weights: &Ocm<i8, Stream<256, 256>>,
        q_proj_weights: &Ocm<i8, Stream<256, 256>>,
        v_proj_weights: &Ocm<i8, Stream<256, 256>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_0_add_weights: &Ocm<i8, Stream<256, 256>>,
        stages_2_transpose: &mut Ocm<i8, Packed<160, 16, 32>>,
        blocks_0_add: &mut Ocm<i8, Tokens<128, 256>>,
    ) {
        #[region("stages_2_transpose")]
        layer_norm::<160, 16, 32, 320, 24, 2, 0, 27, 21>(
            &blocks_1_add_1.view::<Packed<160, 16, 32>>(),
            stages_2_transpose_norm,
            stages_2_transpose,
            fx::<2>(30.25),
        );
        let layer_norm_2 = Ocm::<i8, Tokens<128, 256>>::new();
        let attention = Ocm::<i8, Tokens<128, 256>>::new();
        {
            let mut k_proj = Ocm::<i8, Tokens<128, 256>>::new();
            let mut q_proj = Ocm::<i8, Tokens<128, 256>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 256>>::new();
            {
                let layernorm_before = Ocm::<i8, Tokens<128, 256>>::new();
                {
                    let mut proj = Ocm::<i8, Packed<256, 8, 16>>::new();
                    #[region("proj")]
                    conv_gather::<160, 256, 16, 32, 8, 16, 3, 3, 1, 160, 1440>(
                        stages_2_transpose,
                        proj_weights,
                        &mut proj,
                        2,
                        (1, 1),
                        (1, 1),
                        Scale::new(10539406, 36),
                        (0, 0),
                    );
                    #[region("layer_norm_2")]
                    layer_norm::<256, 4, 32, 512, 25, 0, 0, 26, 21>(
                        &proj.view::<Packed<256, 4, 32>>(),
                        layer_norm_2_norm,
                        &mut layer_norm_2.view::<Packed<256, 4, 32>>(),
                        fx::<0>(9.0),
                    );
                    #[region("layernorm_before")]
                    layer_norm_twice::<256, 4, 32, 1024, 25, 0, 0, 28, 21, 21, 26, 21>(
                        &proj.view::<Packed<256, 4, 32>>(),
                        layernorm_before_norm,
                        &mut layernorm_before.view::<Packed<256, 4, 32>>(),
                        fx::<0>(9.0),
                        fx::<21>(0.002560138702392578),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(12592312, 34), Scale::new(16769513, 24)),
                );
                #[region("q_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    q_proj_weights,
                    &mut q_proj,
                    (Scale::new(10184125, 34), Scale::new(16583368, 24)),
                );
                #[region("v_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(15929473, 34), Scale::new(16690143, 24)),
                );
            }
            #[region("attention")]
            {
                // Values channel by channel, so that 16 keys are 16 bytes.
                let mut values = Ocm::<i8, Planar<256, 4, 32>>::new();
                #[region("to_planar")]
                to_planar::<256, 4, 32>(&v_proj.view::<Packed<256, 4, 32>>(), &mut values);
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(0).view::<Tokens<128, 32>>(),
                    &k_proj.channels(0).view::<Tokens<128, 32>>(),
                    &values.channels(0).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(0).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(32).view::<Tokens<128, 32>>(),
                    &k_proj.channels(32).view::<Tokens<128, 32>>(),
                    &values.channels(32).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(32).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(64).view::<Tokens<128, 32>>(),
                    &k_proj.channels(64).view::<Tokens<128, 32>>(),
                    &values.channels(64).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(64).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(96).view::<Tokens<128, 32>>(),
                    &k_proj.channels(96).view::<Tokens<128, 32>>(),
                    &values.channels(96).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(96).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(128).view::<Tokens<128, 32>>(),
                    &k_proj.channels(128).view::<Tokens<128, 32>>(),
                    &values.channels(128).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(128).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(160).view::<Tokens<128, 32>>(),
                    &k_proj.channels(160).view::<Tokens<128, 32>>(),
                    &values.channels(160).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(160).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(192).view::<Tokens<128, 32>>(),
                    &k_proj.channels(192).view::<Tokens<128, 32>>(),
                    &values.channels(192).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(192).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<128, 128, 128, 32, 4, 32, 23, 23>(
                    &q_proj.channels(224).view::<Tokens<128, 32>>(),
                    &k_proj.channels(224).view::<Tokens<128, 32>>(),
                    &values.channels(224).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(224).view::<Tokens<128, 32>>(),
                    (Scale::new(14859822, 34), Scale::new(12657263, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_0_add")]
        dense_bias_residual::<128, 256, 256, 4, 32>(
            &attention,
            blocks_0_add_weights,
            &layer_norm_2,
            blocks_0_add,
            (Scale::new(13115152, 34), Scale::new(16721933, 24)),
            (Scale::new(9346433, 24), Scale::new(12864540, 24)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC12: Kernel = pc12;
}
