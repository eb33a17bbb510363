use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("full of mistakes")]
    pub fn many(x: &Ocm<i8, Planar<1, 32, 32>>, y: &mut Ocm<i8, Planar<1, 32, 32>>, scale: Scale) {
        let limit = 3;
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            limit = 4;
            let sum = a[0].widen::<i32>() + bais;
            y.at(t).stroe(sum);
            y.at(t).store(requant(sum, scale, HalfEven));
        }
    }
}

fn main() {}
