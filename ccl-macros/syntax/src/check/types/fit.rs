//! Whether a value fits where a type is wanted: equality of types with unknown parts, literals whose type is open, and the names
//! of a signature, which are bound as its arguments are met.

use std::collections::HashMap;

use super::ty::{Elem, Extent, Layout, Parts, Tensor, Type};

/// What an untyped literal turned out to be.
#[derive(Clone, Debug)]
enum Open {
    Free,
    Same(u32),
    Is(Elem),
}

/// The literals of a function whose type their use decides.
#[derive(Debug, Default)]
pub(super) struct Literals(Vec<Open>);

/// What the names of a signature stand for.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    pub(super) elems: HashMap<&'static str, Elem>,
    pub(super) types: HashMap<&'static str, Type>,
    pub(super) layouts: HashMap<&'static str, Layout>,
    pub(super) extents: HashMap<String, Extent>,
    /// Whether a name that stood for a scalar or per-PE value met a per-PE one.
    pub(super) is_per_pe: bool,
}

/// How a value may be turned into what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coerce {
    /// As in Rust: `&mut T` for `&T`.
    Rust,
    /// As operators and names of the language: scalars are spread, places are lent.
    Language,
}

impl Literals {
    pub(super) fn open(&mut self) -> Elem {
        self.0.push(Open::Free);
        Elem::Literal(self.0.len() as u32 - 1)
    }

    /// The element type as far as it is known.
    pub(super) fn find(&self, elem: &Elem) -> Elem {
        let Elem::Literal(id) = elem else { return elem.clone() };
        let mut id = *id;
        loop {
            match &self.0[id as usize] {
                Open::Free => return Elem::Literal(id),
                Open::Same(other) => id = *other,
                Open::Is(elem) => return elem.clone(),
            }
        }
    }

    pub(super) fn elem(&mut self, a: &Elem, b: &Elem) -> bool {
        match (self.find(a), self.find(b)) {
            (Elem::Unknown, _) | (_, Elem::Unknown) => true,
            (Elem::Literal(a), Elem::Literal(b)) => {
                if a != b {
                    self.0[a as usize] = Open::Same(b);
                }
                true
            }
            (Elem::Literal(id), of @ Elem::Int(_)) | (of @ Elem::Int(_), Elem::Literal(id)) => {
                self.0[id as usize] = Open::Is(of);
                true
            }
            (Elem::Fx(a), Elem::Fx(b)) => extents(&a, &b),
            (a, b) => a == b,
        }
    }

    /// Whether `found` fits `wanted`; names in `wanted` are bound.
    pub(super) fn fits(&mut self, wanted: &Type, found: &Type, names: &mut Bindings, how: Coerce) -> bool {
        use Type::{Acc, Array, Flow, Lrm, Pe, Range, Ref, Scalar, Tuple, Unknown, Var, Weights};
        match (wanted, found) {
            (Unknown, _) | (_, Unknown) => true,
            (Var(name), _) => self.var(name, found, names),
            (Pe(a), Pe(b)) | (Scalar(a), Scalar(b)) | (Range(a), Range(b)) => self.pattern(a, b, names),
            (Pe(a), Scalar(b)) => how == Coerce::Language && self.pattern(a, b, names),
            (Lrm(a, n), Lrm(b, m)) => self.pattern(a, b, names) && bind(n, m, names),
            (Acc(n), Acc(m)) | (Weights(n), Weights(m)) => bind(n, m, names),
            (Type::Tensor(a), Type::Tensor(b)) => self.tensor(a, b, names),
            (Flow(a), Flow(b)) => self.fits(a, b, names, Coerce::Rust),
            (Tuple(a), Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.fits(a, b, names, Coerce::Rust))
            }
            (Array(a, n), Array(b, m)) => self.fits(a, b, names, Coerce::Rust) && bind(n, m, names),
            (Ref { mutable, target }, Ref { mutable: found, target: of }) => {
                // `&&T` is a `&T` where one is wanted.
                match (&**target, &**of) {
                    (Ref { .. }, _) | (_, Ref { .. }) if !mutable && !matches!(**target, Ref { .. }) => {
                        self.fits(wanted, of, names, Coerce::Rust)
                    }
                    _ => (*found || !mutable) && self.fits(target, of, names, Coerce::Rust),
                }
            }
            (Ref { mutable: false, target }, found) if how == Coerce::Language => {
                self.fits(target, found, names, Coerce::Rust)
            }
            (wanted, Ref { target, .. }) if how == Coerce::Language => self.fits(wanted, target, names, how),
            (Type::Walk(_), Type::Walk(_)) | (Type::Tile(_), Type::Tile(_)) => true,
            (Type::Broadcast(_), Type::Broadcast(_)) => true,
            (a, b) => a == b,
        }
    }

    /// A name alone: one element type, as scalar or per-PE value, or any other type.
    fn var(&mut self, name: &'static str, found: &Type, names: &mut Bindings) -> bool {
        match found {
            Type::Scalar(elem) | Type::Pe(elem) => {
                names.is_per_pe |= matches!(found, Type::Pe(_));
                self.pattern(&Elem::Var(name), elem, names)
            }
            Type::Ref { target, .. } => self.var(name, target, names),
            _ => {
                names.types.entry(name).or_insert_with(|| found.clone());
                true
            }
        }
    }

    fn pattern(&mut self, wanted: &Elem, found: &Elem, names: &mut Bindings) -> bool {
        match wanted {
            Elem::Var(name) => match names.elems.get(name).cloned() {
                Some(bound) => self.elem(&bound, found),
                None => {
                    names.elems.insert(name, found.clone());
                    true
                }
            },
            Elem::Fx(bits) => match self.find(found) {
                Elem::Fx(found) => bind(bits, &found, names),
                Elem::Unknown => true,
                _ => false,
            },
            _ => self.elem(wanted, found),
        }
    }

    fn tensor(&mut self, wanted: &Tensor, found: &Tensor, names: &mut Bindings) -> bool {
        if wanted.memory != found.memory || !self.pattern(&wanted.elem, &found.elem, names) {
            return false;
        }
        match (&wanted.layout, &found.layout) {
            (Layout::Unknown, _) | (_, Layout::Unknown) => true,
            (Layout::Var(name), found) => match names.layouts.get(name).cloned() {
                Some(bound) => layouts(&bound, found),
                None => {
                    names.layouts.insert(name, found.clone());
                    true
                }
            },
            (Layout::Named(a, m), Layout::Named(b, n)) => {
                a == b && m.len() == n.len() && m.iter().zip(n).all(|(m, n)| bind(m, n, names))
            }
            (a, b) => a == b,
        }
    }

    /// A type with what is known about its literals.
    pub(super) fn shown(&self, ty: &Type) -> Type {
        ty.map(&Found { literals: self, default: false })
    }
    /// A type in which literals that nothing decides are `i32`.
    pub(super) fn settled(&self, ty: &Type) -> Type {
        ty.map(&Found { literals: self, default: true })
    }
}

struct Found<'a> {
    literals: &'a Literals,
    default: bool,
}

impl Parts for Found<'_> {
    fn elem(&self, elem: &Elem) -> Elem {
        match self.literals.find(elem) {
            Elem::Literal(_) if self.default => Elem::Int(crate::ast::IntTy::I32),
            elem => elem,
        }
    }
    fn extent(&self, extent: &Extent) -> Extent {
        extent.clone()
    }
}

/// Names replaced by what they are bound to; unbound ones stay.
impl Parts for Bindings {
    fn var(&self, name: &'static str) -> Type {
        match (self.types.get(name), self.elems.get(name)) {
            (Some(ty), _) => ty.clone(),
            (None, Some(elem)) if self.is_per_pe => Type::Pe(elem.clone()),
            (None, Some(elem)) => Type::Scalar(elem.clone()),
            (None, None) => Type::Var(name),
        }
    }
    fn elem(&self, elem: &Elem) -> Elem {
        match elem {
            Elem::Var(name) => self.elems.get(name).unwrap_or(elem).clone(),
            Elem::Fx(bits) => Elem::Fx(self.extent(bits)),
            _ => elem.clone(),
        }
    }
    fn extent(&self, extent: &Extent) -> Extent {
        match extent {
            Extent::Var(name) => self.extents.get(name).unwrap_or(extent).clone(),
            _ => extent.clone(),
        }
    }
    fn layout(&self, layout: &Layout) -> Layout {
        match layout {
            Layout::Var(name) => self.layouts.get(name).unwrap_or(layout).clone(),
            _ => layout.clone(),
        }
    }
}

/// Unbound names become unknown.
pub(super) struct Unbound;

impl Parts for Unbound {
    fn var(&self, _: &'static str) -> Type {
        Type::Unknown
    }
    fn elem(&self, elem: &Elem) -> Elem {
        match elem {
            Elem::Var(_) => Elem::Unknown,
            Elem::Fx(bits) => Elem::Fx(self.extent(bits)),
            _ => elem.clone(),
        }
    }
    fn extent(&self, extent: &Extent) -> Extent {
        match extent {
            Extent::Var(_) => Extent::Unknown,
            _ => extent.clone(),
        }
    }
    fn layout(&self, layout: &Layout) -> Layout {
        match layout {
            Layout::Var(_) => Layout::Unknown,
            _ => layout.clone(),
        }
    }
}

pub(super) fn extents(a: &Extent, b: &Extent) -> bool {
    a == b || *a == Extent::Unknown || *b == Extent::Unknown
}

fn layouts(a: &Layout, b: &Layout) -> bool {
    match (a, b) {
        (Layout::Named(a, m), Layout::Named(b, n)) => a == b && m.iter().zip(n).all(|(m, n)| extents(m, n)),
        _ => true,
    }
}

fn bind(wanted: &Extent, found: &Extent, names: &mut Bindings) -> bool {
    let Extent::Var(name) = wanted else { return extents(wanted, found) };
    match names.extents.get(name) {
        Some(bound) => extents(bound, found),
        None => {
            names.extents.insert(name.clone(), found.clone());
            true
        }
    }
}
