//! Operand types: each knows its width in bits, its encoding, its text and its prose, and nothing of any instruction.

use std::fmt;

/// A field of an instruction word.
///
/// Laws, tested for every type: `from_bits(to_bits(x)) == x`, `parse(x.to_string()) == x`, and `from_bits` of any value
/// under `2^BITS` is an operand or an error, never a panic.
pub trait Operand: Copy + PartialEq + fmt::Debug + fmt::Display + Sized + 'static {
    /// Width of the encoding.
    const BITS: u32;
    /// Name in the reference page.
    const NAME: &'static str;
    /// Forms of the text, for errors and the reference page.
    const FORMS: &'static str;
    /// Meaning, for the reference page.
    const PROSE: &'static str;
    /// Meaning of the bits, for the reference page.
    const ENCODING: &'static str;
    /// The words, if the operand is one of a list.
    const VALUES: &'static [WordInfo] = &[];
    /// The encoding, in the low [`BITS`](Self::BITS) bits.
    fn to_bits(self) -> u64;
    /// Decodes the low bits.
    fn from_bits(bits: u64) -> Result<Self, OperandError>;
    /// Reads the assembly text.
    fn parse(text: &str) -> Result<Self, OperandError>;
}

/// One word of an operand that is one of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordInfo {
    /// The encoding.
    pub bits: u64,
    /// The word in assembly text.
    pub word: &'static str,
    /// What it means.
    pub prose: &'static str,
}

/// Why bits or text are no operand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperandError {
    /// Encoded value without a meaning.
    #[error("{operand}: encoding {bits:#x} has no meaning")]
    Bits {
        /// Operand type.
        operand: &'static str,
        /// The offending bits.
        bits: u64,
    },
    /// Text that is not one of the forms.
    #[error("{operand}: cannot read `{text}`, expected {expected}")]
    Text {
        /// Operand type.
        operand: &'static str,
        /// What stood there.
        text: String,
        /// The forms.
        expected: &'static str,
    },
    /// A number outside its range.
    #[error("{operand}: {value} is outside {min}..={max}")]
    Range {
        /// Operand type.
        operand: &'static str,
        /// The value.
        value: i64,
        /// Smallest legal value.
        min: i64,
        /// Largest legal value.
        max: i64,
    },
}

fn bad_bits<T: Operand>(bits: u64) -> OperandError {
    OperandError::Bits { operand: T::NAME, bits }
}

fn bad_text<T: Operand>(text: &str) -> OperandError {
    OperandError::Text { operand: T::NAME, text: text.to_owned(), expected: T::FORMS }
}

/// Reads a decimal or `0x` number with an optional sign.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x") {
        // `from_str_radix` would take a second sign.
        Some(hex) if hex.starts_with(['+', '-']) => return None,
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn in_range<T: Operand>(value: i64, min: i64, max: i64) -> Result<i64, OperandError> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(OperandError::Range { operand: T::NAME, value, min, max })
    }
}

fn sign_extend(bits: u64, width: u32) -> i64 {
    ((bits << (64 - width)) as i64) >> (64 - width)
}

/// Operands that are one number in a range: text is the number behind a prefix.
macro_rules! numeric_operand {
    ($( $(#[doc = $doc:literal])* $Ty:ident($repr:ty): $bits:literal bits, $min:literal..=$max:literal, prefix $prefix:literal,
        $name:literal; )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Ty($repr);

        impl $Ty {
            /// Smallest legal value.
            pub const MIN: $repr = $min;
            /// Largest legal value.
            pub const MAX: $repr = $max;

            /// Checks the range.
            pub fn new(value: i64) -> Result<Self, OperandError> {
                in_range::<Self>(value, $min, $max).map(|v| Self(v as $repr))
            }
            /// The number.
            pub const fn get(self) -> $repr {
                self.0
            }
        }
        impl fmt::Display for $Ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl Operand for $Ty {
            const BITS: u32 = $bits;
            const NAME: &'static str = $name;
            const FORMS: &'static str = concat!("`", $prefix, $min, "`..`", $prefix, $max, "`");
            const PROSE: &'static str = concat!($($doc),*).trim_ascii();
            const ENCODING: &'static str = if $min < 0i64 { "the number, two's complement" } else { "the number" };
            fn to_bits(self) -> u64 {
                (self.0 as i64 as u64) & (u64::MAX >> (64 - $bits))
            }
            fn from_bits(bits: u64) -> Result<Self, OperandError> {
                let value = if $min < 0i64 { sign_extend(bits, $bits) } else { bits as i64 };
                Self::new(value).map_err(|_| bad_bits::<Self>(bits))
            }
            fn parse(text: &str) -> Result<Self, OperandError> {
                let digits = text.strip_prefix($prefix).ok_or_else(|| bad_text::<Self>(text))?;
                Self::new(number(digits).ok_or_else(|| bad_text::<Self>(text))?)
            }
        }
    )* };
}

numeric_operand! {
    /// Scalar register, 32 bit.
    SReg(u8): 5 bits, 0..=31, prefix "s", "scalar";
    /// Token of a running transfer.
    Token(u8): 4 bits, 0..=15, prefix "t", "token";
    /// Descriptor register.
    DReg(u8): 3 bits, 0..=7, prefix "d", "descriptor";
    /// Accumulator. `mat4` takes the four from a multiple of 4 on, `outer` all sixteen from `a0`.
    Acc(u8): 4 bits, 0..=15, prefix "a", "accumulator";
    /// Right shift of a 64-bit product; negative shifts left.
    Shift(i8): 7 bits, -31..=63, prefix "", "shift";
    /// Fraction bits of a 32-bit fixed-point number.
    Frac(u8): 5 bits, 0..=31, prefix "q", "fraction";
    /// `n`: a table of 2^n entries.
    TableBits(u8): 4 bits, 0..=12, prefix "", "table size";
    /// Bound of a clip.
    Bound(i16): 12 bits, -2048..=2047, prefix "#", "bound";
    /// Index of an instruction. The assembler also takes a label: `@name`.
    CodeAddr(u32): 24 bits, 0..=16777215, prefix "@", "code address";
    /// Iterations of a loop.
    Trips(u32): 24 bits, 0..=16777215, prefix "", "trip count";
    /// Entry of the image's name table: region, probe, assertion, message of a trap. The assembler also takes the name: `"conv"`.
    NameId(u16): 16 bits, 0..=65535, prefix "%", "name";
}

impl serde::Serialize for SReg {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for SReg {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        SReg::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Operands that are one of a list of words.
macro_rules! word_operand {
    ($( $(#[doc = $doc:literal])* $Ty:ident: $bits:literal bits, $name:literal
        { $( $(#[doc = $vdoc:literal])* $value:literal $word:ident = $Variant:ident ),* $(,)? } )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $Ty { $( $(#[doc = $vdoc])* $Variant = $value, )* }

        impl $Ty {
            /// Every value in encoding order.
            pub const ALL: &'static [Self] = &[ $( Self::$Variant, )* ];

            /// The word in assembly text.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$Variant => stringify!($word), )* }
            }
            /// What the value means.
            pub const fn prose(self) -> &'static str {
                match self { $( Self::$Variant => concat!($($vdoc),*).trim_ascii(), )* }
            }
        }
        impl fmt::Display for $Ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
        impl Operand for $Ty {
            const BITS: u32 = $bits;
            const NAME: &'static str = $name;
            const FORMS: &'static str = concat!("one of", $( " `", stringify!($word), "`", )*);
            const PROSE: &'static str = concat!($($doc),*).trim_ascii();
            const ENCODING: &'static str = "the value in the list";
            const VALUES: &'static [WordInfo] =
                &[ $( WordInfo { bits: $value, word: stringify!($word), prose: Self::$Variant.prose() }, )* ];
            fn to_bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> Result<Self, OperandError> {
                match bits { $( $value => Ok(Self::$Variant), )* _ => Err(bad_bits::<Self>(bits)) }
            }
            fn parse(text: &str) -> Result<Self, OperandError> {
                match text { $( stringify!($word) => Ok(Self::$Variant), )* _ => Err(bad_text::<Self>(text)) }
            }
        }
    )* };
}

word_operand! {
    /// Comparison of two 32-bit values.
    Cond: 4 bits, "condition" {
        /// equal.
        0 eq = Eq,
        /// unequal.
        1 ne = Ne,
        /// less, signed.
        2 lt = Lt,
        /// less or equal, signed.
        3 le = Le,
        /// greater, signed.
        4 gt = Gt,
        /// greater or equal, signed.
        5 ge = Ge,
        /// less, unsigned.
        6 ltu = Ltu,
        /// less or equal, unsigned.
        7 leu = Leu,
        /// greater, unsigned.
        8 gtu = Gtu,
        /// greater or equal, unsigned.
        9 geu = Geu,
    }
    /// How the 16 products of a MAC step meet.
    MacShape: 2 bits, "mac shape" {
        /// 16 channels x 16 weights into 1 accumulator.
        0 dot = Dot,
        /// 4 channels x 16 weights (4 per output) into 4 accumulators.
        1 mat4 = Mat4,
        /// 1 channel x 16 weights into 16 accumulators.
        2 outer = Outer,
    }
    /// Field of a descriptor. Unset fields are 0.
    Field: 6 bits, "field" {
        /// OCM byte address: of element (0, 0) of the first plane (flow), the first entry (broadcast), element 0 (RAU), the first row (DMA).
        0 ocm = Ocm,
        /// bytes of one element as a PE sees it: 1, 2 or 4 (flow, RAU).
        1 elem = Elem,
        /// columns of the tensor, in elements; columns outside 0..width arrive as zeros and are not written (flow).
        2 width = Width,
        /// rows of the tensor; rows outside 0..height arrive as zeros and are not written (flow).
        3 height = Height,
        /// bytes from a row to the next (flow; OCM side of a DMA).
        4 row_pitch = RowPitch,
        /// bytes from a plane to the next (flow).
        5 plane_pitch = PlanePitch,
        /// column of PE (0, 0) in the first tile, may be negative (flow).
        6 x0 = X0,
        /// row of PE (0, 0) in the first tile, may be negative (flow).
        7 y0 = Y0,
        /// elements between neighbouring PEs of a row (flow).
        8 col_step = ColStep,
        /// rows between neighbouring PEs of a column (flow).
        9 row_step = RowStep,
        /// PE rows of a tile (flow).
        10 rows = Rows,
        /// PE columns of a tile (flow).
        11 cols = Cols,
        /// border columns filled on each side (flow in).
        12 halo = Halo,
        /// tiles of the innermost loop of the walk; 0 counts as 1 (flow); entries of the inner loop (broadcast); rows (DMA).
        13 n0 = N0,
        /// columns the innermost loop advances a tile (flow); bytes an inner step advances (broadcast).
        14 dx0 = Dx0,
        /// rows the innermost loop advances a tile (flow).
        15 dy0 = Dy0,
        /// planes the innermost loop advances (flow).
        16 dp0 = Dp0,
        /// trips of the second loop (flow, broadcast).
        17 n1 = N1,
        /// columns the second loop advances (flow); bytes an outer step advances (broadcast).
        18 dx1 = Dx1,
        /// rows the second loop advances (flow).
        19 dy1 = Dy1,
        /// planes the second loop advances (flow).
        20 dp1 = Dp1,
        /// trips of the third loop (flow).
        21 n2 = N2,
        /// columns the third loop advances (flow).
        22 dx2 = Dx2,
        /// rows the third loop advances (flow).
        23 dy2 = Dy2,
        /// planes the third loop advances (flow).
        24 dp2 = Dp2,
        /// trips of the fourth loop (flow).
        25 n3 = N3,
        /// columns the fourth loop advances (flow).
        26 dx3 = Dx3,
        /// rows the fourth loop advances (flow).
        27 dy3 = Dy3,
        /// planes the fourth loop advances (flow).
        28 dp3 = Dp3,
        /// LRM byte address of the first tile (flow), of the element index (RAU).
        29 lrm = Lrm,
        /// bytes from a tile to the next within a buffer (flow).
        30 lrm_step = LrmStep,
        /// tiles of one buffer of a ring (flow).
        31 group = Group,
        /// buffers of a ring; 0: no ring, tiles land (leave) one after another (flow).
        32 ring = Ring,
        /// bytes from a buffer of the ring to the next (flow).
        33 ring_step = RingStep,
        /// LRM byte address of the datum (RAU).
        34 data = Data,
        /// LRM byte address of the valid word plus 1; 0: none is written (RAU load).
        35 valid = Valid,
        /// elements that may be addressed; an index outside 0..limit is invalid (RAU).
        36 limit = Limit,
        /// external byte address of the first row (DMA).
        37 ext = Ext,
        /// bytes of a row (DMA).
        38 bytes = Bytes,
        /// bytes from a row to the next on the external side (DMA).
        39 ext_pitch = ExtPitch,
    }
}

/// `n`, `e`, `s`, `w`: direction of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Dir {
    /// Row - 1.
    North = 0,
    /// Column + 1.
    East = 1,
    /// Row + 1.
    South = 2,
    /// Column - 1.
    West = 3,
}

impl Dir {
    /// Every direction in encoding order.
    pub const ALL: [Dir; 4] = [Dir::North, Dir::East, Dir::South, Dir::West];

    /// The letter in assembly text.
    pub const fn letter(self) -> char {
        ['n', 'e', 's', 'w'][self as usize]
    }
    /// The side on which a neighbour sees what is sent this way.
    pub const fn opposite(self) -> Dir {
        Dir::ALL[(self as usize + 2) % 4]
    }
}

/// `n`, `e`, `s`, `w` or a combination in that order: the neighbours whose port is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dirs(u8);

impl Dirs {
    /// All four.
    pub const ALL: Dirs = Dirs(0b1111);

    /// One direction.
    pub const fn one(dir: Dir) -> Self {
        Self(1 << dir as u8)
    }
    /// Adds a direction.
    pub const fn with(self, dir: Dir) -> Self {
        Self(self.0 | 1 << dir as u8)
    }
    /// Whether `dir` is among them.
    pub const fn contains(self, dir: Dir) -> bool {
        self.0 >> dir as u8 & 1 == 1
    }
}
impl fmt::Display for Dirs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Dir::ALL.iter().filter(|d| self.contains(**d)).try_for_each(|d| write!(f, "{}", d.letter()))
    }
}
impl Operand for Dirs {
    const BITS: u32 = 4;
    const NAME: &'static str = "directions";
    const FORMS: &'static str = "`n`, `e`, `s`, `w`, or several in that order";
    const PROSE: &'static str = "The neighbours that receive.";
    const ENCODING: &'static str = "bit 0: north, bit 1: east, bit 2: south, bit 3: west; at least one";
    fn to_bits(self) -> u64 {
        self.0 as u64
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits == 0 || bits > 15 { Err(bad_bits::<Self>(bits)) } else { Ok(Self(bits as u8)) }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        let dirs = Dir::ALL.iter().filter(|d| text.contains(d.letter())).fold(Dirs(0), |set, d| set.with(*d));
        if dirs.0 != 0 && dirs.to_string() == text { Ok(dirs) } else { Err(bad_text::<Self>(text)) }
    }
}

/// The engines that a drain waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Engines(u8);

/// An engine beside the instruction stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Engine {
    /// Flow from on-chip memory into the array.
    FlowIn = 0,
    /// Flow from the array into on-chip memory.
    FlowOut = 1,
    /// Broadcast stream.
    Broadcast = 2,
    /// Random access unit.
    Rau = 3,
    /// External memory to on-chip memory.
    DmaIn = 4,
    /// On-chip memory to external memory.
    DmaOut = 5,
}

impl Engine {
    /// Every engine in encoding order.
    pub const ALL: [Engine; 6] =
        [Engine::FlowIn, Engine::FlowOut, Engine::Broadcast, Engine::Rau, Engine::DmaIn, Engine::DmaOut];

    /// The word in assembly text, tables and the timeline.
    pub const fn word(self) -> &'static str {
        ["flow_in", "flow_out", "broadcast", "rau", "dma_in", "dma_out"][self as usize]
    }
}
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Engines {
    /// Every engine.
    pub const ALL: Engines = Engines(0b11_1111);

    /// One engine.
    pub const fn one(engine: Engine) -> Self {
        Self(1 << engine as u8)
    }
    /// Adds an engine.
    pub const fn with(self, engine: Engine) -> Self {
        Self(self.0 | 1 << engine as u8)
    }
    /// Whether `engine` is among them.
    pub const fn contains(self, engine: Engine) -> bool {
        self.0 >> engine as u8 & 1 == 1
    }
}
impl fmt::Display for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        for (i, engine) in Engine::ALL.iter().filter(|e| self.contains(**e)).enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "|" }, engine.word())?;
        }
        Ok(())
    }
}
impl Operand for Engines {
    const BITS: u32 = 6;
    const NAME: &'static str = "engines";
    const FORMS: &'static str =
        "`all`, or of `flow_in`, `flow_out`, `broadcast`, `rau`, `dma_in`, `dma_out` those meant with `|` between";
    const PROSE: &'static str = "Engines to wait for.";
    const ENCODING: &'static str = "one bit an engine, from bit 0 in that order; at least one";
    fn to_bits(self) -> u64 {
        self.0 as u64
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits == 0 || bits > 63 { Err(bad_bits::<Self>(bits)) } else { Ok(Self(bits as u8)) }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let mut set = Engines(0);
        for word in text.split('|') {
            let engine = Engine::ALL.iter().find(|e| e.word() == word).ok_or_else(|| bad_text::<Self>(text))?;
            set = set.with(*engine);
        }
        Ok(set)
    }
}

/// How many tiles a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiles {
    /// Until tile `n` (counted from 1) has landed or left.
    Count(u32),
    /// Until the whole transfer is done.
    All,
}

impl Tiles {
    const ALL_BITS: u64 = (1 << 24) - 1;

    /// Checks and makes a count.
    pub fn count(n: i64) -> Result<Self, OperandError> {
        in_range::<Self>(n, 0, Self::ALL_BITS as i64 - 1).map(|n| Tiles::Count(n as u32))
    }
}
impl fmt::Display for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiles::Count(n) => write!(f, "{n}"),
            Tiles::All => f.write_str("all"),
        }
    }
}
impl Operand for Tiles {
    const BITS: u32 = 24;
    const NAME: &'static str = "tiles";
    const FORMS: &'static str = "`0`..`16777214`, or `all`";
    const PROSE: &'static str =
        "`n`: until tile n, counted from 1, has landed or left; `all`: until the transfer is done.";
    const ENCODING: &'static str = "the number; all ones: `all`";
    fn to_bits(self) -> u64 {
        match self {
            Tiles::Count(n) => n as u64,
            Tiles::All => Self::ALL_BITS,
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        match bits {
            Self::ALL_BITS => Ok(Tiles::All),
            n if n < Self::ALL_BITS => Ok(Tiles::Count(n as u32)),
            _ => Err(bad_bits::<Self>(bits)),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text == "all" {
            return Ok(Tiles::All);
        }
        Self::count(number(text).ok_or_else(|| bad_text::<Self>(text))?)
    }
}

/// A scalar source: a register or an immediate of `N` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarSrc<const N: u32> {
    /// A register.
    Reg(SReg),
    /// An immediate that fits `N` bits, signed.
    Imm(i32),
}
/// A register or a 32-bit immediate.
pub type SSrc = ScalarSrc<32>;
/// A register or a 16-bit immediate.
pub type SSrc16 = ScalarSrc<16>;

impl<const N: u32> ScalarSrc<N> {
    /// Checks and makes an immediate: `N` bits, signed. 32-bit ones may also be given unsigned, since addresses and masks
    /// read better so.
    pub fn imm(value: i64) -> Result<Self, OperandError> {
        let max = if N == 32 { u32::MAX as i64 } else { (1 << (N - 1)) - 1 };
        in_range::<Self>(value, -(1 << (N - 1)), max).map(|v| ScalarSrc::Imm(v as i32))
    }
}
impl<const N: u32> fmt::Display for ScalarSrc<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarSrc::Reg(r) => write!(f, "{r}"),
            ScalarSrc::Imm(v) => write!(f, "#{v}"),
        }
    }
}
impl<const N: u32> Operand for ScalarSrc<N> {
    const BITS: u32 = N + 1;
    const NAME: &'static str = if N == 32 { "scalar source" } else { "short scalar source" };
    const FORMS: &'static str =
        if N == 32 { "`s0`..`s31`, or `#-2147483648`..`#4294967295`" } else { "`s0`..`s31`, or `#-32768`..`#32767`" };
    const PROSE: &'static str = if N == 32 {
        "A scalar register or a 32-bit number; numbers over `#2147483647` are read as unsigned and printed as signed."
    } else {
        "A scalar register or a 16-bit signed number."
    };
    const ENCODING: &'static str = if N == 32 {
        "bit 32: immediate in bits 0..32, else register"
    } else {
        "bit 16: immediate in bits 0..16, else register"
    };
    fn to_bits(self) -> u64 {
        match self {
            ScalarSrc::Reg(r) => r.to_bits(),
            ScalarSrc::Imm(v) => 1 << N | (v as u64 & (u64::MAX >> (64 - N))),
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits >> N & 1 == 1 {
            Ok(ScalarSrc::Imm(sign_extend(bits & (u64::MAX >> (64 - N)), N) as i32))
        } else {
            if bits > 31 {
                return Err(bad_bits::<Self>(bits));
            }
            SReg::from_bits(bits).map(ScalarSrc::Reg)
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        match text.strip_prefix('#') {
            Some(digits) => Self::imm(number(digits).ok_or_else(|| bad_text::<Self>(text))?),
            None => SReg::parse(text).map(ScalarSrc::Reg).map_err(|_| bad_text::<Self>(text)),
        }
    }
}

/// Width of an access to local memory. Narrow reads are sign-extended; narrow writes leave the other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Width {
    /// 32 bit.
    Word = 0,
    /// 16 bit.
    Half = 1,
    /// 8 bit.
    Byte = 2,
}

impl Width {
    /// Bytes of an access.
    pub const fn bytes(self) -> u32 {
        [4, 2, 1][self as usize]
    }
    const fn suffix(self) -> &'static str {
        ["", ".h", ".b"][self as usize]
    }
    const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Width::Word),
            1 => Some(Width::Half),
            2 => Some(Width::Byte),
            _ => None,
        }
    }
}

/// An address in local memory, the same in every PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lrm {
    /// `[addr]`: byte address 0..4096, a multiple of the width.
    Abs {
        /// Access width.
        width: Width,
        /// Byte address.
        addr: u16,
    },
    /// `[sN+offset]`: a scalar register `s0`..`s7` plus a byte offset, a multiple of the width, at most 511 widths.
    Rel {
        /// Access width.
        width: Width,
        /// Number of the base register, 0..8.
        base: u8,
        /// Byte offset.
        offset: u16,
    },
}

impl Lrm {
    const EXPECTED: &'static str =
        "`[addr]` or `[s0+offset]` to `[s7+offset]` with `.h` or `.b` behind for half-words and bytes";

    /// A word at a byte address.
    pub fn word(addr: u32) -> Result<Self, OperandError> {
        Self::abs(Width::Word, addr)
    }
    /// A byte at a byte address.
    pub fn byte(addr: u32) -> Result<Self, OperandError> {
        Self::abs(Width::Byte, addr)
    }
    /// Checks and makes an absolute address.
    pub fn abs(width: Width, addr: u32) -> Result<Self, OperandError> {
        Self::check(width, addr, 4096)?;
        Ok(Lrm::Abs { width, addr: addr as u16 })
    }
    /// Checks and makes an address relative to `s{base}`.
    pub fn rel(width: Width, base: u32, offset: u32) -> Result<Self, OperandError> {
        in_range::<Self>(base as i64, 0, 7)?;
        Self::check(width, offset, 512 * width.bytes())?;
        Ok(Lrm::Rel { width, base: base as u8, offset: offset as u16 })
    }
    fn check(width: Width, at: u32, end: u32) -> Result<(), OperandError> {
        in_range::<Self>(at as i64, 0, end as i64 - width.bytes() as i64)?;
        if !at.is_multiple_of(width.bytes()) {
            let text = format!("{at}{}", width.suffix());
            return Err(OperandError::Text { operand: Self::NAME, text, expected: "an address aligned to its width" });
        }
        Ok(())
    }
    /// Access width.
    pub const fn width(self) -> Width {
        match self {
            Lrm::Abs { width, .. } | Lrm::Rel { width, .. } => width,
        }
    }
    fn parse_opt(text: &str) -> Option<Result<Self, OperandError>> {
        let rest = text.strip_prefix('[')?;
        let (inner, suffix) = rest.split_once(']')?;
        let width = [Width::Word, Width::Half, Width::Byte].into_iter().find(|w| w.suffix() == suffix)?;
        Some(match inner.strip_prefix('s') {
            Some(based) => {
                let (base, offset) = based.split_once('+').unwrap_or((based, "0"));
                Self::rel(width, u32::try_from(number(base)?).ok()?, u32::try_from(number(offset)?).ok()?)
            }
            None => Self::abs(width, u32::try_from(number(inner)?).ok()?),
        })
    }
}
impl fmt::Display for Lrm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lrm::Abs { width, addr } => write!(f, "[{addr}]{}", width.suffix()),
            Lrm::Rel { width, base, offset } => write!(f, "[s{base}+{offset}]{}", width.suffix()),
        }
    }
}
impl Operand for Lrm {
    const BITS: u32 = 15;
    const NAME: &'static str = "local memory";
    const FORMS: &'static str = Lrm::EXPECTED;
    const PROSE: &'static str = "Local memory at a byte address 0..4096, the same in every PE, or at the address in `s0`..`s7` plus up to 511 widths. \
         A multiple of the width. Without a suffix a word, `.h` a half-word, `.b` a byte.";
    const ENCODING: &'static str = "bit 14: based; bits 12..14: width (0 word, 1 half-word, 2 byte); bits 0..12: byte address, or \
         bits 9..12: base register and bits 0..9: offset in widths";
    fn to_bits(self) -> u64 {
        match self {
            Lrm::Abs { width, addr } => (width as u64) << 12 | addr as u64,
            Lrm::Rel { width, base, offset } => {
                1 << 14 | (width as u64) << 12 | (base as u64) << 9 | (offset as u32 / width.bytes()) as u64
            }
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        let width = Width::from_bits(bits >> 12 & 3).ok_or_else(|| bad_bits::<Self>(bits))?;
        let made = if bits >> 14 & 1 == 1 {
            Self::rel(width, (bits >> 9 & 7) as u32, (bits & 511) as u32 * width.bytes())
        } else {
            Self::abs(width, (bits & 0xfff) as u32)
        };
        made.map_err(|_| bad_bits::<Self>(bits))
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        Self::parse_opt(text).unwrap_or_else(|| {
            Err(OperandError::Text { operand: Self::NAME, text: text.to_owned(), expected: Self::EXPECTED })
        })
    }
}

/// Where an array instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dst {
    /// Local memory.
    Lrm(Lrm),
    /// An accumulator.
    Acc(Acc),
}
impl From<Lrm> for Dst {
    fn from(lrm: Lrm) -> Self {
        Dst::Lrm(lrm)
    }
}
impl From<Acc> for Dst {
    fn from(acc: Acc) -> Self {
        Dst::Acc(acc)
    }
}
impl fmt::Display for Dst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dst::Lrm(lrm) => lrm.fmt(f),
            Dst::Acc(acc) => acc.fmt(f),
        }
    }
}
impl Operand for Dst {
    const BITS: u32 = 16;
    const NAME: &'static str = "destination";
    const FORMS: &'static str =
        "`[addr]` or `[s0+offset]` with `.h` or `.b` behind for half-words and bytes, or `a0`..`a15`";
    const PROSE: &'static str =
        "Local memory in any width, or an accumulator. Narrow writes leave the other lanes of the word.";
    const ENCODING: &'static str = "bit 15 clear: local memory in bits 0..15; set: accumulator in bits 0..4";
    fn to_bits(self) -> u64 {
        match self {
            Dst::Lrm(lrm) => lrm.to_bits(),
            Dst::Acc(acc) => 1 << 15 | acc.to_bits(),
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        match bits >> 15 {
            0 => Lrm::from_bits(bits).map(Dst::Lrm),
            _ if bits & 0x7ff0 == 0 => Acc::from_bits(bits & 15).map(Dst::Acc),
            _ => Err(bad_bits::<Self>(bits)),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text.starts_with('a') { Acc::parse(text).map(Dst::Acc) } else { Lrm::parse(text).map(Dst::Lrm) }
    }
}

/// How an ALU operation reads the broadcast queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BroadcastRead {
    /// Lane width.
    pub width: Width,
    /// Lane within the head word: 0 for words, 0..2 for half-words, 0..4 for bytes.
    pub lane: u8,
    /// Whether the head word leaves the queue. A word read always takes it.
    pub pop: bool,
}

/// What an array instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    /// Local memory.
    Lrm(Lrm),
    /// An immediate in -8192..=8191, the same in every PE.
    Imm(i16),
    /// An accumulator.
    Acc(Acc),
    /// The port that the neighbour on that side writes.
    Port(Dir),
    /// A scalar register, the same in every PE.
    Scalar(SReg),
    /// The broadcast queue.
    Broadcast(BroadcastRead),
    /// Row of the PE.
    QRow,
    /// Column of the PE; -4..-1 and cols..cols+4 in the border.
    QCol,
}

impl Src {
    /// Smallest immediate.
    pub const IMM_MIN: i32 = -8192;
    /// Largest immediate.
    pub const IMM_MAX: i32 = 8191;

    /// The head word of the broadcast queue, taken.
    pub const BROADCAST: Src = Src::Broadcast(BroadcastRead { width: Width::Word, lane: 0, pop: true });

    /// Checks and makes an immediate.
    pub fn imm(value: i64) -> Result<Self, OperandError> {
        in_range::<Self>(value, Self::IMM_MIN as i64, Self::IMM_MAX as i64).map(|v| Src::Imm(v as i16))
    }
}
impl From<Lrm> for Src {
    fn from(lrm: Lrm) -> Self {
        Src::Lrm(lrm)
    }
}
impl From<Acc> for Src {
    fn from(acc: Acc) -> Self {
        Src::Acc(acc)
    }
}
impl From<SReg> for Src {
    fn from(reg: SReg) -> Self {
        Src::Scalar(reg)
    }
}
impl fmt::Display for Src {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Src::Lrm(lrm) => lrm.fmt(f),
            Src::Imm(v) => write!(f, "#{v}"),
            Src::Acc(acc) => acc.fmt(f),
            Src::Port(dir) => write!(f, "port.{}", dir.letter()),
            Src::Scalar(r) => r.fmt(f),
            Src::Broadcast(read) => match read.width {
                Width::Word => f.write_str("bc"),
                width => write!(f, "bc{}{}{}", width.suffix(), read.lane, if read.pop { "!" } else { "" }),
            },
            Src::QRow => f.write_str("q_row"),
            Src::QCol => f.write_str("q_col"),
        }
    }
}
impl Operand for Src {
    const BITS: u32 = 16;
    const NAME: &'static str = "source";
    const FORMS: &'static str = "`[addr]`, `[s0+offset]` (`.h`, `.b` behind), `#-8192`..`#8191`, `a0`..`a15`, `port.n` (`e`, `s`, `w`), \
         `s0`..`s31`, `bc`, `bc.b0`..`bc.b3`, `bc.h0`, `bc.h1` (`!` behind), `q_row` or `q_col`";
    const PROSE: &'static str = "Local memory in any width, sign-extended; a number; an accumulator; the port that the neighbour on that side \
         writes; a scalar register, the same in every PE; `bc`, the head word of the broadcast queue, taken; `bc.b0`.., `bc.h0`.., a \
         sign-extended lane of it, taken only with `!` behind; row and column of the PE.";
    const ENCODING: &'static str = "bits 14..16 are 0 or 1: local memory in bits 0..15; 2: number in bits 0..14; 3: by bits 10..14 \
         0: accumulator, 1: port (n, e, s, w), 2: scalar register, 3: broadcast (bits 3..5 width, 1..3 lane, 0 taken), 4: `q_row`, \
         5: `q_col`";
    fn to_bits(self) -> u64 {
        const SPECIAL: u64 = 3 << 14;
        match self {
            Src::Lrm(lrm) => lrm.to_bits(),
            Src::Imm(v) => 2 << 14 | (v as u64 & 0x3fff),
            Src::Acc(acc) => SPECIAL | acc.to_bits(),
            Src::Port(dir) => SPECIAL | 1 << 10 | dir as u64,
            Src::Scalar(r) => SPECIAL | 2 << 10 | r.to_bits(),
            Src::Broadcast(b) => SPECIAL | 3 << 10 | (b.width as u64) << 3 | (b.lane as u64) << 1 | b.pop as u64,
            Src::QRow => SPECIAL | 4 << 10,
            Src::QCol => SPECIAL | 5 << 10,
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        let bad = || bad_bits::<Self>(bits);
        let payload = bits & 0x3ff;
        match (bits >> 14, bits >> 10 & 15) {
            (0 | 1, _) => Lrm::from_bits(bits).map(Src::Lrm),
            (2, _) => Ok(Src::Imm(sign_extend(bits & 0x3fff, 14) as i16)),
            (3, 0) if payload < 16 => Acc::from_bits(payload).map(Src::Acc),
            (3, 1) if payload < 4 => Ok(Src::Port(Dir::ALL[payload as usize])),
            (3, 2) if payload < 32 => SReg::from_bits(payload).map(Src::Scalar),
            (3, 3) if payload < 32 => {
                let width = Width::from_bits(payload >> 3).ok_or_else(bad)?;
                let read = BroadcastRead { width, lane: (payload >> 1 & 3) as u8, pop: payload & 1 == 1 };
                let legal = read.lane as u32 * width.bytes() < 4 && (width != Width::Word || read.pop);
                if legal { Ok(Src::Broadcast(read)) } else { Err(bad()) }
            }
            (3, 4) if payload == 0 => Ok(Src::QRow),
            (3, 5) if payload == 0 => Ok(Src::QCol),
            _ => Err(bad()),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        let bad = || bad_text::<Self>(text);
        if let Some(lrm) = Lrm::parse_opt(text) {
            return lrm.map(Src::Lrm);
        }
        if let Some(digits) = text.strip_prefix('#') {
            return Src::imm(number(digits).ok_or_else(bad)?);
        }
        if let Some(side) = text.strip_prefix("port.") {
            let dir = Dir::ALL.into_iter().find(|d| side == d.letter().to_string()).ok_or_else(bad)?;
            return Ok(Src::Port(dir));
        }
        if let Some(lane) = text.strip_prefix("bc.") {
            let (lane, pop) = lane.strip_suffix('!').map_or((lane, false), |lane| (lane, true));
            let (width, lane) = match lane {
                "b0" | "b1" | "b2" | "b3" => (Width::Byte, lane.as_bytes()[1] - b'0'),
                "h0" | "h1" => (Width::Half, lane.as_bytes()[1] - b'0'),
                _ => return Err(bad()),
            };
            return Ok(Src::Broadcast(BroadcastRead { width, lane, pop }));
        }
        match text {
            "bc" => Ok(Src::BROADCAST),
            "q_row" => Ok(Src::QRow),
            "q_col" => Ok(Src::QCol),
            _ if text.starts_with('s') => SReg::parse(text).map(Src::Scalar).map_err(|_| bad()),
            _ if text.starts_with('a') => Acc::parse(text).map(Src::Acc).map_err(|_| bad()),
            _ => Err(bad()),
        }
    }
}
