use ccl_runtime::ccl;

ccl! {
    fn product(a: &Lrm<i8, 32>, w: &Ocm<i8, Stream<16, 32>>) -> Acc<16> {
        let mut weights = broadcast(w);
        mac(a, weights.take::<16>())
    }
}

fn main() {}
