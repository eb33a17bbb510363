//! What may be assigned, or lent as `&mut`.

use super::{Access, Def, Resolver};
use crate::ast::*;
use crate::code::Code;
use crate::diag::Diag;

impl<'a> Resolver<'a, '_> {
    /// Checks that the left side of an assignment may change.
    pub(super) fn assigned(&mut self, place: &'a Expr) {
        let (mut root, mut through) = (place, false);
        loop {
            match &root.kind {
                ExprKind::Index { base, .. } => (root, through) = (base, true),
                ExprKind::Unary { op: UnOp::Deref, arg } => (root, through) = (arg, true),
                ExprKind::Field { base, .. } => root = base,
                _ => break,
            }
        }
        self.may_change(root, through, "assigned");
    }

    pub(super) fn may_change(&mut self, root: &'a Expr, through: bool, what: &str) {
        let ExprKind::Path(path) = &root.kind else { return };
        let Some(name) = path.as_name() else { return };
        let Some(entry) = self.find(&name.name) else { return };
        let is_reference = match entry.access {
            Access::Mutable => return,
            // That a function is no value has been said.
            Access::Fixed if matches!(entry.def, Def::Unknown | Def::Fn(_)) => return,
            Access::Fixed => {
                let message = format!("`{}` is no variable and cannot be {what}", name.name);
                let diag = Diag::new(Code::Immutable, root.span, message).note_at(entry.span, "declared here");
                return self.diags.push(diag);
            }
            Access::Immutable { ty: Some(Ty { kind: TyKind::Ref { mutable, .. }, .. }), .. } => *mutable,
            Access::Immutable { ty: Some(_), .. } => false,
            // A value of unknown type may be a reference, one that is made here is not.
            Access::Immutable { ty: None, value } => !value.is_some_and(is_made_here),
        };
        if through && is_reference {
            return;
        }
        let is_shared = matches!(
            entry.access,
            Access::Immutable { ty: Some(Ty { kind: TyKind::Ref { mutable: false, .. }, .. }), .. }
        );
        let help = match (through, entry.def) {
            (true, Def::Param(_)) if is_shared => format!("declare it as `{}: &mut ..`", name.name),
            (false, Def::Param(_)) if is_reference && what != "assigned" => {
                format!("it is a `&mut` reference already: pass `{}`", name.name)
            }
            (false, Def::Param(_)) if is_reference => format!("assign what it refers to: `*{} = ..`", name.name),
            (_, Def::Param(_)) => format!("declare it as `mut {}: ..`", name.name),
            _ => format!("declare it as `let mut {}`", name.name),
        };
        let message = format!("`{}` is immutable and cannot be {what}", name.name);
        let diag = Diag::new(Code::Immutable, root.span, message).note_at(entry.span, "declared here").help(help);
        self.diags.push(diag);
    }
}

/// Whether a value is new rather than a reference to something else, as far as its form tells.
fn is_made_here(value: &Expr) -> bool {
    matches!(
        value.kind,
        ExprKind::Lit(_)
            | ExprKind::Binary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Array(_)
            | ExprKind::Repeat { .. }
            | ExprKind::Range { .. }
            | ExprKind::Call { .. }
            | ExprKind::Ref { mutable: false, .. }
    )
}
