use ccl_runtime::ccl;

ccl! {
    fn previous(x: &Ocm<i8, Planar<1, 32, 32>>) {
        let mut last = Lrm::<i8, 1>::filled(0);
        for t in x.tiles().pipelined(2) {
            probe!(last[0]);
            last = t.fetch::<Lrm<i8, 1>>().wait();
        }
    }
}

fn main() {}
