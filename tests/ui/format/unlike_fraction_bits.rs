use ccl_runtime::ccl;

ccl! {
    fn sum(a: Q<Fx<16>>, b: Q<Fx<12>>) -> Q<Fx<16>> {
        a + b
    }
}

fn main() {}
