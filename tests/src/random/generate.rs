//! What a kernel is grown from: names in scope, conditions that are open, and how much may still be written.
//!
//! Every value knows how many border columns of it are defined (`border`): flows, reductions and the MAC unit leave the border
//! undefined, and a neighbour shift would bring it into the array.

use ccl_runtime::kernel::ElemType;
use ccl_syntax::ast::*;
use iss::testing::Rng;

use super::tree::*;

/// Border columns of the smallest machine.
pub(super) const BORDER: u8 = 4;

/// A per-PE value with a name.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub name: String,
    pub elem: ElemType,
    pub border: u8,
    pub mutable: bool,
}

/// A buffer in local memory.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub name: String,
    pub elem: ElemType,
    pub len: usize,
    pub border: u8,
    pub mutable: bool,
    /// Rows of a halo above and below.
    pub halo: usize,
}

/// A scalar whose value lies in `least..=most`.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub name: String,
    pub ty: IntTy,
    pub least: i64,
    pub most: i64,
}

/// A helper function: values in, maybe one lent as `&mut`, a value out.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub name: String,
    pub lent: Option<ElemType>,
    /// Buffers of a const extent come first.
    pub buffer: Option<ElemType>,
    pub params: Vec<ElemType>,
    pub ret: ElemType,
}

/// A constant table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub name: String,
    pub elem: ElemType,
}

/// A kernel in the making.
pub(super) struct Generator {
    pub rng: Rng,
    pub items: Vec<Item>,
    pub values: Vec<Value>,
    pub buffers: Vec<Buffer>,
    pub scalars: Vec<Scalar>,
    /// Scalars of `i32` that are counted up.
    pub counters: Vec<String>,
    pub scales: Vec<String>,
    pub helpers: Vec<Helper>,
    pub tables: Vec<Table>,
    /// Border columns that the expression at hand must define.
    pub need: u8,
    /// Border columns that the open conditions define, if any is open.
    pub mask: Option<u8>,
    /// Whether PEs may exchange data here.
    pub may_talk: bool,
    /// Whether PEs outside of a grid hold nothing defined: then none asks the whole array.
    pub is_partial: bool,
    /// Expressions that may still be written.
    pub room: usize,
    n_names: usize,
}

/// Numbers of names in scope.
pub(super) struct Scope(usize, usize, usize, usize);

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            items: Vec::new(),
            values: Vec::new(),
            buffers: Vec::new(),
            scalars: Vec::new(),
            counters: Vec::new(),
            scales: Vec::new(),
            helpers: Vec::new(),
            tables: Vec::new(),
            need: 0,
            mask: None,
            may_talk: true,
            is_partial: false,
            room: 120,
            n_names: 0,
        }
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    /// Whether to do what is done once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.rng.once_in(n)
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        self.rng.pick(of).clone()
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    pub fn open(&self) -> Scope {
        Scope(self.values.len(), self.buffers.len(), self.scalars.len(), self.counters.len())
    }

    pub fn close(&mut self, scope: Scope) {
        self.values.truncate(scope.0);
        self.buffers.truncate(scope.1);
        self.scalars.truncate(scope.2);
        self.counters.truncate(scope.3);
    }

    /// Runs `f` for an expression that must define so many border columns.
    pub fn needing<R>(&mut self, need: u8, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.need, need);
        let result = f(self);
        self.need = outer;
        result
    }

    /// Runs `f` under a condition that defines so many border columns.
    pub fn masked<R>(&mut self, border: u8, f: impl FnOnce(&mut Self) -> R) -> R {
        let (mask, may_talk) = (self.mask, self.may_talk);
        self.mask = Some(mask.map_or(border, |outer| outer.min(border)));
        self.may_talk = false;
        let result = f(self);
        (self.mask, self.may_talk) = (mask, may_talk);
        result
    }

    pub fn elem(&mut self) -> ElemType {
        use ElemType::*;
        self.pick(&[I8, I8, I16, I16, I32, I32, I32, U8, U16, I64, Bool, Fx(8), Fx(12), Fx(16), Fx(24)])
    }

    pub fn integer_elem(&mut self) -> ElemType {
        use ElemType::*;
        self.pick(&[I8, I16, I32, I32, U8, U16, I64])
    }

    pub fn rounding(&mut self) -> Expr {
        name(self.pick(&["HalfEven", "HalfUp", "Floor", "TowardZero"]))
    }

    pub fn overflow(&mut self) -> Expr {
        name(self.pick(&["Saturate", "Saturate", "Wrap"]))
    }

    /// A number of the type, corners among them.
    pub fn number_of(&mut self, elem: ElemType) -> i64 {
        let (lo, hi) = elem.range();
        match self.below(6) {
            0 => lo,
            1 => hi,
            2 => 0,
            // The literal of the least `i64` has no magnitude that fits.
            _ => (self.below(21) as i64 - 10).clamp(lo, hi),
        }
        .max(-i64::MAX)
    }

    // ---- items ----

    /// Constant tables, and helper functions that use them and each other.
    pub fn add_items(&mut self) {
        for _ in 0..self.below(3) {
            let (elem, n) = (self.integer_elem(), 1 << self.below(5));
            let of = self.fresh("TABLE").to_uppercase();
            let values = (0..n).map(|_| int(self.number_of(elem), None)).collect();
            let value = expr(ExprKind::Array(values));
            self.items.push(constant(&of, array_ty(super::tree::elem(elem), n), value));
            self.tables.push(Table { name: of, elem });
        }
        for _ in 0..self.below(4) {
            self.add_helper();
        }
    }

    fn add_helper(&mut self) {
        let scope = self.open();
        let of = self.fresh("helper");
        let lent = self.once_in(3).then(|| self.elem());
        let buffer = self.once_in(3).then(|| self.integer_elem());
        let params: Vec<ElemType> = (0..1 + self.below(2)).map(|_| self.elem()).collect();
        let ret = self.elem();
        let (mut generics, mut list) = (Vec::new(), Vec::new());
        if let Some(elem) = buffer {
            generics.push(const_param("N"));
            let ty = ty("Lrm", vec![arg_ty(super::tree::elem(elem)), arg_name("N")]);
            list.push(param("buffer", lent_ty(ty, false)));
        }
        if let Some(elem) = lent {
            list.push(param("lent", lent_ty(q(elem), true)));
        }
        for elem in &params {
            let of = self.fresh("p");
            list.push(param(&of, q(*elem)));
            self.values.push(Value { name: of, elem: *elem, border: BORDER, mutable: false });
        }
        // What a helper computes defines as much of the border as what it is given; it is called with all of it or none.
        let (room, may_talk) = (self.room, self.may_talk);
        (self.room, self.may_talk) = (25, false);
        let n = self.below(3);
        let mut stmts = self.stmts(n, 2);
        if let Some(elem) = lent {
            let value = self.pe(elem, 2);
            let place = unary(UnOp::Deref, name("lent"));
            stmts.push(match elem {
                ElemType::Bool => assign(Some(BinOp::BitXor), place, value),
                _ => assign(Some(BinOp::Add), place, value),
            });
        }
        if let Some(elem) = buffer {
            let total = self.fresh("total");
            stmts.push(bind(true, &total, splat(elem, 0)));
            let body = assign(Some(BinOp::Add), name(&total), index(name("buffer"), name("n")));
            stmts.push(for_in("n", range(number(0), name("N"), false), block(vec![body], None)));
            self.values.push(Value { name: total, elem, border: BORDER, mutable: true });
        }
        let tail = self.pe(ret, 3);
        (self.room, self.may_talk) = (room, may_talk);
        self.close(scope);
        let function = function(&of, generics, list, Some(q(ret)), block(stmts, Some(tail)));
        let attrs = if self.once_in(2) { vec![AttrKind::Inline] } else { Vec::new() };
        self.items.push(item(attrs, Vis::Private, ItemKind::Fn(function)));
        self.helpers.push(Helper { name: of, lent, buffer, params, ret });
    }
}

fn lent_ty(target: Ty, mutable: bool) -> Ty {
    lent(target, mutable)
}

/// `splat(value)`, of the type.
pub(super) fn splat(elem: ElemType, value: i64) -> Expr {
    let value = match elem {
        ElemType::Bool => boolean(value != 0),
        ElemType::Fx(bits) => call_with(&["fx"], vec![arg(bits.into())], vec![quarters(value)]),
        other => int(value, suffix(other)),
    };
    call("splat", vec![value])
}
