//! What a kernel has beside its function: parameters as data, the native entry, and the way to instances.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::{Cx, Health, word};
use crate::ast::*;

/// A parameter as the entries see it.
pub(super) struct Slot<'a> {
    pub(super) param: &'a Param,
    /// Its type without a reference in front.
    pub(super) ty: &'a Ty,
    /// The reference, and whether it may be written through.
    pub(super) reference: Option<bool>,
    pub(super) local: Ident,
}

impl Slot<'_> {
    pub(super) fn is_output(&self) -> bool {
        self.reference == Some(true)
    }
    pub(super) fn mutable(&self) -> Option<Ident> {
        self.is_output().then(|| word("mut", self.local.span()))
    }
    /// `&a`, `&mut a`, `a`.
    pub(super) fn lent(&self) -> TokenStream {
        let (local, mutable) = (&self.local, self.mutable());
        match self.reference {
            Some(_) => quote! { &#mutable #local },
            None => quote! { #local },
        }
    }
}

impl Cx<'_> {
    pub(super) fn kernel(&self, item: &Item, function: &Fn, health: Health) -> TokenStream {
        let glue = self.glue(function.name.name.span);
        let slots: Vec<Slot<'_>> = function.params.iter().enumerate().map(|(i, p)| self.slot(p, i)).collect();
        let (name, generics) = (self.own_type(&function.name.name), self.generic_params(function));
        let args = self.generic_params_as_args(function);
        let params = self.kernel_params(&slots);
        let native = self.native_entry(function, &slots);
        let (reference_fn, reference) = self.reference(item, function, &slots, health);
        let consts = function.generics.iter().map(|param| {
            let (text, name) = (&param.name.name.name, self.ident(&param.name.name));
            quote! { (#text, #name as i128) }
        });
        let overrides = item.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Overrides(path) => Some(path.text()),
            _ => None,
        });
        let overrides = match overrides {
            Some(path) => quote! { ::core::option::Option::Some(#path) },
            None => quote! { ::core::option::Option::None },
        };
        let edits = item.attrs.iter().filter_map(|attr| match &attr.kind {
            AttrKind::Edit(text) => Some(text),
            _ => None,
        });
        quote_spanned! { glue =>
            #[allow(clippy::all, dead_code, missing_docs, unused_qualifications, reason = "made by `ccl!`")]
            impl #name {
                #[doc(hidden)]
                pub fn __params #generics() -> ::std::vec::Vec<::ccl_runtime::kernel::Param> {
                    ::std::vec![#(#params),*]
                }
                #[doc(hidden)]
                pub fn __native #generics(
                    __ccl_arguments: &mut ::ccl_runtime::kernel::Arguments,
                ) -> ::core::result::Result<(), ::ccl_runtime::kernel::ArgError> {
                    #native
                    ::core::result::Result::Ok(())
                }
                #reference_fn
                #[doc(hidden)]
                pub const fn __instance #generics(
                    __ccl_name: &'static str,
                    __ccl_target: &'static ::ccl_runtime::target::Target,
                ) -> ::ccl_runtime::kernel::Kernel {
                    ::ccl_runtime::kernel::Kernel {
                        name: __ccl_name,
                        signature: <#name as ::ccl_runtime::kernel::Linked>::SIGNATURE,
                        consts: const { &[#(#consts),*] },
                        target: __ccl_target,
                        source: <#name as ::ccl_runtime::kernel::Linked>::source,
                        params: #name::__params #args,
                        native: #name::__native #args,
                        reference: #reference,
                        overrides: #overrides,
                        edits: &[#(#edits),*],
                    }
                }
            }
        }
    }

    fn slot<'p>(&self, param: &'p Param, i: usize) -> Slot<'p> {
        let local = format_ident!("__ccl_{}", i, span = self.glue(param.name.name.span));
        match &param.ty.kind {
            TyKind::Ref { mutable, target } => Slot { param, ty: target, reference: Some(*mutable), local },
            _ => Slot { param, ty: &param.ty, reference: None, local },
        }
    }

    fn kernel_params(&self, slots: &[Slot<'_>]) -> Vec<TokenStream> {
        let param = |slot: &Slot<'_>| {
            let (text, ty, span) = (&slot.param.name.name.name, self.ty(slot.ty), self.user(slot.ty.span));
            let access = word(if slot.is_output() { "Write" } else { "Read" }, span);
            quote_spanned! { span => ::ccl_runtime::kernel::param::<#ty>(#text, ::ccl_runtime::kernel::Access::#access) }
        };
        slots.iter().map(param).collect()
    }

    /// Makes tensors of the arguments, calls the function, writes outputs back.
    fn native_entry(&self, function: &Fn, slots: &[Slot<'_>]) -> TokenStream {
        let (name, args) = (self.own_type(&function.name.name), self.generic_params_as_args(function));
        let arguments = word("__ccl_arguments", self.glue(function.name.name.span));
        let made = slots.iter().map(|slot| {
            let (local, mutable, text, ty) =
                (&slot.local, slot.mutable(), &slot.param.name.name.name, self.ty(slot.ty));
            quote! { let #mutable #local = ::ccl_runtime::kernel::native::<#ty>(#arguments, #text)?; }
        });
        let lent = slots.iter().map(Slot::lent);
        let written = slots.iter().filter(|slot| slot.is_output()).map(|slot| {
            let (local, text) = (&slot.local, &slot.param.name.name.name);
            quote! { ::ccl_runtime::kernel::write_native(#arguments, #text, #local)?; }
        });
        quote! { #(#made)* #name::__body #args (#(#lent),*); #(#written)* }
    }
}
