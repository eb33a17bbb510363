//! The text of an entry point.

use std::fmt::Write;

use super::slots::{self, Slot};
use super::{Composed, Part};
use crate::emit::manifest::{Boundary, Entry, Kernel, Manifest};

/// Buffers of constants that kernels use in turn.
const BUFFERS: usize = 2;

/// Bytes to which blocks of constants are filled up, as far as the blob goes.
const ALIGNMENT: usize = 64;

/// The parameter with the constants.
pub(super) const CONSTANTS: &str = "constants";

/// First byte and length of a kernel's constants.
type Block = Option<(usize, usize)>;

fn block(kernel: &Kernel, blob: usize) -> Block {
    let first = kernel.constants.iter().map(|c| c.offset).min()?;
    let end = kernel.constants.iter().map(|c| c.offset + c.bytes).max()?;
    Some((first, end.next_multiple_of(ALIGNMENT).min(blob) - first))
}

/// The variable of a buffer of tensors.
pub(super) fn slot(index: usize) -> String {
    format!("slot_{index}")
}

struct Writer<'a> {
    part: &'a Part<'a>,
    slots: Vec<Slot>,
    blocks: Vec<Block>,
    prefetch: bool,
    out: String,
}

pub(super) fn write(manifest: &Manifest, part: &Part, name: &str, prefetch: bool, target: &str) -> Composed {
    let blocks: Vec<Block> = part.kernels.iter().map(|kernel| block(kernel, manifest.constant_bytes)).collect();
    let mut writer = Writer { part, slots: slots::assign(part), blocks, prefetch, out: String::new() };
    let has_constants = writer.blocks.iter().any(Option::is_some);
    writer.head(name, has_constants.then_some(manifest.constant_bytes));
    writer.body();
    let _ = writeln!(writer.out, "    }}\n\n    #[instance(target = {target})]");
    let _ = writeln!(writer.out, "    pub const {}: Kernel = {name};\n}}", name.to_ascii_uppercase());
    let entry = Entry {
        name: name.to_owned(),
        file: format!("{name}.rs"),
        kernels: part.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        inputs: part.inputs.clone(),
        constants: has_constants.then(|| CONSTANTS.to_owned()),
        outputs: part.outputs.clone(),
    };
    Composed { entry, source: writer.out, slots: writer.slots }
}

impl Writer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(depth));
    }

    fn head(&mut self, name: &str, constants: Option<usize>) {
        let kernels = &self.part.kernels;
        let (first, last) = (&kernels[0].name, &kernels[kernels.len() - 1].name);
        let _ = writeln!(self.out, "//! An entry point of {} kernels, made by `graphc compile`.\n", kernels.len());
        self.out += "use ccl_runtime::ccl;\n\nccl! {\n";
        for kernel in kernels {
            let module = kernel.file.strip_suffix(".rs").unwrap_or(&kernel.file);
            let _ = writeln!(self.out, "    use super::{module}::{};", kernel.name);
        }
        let _ = writeln!(self.out, "\n    /// `{first}` to `{last}`, tensors between them on the chip.");
        self.out += "    #[kernel]\n";
        self.out += "    #[no_reference(\"calls of kernels that are checked by themselves\")]\n";
        let _ = writeln!(self.out, "    pub fn {name}(");
        for b in &self.part.inputs {
            let _ = writeln!(self.out, "        {}: &Ext<{}, {}>,", b.parameter, b.elem, b.layout);
        }
        if let Some(bytes) = constants {
            let _ = writeln!(self.out, "        {CONSTANTS}: &Ext<i8, Vector<{bytes}>>,");
        }
        for b in &self.part.outputs {
            let _ = writeln!(self.out, "        {}: &mut Ext<{}, {}>,", b.parameter, b.elem, b.layout);
        }
        self.out += "    ) {\n";
    }

    fn body(&mut self) {
        for i in 0..self.slots.len() {
            let tensors: Vec<&str> = self.slots[i].tensors.iter().map(|t| t.tensor.as_str()).collect();
            let tensors = tensors.join("`, `");
            self.line(2, &format!("// `{tensors}`"));
            self.line(2, &format!("let {} = Ocm::<i8, Vector<{}>>::new();", slot(i), self.slots[i].bytes));
        }
        for buffer in 0..BUFFERS {
            let of = |(i, block): (usize, &Block)| (i % BUFFERS == buffer).then_some(block.map_or(0, |(_, n)| n));
            let bytes = self.blocks.iter().enumerate().filter_map(of).max().unwrap_or(0);
            if bytes > 0 {
                self.line(2, &format!("let constants_{buffer} = Ocm::<i8, Vector<{bytes}>>::new();"));
            }
        }
        self.inputs();
        for i in 0..self.part.kernels.len() {
            self.kernel(i);
        }
        self.outputs();
    }

    /// What the first kernel reads.
    fn inputs(&mut self) {
        self.line(2, "#[region(\"inputs\")]");
        self.line(2, "{");
        let part = self.part;
        let mut tokens = Vec::new();
        for b in &part.inputs {
            let token = format!("{}_lands", b.parameter);
            self.line(3, &format!("let {token} = prefetch({}, &mut {});", b.parameter, self.place(b)));
            tokens.push(token);
        }
        if self.prefetch {
            tokens.extend(self.bring(0));
        }
        for token in tokens {
            self.line(3, &format!("{token}.wait();"));
        }
        self.line(2, "}");
    }

    /// Starts to bring the constants of a kernel; the token.
    fn bring(&mut self, kernel: usize) -> Option<String> {
        let (first, bytes) = self.blocks.get(kernel).copied().flatten()?;
        let (token, ty) = (format!("{}_constants", self.part.kernels[kernel].name), format!("i8, Vector<{bytes}>"));
        let buffer = kernel % BUFFERS;
        self.line(3, &format!("let {token} = prefetch("));
        self.line(4, &format!("&{CONSTANTS}.part::<{ty}>({first}),"));
        self.line(4, &format!("&mut constants_{buffer}.part::<{ty}>(0),"));
        self.line(3, ");");
        Some(token)
    }

    fn kernel(&mut self, index: usize) {
        let part = self.part;
        let kernel = part.kernels[index];
        self.line(2, &format!("#[region(\"{}\")]", kernel.name));
        self.line(2, "{");
        if !self.prefetch
            && let Some(token) = self.bring(index)
        {
            self.line(3, &format!("{token}.wait();"));
        }
        let next = if self.prefetch { self.bring(index + 1) } else { None };
        self.line(3, &format!("{}(", kernel.name));
        for b in &kernel.inputs {
            self.line(4, &format!("&{},", self.place(b)));
        }
        let first = self.blocks[index].map_or(0, |(first, _)| first);
        for c in &kernel.constants {
            let (elem, layout, at) = (c.elem.name(), &c.layout, c.offset - first);
            self.line(4, &format!("&constants_{}.part::<{elem}, {layout}>({at}),", index % BUFFERS));
        }
        for b in &kernel.outputs {
            self.line(4, &format!("&mut {},", self.place(b)));
        }
        self.line(3, ");");
        if let Some(token) = next {
            self.line(3, &format!("{token}.wait();"));
        }
        self.line(2, "}");
    }

    fn outputs(&mut self) {
        self.line(2, "#[region(\"outputs\")]");
        self.line(2, "{");
        let part = self.part;
        for b in &part.outputs {
            self.line(3, &format!("let {0}_leaves = write_back(&{1}, {0});", b.parameter, self.place(b)));
        }
        for b in &part.outputs {
            self.line(3, &format!("{}_leaves.wait();", b.parameter));
        }
        self.line(3, "drain();");
        self.line(2, "}");
    }

    /// The tensor in its buffer.
    fn place(&self, b: &Boundary) -> String {
        let slot = self.slots.iter().position(|slot| slot.tensors.iter().any(|t| t.tensor == b.tensor));
        let slot = slot.expect("every tensor of a kernel has a buffer");
        format!("{}.part::<{}, {}>(0)", self::slot(slot), b.elem, b.layout)
    }
}
