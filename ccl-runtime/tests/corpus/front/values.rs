//! Widths, 64 bits, fixed point, rounding, tables, random access.
ccl! {
    const TABLE: [i16; 4] = [1, -2, 300, -400];

    #[inline]
    fn mean(a: Q<i8>, b: Q<i8>) -> Q<i8> {
        (a.widen::<i16>() + b.widen::<i16>()).shr_round(1, HalfEven).narrow::<i8>(Saturate)
    }

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn widths(x: &Ocm<i8, Planar<4, 32, 32>>, y: &mut Ocm<i16, Planar<4, 32, 32>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i16, 4>::new();
            // Wraps at 8 bits.
            out[0] = (a[0] + a[1]).widen::<i16>();
            out[1] = mean(a[1], a[2]).widen::<i16>();
            out[2] = lookup(TABLE, a[3]);
            let wide = a[0].widen::<i64>() * 3_000_000_000 + a[1].widen::<i64>();
            out[3] = (wide >> 20).narrow::<i16>(Saturate);
            y.at(t).store(out);
        }
    }

    #[instance(target = QC_U)]
    pub const WIDTHS: Kernel = widths;

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn fixed(x: &Ocm<i8, Planar<1, 32, 32>>, y: &mut Ocm<i8, Planar<1, 32, 32>>, scale: Scale) {
        for t in x.tiles() {
            let a = dequantize::<16>(t.fetch::<Lrm<i8, 1>>().wait()[0], scale, 3);
            let sigmoid = fx_div::<16>(fx::<16>(1.0), exp::<16>(-a) + fx::<16>(1.0));
            y.at(t).store(quantize(sigmoid, scale, -128));
        }
    }

    #[instance(target = QC_U)]
    pub const FIXED: Kernel = fixed;

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn gathers(x: &Ocm<i8, Planar<1, 32, 32>>, y: &mut Ocm<i8, Planar<1, 32, 32>>) {
        for t in x.tiles() {
            let mut v = t.fetch::<Lrm<i8, 1>>().wait()[0];
            if v > 0 {
                let (found, inside) = x.gather(v.widen::<i32>() * 8).wait();
                if inside {
                    v = found;
                }
            }
            y.at(t).store(v);
        }
    }

    #[instance(target = QC_U)]
    pub const GATHERS: Kernel = gathers;
}
