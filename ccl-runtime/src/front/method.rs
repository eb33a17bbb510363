//! Methods of the language.

use ccl_syntax::ast::*;

use super::cx::Cx;
use super::error::R;
use super::value::{Acc, Lrm, Pe, Scalar, ScalarTy, Tile, Val, View, ViewStep, Walk};
use crate::ir::Src;
use crate::kernel::ElemType;

impl<'p> Cx<'p> {
    pub(super) fn method(
        &mut self,
        expr: &'p Expr,
        recv: &'p Expr,
        name: &'p Ident,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let of = self.expr(recv)?;
        let of = match of {
            // Accumulators are read where they are used.
            Val::Acc(_) => of,
            of => self.read(&of)?,
        };
        self.at(expr.span);
        match (of, name.name.as_str()) {
            (Val::Tensor(view), name) => self.tensor_method(&view, name, expr, generics, args),
            (Val::Walk(walk), name) => self.walk_method(walk, name, generics, args),
            (Val::Tile(tile), name) => self.tile_method(*tile, name, expr, generics, args),
            (Val::Flight(flight), "wait") => {
                let brought = self.wait(&flight)?;
                self.gathered(&brought)
            }
            (Val::Broadcast(s), "take") => Ok(Val::Weights { stream: s, n: self.extent_generic(expr, generics)? }),
            (Val::Broadcast(s), "bias") => {
                Ok(Val::Acc(Acc::Bias { stream: s, n: self.extent_generic(expr, generics)? }))
            }
            (Val::Broadcast(s), "next") => {
                let elem = self.elem_generic(expr, generics)?;
                Ok(Val::Pe(self.stream_next(s, elem)?))
            }
            (Val::Broadcast(s), "fill") => {
                let (elem, n) = self.lrm_generic(expr, generics)?;
                Ok(Val::Lrm(self.stream_fill(s, elem, n)?))
            }
            (Val::Acc(acc), "get") => {
                let n = self.arg_usize(args, 0)?;
                let values = match self.settled(acc)? {
                    Acc::Group { id, n: len, .. } if n < len => {
                        return Ok(Val::Pe(Pe::new(ElemType::I32, self.copy(Src::Acc(id, n as u8)))));
                    }
                    acc => self.acc_values(&acc)?,
                };
                match values.get(n) {
                    Some(pe) => Ok(Val::Pe(*pe)),
                    None => self.fail(format!("accumulator {n} of {}", values.len()), ""),
                }
            }
            (Val::Lrm(lrm), "slice") => {
                let n = self.extent_generic(expr, generics)?;
                let first = self.arg_sum(args, 0)?;
                self.slice(&lrm, &first, n)
            }
            (Val::Lrm(lrm), "row") => self.row(&lrm, args),
            (Val::Range { start, end, step, rev }, "step_by") => {
                let by = self.arg_usize(args, 0)?;
                if by == 0 || rev {
                    return self.fail("`step_by` of 0, or of a range backwards", "step first, then `.rev()`");
                }
                Ok(Val::Range { start, end, step: step * by, rev })
            }
            (Val::Range { start, end, step, rev }, "rev") => Ok(Val::Range { start, end, step, rev: !rev }),
            (Val::Scalar(s), name) => self.scalar_method(s, name, args),
            (Val::Pe(pe), name) => self.pe_method(pe, name, expr, generics, args),
            (Val::Array(parts), "slice") => {
                let n = self.extent_generic(expr, generics)?;
                let first = self.arg_usize(args, 0)?;
                match parts.get(first..first + n) {
                    Some(parts) => Ok(Val::Array(parts.to_vec())),
                    None => self.fail(format!("elements {first}.. of {}", parts.len()), ""),
                }
            }
            (other, name) => self.fail(format!("`{name}` of {}", other.kind()), ""),
        }
    }

    fn scalar_method(&mut self, s: Scalar, name: &str, args: &'p [Expr]) -> R<Val> {
        let mut all = vec![s];
        for i in 0..args.len() {
            match self.arg(args, i)? {
                Val::Scalar(s) => all.push(s),
                other => return self.wrong("a scalar", &other),
            }
        }
        let pair = |cx: &mut Self, least: bool| match all.as_slice() {
            [a, b] => cx.scalar_extreme(least, a, b),
            _ => cx.fail(format!("`{name}` of other than two numbers"), ""),
        };
        Ok(Val::Scalar(match (name, all.as_slice()) {
            ("min", _) => pair(self, true)?,
            ("max", _) => pair(self, false)?,
            ("clamp", [x, lo, hi]) => {
                let x = self.scalar_extreme(false, x, lo)?;
                self.scalar_extreme(true, &x, hi)?
            }
            ("abs", [x]) => {
                let minus = self.scalar_unary(UnOp::Neg, x)?;
                self.scalar_extreme(false, x, &minus)?
            }
            ("ilog2", [_]) => self.extent_fn("log2", &all)?,
            ("div_ceil" | "next_multiple_of" | "pow" | "is_power_of_two", _) => self.extent_fn(name, &all)?,
            _ => return self.fail(format!("`{name}` of a scalar"), ""),
        }))
    }

    fn pe_method(
        &mut self,
        pe: Pe,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let fraction = |pe: &Pe| match pe.elem {
            ElemType::Fx(bits) => Some(bits),
            _ => None,
        };
        Ok(Val::Pe(match name {
            "widen" => {
                let to = self.elem_generic(expr, generics)?;
                self.pe_widen(pe, to)
            }
            "narrow" => {
                let to = self.elem_generic(expr, generics)?;
                let overflow = self.arg_overflow(args, 0)?;
                self.pe_narrow(pe, to, overflow)?
            }
            "shr_round" => {
                let (n, rounding) = (self.arg_usize(args, 0)?, self.arg_rounding(args, 1)?);
                self.pe_round(pe, n.min(200) as u32, rounding)?
            }
            "raw" => Pe { elem: ElemType::I32, ..pe },
            "round" => {
                let rounding = self.arg_rounding(args, 0)?;
                let Some(bits) = fraction(&pe) else { return self.fail("`round` of an integer", "") };
                let rounded = self.pe_round(Pe { elem: ElemType::I32, ..pe }, bits.into(), rounding)?;
                Pe { elem: ElemType::I32, ..rounded }
            }
            "rescale" => {
                let to = self.fraction(expr, generics)?;
                let (rounding, overflow) = (self.arg_rounding(args, 0)?, self.arg_overflow(args, 1)?);
                let Some(bits) = fraction(&pe) else { return self.fail("`rescale` of an integer", "") };
                self.pe_rescale(pe, to, bits as i32 - to as i32, rounding, overflow)?
            }
            other => return self.fail(format!("`{other}` of a per-PE value"), ""),
        }))
    }

    pub(super) fn row(&mut self, lrm: &Lrm, args: &'p [Expr]) -> R<Val> {
        let dy = match self.arg(args, 0)? {
            Val::Scalar(s) => s.affine(),
            other => return self.wrong("a row", &other),
        };
        let (above, n) = (lrm.rows.above as i64, lrm.rows.n as i64);
        if dy.range.lo < -above || dy.range.hi >= n - above {
            self.sum_known(&dy)?;
            return self.fail(
                format!("row {} of rows {}..={}", dy.constant, -above, n - above - 1),
                "the halo brings no more",
            );
        }
        let len = lrm.n / lrm.rows.n;
        let first = dy.add(above).times(len as i64);
        match lrm.part(&first, len) {
            Some(part) => Ok(Val::Lrm(part)),
            None => self.fail("a row of values that are in no buffer", ""),
        }
    }

    fn tensor_method(
        &mut self,
        view: &View,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let _ = expr;
        Ok(match name {
            "tiles" => Val::Walk(self.tiles(view)?),
            "at" => match self.arg(args, 0)? {
                Val::Tile(tile) => Val::Tile(Box::new(self.at_tile(view, &tile)?)),
                other => return self.wrong("a tile", &other),
            },
            "channels" => {
                let first = self.arg_sum(args, 0)?;
                Val::Tensor(self.view_step(view, ViewStep::Channels(first))?)
            }
            "roi" => {
                let mut of = [0; 4];
                for (i, of) in of.iter_mut().enumerate() {
                    *of = self.arg_usize(args, i)?;
                }
                Val::Tensor(self.view_roi(view, of)?)
            }
            "space_to_depth" | "depth_to_space" => {
                let s = match generics.first() {
                    Some(arg) => self.extent_arg(arg)?,
                    None => return self.open_generic(),
                };
                let step = if name == "space_to_depth" { ViewStep::SpaceToDepth(s) } else { ViewStep::DepthToSpace(s) };
                Val::Tensor(self.view_step(view, step)?)
            }
            "view" => {
                let layout = match generics.first() {
                    Some(arg) => self.layout_ty(arg)?,
                    None => return self.fail("a view without its layout", "write `x.view::<Planar<C, H, W>>()`"),
                };
                Val::Tensor(self.seen_as(view, layout)?)
            }
            "part" => {
                let (elem, layout) = match generics {
                    [elem, layout] => (self.elem_ty(elem)?, self.layout_ty(layout)?),
                    _ => return self.fail("a part without its type", "write `x.part::<i32, Vector<N>>(byte)`"),
                };
                let byte = self.arg_sum(args, 0)?;
                Val::Tensor(self.part_of(view, &byte, elem, layout)?)
            }
            "tokens" => {
                let (first, n) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                Val::Tensor(self.view_roi(view, [0, first, 1, n])?)
            }
            "gather" => {
                let index = self.arg_pe(args, 0)?;
                self.random(view, index, None)?
            }
            "scatter" => {
                let (index, value) = (self.arg_pe(args, 0)?, self.arg(args, 1)?);
                let value = self.as_pe(&value, Some(view.elem))?;
                self.random(view, index, Some(value))?
            }
            other => return self.fail(format!("`{other}` of a tensor"), ""),
        })
    }

    fn walk_method(&mut self, mut walk: Walk, name: &str, generics: &'p [GenericArg], args: &'p [Expr]) -> R<Val> {
        match name {
            "halo" | "halo_cols" | "halo_rows" => {
                let h = self.arg_usize(args, 0)?;
                if name != "halo_rows" {
                    self.check_border(h)?;
                    walk.layout.halo_cols = h;
                }
                if name != "halo_cols" {
                    walk.layout.halo_rows = h;
                }
            }
            "stride" => walk.layout.stride = self.arg_usize(args, 0)?.max(1),
            "block" => {
                let [by, bx] = generics else {
                    return self.fail("a block without its extents", "write `block::<2, 4>()`");
                };
                walk.layout.block = (self.extent_arg(by)?.max(1), self.extent_arg(bx)?.max(1));
            }
            "grid" => {
                let (rows, cols) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                self.check_grid(rows, cols)?;
                walk.layout.grid = (rows, cols);
            }
            "pipelined" => walk.pipelined = self.arg_usize(args, 0)?.min(16) as u32,
            "chunks" => walk.chunk = self.chunk(generics)?,
            other => return self.fail(format!("`{other}` of a walk"), ""),
        }
        Ok(Val::Walk(walk))
    }
    fn chunk(&mut self, generics: &'p [GenericArg]) -> R<usize> {
        match generics.first() {
            Some(arg) => match self.extent_arg(arg)? {
                0 => self.fail("chunks of no channel", ""),
                n => Ok(n),
            },
            None => self.fail("chunks without their extent", "write `chunks::<4>()`"),
        }
    }

    fn tile_method(
        &mut self,
        mut tile: Tile,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let i32_ty = ScalarTy::Int(IntTy::I32);
        let usize_ty = ScalarTy::Int(IntTy::Usize);
        Ok(match name {
            "fetch" => {
                let (elem, n) = self.lrm_generic(expr, generics)?;
                self.fetch(&tile, elem, n)?
            }
            "store" => {
                let val = match args.first() {
                    Some(arg) => self.expr(arg)?,
                    None => return self.fail("nothing is stored", ""),
                };
                let val = match val {
                    Val::Acc(acc) => Val::Acc(acc),
                    val => self.read(&val)?,
                };
                let elem = tile.view.elem;
                // Parts of a value that a store is given one by one.
                let val = match val {
                    Val::Array(parts) => {
                        let lanes = parts.iter().map(|part| self.as_pe(part, Some(elem))).collect::<R<Vec<_>>>()?;
                        Val::Lrm(Lrm::lanes(elem, lanes))
                    }
                    val => val,
                };
                self.store(&tile, &val)?;
                Val::UNIT
            }
            "tap" => {
                let (dy, dx) = (self.arg_sum(args, 0)?, self.arg_sum(args, 1)?);
                tile.tap = (tile.tap.0.plus(&dy), tile.tap.1.plus(&dx));
                Val::Tile(Box::new(tile))
            }
            "stride" => {
                tile.layout.stride *= self.arg_usize(args, 0)?.clamp(1, 1 << 12);
                Val::Tile(Box::new(tile))
            }
            "grid" => {
                let (rows, cols) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                self.check_grid(rows, cols)?;
                tile.layout.grid = (rows, cols);
                Val::Tile(Box::new(tile))
            }
            "block" => {
                let [by, bx] = generics else {
                    return self.fail("a block without its extents", "write `block::<2, 4>()`");
                };
                tile.layout.block = (self.extent_arg(by)?.max(1), self.extent_arg(bx)?.max(1));
                Val::Tile(Box::new(tile))
            }
            "channels" => {
                tile.channel = tile.channel.plus(&self.arg_sum(args, 0)?);
                Val::Tile(Box::new(tile))
            }
            "chunks" => {
                let chunk = self.chunk(generics)?;
                let (view, layout) = (tile.view.clone(), tile.layout);
                Val::Walk(Walk { view, layout, tile: Some(Box::new(tile)), chunk, pipelined: 0 })
            }
            "inside" => Val::Pe(self.inside(&tile)?),
            "channel" => Self::tile_number(usize_ty, &tile.channel),
            "index" => Self::tile_number(usize_ty, &tile.index),
            "y" => Self::tile_number(i32_ty, &Self::tile_y(&tile)),
            "x" => Self::tile_number(i32_ty, &Self::tile_x(&tile)),
            other => return self.fail(format!("`{other}` of a tile"), ""),
        })
    }
}
