//! Files with blocks of kernels, loaded at run time, and how their imports find each other.

use ccl_syntax::ast::{ItemKind, UseEnd, UseTree, Vis};
use ccl_syntax::check::Instance;
use ccl_syntax::{Diags, parse_file};

use super::unit::{Linker, Unit};
use crate::kernel::Source;

/// Longest chain of imports that lead to each other.
const MAX_IMPORTS: usize = 32;

/// Blocks that were loaded, by the paths of the modules around them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    units: Vec<Unit>,
}

/// A file has mistakes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    /// All of them, with excerpts of the text.
    pub text: String,
    /// How many there are.
    pub n_mistakes: usize,
}

impl Library {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads the blocks of a `.rs` file. `path` is that of the file's module, by which others import from it
    /// (`crate::kernels`); `#[ccl] mod name` adds its name. `name` is how errors call the file.
    ///
    /// # Errors
    /// All mistakes of the file, each with line and column; nothing of it is loaded.
    pub fn load(&mut self, path: &str, name: &str, text: &str) -> Result<(), LoadError> {
        let mut diags = Diags::default();
        let file = parse_file(name, text, &mut diags);
        let mut units = Vec::new();
        for block in file.blocks {
            let path = match &block.name {
                Some(of) if path.is_empty() => of.name.clone(),
                Some(of) => format!("{path}::{}", of.name),
                None => path.to_owned(),
            };
            units.push(Unit::check(&path, block.module, &mut diags));
        }
        if !diags.is_empty() {
            let n_mistakes = diags.len();
            return Err(LoadError { text: diags.render(&file.source), n_mistakes });
        }
        self.units.append(&mut units);
        Ok(())
    }

    /// Adds a block that the macro has left behind, by the path of its module.
    ///
    /// # Errors
    /// If it is none of this version of the language.
    pub fn add_source(&mut self, source: &Source) -> Result<(), LoadError> {
        let path = source.module_path();
        let fault = |what: String| LoadError { text: format!("the block of `{path}`: {what}"), n_mistakes: 1 };
        let module = ccl_syntax::decode(source.ast()).map_err(|error| fault(error.to_string()))?;
        let mut diags = Diags::default();
        let unit = Unit::check(path, module, &mut diags);
        match diags.take().first() {
            Some(diag) => Err(fault(diag.message.clone())),
            None => {
                self.units.push(unit);
                Ok(())
            }
        }
    }

    /// Adds a block that was read otherwise.
    pub fn add(&mut self, unit: Unit) {
        self.units.push(unit);
    }

    /// The blocks.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The block with a function; of several the first that was loaded.
    pub fn with_function(&self, name: &str) -> Option<&Unit> {
        self.units.iter().find(|unit| unit.function(name).is_some())
    }

    /// The instance of that name, and its block.
    pub fn instance(&self, name: &str) -> Option<(&Unit, &Instance)> {
        self.units.iter().find_map(|unit| {
            let checked = unit.checked();
            let mut instances = checked.instances.iter().chain(&checked.imported);
            Some((unit, instances.find(|instance| instance.name == name)?))
        })
    }

    fn resolve(&self, path: &[String], name: &str, n_imports: usize) -> Option<(&Unit, String)> {
        if n_imports > MAX_IMPORTS {
            return None;
        }
        let here = || self.units.iter().filter(|unit| unit.path() == path);
        if let Some(unit) = here().find(|unit| declares(unit, name)) {
            return Some((unit, name.to_owned()));
        }
        for unit in here() {
            if let Some(found) = import(unit, name, true)
                && let Some(found) = self.absolute(unit, &found, n_imports + 1)
            {
                return Some(found);
            }
        }
        // What a module hands on from modules inside it stands outside of blocks.
        let mut inside = self.units.iter().filter(|unit| unit.path().starts_with(path) && declares(unit, name));
        let found = inside.next()?;
        inside.next().is_none().then(|| (found, name.to_owned()))
    }

    /// The item of a path that stands in `from`.
    fn absolute(&self, from: &Unit, path: &[String], n_imports: usize) -> Option<(&Unit, String)> {
        let (name, modules) = path.split_last()?;
        let around = from.path();
        let (first, rest) = match modules.split_first() {
            Some((first, rest)) => (first.as_str(), rest),
            None => return self.resolve(around, name, n_imports),
        };
        let joined = |base: &[String], rest: &[String]| [base, rest].concat();
        match first {
            "self" => self.resolve(&joined(around, rest), name, n_imports),
            "crate" if around.first().is_some_and(|root| root != "crate") => {
                self.resolve(&joined(&around[..1], rest), name, n_imports)
            }
            "super" => {
                let mut base = around;
                let mut rest = modules;
                while let Some((first, others)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    let _ = first;
                    base = base.split_last()?.1;
                    rest = others;
                }
                self.resolve(&joined(base, rest), name, n_imports)
            }
            _ => {
                let relative = self.resolve(&joined(around, modules), name, n_imports);
                relative.or_else(|| self.resolve(modules, name, n_imports))
            }
        }
    }
}

impl Linker for Library {
    fn find<'a>(&'a self, from: &Unit, path: &[&str]) -> Option<(&'a Unit, String)> {
        let (first, rest) = path.split_first()?;
        let full = match import(from, first, false) {
            Some(mut full) => {
                full.extend(rest.iter().map(|part| (*part).to_owned()));
                full
            }
            None => path.iter().map(|part| (*part).to_owned()).collect(),
        };
        self.absolute(from, &full, 0)
    }
}

fn declares(unit: &Unit, name: &str) -> bool {
    unit.module().items.iter().any(|item| item.name().is_some_and(|of| of.name.name == name))
}

/// The path that a block imports under a name.
pub(super) fn import(unit: &Unit, name: &str, is_public: bool) -> Option<Vec<String>> {
    unit.module().items.iter().filter(|item| !is_public || item.vis != Vis::Private).find_map(|item| match &item.kind {
        ItemKind::Use(tree) => in_tree(tree, name, &[]),
        _ => None,
    })
}

fn in_tree(tree: &UseTree, wanted: &str, before: &[String]) -> Option<Vec<String>> {
    let mut path = before.to_vec();
    path.extend(tree.prefix.iter().map(|part| part.name.clone()));
    match &tree.end {
        UseEnd::Group(trees) => trees.iter().find_map(|tree| in_tree(tree, wanted, &path)),
        UseEnd::Name { name, alias, .. } => {
            if name.name != "self" {
                path.push(name.name.clone());
            }
            let bound = alias.as_ref().map_or(path.last()?, |alias| &alias.name);
            (bound == wanted).then_some(path)
        }
    }
}
