use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows a budget")]
    pub fn both<const C: usize>(x: &Ocm<i8, Packed<C, 8, 8>>, y: &mut Ocm<i8, Packed<C, 8, 8>>) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut sum = Lrm::<i32, C>::new();
            for c in 0..C {
                sum[c] = a[c].widen::<i32>();
            }
            y.at(t).store(a);
        }
    }

    #[instance(target = QC_U)]
    pub const FITS: Kernel = both::<384>;
    #[instance(target = QC_U)]
    pub const TOO_LARGE: Kernel = both::<400>;
}

fn main() {}
