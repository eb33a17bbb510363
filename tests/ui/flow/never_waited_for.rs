use ccl_runtime::ccl;

ccl! {
    fn dropped(x: &Ocm<i8, Planar<1, 32, 32>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>();
        }
    }
}

fn main() {}
