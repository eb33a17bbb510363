//! The kernel IR as data: modules, values, operations. What an operation means is said here; what makes a module well
//! formed, in `verify`.

use iss::image::Direction;
use iss::isa::operand::{Cond, Dir, MacShape};

/// A value of a function: an index into [`Func::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u32);

/// A place in the source: file as an index into [`Module::files`], line counted from 1; line 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loc {
    /// Index into [`Module::files`].
    pub file: u32,
    /// Line, or 0.
    pub line: u32,
}

/// Range of a per-PE value. Every value is a 32-bit lane; the format promises that it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fmt {
    /// 0 or 1.
    Bool,
    /// -128..=127.
    I8,
    /// -32768..=32767.
    I16,
    /// Anything.
    I32,
}

impl Fmt {
    /// Every format.
    pub const ALL: [Fmt; 4] = [Fmt::Bool, Fmt::I8, Fmt::I16, Fmt::I32];
    /// The word in the text.
    pub const fn word(self) -> &'static str {
        ["bool", "i8", "i16", "i32"][self as usize]
    }
    /// Smallest and largest value.
    pub const fn range(self) -> (i64, i64) {
        [(0, 1), (-128, 127), (-32768, 32767), (i32::MIN as i64, i32::MAX as i64)][self as usize]
    }
}

/// Element of a local buffer, and width of an access to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    /// One byte, sign-extended when read.
    I8,
    /// Two bytes, sign-extended when read.
    I16,
    /// A word.
    I32,
}

impl Elem {
    /// Every element type.
    pub const ALL: [Elem; 3] = [Elem::I8, Elem::I16, Elem::I32];
    /// The word in a buffer's type.
    pub const fn word(self) -> &'static str {
        ["i8", "i16", "i32"][self as usize]
    }
    /// The letter of a view: `%b.w[0]`.
    pub const fn letter(self) -> char {
        ['b', 'h', 'w'][self as usize]
    }
    /// Bytes.
    pub const fn bytes(self) -> u32 {
        [1, 2, 4][self as usize]
    }
    /// The format of what is read.
    pub const fn fmt(self) -> Fmt {
        [Fmt::I8, Fmt::I16, Fmt::I32][self as usize]
    }
    /// The element of so many bytes.
    pub const fn of_bytes(bytes: u32) -> Option<Elem> {
        match bytes {
            1 => Some(Elem::I8),
            2 => Some(Elem::I16),
            4 => Some(Elem::I32),
            _ => None,
        }
    }
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar, defined once.
    Scalar,
    /// A scalar that may be assigned.
    ScalarVar,
    /// A per-PE value, defined once.
    Q(Fmt),
    /// A per-PE variable; assignments take effect where PEs are enabled.
    Var(Fmt),
    /// 1, 4 or 16 accumulators.
    Acc(u8),
    /// A local buffer: `n` elements, `ring` instances of them.
    Lrm {
        /// Element type.
        elem: Elem,
        /// Elements of an instance.
        n: u32,
        /// Instances; 1 unless a flow walks them in turn.
        ring: u32,
    },
    /// A byte offset into a local buffer, kept in a base register.
    Addr,
    /// A buffer in on-chip memory of so many bytes.
    Ocm(u32),
    /// A buffer in external memory of so many bytes.
    Ext(u32),
    /// The token of a flow.
    Flow,
    /// A broadcast stream.
    Stream,
    /// The token of a DMA or random access.
    Token,
}

/// A value's name, unique in its function, and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Name without `%`: letters, digits, `_` and `.`.
    pub name: String,
    /// Type.
    pub ty: Type,
}

/// A scalar operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SVal {
    /// A number.
    Imm(i32),
    /// A scalar or scalar variable.
    Val(Id),
}

/// What is added to an element's constant index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// Nothing.
    Const,
    /// A scalar times a factor, in elements of the view.
    Scalar(Id, i32),
    /// An [`Type::Addr`], in bytes.
    Addr(Id),
}

/// An element of a local buffer; of a ring, of the instance that its flow holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElemRef {
    /// The buffer.
    pub buf: Id,
    /// Access width; the index counts elements of it.
    pub view: Elem,
    /// Variable part of the index.
    pub index: Index,
    /// Constant part, in elements of the view.
    pub at: i32,
}

/// A per-PE source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    /// A per-PE value or variable, or a scalar, the same in every PE.
    Val(Id),
    /// A number.
    Imm(i32),
    /// An element of a local buffer.
    Elem(ElemRef),
    /// An accumulator of a group.
    Acc(Id, u8),
    /// A lane of the stream's head word; the word is taken if `pop`.
    Stream {
        /// The stream.
        stream: Id,
        /// Width of the lane.
        view: Elem,
        /// Lane of the word.
        lane: u8,
        /// Whether the word is taken; a whole word always is.
        pop: bool,
    },
    /// What the neighbour on that side sent last.
    Port(Dir),
    /// Row of the PE.
    QRow,
    /// Column of the PE; negative in the west border.
    QCol,
}

/// A per-PE destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dst {
    /// Defines a value.
    Def(Id),
    /// Assigns a variable where PEs are enabled.
    Var(Id),
    /// Writes an element, narrowed by dropping high bits.
    Elem(ElemRef),
    /// Writes an accumulator.
    Acc(Id, u8),
}

/// A scalar destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SDst {
    /// Defines a scalar.
    Def(Id),
    /// Assigns a scalar variable.
    Var(Id),
}

macro_rules! words {
    ($(#[$doc:meta])* $Ty:ident { $( $(#[$vdoc:meta])* $word:literal $Variant:ident ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Ty { $( $(#[$vdoc])* $Variant ),* }
        impl $Ty {
            /// Every one, in the order declared.
            pub const ALL: &'static [$Ty] = &[$($Ty::$Variant),*];
            /// The word in the text.
            pub const fn word(self) -> &'static str {
                match self { $( $Ty::$Variant => $word ),* }
            }
        }
    };
}

words! {
    /// A scalar operation; wrapping, as the rows `s_*` of the instruction table.
    SOp {
        /// `a`.
        "s.mov" Mov,
        /// `a + b`.
        "s.add" Add,
        /// `a - b`.
        "s.sub" Sub,
        /// Low 32 bits of `a * b`.
        "s.mul" Mul,
        /// Bitwise and.
        "s.and" And,
        /// Bitwise or.
        "s.or" Or,
        /// Bitwise exclusive or.
        "s.xor" Xor,
        /// `a << (b & 31)`.
        "s.shl" Shl,
        /// Unsigned `a >> (b & 31)`.
        "s.shr" Shr,
        /// Signed `a >> (b & 31)`.
        "s.sar" Sar,
        /// Signed minimum.
        "s.min" Min,
        /// Signed maximum.
        "s.max" Max,
    }
}

words! {
    /// A per-PE operation of two sources; wrapping, as the row of its name in the instruction table.
    BinOp {
        /// `a + b`.
        "add" Add,
        /// `a - b`.
        "sub" Sub,
        /// Bitwise and.
        "and" And,
        /// Bitwise or.
        "or" Or,
        /// Bitwise exclusive or.
        "xor" Xor,
        /// `a << (b & 31)`.
        "shl" Shl,
        /// Unsigned `a >> (b & 31)`.
        "shr" Shr,
        /// Signed `a >> (b & 31)`.
        "sar" Sar,
        /// Signed minimum.
        "min" Min,
        /// Signed maximum.
        "max" Max,
    }
}

/// A per-PE operation: one instruction of the array's ALU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOp {
    /// `a`.
    Mov,
    /// Absolute value; -2^31 stays.
    Abs,
    /// `min(max(a, lo), hi)`, bounds of 12 bits.
    Clip(i16, i16),
    /// Two sources.
    Bin(BinOp),
    /// 1 if `a cond b`, else 0.
    Set(Cond),
    /// `low32((a * b) >> shift)`; a negative shift goes left.
    FxMul(i8),
    /// `low32((a << frac) / b)`, truncating.
    FxDiv(u8),
    /// `round(exp(a / 2^from) * 2^to)`, saturated.
    Exp(u8, u8),
    /// `round(ln(a / 2^from) * 2^to)`; -2^31 for `a <= 0`.
    Log(u8, u8),
}

impl AluOp {
    /// Whether there is a second source.
    pub const fn binary(self) -> bool {
        matches!(self, AluOp::Bin(_) | AluOp::Set(_) | AluOp::FxMul(_) | AluOp::FxDiv(_))
    }
}

/// Widths of a MAC step: element by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacWidth {
    /// 8 x 8 bit.
    W8,
    /// 16 x 8 bit.
    W16x8,
    /// 16 x 16 bit: takes two entries of the stream.
    W16,
}

impl MacWidth {
    /// Every width.
    pub const ALL: [MacWidth; 3] = [MacWidth::W8, MacWidth::W16x8, MacWidth::W16];
    /// The word in the text.
    pub const fn word(self) -> &'static str {
        ["mac8", "mac16x8", "mac16"][self as usize]
    }
    /// Bytes of an element.
    pub const fn elem_bytes(self) -> u32 {
        [1, 2, 2][self as usize]
    }
    /// Bytes of a weight.
    pub const fn weight_bytes(self) -> u32 {
        [1, 1, 2][self as usize]
    }
}

/// Accumulators, bytes read and their alignment for a MAC step.
pub const fn mac_extent(width: MacWidth, shape: MacShape) -> (u8, u32, u32) {
    let e = width.elem_bytes();
    match shape {
        MacShape::Dot => (1, 16 * e, 16),
        MacShape::Mat4 => (4, 4 * e, 4),
        MacShape::Outer => (16, e, e),
    }
}

/// One loop of a flow's walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WalkLoop {
    /// Trips.
    pub n: u32,
    /// Columns a trip advances.
    pub dx: i32,
    /// Rows a trip advances.
    pub dy: i32,
    /// Planes a trip advances.
    pub dp: i32,
}

/// A flow: the walk over tiles of a tensor in on-chip memory, and the local slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// On-chip buffer.
    pub buf: Id,
    /// Byte offset of element (0, 0) of the first plane.
    pub at: SVal,
    /// A second tensor of the same shape, and the offset into it: its tiles alternate with those of the first. Flows in only;
    /// an engine serves one flow after the other, so that two operands of one loop have to come in one.
    pub second: Option<(Id, SVal)>,
    /// Bytes of an element as a PE sees it.
    pub elem: Elem,
    /// Rows of the tensor; rows outside arrive as zeros and are not written.
    pub height: u32,
    /// Columns of the tensor.
    pub width: u32,
    /// Bytes from a row to the next.
    pub pitch: u32,
    /// Bytes from a plane to the next.
    pub plane: u32,
    /// Column of PE (0, 0) in the first tile.
    pub x0: SVal,
    /// Row of PE (0, 0) in the first tile.
    pub y0: SVal,
    /// Columns between neighbouring PEs.
    pub col_step: u32,
    /// Rows between neighbouring PEs.
    pub row_step: u32,
    /// PE rows of a tile.
    pub rows: u32,
    /// PE columns of a tile.
    pub cols: u32,
    /// Border columns filled on each side; flows in only.
    pub halo: u32,
    /// Up to four loops, the innermost first.
    pub loops: Vec<WalkLoop>,
    /// Local buffer.
    pub lrm: Id,
    /// Byte offset of the first tile's slot in the buffer.
    pub slot: u32,
    /// Bytes from a tile's slot to the next.
    pub slot_step: u32,
    /// Tiles of one instance of a ring; 0 without a ring.
    pub group: u32,
}

impl Walk {
    /// Tiles of the whole walk.
    pub fn tiles(&self) -> u64 {
        let each: u64 = self.loops.iter().map(|l| l.n as u64).product();
        each * if self.second.is_some() { 2 } else { 1 }
    }
}

/// What a loop asks of the lowering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoopAttr {
    /// Instances of the buffers that flows fill and empty; 0: not pipelined.
    pub pipelined: u32,
    /// Whether the body is repeated instead of looped.
    pub unroll: bool,
}

/// An argument of a call, or a scalar number.
pub type CallArg = SVal;

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants' prose names the fields")]
pub enum OpKind {
    /// `dst = op a, b`; `s.mov` takes `a` alone.
    Scalar { op: SOp, dst: SDst, a: SVal, b: SVal },
    /// `dst = a cond b`, 1 or 0.
    ScalarSet { cond: Cond, dst: SDst, a: SVal, b: SVal },
    /// A scalar variable with its first value.
    ScalarVar { dst: Id, init: SVal },
    /// The aligned word of an on-chip buffer at a byte offset.
    ScalarLoad { dst: Id, buf: Id, at: SVal },
    /// Whether `a cond b` in any enabled PE of the array, borders apart.
    Any { dst: Id, cond: Cond, a: Src, b: Src },
    /// A per-PE variable with its first value.
    Var { dst: Id, init: Src },
    /// A group of accumulators, undefined until written.
    Acc { dst: Id },
    /// A constant of the module, as an external buffer that is only read.
    Const { dst: Id, name: String },
    /// A local buffer, released at the end of the block, undefined until written.
    Lrm { dst: Id, align: u32 },
    /// An on-chip buffer, released at the end of the block.
    Ocm { dst: Id },
    /// `dst = op a, b`.
    Alu { op: AluOp, dst: Dst, a: Src, b: Src },
    /// `dst = t` where `x cond y`, else `f`.
    Sel { dst: Dst, cond: Cond, x: Src, y: Src, t: Src, f: Src },
    /// `dst = table[idx & (2^bits - 1)]`, counted from the element `table`.
    Lut { dst: Dst, idx: Src, table: ElemRef, bits: u8 },
    /// Every PE writes `a` to the facing port of its neighbour.
    Send { to: Dir, a: Src },
    /// `dst(r, c) = a(r + dr, c + dc)`, 0 beyond the outer edge; border columns take part.
    Shift { dst: Dst, a: Src, dr: i32, dc: i32 },
    /// 16 products into the accumulators of `acc` from `at` on: element of `a` by weights of `stream`.
    Mac { width: MacWidth, shape: MacShape, acc: Id, at: u8, a: ElemRef, stream: Id },
    /// Starts a flow; over a ring, instances are taken by `Acquire`.
    Flow { out: bool, dst: Id, walk: Box<Walk> },
    /// A flow's token with nothing in flight, for `Restart`.
    Idle { dst: Id },
    /// Starts a flow under a token with nothing in flight. A loop may find the flow of an earlier trip in flight and wait for
    /// it, as long as each trip begins and ends with the same transfers in flight.
    Restart { out: bool, flow: Id, walk: Box<Walk> },
    /// Starts a stream of 16-byte entries: `n1` times `n0` of them.
    Bcast { dst: Id, buf: Id, at: SVal, n0: u32, step0: i32, n1: u32, step1: i32 },
    /// Starts a transfer between external and on-chip memory.
    Dma {
        out: bool,
        dst: Id,
        ocm: Id,
        ocm_at: SVal,
        ocm_pitch: u32,
        ext: Id,
        ext_at: SVal,
        ext_pitch: u32,
        bytes: u32,
        rows: u32,
    },
    /// Starts a random access.
    Rau {
        store: bool,
        dst: Id,
        buf: Id,
        at: SVal,
        elem: Elem,
        limit: u32,
        index: ElemRef,
        data: ElemRef,
        valid: Option<ElemRef>,
    },
    /// Waits for a whole transfer.
    Wait { token: Id },
    /// Takes the next instance of a ring: landed (in), or free (out).
    Acquire { flow: Id },
    /// Gives the instance back to a flow in.
    Release { flow: Id },
    /// Hands the instance to a flow out.
    Push { flow: Id },
    /// Waits for every engine; nothing may be in flight.
    Drain,
    /// `then` for the PEs where `a cond b`, `els` for the others.
    Where { cond: Cond, a: Src, b: Src, then: Block, els: Block },
    /// Scalar branch.
    If { cond: Cond, a: SVal, b: SVal, then: Block, els: Block },
    /// `var` from `lo` to below `hi`.
    For { var: Id, lo: SVal, hi: SVal, step: i32, attr: LoopAttr, body: Block },
    /// While `a cond b`; more than `bound` trips stop the run.
    While { cond: Cond, a: SVal, b: SVal, bound: u32, body: Block },
    /// A region of the profile.
    Region { name: String, body: Block },
    /// Records a value under a name.
    Probe { name: String, a: Src },
    /// Stops the run if the value is 0 in an enabled PE.
    Assert { name: String, a: Src },
    /// Calls a function.
    Call { func: String, args: Vec<CallArg> },
    /// A base register at a byte offset into a buffer.
    Addr { dst: Id, buf: Id, at: SVal },
    /// Moves a base register by so many bytes.
    AddrStep { addr: Id, by: SVal },
}

/// An operation with its source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Where it comes from.
    pub loc: Loc,
}

/// Operations in order; a scope.
pub type Block = Vec<Op>;

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its value.
    pub id: Id,
    /// Direction of a buffer; `In` for scalars.
    pub dir: Direction,
    /// Range that the caller promises, of a scalar.
    pub range: Option<(i32, i32)>,
}

/// Entry point or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FuncKind {
    /// An entry point of the image.
    Kernel,
    /// Called by others.
    Fn,
}

/// A kernel or function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Func {
    /// Name without `@`.
    pub name: String,
    /// Whether it is an entry point.
    pub kind: FuncKind,
    /// Parameters.
    pub params: Vec<Param>,
    /// Values by [`Id`].
    pub values: Vec<Value>,
    /// Body.
    pub body: Block,
    /// Where it is declared.
    pub loc: Loc,
}

/// Bytes in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Const {
    /// Name without `@`.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A program before lowering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Source files; index 0 is the IR's own text where locations come from it.
    pub files: Vec<String>,
    /// Constants.
    pub consts: Vec<Const>,
    /// Kernels and functions.
    pub funcs: Vec<Func>,
}

impl Func {
    /// Type of a value.
    pub fn ty(&self, id: Id) -> Type {
        self.values[id.0 as usize].ty
    }
    /// Name of a value.
    pub fn name_of(&self, id: Id) -> &str {
        &self.values[id.0 as usize].name
    }
    /// A new value, its name that of `name` with a number. Names that clash nevertheless are told apart when printed.
    pub fn fresh(&mut self, name: &str, ty: Type) -> Id {
        let base = name.split_once('.').map_or(name, |(base, _)| base);
        self.values.push(Value { name: format!("{base}.{}", self.values.len()), ty });
        Id(self.values.len() as u32 - 1)
    }
    /// A new value, its name that of another with a number.
    pub fn fresh_like(&mut self, id: Id, ty: Type) -> Id {
        let name = self.name_of(id).to_owned();
        self.fresh(&name, ty)
    }
    /// Format that a per-PE value or variable promises.
    pub fn fmt(&self, id: Id) -> Option<Fmt> {
        match self.ty(id) {
            Type::Q(fmt) | Type::Var(fmt) => Some(fmt),
            _ => None,
        }
    }
    /// Whether the value is a scalar or scalar variable.
    pub fn is_scalar(&self, id: Id) -> bool {
        matches!(self.ty(id), Type::Scalar | Type::ScalarVar)
    }
}

impl Module {
    /// Gives every use of a constant its size.
    pub(crate) fn size_consts(&mut self) {
        let sizes: Vec<(String, u32)> = self.consts.iter().map(|c| (c.name.clone(), c.bytes.len() as u32)).collect();
        for f in &mut self.funcs {
            let mut found = Vec::new();
            super::visit::walk(&f.body, &mut |op| {
                if let OpKind::Const { dst, name } = &op.kind
                    && let Some((_, len)) = sizes.iter().find(|(n, _)| n == name)
                {
                    found.push((*dst, *len));
                }
            });
            found.into_iter().for_each(|(id, len)| f.values[id.0 as usize].ty = Type::Ext(len));
        }
    }
    /// The function of that name.
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }
}
