//! Layer norm over channels, 1/sigma from exp(-ln(v)/2): no root, no division by an element.
use ccl_runtime::ccl;

ccl! {
    /// Layer norm of `C` channels in every PE.
    /// # Units
    /// `per_channel` is `1 / C`; `gamma_beta` has them in turn. The mean and the variance have 16 fraction bits, 1/sigma 24; gamma and beta 20.
    #[kernel(reference = golden::layer_norm)]
    pub fn layer_norm<const C: usize, const H: usize, const W: usize, const PARAMETERS: usize>(
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
    pub const NORM_STAGE1: Kernel = layer_norm::<32, 64, 128, 64>;
    #[instance(target = QC_U)]
    pub const NORM_STAGE4: Kernel = layer_norm::<256, 8, 16, 512>;
}
