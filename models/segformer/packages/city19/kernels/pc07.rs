//! Kernel 8 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::mix_ffn::mix_ffn;

    /// 10 nodes, from `/m/segformer/stages.1/blocks.1/Add_output_0_DequantizeLinear` to `/m/segformer/stages.1/blocks.1/Add_1_quant`.
    ///
    /// 0.072 GMAC, 36928 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc07(
        blocks_1_add: &Ocm<i8, Tokens<2048, 64>>,
        layernorm_after_norm: &Ocm<i32, Vector<128>>,
        blocks_1_add_1_expand: &Ocm<i8, Stream<256, 64>>,
        blocks_1_add_1_depthwise: &Ocm<i8, Stream<256, 36>>,
        blocks_1_add_1_table: &Ocm<i8, Vector<256>>,
        blocks_1_add_1_project: &Ocm<i8, Stream<64, 256>>,
        blocks_1_add_1: &mut Ocm<i8, Tokens<2048, 64>>,
    ) {
        let layernorm_after = Ocm::<i8, Tokens<2048, 64>>::new();
        #[region("layernorm_after")]
        layer_norm::<64, 64, 32, 128, 24, 4, 0, 27, 21>(
            &blocks_1_add.view::<Packed<64, 64, 32>>(),
            layernorm_after_norm,
            &mut layernorm_after.view::<Packed<64, 64, 32>>(),
            fx::<4>(3.4375),
        );
        #[region("blocks_1_add_1")]
        mix_ffn::<64, 256, 32, 64, 1, 64, 256>(
            &layernorm_after.view::<Packed<64, 32, 64>>(),
            &blocks_1_add.view::<Packed<64, 32, 64>>(),
            blocks_1_add_1_expand,
            blocks_1_add_1_depthwise,
            blocks_1_add_1_table,
            blocks_1_add_1_project,
            &mut blocks_1_add_1.view::<Packed<64, 32, 64>>(),
            true,
            (Scale::new(12422175, 33), Scale::new(16712089, 24)),
            Scale::new(10734014, 32),
            (Scale::new(12215325, 31), Scale::new(16553311, 24)),
            (Scale::new(15807288, 25), Scale::new(16364182, 24)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC07: Kernel = pc07;
}
