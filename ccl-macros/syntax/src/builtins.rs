//! The names of the language: one row each, with kind, signature, prose and the capability that it serves. Resolution and
//! arity come from here, `docs/names.md` is generated from it, and `check/types` reads the signatures as its rules.
//!
//! Signatures are written for people: `x: Q<T>` is a per-PE value of element type `T`, `usize` a scalar; what stands in
//! `::<..>` are the generic arguments, which may be left out where they can be inferred.

/// What a name of the language is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltinKind {
    /// A scalar or element type.
    Scalar,
    /// A type.
    Type,
    /// A layout, the second argument of a tensor type.
    Layout,
    /// A constant.
    Constant,
    /// A function.
    Function,
    /// A function of a type: `Lrm::new()`.
    Associated,
    /// A method.
    Method,
}

/// The capability of the language that a name serves; `DESIGN.md` section 3 has the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the titles below say it")]
pub enum Capability {
    Values,
    FixedPoint,
    Memory,
    Allocation,
    FlowIn,
    FlowOut,
    Broadcast,
    Rau,
    Dma,
    Control,
    Neighbours,
    Arithmetic,
    Mac,
    Extents,
    Structure,
}

impl Capability {
    /// All of them, in the order of the page.
    pub const ALL: &'static [Self] = &[
        Self::Values,
        Self::FixedPoint,
        Self::Arithmetic,
        Self::Mac,
        Self::Memory,
        Self::Allocation,
        Self::FlowIn,
        Self::FlowOut,
        Self::Broadcast,
        Self::Rau,
        Self::Dma,
        Self::Control,
        Self::Neighbours,
        Self::Extents,
        Self::Structure,
    ];

    /// Title on the page.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Values => "Values",
            Self::FixedPoint => "Fixed point and scales",
            Self::Memory => "Memories, layouts, views",
            Self::Allocation => "Allocation",
            Self::FlowIn => "Walks and flows into the array",
            Self::FlowOut => "Flows out of the array",
            Self::Broadcast => "Broadcast streams",
            Self::Rau => "Random access",
            Self::Dma => "External memory",
            Self::Control => "Control",
            Self::Neighbours => "Neighbours and reductions",
            Self::Arithmetic => "Arithmetic",
            Self::Mac => "Multiply-accumulate",
            Self::Extents => "Extents",
            Self::Structure => "Structure",
        }
    }
}

/// One name of the language.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name.
    pub name: &'static str,
    /// What it is.
    pub kind: BuiltinKind,
    /// The type that a method or associated function belongs to, else empty.
    pub owner: &'static str,
    /// How it is written.
    pub signature: &'static str,
    /// What it does, with units.
    pub prose: &'static str,
    /// What it is for.
    pub capability: Capability,
}

macro_rules! builtins {
    ($( $capability:ident { $( $(#[doc = $prose:literal])* $kind:ident $($owner:literal)? $name:ident = $signature:literal; )* } )*) => {
        /// Every name of the language.
        pub const BUILTINS: &[Builtin] = &[ $($( Builtin {
            name: stringify!($name),
            kind: BuiltinKind::$kind,
            owner: concat!($($owner)?),
            signature: $signature,
            prose: concat!($($prose, "\n"),*).trim_ascii(),
            capability: Capability::$capability,
        }, )*)* ];
    };
}

builtins! {
    Values {
        /// A condition.
        Scalar bool = "bool";
        /// Signed, 8 bit.
        Scalar i8 = "i8";
        /// Signed, 16 bit.
        Scalar i16 = "i16";
        /// Signed, 32 bit: the width of the ALU.
        Scalar i32 = "i32";
        /// Signed, 64 bit: a pair of words, for sums.
        Scalar i64 = "i64";
        /// Unsigned, 8 bit.
        Scalar u8 = "u8";
        /// Unsigned, 16 bit.
        Scalar u16 = "u16";
        /// Unsigned, 32 bit.
        Scalar u32 = "u32";
        /// Unsigned, 64 bit; in constants.
        Scalar u64 = "u64";
        /// Extents, indices, trip counts.
        Scalar usize = "usize";
        /// One value of type `T` in every PE: an integer type but `usize` and `u64`, `bool` or `Fx<F>`. A handle, freely copied.
        Type Q = "Q<T>";
        /// A scalar in every PE.
        Function splat = "splat(v: T) -> Q<T>";
        /// Row of the PE, 0 at the north.
        Function q_row = "q_row() -> Q<i32>";
        /// Column of the PE, 0 at the west; -4..-1 and beyond the last in the border.
        Function q_col = "q_col() -> Q<i32>";
        /// Rows of the array of the instance's target.
        Constant ROWS = "ROWS: usize";
        /// Columns of the array of the instance's target.
        Constant COLS = "COLS: usize";
    }
    FixedPoint {
        /// Fixed-point number: 32 bit, `F` of them behind the point.
        Type Fx = "Fx<F>";
        /// Factor with a 24-bit mantissa and a shift, as requantisation uses it.
        Type Scale = "Scale";
        /// `mantissa * 2^-shift`.
        Associated "Scale" new = "Scale::new(mantissa: i32, shift: i32) -> Scale";
        /// Constant, rounded to the nearest number of the format; the only place for a decimal fraction.
        Function fx = "fx::<F>(value) -> Fx<F>";
        /// Bits taken as a number with `F` fraction bits.
        Function fx_raw = "fx_raw::<F>(bits: Q<i32>) -> Q<Fx<F>>";
        /// The bits of a fixed-point number.
        Method "Q<Fx<F>>" raw = "raw() -> Q<i32>";
        /// Product in format `F`: 64 bit, shifted right without rounding, low 32 bits. 1 cycle.
        Function fx_mul = "fx_mul::<F>(a: Q<Fx<A>>, b: Q<Fx<B>>) -> Q<Fx<F>>";
        /// Quotient in format `F`, truncated toward zero. 82 cycles: a reciprocal and `fx_mul` are the faster pair.
        Function fx_div = "fx_div::<F>(a: Q<Fx<A>>, b: Q<Fx<A>>) -> Q<Fx<F>>";
        /// Exponential, correctly rounded to format `F`, saturated. Issues in 1 cycle, usable after 4.
        Function exp = "exp::<F>(x: Q<Fx<A>>) -> Q<Fx<F>>";
        /// Natural logarithm, correctly rounded to format `F`; the least number for `x <= 0`.
        Function ln = "ln::<F>(x: Q<Fx<A>>) -> Q<Fx<F>>";
        /// The same number with `F` fraction bits. Dropping bits names its rounding, losing range its overflow.
        Method "Q<Fx<A>>" rescale = "rescale::<F>(rounding: Rounding, overflow: Overflow) -> Q<Fx<F>>";
        /// To the nearest integer.
        Method "Q<Fx<F>>" round = "round(rounding: Rounding) -> Q<i32>";
        /// `clamp(round(acc * scale))` to int8; `acc` counts steps of `s_x * s_w`, `scale` is `s_x * s_w / s_y`.
        Function requant = "requant(acc: Acc<N>, scale: Scale, rounding: Rounding, overflow: Overflow) -> Lrm<i8, N> or requant(acc: Q<i32>, scale: Scale, rounding: Rounding, overflow: Overflow) -> Q<i8>";
        /// `clamp(round(x / s) + zero_point)` to int8; `inverse` is `1 / s`.
        Function quantize = "quantize(x: Q<Fx<F>>, inverse: Scale, zero_point: i32) -> Q<i8>";
        /// `(x - zero_point) * scale` with `F` fraction bits.
        Function dequantize = "dequantize::<F>(x: Q<T>, scale: Scale, zero_point: i32) -> Q<Fx<F>>";
        /// To the nearest, ties to the even one: what ONNX means.
        Constant HalfEven = "HalfEven: Rounding";
        /// To the nearest, ties upward: add half, shift.
        Constant HalfUp = "HalfUp: Rounding";
        /// Toward minus infinity: a shift alone.
        Constant Floor = "Floor: Rounding";
        /// Toward zero, as division does.
        Constant TowardZero = "TowardZero: Rounding";
        /// To the nearest end of the range.
        Constant Saturate = "Saturate: Overflow";
        /// Low bits.
        Constant Wrap = "Wrap: Overflow";
    }
    Arithmetic {
        /// The lesser; of constants too.
        Function min = "min(a: T, b: T) -> T";
        /// The greater; of constants too.
        Function max = "max(a: T, b: T) -> T";
        /// Absolute value; of constants too.
        Function abs = "abs(x: T) -> T";
        /// `x` moved into `lo..=hi`. 1 cycle where the bounds are constants in -2048..=2047.
        Function clamp = "clamp(x: T, lo: T, hi: T) -> T";
        /// `a` where the condition holds, else `b`; both are computed.
        Function select = "select(condition: Q<bool>, a: Q<T>, b: Q<T>) -> Q<T>";
        /// The same value in a wider type.
        Method "Q<T>" widen = "widen::<U>() -> Q<U>";
        /// The value in a narrower type; losing range names its overflow.
        Method "Q<T>" narrow = "narrow::<U>(overflow: Overflow) -> Q<U>";
        /// `round(x / 2^n)`.
        Method "Q<T>" shr_round = "shr_round(n: usize, rounding: Rounding) -> Q<T>";
        /// Entry of a table that every PE holds, at an index of its own. The index is taken modulo the table's length, a power
        /// of two; an `i8` index of a table of 256 counts -128 as 128. A constant array is a table too. 1 cycle.
        Function lookup = "lookup(table: &Lrm<T, N>, index: Q<I>) -> Q<T> or lookup(table: [T; N], index: Q<I>) -> Q<T>";
    }
    Mac {
        /// `N` 32-bit accumulators in every PE.
        Type Acc = "Acc<N>";
        /// Accumulators of 0.
        Associated "Acc" zero = "Acc::<N>::zero() -> Acc<N>";
        /// Sum over the elements of `a` of element times weight, for `N` outputs; `N` chooses the shape of the step: 1 (16
        /// channels into one output), 4 (4 channels into 4), 16 (one channel into 16). 16 products a cycle and PE. With `acc +=`
        /// it accumulates in place.
        Function mac = "mac(a: &Lrm<T, K>, weights: Weights<N>) -> Acc<N>";
        /// One accumulator as a value.
        Method "Acc<N>" get = "get(n: usize) -> Q<i32>";
    }
    Memory {
        /// Tensor in external memory; only DMA reaches it.
        Type Ext = "Ext<T, L>";
        /// Tensor in on-chip memory; flows, broadcasts, the RAU and DMA reach it.
        Type Ocm = "Ocm<T, L>";
        /// `N` elements in the local memory of every PE.
        Type Lrm = "Lrm<T, N>";
        /// `[C][H][W]`, one byte, half-word or word an element.
        Layout Planar = "Planar<C, H, W>";
        /// `[C/4][H][W][4]`: a flow hands each PE a word of 4 channels.
        Layout Packed = "Packed<C, H, W>";
        /// `[N][D]`: `N` tokens of `D` features, a token a PE, packed by 4 features.
        Layout Tokens = "Tokens<N, D>";
        /// `N` elements in a row: tables, biases.
        Layout Vector = "Vector<N>";
        /// Biases and weights in the order in which `bias::<4>` and `take::<4>` consume them: for 4 outputs 4 biases of 32 bit,
        /// then `K` inputs by fours.
        Layout Stream = "Stream<CO, K>";
        /// As `Stream` for `take::<1>`: for one output its bias, filled up to 16 bytes, then `K` inputs by sixteens.
        Layout StreamDot = "StreamDot<CO, K>";
        /// As `Stream` for `take::<16>`: for 16 outputs 16 biases, then `K` inputs one by one.
        Layout StreamOuter = "StreamOuter<CO, K>";
        /// The tensor at the place of a tile of another walk: the same rows and columns, without the other's halo and taps.
        Method "Ocm<T, L>" at = "at(tile: Tile) -> Tile";
        /// Planes from channel `first` on.
        Method "Ocm<T, L>, Tile" channels = "channels(first: usize) -> Self";
        /// Region of interest: `height` x `width` from row `y` and column `x` on.
        Method "Ocm<T, L>" roi = "roi(y: usize, x: usize, height: usize, width: usize) -> Ocm<T, M>";
        /// The same bytes seen as `C * S * S` channels of `H / S` x `W / S`: channel `(c * S + dy) * S + dx`.
        Method "Ocm<T, L>" space_to_depth = "space_to_depth::<S>() -> Ocm<T, M>";
        /// The inverse of `space_to_depth`.
        Method "Ocm<T, L>" depth_to_space = "depth_to_space::<S>() -> Ocm<T, M>";
        /// The same bytes in another layout of the same size. After `channels(first)` those from that channel on, as many as the layout
        /// has: `x.channels(32).view::<Tokens<512, 32>>()` is a head of an attention. Packed channels begin and end at words.
        Method "Ocm<T, L>" view = "view::<L>() -> Ocm<T, L>";
        /// The tensor of this element type and layout that begins at a byte, a multiple of 16: a kernel's constants come as one blob.
        Method "Ocm<i8, Vector<N>>" part = "part::<T, L>(byte: usize) -> Ocm<T, L>";
        /// The same of a blob in external memory: `prefetch(&blob.part::<i8, Vector<512>>(byte), &mut here)`.
        Method "Ext<i8, Vector<N>>" part = "part::<T, L>(byte: usize) -> Ext<T, L>";
        /// Tokens `first..first + n`.
        Method "Ocm<T, L>" tokens = "tokens(first: usize, n: usize) -> Ocm<T, M>";
        /// Elements `first..first + N` of every PE.
        Method "Lrm<T, N>" slice = "slice::<N>(first: usize) -> &Lrm<T, N>";
        /// The `2 * h + 1` rows that a halo delivers: elements of row `dy` in `-h..=h`, one a channel.
        Method "Lrm<T, N>" row = "row(dy: i32) -> &Lrm<T, M>";
    }
    Allocation {
        /// `N` elements in every PE, until the end of the block; contents undefined until written.
        Associated "Lrm" new = "Lrm::<T, N>::new() -> Lrm<T, N>";
        /// As `new`, every element `v`.
        Associated "Lrm" filled = "Lrm::<T, N>::filled(v: T) -> Lrm<T, N>";
        /// A tensor in on-chip memory, until the end of the block.
        Associated "Ocm" new = "Ocm::<T, L>::new() -> Ocm<T, L>";
    }
    FlowIn {
        /// A walk over the tiles of a tensor, in the order in which a flow delivers them.
        Type Walk = "Walk";
        /// One place of a walk: which tensor, which element belongs to PE (0, 0).
        Type Tile = "Tile";
        /// A transfer in flight; its value is readable once it has landed.
        Type Flow = "Flow<T>";
        /// The tiles of the tensor, row by row; the last ones of a row and column may leave PEs idle.
        Method "Ocm<T, L>" tiles = "tiles() -> Walk";
        /// Fills `h` border columns on both sides and delivers `2 * h + 1` rows a channel: for each PE those around its own. Zero
        /// outside the tensor. At most 4; the rows cost `2 * h + 1` times the flow.
        Method "Walk" halo = "halo(h: usize) -> Walk";
        /// Only the border columns of `halo`.
        Method "Walk" halo_cols = "halo_cols(h: usize) -> Walk";
        /// Only the rows of `halo`.
        Method "Walk" halo_rows = "halo_rows(h: usize) -> Walk";
        /// Neighbouring PEs are `s` rows and columns apart. A column stride delivers 4 elements a cycle.
        /// Of a tile: its place times `s`, where a window of that stride begins; taps count elements of the tensor.
        Method "Walk, Tile" stride = "stride(s: usize) -> Self";
        /// Every PE holds `BY` x `BX` neighbouring elements a channel.
        Method "Walk, Tile" block = "block::<BY, BX>() -> Self";
        /// Lays tiles on `rows` x `cols` PEs. Of a tile: so many PEs take part from its first on, whatever the walk's step.
        Method "Walk, Tile" grid = "grid(rows: usize, cols: usize) -> Self";
        /// Two bodies at a time work in turn on `n` instances of their buffers, so that flows run beside arithmetic.
        Method "Walk" pipelined = "pipelined(n: usize) -> Walk";
        /// Within each place, steps of `N` channels: one flow, waited for chunk by chunk.
        Method "Walk, Tile" chunks = "chunks::<N>() -> Walk";
        /// The tile moved by rows and columns: one tap of a window.
        Method "Tile" tap = "tap(dy: i32, dx: i32) -> Tile";
        /// Starts the flow of this tile into the array, or goes on with the walk's. The extent of `Lrm` says how many channels.
        Method "Tile" fetch = "fetch::<Lrm<T, N>>() -> Flow<Lrm<T, N>>";
        /// Whether the PE's element lies inside the tensor.
        Method "Tile" inside = "inside() -> Q<bool>";
        /// First channel of the tile.
        Method "Tile" channel = "channel() -> usize";
        /// Number of the tile in its walk.
        Method "Tile" index = "index() -> usize";
        /// Row of PE (0, 0) in the tensor.
        Method "Tile" y = "y() -> i32";
        /// Column of PE (0, 0) in the tensor.
        Method "Tile" x = "x() -> i32";
        /// Waits until the transfer has landed, and gives what it brought.
        Method "Flow<T>, Token" wait = "wait() -> T";
    }
    FlowOut {
        /// Starts the flow of a value out to this tile; PEs outside the tensor write nothing. In flight until the buffers are
        /// used again, the next `drain`, or the end of the walk.
        Method "Tile" store = "store(value) -> ()";
    }
    Broadcast {
        /// A tensor on its way to every PE, in its order. 16 bytes a cycle; waits where the queue is empty. Activations are weights
        /// without biases: `Tokens` for `take::<4>`, whose outputs are the tokens; `Planar` for `take::<1>`, whose outputs are the
        /// channels. The numbers of tokens, features and places are multiples of 4, 4 and 16.
        Function broadcast = "broadcast(tensor: &Ocm<T, L>) -> Broadcast";
        /// A broadcast in progress.
        Type Broadcast = "Broadcast";
        /// Weights of `N` outputs, as the operand of `mac`.
        Type Weights = "Weights<N>";
        /// The weights of the next `N` outputs, whose biases have been taken.
        Method "Broadcast" take = "take::<N>() -> Weights<N>";
        /// The 32-bit biases of the next `N` outputs; they lie before the weights, and accumulators begin with them.
        Method "Broadcast" bias = "bias::<N>() -> Acc<N>";
        /// The next element, the same in every PE.
        Method "Broadcast" next = "next::<T>() -> Q<T>";
        /// The next `N` elements into local memory: how a table comes to the PEs.
        Method "Broadcast" fill = "fill::<Lrm<T, N>>() -> Lrm<T, N>";
    }
    Rau {
        /// Reads the element of each PE's index; the condition says whether the index was inside. A tile costs up to 356 cycles.
        Method "Ocm<T, L>" gather = "gather(index: Q<i32>) -> Flow<(Q<T>, Q<bool>)>";
        /// Writes the value of each enabled PE at its index; of equal indices the highest row, then column, stays.
        Method "Ocm<T, L>" scatter = "scatter(index: Q<i32>, value: Q<T>) -> Token";
    }
    Dma {
        /// A transfer between memories, or of a scatter, in flight.
        Type Token = "Token";
        /// Starts a copy from external to on-chip memory.
        Function prefetch = "prefetch(from: &Ext<T, L>, to: &mut Ocm<T, L>) -> Token";
        /// Starts a copy from on-chip to external memory.
        Function write_back = "write_back(from: &Ocm<T, L>, to: &mut Ext<T, L>) -> Token";
        /// Waits for everything in flight.
        Function drain = "drain()";
    }
    Control {
        /// Whether the condition holds in any enabled PE: a scalar. 9 cycles.
        Function any = "any(condition: Q<bool>) -> bool";
        /// Whether it holds in every enabled PE.
        Function all = "all(condition: Q<bool>) -> bool";
        /// Every `n`th of a range.
        Method "range" step_by = "step_by(n: usize) -> range";
        /// A range backwards.
        Method "range" rev = "rev() -> range";
    }
    Neighbours {
        /// The value `hops` PEs away moves here: `shift(x, East, 1)` gives each PE the value of its western neighbour. Elements of a
        /// buffer move by words. One cycle a hop and word; 0 comes in at the edge, border columns take part.
        Function shift = "shift(x: Q<T>, to: Direction, hops: usize) -> Q<T> or shift(x: &Lrm<T, N>, to: Direction, hops: usize) -> Lrm<T, N>";
        /// Toward row 0.
        Constant North = "North: Direction";
        /// Toward the last column.
        Constant East = "East: Direction";
        /// Toward the last row.
        Constant South = "South: Direction";
        /// Toward column 0.
        Constant West = "West: Direction";
        /// Reduces over enabled PEs; each PE of the row, column or array receives the result. 36 cycles an axis of 32.
        Function reduce = "reduce(x: Q<T>, op: Reduction, over: Axis) -> Q<T>";
        /// Sum, wrapping.
        Constant Sum = "Sum: Reduction";
        /// Greatest.
        Constant Max = "Max: Reduction";
        /// Least.
        Constant Min = "Min: Reduction";
        /// The PEs of a row.
        Constant Row = "Row: Axis";
        /// The PEs of a column.
        Constant Column = "Column: Axis";
        /// All PEs.
        Constant Array = "Array: Axis";
    }
    Extents {
        /// `a / b` rounded up.
        Function div_ceil = "div_ceil(a: usize, b: usize) -> usize";
        /// The least multiple of `b` from `a` on.
        Function next_multiple_of = "next_multiple_of(a: usize, b: usize) -> usize";
        /// Whole part of the binary logarithm.
        Function log2 = "log2(a: usize) -> usize";
        /// Power.
        Function pow = "pow(a: usize, n: u32) -> usize";
        /// Whether exactly one bit is set.
        Function is_power_of_two = "is_power_of_two(a: usize) -> bool";
    }
    Structure {
        /// A kernel with its arguments on a machine: the type of `#[instance]` constants.
        Type Kernel = "Kernel";
    }
}

impl Builtin {
    /// Number of parameters and of generic arguments, if it can be called.
    pub fn arity(&self) -> Option<(usize, usize)> {
        let callable = matches!(self.kind, BuiltinKind::Function | BuiltinKind::Associated | BuiltinKind::Method);
        callable.then(|| {
            let open = self.signature.find('(').expect("a callable has parentheses");
            let (head, rest) = self.signature.split_at(open);
            let params = top_level_items(&rest[1..]);
            let generics = head.rfind("::<").map_or(0, |at| top_level_items(&head[at + 3..]));
            (params, generics)
        })
    }
}

/// Items separated by commas up to the closing bracket.
fn top_level_items(text: &str) -> usize {
    let (mut depth, mut n_items) = (0, 0);
    for c in text.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' if depth == 0 => break,
            ')' | '>' => depth -= 1,
            ',' if depth == 0 => n_items += 1,
            _ => {}
        }
        if n_items == 0 && !c.is_whitespace() {
            n_items = 1;
        }
    }
    n_items
}

/// The names of one kind, or of several.
pub fn named(name: &str, kinds: &[BuiltinKind]) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name && kinds.contains(&b.kind))
}

/// Kinds of names that stand alone in an expression.
pub const VALUE_KINDS: &[BuiltinKind] = &[BuiltinKind::Constant, BuiltinKind::Function];
/// Kinds of names that stand in types.
pub const TYPE_KINDS: &[BuiltinKind] = &[BuiltinKind::Scalar, BuiltinKind::Type, BuiltinKind::Layout];

/// The nearest of some names, if one is near enough to be what was meant.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A short name is near to too many others.
    let limit = name.chars().count() / 3;
    let is_near = |other: &&str| other.len().abs_diff(name.len()) <= limit;
    let lower = name.to_lowercase();
    let distances =
        names.into_iter().filter(is_near).map(|other| (strsim::osa_distance(&lower, &other.to_lowercase()), other));
    distances.min().filter(|(distance, _)| *distance <= limit).map(|(_, other)| other)
}

/// The page `docs/names.md`.
pub fn names_page() -> String {
    let mut page = String::from(
        "# The names of `ccl!`\n\nGenerated from `src/builtins.rs`; `CCL_BLESS=1 cargo test -p ccl-syntax` rewrites it. `Q<T>` is a \
         value in every PE;\n`usize`, `i32`, `bool` alone are scalars. Generic arguments may be left out where they can be \
         inferred.\n",
    );
    for capability in Capability::ALL {
        page += &format!("\n## {}\n\n| name | of | meaning |\n| --- | --- | --- |\n", capability.title());
        for row in BUILTINS.iter().filter(|row| row.capability == *capability) {
            let prose = row.prose.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            let owner = if row.owner.is_empty() { String::new() } else { format!("`{}`", row.owner) };
            page += &format!("| `{}` | {owner} | {prose} |\n", row.signature);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_begin_with_their_name() {
        for row in BUILTINS {
            let prefix = if row.kind == BuiltinKind::Associated { row.owner } else { row.name };
            assert!(row.signature.starts_with(prefix), "{}: {}", row.name, row.signature);
            assert!(row.signature.contains(row.name), "{}: {}", row.name, row.signature);
            assert!(row.prose.ends_with('.'), "{}: {}", row.name, row.prose);
        }
    }

    #[test]
    fn arity_is_read_from_the_signature() {
        let arity = |name: &str| BUILTINS.iter().find(|b| b.name == name).expect(name).arity();
        assert_eq!(arity("shift"), Some((3, 0)));
        assert_eq!(arity("fx_mul"), Some((2, 1)));
        assert_eq!(arity("drain"), Some((0, 0)));
        assert_eq!(arity("block"), Some((0, 2)));
        assert_eq!(arity("fetch"), Some((0, 1)));
        assert_eq!(arity("filled"), Some((1, 2)));
        assert_eq!(arity("Q"), None);
    }

    #[test]
    fn suggests_what_is_near() {
        assert_eq!(nearest("tilse", ["tiles", "take"]), Some("tiles"));
        assert_eq!(nearest("northh", ["North", "South"]), Some("North"));
        assert_eq!(nearest("zzz", ["North"]), None);
    }
}
