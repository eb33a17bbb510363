//! What the names of a kernel stand for while it is elaborated. Values are handles on IR values; what is known of them (numbers,
//! ranges) is kept, so that no operation is emitted for it.

use std::rc::Rc;

use ccl_syntax::ast::IntTy;

use crate::ir::range::Range;
use crate::ir::{Id, Src};
use crate::kernel::ElemType;
use crate::tensor::Kind;
use crate::value::{Overflow, Rounding, Scale};

/// Type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarTy {
    Bool,
    Int(IntTy),
    Fx(u8),
    /// An integer whose use decides its type.
    Open,
}

/// A sum of IR scalars, each times a factor, and a number; what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    pub terms: Vec<(Id, i64)>,
    pub constant: i64,
    pub range: Range,
}

/// A scalar: known, or known when the kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Known(i128),
    Run(Affine),
}

/// A scalar with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    pub ty: ScalarTy,
    pub number: Number,
}

impl Scalar {
    pub fn known(ty: ScalarTy, value: i128) -> Self {
        Scalar { ty, number: Number::Known(value) }
    }
    pub fn usize(value: usize) -> Self {
        Self::known(ScalarTy::Int(IntTy::Usize), value as i128)
    }
    pub fn bool(value: bool) -> Self {
        Self::known(ScalarTy::Bool, value.into())
    }
    pub fn as_known(&self) -> Option<i128> {
        match self.number {
            Number::Known(v) => Some(v),
            Number::Run(_) => None,
        }
    }
}

/// A value in every PE. Of 64 bits the high word is apart, unless the value is known to be its low word, sign-extended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pe {
    pub elem: ElemType,
    pub lo: Src,
    pub hi: Option<Src>,
    /// What the value is known to lie in.
    pub range: (i64, i64),
    /// Whether `lo` is the value; else only its low bits are, and who needs the value wraps it.
    pub exact: bool,
}

impl Pe {
    pub fn new(elem: ElemType, lo: Src) -> Self {
        let word = (i32::MIN as i64, i32::MAX as i64);
        let range = if elem == ElemType::I64 { word } else { elem.range() };
        Pe { elem, lo, hi: None, range, exact: true }
    }
    pub fn ranged(elem: ElemType, lo: Src, range: (i64, i64)) -> Self {
        Pe { elem, lo, hi: None, range, exact: true }
    }
    pub fn number(elem: ElemType, v: i64) -> Self {
        match i32::try_from(v) {
            Ok(w) => Pe { elem, lo: Src::Imm(w), hi: None, range: (v, v), exact: true },
            Err(_) => {
                let hi = Some(Src::Imm((v >> 32) as i32));
                Pe { elem, lo: Src::Imm(v as i32), hi, range: (v, v), exact: true }
            }
        }
    }
    pub fn as_known(&self) -> Option<i64> {
        (self.range.0 == self.range.1 && self.exact).then_some(self.range.0)
    }
}

/// How the rows of a fetched buffer lie around the PE's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub n: usize,
    pub above: usize,
}

impl Rows {
    pub const ONE: Rows = Rows { n: 1, above: 0 };
}

/// Where the elements of a buffer are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// From an element of a local buffer on.
    Buffer { id: Id, first: Affine },
    /// In values.
    Lanes(Rc<Vec<Pe>>),
}

/// Elements in the local memory of every PE.
#[derive(Clone, Debug)]
pub(super) struct Lrm {
    pub elem: ElemType,
    pub n: usize,
    pub place: Place,
    pub rows: Rows,
    /// Whether nothing else refers to it: it may be taken over instead of copied.
    pub fresh: bool,
}

/// Accumulators.
#[derive(Clone, Debug)]
pub(super) enum Acc {
    /// A group of accumulators; `fresh` if nobody else refers to it.
    Group { id: Id, n: usize, fresh: bool },
    /// Values that are in none.
    Lanes(Rc<Vec<Pe>>),
    /// The next biases of a stream.
    Bias { stream: usize, n: usize },
    /// Products that are added to something at once.
    Mac { a: Lrm, stream: usize, n: usize },
}

/// A view of a tensor.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub buf: Id,
    pub kind: Kind,
    pub elem: ElemType,
    pub is_external: bool,
    /// Byte of the buffer with which the whole tensor begins.
    pub at: Affine,
    /// Of the whole tensor.
    pub whole: [usize; 3],
    /// Of the view.
    pub dims: [usize; 3],
    pub steps: Vec<ViewStep>,
}

impl View {
    /// A buffer as it was declared.
    pub fn whole(buf: Id, elem: ElemType, (kind, dims): (Kind, [usize; 3]), is_external: bool) -> Self {
        View { buf, kind, elem, is_external, at: Affine::number(0), whole: dims, dims, steps: Vec::new() }
    }
    /// Bytes of the whole tensor.
    pub fn bytes(&self) -> usize {
        self.kind.size_bytes(self.whole, self.elem.bytes())
    }
    /// Channels that a transfer of `n` of them at a time may touch: words that are filled up come and go whole.
    pub fn reachable(&self, n: usize) -> usize {
        let pack = self.kind.pack(self.elem.bytes());
        if self.steps.is_empty() && n.is_multiple_of(pack) { self.dims[0].next_multiple_of(pack) } else { self.dims[0] }
    }
}

/// A change of the way in which a tensor is seen.
#[derive(Clone, Debug)]
pub(super) enum ViewStep {
    Channels(Affine),
    Roi(usize, usize),
    SpaceToDepth(usize),
    DepthToSpace(usize),
}

/// How a walk lays elements on PEs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub grid: (usize, usize),
    pub block: (usize, usize),
    pub stride: usize,
    pub halo_rows: usize,
    pub halo_cols: usize,
}

/// A walk.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub view: View,
    pub layout: Layout,
    pub tile: Option<Box<Tile>>,
    pub chunk: usize,
    pub pipelined: u32,
}

/// One place of a walk.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub view: View,
    pub layout: Layout,
    /// Of them the first of this tile.
    pub first: (Affine, Affine),
    pub tap: (Affine, Affine),
    pub channel: Affine,
    pub index: Affine,
}

/// What a flow, random access or copy brings.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// What is waited for, by number; `None`: it has landed.
    pub token: Option<usize>,
    pub brings: Box<Val>,
}

/// A place that can be lent.
#[derive(Clone, Debug)]
pub(super) enum PlaceRef {
    Slot(usize),
    Field(Box<PlaceRef>, usize),
    Elements(Lrm),
}

/// A value of the language.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Scalar(Scalar),
    /// A scalar variable of the IR.
    ScalarVar(ScalarTy, Id),
    Pe(Pe),
    /// A per-PE variable of the IR, its high word apart.
    PeVar(ElemType, Id, Option<Id>),
    Lrm(Lrm),
    /// One element of a buffer's, as a value: an array of values is a buffer where an engine wants one.
    Acc(Acc),
    Weights {
        stream: usize,
        n: usize,
    },
    Tensor(View),
    Walk(Walk),
    Tile(Box<Tile>),
    Flight(Flight),
    Broadcast(usize),
    Scale(Scale),
    Rounding(Rounding),
    Overflow(Overflow),
    /// A direction, reduction or axis, by its name.
    Choice(&'static str),
    Range {
        start: Scalar,
        end: Scalar,
        step: usize,
        rev: bool,
    },
    Tuple(Vec<Val>),
    Array(Vec<Val>),
    Ref(PlaceRef),
}

impl Val {
    pub const UNIT: Val = Val::Tuple(Vec::new());

    /// What it is, in an error.
    pub fn kind(&self) -> &'static str {
        match self {
            Val::Scalar(_) | Val::ScalarVar(..) => "a scalar",
            Val::Pe(_) | Val::PeVar(..) => "a per-PE value",
            Val::Lrm(_) => "a local buffer",
            Val::Acc(_) => "accumulators",
            Val::Weights { .. } => "weights",
            Val::Tensor(_) => "a tensor",
            Val::Walk(_) => "a walk",
            Val::Tile(_) => "a tile",
            Val::Flight(_) => "a transfer in flight",
            Val::Broadcast(_) => "a broadcast",
            Val::Scale(_) => "a scale",
            Val::Rounding(_) | Val::Overflow(_) | Val::Choice(_) => "a choice",
            Val::Range { .. } => "a range",
            Val::Tuple(v) if v.is_empty() => "nothing",
            Val::Tuple(_) => "a tuple",
            Val::Array(_) => "an array",
            Val::Ref(_) => "a reference",
        }
    }
}

/// What comes after a statement.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and seldom a value")]
pub(super) enum Next {
    Goes,
    /// A variable of the IR says whether the trip goes on.
    Maybe,
    Break,
    Continue,
    Return(Box<Val>),
}
