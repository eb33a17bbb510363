use ccl_runtime::ccl;

mod plain {
    pub fn twice(a: ccl_runtime::prelude::Q<i32>) -> ccl_runtime::prelude::Q<i32> {
        a + a
    }
}

ccl! {
    fn calls(a: Q<i32>) -> Q<i32> {
        plain::twice(a)
    }
}

fn main() {}
