//! Kernel 15 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 18 nodes, from `/m/segformer/stages.3/blocks.0/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.3/blocks.1/Add_quant`.
    ///
    /// 0.042 GMAC, 265217 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc14(
        blocks_0_add_1: &Ocm<i8, Tokens<128, 256>>,
        layernorm_before_norm: &Ocm<i32, Vector<512>>,
        k_proj_weights: &Ocm<i8, Stream<256, 256>>,
        q_proj_weights: &Ocm<i8, Stream<256, 256>>,
        v_proj_weights: &Ocm<i8, Stream<256, 256>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_1_add_weights: &Ocm<i8, Stream<256, 256>>,
        blocks_1_add: &mut Ocm<i8, Tokens<128, 256>>,
    ) {
        let attention = Ocm::<i8, Tokens<128, 256>>::new();
        {
            let mut k_proj = Ocm::<i8, Tokens<128, 256>>::new();
            let mut q_proj = Ocm::<i8, Tokens<128, 256>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 256>>::new();
            {
                let layernorm_before = Ocm::<i8, Tokens<128, 256>>::new();
                #[region("layernorm_before")]
                layer_norm::<256, 4, 32, 512, 24, 0, 0, 26, 20>(
                    &blocks_0_add_1.view::<Packed<256, 4, 32>>(),
                    layernorm_before_norm,
                    &mut layernorm_before.view::<Packed<256, 4, 32>>(),
                    fx::<0>(25.0),
                );
                #[region("k_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(9784434, 34), Scale::new(8388630, 23)),
                );
                #[region("q_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    q_proj_weights,
                    &mut q_proj,
                    (Scale::new(16137188, 35), Scale::new(16674717, 24)),
                );
                #[region("v_proj")]
                dense_bias::<128, 256, 256, 4, 32>(
                    &layernorm_before,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(11193268, 34), Scale::new(8411037, 23)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
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
                    (Scale::new(12894072, 34), Scale::new(12594463, 30)),
                    fx::<23>(127.00000047683716),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_1_add")]
        dense_bias_residual::<128, 256, 256, 4, 32>(
            &attention,
            blocks_1_add_weights,
            blocks_0_add_1,
            blocks_1_add,
            (Scale::new(13335200, 34), Scale::new(16728450, 24)),
            (Scale::new(9549519, 25), Scale::new(14395857, 24)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC14: Kernel = pc14;
}
