use ccl_runtime::ccl;

ccl! {
    fn low(a: Q<i32>) -> Q<i8> {
        let sum = a + 1;
        sum
    }
}

fn main() {}
