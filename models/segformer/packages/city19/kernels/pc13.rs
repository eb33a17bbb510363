//! Kernel 14 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::mix_ffn::mix_ffn;

    /// 10 nodes, from `/m/segformer/stages.3/blocks.0/Add_output_0_DequantizeLinear` to `/m/segformer/stages.3/blocks.0/Add_1_quant`.
    ///
    /// 0.068 GMAC, 540928 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc13(
        blocks_0_add: &Ocm<i8, Tokens<128, 256>>,
        layernorm_after_norm: &Ocm<i32, Vector<512>>,
        blocks_0_add_1_expand: &Ocm<i8, Stream<1024, 256>>,
        blocks_0_add_1_depthwise: &Ocm<i8, Stream<1024, 36>>,
        blocks_0_add_1_table: &Ocm<i8, Vector<256>>,
        blocks_0_add_1_project: &Ocm<i8, Stream<256, 1024>>,
        blocks_0_add_1: &mut Ocm<i8, Tokens<128, 256>>,
    ) {
        let layernorm_after = Ocm::<i8, Tokens<128, 256>>::new();
        #[region("layernorm_after")]
        layer_norm::<256, 4, 32, 512, 25, 0, 0, 26, 21>(
            &blocks_0_add.view::<Packed<256, 4, 32>>(),
            layernorm_after_norm,
            &mut layernorm_after.view::<Packed<256, 4, 32>>(),
            fx::<0>(142.0),
        );
        #[region("blocks_0_add_1")]
        mix_ffn::<256, 1024, 8, 16, 1, 256, 1024>(
            &layernorm_after.view::<Packed<256, 8, 16>>(),
            &blocks_0_add.view::<Packed<256, 8, 16>>(),
            blocks_0_add_1_expand,
            blocks_0_add_1_depthwise,
            blocks_0_add_1_table,
            blocks_0_add_1_project,
            &mut blocks_0_add_1.view::<Packed<256, 8, 16>>(),
            true,
            (Scale::new(12213595, 34), Scale::new(16724620, 24)),
            Scale::new(10739824, 32),
            (Scale::new(11552814, 33), Scale::new(16712342, 24)),
            (Scale::new(12785584, 24), Scale::new(13636785, 25)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC13: Kernel = pc13;
}
