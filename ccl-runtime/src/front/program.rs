//! Linked programs: the blocks that a kernel's functions come from, their names, types and constants, and which path of which
//! block leads where.

use std::collections::HashMap;

use ccl_syntax::ast::{self, Expr, Fn, ItemKind, Module, Path, UseEnd, UseTree};
use ccl_syntax::check::types::Types;
use ccl_syntax::check::{Def, Instance, Names};
use ccl_syntax::eval::{Evaluator, Value};
use ccl_syntax::{Diags, check};

use super::error::FrontError;

/// One block: its tree and what was found out about it.
#[derive(Debug)]
pub struct Unit {
    /// The tree.
    pub module: Module,
    pub(crate) names: Names,
    pub(crate) types: Types,
    /// The instances whose arguments are known.
    pub instances: Vec<Instance>,
    pub(super) consts: HashMap<String, Value>,
    /// Imported names by the key of their import: the whole path.
    imports: HashMap<u32, String>,
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
    /// Checks a tree.
    ///
    /// # Errors
    /// The first finding, with its place, if there is any.
    pub fn new(module: Module) -> Result<Self, FrontError> {
        let mut diags = Diags::default();
        let checked = check(&module, &mut diags);
        if let Some(diag) = diags.take().first() {
            return Err(FrontError::of_diag(diag, &module.file));
        }
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
        said.take();
        let mut imports = HashMap::new();
        for item in &module.items {
            if let ItemKind::Use(tree) = &item.kind {
                collect_imports(tree, &mut Vec::new(), &mut imports);
            }
        }
        let (names, types, instances) = (checked.names, checked.types, checked.instances);
        Ok(Unit { module, names, types, instances, consts, imports })
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
                    && let Some(path) = self.foreign(callee)
                    && !list.contains(&path)
                {
                    list.push(path);
                }
            });
        }
        list
    }

    /// The whole path of a name that comes from elsewhere.
    pub(super) fn foreign(&self, path: &Path) -> Option<String> {
        match self.names.of(path)? {
            Def::Import(id) => self.imports.get(&id.0).cloned(),
            Def::External => Some(path.text()),
            _ => None,
        }
    }
}

fn collect_imports(tree: &UseTree, prefix: &mut Vec<String>, into: &mut HashMap<u32, String>) {
    let depth = prefix.len();
    prefix.extend(tree.prefix.iter().map(|name| name.name.clone()));
    match &tree.end {
        UseEnd::Name { name, id, .. } => {
            let mut path = prefix.clone();
            if name.name != "self" {
                path.push(name.name.clone());
            }
            into.insert(id.0, path.join("::"));
        }
        UseEnd::Group(trees) => trees.iter().for_each(|tree| collect_imports(tree, prefix, into)),
    }
    prefix.truncate(depth);
}

impl Program {
    /// Adds a block and gives its number.
    pub fn add(&mut self, unit: Unit) -> usize {
        self.units.push(unit);
        self.units.len() - 1
    }

    /// Says where a path of a unit leads.
    pub fn link(&mut self, unit: usize, path: &str, target: Target) {
        self.links.insert((unit, path.to_owned()), target);
    }

    /// Where a whole path of a unit leads, if it was linked.
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
        let written = own.foreign(path).unwrap_or_else(|| path.text());
        let found = self.links.get(&(unit, written.clone()));
        found.and_then(|(unit, name)| Some((*unit, self.units.get(*unit)?.function(name)?))).ok_or_else(|| {
            let mut error = FrontError::new(format!("`{written}` is no function of this program"));
            error.help = Some("import it from a `ccl!` block, or add its text to the registry".into());
            error
        })
    }
}
