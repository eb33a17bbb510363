use ccl_runtime::ccl;

mod golden {
    use ndarray::Array3;

    pub fn copy(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.assign(x);
    }
}

ccl! {
    #[kernel(reference = golden::copy)]
    pub fn copy<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &Ocm<i8, Planar<1, H, H>>) {
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i8, 1>>().wait());
        }
    }
}

fn main() {}
