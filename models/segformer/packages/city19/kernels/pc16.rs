//! Kernel 17 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::argmax::enlarge_argmax;
    use ccl_runtime::nn::decode_head::decode_head;
    use ccl_runtime::nn::layer_norm::layer_norm;

    /// 20 nodes, from `/m/decode_head/linear_projections.0/proj/MatMul_quant` to `/ArgMax`.
    ///
    /// 2.317 GMAC, 402252 bytes of constants.
    #[kernel]
    #[no_reference("a part of a network: the tests of its package have golden inputs and outputs")]
    pub fn pc16(
        blocks_1_add_1: &Ocm<i8, Tokens<128, 256>>,
        stages_2_transpose: &Ocm<i8, Packed<160, 16, 32>>,
        stages_1_transpose: &Ocm<i8, Packed<64, 32, 64>>,
        stages_0_transpose: &Ocm<i8, Packed<32, 64, 128>>,
        linear_projections_3_transpose_norm: &Ocm<i32, Vector<512>>,
        classifier_project1: &Ocm<i8, Stream<256, 32>>,
        classifier_project2: &Ocm<i8, Stream<256, 64>>,
        classifier_project4: &Ocm<i8, Stream<256, 160>>,
        classifier_project8: &Ocm<i8, Stream<256, 256>>,
        classifier_tables: &Ocm<i8, Vector<1024>>,
        classifier_fuse: &Ocm<i8, Stream<256, 1024>>,
        classifier_gate: &Ocm<i8, Vector<256>>,
        classifier_classify: &Ocm<i8, Stream<19, 256>>,
        argmax_2: &mut Ocm<u8, Planar<1, 256, 512>>,
    ) {
        let mut classifier = Ocm::<i8, Packed<19, 64, 128>>::new();
        {
            let linear_projections_3_transpose = Ocm::<i8, Tokens<128, 256>>::new();
            #[region("linear_projections_3_transpose")]
            layer_norm::<256, 4, 32, 512, 24, 0, 0, 26, 20>(
                &blocks_1_add_1.view::<Packed<256, 4, 32>>(),
                linear_projections_3_transpose_norm,
                &mut linear_projections_3_transpose.view::<Packed<256, 4, 32>>(),
                fx::<0>(9.0),
            );
            #[region("classifier")]
            decode_head::<32, 64, 160, 256, 256, 256, 19, 64, 128, 32, 64, 16, 32, 8, 16, 2, 32, 256, 128, 1, 128, 512, 1024, 80>(
                stages_0_transpose,
                stages_1_transpose,
                stages_2_transpose,
                &linear_projections_3_transpose.view::<Packed<256, 8, 16>>(),
                classifier_project1,
                classifier_project2,
                classifier_project4,
                classifier_project8,
                classifier_tables,
                classifier_fuse,
                classifier_gate,
                classifier_classify,
                &mut classifier,
                (Scale::new(15842607, 32), Scale::new(16776556, 24)),
                (Scale::new(11454290, 32), Scale::new(16761731, 24)),
                (Scale::new(9291596, 33), Scale::new(8397981, 23)),
                (Scale::new(11497721, 34), Scale::new(8396694, 23)),
                Scale::new(16043959, 34),
                Scale::new(10610188, 33),
            );
        }
        #[region("argmax_2")]
        enlarge_argmax::<19, 64, 128, 256, 512, 4, 16, 1, 128>(&classifier, argmax_2);
    }

    #[instance(target = QC_U)]
    pub const PC16: Kernel = pc16;
}
