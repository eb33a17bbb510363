//! The one place that knows how tests call the crate.

use ccl_syntax::{Budget, Diag, Diags, Module, Source};

/// Name and text of every corpus file.
pub fn corpus() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

/// Items without a block around them, parsed.
pub fn parse(text: &str) -> (Module, Vec<Diag>, Source) {
    let mut diags = Diags::default();
    let (module, source) = ccl_syntax::parse_items("k.rs", text, &mut diags);
    (module, diags.take(), source)
}

/// Items parsed and checked: the findings.
pub fn check(text: &str) -> (Vec<Diag>, Source) {
    let mut diags = Diags::default();
    let (module, source) = ccl_syntax::parse_items("k.rs", text, &mut diags);
    let checked = ccl_syntax::check(&module, &mut diags);
    if diags.is_empty() {
        for instance in &checked.instances {
            ccl_syntax::check_budget(&module, &checked, instance, MACHINE, &mut diags);
        }
    }
    (diags.take(), source)
}

/// A machine with 4 kB in each of 32 x 32 PEs and 8 MB on the chip.
pub const MACHINE: Budget = Budget { lrm_bytes: 4 << 10, ocm_bytes: 8 << 20, array: (32, 32) };

/// The findings of items, rendered.
pub fn rendered(text: &str) -> String {
    let (diags, source) = check(text);
    diags.iter().map(|diag| diag.render(&source)).collect::<Vec<_>>().join("\n")
}

/// A small generator (SplitMix64): the same seed gives the same numbers everywhere.
pub struct Rng(pub u64);

impl Rng {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
