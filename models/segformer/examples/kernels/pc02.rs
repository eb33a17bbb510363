//! Kernel 3 of 17, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::attention::attended;
    use ccl_runtime::nn::conv::conv_patches_near;
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::matmul::dense_bias;
    use ccl_runtime::nn::moves::to_planar;
    use ccl_runtime::nn::requantise::{biased, sums};

    /// Queries, the only head, its projection and the residual sum of each token: all of it stays with the PE.
    #[edit("query, head, projection and sum in one walk: two tensors less go through on-chip memory")]
    fn block<const N: usize, const K: usize, const KP: usize, const D: usize, const P: usize, const R: usize>(
        x: &Ocm<i8, Tokens<N, D>>,
        queries: &Ocm<i8, Stream<D, D>>,
        keys: &Ocm<i8, Tokens<K, D>>,
        values: &Ocm<i8, Planar<D, 1, KP>>,
        table: &Ocm<i32, Vector<256>>,
        project: &Ocm<i8, Stream<D, D>>,
        skip: &Ocm<i8, Tokens<N, D>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
        of_query: (Scale, Scale),
        of_head: (Scale, Scale),
        steps: Fx<R>,
        of_project: (Scale, Scale),
        residual: (Scale, Scale),
    ) {
        let table = broadcast(table).fill::<Lrm<i32, 256>>();
        let taken = Lrm::<i32, D>::filled(0);
        for t in x.tiles().pipelined(2) {
            let flow = t.fetch::<Lrm<i8, D>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, D>>();
            let a = flow.wait();
            let mut query = Lrm::<i8, D>::new();
            let mut weights = broadcast(queries);
            #[region("q_proj")]
            for o in (0..D).step_by(4) {
                let biases = weights.bias::<4>();
                query[o..o + 4] = biased::<4>(mac(a, weights.take::<4>()), biases, of_query);
            }
            let mut row = Lrm::<i8, D>::new();
            attended::<K, KP, D, P, R>(&query, keys, values, &table, &taken, of_head, steps, (0, 0, 0), (0, 0, 0), &mut row);
            let b = flow_skip.wait();
            let mut weights = broadcast(project);
            #[region("o_proj")]
            for o in (0..D).step_by(4) {
                let biases = weights.bias::<4>();
                let own = biased::<4>(mac(row, weights.take::<4>()), biases, of_project);
                y.at(t).channels(o).store(sums::<4>(&own, b.slice::<4>(o), residual));
            }
        }
    }

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
        let layernorm_before = Ocm::<i8, Tokens<8192, 32>>::new();
        {
            let mut k_proj = Ocm::<i8, Tokens<128, 32>>::new();
            let mut v_proj = Ocm::<i8, Tokens<128, 32>>::new();
            {
                let layer_norm_2 = Ocm::<i8, Tokens<128, 32>>::new();
                {
                    let mut sequence_reduction = Ocm::<i8, Packed<32, 8, 16>>::new();
                    {
                        #[region("layernorm_before")]
                        layer_norm::<32, 256, 32, 64, 24, 6, 0, 28, 22>(
                            &blocks_0_add_1.view::<Packed<32, 256, 32>>(),
                            layernorm_before_norm,
                            &mut layernorm_before.view::<Packed<32, 256, 32>>(),
                            fx::<6>(5.015625),
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
                #[region("block")]
                block::<8192, 128, 128, 32, 23, 21>(
                    &layernorm_before,
                    q_proj_weights,
                    &k_proj,
                    &values.view::<Planar<32, 1, 128>>(),
                    attention_exponentials,
                    blocks_1_add_weights,
                    blocks_0_add_1,
                    blocks_1_add,
                    (Scale::new(12597131, 32), Scale::new(16706933, 24)),
                    (Scale::new(8959706, 33), Scale::new(14229057, 32)),
                    fx::<21>(382.4261507987976),
                    (Scale::new(11190536, 32), Scale::new(8709932, 23)),
                    (Scale::new(12325105, 27), Scale::new(8557856, 23)),
                );
            }
        }
    }

    #[instance(target = QC_U)]
    pub const PC02: Kernel = pc02;
}
