//! Kernel 4 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::mix_ffn::mix_ffn;

    /// 10 nodes, from `/m/segformer/stages.0/blocks.1/Add_output_0_DequantizeLinear` to `/m/segformer/stages.0/blocks.1/Add_1_quant`.
    ///
    /// 0.077 GMAC, 10272 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc03(
        blocks_1_add: &Ocm<i8, Tokens<8192, 32>>,
        layernorm_after_norm: &Ocm<i32, Vector<64>>,
        blocks_1_add_1_expand: &Ocm<i8, Stream<128, 32>>,
        blocks_1_add_1_depthwise: &Ocm<i8, Stream<128, 36>>,
        blocks_1_add_1_table: &Ocm<i8, Vector<256>>,
        blocks_1_add_1_project: &Ocm<i8, Stream<32, 128>>,
        blocks_1_add_1: &mut Ocm<i8, Tokens<8192, 32>>,
    ) {
        let layernorm_after = Ocm::<i8, Tokens<8192, 32>>::new();
        #[region("layernorm_after")]
        layer_norm::<32, 256, 32, 64, 24, 6, 0, 28, 22>(
            &blocks_1_add.view::<Packed<32, 256, 32>>(),
            layernorm_after_norm,
            &mut layernorm_after.view::<Packed<32, 256, 32>>(),
            fx::<6>(5.21875),
        );
        #[region("blocks_1_add_1")]
        mix_ffn::<32, 128, 64, 128, 2, 64, 256>(
            &layernorm_after.view::<Packed<32, 64, 128>>(),
            &blocks_1_add.view::<Packed<32, 64, 128>>(),
            blocks_1_add_1_expand,
            blocks_1_add_1_depthwise,
            blocks_1_add_1_table,
            blocks_1_add_1_project,
            &mut blocks_1_add_1.view::<Packed<32, 64, 128>>(),
            true,
            (Scale::new(9743293, 32), Scale::new(16486357, 24)),
            Scale::new(12161517, 32),
            (Scale::new(15027789, 31), Scale::new(8452275, 23)),
            (Scale::new(12424423, 25), Scale::new(8850084, 23)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC03: Kernel = pc03;
}
