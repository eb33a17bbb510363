//! The instruction set: operands, the table, and what is derived from it. Nothing here executes or times anything.

pub mod operand;
mod table;

use std::any::Any;
use std::fmt;
use std::str::FromStr;

use operand::*;
pub(crate) use table::for_each_inst;

use crate::target::Param;

/// The six classes to which every cycle of a run is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Branches, loops, calls and the predicate stack.
    Predication,
    /// Scalar and array ALU.
    Compute,
    /// Between PEs.
    DataArray,
    /// Multiply-accumulate.
    Mac,
    /// Issue of and waits for transfers with external memory.
    DataExternal,
    /// Issue of and waits for transfers between on-chip memory and array.
    DataOcm,
}

impl Class {
    /// Every class in the order of the tables.
    pub const ALL: [Class; 6] =
        [Class::Predication, Class::Compute, Class::DataArray, Class::Mac, Class::DataExternal, Class::DataOcm];

    /// The name in tables and JSON.
    pub const fn word(self) -> &'static str {
        ["predication", "compute", "data_array", "mac", "data_external", "data_ocm"][self as usize]
    }
}
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One operand field of a row, for the reference page.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Field name.
    pub name: &'static str,
    /// Operand type's name.
    pub operand: &'static str,
    /// Forms of its text.
    pub forms: &'static str,
    /// What it means.
    pub prose: &'static str,
    /// What its bits mean.
    pub encoding: &'static str,
    /// Its words, if it is one of a list.
    pub values: &'static [WordInfo],
    /// Lowest bit in the word.
    pub low: u32,
    /// Width.
    pub bits: u32,
}

/// One row of the table, for the reference page and look-ups.
#[derive(Clone, Debug)]
pub struct InstInfo {
    /// Opcode, bits 56..64.
    pub opcode: u8,
    /// Mnemonic.
    pub mnemonic: &'static str,
    /// Fields from bit 0 upwards.
    pub fields: Vec<FieldInfo>,
    /// Class to which its issue is charged.
    pub class: Class,
    /// Parameter with its issue cost.
    pub cost: Param,
    /// What it does.
    pub prose: &'static str,
}

/// Why a word or a line is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstError {
    /// No row has the opcode.
    #[error("word {word:#018x}: no instruction has opcode {opcode:#04x}")]
    Opcode {
        /// The whole word.
        word: u64,
        /// Its top byte.
        opcode: u8,
    },
    /// Bits outside every field are set.
    #[error("`{mnemonic}`: word {word:#018x} has bits outside its fields")]
    StrayBits {
        /// The row's mnemonic.
        mnemonic: &'static str,
        /// The whole word.
        word: u64,
    },
    /// A field does not decode or parse.
    #[error("`{mnemonic}`, operand `{field}`: {error}")]
    Operand {
        /// The row's mnemonic.
        mnemonic: &'static str,
        /// The field.
        field: &'static str,
        /// Why.
        error: OperandError,
    },
    /// No row has the mnemonic.
    #[error("no instruction is called `{0}`")]
    Mnemonic(String),
    /// Wrong number of operands in text.
    #[error("`{mnemonic}` takes {expected} operands ({form}), not {found}")]
    OperandCount {
        /// The row's mnemonic.
        mnemonic: &'static str,
        /// Fields of the row.
        expected: usize,
        /// Their names.
        form: &'static str,
        /// Operands in the text.
        found: usize,
    },
    /// The operands do not go together.
    #[error("`{inst}`: {reason}")]
    Combination {
        /// The instruction.
        inst: String,
        /// What is wrong.
        reason: &'static str,
    },
}

macro_rules! define_inst {
    ($( $(#[doc = $doc:literal])* $op:literal $name:ident = $Ty:ident { $($f:ident: $T:ident),* },
        class $class:ident, cost $cost:ident; )*) => {
        /// One instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "operands are documented by their types")]
        pub enum Inst { $( $(#[doc = $doc])* $Ty { $($f: $T),* }, )* }

        /// One method per row: a new instruction does not build until the machine can run it.
        pub trait Exec {
            /// What running one instruction gives.
            type Outcome;
            $( $(#[doc = $doc])* fn $name(&mut self, $($f: $T),*) -> Self::Outcome; )*
        }

        impl Inst {
            /// Opcodes in table order.
            pub const OPCODES: &'static [u8] = &[$($op),*];

            /// Mnemonics in table order.
            pub const MNEMONICS: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Runs the instruction on `exec`.
            #[inline(always)]
            pub fn execute<E: Exec>(self, exec: &mut E) -> E::Outcome {
                match self { $( Inst::$Ty { $($f),* } => exec.$name($($f),*), )* }
            }

            /// The opcode.
            pub const fn opcode(&self) -> u8 {
                match self { $( Inst::$Ty { .. } => $op, )* }
            }

            /// The mnemonic.
            pub const fn mnemonic(&self) -> &'static str {
                match self { $( Inst::$Ty { .. } => stringify!($name), )* }
            }

            /// The class to which its issue is charged.
            pub const fn class(&self) -> Class {
                match self { $( Inst::$Ty { .. } => Class::$class, )* }
            }

            /// The parameter that holds its issue cost.
            pub const fn cost(&self) -> Param {
                match self { $( Inst::$Ty { .. } => Param::$cost, )* }
            }

            /// The 64-bit word.
            pub fn encode(&self) -> u64 {
                match *self { $( Inst::$Ty { $($f),* } => {
                    #[allow(unused_mut, reason = "rows without operands shift nothing")]
                    let mut packer = Packer { word: ($op as u64) << 56, at: 0 };
                    $( packer.put($f); )*
                    packer.word
                } )* }
            }

            /// Reads a word. Every word has at most one meaning, and encoding that gives the word back.
            pub fn decode(word: u64) -> Result<Inst, InstError> {
                match (word >> 56) as u8 {
                    $( $op => {
                        #[allow(unused_mut, reason = "rows without operands read nothing")]
                        let mut fields = Unpacker { word, at: 0, mnemonic: stringify!($name) };
                        $( let $f: $T = fields.take(stringify!($f))?; )*
                        fields.finish()?;
                        let inst = Inst::$Ty { $($f),* };
                        inst.check()?;
                        Ok(inst)
                    } )*
                    opcode => Err(InstError::Opcode { word, opcode }),
                }
            }

            /// Reads a mnemonic and its operands.
            pub fn parse_parts(mnemonic: &str, operands: &[&str]) -> Result<Inst, InstError> {
                match mnemonic {
                    $( stringify!($name) => {
                        const FIELDS: &[&str] = &[$(stringify!($f)),*];
                        if operands.len() != FIELDS.len() {
                            return Err(InstError::OperandCount {
                                mnemonic: stringify!($name), expected: FIELDS.len(),
                                form: stringify!($($f),*), found: operands.len(),
                            });
                        }
                        #[allow(unused_mut, unused_variables, reason = "rows without operands read nothing")]
                        let mut texts = operands.iter();
                        $( let $f: $T = parse_field(stringify!($name), stringify!($f), texts.next().copied())?; )*
                        let inst = Inst::$Ty { $($f),* };
                        inst.check()?;
                        Ok(inst)
                    } )*
                    _ => Err(InstError::Mnemonic(mnemonic.to_owned())),
                }
            }

            /// The `Src` operands of the row in the order written.
            pub fn sources(&self) -> [Option<Src>; 2] {
                #[allow(unused_mut, reason = "rows without operands add nothing")]
                let mut found = Sources::default();
                match *self { $( Inst::$Ty { $($f),* } => { $( found.add($f); )* } )* }
                found.list
            }

            /// What an array instruction writes in each PE; of several accumulators the first.
            pub fn destination(&self) -> Option<Dst> {
                match *self { $( Inst::$Ty { $($f),* } => {
                    $( if let Some(dst) = cast::<_, Dst>($f) { return Some(dst); } )*
                    $( if let Some(acc) = cast::<_, Acc>($f) { return Some(acc.into()); } )*
                    None
                } )* }
            }

            /// The instruction to which a jump, branch or call goes, or before which a loop's body ends.
            pub fn code_addr(&self) -> Option<CodeAddr> {
                match *self { $( Inst::$Ty { $($f),* } => {
                    $( if let Some(addr) = cast($f) { return Some(addr); } )*
                    None
                } )* }
            }

            /// The same with another [`code_addr`](Self::code_addr); an instruction without one stays as it is.
            #[must_use]
            pub fn with_code_addr(mut self, addr: CodeAddr) -> Self {
                match &mut self { $( Inst::$Ty { $($f),* } => { $( replace($f, addr); )* } )* }
                self
            }

            /// The entry of the name table to which the instruction refers.
            pub fn name_id(&self) -> Option<NameId> {
                match *self { $( Inst::$Ty { $($f),* } => {
                    $( if let Some(name) = cast($f) { return Some(name); } )*
                    None
                } )* }
            }

            /// The same with another [`name_id`](Self::name_id); an instruction without one stays as it is.
            #[must_use]
            pub fn with_name_id(mut self, name: NameId) -> Self {
                match &mut self { $( Inst::$Ty { $($f),* } => { $( replace($f, name); )* } )* }
                self
            }

            /// The whole table, for the reference page.
            pub fn table() -> Vec<InstInfo> {
                vec![ $( {
                    let fields = vec![ $( FieldInfo {
                        name: stringify!($f), operand: <$T as Operand>::NAME, forms: <$T as Operand>::FORMS,
                        prose: <$T as Operand>::PROSE, encoding: <$T as Operand>::ENCODING, values: <$T as Operand>::VALUES,
                        low: 0, bits: <$T as Operand>::BITS }, )* ];
                    InstInfo {
                        opcode: $op, mnemonic: stringify!($name), fields: placed(fields), class: Class::$class,
                        cost: Param::$cost, prose: concat!($($doc),*).trim_ascii(),
                    }
                }, )* ]
            }
        }

        impl fmt::Display for Inst {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self { $( Inst::$Ty { $($f),* } => {
                    f.write_str(stringify!($name))?;
                    let operands: &[&dyn fmt::Display] = &[$( &$f ),*];
                    for (i, operand) in operands.iter().enumerate() {
                        write!(f, "{}{operand}", if i == 0 { " " } else { ", " })?;
                    }
                    Ok(())
                } )* }
            }
        }

        // No row reads more than two sources: a PE has two read ports.
        $( const _: () = assert!($( is_source(stringify!($T)) + )* 0 <= 2, concat!("`", stringify!($name), "` has too many sources")); )*
        // Each row's fields fit below the opcode.
        $( const _: () = assert!($( <$T as Operand>::BITS + )* 0 <= 56, concat!("`", stringify!($name), "` is too wide")); )*
    };
}
for_each_inst!(define_inst);

impl FromStr for Inst {
    type Err = InstError;

    /// Reads one instruction as it is printed: numbers in the places of labels and names.
    fn from_str(text: &str) -> Result<Self, InstError> {
        let (mnemonic, operands) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let operands: Vec<&str> = match operands.trim() {
            "" => Vec::new(),
            operands => operands.split(',').map(str::trim).collect(),
        };
        Inst::parse_parts(mnemonic, &operands)
    }
}

/// Gives each field its place: from bit 0 upwards, in the order written.
fn placed(mut fields: Vec<FieldInfo>) -> Vec<FieldInfo> {
    fields.iter_mut().fold(0, |low, field| {
        field.low = low;
        low + field.bits
    });
    fields
}

/// The operand, if it is of type `W`.
fn cast<T: Operand, W: Operand>(operand: T) -> Option<W> {
    (&operand as &dyn Any).downcast_ref().copied()
}

/// Gives the operand another value, if it is of the value's type.
fn replace<T: Operand, W: Operand>(operand: &mut T, value: W) {
    if let Some(place) = (operand as &mut dyn Any).downcast_mut() {
        *place = value;
    }
}

const fn is_source(operand_type: &str) -> u32 {
    matches!(operand_type.as_bytes(), b"Src") as u32
}

#[derive(Default)]
struct Sources {
    list: [Option<Src>; 2],
    n: usize,
}
impl Sources {
    fn add<T: Operand>(&mut self, operand: T) {
        if let Some(source) = cast(operand) {
            self.list[self.n] = Some(source);
            self.n += 1;
        }
    }
}

/// The rules across the operands of an instruction: what [`Inst::check`] says when one is broken.
pub mod rule {
    /// The queue hands out one word a cycle.
    pub const ONE_BROADCAST: &str = "only one source may be the broadcast queue";
    /// Looking would change the run.
    pub const MARKER_BROADCAST: &str = "a marker may not read the broadcast queue";
    /// `clip` needs `lo <= hi`.
    pub const CLIP_ORDER: &str = "the lower bound is above the upper";
    /// A shape fixes the width of its operand: an address without suffix for `dot` and `mat4`, `.b` (`mac8`) or `.h` for `outer`.
    pub const MAC_WIDTH: &str = "`dot` and `mat4` read words, `outer` reads one element";
    /// The four accumulators of `mat4` are aligned.
    pub const MAT4_ACC: &str = "`mat4` needs an accumulator that is a multiple of 4";
    /// `outer` fills the accumulators.
    pub const OUTER_ACC: &str = "`outer` takes all accumulators and starts at a0";
    /// The MAC unit reads 128 bit at a multiple of 16 (`dot`), words (`mat4`), one element (`outer`).
    pub const MAC_ALIGN: &str = "the address is not aligned to what the MAC unit reads";

    /// Every rule, with the message.
    pub const ALL: &[&str] = &[ONE_BROADCAST, MARKER_BROADCAST, CLIP_ORDER, MAC_WIDTH, MAT4_ACC, OUTER_ACC, MAC_ALIGN];
}

struct Packer {
    word: u64,
    at: u32,
}
impl Packer {
    fn put<T: Operand>(&mut self, operand: T) {
        self.word |= operand.to_bits() << self.at;
        self.at += T::BITS;
    }
}

struct Unpacker {
    word: u64,
    at: u32,
    mnemonic: &'static str,
}
impl Unpacker {
    fn take<T: Operand>(&mut self, field: &'static str) -> Result<T, InstError> {
        let bits = self.word >> self.at & (u64::MAX >> (64 - T::BITS));
        self.at += T::BITS;
        T::from_bits(bits).map_err(|error| InstError::Operand { mnemonic: self.mnemonic, field, error })
    }
    fn finish(self) -> Result<(), InstError> {
        if self.word << 8 >> 8 >> self.at == 0 {
            Ok(())
        } else {
            Err(InstError::StrayBits { mnemonic: self.mnemonic, word: self.word })
        }
    }
}

fn parse_field<T: Operand>(mnemonic: &'static str, field: &'static str, text: Option<&str>) -> Result<T, InstError> {
    T::parse(text.unwrap_or_default()).map_err(|error| InstError::Operand { mnemonic, field, error })
}

impl Inst {
    /// The rules across operands that the fields alone cannot state.
    pub fn check(&self) -> Result<(), InstError> {
        let bad = |reason| Err(InstError::Combination { inst: self.to_string(), reason });
        let broadcasts = self.sources().into_iter().flatten().filter(|s| matches!(s, Src::Broadcast(_))).count();
        if broadcasts > 1 {
            return bad(rule::ONE_BROADCAST);
        }
        match *self {
            Inst::Probe { .. } | Inst::Assert { .. } if broadcasts > 0 => bad(rule::MARKER_BROADCAST),
            Inst::Clip { lo, hi, .. } if lo > hi => bad(rule::CLIP_ORDER),
            Inst::Mac8 { shape, acc, a } => self.check_mac(shape, acc, a, [16, 4, 1]),
            Inst::Mac16x8 { shape, acc, a } | Inst::Mac16 { shape, acc, a } => {
                self.check_mac(shape, acc, a, [16, 4, 2])
            }
            _ => Ok(()),
        }
    }

    fn check_mac(&self, shape: MacShape, acc: Acc, a: Lrm, align: [u32; 3]) -> Result<(), InstError> {
        let bad = |reason| Err(InstError::Combination { inst: self.to_string(), reason });
        let wide = align[2] == 2;
        let expected = match shape {
            MacShape::Dot | MacShape::Mat4 => Width::Word,
            MacShape::Outer if wide => Width::Half,
            MacShape::Outer => Width::Byte,
        };
        if a.width() != expected {
            return bad(rule::MAC_WIDTH);
        }
        if shape == MacShape::Mat4 && !acc.get().is_multiple_of(4) {
            return bad(rule::MAT4_ACC);
        }
        if shape == MacShape::Outer && acc.get() != 0 {
            return bad(rule::OUTER_ACC);
        }
        let at = match a {
            Lrm::Abs { addr, .. } => addr as u32,
            Lrm::Rel { offset, .. } => offset as u32,
        };
        if !at.is_multiple_of(align[shape as usize]) {
            return bad(rule::MAC_ALIGN);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
