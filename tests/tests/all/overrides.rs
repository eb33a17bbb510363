//! A hand-edited kernel that keeps the signature of the generated one stands in its place, and the ledger says what was done to it.

use ccl_runtime::kernel::{Kernel, ledger};
use ccl_runtime::testing::check;

mod golden {
    use ndarray::Array3;

    /// Every element doubled, saturated.
    pub fn double(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.zip_mut_with(x, |y, x| *y = x.saturating_mul(2));
    }
}

mod generated {
    ccl_runtime::ccl! {
        #[kernel(reference = super::golden::double)]
        pub fn block3<const C: usize, const H: usize, const W: usize>(
            x: &Ocm<i8, Packed<C, H, W>>,
            y: &mut Ocm<i8, Packed<C, H, W>>,
        ) {
            for t in x.tiles() {
                let mut a = t.fetch::<Lrm<i8, C>>().wait();
                for c in 0..C {
                    a[c] = (a[c].widen::<i16>() * 2).narrow::<i8>(Saturate);
                }
                y.at(t).store(a);
            }
        }

        #[instance(target = QC_N)]
        pub const BLOCK3: Kernel = block3::<8, 9, 20>;
    }
}

mod by_hand {
    ccl_runtime::ccl! {
        #[inline]
        #[edit("a sum for a product")]
        fn twice(v: Q<i8>) -> Q<i8> {
            let wide = v.widen::<i16>();
            (wide + wide).narrow::<i8>(Saturate)
        }

        #[kernel(reference = super::golden::double)]
        #[overrides(super::generated::block3)]
        #[edit("in chunks, pipelined")]
        pub fn block3<const C: usize, const H: usize, const W: usize>(
            x: &Ocm<i8, Packed<C, H, W>>,
            y: &mut Ocm<i8, Packed<C, H, W>>,
        ) {
            for t in x.tiles().chunks::<4>().pipelined(2) {
                let mut a = t.fetch::<Lrm<i8, 4>>().wait();
                #[edit("four channels at once")]
                for c in 0..4 {
                    a[c] = twice(a[c]);
                }
                y.at(t).store(a);
            }
        }

        #[instance(target = QC_N)]
        pub const BLOCK3: Kernel = block3::<8, 9, 20>;
    }
}

#[test]
fn an_override_stands_for_the_kernel_that_it_names() {
    let all: [Kernel; 2] = [generated::BLOCK3, by_hand::BLOCK3];
    let of = |kernel: &Kernel| kernel.overrides;
    assert_eq!(all.iter().map(of).collect::<Vec<_>>(), [None, Some("super::generated::block3")]);
    assert_eq!(all[0].signature, all[1].signature);
    assert!(check(&by_hand::BLOCK3).total < check(&generated::BLOCK3).total);
}

#[test]
fn the_ledger_lists_edits_of_functions_statements_and_callees() {
    let list = ledger(&[&generated::BLOCK3, &by_hand::BLOCK3]).expect("blocks of this version");
    assert_eq!(list.len(), 1, "what is not edited is not listed");
    let edits: Vec<(&str, &str)> = list[0].edits.iter().map(|e| (e.function.as_str(), e.what.as_str())).collect();
    let wanted =
        [("block3", "in chunks, pipelined"), ("block3", "four channels at once"), ("twice", "a sum for a product")];
    assert_eq!(edits, wanted);
    assert!(list[0].edits.iter().all(|edit| edit.file.ends_with("overrides.rs") && edit.line > 0));
    let text = list[0].to_string();
    assert!(text.starts_with("BLOCK3 (block3) overrides super::generated::block3\n  "), "{text}");
}
