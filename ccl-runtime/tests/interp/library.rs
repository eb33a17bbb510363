//! Files that import from each other.

use ccl_runtime::interp::Library;
use ccl_runtime::kernel::{Arguments, ElemType, HostTensor, Instance};

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

fn instance(text: &str) -> Result<Instance, String> {
    Instance::from_text("k.rs", text, "K", &Library::new()).map_err(|error| error.to_string())
}

#[test]
fn instances_of_the_library_of_kernels_are_made_from_text() {
    let text = "\u{feff}ccl! {\n    use ccl_runtime::nn::pointwise::pointwise;\n    #[instance(target = QC_U_NARROW)]\n    \
                const K: Kernel = pointwise::<32, 128, 64, 128>;\n}\n";
    let library = ccl_runtime::nn::library();
    let made = Instance::from_text("k.rs", text, "K", &library).expect("it is found");
    assert_eq!((made.function(), made.params().len()), ("pointwise", 5));
    assert_eq!(made.target().spec().product, "QC-U-narrow");
    let other = text.replace("use ccl_runtime::nn::pointwise::pointwise;", "use other::pointwise;");
    let error = Instance::from_text("k.rs", &other, "K", &library).expect_err("nobody has it").to_string();
    assert_eq!(error, "there is no kernel `pointwise`");
    let error = instance(&text.replace("QC_U_NARROW", "QC_X")).expect_err("no such machine");
    assert_eq!(
        error,
        "instance `K` names the machine `QC_X`, which is not known\nhelp: machines are `QC_U`, `QC_U_NARROW`, `QC_P`, `QC_N`"
    );
}

#[test]
fn an_instance_that_no_memory_holds_is_refused_before_it_runs() {
    let made = |memory: &str, args: &str, body: &str| {
        instance(&format!(
            "ccl! {{\nfn k<const C: usize, const H: usize, const W: usize>(x: &{memory}<i8, Planar<C, H, W>>) {{ {body} }}\n\
             #[instance(target = QC_U)]\nconst K: Kernel = k::<{args}>;\n}}\n"
        )
        .replace("fn k", "#[kernel]\nfn k"))
        .map(|_| ())
    };
    assert_eq!(made("Ocm", "4, 32, 32", ""), Ok(()));
    for (memory, args, body, what) in [
        ("Ocm", "4, 1000000, 1000000", "", "error[C0603]: instance `K` needs 4000000000000 bytes of on-chip memory"),
        ("Ocm", "18446744073709551615, 9, 1", "", "error[C0603]"),
        ("Ocm", "0, 32, 32", "", "`x` has no elements"),
        ("Ocm", "4, 32, 32", "let a = Lrm::<i8, 4000>::new();", "error[C0602]"),
        ("Ext", "4, 1000000, 1000000", "", "`x` needs 4000000000000 bytes of external memory"),
    ] {
        let error = made(memory, args, body).expect_err("it does not fit");
        assert!(error.contains(what), "{memory} {args}: {error}");
    }
}

#[test]
fn calls_of_calls_end() {
    let mut text = String::from(
        "ccl! {\n#[kernel]\nfn k(y: &mut Ocm<i32, Planar<1, 8, 8>>) { for t in y.tiles() { \
         y.at(t).store(splat(f0(1))); } }\n#[instance(target = QC_U)]\nconst K: Kernel = k;\nfn f30(n: i32) -> i32 { n }\n",
    );
    for i in 0..30 {
        text += &format!("fn f{i}(n: i32) -> i32 {{ f{next}(n) & f{next}(n) }}\n", next = i + 1);
    }
    let made = instance(&(text + "}\n")).expect("the text is sound");
    let error = made.elaborate(&made.zeros()).expect_err("a thousand million calls").to_string();
    assert!(error.contains("grows beyond 524288 operations") && error.contains("calls"), "{error}");
}
