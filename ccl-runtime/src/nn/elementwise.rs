//! Element by element: sums, differences, products, quotients, the lesser, the greater, bounds.
//!
//! ONNX rounds a sum or product with the zero point inside, a difference or quotient without; ties go to even. What is a tie is decided
//! by float32, whose numbers near 100 are 2^-17 apart. Here terms have 21 fraction bits, and their sum is rounded to 17 before it is
//! rounded to a step. So sums agree for scales that make ties exactly, powers of two and their like, and for scales that make
//! none; where a short decimal or a third makes a tie that float32 sees at one magnitude and not at another, halves may differ.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of terms, and those of float32 near 100.
    const F: usize = 21;
    const G: usize = 17;
    /// Fraction bits of reciprocals.
    const R: usize = 29;

    /// To whole steps as float32 would round: first to what it holds, then half to even.
    #[inline]
    fn whole(x: Q<Fx<F>>) -> Q<i32> {
        x.rescale::<G>(HalfUp, Wrap).round(HalfEven)
    }

    /// Sum of two elements, as [`add`] has it.
    #[inline]
    pub fn added(a: Q<i8>, b: Q<i8>, scales: (Scale, Scale), zero_points: (i32, i32, i32)) -> Q<i8> {
        let term_a = dequantize::<F>(a, scales.0, zero_points.0);
        let term_b = dequantize::<F>(b, scales.1, zero_points.1);
        let inside = term_a + term_b + fx_raw::<F>(splat(zero_points.2 << F));
        whole(inside).narrow::<i8>(Saturate)
    }

    /// Sum.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    /// # Units
    /// `scales` are `s_a / s_y` and `s_b / s_y`, together below 3.5; zero points of `a`, `b`, `y`.
    /// # Source
    /// `NUMERICS.md`, QLinearAdd.
    #[kernel(reference = crate::nn::reference::add)]
    pub fn add<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scales: (Scale, Scale),
        zero_points: (i32, i32, i32),
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = added(va[c], vb[c], scales, zero_points);
            }
            y.at(t).store(out);
        }
    }

    /// Difference.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    /// # Units
    /// As [`add`].
    /// # Source
    /// Sub between DequantizeLinear and QuantizeLinear.
    #[kernel(reference = crate::nn::reference::sub)]
    pub fn sub<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scales: (Scale, Scale),
        zero_points: (i32, i32, i32),
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                let term_a = dequantize::<F>(va[c], scales.0, zero_points.0);
                let term_b = dequantize::<F>(vb[c], scales.1, zero_points.1);
                out[c] = (whole(term_a - term_b) + zero_points.2).narrow::<i8>(Saturate);
            }
            y.at(t).store(out);
        }
    }

    /// Product.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    /// # Units
    /// `scale` is `s_a * s_b / s_y`, below 1/64; zero points of `a`, `b`, `y`.
    /// # Source
    /// `NUMERICS.md`, QLinearMul.
    #[kernel(reference = crate::nn::reference::mul)]
    pub fn mul<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale: Scale,
        zero_points: (i32, i32, i32),
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                let product = (va[c].widen::<i32>() - zero_points.0) * (vb[c].widen::<i32>() - zero_points.1);
                let inside = dequantize::<F>(product, scale, 0) + fx_raw::<F>(splat(zero_points.2 << F));
                out[c] = whole(inside).narrow::<i8>(Saturate);
            }
            y.at(t).store(out);
        }
    }

    /// Quotient, by a table of reciprocals; what is divided by 0 saturates.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`; `reciprocals: [256]`, entry `b mod 256` that of `b`; the one of the zero point is not used.
    /// # Units
    /// `reciprocals` are `s_a / (s_b * s_y) / (b - z_b)` with 29 fraction bits, below 4; zero points of `a`, `b`, `y`.
    /// # Source
    /// Div between DequantizeLinear and QuantizeLinear.
    #[kernel(reference = crate::nn::reference::div)]
    pub fn div<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        reciprocals: &Ocm<i32, Vector<256>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        zero_points: (i32, i32, i32),
    ) {
        let reciprocals = broadcast(reciprocals).fill::<Lrm<i32, 256>>();
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                let steps = va[c].widen::<i32>() - zero_points.0;
                let exact = fx_mul::<F>(fx_raw::<0>(steps), fx_raw::<R>(lookup(reciprocals, vb[c])));
                let quotient = whole(exact) + zero_points.2;
                let without_end = select(steps > 0, splat(127), splat(-128));
                let divisor = vb[c].widen::<i32>();
                out[c] = select(divisor == zero_points.1, without_end, quotient).narrow::<i8>(Saturate);
            }
            y.at(t).store(out);
        }
    }

    /// The lesser of two elements of the same scale and zero point.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::minimum)]
    pub fn minimum<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = min(va[c], vb[c]);
            }
            y.at(t).store(out);
        }
    }

    /// The greater of two elements of the same scale and zero point.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::maximum)]
    pub fn maximum<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = max(va[c], vb[c]);
            }
            y.at(t).store(out);
        }
    }

    /// Elements moved into bounds, in steps.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::clip)]
    pub fn clip<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        low: i8,
        high: i8,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = clamp(a[c], low, high);
            }
            y.at(t).store(out);
        }
    }
}
