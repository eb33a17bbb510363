//! The kernel library, written in `ccl!`: a file a family, generic over extents and scales, int8 in and out unless said.
//!
//! An instance names a kernel, its extents and a machine:
//!
//! ```
//! use ccl_runtime::ccl;
//! use ccl_runtime::testing::Bar;
//!
//! ccl! {
//!     use ccl_runtime::nn::pointwise::pointwise;
//!
//!     #[instance(target = QC_U)]
//!     pub const EXPAND: Kernel = pointwise::<32, 128, 64, 128>;
//! }
//! assert_eq!(EXPAND.params().len(), 5);
//! # let _ = Bar { by: 1, one_in: 100_000 };
//! ```
//!
//! Each kernel names a plain function of [`mod@reference`] that says what it must give, by the operators of `ccl-golden`. Streams hold
//! biases first. Zero points of inputs are folded into biases by whoever makes them, wherever padding allows it.

pub mod reference;
pub mod tables;

pub mod requantise;
pub mod unary;
pub mod elementwise;

pub mod pointwise;
pub mod depthwise;
pub mod conv;
pub mod matmul;
pub mod ffn;
pub mod mix_ffn;
pub mod decode_head;

pub mod normed;
pub mod softmax;
pub mod layer_norm;
pub mod pool;
pub mod argmax;
pub mod attention;
pub mod projections;
pub mod stub;

pub mod resize;
pub mod moves;

use crate::interp::Library;
use crate::kernel::{Linked, Source};

/// The blocks of the library.
pub fn sources() -> Vec<&'static Source> {
    vec![
        requantise::requantise::source(),
        unary::unary::source(),
        elementwise::add::source(),
        pointwise::pointwise::source(),
        depthwise::depthwise::source(),
        conv::conv_patches::source(),
        matmul::dense::source(),
        ffn::ffn_table::source(),
        mix_ffn::mix_ffn::source(),
        normed::ffn_relu_norm::source(),
        decode_head::decode_head::source(),
        softmax::softmax_by_table::source(),
        layer_norm::layer_norm::source(),
        pool::max_pool::source(),
        argmax::argmax::source(),
        attention::attention_head::source(),
        projections::projections::source(),
        stub::slots::post_projection::source(),
        stub::kernels::attention_by_slot::source(),
        stub::online::online_softmax::source(),
        stub::cost_only::head_cost_only::source(),
        resize::enlarge_linear::source(),
        moves::put::source(),
    ]
}

/// The library for texts that are read at run time: `use ccl_runtime::nn::pointwise::pointwise;` finds what it finds in a crate.
///
/// # Panics
/// If a block does not pass the checks of the language, which the build of this crate would have said.
pub fn library() -> Library {
    let mut library = Library::new();
    for source in sources() {
        library.add_source(source).unwrap_or_else(|error| panic!("{error}"));
    }
    library
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn every_block_is_in_the_library() {
        let nn = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/nn");
        let mut modules = HashSet::new();
        for (folder, path) in [(nn.clone(), "ccl_runtime::nn"), (nn.join("stub"), "ccl_runtime::nn::stub")] {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let is_text = entry.extension().is_some_and(|extension| extension == "rs");
                if is_text && std::fs::read_to_string(&entry).unwrap().lines().any(|line| line == "ccl! {") {
                    modules.insert(format!("{path}::{}", entry.file_stem().unwrap().to_str().unwrap()));
                }
            }
        }
        let listed: HashSet<String> = super::sources().iter().map(|s| s.module_path().to_owned()).collect();
        assert_eq!(listed, modules);
        super::library();
    }
}
