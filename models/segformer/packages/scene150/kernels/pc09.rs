//! Kernel 10 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::mix_ffn::mix_ffn;

    /// 10 nodes, from `/m/segformer/stages.2/blocks.0/Add_output_0_DequantizeLinear` to `/m/segformer/stages.2/blocks.0/Add_1_quant`.
    ///
    /// 0.108 GMAC, 215200 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc09(
        blocks_0_add: &Ocm<i8, Tokens<512, 160>>,
        layernorm_after_norm: &Ocm<i32, Vector<320>>,
        blocks_0_add_1_expand: &Ocm<i8, Stream<640, 160>>,
        blocks_0_add_1_depthwise: &Ocm<i8, Stream<640, 36>>,
        blocks_0_add_1_table: &Ocm<i8, Vector<256>>,
        blocks_0_add_1_project: &Ocm<i8, Stream<160, 640>>,
        blocks_0_add_1: &mut Ocm<i8, Tokens<512, 160>>,
    ) {
        let layernorm_after = Ocm::<i8, Tokens<512, 160>>::new();
        #[region("layernorm_after")]
        layer_norm::<160, 16, 32, 320, 25, 2, 0, 27, 21>(
            &blocks_0_add.view::<Packed<160, 16, 32>>(),
            layernorm_after_norm,
            &mut layernorm_after.view::<Packed<160, 16, 32>>(),
            fx::<2>(166.25),
        );
        #[region("blocks_0_add_1")]
        mix_ffn::<160, 640, 16, 32, 1, 160, 640>(
            &layernorm_after.view::<Packed<160, 16, 32>>(),
            &blocks_0_add.view::<Packed<160, 16, 32>>(),
            blocks_0_add_1_expand,
            blocks_0_add_1_depthwise,
            blocks_0_add_1_table,
            blocks_0_add_1_project,
            &mut blocks_0_add_1.view::<Packed<160, 16, 32>>(),
            true,
            (Scale::new(13324296, 34), Scale::new(8392861, 23)),
            Scale::new(9337456, 31),
            (Scale::new(13210959, 32), Scale::new(16552174, 24)),
            (Scale::new(14190287, 24), Scale::new(9816699, 24)),
        );
    }

    #[instance(target = QC_U)]
    pub const PC09: Kernel = pc09;
}
