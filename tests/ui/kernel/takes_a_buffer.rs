use ccl_runtime::ccl;

ccl! {
    #[kernel]
    #[no_reference("takes what no caller has")]
    pub fn buffer(x: &Lrm<i8, 4>) {
        probe!(x[0]);
    }
}

fn main() {}
