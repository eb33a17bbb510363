//! The text of one kernel in the making: imports, parameters, statements, indented and broken as a person would.

use std::collections::{BTreeMap, BTreeSet};

use crate::emit::calls::FUNCTIONS;
use crate::emit::constants::Constant;
use crate::graph::ValueId;
use crate::plan::names;
use crate::plan::step::{Buffer, Order};

/// Columns that a line may have.
const WIDTH: usize = 110;

/// A type of a tensor in on-chip memory, as it is written: element type and layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorType {
    /// Element type.
    pub elem: &'static str,
    /// Layout.
    pub layout: String,
}

impl TensorType {
    /// The type that the writer of a buffer gives it.
    pub fn of(buffer: &Buffer, is_label: bool) -> Self {
        let (c, (h, w)) = (buffer.channels, buffer.grid);
        let layout = match buffer.order {
            Order::Planar => format!("Planar<{c}, {h}, {w}>"),
            Order::Packed if h == 1 => format!("Tokens<{w}, {c}>"),
            Order::Packed => format!("Packed<{c}, {h}, {w}>"),
        };
        let elem = if is_label {
            "u8"
        } else if buffer.element_bytes == 4 {
            "i32"
        } else {
            "i8"
        };
        TensorType { elem, layout }
    }

    /// An int8 tensor of that layout.
    pub fn int8(layout: String) -> Self {
        TensorType { elem: "i8", layout }
    }
}

/// A variable of a kernel.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TensorType,
    /// Whether it is a parameter, which is a reference already.
    pub is_param: bool,
}

impl Variable {
    /// An argument that reads the tensor in a layout.
    pub fn read(&self, layout: &str) -> String {
        match (self.ty.layout == layout, self.is_param) {
            (true, true) => self.name.clone(),
            (true, false) => format!("&{}", self.name),
            (false, _) => format!("&{}.view::<{layout}>()", self.name),
        }
    }

    /// An argument that writes the tensor in a layout.
    pub fn write(&self, layout: &str) -> String {
        match (self.ty.layout == layout, self.is_param) {
            (true, true) => self.name.clone(),
            (true, false) => format!("&mut {}", self.name),
            (false, _) => format!("&mut {}.view::<{layout}>()", self.name),
        }
    }

    /// An argument that reads some channels of the tensor in a layout.
    pub fn part(&self, channel: usize, of: usize, layout: &str) -> String {
        if of == 1 { self.read(layout) } else { format!("&{}.channels({channel}).view::<{layout}>()", self.name) }
    }

    /// An argument that writes some channels of the tensor in a layout.
    pub fn part_mut(&self, channel: usize, of: usize, layout: &str) -> String {
        if of == 1 { self.write(layout) } else { format!("&mut {}.channels({channel}).view::<{layout}>()", self.name) }
    }
}

/// A kernel's text in the making.
#[derive(Debug, Default)]
pub struct Text {
    /// Functions of the library that it calls, by path.
    pub uses: BTreeSet<String>,
    /// Its constants, in the order of its parameters.
    pub constants: Vec<(String, Constant)>,
    /// Variables of buffers.
    pub variables: BTreeMap<ValueId, Variable>,
    /// Functions of its own, as text.
    pub helpers: BTreeSet<String>,
    /// What became slow or inexact.
    pub notes: Vec<String>,
    /// Name of the step that is being written, as the profile shows it; inside a block of its own it is that of the block.
    step: Option<String>,
    taken: BTreeSet<String>,
    lines: Vec<String>,
    depth: usize,
}

impl Text {
    /// A kernel without statements.
    pub fn new() -> Self {
        Text { taken: FUNCTIONS.iter().map(|&name| name.to_owned()).collect(), ..Text::default() }
    }

    /// A name that no other variable has.
    pub fn unique(&mut self, name: &str) -> String {
        names::unique(names::identifier(name), &mut self.taken)
    }

    /// A parameter for a constant.
    pub fn constant(&mut self, name: &str, constant: Constant) -> String {
        let name = self.unique(name);
        self.constants.push((name.clone(), constant));
        name
    }

    /// Begins a step: its calls are regions of that name, or its block is one and they are regions of their functions' names.
    pub fn begin_step(&mut self, name: &str) {
        self.step = Some(name.to_owned());
    }

    /// A statement that calls a function of the library: path, const arguments, arguments. It is a region of the profile, which is
    /// also a scope: what the function holds in local memory is gone behind it.
    pub fn call(&mut self, path: &str, generics: &[usize], args: &[String]) {
        self.uses.insert(path.to_owned());
        let generics: Vec<String> = generics.iter().map(usize::to_string).collect();
        self.call_own(path.rsplit("::").next().unwrap_or(path), &generics, args);
    }

    /// As [`call`](Self::call), of a function in the kernel's own text.
    pub fn call_own(&mut self, name: &str, generics: &[String], args: &[String]) {
        debug_assert!(FUNCTIONS.contains(&name), "`{name}` is not in the list of functions");
        let region = self.step.clone().unwrap_or_else(|| name.to_owned());
        self.line(&format!("#[region(\"{region}\")]"));
        let head = if generics.is_empty() { name.to_owned() } else { format!("{name}::<{}>", generics.join(", ")) };
        let one = format!("{head}({});", args.join(", "));
        if one.len() + 4 * (self.depth + 2) <= WIDTH {
            self.line(&one);
            return;
        }
        self.line(&format!("{head}("));
        self.depth += 1;
        for arg in args {
            self.line(&format!("{arg},"));
        }
        self.depth -= 1;
        self.line(");");
    }

    /// Declares a tensor and gives its variable.
    pub fn allocate(&mut self, name: &str, ty: TensorType) -> Variable {
        let name = self.unique(name);
        self.line(&format!("let mut {name} = Ocm::<{}, {}>::new();", ty.elem, ty.layout));
        Variable { name, ty, is_param: false }
    }

    /// Declares so many int8 tensors of a layout as an array, and gives its name.
    pub fn allocate_array(&mut self, name: &str, n: usize, layout: &str) -> String {
        let name = self.unique(name);
        let element = format!("Ocm::<i8, {layout}>::new()");
        let one = format!("let {name} = [{}];", vec![element.as_str(); n].join(", "));
        if one.len() + 4 * (self.depth + 2) <= WIDTH {
            self.line(&one);
            return name;
        }
        self.line(&format!("let {name} = ["));
        (0..n).for_each(|_| self.line(&format!("    {element},")));
        self.line("];");
        name
    }

    /// Begins a block of buffers that live for some steps.
    pub fn scope(&mut self) {
        self.step = None;
        self.open();
    }

    /// Begins a block: the region of a step that has begun.
    pub fn open(&mut self) {
        if let Some(name) = self.step.take() {
            self.line(&format!("#[region(\"{name}\")]"));
        }
        self.line("{");
        self.depth += 1;
    }

    /// Ends a block.
    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// A comment.
    pub fn comment(&mut self, text: &str) {
        self.line(&format!("// {text}"));
    }

    /// The statements, indented as in a function of a block.
    pub fn body(&self) -> String {
        self.lines.iter().map(|line| self.plain(line)).collect()
    }

    /// A declaration without the `mut` that only views of it would use.
    fn plain(&self, line: &str) -> String {
        let name = line.trim_start().strip_prefix("let mut ").and_then(|rest| rest.split(' ').next());
        let Some(name) = name else { return line.to_owned() };
        let borrow = format!("&mut {name}");
        let ends = |rest: &str| !rest.starts_with(|c: char| c == '.' || c == '_' || c.is_ascii_alphanumeric());
        let is_borrowed = |line: &String| line.match_indices(&borrow).any(|(at, _)| ends(&line[at + borrow.len()..]));
        if self.lines.iter().any(is_borrowed) { line.to_owned() } else { line.replacen("let mut ", "let ", 1) }
    }

    fn line(&mut self, text: &str) {
        self.lines.push(format!("{}{text}\n", "    ".repeat(self.depth + 2)));
    }
}
