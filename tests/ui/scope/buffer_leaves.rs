use ccl_runtime::ccl;

ccl! {
    fn leaves() -> Q<i8> {
        let mut kept = Lrm::<i8, 4>::filled(0);
        {
            let inner = Lrm::<i8, 4>::filled(1);
            kept = inner;
        }
        kept[0]
    }
}

fn main() {}
