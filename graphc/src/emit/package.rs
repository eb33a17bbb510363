//! The package around emitted kernels: `cargo test` there runs each natively and on the simulator, and compares both with golden
//! tensors.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::compose::Composed;
use crate::emit::golden::Golden;
use crate::emit::manifest::{Boundary, Constant, Kernel, Manifest};

/// Where the package finds `ccl-runtime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// In a folder, relative to the package or absolute; separators are `/`.
    Path(String),
    /// In a registry.
    Version(String),
}

/// What a package is called and needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The runtime.
    pub runtime: Runtime,
}

/// The files of the package beside kernels, constants and manifest, by their paths.
pub fn files(
    package: &Package,
    manifest: &Manifest,
    entries: &[Composed],
    golden: &Golden,
) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    files.insert("Cargo.toml".to_owned(), cargo_toml(package).into_bytes());
    files.insert("src/lib.rs".to_owned(), root(manifest, entries).into_bytes());
    files.insert("golden.bin".to_owned(), golden.blob.clone());
    files.insert("tests/kernels.rs".to_owned(), tests(package, manifest, golden).into_bytes());
    for Composed { entry, source, .. } in entries {
        files.insert(format!("entries/{}", entry.file), source.clone().into_bytes());
    }
    files
}

fn cargo_toml(package: &Package) -> String {
    let (name, version) = (&package.name, env!("CARGO_PKG_VERSION"));
    let runtime = match &package.runtime {
        Runtime::Path(path) => format!("{{ path = {} }}", quoted(path)),
        Runtime::Version(version) => quoted(version),
    };
    format!(
        "\
[package]
name = {name}
description = \"Kernels of a network, made by graphc {version}\"
version = \"0.1.0\"
edition = \"2024\"
rust-version = \"1.89\"
publish = false

[workspace]

[dependencies]
ccl-runtime = {runtime}

[dev-dependencies]
insta = \"1.49.0\"

# Lane loops and the simulator are what tests execute; kernels themselves compile quickly as they are.
[profile.dev]
debug = \"line-tables-only\"

[profile.dev.package.ccl-runtime]
opt-level = 3

[profile.dev.package.iss]
opt-level = 3

[profile.dev.package.ccl-golden]
opt-level = 3

[profile.dev.package.ccl-syntax]
opt-level = 1
",
        name = quoted(name)
    )
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn root(manifest: &Manifest, entries: &[Composed]) -> String {
    let network = manifest.network.replace(['`', '\n', '\r'], "_");
    let mut out =
        format!("//! Kernels of the network `{network}` for {}, made by `graphc compile`.\n", manifest.target);
    out += "//!\n//! `cargo test` compares them with golden tensors; `graphc fork` makes one yours.\n";
    for kernel in &manifest.kernels {
        let _ = write!(out, "\n#[path = \"../kernels/{}\"]\npub mod {};\n", kernel.file, kernel.name);
    }
    if let Some(stub) = &manifest.stub {
        let module = stub.file.trim_end_matches(".rs");
        let _ = write!(out, "\n#[path = \"../kernels/{}\"]\npub mod {module};\n", stub.file);
    }
    for Composed { entry, .. } in entries {
        let _ = write!(out, "\n#[path = \"../entries/{}\"]\npub mod {};\n", entry.file, entry.name);
    }
    out
}

fn tests(package: &Package, manifest: &Manifest, golden: &Golden) -> String {
    let krate = package.name.replace('-', "_");
    let mut out = "\
//! Each kernel natively, on the simulator and against golden tensors; its source, signature and cost as snapshots.
//!
//! `INSTA_UPDATE=always cargo test` takes over what has changed.

use ccl_runtime::kernel::Linked;
use ccl_runtime::testing::{Bar, Check};
use insta::assert_snapshot;

static CONSTANTS: &[u8] = include_bytes!(\"../constants.bin\");
/// Tensors at the boundaries of kernels, computed by graphc's golden executor.
static GOLDEN: &[u8] = include_bytes!(\"../golden.bin\");
"
    .to_owned();
    if golden.bars.iter().all(|(kernel, bar)| bar.is_none() || golden.changed.contains(kernel)) {
        out = out.replace("testing::{Bar, Check}", "testing::Check");
    }
    for kernel in &manifest.kernels {
        out += &test(&krate, kernel, golden);
    }
    out
}

fn test(krate: &str, kernel: &Kernel, golden: &Golden) -> String {
    let name = &kernel.name;
    let mut out = format!("\n#[test]\nfn {name}() {{\n    use {krate}::{name}::{{{}, {name}}};\n", instance(name));
    let _ = writeln!(out, "    let cost = Check::new(&{})", instance(name));
    let input = |out: &mut String, b: &Boundary| {
        let _ =
            writeln!(out, "        .with_bytes(\"{}\", &GOLDEN[{}])", b.parameter, golden.range(&b.tensor, b.bytes));
    };
    kernel.inputs.iter().for_each(|b| input(&mut out, b));
    for Constant { parameter, offset, bytes, .. } in &kernel.constants {
        let _ = writeln!(out, "        .with_bytes(\"{parameter}\", &CONSTANTS[{offset}..{}])", offset + bytes);
    }
    if golden.changed.contains(name) {
        let _ = writeln!(
            out,
            "        // Outputs are the stub's, not those of the network: native code and simulator are compared."
        );
    }
    for b in kernel.outputs.iter().filter(|_| !golden.changed.contains(name)) {
        let range = golden.range(&b.tensor, b.bytes);
        let _ = writeln!(out, "        .expect_bytes(\"{}\", &GOLDEN[{range}])", b.parameter);
    }
    if let Some(bar) = golden.bars.get(name).copied().flatten().filter(|_| !golden.changed.contains(name)) {
        let _ = writeln!(out, "        .within(Bar {{ by: {}, one_in: {} }})", bar.by, bar.one_in);
    }
    let _ = writeln!(out, "        .cases(1)\n        .run();");
    let _ = writeln!(out, "    assert_snapshot!(\"{name}_cost\", cost);");
    let _ = writeln!(out, "    assert_snapshot!(\"{name}_signature\", {name}::SIGNATURE);");
    let _ = writeln!(out, "    assert_snapshot!(\"{name}_source\", include_str!(\"../kernels/{}\"));", kernel.file);
    out += "}\n";
    out
}

/// The constant that is a kernel's instance.
pub(crate) fn instance(kernel: &str) -> String {
    kernel.to_ascii_uppercase()
}

/// A snapshot as insta stores it.
pub fn snapshot(content: &str) -> String {
    format!("---\nsource: tests/kernels.rs\nexpression: made by graphc\n---\n{}\n", content.trim_end())
}

/// The path of a snapshot of the package's tests.
pub fn snapshot_path(name: &str) -> String {
    format!("tests/snapshots/kernels__{name}.snap")
}
