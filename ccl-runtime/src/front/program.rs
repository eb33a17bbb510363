//! Linked programs: the blocks that a kernel's functions come from, their names, types and constants, and which path of which
//! block leads where.

use std::collections::HashMap;

use ccl_syntax::ast::{self, Expr, Fn, ItemKind, Module, Path};
use ccl_syntax::check::types::Types;
use ccl_syntax::check::{Checked, Def, Names};
use ccl_syntax::eval::{Evaluator, Value};
use ccl_syntax::{Diags, check};

use super::error::FrontError;
use crate::interp;
use crate::kernel::Source;

/// One block: its tree and what was found out about it.
#[derive(Debug)]
pub struct Unit {
    /// The tree.
    pub module: Module,
    pub(crate) names: Names,
    pub(crate) types: Types,
    pub(super) consts: HashMap<String, Value>,
}

/// Where a path leads: a unit and the name of a function in it.
pub type Target = (usize, String);

/// The blocks of a program.
#[derive(Debug, Default)]
pub struct Program {
    /// The blocks; a kernel's own is the first.
    pub units: Vec<Unit>,
    /// Paths as they are written in a unit.
    links: HashMap<(usize, String), Target>,
}

impl Unit {
    /// A tree and what was found out about it.
    fn new(module: Module, checked: Checked) -> Self {
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
        Unit { module, names: checked.names, types: checked.types, consts }
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
        let mut known: Vec<&interp::Unit> = vec![unit];
        program.add(Unit::new(unit.module().clone(), unit.checked().clone()));
        let mut at = 0;
        while at < known.len() {
            for path in program.units[at].foreign_calls() {
                let parts: Vec<&str> = path.split("::").collect();
                // An unknown path is an error where it is called, if it is.
                let Some((of, name)) = linker.find(known[at], &parts) else { continue };
                let to = known.iter().position(|unit| std::ptr::eq(*unit, of)).unwrap_or_else(|| {
                    known.push(of);
                    program.add(Unit::new(of.module().clone(), of.checked().clone()))
                });
                program.link(at, &path, (to, name));
            }
            at += 1;
        }
        program
    }

    /// A block that the macro has left behind, and the blocks that it calls.
    ///
    /// # Errors
    /// If a block is none of this version of the language.
    pub fn of_source(source: &'static Source) -> Result<Self, FrontError> {
        fn unit(source: &'static Source) -> Result<Unit, FrontError> {
            let path = source.module_path();
            let module = ccl_syntax::decode(source.ast())
                .map_err(|error| FrontError::new(format!("the block of `{path}`: {error}")))?;
            let mut diags = Diags::default();
            let checked = check(&module, &mut diags);
            match diags.take().first() {
                Some(diag) => Err(FrontError::of_diag(diag, &module.file)),
                None => Ok(Unit::new(module, checked)),
            }
        }
        let mut program = Self::default();
        let mut known = vec![source];
        program.add(unit(source)?);
        let mut at = 0;
        while at < known.len() {
            for path in program.units[at].foreign_calls() {
                let Some(link) = known[at].link(&path) else { continue };
                let of = (link.source)();
                let to = match known.iter().position(|known| std::ptr::eq(*known, of)) {
                    Some(to) => to,
                    None => {
                        known.push(of);
                        program.add(unit(of)?)
                    }
                };
                program.link(at, &path, (to, link.function.to_owned()));
            }
            at += 1;
        }
        Ok(program)
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
