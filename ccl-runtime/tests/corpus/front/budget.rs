//! Kernels that need more than their machine has together with what they import: the checks at the instance see one block.
#[ccl]
mod helpers {
    pub fn sum<const N: usize>(a: &Lrm<i8, N>) -> Q<i32> {
        let mut wide = Lrm::<i32, N>::new();
        for i in 0..N {
            wide[i] = a[i].widen::<i32>() << 2;
        }
        let mut total = splat(0);
        for i in 0..N {
            total += wide[N - 1 - i];
        }
        total
    }

    pub fn twice<const H: usize>(x: &Ocm<i8, Planar<4, H, H>>) {
        let mut copy = Ocm::<i8, Planar<4, H, H>>::new();
        for t in x.tiles() {
            copy.at(t).store(t.fetch::<Lrm<i8, 4>>().wait());
        }
        for t in copy.tiles() {
            probe!(t.fetch::<Lrm<i8, 4>>().wait()[0]);
        }
    }
}

ccl! {
    use crate::helpers::{sum, twice};

    #[kernel]
    #[no_reference("an error")]
    pub fn local<const C: usize>(x: &Ocm<i8, Planar<C, 32, 32>>, y: &mut Ocm<i32, Planar<1, 32, 32>>) {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            y.at(t).store(sum(&a) + a[0].widen::<i32>());
        }
    }

    #[instance(target = QC_U)]
    pub const LOCAL: Kernel = local::<1000>;

    #[kernel]
    #[no_reference("an error")]
    pub fn on_chip<const H: usize>(x: &Ocm<i8, Planar<4, H, H>>) {
        twice(x);
    }

    #[instance(target = QC_U)]
    pub const ON_CHIP: Kernel = on_chip::<2048>;
}
