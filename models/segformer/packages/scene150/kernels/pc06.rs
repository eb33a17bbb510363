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
                            fx::<4>(3.125),
                        );
                        #[region("q_proj")]
                        dense_bias::<2048, 64, 64, 32, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(13480762, 33), Scale::new(16668087, 24)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches_near::<64, 64, 32, 64, 8, 16, 4, 1024, 256>(
                            &layernorm_before.view::<Packed<64, 32, 64>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(16082796, 36),
                            0,
                        );
                    }
                    #[region("layer_norm_2")]
                    layer_norm::<64, 4, 32, 128, 24, 4, 0, 27, 21>(
                        &sequence_reduction.view::<Packed<64, 4, 32>>(),
                        layer_norm_2_norm,
                        &mut layer_norm_2.view::<Packed<64, 4, 32>>(),
                        fx::<4>(0.625),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_2,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(10108519, 33), Scale::new(8389024, 23)),
                );
                #[region("v_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_2,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(9907059, 33), Scale::new(16134010, 24)),
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
                    (Scale::new(9252592, 33), Scale::new(14229424, 31)),
                    fx::<22>(231.00690817832947),
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
                    (Scale::new(9252592, 33), Scale::new(14229424, 31)),
                    fx::<22>(231.00690817832947),
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
            (Scale::new(8671651, 32), Scale::new(15555147, 24)),
            (Scale::new(9694723, 27), Scale::new(8551967, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC06: Kernel = pc06;
}
