//! A walk, a broadcast, the MAC unit, a store; chunks and a halo.
ccl! {
    #[kernel]
    #[no_reference("text of the IR")]
    pub fn pointwise<const CI: usize, const CO: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Packed<CO, H, W>>,
        scale: Scale,
    ) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const POINTWISE: Kernel = pointwise::<8, 8, 64, 32>;

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn blur<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
    ) {
        for t in x.tiles().halo(1).chunks::<1>() {
            let a = t.fetch::<Lrm<i8, 3>>().wait();
            let column = a.row(-1)[0].widen::<i32>() + a.row(0)[0].widen::<i32>() * 2 + a.row(1)[0].widen::<i32>();
            let sum = shift(column, East, 1) + column * 2 + shift(column, West, 1);
            y.at(t).store(sum.shr_round(4, HalfEven).narrow::<i8>(Saturate));
        }
    }

    #[instance(target = QC_U)]
    pub const BLUR: Kernel = blur::<3, 32, 32>;

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn two_broadcasts(
        a: &Ocm<i8, Vector<6>>,
        b: &Ocm<i32, Vector<4>>,
        y: &mut Ocm<i32, Planar<1, 8, 8>>,
    ) {
        let (mut first, mut second) = (broadcast(a), broadcast(b));
        for t in y.tiles() {
            let mut sum = splat(0);
            for _i in 0..3 {
                sum += first.next::<i8>().widen::<i32>();
            }
            sum += second.next::<i32>();
            // The first goes on where it was.
            sum += first.next::<i8>().widen::<i32>();
            y.at(t).store(sum);
        }
    }

    #[instance(target = QC_U)]
    pub const TWO: Kernel = two_broadcasts;
}
