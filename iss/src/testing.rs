//! Random instructions, programs and damage, for tests of this crate and of those above it. Not part of the interface.

use crate::image::{Direction, Entry, Image, ImageParts, LineRange, Param, ParamKind, Space};
use crate::isa::operand::{CodeAddr, NameId, Operand, SReg};
use crate::isa::{Inst, InstInfo};
use crate::target::{QC_U, Target};

/// A small generator (SplitMix64): the same seed gives the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator of its own sequence.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number in `0..end`; `end` is not 0.
    pub const fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }
    /// One of a list.
    pub const fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
    /// True once in `n`.
    pub const fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    /// Random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits() as u8).collect()
    }
}

/// Random legal instructions: every row equally often, operands by random bits drawn until they are legal.
#[derive(Clone, Debug)]
pub struct InstGen {
    rows: Vec<InstInfo>,
    rng: Rng,
}

impl InstGen {
    /// A generator of its own sequence.
    pub fn new(seed: u64) -> Self {
        Self { rows: Inst::table(), rng: Rng::new(seed) }
    }

    /// The generator's source of numbers.
    pub const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// A random legal instruction of a random row. Code addresses and names are anywhere in their ranges.
    pub fn any(&mut self) -> Inst {
        let row = self.rng.below(self.rows.len());
        self.of_row(row)
    }

    /// A random legal instruction of one row of the table.
    pub fn of_row(&mut self, row: usize) -> Inst {
        let rng = &mut self.rng;
        loop {
            let word = self.rows[row].fields.iter().fold((self.rows[row].opcode as u64) << 56, |word, field| {
                word | field_bits(rng, field.bits) << field.low
            });
            if let Ok(inst) = Inst::decode(word) {
                return inst;
            }
        }
    }

    /// A random image of `n` instructions, at least 4: code addresses and names in range, loops nested, entries and lines.
    pub fn image(&mut self, n: usize) -> Image {
        let parts = self.parts(n.max(4));
        Image::new(parts).expect("the generator keeps the rules of images")
    }

    fn parts(&mut self, n: usize) -> ImageParts {
        let names: Vec<String> = (0..self.rng.below(6) + 1).map(|i| self.text(i)).collect();
        let mut parts = ImageParts::new(self.target());
        let mut loops: Vec<usize> = Vec::new();
        for pc in 0..n {
            loops.retain(|end| *end > pc);
            let room = loops.last().copied().unwrap_or(n);
            let mut inst = self.any();
            match inst {
                Inst::LoopI { .. } | Inst::LoopS { .. } if pc + 2 > room => inst = Inst::Nop {},
                Inst::LoopI { .. } | Inst::LoopS { .. } => {
                    let end = pc + 2 + self.rng.below(room - pc - 1);
                    loops.push(end);
                    inst = inst.with_code_addr(address(end));
                }
                _ => inst = inst.with_code_addr(address(self.rng.below(n))),
            }
            let name = NameId::new(self.rng.below(names.len()) as i64).expect("there are few names");
            parts.code.push(inst.with_name_id(name).encode());
        }
        let len_bytes = self.rng.below(100);
        parts.constants = self.rng.bytes(len_bytes);
        parts.entries = (0..self.rng.below(4)).map(|i| self.entry(i, n)).collect();
        parts.names = names;
        self.lines(&mut parts, n as u32);
        parts
    }

    fn target(&mut self) -> Target {
        let mut spec = QC_U.spec().clone();
        (spec.rows, spec.cols) = *self.rng.pick(&[(32, 32), (8, 8), (16, 32)]);
        spec.macs_per_pe = *self.rng.pick(&[8, 16]);
        spec.timing.hop = 1 + self.rng.below(3) as u32;
        spec.build().expect("these sizes exist")
    }

    /// Text that needs care in quotes, different for each index.
    fn text(&mut self, i: usize) -> String {
        let stem = self.rng.pick(&[
            "conv",
            "a b",
            "q\"uote",
            "back\\slash",
            "semi;colon",
            "comma, @x %1",
            "größe",
            "x:y",
            "none",
        ]);
        format!("{stem}{i}")
    }

    fn entry(&mut self, i: usize, n: usize) -> Entry {
        let regs = self.rng.below(20);
        let reg = |n: usize| SReg::new(n as i64 % 32).expect("registers count to 31");
        let params =
            (0..self.rng.below(5)).map(|p| Param { name: self.text(p), kind: self.kind(), reg: reg(regs + p) });
        let params = params.collect();
        let constants_reg = self.rng.once_in(2).then(|| reg(regs + 10));
        Entry { name: self.text(i), pc: self.rng.below(n) as u32, params, constants_reg }
    }

    fn kind(&mut self) -> ParamKind {
        if self.rng.once_in(3) {
            return ParamKind::Scalar;
        }
        let (space, dir) = (*self.rng.pick(&Space::ALL), *self.rng.pick(&Direction::ALL));
        ParamKind::Buffer { space, dir, len_bytes: self.rng.below(1 << 20) as u32 }
    }

    fn lines(&mut self, parts: &mut ImageParts, n: u32) {
        let n_files = self.rng.below(3);
        parts.lines.files = (0..n_files).map(|i| self.text(i)).collect();
        let mut start = 0;
        while n_files > 0 && start < n {
            let end = (start + 1 + self.rng.below(6) as u32).min(n);
            if !self.rng.once_in(4) {
                let (file, line) = (self.rng.below(n_files) as u32, 1 + self.rng.below(20) as u32);
                parts.lines.append(LineRange { start, end, file, line });
            }
            start = end;
        }
    }
}

/// Random bits, now and then at the edges of the range.
const fn field_bits(rng: &mut Rng, bits: u32) -> u64 {
    let all = u64::MAX >> (64 - bits);
    match rng.below(8) {
        0 => 0,
        1 => all,
        2 => 1 << (bits - 1),
        3 => rng.bits() & all & 0xff,
        _ => rng.bits() & all,
    }
}

fn address(pc: usize) -> CodeAddr {
    CodeAddr::new(pc as i64).expect("test programs are short")
}

/// Puts right checksums on the sections of a damaged image, so that what lies behind them is tested too. The bytes are an
/// image's, of any content but with its header and lengths.
pub fn reseal(bytes: &mut [u8]) {
    crate::image::reseal(bytes);
}

/// Changes bytes at random places: flipped bits, new values, removed, repeated and inserted runs.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len());
        let run = at + rng.below((bytes.len() - at).min(16)) + 1;
        match rng.below(6) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.bits() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..run)),
            4 => {
                let copy = bytes[at..run].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => bytes.insert(at, *rng.pick(b"0192;:\"@%#[]{},.-sabt\n \\\xff\x00")),
        }
    }
}

/// Checks an operand type's laws for one pattern of bits: what decodes encodes to the same bits and survives its text.
#[track_caller]
pub fn check_operand<T: Operand>(bits: u64) {
    let Ok(operand) = T::from_bits(bits) else { return };
    assert_eq!(operand.to_bits(), bits, "{}: {operand:?} encodes to other bits", T::NAME);
    assert_eq!(T::parse(&operand.to_string()), Ok(operand), "{}: text of {operand:?}", T::NAME);
}
