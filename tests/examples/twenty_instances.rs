//! Twenty instances of four kernels: how long their check takes a user, dependencies built.
//!
//! ```text
//! cargo check -p ccl-tests --example twenty_instances
//! touch tests/examples/twenty_instances.rs
//! time cargo check -p ccl-tests --example twenty_instances
//! ```
//!
//! 0.3 s on a laptop of two cores, incremental or not: what is generic is checked once, and an instance is one constant.

use ccl_runtime::ccl;
use ccl_runtime::kernel::Kernel;

ccl! {
    /// Fraction bits of probabilities.
    const P: usize = 12;

    /// Softmax of `K` scores in every PE, quantised to 1/127.
    /// # Units
    /// Scores count steps of `scale`; probabilities have 12 fraction bits before they are quantised.
    #[inline]
    fn softmax<const K: usize>(scores: &Lrm<i32, K>, scale: Scale, out: &mut Lrm<i8, K>) {
        let mut top = scores[0];
        for k in 1..K {
            top = max(top, scores[k]);
        }
        let mut total = splat(fx::<P>(0.0));
        let mut e = Lrm::<Fx<P>, K>::new();
        for k in 0..K {
            // At most 0, so the exponential is at most 1 and 12 fraction bits hold it.
            let x = dequantize::<24>(scores[k] - top, scale, 0);
            e[k] = exp::<P>(x);
            total += e[k];
        }
        // One division a pixel, one product a key.
        let inverse = fx_div::<24>(fx::<P>(1.0), total);
        for k in 0..K {
            let p = fx_mul::<P>(e[k], inverse);
            out[k] = quantize(p, Scale::new(127, 0), 0);
        }
    }

    #[kernel]
    #[no_reference("only checked")]
    fn softmax_rows<const N: usize, const K: usize>(
        x: &Ocm<i32, Tokens<N, K>>,
        y: &mut Ocm<i8, Tokens<N, K>>,
        scale: Scale,
    ) {
        for t in x.tiles().pipelined(2) {
            let scores = t.fetch::<Lrm<i32, K>>().wait();
            let mut p = Lrm::<i8, K>::new();
            #[tap("probabilities")]
            softmax(&scores, scale, &mut p);
            y.at(t).store(p);
        }
    }

    #[instance(target = QC_U)]
    const SOFTMAX_1: Kernel = softmax_rows::<512, 32>;
    #[instance(target = QC_U)]
    const SOFTMAX_2: Kernel = softmax_rows::<1024, 64>;
    #[instance(target = QC_U)]
    const SOFTMAX_3: Kernel = softmax_rows::<1536, 96>;
    #[instance(target = QC_U)]
    const SOFTMAX_4: Kernel = softmax_rows::<2048, 128>;
    #[instance(target = QC_U)]
    const SOFTMAX_5: Kernel = softmax_rows::<2560, 160>;
}

ccl! {
    /// Both inputs are brought to the output's scale with 16 fraction bits, summed, rounded once.
    #[inline]
    fn add_one(a: Q<i8>, b: Q<i8>, scale_a: Scale, scale_b: Scale) -> Q<i8> {
        let sum = dequantize::<16>(a, scale_a, 0) + dequantize::<16>(b, scale_b, 0);
        sum.round(HalfEven).narrow::<i8>(Saturate)
    }

    #[kernel]
    #[no_reference("only checked")]
    fn add<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale_a: Scale,
        scale_b: Scale,
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut sum = Lrm::<i8, 4>::new();
            for c in 0..4 {
                sum[c] = add_one(va[c], vb[c], scale_a, scale_b);
            }
            y.at(t).store(sum);
        }
    }

    #[instance(target = QC_U)]
    const ADD_1: Kernel = add::<16, 64, 128>;
    #[instance(target = QC_U)]
    const ADD_2: Kernel = add::<32, 64, 128>;
    #[instance(target = QC_U)]
    const ADD_3: Kernel = add::<48, 64, 128>;
    #[instance(target = QC_U)]
    const ADD_4: Kernel = add::<64, 64, 128>;
    #[instance(target = QC_U)]
    const ADD_5: Kernel = add::<80, 64, 128>;
}

ccl! {
    /// Layer norm of `C` channels in every PE.
    /// # Units
    /// `per_channel` is `1 / C`; `gamma_beta` has them in turn. The mean and the variance have 16 fraction bits, 1/sigma 24; gamma and beta 20.
    #[kernel]
    #[no_reference("only checked")]
    fn layer_norm<const C: usize, const H: usize, const W: usize, const PARAMETERS: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        gamma_beta: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        per_channel: Fx<24>,
        out: Scale,
    ) {
        assert!(PARAMETERS == 2 * C, "a gamma and a beta for each channel");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut sum = splat(0i32);
            let mut squares = splat(0i32);
            for c in 0..C {
                let v = a[c].widen::<i32>();
                sum += v;
                squares += v * v;
            }
            let mean = fx_mul::<16>(fx_raw::<0>(sum), per_channel);
            let variance = fx_mul::<16>(fx_raw::<0>(squares), per_channel) - fx_mul::<16>(mean, mean);
            let inverse = exp::<24>(fx_mul::<24>(ln::<24>(max(variance, fx::<16>(0.00002))), fx::<8>(-0.5)));
            let mut parameters = broadcast(gamma_beta);
            let mut row = Lrm::<i8, C>::new();
            for c in 0..C {
                let centred = fx_raw::<16>(a[c].widen::<i32>() << 16) - mean;
                let normal = fx_mul::<20>(centred, inverse);
                let scaled = fx_mul::<20>(normal, fx_raw::<20>(parameters.next::<i32>()));
                row[c] = quantize(scaled + fx_raw::<20>(parameters.next::<i32>()), out, 0);
            }
            y.at(t).store(row);
        }
    }


    #[instance(target = QC_U)]
    const NORM_1: Kernel = layer_norm::<32, 64, 128, 64>;
    #[instance(target = QC_U)]
    const NORM_2: Kernel = layer_norm::<64, 64, 128, 128>;
    #[instance(target = QC_U)]
    const NORM_3: Kernel = layer_norm::<96, 64, 128, 192>;
    #[instance(target = QC_U)]
    const NORM_4: Kernel = layer_norm::<128, 64, 128, 256>;
    #[instance(target = QC_U)]
    const NORM_5: Kernel = layer_norm::<160, 64, 128, 320>;
}

ccl! {
    const LOWEST: i8 = -128;

    #[kernel]
    #[no_reference("only checked")]
    fn max_pool3<const C: usize, const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, HO, WO>>,
    ) {
        assert!(HO == div_ceil(H, 2) && WO == div_ceil(W, 2), "stride 2 halves both extents");
        for t in y.tiles().chunks::<1>().pipelined(2) {
            let centre = x.at(t).stride(2);
            let mut best = splat(LOWEST);
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let tap = centre.tap(dy, dx);
                    let v = tap.fetch::<Lrm<i8, 1>>().wait();
                    // The border is zero, which is no neutral element here.
                    best = max(best, select(tap.inside(), v[0], splat(LOWEST)));
                }
            }
            y.at(t).store(best);
        }
    }

    #[instance(target = QC_U)]
    const POOL_1: Kernel = max_pool3::<8, 112, 112, 56, 56>;
    #[instance(target = QC_U)]
    const POOL_2: Kernel = max_pool3::<16, 112, 112, 56, 56>;
    #[instance(target = QC_U)]
    const POOL_3: Kernel = max_pool3::<24, 112, 112, 56, 56>;
    #[instance(target = QC_U)]
    const POOL_4: Kernel = max_pool3::<32, 112, 112, 56, 56>;
    #[instance(target = QC_U)]
    const POOL_5: Kernel = max_pool3::<40, 112, 112, 56, 56>;
}

fn main() {
    let all: [Kernel; 20] = [
        SOFTMAX_1, ADD_1, NORM_1, POOL_1, SOFTMAX_2, ADD_2, NORM_2, POOL_2, SOFTMAX_3, ADD_3, NORM_3, POOL_3,
        SOFTMAX_4, ADD_4, NORM_4, POOL_4, SOFTMAX_5, ADD_5, NORM_5, POOL_5,
    ];
    all.iter().for_each(|kernel| println!("{kernel:?}"));
}
