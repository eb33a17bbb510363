//! Element by element: sums, differences, products, quotients, the lesser, the greater, bounds.
//!
//! ONNX rounds a sum or product with the zero point inside, a difference or quotient without; ties go to even. Terms have `F`
//! fraction bits and are rounded to the nearest, so that ratios such as 1/3 and 2/3 add up to ties where exact numbers do.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of the terms of sums, and one more, from which they are rounded.
    const F: usize = 20;
    const F1: usize = 21;
    /// Fraction bits of reciprocals.
    const R: usize = 29;

    /// `(v - zero_point) * scale`, rounded to the nearest of 20 fraction bits; below 1024.
    #[inline]
    fn term(v: Q<i8>, scale: Scale, zero_point: i32) -> Q<Fx<F>> {
        dequantize::<F1>(v, scale, zero_point).rescale::<F>(HalfUp, Wrap)
    }

    /// Sum.
    ///
    /// # Shapes
    /// `a, b, y: [C, H, W]`.
    /// # Units
    /// `scales` are `s_a / s_y` and `s_b / s_y`, both below 4; zero points of `a`, `b`, `y`.
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
                let sum = term(va[c], scales.0, zero_points.0) + term(vb[c], scales.1, zero_points.1);
                let inside = sum + fx_raw::<F>(splat(zero_points.2 << F));
                out[c] = inside.round(HalfEven).narrow::<i8>(Saturate);
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
                let difference = term(va[c], scales.0, zero_points.0) - term(vb[c], scales.1, zero_points.1);
                out[c] = (difference.round(HalfEven) + zero_points.2).narrow::<i8>(Saturate);
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
                let scaled = dequantize::<F1>(product, scale, 0).rescale::<F>(HalfUp, Wrap);
                let inside = scaled + fx_raw::<F>(splat(zero_points.2 << F));
                out[c] = inside.round(HalfEven).narrow::<i8>(Saturate);
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
                let exact = fx_mul::<F1>(fx_raw::<0>(steps), fx_raw::<R>(lookup(reciprocals, vb[c])));
                let quotient = exact.rescale::<F>(HalfUp, Wrap).round(HalfEven) + zero_points.2;
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
