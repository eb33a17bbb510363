use ccl_runtime::ccl;

ccl! {
    #[inline]
    fn half<const C: usize, const HALF: usize>(a: &Lrm<i8, C>) -> Q<i8> {
        assert!(HALF * 2 == C, "HALF is half of C");
        a[HALF]
    }

    #[kernel]
    #[no_reference("shows an assertion")]
    pub fn middle<const C: usize, const M: usize>(x: &Ocm<i8, Planar<C, 8, 8>>, y: &mut Ocm<i8, Planar<1, 8, 8>>) {
        assert!(C < 100);
        let mut found = splat(0i8);
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            found = half::<C, M>(&a);
            y.at(t).store(found);
        }
    }

    #[instance(target = QC_U)]
    pub const RIGHT: Kernel = middle::<8, 4>;
    #[instance(target = QC_U)]
    pub const NO_HALF: Kernel = middle::<8, 3>;
    #[instance(target = QC_U)]
    pub const TOO_MANY: Kernel = middle::<100, 50>;
}

fn main() {}
