use super::*;
use crate::testing::{InstGen, Rng, damage};

#[track_caller]
fn errors(text: &str) -> Vec<String> {
    assemble(text).unwrap_err().errors.iter().map(ToString::to_string).collect()
}

#[test]
fn assemble_undoes_disassemble() {
    let mut generator = InstGen::new(11);
    for i in 0..2_000 {
        let image = generator.image(4 + i % 60);
        for style in [Style::Plain, Style::Columns] {
            let text = disassemble_with(&image, style);
            match assemble(&text) {
                Ok(back) => assert_eq!(back, image, "{text}"),
                Err(errors) => panic!("{errors}\n{text}"),
            }
        }
    }
}

#[test]
fn reads_what_the_module_doc_shows() {
    let text = "
        .name \"pool\"        ; number 0
        .const 00ff10 a0
        main: .entry main     ; nothing may stand behind an entry's words
        .param x ext in 196608 s8
        .param n scalar s9
        .constants_reg s10
        .loc kernel.rs 12
        top: region \"conv\"; a comment
            add a0, [16], #0x10
            branch lt, s1, #5, @top
        .loc none
            region_end
            jump @0
            jump @end
        end: halt";
    let image = assemble(text).unwrap();
    assert_eq!(image.names(), ["pool", "conv"]);
    assert_eq!(image.constants(), [0, 255, 16, 160]);
    assert_eq!(image.lines().lookup(2), Some(("kernel.rs", 12)));
    assert_eq!(image.lines().lookup(3), None);
    let code: Vec<String> = image.decode().iter().map(ToString::to_string).collect();
    let expected =
        ["region %1", "add a0, [16], #16", "branch lt, s1, #5, @0", "region_end", "jump @0", "jump @6", "halt"];
    assert_eq!(code, expected);
    assert_eq!(image.entry("main").unwrap().params.len(), 2);
}

#[test]
fn every_error_is_reported_with_place_and_help() {
    let text = "\
.targt QC-U
    ad a0, [16], #1
    add a0, [5000], #1
    jump @lop
loop: loop: nop
    d_set d0, heigth, #3
    mov a0
    clip a0, a0, #3, #2
    .param x ext in 12 s3
    region \"open
    d_set d0, ocm, #4294967296
";
    let expected = [
        "line 1, column 1: no directive is called `.targt`\nhelp: did you mean `.target`?",
        "line 2, column 5: no instruction is called `ad`\nhelp: did you mean `add`?",
        "line 3, column 13: `add`, operand `a`: local memory: 5000 is outside 0..=4092",
        "line 4, column 10: no label is called `lop`\nhelp: did you mean `loop`?",
        "line 5, column 7: label `loop` already stands in line 5",
        "line 6, column 15: `d_set`, operand `field`: field: cannot read `heigth`, expected one of `ocm` `elem` `width` `height`",
        "line 7, column 5: `mov`: found 1 operands, expected 2 (dst, a)",
        "line 8, column 5: `clip a0, a0, #3, #2`: the lower bound is above the upper",
        "line 9, column 5: `.param` belongs to an entry; write `.entry name` before it",
        "line 10, column 12: found `\"open`, expected a closing quote",
        "line 11, column 20: `d_set`, operand `value`: scalar source: 4294967296 is outside -2147483648..=4294967295",
    ];
    let found = errors(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "found    {found}\nexpected {expected}");
    }
    assert!(found[5].ends_with("help: did you mean `height`?"));
}

#[test]
fn rules_of_images_name_the_line() {
    assert_eq!(
        errors("nop\n loop_i 3, @1\n nop"),
        ["line 2: image: instruction 1, `loop_i 3, @1`: target 1 is outside 3..=3"]
    );
    assert!(errors("jump @7")[0].starts_with("line 1: image: instruction 0"));
}

#[test]
fn many_errors_are_counted() {
    let error = assemble(&"bad\n".repeat(1000)).unwrap_err();
    assert_eq!((error.errors.len(), error.n_more), (100, 900));
}

#[test]
fn no_text_panics() {
    let (mut rng, mut generator) = (Rng::new(12), InstGen::new(13));
    let texts: Vec<String> = (0..30).map(|_| disassemble(&generator.image(16))).collect();
    for _ in 0..20_000 {
        let mut bytes = rng.pick(&texts).clone().into_bytes();
        damage(&mut rng, &mut bytes);
        if let Ok(image) = assemble(&String::from_utf8_lossy(&bytes)) {
            assert_eq!(assemble(&disassemble(&image)).as_ref(), Ok(&image));
        }
    }
    let alphabet = b".loc entry\"\\;:@%#[]+-.,\n\t 0129sabtdq!\xc3\xa9";
    for _ in 0..10_000 {
        let len = rng.below(120);
        let bytes: Vec<u8> = (0..len).map(|_| *rng.pick(alphabet)).collect();
        // Any result will do, so long as there is one.
        _ = assemble(&String::from_utf8_lossy(&bytes)).map_err(|e| e.to_string());
    }
}

#[test]
fn listing_is_readable() {
    use crate::builder::*;
    let mut p = Program::new(&crate::target::QC_U);
    let leaf = p.label();
    p.constant(&[1, 2, 3]);
    p.entry("main").ext("x", Direction::In, 196_608, s(8)).scalar("n", s(9)).constants(s(10));
    p.line("src/kernel.rs", 12).loop_n(8, |p| {
        p.region("conv", |p| {
            p.line("src/kernel.rs", 13).mac8(MacShape::Dot, acc(0), w(16)).call(leaf);
        });
    });
    p.no_line().halt();
    p.bind(leaf).fx_mul(w(16), acc(0), h(20), 7).ret();
    let image = p.finish().unwrap();
    let plain = disassemble(&image);
    let expected = "\
.target QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1
.const 010203

.entry main
.param x ext in 196608 s8
.param n scalar s9
.constants_reg s10
.loc \"src/kernel.rs\" 12
    loop_i 8, @end_5                                     ; kernel.rs:12
      region \"conv\"
.loc \"src/kernel.rs\" 13
        mac8 dot, a0, [16]                               ; kernel.rs:13
        call @fn_6
      region_end
end_5:
.loc none
    halt
fn_6:
    fx_mul [16], a0, [20].h, 7
    ret
";
    assert_eq!(plain, expected);
    let columns = disassemble_with(&image, Style::Columns);
    assert!(
        columns.contains("; 2  6800000001000000   1  kernel.rs:13") || columns.contains("      2  68"),
        "{columns}"
    );
}

/// Each would take hours if its cost grew with the square of its length.
#[test]
fn long_texts_take_linear_time() {
    let n = 200_000;
    for text in
        ["a:", "add ,", "bad\n", "jump @x\n", ".loc a", "\"", ".const 00 ", "x: .entry \"", "region \"r\"\n", "@"]
    {
        let error = assemble(&text.repeat(n)).err().map(|e| e.to_string());
        assert!(error.is_none_or(|text| text.len() < 50_000), "{text}");
    }
    let labels: String = (0..n).map(|i| format!("l{i}: jump @l{}\n", n - i)).collect();
    assert_eq!(assemble(&labels).unwrap_err().errors.len(), 1, "only l{n} is missing");
}

#[test]
fn lines_of_the_text_are_recorded_on_request() {
    let text = "nop\n\n.loc kernel.rs 7\nnop\n.loc none\nhalt";
    let image = assemble_file(text, "dir/a.s").unwrap();
    assert_eq!(
        [0, 1, 2].map(|pc| image.lines().lookup(pc)),
        [("dir/a.s", 1), ("kernel.rs", 7), ("dir/a.s", 6)].map(Some)
    );
    assert_eq!(assemble(&disassemble(&image)).as_ref(), Ok(&image));
    let error = assemble_file("nop", "").unwrap_err().to_string();
    assert!(error.contains("name"), "{error}");
}
