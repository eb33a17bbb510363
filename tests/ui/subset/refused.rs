use ccl_runtime::ccl;

ccl! {
    struct Pair {
        a: i32,
    }

    fn refused(x: i32) -> i32 {
        let twice = |v| v * 2;
        match x {
            0 => 1,
            _ => twice(x),
        }
        loop {}
        let Some(y) = x else { return 0 };
        let text = "a string";
        x
    }
}

fn main() {}
