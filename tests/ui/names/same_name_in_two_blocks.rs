use ccl_runtime::ccl;

mod golden {
    use ndarray::Array3;

    pub fn copy(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.assign(x);
    }
    pub fn widen(x: &Array3<i8>, y: &mut Array3<i32>) {
        y.zip_mut_with(x, |y, x| *y = i32::from(*x));
    }
}

ccl! {
    #[kernel(reference = golden::copy)]
    pub fn copy<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Planar<1, H, H>>) {
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i8, 1>>().wait());
        }
    }

    #[instance(target = QC_U)]
    pub const COPY: Kernel = copy::<32>;
}

ccl! {
    #[kernel(reference = golden::widen)]
    pub fn copy<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i32, Planar<1, H, W>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            y.at(t).store(a[0].widen::<i32>());
        }
    }

    #[instance(target = QC_U)]
    pub const WIDER: Kernel = copy::<32, 64>;
}

fn main() {}
