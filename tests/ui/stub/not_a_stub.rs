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
    /// It has the signature, but nothing says that it fills the slot.
    #[inline]
    fn keep<const D: usize>(row: &mut Lrm<i8, D>, _skip: &Lrm<i8, D>) {
        row[0] = max(row[0], 0);
    }
}

fn fill<S: ccl_runtime::kernel::Fills<generated::after_projection>>() {}

fn main() {
    fill::<keep>();
}
