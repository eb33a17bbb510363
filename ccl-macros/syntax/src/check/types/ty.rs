//! The types of the language as the front end sees them, and their text. Rules are elsewhere.
//!
//! An extent or number of fraction bits is a number or the name of a const parameter. Stable Rust has no computed extents, so
//! two extents are the same if and only if their numbers or names are.

use std::fmt;

use crate::ast::IntTy;

/// Type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Not known, because of an error that has been reported or a name from outside. Fits everything.
    Unknown,
    /// One value, in the control unit.
    Scalar(Elem),
    /// `Q<T>`: one value in every PE.
    Pe(Elem),
    /// `Lrm<T, N>`.
    Lrm(Elem, Extent),
    /// `Acc<N>`.
    Acc(Extent),
    /// `Weights<N>`.
    Weights(Extent),
    /// `Ocm<T, L>`, `Ext<T, L>`.
    Tensor(Tensor),
    /// `Walk` over the tiles of a tensor.
    Walk(Option<Tensor>),
    /// `Tile` of a tensor.
    Tile(Option<Tensor>),
    /// `Flow<T>`.
    Flow(Box<Type>),
    /// `Broadcast` of a tensor.
    Broadcast(Option<Tensor>),
    /// `Token`.
    Token,
    /// `Scale`.
    Scale,
    /// A choice: `Rounding`, `Overflow`, `Direction`, `Reduction`, `Axis`.
    Choice(&'static str),
    /// `Kernel`.
    Kernel,
    /// A range of scalars.
    Range(Elem),
    /// `(A, B)`; none is the unit type.
    Tuple(Vec<Type>),
    /// `[T; N]`.
    Array(Box<Type>, Extent),
    /// `&T`, `&mut T`.
    Ref {
        /// Whether it may be written through.
        mutable: bool,
        /// What it refers to.
        target: Box<Type>,
    },
    /// In a signature of the table: whatever type the name stands for.
    Var(&'static str),
}

/// Type of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elem {
    /// Not known; fits everything.
    Unknown,
    /// `bool`.
    Bool,
    /// An integer.
    Int(IntTy),
    /// An integer literal whose type its use decides; `i32` where none does.
    Literal(u32),
    /// `Fx<F>`.
    Fx(Extent),
    /// In a signature of the table: whatever element the name stands for.
    Var(&'static str),
}

/// An extent, or a number of fraction bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Not known; fits everything.
    Unknown,
    /// A number.
    Known(i128),
    /// A const parameter of the function.
    Param(String),
    /// In a signature: whatever extent the name stands for.
    Var(String),
}

/// A tensor in one of the memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it lies.
    pub memory: Memory,
    /// Its elements.
    pub elem: Elem,
    /// How they are laid out.
    pub layout: Layout,
    /// Whether it is reached through a `&`, so that flows only read it.
    pub is_shared: bool,
}

impl Tensor {
    /// Its channels, or features of a token, where the layout has them.
    pub(super) fn channels(&self) -> Option<&Extent> {
        match &self.layout {
            Layout::Named("Planar" | "Packed", extents) => extents.first(),
            Layout::Named("Tokens", extents) => extents.get(1),
            _ => None,
        }
    }
}

/// A memory that holds tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// On chip.
    Ocm,
    /// External.
    Ext,
}

/// A layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Not known, such as that of a view; fits everything.
    Unknown,
    /// One of the table, with its extents.
    Named(&'static str, Vec<Extent>),
    /// In a signature of the table: whatever layout the name stands for.
    Var(&'static str),
}

impl Type {
    /// `()`.
    pub const UNIT: Self = Self::Tuple(Vec::new());
    /// A condition in the control unit.
    pub const BOOL: Self = Self::Scalar(Elem::Bool);
    /// An extent or index.
    pub const USIZE: Self = Self::Scalar(Elem::Int(IntTy::Usize));

    /// The type behind any references.
    pub fn behind_refs(&self) -> &Self {
        let mut ty = self;
        while let Self::Ref { target, .. } = ty {
            ty = target;
        }
        ty
    }
    /// Whether a `&` stands in front of it.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Self::Ref { mutable, target } => !mutable || target.is_shared(),
            _ => false,
        }
    }
    /// The type with one part of every nested type replaced.
    #[must_use]
    pub(super) fn map(&self, parts: &impl Parts) -> Self {
        let tensor = |t: &Tensor| Tensor {
            memory: t.memory,
            is_shared: t.is_shared,
            elem: parts.elem(&t.elem),
            layout: match parts.layout(&t.layout) {
                Layout::Named(name, extents) => {
                    Layout::Named(name, extents.iter().map(|extent| parts.extent(extent)).collect())
                }
                layout => layout,
            },
        };
        match self {
            Self::Var(name) => parts.var(name),
            Self::Scalar(elem) => Self::Scalar(parts.elem(elem)),
            Self::Pe(elem) => Self::Pe(parts.elem(elem)),
            Self::Range(elem) => Self::Range(parts.elem(elem)),
            Self::Lrm(elem, n) => Self::Lrm(parts.elem(elem), parts.extent(n)),
            Self::Acc(n) => Self::Acc(parts.extent(n)),
            Self::Weights(n) => Self::Weights(parts.extent(n)),
            Self::Tensor(t) => Self::Tensor(tensor(t)),
            Self::Walk(t) => Self::Walk(t.as_ref().map(tensor)),
            Self::Tile(t) => Self::Tile(t.as_ref().map(tensor)),
            Self::Flow(of) => Self::Flow(Box::new(of.map(parts))),
            Self::Tuple(types) => Self::Tuple(types.iter().map(|ty| ty.map(parts)).collect()),
            Self::Array(elem, n) => Self::Array(Box::new(elem.map(parts)), parts.extent(n)),
            Self::Ref { mutable, target } => Self::Ref { mutable: *mutable, target: Box::new(target.map(parts)) },
            Self::Broadcast(t) => Self::Broadcast(t.as_ref().map(tensor)),
            Self::Unknown | Self::Token | Self::Scale | Self::Choice(_) | Self::Kernel => self.clone(),
        }
    }
}

/// What [`Type::map`] puts in the place of the parts of a type.
pub(super) trait Parts {
    /// For a type that a name stands for.
    fn var(&self, name: &'static str) -> Type {
        Type::Var(name)
    }
    /// For an element type.
    fn elem(&self, elem: &Elem) -> Elem;
    /// For an extent.
    fn extent(&self, extent: &Extent) -> Extent;
    /// For a layout; the extents of the result are replaced as well.
    fn layout(&self, layout: &Layout) -> Layout {
        layout.clone()
    }
}

impl Elem {
    /// Width in bits and whether it has a sign, of numbers.
    pub fn bits(&self) -> Option<(u32, bool)> {
        match self {
            Self::Int(ty) => Some(ty.bits()),
            Self::Fx(_) => Some((32, true)),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("_"),
            Self::Scalar(elem) => elem.fmt(f),
            Self::Pe(elem) => write!(f, "Q<{elem}>"),
            Self::Lrm(elem, n) => write!(f, "Lrm<{elem}, {n}>"),
            Self::Acc(n) => write!(f, "Acc<{n}>"),
            Self::Weights(n) => write!(f, "Weights<{n}>"),
            Self::Tensor(tensor) => tensor.fmt(f),
            Self::Walk(_) => f.write_str("Walk"),
            Self::Tile(_) => f.write_str("Tile"),
            Self::Flow(of) => write!(f, "Flow<{of}>"),
            Self::Broadcast(_) => f.write_str("Broadcast"),
            Self::Token => f.write_str("Token"),
            Self::Scale => f.write_str("Scale"),
            Self::Choice(name) | Self::Var(name) => f.write_str(name),
            Self::Kernel => f.write_str("Kernel"),
            Self::Range(elem) => write!(f, "range of {elem}"),
            Self::Tuple(types) => {
                f.write_str("(")?;
                for (i, ty) in types.iter().enumerate() {
                    write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(if types.len() == 1 { ",)" } else { ")" })
            }
            Self::Array(elem, n) => write!(f, "[{elem}; {n}]"),
            Self::Ref { mutable, target } => write!(f, "&{}{target}", if *mutable { "mut " } else { "" }),
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("_"),
            Self::Bool => f.write_str("bool"),
            Self::Int(ty) => f.write_str(ty.word()),
            Self::Literal(_) => f.write_str("integer"),
            Self::Fx(bits) => write!(f, "Fx<{bits}>"),
            Self::Var(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("_"),
            Self::Known(n) => n.fmt(f),
            Self::Param(name) | Self::Var(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = match self.memory {
            Memory::Ocm => "Ocm",
            Memory::Ext => "Ext",
        };
        write!(f, "{memory}<{}, {}>", self.elem, self.layout)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("_"),
            Self::Var(name) => f.write_str(name),
            Self::Named(name, extents) => {
                let extents: Vec<String> = extents.iter().map(Extent::to_string).collect();
                write!(f, "{name}<{}>", extents.join(", "))
            }
        }
    }
}
