//! MACs, regrouped. A run of MACs only reads local memory and adds, wrapping, into accumulators: its order is free. The
//! plan turns a run into blocks of accumulators that see the same words, so that an executor loads each word once and
//! keeps the sums in host registers.
//!
//! Every shape reduces to one primitive, `acc += dot(word, dword of weights)`: four int8 products (`dot` is four of them
//! on one accumulator, `mat4` one on each of four, `outer` one on each of sixteen with the weight in the byte lane of the
//! element) or two int16 products.

use std::ops::Range;

use crate::isa::operand::MacShape;

use super::group::{CHUNK, CHUNKS, Lanes, slot};
use super::simd::Simd;
use super::uop::{Mac, MacWidth};

const N_ACC: usize = slot::N_ACC as usize;
/// Accumulators of a block at most: 8 times 2 chunks of sums fit the host's registers.
const MAX_BLOCK: usize = 8;

/// Accumulators that take the same words with different weights.
#[derive(Clone, Debug)]
pub(super) struct MacBlock {
    /// Slot of each accumulator, `n_acc` of them.
    accs: [u8; MAX_BLOCK],
    n_acc: u8,
    /// Whether the products are int8, four to a word; else int16, two to a word.
    bytes: bool,
    /// Slots read, in the plan's `words`.
    words: Range<usize>,
    /// First dword of weights in the plan's `weights`; `[word][accumulator]`.
    weights: usize,
    /// 128 times the sum of each accumulator's int8 weights: what an unsigned-by-signed product with biased elements adds
    /// too much.
    bias: [i32; MAX_BLOCK],
}

/// What one accumulator collects of the current run.
#[derive(Clone, Debug, Default)]
struct Pending {
    words: Vec<u32>,
    weights: Vec<u32>,
    sum: i32,
}

/// Blocks of a buffer and the run that is being collected.
#[derive(Clone, Debug, Default)]
pub(super) struct MacPlan {
    blocks: Vec<MacBlock>,
    words: Vec<u32>,
    weights: Vec<u32>,
    /// Of the run: lists by accumulator, which of them are not empty, kind of product.
    pending: [Pending; N_ACC],
    used: u16,
    bytes: bool,
}

/// Four weights of a `MacWidth` from their bytes: as dwords of int8, or of int16 pairs.
fn dword(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("a dword is four bytes"))
}

/// Two int8 weights as a dword of int16.
fn widened(bytes: &[u8]) -> u32 {
    let half = |b: u8| (b as i8 as i16 as u16) as u32;
    half(bytes[0]) | half(bytes[1]) << 16
}

impl MacPlan {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.words.clear();
        self.weights.clear();
        self.take_pending();
    }
    /// Whether a MAC of this width can join the current run.
    pub fn accepts(&self, width: MacWidth) -> bool {
        self.used == 0 || self.bytes == (width == MacWidth::W8x8)
    }
    /// Adds a MAC to the current run.
    pub fn add(&mut self, mac: Mac, weights: &[u8]) {
        assert_eq!(weights.len(), mac.width.weight_bytes(), "a MAC pops whole entries of the broadcast queue");
        let n_acc = match mac.shape {
            MacShape::Dot => 1,
            MacShape::Mat4 => 4,
            MacShape::Outer => 16,
        };
        assert!(mac.acc as usize + n_acc <= N_ACC, "a MAC's accumulators exist");
        debug_assert!(
            mac.addr.is_multiple_of(if mac.shape != MacShape::Outer {
                4
            } else {
                1 + (mac.width != MacWidth::W8x8) as u32
            }),
            "the elements of a MAC are aligned"
        );
        self.bytes = mac.width == MacWidth::W8x8;
        if let (true, MacShape::Dot, Ok(weights)) = (self.bytes, mac.shape, weights.try_into()) {
            return self.add_dot(mac, weights);
        }
        if mac.shape == MacShape::Outer {
            self.add_outer(mac, weights);
        } else {
            self.add_words(mac, n_acc, weights);
        }
    }
    /// `dot` of int8, the bulk of most programs.
    fn add_dot(&mut self, mac: Mac, weights: &[u8; 16]) {
        let first = slot::LRM + mac.addr / 4;
        let pending = &mut self.pending[mac.acc as usize];
        pending.words.extend_from_slice(&[first, first + 1, first + 2, first + 3]);
        let mut dwords = [0; 4];
        for (to, from) in dwords.iter_mut().zip(weights.as_chunks().0) {
            *to = u32::from_le_bytes(*from);
        }
        pending.weights.extend_from_slice(&dwords);
        // At most 16 * 128: no 16-bit sum overflows.
        let sum = weights.iter().fold(0i16, |sum, b| sum + *b as i8 as i16);
        pending.sum = pending.sum.wrapping_add(sum as i32);
        self.used |= 1 << mac.acc;
    }
    /// `dot` and `mat4`: the dwords of weights in order, over one accumulator or four.
    fn add_words(&mut self, mac: Mac, n_acc: usize, weights: &[u8]) {
        let first = slot::LRM + mac.addr / 4;
        let mut dwords = [0; 8];
        let n_dwords = match mac.width {
            MacWidth::W8x8 => pack(&mut dwords, weights.chunks_exact(4).map(dword)),
            MacWidth::W16x8 => pack(&mut dwords, weights.chunks_exact(2).map(widened)),
            MacWidth::W16x16 => pack(&mut dwords, weights.chunks_exact(4).map(dword)),
        };
        let per_acc = n_dwords / n_acc;
        for (o, own) in dwords[..n_dwords].chunks_exact(per_acc).enumerate() {
            let pending = &mut self.pending[mac.acc as usize + o];
            pending.words.extend(first..first + per_acc as u32);
            pending.weights.extend_from_slice(own);
            self.used |= 1 << (mac.acc as usize + o);
        }
        if self.bytes {
            let per_acc = 16 / n_acc;
            for (o, own) in weights.chunks_exact(per_acc).enumerate() {
                let sum = own.iter().map(|b| *b as i8 as i32).sum();
                let pending = &mut self.pending[mac.acc as usize + o];
                pending.sum = pending.sum.wrapping_add(sum);
            }
        }
    }
    /// `outer`: each weight in the lane of the element, the other lanes zero.
    fn add_outer(&mut self, mac: Mac, weights: &[u8]) {
        let word = slot::LRM + mac.addr / 4;
        let low = mac.addr % 4 * 8;
        for o in 0..N_ACC {
            let weight = match mac.width {
                MacWidth::W8x8 => weights[o] as u32,
                MacWidth::W16x8 => (weights[o] as i8 as i16 as u16) as u32,
                MacWidth::W16x16 => u16::from_le_bytes([weights[2 * o], weights[2 * o + 1]]) as u32,
            };
            let pending = &mut self.pending[mac.acc as usize + o];
            // Lanes of one word arrive one after the other: collect them in one dword as long as its lane is free.
            let lane = if self.bytes { 0xff } else { 0xffff } << low;
            match (pending.words.last(), pending.weights.last_mut()) {
                (Some(last), Some(dword)) if *last == word && *dword & lane == 0 => *dword |= weight << low,
                _ => {
                    pending.words.push(word);
                    pending.weights.push(weight << low);
                }
            }
            pending.sum = pending.sum.wrapping_add(weights[o] as i8 as i32);
        }
        self.used = u16::MAX;
    }
    /// Ends the run: its blocks, or `None` if there was no MAC.
    pub fn close(&mut self) -> Option<Range<usize>> {
        if self.used == 0 {
            return None;
        }
        let first_block = self.blocks.len();
        let mut rest = self.used;
        while rest != 0 {
            let (accs, n_acc) = self.alike(rest);
            accs[..n_acc].iter().for_each(|acc| rest &= !(1 << acc));
            self.add_blocks(&accs[..n_acc]);
        }
        self.take_pending();
        Some(first_block..self.blocks.len())
    }
    /// The accumulators of `set` that read the same words as its first.
    fn alike(&self, set: u16) -> ([u8; N_ACC], usize) {
        let first = set.trailing_zeros() as usize;
        let words = &self.pending[first].words;
        let (mut accs, mut n_acc) = ([0; N_ACC], 0);
        for acc in (first..N_ACC).filter(|acc| set >> acc & 1 == 1) {
            if self.pending[acc].words == *words {
                accs[n_acc] = acc as u8;
                n_acc += 1;
            }
        }
        (accs, n_acc)
    }
    fn add_blocks(&mut self, accs: &[u8]) {
        let words_at = self.words.len();
        self.words.extend_from_slice(&self.pending[accs[0] as usize].words);
        let words = words_at..self.words.len();
        let mut rest = accs;
        while !rest.is_empty() {
            let (part, left) = rest.split_at(block_size(rest.len()));
            let mut block = MacBlock {
                accs: [0; MAX_BLOCK],
                n_acc: part.len() as u8,
                bytes: self.bytes,
                words: words.clone(),
                weights: self.weights.len(),
                bias: [0; MAX_BLOCK],
            };
            self.weights.resize(block.weights + words.len() * part.len(), 0);
            for (k, acc) in part.iter().enumerate() {
                let pending = &self.pending[*acc as usize];
                let column = self.weights[block.weights..].iter_mut().skip(k).step_by(part.len());
                column.zip(&pending.weights).for_each(|(to, from)| *to = *from);
                block.accs[k] = *acc;
                block.bias[k] = pending.sum.wrapping_mul(128);
            }
            self.blocks.push(block);
            rest = left;
        }
    }
    fn take_pending(&mut self) {
        for acc in (0..N_ACC).filter(|acc| self.used >> acc & 1 == 1) {
            let pending = &mut self.pending[acc];
            pending.words.clear();
            pending.weights.clear();
            pending.sum = 0;
        }
        self.used = 0;
    }
}

fn pack(to: &mut [u32; 8], from: impl Iterator<Item = u32>) -> usize {
    to.iter_mut().zip(from).map(|(to, from)| *to = from).count()
}

/// The largest block that `n` accumulators fill.
fn block_size(n: usize) -> usize {
    [8, 4, 2, 1].into_iter().find(|size| *size <= n).expect("a set of accumulators is not empty")
}

/// Runs blocks of a plan on one group, in the lanes of `enable`.
#[inline(always)]
pub(super) fn run_blocks<B: Simd>(mem: &mut [Lanes], plan: &MacPlan, blocks: Range<usize>, enable: u64) {
    for block in &plan.blocks[blocks] {
        let words = &plan.words[block.words.clone()];
        let weights = &plan.weights[block.weights..];
        match (block.n_acc, block.bytes) {
            (8, true) => run_block::<B, 8, 2, true>(mem, block, words, weights, enable),
            (4, true) => run_block::<B, 4, 4, true>(mem, block, words, weights, enable),
            (2, true) => run_block::<B, 2, 4, true>(mem, block, words, weights, enable),
            (_, true) => run_block::<B, 1, 4, true>(mem, block, words, weights, enable),
            (8, false) => run_block::<B, 8, 2, false>(mem, block, words, weights, enable),
            (4, false) => run_block::<B, 4, 4, false>(mem, block, words, weights, enable),
            (2, false) => run_block::<B, 2, 4, false>(mem, block, words, weights, enable),
            (_, false) => run_block::<B, 1, 4, false>(mem, block, words, weights, enable),
        }
    }
}

/// One block: `K` accumulators, `C` chunks of lanes at a time.
#[inline(always)]
fn run_block<B: Simd, const K: usize, const C: usize, const BYTES: bool>(
    mem: &mut [Lanes],
    block: &MacBlock,
    words: &[u32],
    weights: &[u32],
    enable: u64,
) {
    let (weights, _) = weights.as_chunks::<K>();
    for c0 in (0..CHUNKS).step_by(C) {
        let mut sums = [[B::splat(0); C]; K];
        for k in 0..K {
            let bias = B::splat(if BYTES && B::BIASED { block.bias[k] } else { 0 });
            for (c, sum) in sums[k].iter_mut().enumerate() {
                *sum = B::sub(B::load(mem[block.accs[k] as usize].chunk(c0 + c)), bias);
            }
        }
        for (word, weights) in words.iter().zip(weights) {
            let lanes = &mem[*word as usize];
            if BYTES {
                let x: [B::Bytes; C] = std::array::from_fn(
                    #[inline(always)]
                    |c| B::bytes(B::load(lanes.chunk(c0 + c))),
                );
                for k in 0..K {
                    for c in 0..C {
                        sums[k][c] = B::dot_bytes(sums[k][c], x[c], weights[k]);
                    }
                }
            } else {
                let x: [B::V; C] = std::array::from_fn(
                    #[inline(always)]
                    |c| B::load(lanes.chunk(c0 + c)),
                );
                for k in 0..K {
                    for c in 0..C {
                        sums[k][c] = B::dot_halves(sums[k][c], x[c], weights[k]);
                    }
                }
            }
        }
        for k in 0..K {
            for (c, sum) in sums[k].iter().enumerate() {
                let mask = (enable >> ((c0 + c) * CHUNK)) as u16;
                B::store_masked(mem[block.accs[k] as usize].chunk_mut(c0 + c), *sum, mask);
            }
        }
    }
}
