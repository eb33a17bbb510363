use ccl_runtime::ccl;

mod golden {
    pub fn double(x: &[i8], y: &mut [i8]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = 2 * x);
    }
}

ccl! {
    #[kernel(reference = golden::double)]
    pub fn double<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Planar<1, H, H>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            y.at(t).store(a[0] + a[0]);
        }
    }
}

fn main() {}
