use ccl_runtime::ccl;

mod golden {
    use ndarray::Array3;

    pub fn copy(_: &Array3<i8>, _: &mut Array3<i8>) {}
}

ccl! {
    #[kernel(reference = golden::copy)]
    pub fn copy<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Planar<1, H, H>>, scale: Scale) {
        let _ = scale;
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i8, 1>>().wait());
        }
    }
}

fn main() {}
