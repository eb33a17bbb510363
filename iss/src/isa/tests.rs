use std::collections::HashSet;

use super::*;
use crate::testing::{InstGen, Rng, check_operand};

/// Runs a check for every operand type, and gives the types' names.
macro_rules! for_each_operand_type {
    ($check:ident: $($T:ty),*) => {{ $( $check::<$T>(); )* [ $(<$T as Operand>::NAME),* ] }};
}
/// Every operand type of the table.
macro_rules! check_all {
    ($check:ident) => {
        for_each_operand_type!($check: SReg, Token, DReg, Acc, Shift, Frac, TableBits, Bound, CodeAddr, Trips, NameId, Cond,
            MacShape, Field, Dirs, Engines, Tiles, SSrc, SSrc16, Lrm, Dst, Src)
    };
}

fn laws<T: Operand>() {
    if T::BITS <= 16 {
        (0..1u64 << T::BITS).for_each(check_operand::<T>);
    } else {
        let mut rng = Rng::new(T::BITS as u64);
        for _ in 0..100_000 {
            check_operand::<T>(rng.bits() & ((1 << T::BITS) - 1));
        }
        // The last patterns hold the special values, the first ones the smallest numbers and registers.
        (0..1000).for_each(check_operand::<T>);
        (0..1000).map(|n| (1 << T::BITS) - 1 - n).for_each(check_operand::<T>);
        (0..1000).map(|n| (1 << (T::BITS - 1)) + n).for_each(check_operand::<T>);
    }
}

#[test]
fn operands_survive_bits_and_text() {
    let checked: HashSet<&str> = check_all!(laws).into_iter().collect();
    let used: HashSet<&str> = Inst::table().iter().flat_map(|row| row.fields.iter().map(|f| f.operand)).collect();
    assert_eq!(checked, used, "every operand type of the table is checked");
}

fn any_text<T: Operand>() {
    let mut rng = Rng::new(7);
    for i in 0..20_000 {
        let text = if i % 2 == 0 {
            let alphabet = b"[]s+.hb#-0x129aqtd@%!|nesw port.bc_";
            let len = rng.below(14);
            (0..len).map(|_| *rng.pick(alphabet) as char).collect::<String>()
        } else {
            let Ok(operand) = T::from_bits(rng.bits() & (u64::MAX >> (64 - T::BITS))) else { continue };
            let mut text = operand.to_string().into_bytes();
            let at = rng.below(text.len());
            text[at] = *rng.pick(b"0189+-#[].sbx");
            String::from_utf8(text).unwrap()
        };
        if let Ok(operand) = T::parse(&text) {
            assert_eq!(T::from_bits(operand.to_bits()), Ok(operand), "{text}");
        }
    }
}

#[test]
fn text_that_reads_is_a_legal_operand() {
    check_all!(any_text);
}

#[test]
fn operand_texts_have_one_number_syntax() {
    assert_eq!(SSrc::parse("#0xffffffff"), Ok(SSrc::Imm(-1)));
    assert_eq!(Lrm::parse("[0x10]"), Lrm::word(16));
    for bad in ["#0x-5", "#+5", "#--5", "#", "#5_0", "#0x", "# 5"] {
        assert!(SSrc::parse(bad).is_err(), "{bad}");
    }
    let error = Lrm::parse("[18]").unwrap_err();
    assert!(error.to_string().contains("aligned"), "{error}");
}

#[test]
fn instructions_survive_words_and_text() {
    let mut generator = InstGen::new(21);
    for row in 0..Inst::OPCODES.len() {
        for _ in 0..1_500 {
            let inst = generator.of_row(row);
            assert_eq!(Inst::decode(inst.encode()), Ok(inst));
            assert_eq!(inst.to_string().parse(), Ok(inst), "{inst}");
            assert_eq!(inst.opcode(), Inst::OPCODES[row]);
        }
    }
}

/// Since a word that decodes is what its instruction encodes to, distinct words are distinct instructions.
#[test]
fn every_word_has_at_most_one_meaning() {
    let mut generator = InstGen::new(22);
    let check = |word| match Inst::decode(word) {
        Ok(inst) => assert_eq!(inst.encode(), word, "{inst}"),
        Err(error) => assert!(!matches!(error, InstError::Mnemonic(_) | InstError::OperandCount { .. })),
    };
    for _ in 0..20_000 {
        let word = generator.any().encode();
        (0..64).for_each(|bit| check(word ^ 1 << bit));
        check(generator.rng().bits());
    }
    check(0);
    check(u64::MAX);
}

#[test]
fn opcodes_and_mnemonics_are_unique_and_zero_is_illegal() {
    assert_eq!(Inst::OPCODES.iter().collect::<HashSet<_>>().len(), Inst::OPCODES.len());
    assert_eq!(Inst::MNEMONICS.iter().collect::<HashSet<_>>().len(), Inst::MNEMONICS.len());
    assert_eq!(Inst::decode(0), Err(InstError::Opcode { word: 0, opcode: 0 }));
}

#[test]
fn rules_across_operands() {
    for (text, reason) in [
        ("add a0, bc, bc.b0", "only one source may be the broadcast queue"),
        ("probe %0, bc", "a marker may not read the broadcast queue"),
        ("clip a0, a0, #1, #0", "the lower bound is above the upper"),
        ("mac8 dot, a0, [16].b", "`dot` and `mat4` read words, `outer` reads one element"),
        ("mac8 mat4, a2, [16]", "`mat4` needs an accumulator that is a multiple of 4"),
        ("mac8 outer, a4, [16].b", "`outer` takes all accumulators and starts at a0"),
        ("mac8 dot, a0, [20]", "the address is not aligned to what the MAC unit reads"),
        ("mac16 outer, a0, [2].b", "`dot` and `mat4` read words, `outer` reads one element"),
    ] {
        match text.parse::<Inst>() {
            Err(InstError::Combination { inst, reason: found }) => assert_eq!((&*inst, found), (text, reason)),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn parts_are_found_by_type() {
    let inst: Inst = "branch lt, s1, #5, @77".parse().unwrap();
    let addr = CodeAddr::new(5).unwrap();
    assert_eq!(inst.code_addr().map(CodeAddr::get), Some(77));
    assert_eq!(inst.with_code_addr(addr).to_string(), "branch lt, s1, #5, @5");
    let inst: Inst = "probe %3, [8].h".parse().unwrap();
    assert_eq!(inst.name_id().map(NameId::get), Some(3));
    assert_eq!(inst.sources(), [Some(Src::Lrm(Lrm::abs(Width::Half, 8).unwrap())), None]);
    assert_eq!((inst.code_addr(), inst.with_code_addr(addr)), (None, inst));
    let inst: Inst = "sel [0], bc, q_row".parse().unwrap();
    assert_eq!(inst.sources(), [Some(Src::BROADCAST), Some(Src::QRow)]);
}
