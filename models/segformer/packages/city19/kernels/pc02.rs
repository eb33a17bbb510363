//! Kernel 3 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::conv::conv_patches_near;
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_residual};
    use ccl_runtime::nn::moves::to_planar;

    /// 22 nodes, from `/m/segformer/stages.0/blocks.0/Add_1_output_0_DequantizeLinear` to `/m/segformer/stages.0/blocks.1/Add_quant`.
    ///
    /// 0.093 GMAC, 70401 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc02(
        blocks_0_add_1: &Ocm<i8, Tokens<8192, 32>>,
        layernorm_before_norm: &Ocm<i32, Vector<64>>,
        q_proj_weights: &Ocm<i8, Stream<32, 32>>,
        sequence_reduction_weights: &Ocm<i8, Stream<32, 2048>>,
        layer_norm_2_norm: &Ocm<i32, Vector<64>>,
        k_proj_weights: &Ocm<i8, Stream<32, 32>>,
        v_proj_weights: &Ocm<i8, Stream<32, 32>>,
        attention_exponentials: &Ocm<i32, Vector<256>>,
        blocks_1_add_weights: &Ocm<i8, Stream<32, 32>>,
        blocks_1_add: &mut Ocm<i8, Tokens<8192, 32>>,
    ) {
        let mut attention = Ocm::<i8, Tokens<8192, 32>>::new();
        {
            let mut q_proj = Ocm::<i8, Tokens<8192, 32>>::new();
            let mut k_proj = Ocm::<i8, Tokens<128, 32>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 32>>::new();
            {
                let layer_norm_2 = Ocm::<i8, Tokens<128, 32>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<32, 8, 16>>::new();
                    {
                        let layernorm_before = Ocm::<i8, Tokens<8192, 32>>::new();
                        #[region("layernorm_before")]
                        layer_norm::<32, 256, 32, 64, 24, 6, 0, 28, 22>(
                            &blocks_0_add_1.view::<Packed<32, 256, 32>>(),
                            layernorm_before_norm,
                            &mut layernorm_before.view::<Packed<32, 256, 32>>(),
                            fx::<6>(5.015625),
                        );
                        #[region("q_proj")]
                        dense_bias::<8192, 32, 32, 32, 32>(
                            &layernorm_before,
                            q_proj_weights,
                            &mut q_proj,
                            (Scale::new(12597131, 32), Scale::new(16706933, 24)),
                        );
                        #[region("sequence_reduction")]
                        conv_patches_near::<32, 32, 64, 128, 8, 16, 8, 2048, 1024>(
                            &layernorm_before.view::<Packed<32, 64, 128>>(),
                            sequence_reduction_weights,
                            &mut sequence_reduction,
                            Scale::new(13294741, 37),
                            0,
                        );
                    }
                    #[region("layer_norm_2")]
                    layer_norm::<32, 4, 32, 64, 24, 6, 0, 28, 22>(
                        &sequence_reduction.view::<Packed<32, 4, 32>>(),
                        layer_norm_2_norm,
                        &mut layer_norm_2.view::<Packed<32, 4, 32>>(),
                        fx::<6>(0.03125),
                    );
                }
                #[region("k_proj")]
                dense_bias::<128, 32, 32, 4, 32>(
                    &layer_norm_2,
                    k_proj_weights,
                    &mut k_proj,
                    (Scale::new(16692483, 33), Scale::new(16776694, 24)),
                );
                #[region("v_proj")]
                dense_bias::<128, 32, 32, 4, 32>(
                    &layer_norm_2,
                    v_proj_weights,
                    &mut v_proj,
                    (Scale::new(8855263, 32), Scale::new(16342808, 24)),
                );
            }
            #[region("attention")]
            {
                // Values channel by channel, so that 16 keys are 16 bytes.
                let mut values = Ocm::<i8, Planar<32, 4, 32>>::new();
                #[region("to_planar")]
                to_planar::<32, 4, 32>(&v_proj.view::<Packed<32, 4, 32>>(), &mut values);
                #[region("attention_head")]
                attention_head::<8192, 128, 128, 32, 32, 32, 23, 21>(
                    &q_proj,
                    &k_proj,
                    &values.view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    &mut attention,
                    (Scale::new(8959706, 33), Scale::new(14229057, 32)),
                    fx::<21>(382.4261507987976),
                    (0, 0, 0),
                    (0, 0, 0),
                );
            }
        }
        #[region("blocks_1_add")]
        dense_bias_residual::<8192, 32, 32, 32, 32>(
            &attention,
            blocks_1_add_weights,
            blocks_0_add_1,
            blocks_1_add,
            (Scale::new(11190536, 32), Scale::new(8709932, 23)),
            (Scale::new(12325105, 27), Scale::new(8557856, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC02: Kernel = pc02;
}
