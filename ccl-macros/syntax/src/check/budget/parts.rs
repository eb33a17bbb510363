//! Views of channels and parts of blobs: where their numbers are known, they lie inside the tensor.

use super::{Meter, elem_bytes};
use crate::ast::{Expr, ExprKind, Ident};
use crate::check::types::{Layout, Memory, Tensor, Type};
use crate::code::Code;
use crate::diag::Diag;

/// Parts begin at multiples of so many bytes.
const PART_ALIGN: u64 = 16;

/// How channels of a layout lie.
struct Planes {
    /// Channels of a word.
    pack: u64,
    /// Bytes of the elements of a channel.
    bytes: u64,
}

impl<'a> Meter<'a, '_> {
    /// `recv.view::<L>()` or `recv.part::<T, L>(byte)`.
    pub(super) fn part(&mut self, expr: &Expr, recv: &'a Expr, method: &Ident, args: &'a [Expr]) {
        if let Some((what, help)) = self.fault_of_part(expr, recv, method, args) {
            let message = format!("instance `{}`: {what}", self.instance);
            self.diags.push(Diag::new(Code::PartOutside, method.span, message).help(help));
        }
    }

    /// What is wrong with it, and what to do; `None` too where a number is not known.
    fn fault_of_part(
        &mut self,
        expr: &Expr,
        recv: &'a Expr,
        method: &Ident,
        args: &'a [Expr],
    ) -> Option<(String, &'static str)> {
        let part = self.tensor_of(expr)?;
        let wanted = self.tensor_bytes(&part)?;
        if method.name == "part" {
            let has = self.tensor_bytes(&self.tensor_of(recv)?)?;
            let byte = self.number(args.first()?)?;
            if !byte.is_multiple_of(PART_ALIGN) {
                return Some((
                    format!("a part from byte {byte} on"),
                    "parts begin at multiples of 16 bytes: fill up the one before",
                ));
            }
            let message = format!("a part of {wanted} bytes from byte {byte} on, and the tensor has {has}");
            return (byte.saturating_add(wanted) > has).then_some((message, "take a part that lies inside"));
        }
        let (whole, channel) = self.first_channel(recv)?;
        let has = self.tensor_bytes(&whole)?;
        let Some(channel) = channel else {
            let message = format!("a view of {wanted} bytes of a tensor that has {has}");
            return (wanted != has).then_some((message, "a view has the bytes of its tensor"));
        };
        let planes = self.planes(&whole)?;
        if !channel.is_multiple_of(planes.pack) {
            let message = format!("a view from channel {channel} on, where words have {} channels", planes.pack);
            return Some((message, "begin with a whole word"));
        }
        let left = has.saturating_sub(channel.saturating_mul(planes.bytes));
        let message = format!("a view of {wanted} bytes from channel {channel} on, and the tensor has {left} there");
        (wanted > left).then_some((message, "view as many channels as there are"))
    }

    /// The tensor whose channels are seen, and from which one on, if not from the first by itself.
    fn first_channel(&mut self, recv: &'a Expr) -> Option<(Tensor, Option<u64>)> {
        match &recv.kind {
            ExprKind::Method { recv, name, args, .. } if name.name == "channels" => {
                let (whole, before) = self.first_channel(recv)?;
                let first = self.number(args.first()?)?;
                Some((whole, Some(before.unwrap_or(0).checked_add(first)?)))
            }
            // Regions and patches are refused where they are viewed.
            ExprKind::Method { name, .. } if name.name != "view" && name.name != "part" => None,
            _ => Some((self.tensor_of(recv)?, None)),
        }
    }

    fn tensor_of(&self, expr: &Expr) -> Option<Tensor> {
        match self.checked.types.of(expr.id)?.behind_refs() {
            Type::Tensor(tensor) => Some(tensor.clone()),
            _ => None,
        }
    }

    fn number(&mut self, expr: &'a Expr) -> Option<u64> {
        self.int(expr).and_then(|n| u64::try_from(n).ok())
    }

    fn planes(&self, tensor: &Tensor) -> Option<Planes> {
        let Layout::Named(name, extents) = &tensor.layout else { return None };
        let n: Vec<u64> = extents.iter().map(|extent| self.extent(extent)).collect::<Option<_>>()?;
        let elem = elem_bytes(&tensor.elem)?;
        let (elements, is_packed) = match (*name, n.as_slice()) {
            ("Packed", [_, h, w]) => (h.checked_mul(*w)?, true),
            ("Planar", [_, h, w]) => (h.checked_mul(*w)?, false),
            ("Tokens", [n, _]) => (*n, true),
            _ => return None,
        };
        let pack = if is_packed && elem < 4 { 4 / elem } else { 1 };
        (tensor.memory == Memory::Ocm).then_some(Planes { pack, bytes: elements.checked_mul(elem)? })
    }
}
