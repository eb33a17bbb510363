//! Linked programs: the blocks that a kernel's functions come from, their names, types and constants, and which path of which
//! block leads where.

use std::collections::HashMap;

use ccl_syntax::ast::{self, AttrKind, Expr, Fn, ItemKind, Module, Path};
use ccl_syntax::check::types::Types;
use ccl_syntax::check::{Checked, Def, Names};
use ccl_syntax::eval::{Evaluator, Value};
use ccl_syntax::{Diags, check};

use super::error::FrontError;
use crate::interp;
use crate::kernel::{Edit, Source};

/// One block: its tree and what was found out about it.
#[derive(Debug)]
pub struct Unit {
    /// The tree.
    pub module: Module,
    /// The module around the block; empty if it is not known.
    path: String,
    pub(crate) names: Names,
    pub(crate) types: Types,
    pub(super) consts: HashMap<String, Value>,
}

/// Where a path leads: a unit and the name of a function in it.
pub type Target = (usize, String);

/// Which of the markers in the text of a kernel are compiled. What is not costs nothing, the arithmetic of its operand included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markers {
    /// None: `assert!` of constants alone is checked.
    None,
    /// `assert!`.
    #[default]
    Asserts,
    /// `assert!` and `probe!`.
    All,
    /// These, and what statements with `#[tap]` bind or assign, as probes of that name.
    Taps,
}

/// A path as it is written in a unit.
type Call = (usize, String);

/// The blocks of a program.
#[derive(Debug, Default)]
pub struct Program {
    /// The blocks; a kernel's own is the first.
    pub units: Vec<Unit>,
    /// Where paths lead.
    links: HashMap<Call, Target>,
}

impl Unit {
    /// A tree and what was found out about it.
    fn new(path: String, module: Module, checked: Checked) -> Self {
        let mut said = Diags::default();
        let mut evaluator = Evaluator::new(&module, &mut said);
        let mut consts = HashMap::new();
        for item in &module.items {
            if let ItemKind::Const { name, .. } = &item.kind
                && let Some(Ok(value)) = evaluator.constant(&name.name.name)
            {
                consts.insert(name.name.name.clone(), value);
            }
        }
        // What is wrong with constants was said by the checks.
        said.take();
        Unit { module, path, names: checked.names, types: checked.types, consts }
    }

    /// A block that the macro has left behind.
    fn of_source(source: &Source) -> Result<Self, FrontError> {
        let path = source.module_path();
        let module = ccl_syntax::decode(source.ast())
            .map_err(|error| FrontError::new(format!("the block of `{path}`: {error}")))?;
        let mut diags = Diags::default();
        let checked = check(&module, &mut diags);
        match diags.take().first() {
            Some(diag) => Err(FrontError::of_diag(diag, &module.file)),
            None => Ok(Unit::new(path.to_owned(), module, checked)),
        }
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Fn> {
        self.module.fns().map(|(_, f)| f).find(|f| f.name.name.name == name)
    }

    /// The paths of functions of other blocks that are called here, as they are written.
    pub fn foreign_calls(&self) -> Vec<String> {
        let mut list = Vec::new();
        for (_, function) in self.module.fns() {
            super::walk::exprs(&function.body, &mut |expr: &Expr| {
                if let ast::ExprKind::Call { callee, .. } = &expr.kind
                    && matches!(self.names.of(callee), Some(Def::Import(_) | Def::External))
                    && !list.contains(&callee.text())
                {
                    list.push(callee.text());
                }
            });
        }
        list
    }
}

impl Program {
    /// A block that was read at run time, and the blocks that it calls, directly or through others.
    pub fn of_units(unit: &interp::Unit, linker: &dyn interp::Linker) -> Self {
        let mut program = Self::default();
        program.add_units(unit, linker);
        program
    }

    /// A block that the macro has left behind, and the blocks that it calls.
    ///
    /// # Errors
    /// If a block is none of this version of the language.
    pub fn of_source(source: &'static Source) -> Result<Self, FrontError> {
        let mut program = Self::default();
        program.add_source(source)?;
        Ok(program)
    }

    /// The functions that a function of the first block calls, itself first, and the paths to functions of other blocks.
    fn reached(&self, function: &str) -> (Vec<Target>, Vec<Call>) {
        let mut reached: Vec<Target> = vec![(0, function.to_owned())];
        let mut calls: Vec<Call> = Vec::new();
        let mut at = 0;
        while at < reached.len() {
            let (unit, name) = reached[at].clone();
            at += 1;
            let Some(function) = self.units[unit].function(&name) else { continue };
            super::walk::exprs(&function.body, &mut |expr| {
                let ast::ExprKind::Call { callee, .. } = &expr.kind else { return };
                let Ok((to, function)) = self.callee(unit, callee) else { return };
                let target = (to, function.name.name.name.clone());
                if !reached.contains(&target) {
                    reached.push(target);
                }
                let call = (unit, callee.text());
                if self.links.contains_key(&call) && !calls.contains(&call) {
                    calls.push(call);
                }
            });
        }
        (reached, calls)
    }

    /// What `#[edit("..")]` says in a function of the first block and in those that it calls.
    pub(crate) fn edits(&self, function: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (unit, name) in self.reached(function).0 {
            let module = &self.units[unit].module;
            let Some((item, function)) = module.fns().find(|(_, f)| f.name.name.name == name) else { continue };
            let mut note = |attrs: &[ast::Attr], line: u32| {
                edits.extend(attrs.iter().filter_map(|attr| match &attr.kind {
                    AttrKind::Edit(what) => {
                        let (function, file) = (name.clone(), module.file.clone());
                        Some(Edit { function, file, line, what: what.clone() })
                    }
                    _ => None,
                }));
            };
            note(&item.attrs, function.name.name.span.start.line);
            super::walk::all_stmts(&function.body, &mut |stmt| note(&stmt.attrs, stmt.span.start.line));
        }
        edits
    }

    /// Adds a block that was read at run time with the blocks that it calls, and gives its number.
    fn add_units(&mut self, unit: &interp::Unit, linker: &dyn interp::Linker) -> usize {
        let first = self.add(Unit::new(unit.path().join("::"), unit.module().clone(), unit.checked().clone()));
        let mut known: Vec<&interp::Unit> = vec![unit];
        let mut at = 0;
        while at < known.len() {
            for path in self.units[first + at].foreign_calls() {
                let parts: Vec<&str> = path.split("::").collect();
                // An unknown path is an error where it is called, if it is.
                let Some((of, name)) = linker.find(known[at], &parts) else { continue };
                let to = known.iter().position(|unit| std::ptr::eq(*unit, of)).unwrap_or_else(|| {
                    known.push(of);
                    self.add(Unit::new(of.path().join("::"), of.module().clone(), of.checked().clone())) - first
                });
                self.link(first + at, &path, (first + to, name));
            }
            at += 1;
        }
        first
    }

    /// Adds a block that the macro has left behind with the blocks that it calls, and gives its number.
    fn add_source(&mut self, source: &'static Source) -> Result<usize, FrontError> {
        let first = self.add(Unit::of_source(source)?);
        let mut known = vec![source];
        let mut at = 0;
        while at < known.len() {
            for path in self.units[first + at].foreign_calls() {
                let Some(link) = known[at].link(&path) else { continue };
                let of = (link.source)();
                let to = match known.iter().position(|known| std::ptr::eq(*known, of)) {
                    Some(to) => to,
                    None => {
                        known.push(of);
                        self.add(Unit::of_source(of)?) - first
                    }
                };
                self.link(first + at, &path, (first + to, link.function.to_owned()));
            }
            at += 1;
        }
        Ok(first)
    }

    /// Leads the calls of a slot, in a kernel and what it calls, to a function of a block that the macro has left behind. The stub
    /// itself may call the slot. `false` if nothing calls it.
    ///
    /// # Errors
    /// As [`of_source`](Self::of_source).
    pub(crate) fn fill(
        &mut self,
        kernel: &str,
        (module, slot): (&str, &str),
        (source, stub): (&'static Source, &str),
    ) -> Result<bool, FrontError> {
        let mut calls = self.calls_of(kernel, slot);
        calls.retain(|(_, (unit, _))| self.units[*unit].path == module);
        let unit = self.add_source(source)?;
        self.redirect(&calls, unit, stub);
        Ok(!calls.is_empty())
    }

    /// As [`fill`](Self::fill), by a function that was read at run time, whose `#[stub(path)]` names the slot. The slot's name if nothing
    /// calls it.
    ///
    /// # Errors
    /// A function that names no slot, or has another signature than the slot.
    pub(crate) fn fill_from(
        &mut self,
        kernel: &str,
        (unit, stub): (&interp::Unit, &str),
        linker: &dyn interp::Linker,
    ) -> Result<Option<String>, FrontError> {
        let slot = &super::stub::path_of(unit, stub)?.last().name.name;
        let calls = self.calls_of(kernel, slot);
        let added = self.add_units(unit, linker);
        for (_, (of, name)) in &calls {
            if let (Some(slot), Some(stub)) = (self.units[*of].function(name), self.units[added].function(stub)) {
                super::stub::keeps(slot, stub, &self.units[added].module.file)?;
            }
        }
        self.redirect(&calls, added, stub);
        Ok(calls.is_empty().then(|| slot.clone()))
    }

    /// Names of the functions of other blocks that a kernel and what it calls call.
    pub(crate) fn calls(&self, kernel: &str) -> Vec<String> {
        let calls = self.reached(kernel).1;
        let names = calls.iter().filter_map(|call| Some(self.links.get(call)?.1.clone()));
        names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// The paths by which a kernel and what it calls reach a function of that name.
    fn calls_of(&self, kernel: &str, name: &str) -> Vec<(Call, Target)> {
        let calls = self.reached(kernel).1.into_iter();
        let leads = calls.filter_map(|call| {
            let target = self.links.get(&call)?.clone();
            (target.1 == name).then_some((call, target))
        });
        leads.collect()
    }

    fn redirect(&mut self, calls: &[(Call, Target)], unit: usize, function: &str) {
        for (call, _) in calls {
            self.links.insert(call.clone(), (unit, function.to_owned()));
        }
    }

    /// Adds a block and gives its number.
    fn add(&mut self, unit: Unit) -> usize {
        self.units.push(unit);
        self.units.len() - 1
    }

    /// Says where a path of a unit leads.
    fn link(&mut self, unit: usize, path: &str, target: Target) {
        self.links.insert((unit, path.to_owned()), target);
    }

    /// Where a path leads that is written so in a unit.
    pub(crate) fn link_of(&self, unit: usize, path: &str) -> Option<&Target> {
        self.links.get(&(unit, path.to_owned()))
    }

    /// The function that a path of a unit means.
    ///
    /// # Errors
    /// If it is no function of the program.
    pub(super) fn callee(&self, unit: usize, path: &Path) -> Result<(usize, &Fn), FrontError> {
        let own = &self.units[unit];
        if let Some(Def::Fn(id)) = own.names.of(path)
            && let Some((_, function)) = own.module.fns().find(|(_, f)| f.name.id.0 == id.0)
        {
            return Ok((unit, function));
        }
        let written = path.text();
        let found = self.link_of(unit, &written);
        found.and_then(|(unit, name)| Some((*unit, self.units.get(*unit)?.function(name)?))).ok_or_else(|| {
            let mut error = FrontError::new(format!("`{written}` is no function of this program"));
            error.help = Some("import it from a `ccl!` block, or add its text to the library".into());
            error
        })
    }
}
