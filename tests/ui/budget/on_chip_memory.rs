use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("a copy")]
    pub fn bring<const H: usize>(x: &Ext<i8, Planar<4, H, H>>) {
        let mut here = Ocm::<i8, Planar<4, H, H>>::new();
        prefetch(x, &mut here).wait();
    }

    #[instance(target = QC_U)]
    pub const FITS: Kernel = bring::<512>;
    #[instance(target = QC_U)]
    pub const TOO_LARGE: Kernel = bring::<2052>;
}

fn main() {}
