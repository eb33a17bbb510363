//! The interpreter: runs lowered operations on one group. Generic over the host's vectors; each path compiles the whole
//! loop once.

use super::group::{CHUNK, CHUNKS, LANES, Lanes, Predicates, slot};
use super::mac;
use super::simd::Simd;
use super::trace::{Code, Kind, Mode, Operand, TraceBuffer};
use super::transcendental;

/// A value in every lane of a group, in host registers where possible.
type Value<B> = [<B as Simd>::V; CHUNKS];

#[inline(always)]
fn make<B: Simd>(mut f: impl FnMut(usize) -> B::V) -> Value<B> {
    [f(0), f(1), f(2), f(3)]
}

#[inline(always)]
fn map<B: Simd>(a: Value<B>, f: impl Fn(B::V) -> B::V) -> Value<B> {
    make::<B>(
        #[inline(always)]
        |c| f(a[c]),
    )
}

#[inline(always)]
fn zip<B: Simd>(a: Value<B>, b: Value<B>, f: impl Fn(B::V, B::V) -> B::V) -> Value<B> {
    make::<B>(
        #[inline(always)]
        |c| f(a[c], b[c]),
    )
}

/// One bit per lane.
#[inline(always)]
fn compare<B: Simd>(a: Value<B>, b: Value<B>, f: impl Fn(B::V, B::V) -> u16) -> u64 {
    let bits = |c: usize| (f(a[c], b[c]) as u64) << (c * CHUNK);
    bits(0) | bits(1) | bits(2) | bits(3)
}

#[inline(always)]
fn load<B: Simd>(lanes: &Lanes) -> Value<B> {
    make::<B>(
        #[inline(always)]
        |c| B::load(lanes.chunk(c)),
    )
}

#[inline(always)]
fn to_lanes<B: Simd>(value: Value<B>) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for (c, v) in value.into_iter().enumerate() {
        B::store(lanes.chunk_mut(c), v);
    }
    lanes
}

/// The part of a bit-per-lane mask that belongs to a chunk.
#[inline(always)]
fn chunk_mask(mask: u64, c: usize) -> u16 {
    (mask >> (c * CHUNK)) as u16
}

/// Reads an operand, sign-extended.
#[inline(always)]
pub(super) fn fetch<B: Simd>(mem: &[Lanes], from: Operand) -> Value<B> {
    match from.mode {
        Mode::Word => load::<B>(&mem[from.at as usize]),
        Mode::Splat => {
            let v = B::splat(from.at as i32);
            [v; CHUNKS]
        }
        Mode::Narrow => {
            let left = B::splat(32 - from.low as i32 - from.bits as i32);
            let right = B::splat(32 - from.bits as i32);
            map::<B>(
                load::<B>(&mem[from.at as usize]),
                #[inline(always)]
                |v| B::sar(B::shl(v, left), right),
            )
        }
    }
}

/// Writes a result in the lanes of `enable`.
#[inline(always)]
fn put<B: Simd>(mem: &mut [Lanes], to: Operand, value: Value<B>, enable: u64) {
    let lanes = &mut mem[to.at as usize];
    let value = if to.mode == Mode::Word {
        value
    } else {
        let lane = B::splat((((1u64 << to.bits) - 1) << to.low) as u32 as i32);
        let others = B::splat(!(((1u64 << to.bits) - 1) << to.low) as u32 as i32);
        let low = B::splat(to.low as i32);
        zip::<B>(
            value,
            load::<B>(lanes),
            #[inline(always)]
            |v, old| B::or(B::and(B::shl(v, low), lane), B::and(old, others)),
        )
    };
    for (c, v) in value.into_iter().enumerate() {
        B::store_masked(lanes.chunk_mut(c), v, chunk_mask(enable, c));
    }
}

/// A group that met a zero divisor in an enabled lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupFault {
    /// Whether the group is one of the border.
    pub border: bool,
    /// Number of the group within its part.
    pub group: usize,
    /// Index of the first such operation, and the lanes.
    pub code_idx: usize,
    pub lanes: u64,
}

/// Consecutive groups of one part.
#[derive(Debug)]
pub(super) struct Share<'a> {
    /// Whether they are of the border, without MAC units.
    pub border: bool,
    /// Number of the first.
    pub first: usize,
    /// Slots, `stride` a group of which `n_slots` exist.
    pub mem: &'a mut [Lanes],
    pub stride: usize,
    pub n_slots: usize,
    pub preds: &'a mut [Predicates],
}

/// Runs the buffer on one group after the other.
#[inline(always)]
pub(super) fn run_groups<B: Simd>(share: &mut Share<'_>, trace: &TraceBuffer, faults: &mut Vec<GroupFault>) {
    let groups = share.mem.chunks_exact_mut(share.stride).zip(&mut *share.preds);
    for (g, (mem, preds)) in groups.enumerate() {
        if let Some((code_idx, lanes)) = run_group::<B>(&mut mem[..share.n_slots], preds, trace, !share.border) {
            faults.push(GroupFault { border: share.border, group: share.first + g, code_idx, lanes });
        }
    }
}

/// Runs the buffer on one group; the first division with zero divisors, and their lanes.
#[inline(always)]
fn run_group<B: Simd>(
    mem: &mut [Lanes],
    preds: &mut Predicates,
    trace: &TraceBuffer,
    core: bool,
) -> Option<(usize, u64)> {
    let mut fault = None;
    for (i, code) in trace.code.iter().enumerate() {
        let (a, b, x) = (fetch::<B>(mem, code.a), fetch::<B>(mem, code.b), code.x);
        let result = match code.kind {
            Kind::Mov => a,
            Kind::Abs => map::<B>(a, B::abs),
            Kind::Add => zip::<B>(a, b, B::add),
            Kind::Sub => zip::<B>(a, b, B::sub),
            Kind::And => zip::<B>(a, b, B::and),
            Kind::Or => zip::<B>(a, b, B::or),
            Kind::Xor => zip::<B>(a, b, B::xor),
            Kind::Shl => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::shl(a, B::and(b, B::splat(31))),
            ),
            Kind::Shr => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::shr(a, B::and(b, B::splat(31))),
            ),
            Kind::Sar => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::sar(a, B::and(b, B::splat(31))),
            ),
            Kind::Min => zip::<B>(a, b, B::min),
            Kind::Max => zip::<B>(a, b, B::max),
            Kind::Clip => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, low| B::min(B::max(a, low), B::splat(x)),
            ),
            Kind::CmpEq | Kind::CmpGt | Kind::CmpGtu => {
                preds.set_pred(condition::<B>(code, a, b));
                continue;
            }
            Kind::SetEq | Kind::SetGt | Kind::SetGtu => {
                let bits = condition::<B>(code, a, b);
                make::<B>(
                    #[inline(always)]
                    |c| B::select(chunk_mask(bits, c), B::splat(1), B::splat(0)),
                )
            }
            Kind::Sel => make::<B>(
                #[inline(always)]
                |c| B::select(chunk_mask(preds.pred, c), a[c], b[c]),
            ),
            Kind::LutWord => look_up::<B, 4>(mem, zip::<B>(a, b, B::and), x),
            Kind::LutHalf => look_up::<B, 2>(mem, zip::<B>(a, b, B::and), x),
            Kind::LutByte => look_up::<B, 1>(mem, zip::<B>(a, b, B::and), x),
            Kind::MulLeft => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::shl(B::mul(a, b), B::splat(x)),
            ),
            Kind::MulLow => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::mul_shr(a, b, x),
            ),
            Kind::MulHigh => zip::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::sar(B::mul_high(a, b), B::splat(x)),
            ),
            Kind::Div => {
                let (quotient, zero) = divide(&to_lanes::<B>(a), &to_lanes::<B>(b), x, preds.enable);
                if zero != 0 && fault.is_none() {
                    fault = Some((i, zero));
                }
                put::<B>(mem, code.dst, load::<B>(&quotient), preds.enable & !zero);
                continue;
            }
            Kind::Exp => {
                load::<B>(&transcendental::exp_lanes(&to_lanes::<B>(a), x as u32 & 31, x as u32 >> 8, preds.enable))
            }
            Kind::Log => {
                load::<B>(&transcendental::log_lanes(&to_lanes::<B>(a), x as u32 & 31, x as u32 >> 8, preds.enable))
            }
            Kind::Push => {
                preds.push();
                continue;
            }
            Kind::Else => {
                preds.flip();
                continue;
            }
            Kind::Pop => {
                preds.pop();
                continue;
            }
            Kind::Disable => {
                preds.enable &= !preds.pred;
                continue;
            }
            Kind::Enable => {
                preds.enable = preds.live;
                continue;
            }
            Kind::Mac => {
                if core {
                    let first = x as usize;
                    mac::run_blocks::<B>(mem, &trace.macs, first..first + code.b.at as usize, preds.enable);
                }
                continue;
            }
        };
        put::<B>(mem, code.dst, result, preds.enable);
    }
    fault
}

/// The condition of a compare or set, one bit per lane.
#[inline(always)]
fn condition<B: Simd>(code: &Code, a: Value<B>, b: Value<B>) -> u64 {
    let bits = match code.kind {
        Kind::CmpEq | Kind::SetEq => compare::<B>(a, b, B::eq),
        Kind::CmpGt | Kind::SetGt => compare::<B>(a, b, B::gt),
        _ => {
            let flip = B::splat(i32::MIN);
            compare::<B>(
                a,
                b,
                #[inline(always)]
                |a, b| B::gt(B::xor(a, flip), B::xor(b, flip)),
            )
        }
    };
    bits ^ code.x as i64 as u64
}

/// Element `idx` of a table at byte address `table`, element width `BYTES`, sign-extended.
#[inline(always)]
fn look_up<B: Simd, const BYTES: usize>(mem: &[Lanes], idx: Value<B>, table: i32) -> Value<B> {
    let log2 = B::splat(BYTES.trailing_zeros() as i32);
    make::<B>(
        #[inline(always)]
        |c| {
            let addr = B::add(B::shl(idx[c], log2), B::splat(table));
            let slots = B::add(B::shr(addr, B::splat(2)), B::splat(slot::LRM as i32));
            let word = gather::<B>(mem, c, slots);
            if BYTES == 4 {
                return word;
            }
            let bits = 8 * BYTES as i32;
            let low = B::shl(B::and(addr, B::splat(3)), B::splat(3));
            B::sar(B::shl(word, B::sub(B::splat(32 - bits), low)), B::splat(32 - bits))
        },
    )
}

/// In lane `i`: lane `16 * chunk + i` of the slot that lane `i` of `slots` names. One by one: on hosts with the microcode
/// against Gather Data Sampling, gather instructions are several times slower than that.
#[inline(always)]
fn gather<B: Simd>(mem: &[Lanes], chunk: usize, slots: B::V) -> B::V {
    let mut at = [0; CHUNK];
    B::store(&mut at, slots);
    let mut words = [0; CHUNK];
    for (i, (word, at)) in words.iter_mut().zip(at).enumerate() {
        *word = mem[at as u32 as usize].0[chunk * CHUNK + i];
    }
    B::load(&words)
}

/// Quotients, and the enabled lanes whose divisor is zero.
fn divide(a: &Lanes, b: &Lanes, frac: i32, enable: u64) -> (Lanes, u64) {
    let mut quotient = Lanes::ZERO;
    let mut zero = 0;
    for lane in (0..LANES).filter(|lane| enable >> lane & 1 == 1) {
        match b.0[lane] {
            0 => zero |= 1 << lane,
            b => quotient.0[lane] = (((a.0[lane] as i64) << frac) / b as i64) as i32,
        }
    }
    (quotient, zero)
}

/// Copies an operand of every group to `flat`, 64 elements a group.
#[inline(always)]
pub(super) fn flatten<B: Simd>(mem: &[Lanes], stride: usize, from: Operand, flat: &mut [i32]) {
    for (mem, flat) in mem.chunks_exact(stride).zip(flat.as_chunks_mut::<LANES>().0) {
        for (v, to) in fetch::<B>(mem, from).into_iter().zip(flat.as_chunks_mut().0) {
            B::store(to, v);
        }
    }
}

/// Copies 64 elements a group from `flat` to a slot, in the lanes of the group's mask.
#[inline(always)]
pub(super) fn unflatten<B: Simd>(mem: &mut [Lanes], stride: usize, to: u32, flat: &[i32], masks: &[u64]) {
    let flat = flat.as_chunks::<LANES>().0;
    for ((mem, flat), mask) in mem.chunks_exact_mut(stride).zip(flat).zip(masks) {
        let lanes = &mut mem[to as usize];
        for (c, from) in flat.as_chunks::<CHUNK>().0.iter().enumerate() {
            B::store_masked(lanes.chunk_mut(c), B::load(from), chunk_mask(*mask, c));
        }
    }
}

/// Hands `$consume` the functions above that each path compiles.
macro_rules! for_each_entry {
    ($consume:ident) => {
        $consume! {
            /// [`exec::run_groups`] on this path.
            run_groups(share: &mut Share<'_>, trace: &TraceBuffer, faults: &mut Vec<GroupFault>) -> ();
            /// [`exec::flatten`] on this path.
            flatten(mem: &[Lanes], stride: usize, from: Operand, flat: &mut [i32]) -> ();
            /// [`exec::unflatten`] on this path.
            unflatten(mem: &mut [Lanes], stride: usize, to: u32, flat: &[i32], masks: &[u64]) -> ();
        }
    };
}
pub(super) use for_each_entry;
