//! Loops that stay and loops that go, branches of the control unit and of each PE.
ccl! {
    #[kernel]
    #[no_reference("text of the IR")]
    pub fn loops<const C: usize>(x: &Ocm<i8, Planar<C, 32, 32>>, y: &mut Ocm<i32, Planar<2, 32, 32>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut out = Lrm::<i32, 2>::filled(0);
            // Its variable is an index: the loop stays.
            for c in 0..C {
                out[0] += a[c].widen::<i32>();
            }
            // Here it has to be a number.
            let weights = [3, 5, 7];
            for k in 0..3 {
                out[1] += a[k].widen::<i32>() * weights[k];
            }
            y.at(t).store(out);
        }
    }

    #[instance(target = QC_U)]
    pub const LOOPS: Kernel = loops::<16>;

    #[kernel]
    #[no_reference("text of the IR")]
    pub fn branches(x: &Ocm<i32, Planar<1, 32, 32>>, y: &mut Ocm<i32, Planar<1, 32, 32>>) {
        for t in x.tiles() {
            let mut v = t.fetch::<Lrm<i32, 1>>().wait()[0];
            let mut rounds = 0;
            #[bound(8)]
            while rounds < 8 && any(v > 100) {
                if v > 100 {
                    v = v >> 1;
                } else {
                    v += 1;
                }
                rounds += 1;
            }
            if rounds == 8 {
                v = splat(-1);
            }
            let kind = if v < 0 { 1 } else if v == 0 { 2 } else { 3 };
            y.at(t).store(v + kind + rounds);
        }
    }

    #[instance(target = QC_U)]
    pub const BRANCHES: Kernel = branches;
}
