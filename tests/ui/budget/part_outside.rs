use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("shows parts of tensors")]
    pub fn head<const FIRST: usize, const BYTE: usize>(
        x: &Ocm<i8, Tokens<128, 160>>,
        constants: &Ocm<i8, Vector<1000>>,
        y: &mut Ocm<i8, Tokens<128, 32>>,
    ) {
        let table = constants.part::<i32, Vector<64>>(BYTE);
        let steps = broadcast(&table).next::<i32>();
        for t in x.channels(FIRST).view::<Tokens<128, 32>>().tiles() {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            probe!(steps);
            y.at(t).store(a);
        }
    }

    #[instance(target = QC_U)]
    pub const RIGHT: Kernel = head::<128, 736>;
    #[instance(target = QC_U)]
    pub const LEAVES: Kernel = head::<132, 736>;
    #[instance(target = QC_U)]
    pub const WITHIN_A_WORD: Kernel = head::<2, 752>;
    #[instance(target = QC_U)]
    pub const UNALIGNED: Kernel = head::<0, 20>;
}

fn main() {}
