use ccl_runtime::ccl;

ccl! {
    fn first(a: &Lrm<i32, 8>) -> Q<i32> {
        let mut found = splat(0);
        for i in 0..8 {
            if a[i] > 0 {
                found = splat(i as i32);
                break;
            }
        }
        found
    }
}

fn main() {}
