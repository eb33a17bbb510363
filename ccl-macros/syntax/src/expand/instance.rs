//! Instances: a constant, and checks of what it needs against its machine.

use std::fmt::Write;

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::{Cx, Health, word};
use crate::ast::*;
use crate::check::{Checked, Most, Needs, measure};
use crate::diag::Diags;

/// What an instance of a kernel of the block needs.
pub(super) struct Measured {
    id: NodeId,
    needs: Needs,
}

/// Measures every instance.
pub(super) fn measured(module: &Module, checked: &Checked, diags: &mut Diags) -> Vec<Measured> {
    let mut all = Vec::new();
    // A kernel with findings is not measured: what its buffers are is not known.
    if diags.is_empty() {
        for instance in &checked.instances {
            let needs = measure(module, checked, instance, diags);
            all.extend(needs.map(|needs| Measured { id: instance.id, needs }));
        }
    }
    all
}

impl Cx<'_> {
    pub(super) fn instance(
        &self,
        item: &Item,
        name: &Binding,
        value: &Expr,
        target: &Path,
        measured: &[Measured],
    ) -> TokenStream {
        let (docs, vis, span) = (self.docs(item), self.vis(item), self.user(name.name.span));
        let (text, ident) = (&name.name.name, self.ident(&name.name));
        let ExprKind::Path(path) = &value.kind else { return self.broken_instance(item, name) };
        if !self.is_sound(item, path) {
            return self.broken_instance(item, name);
        }
        let kernel = self.type_of_fn(path);
        let args = self.generic_args(&path.last().args, true, self.user(path.span));
        let at = self.user(path.span);
        let made = quote_spanned! { at => #kernel::__instance #args };
        let target = self.path(target, true);
        let own = measured.iter().find(|own| own.id.0 == name.id.0);
        let checks = own.map(|own| self.checks(&ident, &own.needs));
        quote_spanned! { span =>
            #docs
            #[allow(unused_qualifications, reason = "made by `ccl!`")]
            #vis const #ident: ::ccl_runtime::kernel::Kernel = #made(#text, {
                #[allow(unused_imports, reason = "the target may be a path")]
                use ::ccl_runtime::target::*;
                const __CCL_TARGET: &Target = &#target;
                __CCL_TARGET
            });
            #checks
        }
    }

    /// Checks of what it needs, at its name or at the statement that is wrong.
    fn checks(&self, ident: &Ident, needs: &Needs) -> TokenStream {
        let span = ident.span();
        let memories = [("check_lrm", &needs.lrm), ("check_ocm", &needs.ocm)].map(|(check, most)| {
            let (check, bytes, live) = (word(check, span), most.bytes, live(most));
            quote_spanned! { span => const _: () = ::ccl_runtime::kernel::#check(#ident, #bytes, #live); }
        });
        let writes = needs.unmasked.iter().map(|write| {
            let (at, rows, cols) = (self.user(write.span), write.rows, write.cols);
            quote_spanned! { at => const _: () = ::ccl_runtime::kernel::check_idle(#ident, #rows, #cols); }
        });
        quote! { #(#memories)* #(#writes)* }
    }

    /// Whether neither it nor the signature of its kernel has a finding.
    fn is_sound(&self, item: &Item, path: &Path) -> bool {
        let has_findings = self.has_findings(item.span);
        let kernel = path.as_name().or(path.segments.first().map(|segment| &segment.name));
        let own = self
            .module
            .fns()
            .find(|(_, f)| path.segments.len() == 1 && kernel.is_some_and(|k| k.name == f.name.name.name));
        let is_known = own.is_none_or(|(item, function)| self.health(item, function) != Health::BrokenSignature);
        !has_findings && is_known && !matches!(self.checked.names.of(path), Some(crate::check::Def::Unknown))
    }

    fn broken_instance(&self, item: &Item, name: &Binding) -> TokenStream {
        let (docs, vis, ident, span) =
            (self.docs(item), self.vis(item), self.ident(&name.name), self.user(name.name.span));
        quote_spanned! { span =>
            #docs
            #vis const #ident: ::ccl_runtime::kernel::Kernel = ::ccl_runtime::kernel::Kernel::BROKEN;
        }
    }
}

/// The buffers at the peak, a line each.
fn live(most: &Most) -> String {
    let mut out = String::new();
    for buffer in &most.buffers {
        _ = write!(out, "\nnote: line {}: {}", buffer.span.start.line, buffer.text());
    }
    out
}
