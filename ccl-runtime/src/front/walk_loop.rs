//! Loops over the tiles of a walk.

use ccl_syntax::ast::*;

use super::control::{MOST_TILES, has_flow, key_of};
use super::cx::Cx;
use super::error::{LoopKey, Plan, R, Stop};
use super::value::{Affine, Next, Tile, Val, Walk};
use crate::ir::range::Range;
use crate::ir::{LoopAttr, OpKind, SVal, Type};
use crate::tensor::Kind;

impl<'p> Cx<'p> {
    pub(super) fn walk_loop(&mut self, pattern: &'p Pattern, walk: &Walk, body: &'p Block) -> R<Next> {
        let tiles = self.walk_extent(walk)?;
        let total = tiles.iter().map(|n| *n as u64).product::<u64>();
        let key = key_of(body);
        if self.learnt.plans.get(&key) != Some(&Plan::Whole) {
            let saved = self.save();
            match self.walk_rolled(pattern, walk, tiles, body, key) {
                Err(Stop::Replan(of, new)) if of == key => {
                    if new != Plan::Whole || total > MOST_TILES {
                        self.restore(&saved);
                        return self.fail(
                            format!(
                                "something in the body of this walk over {total} tiles has to be known for each of them"
                            ),
                            "what a trip takes from a broadcast is whole words; indices of arrays are no tiles",
                        );
                    }
                    self.restore(&saved);
                    self.learnt.plans.insert(key, Plan::Whole);
                }
                other => return other.map(|()| Next::Goes),
            }
        }
        let [ty, tx, chunks] = tiles;
        for i in 0..ty {
            for j in 0..tx {
                for k in 0..chunks {
                    let number = |n: usize| Affine::number(n as i64);
                    let tile = self.tile_at(walk, tiles, [number(i), number(j), number(k)]);
                    match self.trip(pattern, Val::Tile(Box::new(tile)), body)? {
                        Next::Goes | Next::Maybe | Next::Continue => {}
                        Next::Break => return Ok(Next::Goes),
                        next @ Next::Return(_) => return Ok(next),
                    }
                }
            }
        }
        Ok(Next::Goes)
    }

    /// Rows of tiles, tiles of a row, chunks of a tile.
    fn walk_extent(&self, walk: &Walk) -> R<[usize; 3]> {
        let dims = walk.view.dims;
        let channels = match &walk.tile {
            Some(tile) => (dims[0] as i64 - self.sum_known(&tile.channel)?).max(0) as usize,
            None => dims[0],
        };
        let chunks = if walk.chunk == 0 { 1 } else { channels.div_ceil(walk.chunk) };
        let (pes_y, pes_x) = walk.layout.pes(dims);
        let (rows, cols) = walk.layout.grid;
        Ok(match (&walk.tile, walk.view.kind) {
            (Some(_), _) => [1, 1, chunks],
            (_, Kind::Tokens) => [1, pes_x.div_ceil(rows * cols), chunks],
            _ => [pes_y.div_ceil(rows), pes_x.div_ceil(cols), chunks],
        })
    }

    fn tile_at(&self, walk: &Walk, [_, tx, chunks]: [usize; 3], [i, j, k]: [Affine; 3]) -> Tile {
        let (rows, cols) = walk.layout.grid;
        let place = i.times(tx as i64).plus(&j);
        let index = place.times(chunks as i64).plus(&k);
        let channel = k.times(walk.chunk as i64);
        if let Some(tile) = &walk.tile {
            return Tile { index, channel: tile.channel.plus(&channel), ..(**tile).clone() };
        }
        let first = match walk.view.kind {
            Kind::Tokens => (Affine::number(0), j.times((rows * cols) as i64)),
            _ => (i.times(rows as i64), j.times(cols as i64)),
        };
        let zero = Affine::number(0);
        let (view, layout) = (walk.view.clone(), walk.layout);
        Tile { view, layout, first, tap: (zero.clone(), zero), channel, index }
    }

    fn walk_rolled(
        &mut self,
        pattern: &'p Pattern,
        walk: &Walk,
        tiles: [usize; 3],
        body: &'p Block,
        key: LoopKey,
    ) -> R<()> {
        let total = tiles.iter().map(|n| *n as u64).product::<u64>();
        if total == 0 {
            return Ok(());
        }
        self.land_named()?;
        self.materialise_for(body, Some(key))?;
        let mut pipelined = if walk.pipelined > 1 { walk.pipelined } else { 0 };
        if self.learnt.sequential.contains(&key) {
            pipelined = 0;
        }
        // The last tile of tokens may end within a row, and takes two flows: it stands by itself.
        let ragged = walk.view.kind == Kind::Tokens
            && walk.tile.is_none()
            && !walk.view.dims[2].is_multiple_of(walk.layout.grid.1);
        let mut parts = vec![(tiles, [0, 0, 0])];
        if ragged && tiles[1] > 1 {
            parts = vec![([1, tiles[1] - 1, tiles[2]], [0, 0, 0]), ([1, 1, tiles[2]], [0, tiles[1] - 1, 0])];
        }
        for (extent, from) in parts {
            let depth = if ragged && from[1] + extent[1] == tiles[1] { 0 } else { pipelined };
            self.walk_level(pattern, walk, (tiles, extent, from), &mut Vec::new(), depth, body, key)?;
        }
        Ok(())
    }

    /// The loops of a walk from level `at.len()` on.
    #[expect(clippy::too_many_arguments, reason = "the levels of one walk share all of it")]
    fn walk_level(
        &mut self,
        pattern: &'p Pattern,
        walk: &Walk,
        part: ([usize; 3], [usize; 3], [usize; 3]),
        at: &mut Vec<Affine>,
        pipelined: u32,
        body: &'p Block,
        key: LoopKey,
    ) -> R<()> {
        let (tiles, extent, from) = part;
        let level = at.len();
        if level == 3 {
            let tile = self.tile_at(walk, tiles, [at[0].clone(), at[1].clone(), at[2].clone()]);
            return match self.trip(pattern, Val::Tile(Box::new(tile)), body)? {
                Next::Goes | Next::Maybe | Next::Continue => Ok(()),
                Next::Break | Next::Return(_) => Err(Stop::Replan(key, Plan::Whole)),
            };
        }
        let n = extent[level];
        // A short last chunk is elaborated by itself.
        let channels = walk.view.reachable(walk.chunk);
        let short = level == 2
            && n > 1
            && walk.chunk > 0
            && match &walk.tile {
                Some(tile) => !(channels as i64 - self.sum_known(&tile.channel)?)
                    .max(0)
                    .unsigned_abs()
                    .is_multiple_of(walk.chunk as u64),
                None => !channels.is_multiple_of(walk.chunk),
            };
        let looped = if short { n - 1 } else { n };
        let outermost = pipelined > 0;
        if looped == 1 && !(outermost && extent[level + 1..].iter().all(|n| *n == 1)) {
            at.push(Affine::number(from[level] as i64));
            self.walk_level(pattern, walk, part, at, pipelined, body, key)?;
            at.pop();
        } else if looped > 0 {
            let before = self.streams.clone();
            let name = ["ty", "tx", "chunk"][level];
            let var = self.b.value(name, Type::Scalar);
            self.ranges.insert(var, Range::between(0, looped as i64 - 1));
            self.depends_on_loop(var, key);
            self.open_loops.push((key, true));
            if outermost {
                // The flow of a ring goes alone in its direction.
                self.land_block(self.b.depth())?;
                self.pipes.push((key, Vec::new(), Vec::new()));
            }
            self.open();
            at.push(self.variable(var).add(from[level] as i64));
            self.walk_level(pattern, walk, part, at, 0, body, key)?;
            at.pop();
            let block = self.close()?;
            self.open_loops.pop();
            if outermost {
                self.pipes.pop();
            }
            let flows = has_flow(&block);
            let attr = LoopAttr { pipelined: if flows { pipelined } else { 0 }, unroll: false };
            let (lo, hi) = (SVal::Imm(0), SVal::Imm(looped as i32));
            self.push(OpKind::For { var, lo, hi, step: 1, attr, body: block });
            match self.stream_trips(&before, looped as u64)? {
                Ok(()) => {}
                Err(_) => return Err(Stop::Replan(key, Plan::Whole)),
            }
        }
        if short {
            at.push(Affine::number((from[level] + n - 1) as i64));
            self.walk_level(pattern, walk, part, at, 0, body, key)?;
            at.pop();
        }
        Ok(())
    }
}
