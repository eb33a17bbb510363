//! What passes the checks and is not lowered, with place and cure.
ccl! {
    #[kernel]
    #[no_reference("an error")]
    pub fn shape(x: &Ocm<i8, Planar<3, 8, 8>>) {
        for t in x.tiles().block::<2, 2>() {
            let a = t.fetch::<Lrm<i8, 6>>().wait();
            probe!(a[0]);
        }
    }

    #[instance(target = QC_U)]
    pub const SHAPE: Kernel = shape;

    #[kernel]
    #[no_reference("an error")]
    pub fn in_turn(a: &Ocm<i32, Vector<8>>, b: &Ocm<i32, Vector<8>>) {
        let (mut first, mut second) = (broadcast(a), broadcast(b));
        for _i in 0..8 {
            let sum = first.next::<i32>() + second.next::<i32>();
            probe!(sum);
        }
    }

    #[instance(target = QC_U)]
    pub const IN_TURN: Kernel = in_turn;

    #[kernel]
    #[no_reference("an error")]
    pub fn under_a_condition(a: &Ocm<i32, Vector<8>>, x: &Ocm<i32, Planar<1, 8, 8>>) {
        let mut words = broadcast(a);
        for t in x.tiles() {
            let v = t.fetch::<Lrm<i32, 1>>().wait()[0];
            if any(v > 0) {
                probe!(words.next::<i32>());
            }
        }
    }

    #[instance(target = QC_U)]
    pub const UNDER_A_CONDITION: Kernel = under_a_condition;

    #[kernel]
    #[no_reference("an error")]
    pub fn too_many(w: &Ocm<i8, Stream<4, 8>>, x: &Ocm<i8, Planar<8, 8, 8>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 8>>().wait();
            let mut weights = broadcast(w);
            let first = weights.bias::<4>() + mac(a, weights.take::<4>());
            let second = weights.bias::<4>() + mac(a, weights.take::<4>());
            probe!(first.get(0) + second.get(0));
        }
    }

    #[instance(target = QC_U)]
    pub const TOO_MANY: Kernel = too_many;

    #[inline]
    fn entry(table: &Lrm<i8, 6>, at: Q<i8>) -> Q<i8> {
        lookup(table, at)
    }

    #[kernel]
    #[no_reference("an error")]
    pub fn table(x: &Ocm<i8, Planar<6, 8, 8>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 6>>().wait();
            probe!(entry(&a, a[0]));
        }
    }

    #[instance(target = QC_U)]
    pub const TABLE: Kernel = table;

    #[kernel]
    #[no_reference("an error")]
    pub fn index(x: &Ocm<i8, Planar<4, 8, 8>>, n: usize) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            probe!(a[n + 4]);
        }
    }

    #[instance(target = QC_U)]
    pub const INDEX: Kernel = index;
}
