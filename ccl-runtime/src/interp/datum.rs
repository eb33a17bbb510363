//! Values of the language whose types are known in the run. They implement what the native layer asks of a value, so that the
//! functions of `__rt` work on them.

use std::cell::RefCell;
use std::rc::Rc;

use ccl_syntax::ast::IntTy;

use super::lanes::{self, lanes};
use crate::__rt::Probed;
use crate::flow::{Broadcast, Tile, Walk, Weights};
use crate::kernel::{ElemType, LayoutType, Memory};
use crate::native::{Id, Lane};
use crate::tensor::store::Owned;
use crate::tensor::view::View;
use crate::value::{Axis, Blend, Direction, Fx, Overflow, Q, Reduction, Rounding, Scale, Value};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Datum {
    /// An integer in the control unit.
    Int(i128, IntTy),
    /// A condition in the control unit.
    Bool(bool),
    /// Bits and number of fraction bits.
    Fx(i32, u8),
    Scale(Scale),
    Choice(Choice),
    /// `Q<T>`.
    Pe(ElemType, Id),
    /// `Lrm<T, N>`, a slice or a row of one.
    Lrm(ElemType, Vec<Id>),
    Acc(Vec<Id>),
    Weights(Rc<Taken>),
    Tensor(Tensor),
    Walk(Tensor, Box<Walk>),
    Tile(Tensor, Box<Tile>),
    Flow(Box<Datum>),
    Broadcast(Tensor, Rc<RefCell<Broadcast>>),
    Token,
    Range(Counter),
    Tuple(Vec<Datum>),
    Array(Vec<Datum>),
    Ref(Place),
}

/// A choice of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Rounding(Rounding),
    Overflow(Overflow),
    Direction(Direction),
    Reduction(Reduction),
    Axis(Axis),
}

impl Choice {
    /// The choice of that name.
    pub(super) fn named(name: &str) -> Option<Choice> {
        Some(match name {
            "HalfEven" => Choice::Rounding(Rounding::HalfEven),
            "HalfUp" => Choice::Rounding(Rounding::HalfUp),
            "Floor" => Choice::Rounding(Rounding::Floor),
            "TowardZero" => Choice::Rounding(Rounding::TowardZero),
            "Saturate" => Choice::Overflow(Overflow::Saturate),
            "Wrap" => Choice::Overflow(Overflow::Wrap),
            "North" => Choice::Direction(Direction::North),
            "East" => Choice::Direction(Direction::East),
            "South" => Choice::Direction(Direction::South),
            "West" => Choice::Direction(Direction::West),
            "Sum" => Choice::Reduction(Reduction::Sum),
            "Max" => Choice::Reduction(Reduction::Max),
            "Min" => Choice::Reduction(Reduction::Min),
            "Row" => Choice::Axis(Axis::Row),
            "Column" => Choice::Axis(Axis::Column),
            "Array" => Choice::Axis(Axis::Array),
            _ => return None,
        })
    }
}

/// Weights on their way, by the shape of the step.
#[derive(Debug)]
pub(super) enum Taken {
    Dot(Weights<1>),
    Mat4(Weights<4>),
    Outer(Weights<16>),
}

/// A tensor or a view of one. Who holds it keeps its bytes.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) memory: Memory,
    pub(super) elem: ElemType,
    pub(super) view: View,
    pub(super) _owned: Rc<Owned>,
}

impl Tensor {
    pub(super) fn new(memory: Memory, elem: ElemType, layout: LayoutType, bytes: Vec<u8>) -> Self {
        let owned = Owned::new(bytes, memory == Memory::Ocm);
        let view = View::whole(owned.id(), layout.kind, elem.bytes(), layout.dims);
        Self { memory, elem, view, _owned: Rc::new(owned) }
    }
    pub(super) fn with_view(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }
}

/// Numbers of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub(super) ty: IntTy,
    /// First, and one behind the last.
    pub(super) start: i128,
    pub(super) end: i128,
    pub(super) step: i128,
    pub(super) is_reversed: bool,
}

impl Counter {
    pub(super) fn len(&self) -> i128 {
        if self.end <= self.start { 0 } else { (self.end - self.start - 1) / self.step + 1 }
    }
    /// Number `i` of the loop.
    pub(super) fn at(&self, i: i128) -> i128 {
        let i = if self.is_reversed { self.len() - 1 - i } else { i };
        self.start + i * self.step
    }
}

/// What a reference refers to: a variable, and the way to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// Index among the variables, and which of those that were there.
    pub(super) slot: usize,
    pub(super) serial: u64,
    pub(super) path: Vec<Step>,
}

/// From a value to a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Index(usize),
    Range(usize, usize),
    Field(usize),
}

impl Datum {
    pub(super) const UNIT: Datum = Datum::Tuple(Vec::new());

    pub(super) const fn usize(n: usize) -> Self {
        Datum::Int(n as i128, IntTy::Usize)
    }

    /// What it is, in an error.
    pub(super) fn kind(&self) -> String {
        match self {
            Datum::Int(_, ty) => ty.word().to_owned(),
            Datum::Bool(_) => "bool".to_owned(),
            Datum::Fx(_, bits) => format!("Fx<{bits}>"),
            Datum::Scale(_) => "Scale".to_owned(),
            Datum::Choice(choice) => format!("{choice:?}"),
            Datum::Pe(elem, _) => format!("Q<{elem}>"),
            Datum::Lrm(elem, ids) => format!("Lrm<{elem}, {}>", ids.len()),
            Datum::Acc(ids) => format!("Acc<{}>", ids.len()),
            Datum::Weights(_) => "Weights".to_owned(),
            Datum::Tensor(t) if t.memory == Memory::Ocm => format!("Ocm<{}, _>", t.elem),
            Datum::Tensor(t) => format!("Ext<{}, _>", t.elem),
            Datum::Walk(..) => "Walk".to_owned(),
            Datum::Tile(..) => "Tile".to_owned(),
            Datum::Flow(of) => format!("Flow<{}>", of.kind()),
            Datum::Broadcast(..) => "Broadcast".to_owned(),
            Datum::Token => "Token".to_owned(),
            Datum::Range(range) => format!("range of {}", range.ty.word()),
            Datum::Tuple(of) => format!("({})", of.iter().map(Datum::kind).collect::<Vec<_>>().join(", ")),
            Datum::Array(of) => format!("[{}; {}]", of.first().map_or("_".to_owned(), Datum::kind), of.len()),
            Datum::Ref(_) => "a reference".to_owned(),
        }
    }

    /// Whether `other` is of the same type, as far as assignment and blending need it.
    pub(super) fn is_like(&self, other: &Datum) -> bool {
        let all = |a: &[Datum], b: &[Datum]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b));
        match (self, other) {
            (Datum::Int(_, a), Datum::Int(_, b)) => a == b,
            (Datum::Fx(_, a), Datum::Fx(_, b)) => a == b,
            (Datum::Pe(a, _), Datum::Pe(b, _)) => a == b,
            (Datum::Lrm(a, m), Datum::Lrm(b, n)) => a == b && m.len() == n.len(),
            (Datum::Acc(m), Datum::Acc(n)) => m.len() == n.len(),
            (Datum::Flow(a), Datum::Flow(b)) => a.is_like(b),
            (Datum::Tuple(a), Datum::Tuple(b)) | (Datum::Array(a), Datum::Array(b)) => all(a, b),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// Whether every vector in it is the storage of a variable.
    pub(super) fn is_assignable(&self) -> bool {
        match self {
            Datum::Pe(elem, id) => lanes::is_home(*elem, *id),
            Datum::Lrm(elem, ids) => ids.iter().all(|id| lanes::is_home(*elem, *id)),
            Datum::Acc(ids) => ids.iter().all(|id| lanes::is_home(ElemType::I32, *id)),
            Datum::Flow(of) => of.is_assignable(),
            Datum::Tuple(of) | Datum::Array(of) => of.iter().all(Datum::is_assignable),
            _ => true,
        }
    }

    /// The value with `f` applied to every vector in it.
    fn map(self, f: &impl Fn(ElemType, Id) -> Id) -> Self {
        let each = |elem, ids: Vec<Id>| ids.into_iter().map(|id| f(elem, id)).collect();
        match self {
            Datum::Pe(elem, id) => Datum::Pe(elem, f(elem, id)),
            Datum::Lrm(elem, ids) => Datum::Lrm(elem, each(elem, ids)),
            Datum::Acc(ids) => Datum::Acc(each(ElemType::I32, ids)),
            Datum::Flow(of) => Datum::Flow(Box::new(of.map(f))),
            Datum::Tuple(of) => Datum::Tuple(of.into_iter().map(|v| v.map(f)).collect()),
            Datum::Array(of) => Datum::Array(of.into_iter().map(|v| v.map(f)).collect()),
            plain => plain,
        }
    }
}

impl Value for Datum {
    fn bind(self) -> Self {
        self.map(&|elem, id| lanes!(elem, L => <L as Lane>::bind(id)))
    }
    fn var(self) -> Self {
        self.map(&|elem, id| lanes!(elem, L => <L as Lane>::home(id)))
    }
    fn read(self) -> Self {
        self.map(&|elem, id| lanes!(elem, L => <L as Lane>::read(id)))
    }
    fn escape(&self, depth: u32) {
        let each = |elem, ids: &[Id]| ids.iter().for_each(|id| lanes!(elem, L => <L as Lane>::escape(*id, depth)));
        match self {
            Datum::Pe(elem, id) => each(*elem, &[*id]),
            Datum::Lrm(elem, ids) => each(*elem, ids),
            Datum::Acc(ids) => each(ElemType::I32, ids),
            Datum::Flow(of) => of.escape(depth),
            Datum::Tuple(of) | Datum::Array(of) => of.iter().for_each(|v| v.escape(depth)),
            _ => {}
        }
    }
    /// The two are alike, and the place is assignable.
    fn assign(&mut self, v: Self) {
        match (&mut *self, v) {
            (Datum::Pe(elem, place), Datum::Pe(_, id)) => assign(*elem, place, id),
            (Datum::Lrm(elem, places), Datum::Lrm(_, ids)) => {
                assign_all(*elem, places, &ids);
                if let (Some(to), Some(from)) = (places.first(), ids.first()) {
                    lanes!(*elem, L => crate::native::lane::take_rows::<L>(*to, *from));
                }
            }
            (Datum::Acc(places), Datum::Acc(ids)) => assign_all(ElemType::I32, places, &ids),
            (Datum::Flow(place), Datum::Flow(v)) => (**place).assign(*v),
            (Datum::Tuple(places), Datum::Tuple(values)) | (Datum::Array(places), Datum::Array(values)) => {
                places.iter_mut().zip(values).for_each(|(place, v)| place.assign(v));
            }
            // Whether the control unit writes is a rule of scalars.
            (_, v) => {
                let mut is_written = false;
                is_written.assign(true);
                if is_written {
                    *self = v;
                }
            }
        }
    }
}

/// Assigns one vector where PEs are enabled.
pub(super) fn assign(elem: ElemType, place: &mut Id, id: Id) {
    lanes!(elem, L => <L as Lane>::assign(place, id));
}

/// Assigns vectors one by one.
pub(super) fn assign_all(elem: ElemType, places: &mut [Id], ids: &[Id]) {
    places.iter_mut().zip(ids).for_each(|(place, id)| assign(elem, place, *id));
}

impl Blend<Datum> for Datum {
    /// `None` where the two do not go together.
    type Out = Option<Datum>;
    fn blend(condition: Q<bool>, a: Self, b: Datum) -> Option<Datum> {
        let choose = |elem, a, b| lanes!(elem, L => L::select(condition.handle(), a, b));
        let all = |elem, a: Vec<Id>, b: Vec<Id>| a.into_iter().zip(b).map(|(a, b)| choose(elem, a, b)).collect();
        let each = |a: Vec<Datum>, b: Vec<Datum>| {
            a.into_iter().zip(b).map(|(a, b)| Datum::blend(condition, a, b)).collect::<Option<Vec<_>>>()
        };
        if let (Some((elem, a)), Some((other, b))) = (a.spread(), b.spread()) {
            return (elem == other).then(|| Datum::Pe(elem, choose(elem, a, b)));
        }
        if !a.is_like(&b) {
            return None;
        }
        Some(match (a, b) {
            (Datum::Lrm(elem, a), Datum::Lrm(_, b)) => Datum::Lrm(elem, all(elem, a, b)),
            (Datum::Acc(a), Datum::Acc(b)) => Datum::Acc(all(ElemType::I32, a, b)),
            (Datum::Tuple(a), Datum::Tuple(b)) => Datum::Tuple(each(a, b)?),
            (Datum::Array(a), Datum::Array(b)) => Datum::Array(each(a, b)?),
            _ => return None,
        })
    }
}

impl Datum {
    /// As a per-PE value, if it is one or a scalar that PEs hold.
    pub(super) fn spread(&self) -> Option<(ElemType, Id)> {
        match self {
            Datum::Pe(elem, id) => Some((*elem, *id)),
            Datum::Int(v, ty) => elem_of_int(*ty).map(|elem| (elem, lanes::splat(elem, *v as i64))),
            Datum::Bool(v) => Some((ElemType::Bool, lanes::splat(ElemType::Bool, i64::from(*v)))),
            Datum::Fx(raw, bits) => Some((ElemType::Fx(*bits), lanes::splat(ElemType::I32, i64::from(*raw)))),
            _ => None,
        }
    }
}

/// The element type of PEs for an integer type.
pub(super) const fn elem_of_int(ty: IntTy) -> Option<ElemType> {
    Some(match ty {
        IntTy::I8 => ElemType::I8,
        IntTy::I16 => ElemType::I16,
        IntTy::I32 => ElemType::I32,
        IntTy::I64 => ElemType::I64,
        IntTy::U8 => ElemType::U8,
        IntTy::U16 => ElemType::U16,
        IntTy::U32 | IntTy::U64 | IntTy::Usize => return None,
    })
}

impl Probed for Datum {
    fn probe(&self, name: &str) {
        let pe = |elem, id, name: &str| lanes!(elem, L => Q::<L>::of(id).probe(name));
        let each = |elem, ids: &[Id]| {
            ids.iter().enumerate().for_each(|(i, id)| pe(elem, *id, &format!("{name}[{i}]")));
        };
        match self {
            Datum::Int(v, _) => (*v as i64).probe(name),
            Datum::Bool(v) => v.probe(name),
            Datum::Fx(raw, _) => Fx::<0>::from_raw(*raw).probe(name),
            Datum::Pe(elem, id) => pe(*elem, *id, name),
            Datum::Lrm(elem, ids) => each(*elem, ids),
            Datum::Acc(ids) => each(ElemType::I32, ids),
            Datum::Tuple(of) | Datum::Array(of) => {
                of.iter().enumerate().for_each(|(i, v)| v.probe(&format!("{name}[{i}]")));
            }
            _ => {}
        }
    }
}
