//! Operations on one lane, in 64 and 128 bit.

use iss::isa::operand::Cond;

use super::super::types::*;
use super::exact;

pub(super) fn wrap(v: i128) -> i64 {
    v as i32 as i64
}

pub(super) fn holds(cond: Cond, a: i64, b: i64) -> bool {
    let (ua, ub) = (a & 0xffff_ffff, b & 0xffff_ffff);
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Ltu => ua < ub,
        Cond::Leu => ua <= ub,
        Cond::Gtu => ua > ub,
        Cond::Geu => ua >= ub,
    }
}

pub(super) fn binary(op: BinOp, a: i64, b: i64) -> i64 {
    let (wa, wb, n) = (a as i128, b as i128, (b & 31) as u32);
    match op {
        BinOp::Add => wrap(wa + wb),
        BinOp::Sub => wrap(wa - wb),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => wrap(wa << n),
        BinOp::Shr => wrap(((a & 0xffff_ffff) >> n) as i128),
        BinOp::Sar => a >> n,
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
    }
}

pub(super) fn scalar(op: SOp, a: i32, b: i32) -> i32 {
    let op = match op {
        SOp::Mov => return a,
        SOp::Mul => return (a as i64 * b as i64) as i32,
        SOp::Add => BinOp::Add,
        SOp::Sub => BinOp::Sub,
        SOp::And => BinOp::And,
        SOp::Or => BinOp::Or,
        SOp::Xor => BinOp::Xor,
        SOp::Shl => BinOp::Shl,
        SOp::Shr => BinOp::Shr,
        SOp::Sar => BinOp::Sar,
        SOp::Min => BinOp::Min,
        SOp::Max => BinOp::Max,
    };
    binary(op, a as i64, b as i64) as i32
}

/// `op a, b` on defined lanes; `None` for a division by zero.
pub fn alu(op: AluOp, a: i32, b: i32) -> Option<i32> {
    let (a, b) = (a as i64, b as i64);
    let value = match op {
        AluOp::Mov => a,
        AluOp::Abs => wrap((a as i128).abs()),
        AluOp::Clip(lo, hi) => a.clamp(lo as i64, hi as i64),
        AluOp::Bin(op) => binary(op, a, b),
        AluOp::Set(cond) => i64::from(holds(cond, a, b)),
        AluOp::FxMul(s) if s >= 0 => wrap((a as i128 * b as i128) >> s),
        AluOp::FxMul(s) => wrap((a as i128 * b as i128) << -s as u32),
        AluOp::FxDiv(_) if b == 0 => return None,
        AluOp::FxDiv(frac) => wrap(((a as i128) << frac) / b as i128),
        AluOp::Exp(from, to) => exact::exp(a, from, to),
        AluOp::Log(from, to) => exact::log(a, from, to),
    };
    Some(value as i32)
}

/// The exact scalar operation, for folding.
pub(crate) fn scalar_op(op: SOp, a: i32, b: i32) -> i32 {
    scalar(op, a, b)
}
/// The exact comparison, for folding.
pub(crate) fn cond_holds(cond: Cond, a: i32, b: i32) -> bool {
    holds(cond, a as i64, b as i64)
}
