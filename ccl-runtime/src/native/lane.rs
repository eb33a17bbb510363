//! Loops over the lanes of vectors, each a concrete function of this crate for each lane type: a generic loop would be compiled
//! in the user's crate, in a test build without optimisation.

use super::geometry::Geometry;
use super::math;
use super::simd::{self, map1, map2, map3};
use super::state::{Buffer, Id, Pool, Pools, Rows, State, Tag, with};
use crate::value::{Axis, Direction, Overflow, Reduction, Rounding};

/// Operations with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "operators")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Min,
    Max,
}

/// Operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "operators")]
pub enum Unary {
    Neg,
    Not,
    Abs,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "operators")]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    /// The comparison of two scalars.
    #[inline]
    pub fn of<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }
}

/// What a lane of a vector may be. Every function makes a fresh value of the innermost scope.
pub trait Lane: Copy + Default + PartialOrd + std::fmt::Debug + Send + Sync + 'static {
    /// The pool.
    const TAG: Tag;
    /// Bytes in memory.
    const BYTES: usize;
    /// Name of the element type.
    const NAME: &'static str;
    /// What a buffer holds before it is written.
    const UNDEFINED: Self;

    #[doc(hidden)]
    fn pool(pools: &Pools) -> &Pool<Self>;
    #[doc(hidden)]
    fn pool_mut(pools: &mut Pools) -> &mut Pool<Self>;
    /// One lane as a number.
    fn to_i64(self) -> i64;
    /// The lane from its bytes, lowest first.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// The bytes of the lane, lowest first.
    fn put_bytes(self, bytes: &mut [u8]);
    /// The same value in every lane.
    fn splat(v: Self) -> Id;
    /// `a op b`, wrapping.
    fn binary(op: Binary, a: Id, b: Id) -> Id;
    /// `op a`, wrapping.
    fn unary(op: Unary, a: Id) -> Id;
    /// `a op b`, a vector of `bool`.
    fn compare(op: Cmp, a: Id, b: Id) -> Id;
    /// `a` where the condition holds, else `b`.
    fn select(condition: Id, a: Id, b: Id) -> Id;
    /// In another lane type.
    fn convert(a: Id, to: Tag, overflow: Overflow) -> Id;
    /// Shifted by a scalar, in 32 bit (64 for `i64`), modulo the width.
    fn shift_by(a: Id, left: bool, n: u32) -> Id;
    /// Shifted by the lanes of an `i32` vector.
    fn shift_lanes(a: Id, left: bool, n: Id) -> Id;
    /// `round(a / 2^n)`.
    fn shift_round(a: Id, n: u32, rounding: Rounding) -> Id;
    /// The lanes of the neighbours.
    fn shift_pe(a: Id, to: Direction, hops: usize) -> Id;
    /// Reduced over enabled PEs.
    fn reduce(a: Id, op: Reduction, over: Axis) -> Id;
    /// `table[index]`, the index modulo the table's length.
    fn lookup(table: &[Id], index: Id) -> Id;
    /// The same from a table of constants.
    fn lookup_const(table: &[Self], index: Id) -> Id;
    /// `State::bind`.
    fn bind(a: Id) -> Id;
    /// `State::home`.
    fn home(a: Id) -> Id;
    /// `State::read`.
    fn read(a: Id) -> Id;
    /// `State::escape`.
    fn escape(a: Id, depth: u32);
    /// `State::assign`.
    fn assign(place: &mut Id, v: Id);
    /// `n` buffers of local memory.
    fn allocate(v: Self, out: &mut [Id]);
}

/// Writes the lanes that are enabled.
pub(crate) fn blend<L: Lane>(mask: &[bool], from: &[L], to: &mut [L]) {
    for ((to, from), on) in to.iter_mut().zip(from).zip(mask) {
        *to = if *on { *from } else { *to };
    }
}

/// A fresh value made by `fill` from the state and a buffer.
#[inline]
fn make<L: Lane>(fill: impl FnOnce(&State, &mut [L])) -> Id {
    with(|s| {
        let mut out: Buffer<L> = s.buffer();
        fill(s, &mut out.lanes);
        s.add(out)
    })
}

pub(crate) fn splat<L: Lane>(v: L) -> Id {
    make(|_, out: &mut [L]| out.fill(v))
}

fn unary<L: Lane>(a: Id, f: impl Fn(L) -> L) -> Id {
    make(|s, out| map1(s.lanes(a), out, f))
}

fn binary<L: Lane>(a: Id, b: Id, f: impl Fn(L, L) -> L) -> Id {
    make(|s, out| map2(s.lanes(a), s.lanes(b), out, f))
}

fn compare<L: Lane>(op: Cmp, a: Id, b: Id) -> Id {
    make(|s, out: &mut [bool]| {
        let (a, b): (&[L], &[L]) = (s.lanes(a), s.lanes(b));
        match op {
            Cmp::Eq => map2(a, b, out, |a, b| a == b),
            Cmp::Ne => map2(a, b, out, |a, b| a != b),
            Cmp::Lt => map2(a, b, out, |a, b| a < b),
            Cmp::Le => map2(a, b, out, |a, b| a <= b),
            Cmp::Gt => map2(a, b, out, |a, b| a > b),
            Cmp::Ge => map2(a, b, out, |a, b| a >= b),
        }
    })
}

fn select<L: Lane>(condition: Id, a: Id, b: Id) -> Id {
    make(|s, out: &mut [L]| {
        map3(s.lanes(condition), s.lanes(a), s.lanes(b), out, |c: bool, a, b| if c { a } else { b })
    })
}

/// The lanes moved toward `to`, 0 coming in at the outer edges.
fn shift_pe<L: Lane>(a: Id, to: Direction, hops: usize) -> Id {
    make(|s, out: &mut [L]| {
        let (g, from): (Geometry, &[L]) = (s.geometry, s.lanes(a));
        out.fill(L::default());
        let width = g.cols + 2 * g.border;
        let west = -(g.border as isize);
        let mut row = vec![L::default(); width];
        let hops = hops.min(width.max(g.rows));
        for r in 0..g.rows {
            let source = match to {
                Direction::North => r.checked_add(hops).filter(|r| *r < g.rows),
                Direction::South => r.checked_sub(hops),
                Direction::East | Direction::West => Some(r),
            };
            let Some(source) = source else { continue };
            g.get_row(from, source, west, &mut row);
            match to {
                Direction::North | Direction::South => {}
                Direction::East => {
                    let hops = hops.min(width);
                    row.copy_within(..width - hops, hops);
                    row[..hops].fill(L::default());
                }
                Direction::West => {
                    let hops = hops.min(width);
                    row.copy_within(hops.., 0);
                    row[width - hops..].fill(L::default());
                }
            }
            g.put_row(out, r, west, &row);
        }
    })
}

/// Reduces over enabled PEs of the array; the border receives 0.
fn reduce<L: Lane>(a: Id, neutral: L, over: Axis, f: impl Fn(L, L) -> L) -> Id {
    make(|s, out: &mut [L]| {
        let (g, from): (Geometry, &[L]) = (s.geometry, s.lanes(a));
        let mask = s.masks.last().map(|mask| &mask.lanes);
        let group = |lane: usize| match over {
            Axis::Row => lane / g.cols,
            Axis::Column => lane % g.cols,
            Axis::Array => 0,
        };
        let mut sums = vec![neutral; g.rows.max(g.cols)];
        for lane in (0..g.core()).filter(|lane| mask.is_none_or(|mask| mask[*lane])) {
            sums[group(lane)] = f(sums[group(lane)], from[lane]);
        }
        out.fill(L::default());
        for (lane, out) in out[..g.core()].iter_mut().enumerate() {
            *out = sums[group(lane)];
        }
    })
}

fn lookup<L: Lane>(table: &[Id], index: Id) -> Id {
    make(|s, out: &mut [L]| {
        let columns: Vec<&[L]> = table.iter().map(|id| s.lanes(*id)).collect();
        let index: &[i32] = s.lanes(index);
        let last = columns.len() - 1;
        for (lane, (out, index)) in out.iter_mut().zip(index).enumerate() {
            *out = columns[*index as u32 as usize & last][lane];
        }
    })
}

fn lookup_const<L: Lane>(table: &[L], index: Id) -> Id {
    make(|s, out: &mut [L]| {
        let index: &[i32] = s.lanes(index);
        let last = table.len() - 1;
        for (out, index) in out.iter_mut().zip(index) {
            *out = table[*index as u32 as usize & last];
        }
    })
}

fn allocate<L: Lane>(v: L, out: &mut [Id]) {
    with(|s| {
        for id in out {
            let mut buffer = s.buffer();
            buffer.lanes.fill(v);
            *id = s.add(buffer);
            s.count_lrm::<L>(*id);
        }
    });
}

/// Limits of what is not an integer of the host's own.
trait Bounds: Lane {
    const LEAST: i64;
    const MOST: i64;
    fn wrap(v: i64) -> Self;
}

fn convert<A: Bounds, B: Bounds>(a: Id, overflow: Overflow, cast: impl Fn(A) -> B) -> Id {
    make(|s, out: &mut [B]| {
        let (lo, hi) = (A::LEAST.max(B::LEAST), A::MOST.min(B::MOST));
        match overflow {
            Overflow::Wrap => map1(s.lanes(a), out, cast),
            Overflow::Saturate if lo == A::LEAST && hi == A::MOST => map1(s.lanes(a), out, cast),
            Overflow::Saturate => {
                let (lo, hi) = (A::wrap(lo), A::wrap(hi));
                let clamp = |v: A| {
                    if v < lo {
                        lo
                    } else if v > hi {
                        hi
                    } else {
                        v
                    }
                };
                map1(s.lanes(a), out, |v| cast(clamp(v)));
            }
        }
    })
}

/// What every lane type has alike.
macro_rules! common {
    ($L:ty, $field:ident, $Tag:ident) => {
        const TAG: Tag = Tag::$Tag;
        const NAME: &'static str = stringify!($L);

        #[inline]
        fn pool(pools: &Pools) -> &Pool<Self> {
            &pools.$field
        }
        #[inline]
        fn pool_mut(pools: &mut Pools) -> &mut Pool<Self> {
            &mut pools.$field
        }
        fn splat(v: Self) -> Id {
            splat(v)
        }
        fn compare(op: Cmp, a: Id, b: Id) -> Id {
            compare::<$L>(op, a, b)
        }
        fn select(condition: Id, a: Id, b: Id) -> Id {
            select::<$L>(condition, a, b)
        }
        fn shift_pe(a: Id, to: Direction, hops: usize) -> Id {
            shift_pe::<$L>(a, to, hops)
        }
        fn lookup(table: &[Id], index: Id) -> Id {
            lookup::<$L>(table, index)
        }
        fn lookup_const(table: &[Self], index: Id) -> Id {
            lookup_const::<$L>(table, index)
        }
        fn bind(a: Id) -> Id {
            with(|s| s.bind::<$L>(a))
        }
        fn home(a: Id) -> Id {
            with(|s| s.home::<$L>(a))
        }
        fn read(a: Id) -> Id {
            with(|s| s.read::<$L>(a))
        }
        fn escape(a: Id, depth: u32) {
            with(|s| s.escape::<$L>(a, depth));
        }
        fn assign(place: &mut Id, v: Id) {
            with(|s| s.assign::<$L>(place, v));
        }
        fn allocate(v: Self, out: &mut [Id]) {
            allocate(v, out);
        }
    };
}

macro_rules! int_lanes {
    ($( $L:ident: $field:ident $Tag:ident, shifts in $Wide:ty, undefined $undefined:expr; )*) => { $(
        impl Bounds for $L {
            const LEAST: i64 = $L::MIN as i64;
            const MOST: i64 = $L::MAX as i64;
            #[inline(always)]
            fn wrap(v: i64) -> Self {
                v as $L
            }
        }

        impl Lane for $L {
            const BYTES: usize = size_of::<$L>();
            const UNDEFINED: Self = $undefined;
            common!($L, $field, $Tag);

            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn from_bytes(bytes: &[u8]) -> Self {
                $L::from_le_bytes(bytes.try_into().expect("the caller cuts elements"))
            }
            #[inline(always)]
            fn put_bytes(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn binary(op: Binary, a: Id, b: Id) -> Id {
                match op {
                    Binary::Add => binary(a, b, $L::wrapping_add),
                    Binary::Sub => binary(a, b, $L::wrapping_sub),
                    Binary::Mul => binary(a, b, $L::wrapping_mul),
                    Binary::And => binary(a, b, |a: $L, b: $L| a & b),
                    Binary::Or => binary(a, b, |a: $L, b: $L| a | b),
                    Binary::Xor => binary(a, b, |a: $L, b: $L| a ^ b),
                    Binary::Min => binary(a, b, |a: $L, b: $L| a.min(b)),
                    Binary::Max => binary(a, b, |a: $L, b: $L| a.max(b)),
                }
            }
            fn unary(op: Unary, a: Id) -> Id {
                match op {
                    Unary::Neg => unary(a, $L::wrapping_neg),
                    Unary::Not => unary(a, |a: $L| !a),
                    // Unsigned types have no sign to lose, and two's complement no absolute value of the least number.
                    Unary::Abs => unary(a, |a: $L| if <$L as Bounds>::LEAST < 0 && a < 0 as $L { a.wrapping_neg() } else { a }),
                }
            }
            fn convert(a: Id, to: Tag, overflow: Overflow) -> Id {
                match to {
                    Tag::I8 => convert(a, overflow, |v: $L| v as i8),
                    Tag::I16 => convert(a, overflow, |v: $L| v as i16),
                    Tag::I32 => convert(a, overflow, |v: $L| v as i32),
                    Tag::I64 => convert(a, overflow, |v: $L| v as i64),
                    Tag::U8 => convert(a, overflow, |v: $L| v as u8),
                    Tag::U16 => convert(a, overflow, |v: $L| v as u16),
                    Tag::Bool => unreachable!("no conversion to `bool` is declared"),
                }
            }
            fn shift_by(a: Id, left: bool, n: u32) -> Id {
                if left {
                    unary(a, move |a: $L| (a as $Wide).wrapping_shl(n) as $L)
                } else {
                    unary(a, move |a: $L| (a as $Wide).wrapping_shr(n) as $L)
                }
            }
            fn shift_lanes(a: Id, left: bool, n: Id) -> Id {
                make(|s, out: &mut [$L]| {
                    let (a, n): (&[$L], &[i32]) = (s.lanes(a), s.lanes(n));
                    if left {
                        map2(a, n, out, |a, n| (a as $Wide).wrapping_shl(n as u32) as $L);
                    } else {
                        map2(a, n, out, |a, n| (a as $Wide).wrapping_shr(n as u32) as $L);
                    }
                })
            }
            fn shift_round(a: Id, n: u32, rounding: Rounding) -> Id {
                match n {
                    0 => unary(a, |a: $L| a),
                    1..=62 if size_of::<$L>() < 8 => match rounding {
                        Rounding::HalfEven => unary(a, |a: $L| math::shift_round(a as i64, n, Rounding::HalfEven) as $L),
                        other => unary(a, |a: $L| math::shift_round(a as i64, n, other) as $L),
                    },
                    _ => unary(a, |a: $L| math::shift_round_any(a as i64, n.min(200) as i32, rounding) as $L),
                }
            }
            fn reduce(a: Id, op: Reduction, over: Axis) -> Id {
                match op {
                    Reduction::Sum => reduce(a, 0 as $L, over, $L::wrapping_add),
                    Reduction::Max => reduce(a, $L::MIN, over, |a, b| a.max(b)),
                    Reduction::Min => reduce(a, $L::MAX, over, |a, b| a.min(b)),
                }
            }
        }
    )* };
}

int_lanes! {
    i8: i8 I8, shifts in i32, undefined 0x55;
    i16: i16 I16, shifts in i32, undefined 0x5555;
    i32: i32 I32, shifts in i32, undefined 0x5555_5555;
    i64: i64 I64, shifts in i64, undefined 0x5555_5555_5555_5555;
    u8: u8 U8, shifts in i32, undefined 0x55;
    u16: u16 U16, shifts in i32, undefined 0x5555;
}

impl Lane for bool {
    const BYTES: usize = 1;
    const UNDEFINED: Self = true;
    common!(bool, bool, Bool);

    fn to_i64(self) -> i64 {
        self as i64
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
    fn put_bytes(self, bytes: &mut [u8]) {
        bytes[0] = self as u8;
    }
    fn binary(op: Binary, a: Id, b: Id) -> Id {
        match op {
            Binary::And | Binary::Min | Binary::Mul => binary(a, b, |a: bool, b: bool| a & b),
            Binary::Or | Binary::Max | Binary::Add => binary(a, b, |a: bool, b: bool| a | b),
            Binary::Xor | Binary::Sub => binary(a, b, |a: bool, b: bool| a ^ b),
        }
    }
    fn unary(op: Unary, a: Id) -> Id {
        match op {
            Unary::Not => unary(a, |a: bool| !a),
            Unary::Neg | Unary::Abs => a,
        }
    }
    fn convert(a: Id, to: Tag, _overflow: Overflow) -> Id {
        fn each<B: Lane>(a: Id, f: impl Fn(bool) -> B) -> Id {
            make(|s, out: &mut [B]| map1(s.lanes(a), out, f))
        }
        match to {
            Tag::I8 => each(a, |v| v as i8),
            Tag::I16 => each(a, |v| v as i16),
            Tag::I32 => each(a, |v| v as i32),
            Tag::I64 => each(a, |v| v as i64),
            Tag::U8 => each(a, |v| v as u8),
            Tag::U16 => each(a, |v| v as u16),
            Tag::Bool => a,
        }
    }
    fn shift_by(_: Id, _: bool, _: u32) -> Id {
        unreachable!("no shift of `bool` is declared")
    }
    fn shift_lanes(_: Id, _: bool, _: Id) -> Id {
        unreachable!("no shift of `bool` is declared")
    }
    fn shift_round(_: Id, _: u32, _: Rounding) -> Id {
        unreachable!("no shift of `bool` is declared")
    }
    fn reduce(a: Id, op: Reduction, over: Axis) -> Id {
        match op {
            Reduction::Sum | Reduction::Max => reduce(a, false, over, |a: bool, b: bool| a | b),
            Reduction::Min => reduce(a, true, over, |a: bool, b: bool| a & b),
        }
    }
}

// ---- what only one lane type has ----

/// The row or column of each PE.
pub(crate) fn place(column: bool) -> Id {
    make(|s, out: &mut [i32]| {
        let g = s.geometry;
        out.fill(0);
        for (lane, out) in out[..g.lanes()].iter_mut().enumerate() {
            let (row, col) = g.place(lane);
            *out = if column { col as i32 } else { row as i32 };
        }
    })
}

pub(crate) fn fx_mul(a: Id, b: Id, shift: i32) -> Id {
    make(|s, out: &mut [i32]| match shift {
        0..=63 => map2(s.lanes(a), s.lanes(b), out, |a: i32, b: i32| ((a as i64 * b as i64) >> shift) as i32),
        _ => map2(s.lanes(a), s.lanes(b), out, |a, b| math::fx_mul(a, b, shift)),
    })
}

/// Quotients; the first enabled PE of the array with a zero divisor instead.
pub(crate) fn fx_div(a: Id, b: Id, frac: u32) -> Result<Id, (usize, usize)> {
    with(|s| {
        let divisor: &[i32] = s.lanes(b);
        if let Some(pe) = s.first_core(|lane| divisor[lane] == 0) {
            return Err(pe);
        }
        let mut out = s.buffer();
        map2(s.lanes(a), s.lanes(b), &mut out.lanes, |a, b| math::fx_div(a, b, frac));
        Ok(s.add(out))
    })
}

pub(crate) fn exp(a: Id, from: u32, to: u32) -> Id {
    unary(a, |a| math::exp(a, from, to))
}

pub(crate) fn ln(a: Id, from: u32, to: u32) -> Id {
    unary(a, |a| math::ln(a, from, to))
}

/// `round(a * mantissa * 2^-shift) + offset` in int8.
pub(crate) fn scale_to_i8(a: Id, mantissa: i32, shift: i32, rounding: Rounding, overflow: Overflow, offset: i32) -> Id {
    make(|s, out: &mut [i8]| {
        let (a, m, offset): (&[i32], i64, i64) = (s.lanes(a), mantissa as i64, offset as i64);
        let narrow = move |v: i64| match overflow {
            Overflow::Saturate => v.clamp(-128, 127) as i8,
            Overflow::Wrap => v as i8,
        };
        match (shift, rounding, overflow) {
            // The usual cases are loops of their own.
            (1..=62, Rounding::HalfEven, Overflow::Saturate) => simd::map1_wide(a, out, |a| {
                let v = math::shift_round(a as i64 * m, shift as u32, Rounding::HalfEven) + offset;
                v.clamp(-128, 127) as i8
            }),
            (1..=62, Rounding::HalfUp, Overflow::Saturate) => simd::map1_wide(a, out, |a| {
                let v = math::shift_round(a as i64 * m, shift as u32, Rounding::HalfUp) + offset;
                v.clamp(-128, 127) as i8
            }),
            (1..=62, ..) => map1(a, out, |a| narrow(math::shift_round(a as i64 * m, shift as u32, rounding) + offset)),
            _ => map1(a, out, |a| narrow(math::shift_round_any(a as i64 * m, shift, rounding).saturating_add(offset))),
        }
    })
}

/// `low32(((a - zero) * mantissa) >> shift)` of an `i32` vector.
pub(crate) fn dequantize(a: Id, zero: i32, mantissa: i32, shift: i32) -> Id {
    unary(a, |a: i32| math::fx_mul(a.wrapping_sub(zero), mantissa, shift))
}

/// The same number with other fraction bits.
pub(crate) fn rescale(a: Id, drop: i32, rounding: Rounding, overflow: Overflow) -> Id {
    unary(a, |a: i32| {
        let v = math::shift_round_any(a as i64, drop, rounding);
        match overflow {
            Overflow::Saturate => v.clamp(i32::MIN as i64, i32::MAX as i64) as i32,
            // A left shift by at most 31 is exact in 64 bits.
            Overflow::Wrap => v as i32,
        }
    })
}

/// Whether the condition holds in any (or every) enabled PE of the array.
pub(crate) fn any(condition: Id, value: bool) -> bool {
    with(|s| {
        let lanes: &[bool] = s.lanes(condition);
        s.first_core(|lane| lanes[lane] == value).is_some()
    })
}

/// Gives a buffer that is assigned as a whole the rows of its value; both by their first vectors.
pub(crate) fn take_rows<L: Lane>(to: Id, from: Id) {
    with(|s| {
        let rows = s.rows::<L>(from);
        s.set_rows::<L>(to, rows);
    });
}

/// The rows of a fetched buffer, read from its first vector.
pub(crate) fn rows_of<L: Lane>(id: Id) -> Rows {
    with(|s| s.rows::<L>(id))
}
