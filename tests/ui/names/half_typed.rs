use ccl_runtime::ccl;

ccl! {
    fn sound(a: Q<i32>) -> Q<i32> {
        a + 1
    }

    fn half(x: &Ocm<i8, Planar<1, 32, 32>>) {
        for t in x.tiles() {
            t.fet
        }
        broad
    }
}

fn main() {
    // The other items are alive, and the one with errors has its signature.
    let _: fn(_) -> _ = sound;
    let _: fn(&_) = half;
}
