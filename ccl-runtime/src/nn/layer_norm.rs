//! Layer norm over channels. 1/sigma is `exp(-ln(v) / 2)`: no root, and no division by an element.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of logarithms, of 1/C, of the mean, and of 1/sigma of a norm whose sigma is about 1.
    const L: usize = 26;
    const R: usize = 30;
    const S: usize = 23;
    const I: usize = 24;

    /// 1/sigma in steps of `x`, and the mean in units of sigma.
    ///
    /// # Units
    /// `epsilon` and `N` as in [`layer_norm`].
    #[inline]
    pub fn statistics<const C: usize, const E: usize, const A: usize, const N: usize>(
        a: &Lrm<i8, C>,
        epsilon: Fx<E>,
    ) -> (Q<Fx<N>>, Q<Fx<N>>) {
        let mut sum = splat(0i32);
        let mut squares = splat(0i32);
        for c in 0..C {
            let v = a[c].widen::<i32>();
            sum += v;
            squares += v * v;
        }
        // exp((ln(C * C) - ln(C * C * variance)) / 2).
        let count = splat(C as i32);
        let of_squares = fx_mul::<E>(fx_raw::<A>(squares), fx_raw::<0>(count));
        let of_sum = fx_mul::<E>(fx_raw::<A>(sum), fx_raw::<0>(sum));
        let variance = max(of_squares - of_sum, fx_raw::<E>(splat(0))) + epsilon;
        let logarithm = ln::<L>(fx_raw::<A>(count * count)) - ln::<L>(variance);
        let inverse = exp::<N>(logarithm >> 1);
        let mean = fx_mul::<S>(fx_raw::<0>(sum), fx_raw::<R>(splat(((1 << R) + C as i32 / 2) / C as i32)));
        (inverse, fx_mul::<N>(mean, inverse))
    }

    /// Output steps of a normalised element.
    ///
    /// # Units
    /// `of_row` is what [`statistics`] gives; `N`, `M`, gamma and beta as in [`layer_norm`].
    #[inline]
    pub fn normal_steps<const G: usize, const N: usize, const M: usize>(
        v: Q<i8>,
        of_row: (Q<Fx<N>>, Q<Fx<N>>),
        gamma: Q<Fx<G>>,
        beta: Q<i32>,
    ) -> Q<i8> {
        let normal = fx_mul::<N>(fx_raw::<0>(v.widen::<i32>()), of_row.0) - of_row.1;
        (fx_mul::<M>(normal, gamma) + fx_raw::<M>(beta)).round(Floor).narrow::<i8>(Saturate)
    }

    /// Layer norm of `C` channels of each pixel.
    ///
    /// With sums `S` and `SS`, `C * SS - S * S` is `C * C` times the variance, exact in 32 bits up to 362 channels; it has
    /// `E` fraction bits. More channels drop its last `A` bits, and `E` is 0.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `parameters: [2 * C]`, a gamma and a beta for each channel in turn.
    /// # Units
    /// Gamma is in steps of `y`, with `G` fraction bits; so is beta, with `M`, and it holds the zero point of `y` and the half that rounds.
    /// Elements in units of sigma and 1/sigma have `N`: as many as `C / sqrt(C - 1)`, the most that 1/sigma can be where elements differ, leaves of
    /// 31; products with 1/sigma are exact then, whatever wraps before the mean is taken off. `M` is what the largest result leaves. `epsilon` is that of
    /// the operator times `C * C / (s_x * s_x)`, with `E` fraction bits, in units of `2^A`; at least one unit of its format.
    /// # Source
    /// `NUMERICS.md`, LayerNormalization; `MACHINE.md` section 6.
    #[kernel(reference = crate::nn::reference::layer_norm::<G, E, A, M>)]
    pub fn layer_norm<
        const C: usize,
        const H: usize,
        const W: usize,
        const PARAMETERS: usize,
        const G: usize,
        const E: usize,
        const A: usize,
        const N: usize,
        const M: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        parameters: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        epsilon: Fx<E>,
    ) {
        assert!(PARAMETERS == 2 * C, "a gamma and a beta for each channel");
        assert!(A == 0 || E == 0, "bits are dropped or added");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let (inverse, offset) = statistics::<C, E, A, N>(&a, epsilon);
            let mut stream = broadcast(parameters);
            for c in (0..C).step_by(4) {
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    if c + i < C {
                        let gamma = fx_raw::<G>(stream.next::<i32>());
                        out[i] = normal_steps::<G, N, M>(a[c + i], (inverse, offset), gamma, stream.next::<i32>());
                    }
                }
                y.at(t).channels(c).store(out);
            }
        }
    }

    /// [`layer_norm`] to fixed point: what the host takes for float.
    ///
    /// # Shapes
    /// As [`layer_norm`].
    /// # Units
    /// `y` and beta have `F` fraction bits, gamma has `G`; `epsilon` as in [`layer_norm`].
    /// # Source
    /// `NUMERICS.md`, LayerNormalization.
    #[kernel(reference = crate::nn::reference::layer_norm_fixed::<G, E, A, F>)]
    pub fn layer_norm_fixed<
        const C: usize,
        const H: usize,
        const W: usize,
        const PARAMETERS: usize,
        const G: usize,
        const E: usize,
        const A: usize,
        const N: usize,
        const F: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        parameters: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i32, Planar<C, H, W>>,
        epsilon: Fx<E>,
    ) {
        assert!(PARAMETERS == 2 * C, "a gamma and a beta for each channel");
        assert!(A == 0 || E == 0, "bits are dropped or added");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let (inverse, offset) = statistics::<C, E, A, N>(&a, epsilon);
            let mut stream = broadcast(parameters);
            for c in 0..C {
                let normal = fx_mul::<N>(fx_raw::<0>(a[c].widen::<i32>()), inverse) - offset;
                let scaled = fx_mul::<F>(normal, fx_raw::<G>(stream.next::<i32>()));
                y.at(t).channels(c).store((scaled + fx_raw::<F>(stream.next::<i32>())).raw());
            }
        }
    }

    /// Layer norm of a layer norm, without a quantisation between them: of the embedded patches, then of the first block.
    ///
    /// The first norm stays in local memory, in units of its root mean square: `F` fraction bits, of which its sum over channels
    /// takes at most 31; the sum of its squares has `V`.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `parameters: [4 * C]`, a gamma and a beta for each channel in turn of the first norm, then of the second.
    /// # Units
    /// As [`layer_norm`], but that gamma and beta of the first norm are in its units, with `B` and `F` fraction bits. `added` is the
    /// epsilon of the second norm times `C`, in square units, at least one unit of its format.
    /// # Source
    /// `NUMERICS.md`, LayerNormalization.
    #[kernel(reference = crate::nn::reference::layer_norm_twice::<G, E, A, B, F, V, M>)]
    pub fn layer_norm_twice<
        const C: usize,
        const H: usize,
        const W: usize,
        const PARAMETERS: usize,
        const G: usize,
        const E: usize,
        const A: usize,
        const B: usize,
        const F: usize,
        const V: usize,
        const N: usize,
        const M: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        parameters: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        epsilon: Fx<E>,
        added: Fx<V>,
    ) {
        assert!(PARAMETERS == 4 * C, "two gammas and two betas for each channel");
        assert!(A == 0 || E == 0, "bits are dropped or added");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let (inverse, offset) = statistics::<C, E, A, N>(&a, epsilon);
            let mut stream = broadcast(parameters);
            let mut first = Lrm::<Fx<F>, C>::new();
            let mut sum = splat(fx::<F>(0.0));
            for c in 0..C {
                let normal = fx_mul::<N>(fx_raw::<0>(a[c].widen::<i32>()), inverse) - offset;
                let scaled = fx_mul::<F>(normal, fx_raw::<B>(stream.next::<i32>()));
                first[c] = scaled + fx_raw::<F>(stream.next::<i32>());
                sum += first[c];
            }
            let mean = fx_mul::<F>(sum, fx_raw::<R>(splat(((1 << R) + C as i32 / 2) / C as i32)));
            // Squares lose half of their last bit each.
            let mut squares = splat(added) + fx_raw::<V>(splat(C as i32 / 2));
            for c in 0..C {
                first[c] -= mean;
                squares += fx_mul::<V>(first[c], first[c]);
            }
            // 1/sigma: exp((ln(C) - ln(C * variance)) / 2).
            let logarithm = ln::<L>(fx_raw::<0>(splat(C as i32))) - ln::<L>(squares);
            let inverse_of_first = exp::<I>(logarithm >> 1);
            for c in (0..C).step_by(4) {
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    if c + i < C {
                        let normal = fx_mul::<N>(first[c + i], inverse_of_first);
                        let scaled = fx_mul::<M>(normal, fx_raw::<G>(stream.next::<i32>()));
                        let steps = scaled + fx_raw::<M>(stream.next::<i32>());
                        out[i] = steps.round(Floor).narrow::<i8>(Saturate);
                    }
                }
                y.at(t).channels(c).store(out);
            }
        }
    }
}
