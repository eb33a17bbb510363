//! The methods of the language.

use std::rc::Rc;

use ccl_syntax::ast::{Expr, GenericArg, Ident};

use super::datum::{Choice, Counter, Datum, Step, Taken, Tensor};
use super::error::{Cause, Evaluated};
use super::lanes::{self, lanes};
use super::machine::{Machine, Target};
use crate::flow::{Broadcast, Tile, Transfer, Walk};
use crate::kernel::{ElemType, Memory};
use crate::native::state::Tag;
use crate::native::{Id, Lane, state};
use crate::tensor::lrm::row_of;
use crate::tensor::view::View;
use crate::tensor::{Dyn, Kind, Lrm, Ocm};
use crate::value::{Overflow, Q};

/// Extents, offsets and strides that the native layer is asked for: what memories can hold, with room to multiply.
const MOST: i128 = 1 << 24;

impl<'a> Machine<'a> {
    pub(super) fn method_expr(
        &mut self,
        expr: &'a Expr,
        recv: &'a Expr,
        name: &'a Ident,
        generics: &'a [GenericArg],
        args: &'a [Expr],
    ) -> Evaluated {
        // A part of a buffer is a place in it.
        if let ("slice" | "row", [arg]) = (name.name.as_str(), args) {
            let base = self.place(recv, false)?;
            let base = self.deref(base)?;
            let (at, _) = self.integer(arg)?;
            self.at(name.span);
            return self.part(expr, name, generics, base, at);
        }
        let of = self.eval_stripped(recv)?;
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.eval_stripped(arg)?);
        }
        self.at(name.span);
        let (name, v) = (name.name.as_str(), values.as_slice());
        match of {
            Datum::Pe(elem, id) => self.of_pe(name, expr, generics, (elem, id), v),
            Datum::Tensor(tensor) => self.of_tensor(name, generics, &tensor, v),
            Datum::Walk(tensor, walk) => self.of_walk(name, generics, tensor, *walk, v),
            Datum::Tile(tensor, tile) => self.of_tile(name, expr, generics, (tensor, *tile), v),
            Datum::Broadcast(tensor, stream) => {
                self.of_broadcast(name, expr, generics, &tensor, &mut stream.borrow_mut())
            }
            Datum::Flow(value) if name == "wait" => Ok(*value),
            Datum::Token if name == "wait" => Ok(Datum::UNIT),
            Datum::Range(counter) => self.of_range(name, counter, v),
            Datum::Acc(ids) if name == "get" => self.accumulator(&ids, v),
            of @ (Datum::Int(..) | Datum::Fx(..) | Datum::Bool(_)) => self.of_scalar(name, of, values),
            other => Err(self.wrong(format!("something with a method `{name}`"), &other)),
        }
    }

    /// A number from 0 to what memories hold.
    fn small(&self, what: &'static str, v: Option<&Datum>) -> Evaluated<usize> {
        match v {
            Some(Datum::Int(n, _)) => {
                self.within(what, *n, 0, MOST)?;
                Ok(*n as usize)
            }
            Some(other) => Err(self.wrong(format!("{what}, a scalar"), other)),
            None => Err(self.stop(Cause::Open { what: what.to_owned() })),
        }
    }

    fn part(
        &mut self,
        expr: &'a Expr,
        name: &Ident,
        generics: &'a [GenericArg],
        mut base: super::datum::Place,
        at: i128,
    ) -> Evaluated {
        let len = self.length(&base)?;
        let (from, to) = if name.name == "slice" {
            let n = self.result_extent(expr, generics)?;
            let from = usize::try_from(at).unwrap_or(usize::MAX);
            (from, from.saturating_add(n))
        } else {
            self.within("the row", at, -MOST, MOST)?;
            let rows = match self.target(&base)? {
                Target::Whole(Datum::Lrm(elem, ids)) => ids.first().map(|id| (*elem, *id)),
                Target::Elements(elem, ids) => ids.first().map(|id| (elem, *id)),
                _ => None,
            };
            let Some((elem, first)) = rows else {
                return Err(self.stop(Cause::Index { index: at, len }));
            };
            let rows = lanes!(elem, L => state::with(|s| s.rows::<L>(first)));
            let range = row_of(rows, len, at as i32);
            (range.start, range.end)
        };
        base.path.push(Step::Range(from, to));
        // The place must be there.
        self.target(&base).map(|_| ())?;
        Ok(Datum::Ref(base))
    }

    fn of_pe(
        &mut self,
        name: &str,
        expr: &'a Expr,
        generics: &'a [GenericArg],
        (elem, id): (ElemType, Id),
        v: &[Datum],
    ) -> Evaluated {
        let is_int = !matches!(elem, ElemType::Fx(_) | ElemType::Bool);
        match (name, elem, v) {
            ("raw", ElemType::Fx(_), []) => Ok(Datum::Pe(ElemType::I32, id)),
            ("round", ElemType::Fx(bits), [Datum::Choice(Choice::Rounding(rounding))]) => {
                Ok(Datum::Pe(ElemType::I32, i32::shift_round(id, bits.into(), *rounding)))
            }
            (
                "rescale",
                ElemType::Fx(from),
                [Datum::Choice(Choice::Rounding(rounding)), Datum::Choice(Choice::Overflow(overflow))],
            ) => {
                let bits = self.result_bits(expr, generics)?;
                let id = crate::value::fixed::formats::rescale((id, from as usize), bits, *rounding, *overflow);
                Ok(Datum::Pe(ElemType::Fx(bits as u8), id))
            }
            ("widen", _, []) => {
                let to = self.result_elem(expr, generics)?;
                self.widen((elem, id), to)
            }
            ("narrow", _, [Datum::Choice(Choice::Overflow(overflow))]) if is_int => {
                let to = self.result_elem(expr, generics)?;
                if matches!(to, ElemType::Fx(_) | ElemType::Bool) {
                    return Err(self.no_conversion(name, elem, to));
                }
                Ok(Datum::Pe(to, lanes!(elem, L => L::convert(id, lanes::tag(to), *overflow))))
            }
            ("shr_round", _, [Datum::Int(n, _), Datum::Choice(Choice::Rounding(rounding))]) if is_int => {
                // More bits than a value has leave nothing of it, whatever their number.
                let n = (*n).clamp(0, 200) as u32;
                Ok(Datum::Pe(elem, lanes!(elem, L => L::shift_round(id, n, *rounding))))
            }
            _ => Err(self.wrong(format!("something with a method `{name}`"), &Datum::Pe(elem, id))),
        }
    }

    fn widen(&self, (elem, id): (ElemType, Id), to: ElemType) -> Evaluated {
        let ((from_lo, from_hi), (lo, hi)) = (elem.range(), to.range());
        let is_number = |e: ElemType| !matches!(e, ElemType::Fx(_));
        if !is_number(elem) || !is_number(to) || to == ElemType::Bool || from_lo < lo || from_hi > hi {
            return Err(self.no_conversion("widen", elem, to));
        }
        Ok(Datum::Pe(to, lanes!(elem, L => L::convert(id, lanes::tag(to), Overflow::Wrap))))
    }

    #[cold]
    fn no_conversion(&self, name: &str, from: ElemType, to: ElemType) -> super::error::Exit {
        self.stop(Cause::Operator { op: name.to_owned(), operands: format!("`{from}` to `{to}`") })
    }

    fn of_scalar(&mut self, name: &str, of: Datum, values: Vec<Datum>) -> Evaluated {
        let mut all = vec![of];
        all.extend(values);
        match (name, all.as_slice()) {
            ("min" | "max", [a, b]) => self.extreme(name == "max", a.clone(), b.clone()),
            ("clamp", [x, lo, hi]) => {
                let above = self.extreme(true, x.clone(), lo.clone())?;
                self.extreme(false, above, hi.clone())
            }
            ("abs", [x]) => self.absolute(x.clone()),
            _ => self.scalar_function(name, &all),
        }
    }

    fn of_range(&mut self, name: &str, counter: Counter, v: &[Datum]) -> Evaluated {
        match (name, v) {
            ("rev", []) => Ok(Datum::Range(Counter { is_reversed: !counter.is_reversed, ..counter })),
            ("step_by", [Datum::Int(n, _)]) => {
                self.within("the step", *n, 1, i64::MAX.into())?;
                if counter.is_reversed {
                    // Steps of a reversed range count from its end.
                    let (first, len) = (counter.at(0), counter.len());
                    let steps = if len == 0 { 0 } else { (len - 1) / n + 1 };
                    let least = first - (steps - 1).max(0) * n * counter.step;
                    let end = if steps == 0 { least } else { first + 1 };
                    return Ok(Datum::Range(Counter { start: least, end, step: counter.step * n, ..counter }));
                }
                Ok(Datum::Range(Counter { step: counter.step.saturating_mul(*n), ..counter }))
            }
            _ => Err(self.wrong(format!("something with a method `{name}`"), &Datum::Range(counter))),
        }
    }

    fn accumulator(&mut self, ids: &[Id], v: &[Datum]) -> Evaluated {
        let n = self.small("the accumulator", v.first())?;
        match ids.get(n) {
            Some(id) => Ok(Datum::Pe(ElemType::I32, *id)),
            None => Err(self.stop(Cause::Index { index: n as i128, len: ids.len() })),
        }
    }

    fn of_tensor(&mut self, name: &str, generics: &'a [GenericArg], tensor: &Tensor, v: &[Datum]) -> Evaluated {
        if tensor.memory == Memory::Ext && name != "part" {
            return Err(self.wrong("a tensor on the chip", &Datum::Tensor(tensor.clone())));
        }
        let view = tensor.view;
        let native = Ocm::<i8, Dyn>::of_view(view);
        let seen = |view: View| Ok(Datum::Tensor(tensor.with_view(view)));
        match (name, v) {
            ("tiles", []) => Ok(Datum::Walk(tensor.clone(), Box::new(native.tiles()))),
            ("at", [Datum::Tile(_, tile)]) => Ok(Datum::Tile(tensor.clone(), Box::new(native.at(**tile)))),
            ("channels", [first]) => seen(view.channels(self.small("the channel", Some(first))?)),
            ("roi", [y, x, height, width]) => {
                let part = [y, x, height, width].map(|n| self.small("the region of interest", Some(n)));
                let [y, x, height, width] = part;
                seen(view.roi(y?, x?, height?, width?))
            }
            ("tokens", [first, n]) => {
                if view.kind != Kind::Tokens {
                    return Err(self.wrong("a tensor of tokens", &Datum::Tensor(tensor.clone())));
                }
                seen(view.roi(0, self.small("the token", Some(first))?, 1, self.small("tokens", Some(n))?))
            }
            ("space_to_depth" | "depth_to_space", []) => {
                let s = match generics {
                    [arg] => self.extent_arg(arg)?,
                    _ => None,
                };
                let Some(s) = s else { return Err(self.stop(Cause::Open { what: "S".to_owned() })) };
                self.within("the block", s as i128, 1, 1 << 12)?;
                if name == "space_to_depth" { seen(view.space_to_depth(s)) } else { seen(view.depth_to_space(s)) }
            }
            ("view", []) => self.seen_as(generics, tensor),
            ("part", [byte]) => {
                let byte = self.small("the byte", Some(byte))?;
                self.part_at(generics, tensor, byte)
            }
            ("gather", [index]) => {
                let index = Q::of(self.index_of_pes(index)?);
                let (value, inside) = lanes!(tensor.elem, L => {
                    let (value, inside) = Ocm::<L, Dyn>::of_view(view).gather(index).wait();
                    (value.handle(), inside.handle())
                });
                let pair = vec![Datum::Pe(tensor.elem, value), Datum::Pe(ElemType::Bool, inside)];
                Ok(Datum::Flow(Box::new(Datum::Tuple(pair))))
            }
            ("scatter", [index, value]) => {
                let (index, (elem, id)) = (Q::of(self.index_of_pes(index)?), self.pe(value)?);
                if elem != tensor.elem {
                    return Err(self.wrong(format!("`Q<{}>`", tensor.elem), value));
                }
                lanes!(elem, L => Ocm::<L, Dyn>::of_view(view).scatter(index, Q::of(id)).wait());
                Ok(Datum::Token)
            }
            _ => Err(self.wrong(format!("something with a method `{name}`"), &Datum::Tensor(tensor.clone()))),
        }
    }

    fn index_of_pes(&self, v: &Datum) -> Evaluated<Id> {
        match self.pe(v)? {
            (ElemType::I32, id) => Ok(id),
            _ => Err(self.wrong("an index of `i32`", v)),
        }
    }

    /// The same bytes in another layout.
    fn seen_as(&mut self, generics: &'a [GenericArg], tensor: &Tensor) -> Evaluated {
        let layout = match generics {
            [arg] => self.layout_arg(arg)?,
            _ => None,
        };
        let Some(layout) = layout else { return Err(self.stop(Cause::Open { what: "L".to_owned() })) };
        let bytes = tensor.view.bytes().len();
        match self.size_bytes(&layout, tensor.elem) {
            Some(_) => Ok(Datum::Tensor(tensor.with_view(tensor.view.seen_as(layout.kind, layout.dims)))),
            None => Err(self.stop(crate::native::Cause::ViewSize { wanted: usize::MAX, bytes })),
        }
    }

    /// The tensor that begins at a byte of a blob.
    fn part_at(&mut self, generics: &'a [GenericArg], tensor: &Tensor, byte: usize) -> Evaluated {
        let (elem, layout) = match generics {
            [elem, layout] => (self.elem_arg(elem)?, self.layout_arg(layout)?),
            _ => (None, None),
        };
        let Some((elem, layout)) = elem.zip(layout) else {
            return Err(self.stop(Cause::Open { what: "T, L".to_owned() }));
        };
        if (tensor.elem, tensor.view.kind) != (ElemType::I8, Kind::Vector) {
            return Err(self.wrong("a vector of `i8`", &Datum::Tensor(tensor.clone())));
        }
        let extent = tensor.view.bytes().len();
        match self.size_bytes(&layout, elem) {
            Some(_) => {
                let view = tensor.view.part(byte, layout.kind, elem.bytes(), layout.dims);
                Ok(Datum::Tensor(Tensor { elem, ..tensor.with_view(view) }))
            }
            None => {
                Err(self.stop(crate::native::Cause::Outside { what: "bytes", first: byte, end: usize::MAX, extent }))
            }
        }
    }

    fn of_walk(
        &mut self,
        name: &str,
        generics: &'a [GenericArg],
        tensor: Tensor,
        walk: Walk,
        v: &[Datum],
    ) -> Evaluated {
        let walk = match (name, v) {
            ("halo", [h]) => walk.halo(self.small("the halo", Some(h))?),
            ("halo_cols", [h]) => walk.halo_cols(self.small("the halo", Some(h))?),
            ("halo_rows", [h]) => {
                let h = self.small("the halo", Some(h))?;
                self.within("the halo", h as i128, 0, 1 << 12)?;
                walk.halo_rows(h)
            }
            ("stride", [s]) => {
                let s = self.small("the stride", Some(s))?;
                self.within("the stride", s as i128, 0, 1 << 16)?;
                walk.stride(s)
            }
            ("grid", [rows, cols]) => {
                walk.grid(self.small("the grid", Some(rows))?, self.small("the grid", Some(cols))?)
            }
            ("pipelined", [n]) => walk.pipelined(self.small("the instances", Some(n))?),
            ("block", []) => {
                let [by, bx] = self.two(generics)?;
                walk.with_block(by, bx)
            }
            ("chunks", []) => walk.with_chunks(self.chunk(generics)?),
            _ => {
                return Err(
                    self.wrong(format!("something with a method `{name}`"), &Datum::Walk(tensor, Box::new(walk)))
                );
            }
        };
        Ok(Datum::Walk(tensor, Box::new(walk)))
    }

    fn two(&mut self, generics: &'a [GenericArg]) -> Evaluated<[usize; 2]> {
        let [by, bx] = generics else { return Err(self.stop(Cause::Open { what: "BY, BX".to_owned() })) };
        let (by, bx) = (self.extent_arg(by)?.unwrap_or(0), self.extent_arg(bx)?.unwrap_or(0));
        for n in [by, bx] {
            self.within("the block", n as i128, 1, 1 << 12)?;
        }
        Ok([by, bx])
    }

    fn chunk(&mut self, generics: &'a [GenericArg]) -> Evaluated<usize> {
        let n = match generics {
            [arg] => self.extent_arg(arg)?,
            _ => None,
        };
        let Some(n) = n else { return Err(self.stop(Cause::Open { what: "N".to_owned() })) };
        self.within("the chunk", n as i128, 1, MOST)?;
        Ok(n)
    }

    fn of_tile(
        &mut self,
        name: &str,
        expr: &'a Expr,
        generics: &'a [GenericArg],
        (tensor, tile): (Tensor, Tile),
        v: &[Datum],
    ) -> Evaluated {
        use ccl_syntax::ast::IntTy;
        match (name, v) {
            ("tap", [Datum::Int(dy, _), Datum::Int(dx, _)]) => {
                for moved in [dy + i128::from(tile.y()), dx + i128::from(tile.x())] {
                    self.within("the place of the tap", moved, -MOST * 32, MOST * 32)?;
                }
                Ok(Datum::Tile(tensor, Box::new(tile.tap(*dy as i32, *dx as i32))))
            }
            ("stride", [s]) => {
                let s = self.small("the stride", Some(s))?;
                self.within("the stride", (tile.step() * s) as i128, 0, 1 << 16)?;
                self.spread(tensor, tile.stride(s))
            }
            ("block", []) => {
                let [by, bx] = self.two(generics)?;
                self.spread(tensor, tile.with_block(by, bx))
            }
            ("grid", [rows, cols]) => {
                let (rows, cols) = (self.small("the grid", Some(rows))?, self.small("the grid", Some(cols))?);
                Ok(Datum::Tile(tensor, Box::new(tile.grid(rows, cols))))
            }
            ("channels", [first]) => {
                let first = self.small("the channel", Some(first))?;
                self.within("the channel", (tile.channel() + first) as i128, 0, MOST)?;
                Ok(Datum::Tile(tensor, Box::new(tile.channels(first))))
            }
            ("chunks", []) => Ok(Datum::Walk(tensor, Box::new(Walk::of_tile(tile, self.chunk(generics)?)))),
            ("fetch", []) => self.fetch(expr, generics, &tensor, &tile),
            ("store", [value]) => self.store(&tensor, &tile, value),
            ("inside", []) => Ok(Datum::Pe(ElemType::Bool, tile.inside().handle())),
            ("channel", []) => Ok(Datum::usize(tile.channel())),
            ("index", []) => Ok(Datum::usize(tile.index())),
            ("y", []) => Ok(Datum::Int(tile.y().into(), IntTy::I32)),
            ("x", []) => Ok(Datum::Int(tile.x().into(), IntTy::I32)),
            _ => Err(self.wrong(format!("something with a method `{name}`"), &Datum::Tile(tensor, Box::new(tile)))),
        }
    }

    /// A tile whose PEs are further apart than before.
    fn spread(&self, tensor: Tensor, tile: Tile) -> Evaluated {
        for at in [tile.corner().0, tile.corner().1] {
            self.within("the place of the tile", at as i128, 0, MOST * 32)?;
        }
        Ok(Datum::Tile(tensor, Box::new(tile)))
    }

    fn fetch(&mut self, expr: &'a Expr, generics: &'a [GenericArg], tensor: &Tensor, tile: &Tile) -> Evaluated {
        let (elem, n) = self.result_lrm(expr, generics)?;
        if elem != tensor.elem || elem == ElemType::Bool {
            return Err(self.wrong(format!("a tensor of `{elem}`"), &Datum::Tensor(tensor.clone())));
        }
        self.reserve(elem, n)?;
        let mut ids = vec![Id::NONE; n];
        let fetch: fn(&Tile, &mut [Id]) = match lanes::tag(elem) {
            Tag::I8 | Tag::Bool => <i8 as Transfer>::fetch,
            Tag::I16 => <i16 as Transfer>::fetch,
            Tag::I32 => <i32 as Transfer>::fetch,
            Tag::I64 => <i64 as Transfer>::fetch,
            Tag::U8 => <u8 as Transfer>::fetch,
            Tag::U16 => <u16 as Transfer>::fetch,
        };
        fetch(tile, &mut ids);
        Ok(Datum::Flow(Box::new(Datum::Lrm(elem, ids))))
    }

    fn store(&mut self, tensor: &Tensor, tile: &Tile, value: &Datum) -> Evaluated {
        let (elem, ids): (ElemType, Vec<Id>) = match value {
            Datum::Pe(elem, id) => (*elem, vec![*id]),
            Datum::Lrm(elem, ids) => (*elem, ids.clone()),
            Datum::Acc(ids) => (ElemType::I32, ids.clone()),
            scalar => {
                let (elem, id) = self.pe(scalar)?;
                (elem, vec![id])
            }
        };
        if elem != tensor.elem || elem == ElemType::Bool {
            return Err(self.wrong(format!("a value of `{}`", tensor.elem), value));
        }
        let store: fn(&Tile, &[Id]) = match lanes::tag(elem) {
            Tag::I8 | Tag::Bool => <i8 as Transfer>::store,
            Tag::I16 => <i16 as Transfer>::store,
            Tag::I32 => <i32 as Transfer>::store,
            Tag::I64 => <i64 as Transfer>::store,
            Tag::U8 => <u8 as Transfer>::store,
            Tag::U16 => <u16 as Transfer>::store,
        };
        store(tile, &ids);
        Ok(Datum::UNIT)
    }

    fn of_broadcast(
        &mut self,
        name: &str,
        expr: &'a Expr,
        generics: &'a [GenericArg],
        tensor: &Tensor,
        stream: &mut Broadcast,
    ) -> Evaluated {
        match name {
            "take" => {
                let taken = match self.result_extent(expr, generics)? {
                    1 => Taken::Dot(stream.take()),
                    4 => Taken::Mat4(stream.take()),
                    16 => Taken::Outer(stream.take()),
                    n => return Err(self.outputs(n)),
                };
                Ok(Datum::Weights(Rc::new(taken)))
            }
            "bias" => {
                let n = self.result_extent(expr, generics)?;
                let ids = biases(stream, n).ok_or_else(|| self.outputs(n))?;
                Ok(Datum::Acc(ids))
            }
            "next" => {
                let elem = self.result_elem(expr, generics)?;
                Ok(Datum::Pe(elem, lanes!(elem, L => stream.next::<L>().handle())))
            }
            "fill" => {
                let (elem, n) = self.result_lrm(expr, generics)?;
                if elem == ElemType::Bool {
                    return Err(self.wrong("a buffer of numbers", &Datum::Lrm(elem, Vec::new())));
                }
                self.reserve(elem, n)?;
                let element = |stream: &mut Broadcast| lanes!(elem, L => stream.fill::<Lrm<L, 1>>()[0].handle());
                Ok(Datum::Lrm(elem, (0..n).map(|_| element(stream)).collect()))
            }
            _ => Err(self.wrong(format!("something with a method `{name}`"), &Datum::Tensor(tensor.clone()))),
        }
    }

    #[cold]
    fn outputs(&self, n: usize) -> super::error::Exit {
        self.stop(Cause::Type { wanted: "1, 4 or 16 outputs".to_owned(), found: n.to_string() })
    }
}

/// The biases of the next `n` outputs.
fn biases(stream: &mut Broadcast, n: usize) -> Option<Vec<Id>> {
    macro_rules! numbers {
        ($($n:literal)*) => { match n {
            $( $n => Some(stream.bias::<$n>().values().map(Q::handle).to_vec()), )*
            _ => None,
        } };
    }
    numbers!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}
