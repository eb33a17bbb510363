//! Kernel 7 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::conv_patches_near;
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 22 nodes, from `/m/segformer/stages.1/blocks.0/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.1/blocks.1/Add_quant`.
    ///
    /// 0.060 GMAC, 83457 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc06(
        blocks_0_add_1: &Ocm<i8, Tokens<2048, 64>>,
        layernorm_before_norm: &Ocm<i32, Vector<128>>,
        q_proj_weights: &Ocm<i8, Stream<64, 64>>,
        sequence_reduction_weights: &Ocm<i8, Stream<64, 1024>>,
        layer_norm_2_norm: &Ocm<i32, Vector<128>>,
        k_proj_weights: &Ocm<i8, Stream<64, 64>>,
        v_proj_weights: &Ocm<i8, Stream<64, 64>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_1_add_weights: &Ocm<i8, Stream<64, 64>>,
        blocks_1_add: &mut Ocm<i8, Tokens<2048, 64>>,
    ) {
        let attention = Ocm::<i8, Tokens<2048, 64>>::new();
        {
            let mut q_proj = Ocm::<i8, Tokens<2048, 64>>::new();
            let mut k_proj = Ocm::<i8, Tokens<128, 64>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 64>>::new();
            {
                let layer_norm_2 = Ocm::<i8, Tokens<128, 64>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<64, 8, 16>>::new();
                    {
                        let layernorm_before = Ocm::<i8, Tokens<2048, 64>>::new();
                        #[region("layernorm_before")]
                        layer_norm::<64, 64, 32, 128, 24, 4, 0, 27, 21>(
                            &blocks_0_add_1.view::<Packed<64, 64, 32>>(),
                            layernorm_before_norm,
                            &mut layernorm_before.view::<Packed<64, 64, 32>>(),
                            fx::<4>(3.3125),
                        );
                        #[region("q_proj")]
                        dense_bias::<2048, 64, 64, 32, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(13640349, 33), Scale::new(16676699, 24)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches_near::<64, 64, 32, 64, 8, 16, 4, 1024, 256>(
                            &layernorm_before.view::<Packed<64, 32, 64>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(15526196, 36),
                            0,
                        );
                    }
                    #[region("layer_norm_2")]
                    layer_norm::<64, 4, 32, 128, 24, 4, 0, 27, 21>(
                        &sequence_reduction.view::<Packed<64, 4, 32>>(),
                        layer_norm_2_norm,
                        &mut layer_norm_2.view::<Packed<64, 4, 32>>(),
                        fx::<4>(0.6875),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_2,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(9706775, 33), Scale::new(8389158, 23)),
                );
                #[region("v_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_2,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(9460013, 33), Scale::new(16151891, 24)),
                );
            }
            #[region("attention")]
            {
                // Values channel by channel, so that 16 keys are 16 bytes.
                let mut values = Ocm::<i8, Planar<64, 4, 32>>::new();
                #[region("to_planar")]
                to_planar::<64, 4, 32>(&v_proj.view::<Packed<64, 4, 32>>(), &mut values);
                #[region("attention_head")]
                attention_head::<2048, 128, 128, 32, 32, 32, 23, 22>(
                    &q_proj.channels(0).view::<Tokens<2048, 32>>(),
                    &k_proj.channels(0).view::<Tokens<128, 32>>(),
                    &values.channels(0).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(0).view::<Tokens<2048, 32>>(),
                    (Scale::new(8925048, 33), Scale::new(8539430, 30)),
                    fx::<22>(171.01456952095032),
                    (0, 0, 0),
                    (0, 0, 0),
                );
                #[region("attention_head")]
                attention_head::<2048, 128, 128, 32, 32, 32, 23, 22>(
                    &q_proj.channels(32).view::<Tokens<2048, 32>>(),
                    &k_proj.channels(32).view::<Tokens<128, 32>>(),
                    &values.channels(32).view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention.channels(32).view::<Tokens<2048, 32>>(),
                    (Scale::new(8925048, 33), Scale::new(8539430, 30)),
                    fx::<22>(171.01456952095032),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_1_add")]
        dense_bias_residual::<2048, 64, 64, 32, 32>(
            &attention,
            blocks_1_add_weights,
            blocks_0_add_1,
            blocks_1_add,
            (Scale::new(9674182, 32), Scale::new(16238740, 24)),
            (Scale::new(9793360, 27), Scale::new(8530897, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC06: Kernel = pc06;
}
