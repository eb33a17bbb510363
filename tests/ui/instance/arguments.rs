use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows instances")]
    pub fn two<const A: usize, const B: usize>(_x: &Ocm<i8, Planar<1, A, B>>) {}

    #[instance(target = QC_U)]
    pub const ONE: Kernel = two::<8>;
    #[instance(target = QC_U)]
    pub const UNKNOWN: Kernel = three::<8>;
}

const _: &[ccl_runtime::kernel::Kernel] = &[ONE, UNKNOWN];

fn main() {}
