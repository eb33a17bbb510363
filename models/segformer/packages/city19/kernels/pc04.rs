//! Kernel 5 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::{conv_gather, conv_patches_near};
    use ccl_runtime::nn::layer_norm::{layer_norm, layer_norm_twice};
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 28 nodes, from `/m/segformer/stages.0/blocks.1/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.1/blocks.0/Add_quant`.
    ///
    /// 0.098 GMAC, 102913 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc04(
        blocks_1_add_1: &Ocm<i8, Tokens<8192, 32>>,
        stages_0_transpose_norm: &Ocm<i32, Vector<64>>,
        proj_weights: &Ocm<i8, Stream<64, 288>>,
        layer_norm_2_norm: &Ocm<i32, Vector<128>>,
        layernorm_before_norm: &Ocm<i32, Vector<256>>,
        q_proj_weights: &Ocm<i8, Stream<64, 64>>,
        sequence_reduction_weights: &Ocm<i8, Stream<64, 1024>>,
        layer_norm_3_norm: &Ocm<i32, Vector<128>>,
        k_proj_weights: &Ocm<i8, Stream<64, 64>>,
        v_proj_weights: &Ocm<i8, Stream<64, 64>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_0_add_weights: &Ocm<i8, Stream<64, 64>>,
        stages_0_transpose: &mut Ocm<i8, Packed<32, 64, 128>>,
        blocks_0_add: &mut Ocm<i8, Tokens<2048, 64>>,
    ) {
        #[region("stages_0_transpose")]
        layer_norm::<32, 256, 32, 64, 24, 6, 0, 28, 22>(
            &blocks_1_add_1.view::<Packed<32, 256, 32>>(),
            stages_0_transpose_norm,
            &mut stages_0_transpose.view::<Packed<32, 256, 32>>(),
            fx::<6>(5.8125),
        );
        let layer_norm_2 = Ocm::<i8, Tokens<2048, 64>>::new();
        let attention = Ocm::<i8, Tokens<2048, 64>>::new();
        {
            let mut q_proj = Ocm::<i8, Tokens<2048, 64>>::new();
            let mut k_proj = Ocm::<i8, Tokens<128, 64>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 64>>::new();
            {
                let layer_norm_3 = Ocm::<i8, Tokens<128, 64>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<64, 8, 16>>::new();
                    {
                        let layernorm_before = Ocm::<i8, Tokens<2048, 64>>::new();
                        {
                            let mut proj = Ocm::<i8, Packed<64, 32, 64>>::new();
                            #[region("proj")]
                            conv_gather::<32, 64, 64, 128, 32, 64, 3, 3, 1, 32, 288>(
                                stages_0_transpose,
                                proj_weights,
                                &mut proj,
                                2,
                                (1, 1),
                                (1, 1),
                                Scale::new(13771340, 34),
                                (0, 0),
                            );
                            #[region("layer_norm_2")]
                            layer_norm::<64, 64, 32, 128, 25, 4, 0, 27, 22>(
                                &proj.view::<Packed<64, 64, 32>>(),
                                layer_norm_2_norm,
                                &mut layer_norm_2.view::<Packed<64, 64, 32>>(),
                                fx::<4>(12.9375),
                            );
                            #[region("layernorm_before")]
                            layer_norm_twice::<64, 64, 32, 256, 24, 4, 0, 28, 23, 23, 27, 21>(
                                &proj.view::<Packed<64, 64, 32>>(),
                                layernorm_before_norm,
                                &mut layernorm_before.view::<Packed<64, 64, 32>>(),
                                fx::<4>(12.9375),
                                fx::<23>(0.0006400346755981445),
                            );
                        }
                        #[region("q_proj")]
                        dense_bias::<2048, 64, 64, 32, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(16107781, 33), Scale::new(16352835, 24)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches_near::<64, 64, 32, 64, 8, 16, 4, 1024, 256>(
                            &layernorm_before.view::<Packed<64, 32, 64>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(8895060, 36),
                            0,
                        );
                    }
                    #[region("layer_norm_3")]
                    layer_norm::<64, 4, 32, 128, 24, 4, 0, 27, 21>(
                        &sequence_reduction.view::<Packed<64, 4, 32>>(),
                        layer_norm_3_norm,
                        &mut layer_norm_3.view::<Packed<64, 4, 32>>(),
                        fx::<4>(0.1875),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_3,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(14028397, 33), Scale::new(8389560, 23)),
                );
                #[region("v_proj")]
                dense_bias::<128, 64, 64, 4, 32>(
                    &layer_norm_3,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(13539440, 33), Scale::new(16449871, 24)),
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
                    (Scale::new(10747404, 34), Scale::new(15439500, 31)),
                    fx::<22>(165.17909336090088),
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
                    (Scale::new(10747404, 34), Scale::new(15439500, 31)),
                    fx::<22>(165.17909336090088),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_0_add")]
        dense_bias_residual::<2048, 64, 64, 32, 32>(
            &attention,
            blocks_0_add_weights,
            &layer_norm_2,
            blocks_0_add,
            (Scale::new(12547253, 33), Scale::new(15607433, 24)),
            (Scale::new(13349646, 25), Scale::new(8959470, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC04: Kernel = pc04;
}
