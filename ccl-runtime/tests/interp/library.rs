//! Files that import from each other.

use ccl_runtime::interp::Library;
use ccl_runtime::kernel::{Arguments, ElemType, HostTensor};

use crate::support::*;

#[test]
fn imports_lead_through_files_and_modules() {
    let a = "#[ccl]\npub mod steps {\n    pub const TWO: i32 = 2;\n    pub fn twice<const N: usize>(v: &Lrm<i32, N>) -> Q<i32> { v[N - 1] * TWO }\n}\n";
    let b = "ccl! {\n    pub use super::a::steps::twice as double;\n    pub const THREE: i32 = 3;\n}\n";
    let c = "ccl! {\n    use crate::b;\n    use crate::b::double as two_times;\n    use crate::a::steps;\n    pub fn k(y: &mut Ocm<i32, Planar<1, 2, 2>>) {\n        let v = Lrm::<i32, 3>::filled(5);\n        for t in y.tiles() { y.at(t).store(two_times(&v) + steps::twice(&v) + b::double::<3>(&v) + b::THREE); }\n    }\n}\n";
    let library = library(&[("crate::a", a), ("crate::b", b), ("crate::c", c)]);
    let mut args = Arguments::new().with("y", HostTensor::zeros(ElemType::I32, &[1, 2, 2]));
    assert_eq!(run(&library, "k", &[], &mut args), Ok(()));
    numbers(&args, "y").each(|_, got| assert_eq!(got, 33));
}

#[test]
fn mistakes_of_a_file_have_line_and_column() {
    let text =
        "fn other() {}\nccl! {\n    fn f() { let a = unknown; }\n}\nccl! {\n    fn g() { let b = 1 + true; }\n}\n";
    let mut library = Library::new();
    let error = library.load("crate::m", "src/m.rs", text).expect_err("the file has mistakes");
    assert_eq!(error.n_mistakes, 2);
    assert!(error.text.contains("--> src/m.rs:3:22"), "{error}");
    assert!(error.text.contains("--> src/m.rs:6:22"), "{error}");
    assert!(library.units().is_empty());
}

#[test]
fn instances_are_found() {
    let library = library(&[("crate::p", &corpus("lut_unary"))]);
    let (unit, instance) = library.instance("POWER").expect("it is there");
    assert_eq!((instance.kernel.as_str(), unit.path().join("::").as_str()), ("power", "crate::p"));
}
