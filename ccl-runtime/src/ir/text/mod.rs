//! The IR's text: `Display` prints it, [`Module::parse`] reads it back. The law, tested on the corpus and on random
//! modules: `parse(print(m)) == m.canonical()`.
//!
//! One operation a line; `;` begins a comment; `!12` at the end of a line is the source line, `!f1:12` that of file 1, `!0`
//! none. An operation without one gets the line of the text. `print` leaves locations out where [`Module::bare`] is printed.

mod parse;
mod print;

pub use parse::ParseError;
pub use print::{Bare, op_text};

use super::types::*;
use super::visit;

impl Module {
    /// The same module with values numbered in the order of their definitions, unused ones dropped, and names unique.
    pub fn canonical(&self) -> Module {
        let mut m = self.clone();
        m.funcs.iter_mut().for_each(canonical_func);
        if m.files.is_empty() {
            m.files.push(String::new());
        }
        m
    }
    /// To print without locations.
    pub fn bare(&self) -> Bare<'_> {
        Bare(self)
    }
    /// The same module without locations, for comparisons.
    pub fn without_locs(&self) -> Module {
        let mut m = self.clone();
        for f in &mut m.funcs {
            f.loc = Loc::default();
            visit::walk_mut(&mut f.body, &mut |op| op.loc = Loc::default());
        }
        m
    }
}

fn canonical_func(f: &mut Func) {
    let mut order: Vec<Id> = f.params.iter().map(|p| p.id).collect();
    visit::walk(&f.body, &mut |op| op.kind.defs(&mut |id| order.push(id)));
    let mut to = vec![None; f.values.len()];
    let mut values = Vec::new();
    let mut names = print::Names::default();
    for id in order {
        if to[id.0 as usize].is_none() {
            to[id.0 as usize] = Some(Id(values.len() as u32));
            let value = &f.values[id.0 as usize];
            values.push(Value { name: names.unique(&value.name), ty: value.ty });
        }
    }
    // What is used and never defined is the verifier's to refuse; it keeps an identity.
    let mut map = |id: Id| {
        *to[id.0 as usize].get_or_insert_with(|| {
            let value = &f.values[id.0 as usize];
            values.push(Value { name: names.unique(&value.name), ty: value.ty });
            Id(values.len() as u32 - 1)
        })
    };
    f.params.iter_mut().for_each(|p| p.id = map(p.id));
    f.body.iter_mut().for_each(|op| op.kind.map_ids(&mut map));
    f.values = values;
}
