use ccl_runtime::ccl;

ccl! {
    fn fewer(a: Q<Fx<16>>) -> Q<Fx<12>> {
        a.rescale::<12>(Saturate)
    }
}

fn main() {}
