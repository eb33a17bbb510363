use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows a bound")]
    pub fn wide<const K: usize>(x: &Ocm<i16, Planar<K, 8, 8>>, w: &Ocm<i16, Stream<4, K>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i16, K>>().wait();
            let mut weights = broadcast(w);
            let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
            probe!(acc.get(0));
        }
    }

    #[instance(target = QC_U)]
    pub const WIDE: Kernel = wide::<64>;
}

fn main() {}
