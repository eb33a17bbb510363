//! Signatures of kernels as their texts have them, and their comparison field by field.

use ccl_runtime::kernel::signature_text;
use ccl_syntax::ast::{AttrKind, Fn, ItemKind, Module, Stmt};
use ccl_syntax::{Diags, print_ty_line};

use super::EditError;

/// What a kernel takes, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Const parameters: name and type.
    pub consts: Vec<(String, String)>,
    /// Parameters: name and type.
    pub params: Vec<(String, String)>,
    /// The texts of `#[edit("..")]` on the kernel and its statements.
    pub says: Vec<String>,
}

impl Signature {
    /// The signature of a kernel in the text of its file.
    ///
    /// # Errors
    /// What the front end finds in the text, or that there is no such kernel.
    pub fn read(kernel: &str, text: &str) -> Result<Self, EditError> {
        let mut diags = Diags::default();
        let file = ccl_syntax::parse_file(&format!("{kernel}.rs"), text, &mut diags);
        for block in &file.blocks {
            let _ = ccl_syntax::check(&block.module, &mut diags);
        }
        if !diags.is_empty() {
            return Err(EditError::Text { kernel: kernel.to_owned(), findings: diags.render(&file.source) });
        }
        let found = file.blocks.iter().find_map(|block| Some((&block.module, function(&block.module, kernel)?)));
        let (module, function) = found.ok_or_else(|| EditError::NoKernel { kernel: kernel.to_owned() })?;
        let consts = function.generics.iter().map(|p| (p.name.name.name.clone(), print_ty_line(&p.ty))).collect();
        let params = function.params.iter().map(|p| (p.name.name.name.clone(), print_ty_line(&p.ty))).collect();
        Ok(Signature { consts, params, says: says(module) })
    }

    /// The signature as text, as a kernel of a crate shows its own.
    pub fn text(&self, kernel: &str) -> String {
        signature_text(kernel, &pairs(&self.consts), &pairs(&self.params), "()")
    }

    /// The first field that differs from another signature, with both values.
    pub fn drift(&self, of: &Signature) -> Option<String> {
        let fields = |what: &str, own: &[(String, String)], of: &[(String, String)]| {
            for (i, (own, of)) in own.iter().zip(of).enumerate() {
                if own.0 != of.0 {
                    return Some(format!("the name of {what} {} is `{}`, generated is `{}`", i + 1, own.0, of.0));
                }
                if own.1 != of.1 {
                    return Some(format!("{what} `{}` is `{}`, generated is `{}`", own.0, own.1, of.1));
                }
            }
            let counts = || format!("it has {} {what}s, generated are {}", own.len(), of.len());
            (own.len() != of.len()).then(counts)
        };
        let consts = fields("const parameter", &self.consts, &of.consts);
        consts.or_else(|| fields("parameter", &self.params, &of.params))
    }
}

fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, ty)| (name.as_str(), ty.as_str())).collect()
}

fn function<'a>(module: &'a Module, kernel: &str) -> Option<&'a Fn> {
    module.items.iter().find_map(|item| match &item.kind {
        ItemKind::Fn(function) if function.name.name.name == kernel => Some(function),
        _ => None,
    })
}

fn says(module: &Module) -> Vec<String> {
    let edits = |attrs: &[ccl_syntax::ast::Attr], out: &mut Vec<String>| {
        out.extend(attrs.iter().filter_map(|attr| match &attr.kind {
            AttrKind::Edit(text) => Some(text.clone()),
            _ => None,
        }));
    };
    let mut out = Vec::new();
    for item in &module.items {
        edits(&item.attrs, &mut out);
        if let ItemKind::Fn(function) = &item.kind {
            for Stmt { attrs, .. } in &function.body.stmts {
                edits(attrs, &mut out);
            }
        }
    }
    out
}
