//! The constant evaluator: literals, const parameters, `const` items of the block and a fixed list of functions, in 128-bit
//! arithmetic with the ranges of the Rust types. What it cannot evaluate is no constant of the language.
//!
//! | form | |
//! | --- | --- |
//! | literals, names, `(..)`, blocks without statements | |
//! | `+ - * / % << >> & \| ^`, `== != < <= > >=`, `&& \|\|`, `- !` | of one type; an untyped literal takes the other's |
//! | `as` | wraps as in Rust |
//! | `if c { a } else { b }` | only the branch taken is evaluated |
//! | `[a, b]`, `[a; n]`, `a[i]` | |
//! | `min max abs clamp div_ceil next_multiple_of log2 pow is_power_of_two` | as functions and as methods |

use std::collections::HashMap;
use std::fmt;

use crate::ast::*;
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::source::Span;

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer; without a type where only untyped literals went into it.
    Int {
        /// The value.
        value: i128,
        /// Its type.
        ty: Option<IntTy>,
    },
    /// A condition.
    Bool(bool),
    /// An array.
    Array(Vec<Value>),
}

impl Value {
    /// An extent or index.
    pub const fn usize(value: i128) -> Self {
        Self::Int { value, ty: Some(IntTy::Usize) }
    }
    /// The integer, if it is one.
    pub const fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int { value, .. } => Some(*value),
            _ => None,
        }
    }
    fn type_name(&self) -> String {
        match self {
            Self::Int { ty: Some(ty), .. } => ty.word().into(),
            Self::Int { ty: None, .. } => "an integer".into(),
            Self::Bool(_) => "bool".into(),
            Self::Array(elems) => format!("an array of {}", elems.len()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int { value, .. } => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Array(elems) => {
                f.write_str("[")?;
                for (i, elem) in elems.iter().enumerate() {
                    write!(f, "{}{elem}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// The expression is no constant, which has been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotConst;

type Evaluated = Result<Value, NotConst>;

/// Deepest evaluation: an expression of the greatest height, over a chain of constants.
const MAX_EVAL_DEPTH: u32 = 2 * crate::parse::MAX_HEIGHT;
/// Most elements of a constant array.
const MAX_ELEMENTS: usize = 1 << 16;

/// Evaluates constants of one module; each constant once.
pub struct Evaluator<'a> {
    consts: HashMap<&'a str, &'a Item>,
    known: HashMap<&'a str, Evaluated>,
    /// Constants being evaluated, outermost first.
    open: Vec<&'a str>,
    /// Values of const parameters and other names, which hide constants.
    names: HashMap<String, Value>,
    depth: u32,
    diags: &'a mut Diags,
}

impl<'a> Evaluator<'a> {
    /// An evaluator over the constants of `module`.
    pub fn new(module: &'a Module, diags: &'a mut Diags) -> Self {
        let mut consts = HashMap::new();
        for item in &module.items {
            if let ItemKind::Const { name, .. } = &item.kind
                && item.instance_target().is_none()
            {
                consts.entry(name.name.name.as_str()).or_insert(item);
            }
        }
        Self { consts, known: HashMap::new(), open: Vec::new(), names: HashMap::new(), depth: 0, diags }
    }

    /// Where findings go.
    pub fn diags(&mut self) -> &mut Diags {
        self.diags
    }

    /// Gives a name a value: a const parameter of the instance at hand, `ROWS` of its target.
    pub fn define(&mut self, name: &str, value: Value) {
        self.names.insert(name.to_owned(), value);
    }
    /// Forgets the names that were defined.
    pub fn undefine_all(&mut self) {
        self.names.clear();
    }

    /// The value of a constant of the module, if it has one of that name.
    ///
    /// # Errors
    /// [`NotConst`] if it cannot be evaluated; why is among the diagnostics, once.
    pub fn constant(&mut self, name: &str) -> Option<Evaluated> {
        let (name, item) = self.consts.get_key_value(name).map(|(name, item)| (*name, *item))?;
        if let Some(known) = self.known.get(name) {
            return Some(known.clone());
        }
        let ItemKind::Const { ty, value, name: binding } = &item.kind else {
            unreachable!("only constants are listed")
        };
        if let Some(first) = self.open.iter().position(|open| *open == name) {
            let circle: Vec<&str> = self.open[first..].iter().copied().chain([name]).collect();
            let message = format!("`{name}` is defined by itself: {}", circle.join(" -> "));
            self.diags.error(Code::ConstCycle, binding.name.span, message);
            self.known.extend(self.open[first..].iter().map(|name| (*name, Err(NotConst))));
            return Some(Err(NotConst));
        }
        self.open.push(name);
        let outer = std::mem::take(&mut self.names);
        let result = self.eval(value).and_then(|found| self.coerce(found, ty, value.span));
        self.names = outer;
        self.open.pop();
        let result = self.known.entry(name).or_insert(result).clone();
        Some(result)
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// [`NotConst`] if it is none; why is among the diagnostics.
    pub fn eval(&mut self, expr: &'a Expr) -> Evaluated {
        // Constants refer to each other, so the depth is not bounded by that of one expression.
        if self.depth >= MAX_EVAL_DEPTH {
            self.diags.error(Code::TooDeep, expr.span, "constants nested too deep");
            return Err(NotConst);
        }
        self.depth += 1;
        let result = self.eval_at_depth(expr);
        self.depth -= 1;
        result
    }

    fn eval_at_depth(&mut self, expr: &'a Expr) -> Evaluated {
        match &expr.kind {
            ExprKind::Lit(Lit::Int { value, suffix, .. }) => self.int(*value as i128, *suffix, expr.span),
            ExprKind::Lit(Lit::Bool(value)) => Ok(Value::Bool(*value)),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Unary { op, arg } => self.unary(*op, arg, expr.span),
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs, expr.span),
            ExprKind::Cast { value, ty } => self.cast(value, ty),
            ExprKind::Call { callee, args } => match callee.as_name() {
                Some(name) => self.call(&name.name, args.iter().collect(), expr.span),
                None => Err(self.not_const(expr.span, format!("`{}` is no constant function", callee.text()))),
            },
            ExprKind::Method { recv, name, generics, args } if generics.is_empty() => {
                let name = if name.name == "ilog2" { "log2" } else { &name.name };
                self.call(name, [&**recv].into_iter().chain(args).collect(), expr.span)
            }
            ExprKind::If { cond, then, otherwise } => match (self.eval(cond)?, otherwise) {
                (Value::Bool(true), _) => self.block(then),
                (Value::Bool(false), Some(branch)) => self.eval(branch),
                (Value::Bool(_), None) => Err(self.not_const(expr.span, "`if` without `else` has no value".into())),
                (other, _) => {
                    Err(self.wrong_type(cond.span, format!("expected a condition, found {}", other.type_name())))
                }
            },
            ExprKind::Block(block) => self.block(block),
            ExprKind::Array(elems) => elems.iter().map(|e| self.eval(e)).collect::<Result<_, _>>().map(Value::Array),
            ExprKind::Repeat { value, len } => {
                let (value, n) = (self.eval(value)?, self.eval(len)?);
                match n.as_int().and_then(|n| usize::try_from(n).ok()) {
                    Some(n) if n <= MAX_ELEMENTS && !matches!(value, Value::Array(_)) => {
                        Ok(Value::Array(vec![value; n]))
                    }
                    _ => Err(self.not_const(len.span, format!("an array of {n} elements is no constant"))),
                }
            }
            ExprKind::Index { base, index } => self.index(base, index),
            _ => Err(self.not_const(expr.span, "this is only known when the kernel runs".into())),
        }
    }

    fn not_const(&mut self, span: Span, message: String) -> NotConst {
        let diag = Diag::new(Code::NotConst, span, message).help(
            "constants are made of literals, `const` items, const parameters and `min`, `max`, `div_ceil` and the like",
        );
        self.diags.push(diag);
        NotConst
    }
    fn wrong_type(&mut self, span: Span, message: String) -> NotConst {
        self.diags.error(Code::ConstType, span, message);
        NotConst
    }

    /// An integer that must be in the range of its type.
    fn int(&mut self, value: i128, ty: Option<IntTy>, span: Span) -> Evaluated {
        match ty {
            Some(of) if !(of.range().0..=of.range().1).contains(&value) => {
                let (min, max) = of.range();
                self.diags.error(
                    Code::ConstOverflow,
                    span,
                    format!("{value} is outside {min}..={max}, the range of `{}`", of.word()),
                );
                Err(NotConst)
            }
            _ => Ok(Value::Int { value, ty }),
        }
    }
    fn too_large(&mut self, span: Span) -> NotConst {
        self.diags.error(Code::ConstOverflow, span, "larger than any integer type");
        NotConst
    }

    /// A value as one of a declared type.
    fn coerce(&mut self, value: Value, ty: &'a Ty, span: Span) -> Evaluated {
        let declared = match &ty.kind {
            TyKind::Path(path) => path.as_name().map(|name| name.name.as_str()),
            _ => None,
        };
        match (value, declared) {
            (Value::Bool(value), Some("bool")) => Ok(Value::Bool(value)),
            (Value::Int { value, ty: found }, Some(name)) if IntTy::parse(name).is_some() => {
                let of = IntTy::parse(name);
                match (of, found) {
                    (Some(of), Some(found)) if found != of => {
                        Err(self.wrong_type(span, format!("expected `{}`, found `{}`", of.word(), found.word())))
                    }
                    _ => self.int(value, of, span),
                }
            }
            (Value::Array(elems), None) if matches!(ty.kind, TyKind::Array { .. }) => {
                let TyKind::Array { elem, len } = &ty.kind else { unreachable!("the guard says so") };
                let n = self.eval(len)?;
                if n.as_int() != Some(elems.len() as i128) {
                    return Err(self.wrong_type(span, format!("expected an array of {n}, found {}", elems.len())));
                }
                elems.into_iter().map(|e| self.coerce(e, elem, span)).collect::<Result<_, _>>().map(Value::Array)
            }
            (value, _) => {
                let message = format!("expected `{}`, found {}", crate::print::print_ty(ty), value.type_name());
                Err(self.wrong_type(span, message))
            }
        }
    }

    fn path(&mut self, path: &'a Path) -> Evaluated {
        let Some(name) = path.as_name() else {
            return Err(self.not_const(path.span, format!("`{}` is not defined in this block", path.text())));
        };
        if let Some(value) = self.names.get(&name.name) {
            return Ok(value.clone());
        }
        match self.constant(&name.name) {
            Some(value) => value,
            None => Err(self.not_const(path.span, format!("`{}` is only known when the kernel runs", name.name))),
        }
    }

    fn block(&mut self, block: &'a Block) -> Evaluated {
        match (&block.tail, block.stmts.first()) {
            (Some(tail), None) => self.eval(tail),
            (_, Some(stmt)) => Err(self.not_const(stmt.span, "a constant has no statements".into())),
            _ => Err(self.not_const(block.span, "the block has no value".into())),
        }
    }

    fn unary(&mut self, op: UnOp, arg: &'a Expr, span: Span) -> Evaluated {
        // `-128i8` is a literal of its own: the magnitude alone would be out of range.
        if let (UnOp::Neg, ExprKind::Lit(Lit::Int { value, suffix: Some(ty), .. })) = (op, &arg.kind)
            && ty.bits().1
        {
            return self.int(-(*value as i128), Some(*ty), span);
        }
        match (op, self.eval(arg)?) {
            (UnOp::Neg, Value::Int { value, ty: Some(ty) }) if !ty.bits().1 => {
                Err(self.wrong_type(span, format!("`-{value}`: `{}` has no sign", ty.word())))
            }
            (UnOp::Neg, Value::Int { value, ty }) => self.int(-value, ty, span),
            (UnOp::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
            (UnOp::Not, Value::Int { value, ty }) => {
                let (bits, signed) = ty.map_or((32, true), IntTy::bits);
                let flipped = if signed { !value } else { !value & ((1 << bits) - 1) };
                self.int(flipped, ty, span)
            }
            (_, other) => Err(self.wrong_type(span, format!("`{}` does not take {}", op.word(), other.type_name()))),
        }
    }

    fn binary(&mut self, op: BinOp, lhs: &'a Expr, rhs: &'a Expr, span: Span) -> Evaluated {
        let left = self.eval(lhs)?;
        match (op, &left) {
            (BinOp::And, Value::Bool(false)) | (BinOp::Or, Value::Bool(true)) => return Ok(left),
            _ => {}
        }
        let right = self.eval(rhs)?;
        match (&left, &right) {
            (Value::Bool(a), Value::Bool(b)) => {
                let value = match op {
                    BinOp::And | BinOp::BitAnd => a & b,
                    BinOp::Or | BinOp::BitOr => a | b,
                    BinOp::BitXor | BinOp::Ne => a ^ b,
                    BinOp::Eq => a == b,
                    _ => return Err(self.mixed(op, &left, &right, span)),
                };
                Ok(Value::Bool(value))
            }
            (Value::Int { value: a, ty: a_ty }, Value::Int { value: b, ty: b_ty }) => {
                let is_shift = matches!(op, BinOp::Shl | BinOp::Shr);
                let ty = match (a_ty, b_ty) {
                    (Some(a), Some(b)) if a != b && !is_shift => return Err(self.mixed(op, &left, &right, span)),
                    (Some(ty), _) => Some(*ty),
                    (None, ty) if !is_shift => *ty,
                    _ => None,
                };
                self.int_op(op, *a, *b, ty, (&left, &right, span))
            }
            _ => Err(self.mixed(op, &left, &right, span)),
        }
    }

    fn mixed(&mut self, op: BinOp, left: &Value, right: &Value, span: Span) -> NotConst {
        self.wrong_type(span, format!("`{}` does not take {} and {}", op.word(), left.type_name(), right.type_name()))
    }

    fn int_op(&mut self, op: BinOp, a: i128, b: i128, ty: Option<IntTy>, of: (&Value, &Value, Span)) -> Evaluated {
        let span = of.2;
        let value = match op {
            BinOp::Eq => return Ok(Value::Bool(a == b)),
            BinOp::Ne => return Ok(Value::Bool(a != b)),
            BinOp::Lt => return Ok(Value::Bool(a < b)),
            BinOp::Le => return Ok(Value::Bool(a <= b)),
            BinOp::Gt => return Ok(Value::Bool(a > b)),
            BinOp::Ge => return Ok(Value::Bool(a >= b)),
            BinOp::And | BinOp::Or => return Err(self.mixed(op, of.0, of.1, span)),
            BinOp::Add => a.checked_add(b),
            BinOp::Sub => a.checked_sub(b),
            BinOp::Mul => a.checked_mul(b),
            BinOp::Div | BinOp::Rem if b == 0 => {
                self.diags.error(Code::ConstDivision, span, format!("`{a} {} 0`: division by zero", op.word()));
                return Err(NotConst);
            }
            BinOp::Div => a.checked_div(b),
            BinOp::Rem => a.checked_rem(b),
            BinOp::BitAnd => Some(a & b),
            BinOp::BitOr => Some(a | b),
            BinOp::BitXor => Some(a ^ b),
            BinOp::Shl | BinOp::Shr => {
                let (bits, signed) = ty.map_or((64, true), IntTy::bits);
                if !(0..i128::from(bits)).contains(&b) {
                    let message =
                        format!("`{a} {} {b}`: a shift of a {bits}-bit value is at most {}", op.word(), bits - 1);
                    self.diags.error(Code::ConstDivision, span, message);
                    return Err(NotConst);
                }
                match (op, ty) {
                    (BinOp::Shr, _) => Some(a >> b),
                    // A typed shift drops the bits that leave the type, as in Rust.
                    (_, Some(_)) => Some(wrap(a << b, bits, signed)),
                    (_, None) => a.checked_mul(1 << b),
                }
            }
        };
        let Some(value) = value else { return Err(self.too_large(span)) };
        self.int(value, ty, span)
    }

    fn cast(&mut self, value: &'a Expr, ty: &'a Ty) -> Evaluated {
        let target = match &ty.kind {
            TyKind::Path(path) => path.as_name().and_then(|name| IntTy::parse(&name.name)),
            _ => None,
        };
        let found = self.eval(value)?;
        let Some(target) = target else {
            return Err(self
                .wrong_type(ty.span, format!("`as {}`: constants are cast to integers", crate::print::print_ty(ty))));
        };
        let (bits, signed) = target.bits();
        match found {
            Value::Int { value, .. } => Ok(Value::Int { value: wrap(value, bits, signed), ty: Some(target) }),
            Value::Bool(value) => Ok(Value::Int { value: value.into(), ty: Some(target) }),
            Value::Array(_) => Err(self.wrong_type(value.span, "an array cannot be cast".into())),
        }
    }

    fn index(&mut self, base: &'a Expr, index: &'a Expr) -> Evaluated {
        let (array, at) = (self.eval(base)?, self.eval(index)?);
        match (array, at) {
            (Value::Array(elems), Value::Int { value, .. }) => {
                let found = usize::try_from(value).ok().and_then(|i| elems.get(i).cloned());
                found.ok_or_else(|| {
                    let message = format!("index {value} of an array of {}", elems.len());
                    self.diags.error(Code::ConstIndex, index.span, message);
                    NotConst
                })
            }
            (array, at) => {
                Err(self.wrong_type(base.span, format!("{} indexed by {}", array.type_name(), at.type_name())))
            }
        }
    }

    /// A function of the fixed list; methods pass their receiver first.
    fn call(&mut self, name: &str, args: Vec<&'a Expr>, span: Span) -> Evaluated {
        const NAMES: &[&str] =
            &["min", "max", "abs", "clamp", "div_ceil", "next_multiple_of", "log2", "pow", "is_power_of_two"];
        if !NAMES.contains(&name) {
            return Err(self.not_const(span, format!("`{name}` is no constant function")));
        }
        let mut ints = Vec::new();
        let mut ty = None;
        for (i, arg) in args.into_iter().enumerate() {
            match self.eval(arg)? {
                Value::Int { value, ty: found } => {
                    ints.push(value);
                    // The exponent of `pow` has a type of its own.
                    if let Some(found) = found.filter(|_| i == 0 || name != "pow") {
                        if ty.is_some_and(|ty| ty != found) {
                            return Err(self.wrong_type(arg.span, format!("`{name}` takes values of one type")));
                        }
                        ty = Some(found);
                    }
                }
                other => {
                    let message = format!("`{name}` takes integers, found {}", other.type_name());
                    return Err(self.wrong_type(arg.span, message));
                }
            }
        }
        let zero = |this: &mut Self, what: String| {
            this.diags.error(Code::ConstDivision, span, what);
            NotConst
        };
        let value = match (name, ints.as_slice()) {
            ("min", &[a, b]) => Some(a.min(b)),
            ("max", &[a, b]) => Some(a.max(b)),
            ("abs", &[a]) => Some(a.abs()),
            ("clamp", &[x, lo, hi]) if lo <= hi => Some(x.clamp(lo, hi)),
            ("clamp", &[_, lo, hi]) => {
                return Err(
                    self.wrong_type(span, format!("`clamp`: the lower bound {lo} is above the upper bound {hi}"))
                );
            }
            ("div_ceil" | "next_multiple_of", &[a, 0]) => {
                return Err(zero(self, format!("`{name}({a}, 0)`: division by zero")));
            }
            ("div_ceil" | "next_multiple_of", &[a, b]) if a < 0 || b < 0 => {
                return Err(self.wrong_type(span, format!("`{name}({a}, {b})` takes extents, which are not negative")));
            }
            ("div_ceil", &[a, b]) => Some(a / b + i128::from(a % b != 0)),
            ("next_multiple_of", &[a, b]) => (a / b + i128::from(a % b != 0)).checked_mul(b),
            ("log2", &[a]) if a > 0 => Some(a.ilog2().into()),
            ("log2", &[a]) => return Err(zero(self, format!("`log2({a})`: only positive numbers have one"))),
            ("pow", &[a, n]) => match u32::try_from(n) {
                Ok(n) => a.checked_pow(n),
                Err(_) => return Err(self.wrong_type(span, format!("`pow({a}, {n})`: the exponent is no `u32`"))),
            },
            ("is_power_of_two", &[a]) => return Ok(Value::Bool(a > 0 && a & (a - 1) == 0)),
            _ => {
                self.diags.error(Code::ArgumentCount, span, format!("`{name}` does not take {} values", ints.len()));
                return Err(NotConst);
            }
        };
        let Some(value) = value else { return Err(self.too_large(span)) };
        self.int(value, ty, span)
    }
}

/// The low `bits` of a value, as a signed or unsigned number.
fn wrap(value: i128, bits: u32, signed: bool) -> i128 {
    let shift = 128 - bits;
    if signed { value << shift >> shift } else { ((value << shift) as u128 >> shift) as i128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `R` in a block of constants, or the first error.
    #[track_caller]
    fn check(text: &str) -> String {
        let mut diags = Diags::default();
        let (module, _) = crate::parse_items("c.rs", text, &mut diags);
        let result = Evaluator::new(&module, &mut diags).constant("R").expect("there is an R");
        let found = diags.take();
        match (result, found.first()) {
            (Ok(value), None) => value.to_string(),
            (Err(NotConst), Some(diag)) => format!("{} {}", diag.code, diag.message),
            (result, diags) => panic!("{result:?} with {diags:?}"),
        }
    }

    #[test]
    fn evaluates() {
        assert_eq!(check("const A: usize = 3; const R: usize = A * (2 + A) - 1;"), "14");
        assert_eq!(check("const R: i32 = -7 / 2;"), "-3");
        assert_eq!(check("const R: i32 = -7 % 4;"), "-3");
        assert_eq!(check("const R: i8 = -128i8;"), "-128");
        assert_eq!(check("const R: i8 = 200u8 as i8;"), "-56");
        assert_eq!(check("const R: u8 = -1i32 as u8;"), "255");
        assert_eq!(check("const R: u8 = !0u8 >> 4;"), "15");
        assert_eq!(check("const R: u8 = 0x81u8 << 1;"), "2");
        assert_eq!(check("const R: usize = if 3 > 2 && true { div_ceil(33, 32) } else { 1 / 0 };"), "2");
        assert_eq!(check("const R: usize = 33usize.next_multiple_of(4).min(40);"), "36");
        assert_eq!(check("const R: usize = log2(1024) + pow(2, 3);"), "18");
        assert_eq!(check("const T: [i32; 3] = [1, -2, 3]; const R: i32 = T[1];"), "-2");
        assert_eq!(check("const R: [u8; 2] = [7; 2];"), "[7, 7]");
        assert_eq!(check("const R: bool = is_power_of_two(64) ^ false;"), "true");
        assert_eq!(check("const R: u64 = 18446744073709551615;"), "18446744073709551615");
    }

    #[test]
    fn corners_are_errors() {
        for (text, expected) in [
            ("const R: u8 = 256;", "C0302 256 is outside 0..=255, the range of `u8`"),
            ("const R: usize = 3 - 4;", "C0302 -1 is outside 0..=18446744073709551615, the range of `usize`"),
            (
                "const A: usize = 3; const R: usize = A - 4;",
                "C0302 -1 is outside 0..=18446744073709551615, the range of `usize`",
            ),
            ("const R: i32 = pow(2, 31);", "C0302 2147483648 is outside -2147483648..=2147483647, the range of `i32`"),
            ("const R: i32 = pow(10, 99);", "C0302 larger than any integer type"),
            ("const R: i32 = 7 % (3 - 3);", "C0303 `7 % 0`: division by zero"),
            ("const R: i32 = 1i32 << 32;", "C0303 `1 << 32`: a shift of a 32-bit value is at most 31"),
            ("const R: i32 = 1 << -1;", "C0303 `1 << -1`: a shift of a 64-bit value is at most 63"),
            ("const R: usize = div_ceil(1, 0);", "C0303 `div_ceil(1, 0)`: division by zero"),
            ("const R: usize = log2(0);", "C0303 `log2(0)`: only positive numbers have one"),
            ("const R: usize = 1usize + 1u8;", "C0305 `+` does not take usize and u8"),
            ("const R: usize = 1 + true;", "C0305 `+` does not take an integer and bool"),
            ("const R: usize = -1usize;", "C0305 `-1`: `usize` has no sign"),
            ("const R: bool = 1;", "C0305 expected `bool`, found an integer"),
            ("const R: [i32; 3] = [1, 2];", "C0305 expected an array of 3, found 2"),
            ("const T: [i32; 1] = [1]; const R: i32 = T[1];", "C0306 index 1 of an array of 1"),
            ("const R: i32 = q_row();", "C0301 `q_row` is no constant function"),
            ("const R: i32 = a::B;", "C0301 `a::B` is not defined in this block"),
            ("const R: i32 = N;", "C0301 `N` is only known when the kernel runs"),
            ("const R: i32 = R;", "C0304 `R` is defined by itself: R -> R"),
            (
                "const R: i32 = A; const A: i32 = B + 1; const B: i32 = A;",
                "C0304 `A` is defined by itself: A -> B -> A",
            ),
            ("const R: usize = clamp(1, 3, 2);", "C0305 `clamp`: the lower bound 3 is above the upper bound 2"),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn const_parameters_hide_constants() {
        let mut diags = Diags::default();
        let (module, _) = crate::parse_items("c.rs", "const N: usize = 1; const R: usize = N + 1;", &mut diags);
        let ItemKind::Const { value, .. } = &module.items[1].kind else { panic!("a constant") };
        let mut evaluator = Evaluator::new(&module, &mut diags);
        evaluator.define("N", Value::usize(8));
        assert_eq!(evaluator.eval(value), Ok(Value::usize(9)));
        // Items do not see the parameters of a function.
        assert_eq!(evaluator.constant("R"), Some(Ok(Value::usize(2))));
        assert!(diags.is_empty());
    }
}
