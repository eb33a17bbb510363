//! Kernel 1 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::{conv_patches_near, conv_space_to_depth};
    use ccl_runtime::nn::layer_norm::{layer_norm, layer_norm_twice};
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 25 nodes, from `/m/segformer/stages.0/patch_embeddings/proj/Conv_quant` to `/m/segformer/stages.0/blocks.0/Add_quant`.
    ///
    /// 0.131 GMAC, 75489 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc00(
        pixel_values: &Ocm<i8, Planar<3, 256, 512>>,
        proj_weights: &Ocm<i8, Stream<32, 192>>,
        layer_norm_2_norm: &Ocm<i32, Vector<64>>,
        layernorm_before_norm: &Ocm<i32, Vector<128>>,
        q_proj_weights: &Ocm<i8, Stream<32, 32>>,
        sequence_reduction_weights: &Ocm<i8, Stream<32, 2048>>,
        layer_norm_3_norm: &Ocm<i32, Vector<64>>,
        k_proj_weights: &Ocm<i8, Stream<32, 32>>,
        v_proj_weights: &Ocm<i8, Stream<32, 32>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_0_add_weights: &Ocm<i8, Stream<32, 32>>,
        blocks_0_add: &mut Ocm<i8, Tokens<8192, 32>>,
    ) {
        let layer_norm_2 = Ocm::<i8, Tokens<8192, 32>>::new();
        let mut attention = Ocm::<i8, Tokens<8192, 32>>::new();
        {
            let mut q_proj = Ocm::<i8, Tokens<8192, 32>>::new();
            let mut k_proj = Ocm::<i8, Tokens<128, 32>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 32>>::new();
            {
                let layer_norm_3 = Ocm::<i8, Tokens<128, 32>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<32, 8, 16>>::new();
                    {
                        let layernorm_before = Ocm::<i8, Tokens<8192, 32>>::new();
                        {
                            let mut proj = Ocm::<i8, Packed<32, 64, 128>>::new();
                            #[region("proj")]
                            conv_space_to_depth::<3, 32, 256, 512, 64, 128, 4, 2, 2, 48, 192>(
                                pixel_values,
                                proj_weights,
                                &mut proj,
                                (1, 1),
                                Scale::new(15206079, 34),
                                (0, 0),
                            );
                            #[region("layer_norm_2")]
                            layer_norm::<32, 256, 32, 64, 24, 6, 0, 28, 22>(
                                &proj.view::<Packed<32, 256, 32>>(),
                                layer_norm_2_norm,
                                &mut layer_norm_2.view::<Packed<32, 256, 32>>(),
                                fx::<6>(9.5),
                            );
                            #[region("layernorm_before")]
                            layer_norm_twice::<32, 256, 32, 128, 24, 6, 0, 28, 24, 24, 28, 22>(
                                &proj.view::<Packed<32, 256, 32>>(),
                                layernorm_before_norm,
                                &mut layernorm_before.view::<Packed<32, 256, 32>>(),
                                fx::<6>(9.5),
                                fx::<24>(0.00032001733779907227),
                            );
                        }
                        #[region("q_proj")]
                        dense_bias::<8192, 32, 32, 32, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(11887996, 32), Scale::new(8496614, 23)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches_near::<32, 32, 64, 128, 8, 16, 8, 2048, 1024>(
                            &layernorm_before.view::<Packed<32, 64, 128>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(11819361, 37),
                            0,
                        );
                    }
                    #[region("layer_norm_3")]
                    layer_norm::<32, 4, 32, 64, 24, 6, 0, 28, 22>(
                        &sequence_reduction.view::<Packed<32, 4, 32>>(),
                        layer_norm_3_norm,
                        &mut layer_norm_3.view::<Packed<32, 4, 32>>(),
                        fx::<6>(0.03125),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 32, 32, 4, 32>(
                    &layer_norm_3,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(9914110, 32), Scale::new(16774762, 24)),
                );
                #[region("v_proj")]
                dense_bias::<128, 32, 32, 4, 32>(
                    &layer_norm_3,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(9348375, 32), Scale::new(8652223, 23)),
                );
            }
            #[region("attention")]
            {
                // Values channel by channel, so that 16 keys are 16 bytes.
                let mut values = Ocm::<i8, Planar<32, 4, 32>>::new();
                #[region("to_planar")]
                to_planar::<32, 4, 32>(&v_proj.view::<Packed<32, 4, 32>>(), &mut values);
                #[region("attention_head")]
                attention_head::<8192, 128, 128, 32, 32, 32, 23, 20>(
                    &q_proj,
                    &k_proj,
                    &values.view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention,
                    (Scale::new(10650673, 33), Scale::new(9418149, 32)),
                    fx::<20>(671.4204158782959),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_0_add")]
        dense_bias_residual::<8192, 32, 32, 32, 32>(
            &attention,
            blocks_0_add_weights,
            &layer_norm_2,
            blocks_0_add,
            (Scale::new(15036406, 34), Scale::new(15548349, 24)),
            (Scale::new(13447866, 25), Scale::new(8805909, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC00: Kernel = pc00;
}
