//! The tree of a kernel module: the allowed subset of Rust, every node with its span. Types of expressions, resolved names
//! and other findings are kept beside it, keyed by [`NodeId`].
//!
//! The nodes are declared once; encoding, decoding and numbering are derived from the declaration. Tags are explicit, so
//! that a new variant renumbers none. There are no parentheses in the tree: the printer writes those that are needed.

mod query;
mod words;

pub use words::*;

use crate::encode::{DecodeError, Node, Reader, Writer};
use crate::source::Span;

/// Number of a node within its module, in the order of the text of the printed module. All ids are equal: trees compare by
/// structure.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct NodeId(pub u32);

impl PartialEq for NodeId {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Declares nodes: plain structs and enums, and what is derived from their fields.
macro_rules! nodes {
    () => {};
    ($(#[$doc:meta])* struct $S:ident { $( $(#[$fdoc:meta])* $f:ident: $F:ty, )* } $($rest:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $S { $( $(#[$fdoc])* pub $f: $F, )* }

        impl Node for $S {
            fn write(&self, w: &mut Writer) {
                $( self.$f.write(w); )*
            }
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $( $f: Node::read(r)?, )* })
            }
            fn number(&mut self, next: &mut u32) {
                $( self.$f.number(next); )*
            }
        }
        nodes! { $($rest)* }
    };
    ($(#[$doc:meta])* enum $E:ident { $( $(#[$vdoc:meta])* $tag:literal $V:ident
        $( ($x:ident: $X:ty) )? $( { $( $(#[$fdoc:meta])* $f:ident: $F:ty, )* } )? ),* $(,)? } $($rest:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $E { $( $(#[$vdoc])* $V $( ($X) )? $( { $( $(#[$fdoc])* $f: $F, )* } )?, )* }

        impl Node for $E {
            fn write(&self, w: &mut Writer) {
                match self { $( Self::$V $( ($x) )? $( { $($f),* } )? => {
                    w.byte($tag);
                    $( $x.write(w); )? $( $( $f.write(w); )* )?
                } )* }
            }
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                r.nested(|r| match r.byte()? {
                    // A function a variant: the stack of a level holds the fields of one, not of all.
                    $( $tag => {
                        let read = |_r: &mut Reader<'_>| -> Result<Self, DecodeError> {
                            Ok(Self::$V
                                $( ({ let $x: $X = Node::read(_r)?; $x }) )?
                                $( { $( $f: Node::read(_r)?, )* } )?)
                        };
                        read(r)
                    } )*
                    tag => Err(DecodeError::Tag { node: stringify!($E), tag }),
                })
            }
            fn number(&mut self, _next: &mut u32) {
                match self { $( Self::$V $( ($x) )? $( { $($f),* } )? => {
                    $( $x.number(_next); )? $( $( $f.number(_next); )* )?
                } )* }
            }
        }
        nodes! { $($rest)* }
    };
}

nodes! {
    /// What one `ccl! { .. }` or one `#[ccl] mod` holds.
    struct Module {
        /// Path of the file as the compiler or the caller gave it; empty where unknown.
        file: String,
        /// The items, in their order.
        items: Vec<Item>,
    }

    /// A name and where it stands.
    struct Ident {
        /// The text.
        name: String,
        /// The place.
        span: Span,
    }

    /// A name that is bound here: a constant, function, parameter or local.
    struct Binding {
        /// Key of what is found out about it.
        id: NodeId,
        /// The name.
        name: Ident,
    }

    /// Constant, function or import.
    struct Item {
        /// Attributes, documentation among them.
        attrs: Vec<Attr>,
        /// Visibility.
        vis: Vis,
        /// What it is.
        kind: ItemKind,
        /// The place, attributes included.
        span: Span,
    }

    /// Visibility.
    enum Vis {
        /// None written.
        0 Private,
        /// `pub`.
        1 Public,
        /// `pub(crate)`.
        2 Crate,
        /// `pub(super)`.
        3 Super,
    }

    /// Kinds of items.
    enum ItemKind {
        /// `const NAME: Ty = value;`. With `#[instance(..)]` the value is a kernel and its arguments.
        0 Const {
            /// The name.
            name: Binding,
            /// The type.
            ty: Ty,
            /// The value.
            value: Expr,
        },
        /// `fn`.
        1 Fn(function: Fn),
        /// `use path;`
        2 Use(tree: UseTree),
        /// An item that was reported and dropped. Its name stays known, so that its uses are no further errors.
        3 Broken {
            /// The name, if it could be read.
            name: Option<Binding>,
        },
    }

    /// A function; a kernel or a stub where its attributes say so.
    struct Fn {
        /// The name.
        name: Binding,
        /// Const parameters.
        generics: Vec<ConstParam>,
        /// Parameters.
        params: Vec<Param>,
        /// Type of the result; none is `()`.
        ret: Option<Ty>,
        /// The body.
        body: Block,
    }

    /// `const N: usize` in a function's angle brackets.
    struct ConstParam {
        /// The name.
        name: Binding,
        /// The type.
        ty: Ty,
    }

    /// A parameter of a function.
    struct Param {
        /// Whether it may be assigned.
        mutable: bool,
        /// The name.
        name: Binding,
        /// The type.
        ty: Ty,
    }

    /// One branch of a `use`.
    struct UseTree {
        /// The names before the end.
        prefix: Vec<Ident>,
        /// The end.
        end: UseEnd,
    }

    /// End of a branch of a `use`.
    enum UseEnd {
        /// `name`, and `as alias`.
        0 Name {
            /// The last name of the path.
            name: Ident,
            /// The name it gets here.
            alias: Option<Ident>,
            /// Key of what is found out about it.
            id: NodeId,
        },
        /// `{ .. }`.
        1 Group(trees: Vec<UseTree>),
    }

    /// A known attribute.
    struct Attr {
        /// What it says.
        kind: AttrKind,
        /// The place.
        span: Span,
    }

    /// Known attributes; `parse/attr.rs` has the table of where each may stand.
    enum AttrKind {
        /// `/// text`, one line.
        0 Doc(text: String),
        /// `#[kernel]`, `#[kernel(reference = path)]`.
        1 Kernel {
            /// The golden function.
            reference: Option<Path>,
        },
        /// `#[reference(path)]`: the golden function.
        2 Reference(path: Path),
        /// `#[no_reference("reason")]`.
        3 NoReference(reason: String),
        /// `#[instance(target = PATH)]`.
        4 Instance {
            /// The machine.
            target: Path,
        },
        /// `#[overrides(path)]`: this hand-edited kernel replaces that generated one.
        5 Overrides(path: Path),
        /// `#[edit("what was changed by hand")]`.
        6 Edit(text: String),
        /// `#[region("name")]`: own table in the profile.
        7 Region(name: String),
        /// `#[tap("name")]`: the value is also written out for validation.
        8 Tap(name: String),
        /// `#[inline]`.
        9 Inline,
        /// `#[stub(contract)]`: this function fills the named slot of a generated kernel.
        10 Stub(contract: Path),
        /// `#[bound(n)]` on `while`: at most so many iterations.
        11 Bound(trips: Expr),
    }

    /// A type.
    struct Ty {
        /// What it is.
        kind: TyKind,
        /// The place.
        span: Span,
    }

    /// Kinds of types.
    enum TyKind {
        /// `i32`, `Lrm<i8, CI>`.
        0 Path(path: Path),
        /// `&T`, `&mut T`.
        1 Ref {
            /// Whether it may be written through.
            mutable: bool,
            /// What it refers to.
            target: Box<Ty>,
        },
        /// `[T; N]`.
        2 Array {
            /// Type of an element.
            elem: Box<Ty>,
            /// Number of elements.
            len: Box<Expr>,
        },
        /// `(A, B)`; none is the unit type.
        3 Tuple(elems: Vec<Ty>),
    }

    /// `a::b::<C>`.
    struct Path {
        /// Key of what it was resolved to.
        id: NodeId,
        /// The segments; at least one.
        segments: Vec<Segment>,
        /// The place.
        span: Span,
    }

    /// One name of a path with its generic arguments.
    struct Segment {
        /// The name.
        name: Ident,
        /// The arguments in angle brackets.
        args: Vec<GenericArg>,
    }

    /// A generic argument.
    enum GenericArg {
        /// A type, or a single name, which may be a const parameter or a constant: text does not tell.
        0 Ty(ty: Ty),
        /// A literal, a negated literal, or an expression in braces.
        1 Const(value: Expr),
        /// `_`.
        2 Infer(span: Span),
    }

    /// `{ .. }`.
    struct Block {
        /// The statements.
        stmts: Vec<Stmt>,
        /// The value.
        tail: Option<Box<Expr>>,
        /// The place, braces included.
        span: Span,
    }

    /// A statement.
    struct Stmt {
        /// Attributes.
        attrs: Vec<Attr>,
        /// What it is.
        kind: StmtKind,
        /// The place, attributes and semicolon included.
        span: Span,
    }

    /// Kinds of statements.
    enum StmtKind {
        /// `let a = value;`, `let (a, b) = value;`.
        0 Let {
            /// What is bound.
            pattern: Pattern,
            /// The type, if written.
            ty: Option<Ty>,
            /// The value.
            value: Expr,
        },
        /// `place = value;`, `place += value;`.
        1 Assign {
            /// The operator of a compound assignment.
            op: Option<BinOp>,
            /// What is assigned.
            place: Expr,
            /// The value.
            value: Expr,
        },
        /// An expression whose value is dropped; `if` and blocks too.
        2 Expr(expr: Expr),
        /// `for name in iter { .. }`.
        3 For {
            /// What is bound.
            pattern: Pattern,
            /// What is walked.
            iter: Expr,
            /// The body.
            body: Block,
        },
        /// `while cond { .. }`.
        4 While {
            /// The condition.
            cond: Expr,
            /// The body.
            body: Block,
        },
        /// `return;`, `return value;`.
        5 Return(value: Option<Expr>),
        /// `break;`
        6 Break,
        /// `continue;`
        7 Continue,
        /// `probe!(a, b);`
        8 Probe(values: Vec<Expr>),
        /// `assert!(cond, "text");`
        9 Assert {
            /// The condition.
            cond: Expr,
            /// What is said where it fails.
            text: Option<String>,
        },
        /// A statement that was reported and dropped. What it declared stays known, so that uses are no further errors.
        10 Broken {
            /// The names that it would have bound.
            declares: Vec<Binding>,
        },
    }

    /// What a `let` or `for` binds.
    enum Pattern {
        /// `name`, `mut name`.
        0 Name(local: Local),
        /// `(a, b)`.
        1 Tuple(locals: Vec<Local>),
        /// `_`.
        2 Ignore(span: Span),
    }

    /// A local name.
    struct Local {
        /// Whether it may be assigned.
        mutable: bool,
        /// The name; `_name` is not missed where it is unused.
        name: Binding,
    }

    /// An expression.
    struct Expr {
        /// Key of what is found out about it.
        id: NodeId,
        /// What it is.
        kind: ExprKind,
        /// The place, without parentheses around it.
        span: Span,
    }

    /// Kinds of expressions.
    enum ExprKind {
        /// A literal.
        0 Lit(lit: Lit),
        /// A name, maybe of a function with arguments.
        1 Path(path: Path),
        /// `-x`, `!x`, `*x`.
        2 Unary {
            /// The operator.
            op: UnOp,
            /// The operand.
            arg: Box<Expr>,
        },
        /// `a + b`.
        3 Binary {
            /// The operator.
            op: BinOp,
            /// Left operand.
            lhs: Box<Expr>,
            /// Right operand.
            rhs: Box<Expr>,
        },
        /// `x as T`.
        4 Cast {
            /// The value.
            value: Box<Expr>,
            /// The type.
            ty: Ty,
        },
        /// `f(a)`.
        5 Call {
            /// The function.
            callee: Path,
            /// The arguments.
            args: Vec<Expr>,
        },
        /// `x.f::<N>(a)`.
        6 Method {
            /// The receiver.
            recv: Box<Expr>,
            /// The name.
            name: Ident,
            /// The turbofish.
            generics: Vec<GenericArg>,
            /// The arguments.
            args: Vec<Expr>,
        },
        /// `x.0`; a name only while it is being typed, which `check` reports.
        7 Field {
            /// The tuple.
            base: Box<Expr>,
            /// The member.
            member: Ident,
        },
        /// `a[i]`.
        8 Index {
            /// What is indexed.
            base: Box<Expr>,
            /// The index, or a range.
            index: Box<Expr>,
        },
        /// `a..b`, `a..=b`.
        9 Range {
            /// First.
            start: Option<Box<Expr>>,
            /// Last, or one more.
            end: Option<Box<Expr>>,
            /// Whether `end` belongs to it.
            inclusive: bool,
        },
        /// `(a, b)`.
        10 Tuple(elems: Vec<Expr>),
        /// `[a, b]`.
        11 Array(elems: Vec<Expr>),
        /// `[a; n]`.
        12 Repeat {
            /// The element.
            value: Box<Expr>,
            /// How often.
            len: Box<Expr>,
        },
        /// `&x`, `&mut x`.
        13 Ref {
            /// Whether it may be written through.
            mutable: bool,
            /// What it refers to.
            target: Box<Expr>,
        },
        /// `{ .. }`.
        14 Block(block: Block),
        /// `if cond { .. } else { .. }`.
        15 If {
            /// The condition.
            cond: Box<Expr>,
            /// Where it holds.
            then: Block,
            /// Where not: a block or another `if`.
            otherwise: Option<Box<Expr>>,
        },
    }

    /// A literal.
    enum Lit {
        /// An integer; a sign is a unary operator.
        0 Int {
            /// The magnitude.
            value: u128,
            /// How it is written.
            base: Base,
            /// Its type, if written.
            suffix: Option<IntTy>,
        },
        /// `true`, `false`.
        1 Bool(value: bool),
        /// A decimal fraction as written, without underscores: the argument of `fx`.
        2 Float(text: String),
    }
}
