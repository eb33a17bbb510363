//! Bilinear enlargement by any factor: four random reads a pixel.
use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of positions.
    const F: usize = 12;

    /// Where an output row or column lies in the input: `(i + 0.5) * step - 0.5`, not below 0.
    #[inline]
    fn position(i: Q<i32>, step: Fx<F>) -> Q<Fx<F>> {
        let half = fx::<F>(0.5);
        max(fx_mul::<F>(fx_raw::<F>((i << F) + (1 << (F - 1))), step) - half, fx::<F>(0.0))
    }

    #[kernel(reference = golden::resize_linear)]
    pub fn resize<const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Planar<1, H, W>>,
        y: &mut Ocm<i8, Planar<1, HO, WO>>,
        step_y: Fx<F>,
        step_x: Fx<F>,
    ) {
        for t in y.tiles() {
            let py = position(q_row() + t.y(), step_y).raw();
            let px = position(q_col() + t.x(), step_x).raw();
            let (iy, ix) = (py >> F, px >> F);
            let (wy, wx) = (py & ((1 << F) - 1), px & ((1 << F) - 1));
            let iy1 = min(iy + 1, H as i32 - 1);
            let ix1 = min(ix + 1, W as i32 - 1);
            let width = W as i32;
            let mut rows = [splat(0), splat(0)];
            for r in 0..2 {
                let row = if r == 0 { iy } else { iy1 };
                let left = x.gather(row * width + ix);
                let right = x.gather(row * width + ix1);
                let (l, _l_inside) = left.wait();
                let (r_value, _r_inside) = right.wait();
                rows[r] = (l.widen::<i32>() << F) + (r_value.widen::<i32>() - l.widen::<i32>()) * wx;
            }
            let mixed = rows[0] + ((rows[1] - rows[0]) >> F) * wy;
            y.at(t).store(mixed.shr_round(F, HalfEven).narrow::<i8>(Saturate));
        }
    }

    #[instance(target = QC_U)]
    pub const RESIZE_X4: Kernel = resize::<64, 128, 256, 512>;
}
