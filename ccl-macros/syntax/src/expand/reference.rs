//! The golden function of a kernel: its entry, and the check that it takes what the kernel takes.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{quote, quote_spanned};

use super::kernel::Slot;
use super::{Cx, Health, word};
use crate::ast::*;
use crate::print::print_ty;

impl Cx<'_> {
    /// The entry of the golden function, if there is one, and what the instance says of it. With a kernel that has findings it is not
    /// compared: the kernel's signature may be what has to be mended.
    pub(super) fn reference(
        &self,
        item: &Item,
        function: &Fn,
        slots: &[Slot<'_>],
        health: Health,
    ) -> (TokenStream, TokenStream) {
        let golden = item.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Kernel { reference: Some(path) } | AttrKind::Reference(path) => Some(path),
            _ => None,
        });
        let reason = item.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::NoReference(reason) => Some(reason),
            _ => None,
        });
        let Some(path) = golden.filter(|_| health == Health::Sound) else {
            let reference = match reason {
                Some(reason) => quote! { ::ccl_runtime::kernel::Reference::None { reason: #reason } },
                None => quote! { ::ccl_runtime::kernel::Reference::Missing },
            };
            return (TokenStream::new(), reference);
        };
        let entry = self.reference_entry(path, function, slots);
        let (generics, args) = (self.generic_params(function), self.generic_params_as_args(function));
        let (text, own) = (path.text(), self.own_type(&function.name.name));
        let entry = quote_spanned! { self.glue(path.span) =>
            #[doc(hidden)]
            pub fn __reference #generics(
                __ccl_arguments: &mut ::ccl_runtime::kernel::Arguments,
            ) -> ::core::result::Result<(), ::ccl_runtime::kernel::ArgError> {
                #entry
                ::core::result::Result::Ok(())
            }
        };
        (entry, quote! { ::ccl_runtime::kernel::Reference::Golden { path: #text, run: #own::__reference #args } })
    }

    /// Calls the golden function with the arguments in the form of the host.
    fn reference_entry(&self, path: &Path, function: &Fn, slots: &[Slot<'_>]) -> TokenStream {
        let arguments = word("__ccl_arguments", self.glue(path.span));
        let made = slots.iter().map(|slot| {
            let (local, mutable, text, ty) =
                (&slot.local, slot.mutable(), &slot.param.name.name.name, self.ty(slot.ty));
            quote! { let #mutable #local = ::ccl_runtime::kernel::host::<#ty>(#arguments, #text)?; }
        });
        let lent = slots.iter().map(Slot::lent);
        let written = slots.iter().filter(|slot| slot.is_output()).map(|slot| {
            let (local, text, ty) = (&slot.local, &slot.param.name.name.name, self.ty(slot.ty));
            quote! { ::ccl_runtime::kernel::write_host::<#ty>(#arguments, #text, #local); }
        });
        let compared = self.compared(path, function, slots);
        quote_spanned! { self.glue(path.span) =>
            let __ccl_reference = { #compared };
            #(#made)*
            ::ccl_runtime::kernel::reference::Call::call(__ccl_reference, (#(#lent,)*));
            #(#written)*
        }
    }

    /// The golden function once it is known to take the arguments. If it does not, a trait of this kernel says at the path what is wanted:
    /// rustc would write out what `Array3` stands for.
    fn compared(&self, path: &Path, function: &Fn, slots: &[Slot<'_>]) -> TokenStream {
        let wanted: Vec<String> = slots.iter().map(|slot| in_front(slot) + &host(slot.ty)).collect();
        let message = format!("the reference of `{}` must be `fn({})`", function.name.name.name, wanted.join(", "));
        let types = slots.iter().map(|slot| {
            let (ty, mutable) = (self.ty(slot.ty), slot.mutable());
            let reference = slot.reference.map(|_| quote! { &#mutable });
            quote! { #reference <#ty as ::ccl_runtime::kernel::Parameter>::Host }
        });
        let (first, last) = self.source.compiler_spans(path.span);
        let mut golden = Group::new(Delimiter::Parenthesis, self.path(path, true));
        golden.set_span(last);
        let mut none = Group::new(Delimiter::Parenthesis, TokenStream::new());
        none.set_span(last);
        let asked = quote_spanned! { first =>
            ::ccl_runtime::kernel::reference::ask::<(#(#types,)*), _, _, _> #golden.fits #none
        };
        let fits = quote_spanned! { first => __CclReference::fits };
        quote_spanned! { self.glue(path.span) =>
            #[diagnostic::on_unimplemented(
                message = #message,
                label = "this has another signature",
                note = "a reference takes what its kernel takes: arrays of `ndarray` for tensors, \
                    `ccl_runtime::kernel::Linear` for weights, scalars as they are"
            )]
            trait __CclReference: Sized {
                fn fits(self) -> Self {
                    self
                }
            }
            impl<F> __CclReference for ::ccl_runtime::kernel::reference::Fitting<F> {}
            use ::ccl_runtime::kernel::reference::Otherwise as _;
            #fits(#asked)
        }
    }
}

fn in_front(slot: &Slot<'_>) -> String {
    match slot.reference {
        Some(true) => "&mut ".into(),
        Some(false) => "&".into(),
        None => String::new(),
    }
}

/// What the host holds for a parameter of a type, as `ccl_runtime::kernel::Parameter` has it.
fn host(ty: &Ty) -> String {
    let args = |path: &Path| -> Option<(String, &'static str)> {
        let [GenericArg::Ty(elem), GenericArg::Ty(layout)] = path.last().args.as_slice() else { return None };
        let TyKind::Path(layout) = &layout.kind else { return None };
        let array = match layout.last().name.name.as_str() {
            "Planar" | "Packed" => "Array3",
            "Tokens" => "Array2",
            "Vector" => "Array1",
            "Stream" | "StreamDot" | "StreamOuter" => "Linear",
            _ => return None,
        };
        Some((print_ty(elem), array))
    };
    match &ty.kind {
        TyKind::Path(path) => match args(path) {
            Some((elem, array)) => format!("{array}<{elem}>"),
            None => print_ty(ty),
        },
        TyKind::Array { elem, len } => format!("[{}; {}]", host(elem), crate::print::print_expr(len)),
        TyKind::Tuple(elems) => format!("({})", elems.iter().map(host).collect::<Vec<_>>().join(", ")),
        TyKind::Ref { .. } => print_ty(ty),
    }
}
