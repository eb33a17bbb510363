use ccl_runtime::ccl;

mod generated {
    ccl_runtime::ccl! {
        #[kernel]
        #[no_reference("generated")]
        pub fn block3<const C: usize, const H: usize>(
            _x: &Ocm<i8, Packed<C, H, H>>,
            _y: &mut Ocm<i8, Packed<C, H, H>>,
            _scale: Scale,
        ) {
        }

        /// A slot.
        pub fn after_projection<const D: usize>(_projected: &mut Lrm<i8, D>, _skip: &Lrm<i8, D>) {}
    }
}

ccl! {
    use crate::generated::block3;

    #[instance(target = QC_U)]
    pub const TOO_FEW: Kernel = block3::<8>;
    #[instance(target = QC_U)]
    pub const RIGHT: Kernel = block3::<8, 8>;
}

fn main() {}
