use ccl_runtime::ccl;

ccl! {
    fn neighbour(a: Q<i32>) -> Q<i32> {
        let mut b = a;
        if a > 0 {
            b = shift(a, East, 1);
        }
        b
    }
}

fn main() {}
