use ccl_runtime::ccl;

ccl! {
    fn early(x: &Ocm<i8, Planar<1, 32, 32>>) -> Q<i8> {
        let mut sum = splat(0i8);
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>();
            sum += a[0];
        }
        sum
    }
}

fn main() {}
