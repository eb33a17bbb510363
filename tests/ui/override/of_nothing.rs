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
    #[kernel]
    #[no_reference("by hand")]
    #[overrides(crate::generated::block4)]
    pub fn by_hand<const C: usize>(_x: &Ocm<i8, Packed<C, 8, 8>>) {}
}

fn main() {}
