//! Any function of one int8 value as an exact table of 256 entries; and a table known at compile time.
use ccl_runtime::ccl;

ccl! {
    const GROUP: usize = 4;
    /// Powers of two in int8, the last one saturated.
    const POWERS: [i8; 8] = [1, 2, 4, 8, 16, 32, 64, 127];

    #[kernel(reference = golden::unary)]
    pub fn unary<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        table: &Ocm<i8, Vector<256>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        // The table comes once; every PE holds it and indexes it by its own value.
        let table = broadcast(table).fill::<Lrm<i8, 256>>();
        for t in x.tiles().chunks::<GROUP>().pipelined(2) {
            let mut a = t.fetch::<Lrm<i8, GROUP>>().wait();
            for c in 0..GROUP {
                a[c] = lookup(table, a[c]);
            }
            y.at(t).store(a);
        }
    }

    #[kernel]
    #[no_reference("a table of eight entries, compared in the test of `unary`")]
    pub fn power<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i8, Planar<1, H, W>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            y.at(t).store(lookup(POWERS, a[0] & 7));
        }
    }

    #[instance(target = QC_U)]
    pub const GELU_PC06: Kernel = unary::<128, 64, 128>;
    #[instance(target = QC_U)]
    pub const POWER: Kernel = power::<17, 33>;
}
