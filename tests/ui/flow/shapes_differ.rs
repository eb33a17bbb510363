use ccl_runtime::ccl;

ccl! {
    fn mixed(x: &Ocm<i8, Packed<8, 32, 32>>, y: &mut Ocm<i8, Packed<8, 32, 32>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i16, 8>>().wait();
            let b = t.fetch::<Lrm<i8, 16>>().wait();
            y.at(t).store(b);
            probe!(a[0]);
        }
    }
}

fn main() {}
