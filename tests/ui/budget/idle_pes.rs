use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows a mask")]
    pub fn seen<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Vector<256>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            y.scatter(a[0].widen::<i32>() + 128, a[0]).wait();
        }
    }

    #[instance(target = QC_U)]
    pub const WHOLE: Kernel = seen::<64>;
    #[instance(target = QC_U)]
    pub const IDLE: Kernel = seen::<40>;
}

fn main() {}
