//! The tree of a kernel module: the allowed subset of Rust, every node with its span. Types of expressions, resolved names
//! and other findings are kept beside it, keyed by [`NodeId`].
//!
//! The nodes are declared once; encoding, decoding and numbering are derived from the declaration. Tags are explicit, so
//! that a new variant renumbers none. There are no parentheses in the tree: the printer writes those that are needed.

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

/// Declares an enum of words: each variant has a tag and a text.
macro_rules! words {
    ($( $(#[$doc:meta])* enum $E:ident { $( $tag:literal $V:ident = $word:literal ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $E { $( #[doc = concat!("`", $word, "`.")] $V, )* }

        impl $E {
            /// All of them.
            pub const ALL: &'static [Self] = &[ $( Self::$V, )* ];

            /// The text.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$V => $word, )* }
            }
        }
        impl Node for $E {
            fn write(&self, w: &mut Writer) {
                w.byte(match self { $( Self::$V => $tag, )* });
            }
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match r.byte()? { $( $tag => Ok(Self::$V), )* tag => Err(DecodeError::Tag { node: stringify!($E), tag }) }
            }
            fn number(&mut self, _: &mut u32) {}
        }
    )* };
}

words! {
    /// How an integer is written: its prefix.
    enum Base { 0 Dec = "", 1 Hex = "0x", 2 Oct = "0o", 3 Bin = "0b" }
    /// Unary operators.
    enum UnOp { 0 Neg = "-", 1 Not = "!", 2 Deref = "*" }
    /// Binary operators.
    enum BinOp {
        0 Or = "||", 1 And = "&&",
        2 Eq = "==", 3 Ne = "!=", 4 Lt = "<", 5 Le = "<=", 6 Gt = ">", 7 Ge = ">=",
        8 BitOr = "|", 9 BitXor = "^", 10 BitAnd = "&", 11 Shl = "<<", 12 Shr = ">>",
        13 Add = "+", 14 Sub = "-", 15 Mul = "*", 16 Div = "/", 17 Rem = "%",
    }
    /// Integer types.
    enum IntTy {
        0 I8 = "i8", 1 I16 = "i16", 2 I32 = "i32", 3 I64 = "i64",
        4 U8 = "u8", 5 U16 = "u16", 6 U32 = "u32", 7 U64 = "u64", 8 Usize = "usize",
    }
}

impl BinOp {
    /// How tightly it binds; higher is tighter.
    pub const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => 3,
            Self::BitOr => 4,
            Self::BitXor => 5,
            Self::BitAnd => 6,
            Self::Shl | Self::Shr => 7,
            Self::Add | Self::Sub => 8,
            Self::Mul | Self::Div | Self::Rem => 9,
        }
    }
    /// Whether it compares; comparisons do not chain.
    pub const fn is_comparison(self) -> bool {
        self.precedence() == 3
    }
    /// Whether `place op= value` exists.
    pub const fn assigns(self) -> bool {
        self.precedence() > 3
    }
}

impl IntTy {
    /// Width in bits, and whether it has a sign.
    pub const fn bits(self) -> (u32, bool) {
        match self {
            Self::I8 => (8, true),
            Self::I16 => (16, true),
            Self::I32 => (32, true),
            Self::I64 => (64, true),
            Self::U8 => (8, false),
            Self::U16 => (16, false),
            Self::U32 => (32, false),
            Self::U64 | Self::Usize => (64, false),
        }
    }
    /// Smallest and largest value.
    pub const fn range(self) -> (i128, i128) {
        match self.bits() {
            (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => (0, (1 << bits) - 1),
        }
    }
    /// The type named `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.word() == name)
    }
}

impl Module {
    /// Gives every node its number, in the order of the text. Whoever builds or edits a tree by hand calls it at the end.
    pub fn renumber(&mut self) {
        self.number(&mut 0);
    }
    /// The functions.
    pub fn fns(&self) -> impl Iterator<Item = (&Item, &Fn)> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Fn(function) => Some((item, function)),
            _ => None,
        })
    }
    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = (&Item, &Fn)> {
        self.fns().filter(|(item, _)| item.is_kernel())
    }
    /// The instances: name, kernel with its arguments, machine.
    pub fn instances(&self) -> impl Iterator<Item = (&Binding, &Path, &Path)> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Const { name, value: Expr { kind: ExprKind::Path(kernel), .. }, .. } => {
                item.instance_target().map(|target| (name, kernel, target))
            }
            _ => None,
        })
    }
}

impl Item {
    /// Whether `#[kernel]` stands on it.
    pub fn is_kernel(&self) -> bool {
        self.attrs.iter().any(|a| matches!(a.kind, AttrKind::Kernel { .. }))
    }
    /// The machine of an instance.
    pub fn instance_target(&self) -> Option<&Path> {
        self.attrs.iter().find_map(|a| match &a.kind {
            AttrKind::Instance { target } => Some(target),
            _ => None,
        })
    }
    /// The name that it declares; imports may declare several.
    pub fn name(&self) -> Option<&Binding> {
        match &self.kind {
            ItemKind::Const { name, .. } => Some(name),
            ItemKind::Fn(function) => Some(&function.name),
            ItemKind::Broken { name } => name.as_ref(),
            ItemKind::Use(_) => None,
        }
    }
    /// The documentation, lines joined.
    pub fn doc(&self) -> String {
        let lines = self.attrs.iter().filter_map(|a| match &a.kind {
            AttrKind::Doc(text) => Some(text.strip_prefix(' ').unwrap_or(text)),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Path {
    /// The name, if it is one name without arguments.
    pub fn as_name(&self) -> Option<&Ident> {
        match self.segments.as_slice() {
            [Segment { name, args }] if args.is_empty() => Some(name),
            _ => None,
        }
    }
    /// `a::b` without arguments.
    pub fn text(&self) -> String {
        self.segments.iter().map(|s| s.name.name.as_str()).collect::<Vec<_>>().join("::")
    }
    /// The last segment.
    pub fn last(&self) -> &Segment {
        self.segments.last().expect("a path has a segment")
    }
}

impl Pattern {
    /// The names that it binds.
    pub fn locals(&self) -> &[Local] {
        match self {
            Self::Name(local) => std::slice::from_ref(local),
            Self::Tuple(locals) => locals,
            Self::Ignore(_) => &[],
        }
    }
}

impl Block {
    /// Whether a block in statement position yields a value rather than being a statement.
    pub fn has_value(&self) -> bool {
        self.tail.is_some()
    }
}

impl Expr {
    /// Whether it ends with a brace and, where a statement begins, is a whole statement: `if` and blocks.
    pub fn is_block_like(&self) -> bool {
        matches!(self.kind, ExprKind::Block(_) | ExprKind::If { .. })
    }
    /// Whether a block-like expression at the end of a block without semicolon is the block's value: a block with a value,
    /// or an `if` with an `else` whose first block has one.
    pub fn is_block_value(&self) -> bool {
        match &self.kind {
            ExprKind::Block(block) => block.has_value(),
            ExprKind::If { then, otherwise, .. } => otherwise.is_some() && then.has_value(),
            _ => false,
        }
    }
}
