use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows instances")]
    pub fn one<const A: usize>(_x: &Ocm<i8, Planar<1, A, A>>) {}

    #[instance(target = QC_X)]
    pub const ELSEWHERE: Kernel = one::<8>;
}

fn main() {}
