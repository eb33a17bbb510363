use super::*;
use crate::testing::{InstGen, Rng, damage, reseal};

/// An image with something in every section.
fn sample() -> Image {
    let mut generator = InstGen::new(1);
    loop {
        let image = generator.image(24);
        if image.entries().len() == 3 && image.lines().ranges.len() > 3 && !image.constants().is_empty() {
            return image;
        }
    }
}

/// What an image made of changed parts is refused for.
#[track_caller]
fn refused(change: impl FnOnce(&mut ImageParts)) -> ImageError {
    let mut parts = sample().into_parts();
    change(&mut parts);
    Image::new(parts).unwrap_err()
}

#[test]
fn bytes_round_trip() {
    let mut generator = InstGen::new(2);
    for n in 4..400 {
        let image = generator.image(n);
        assert_eq!(Image::from_bytes(&image.to_bytes()).as_ref(), Ok(&image));
    }
}

#[test]
fn every_truncation_and_every_flipped_bit_is_found() {
    let bytes = sample().to_bytes();
    for len in 0..bytes.len() {
        let error = Image::from_bytes(&bytes[..len]).unwrap_err();
        assert!(matches!(error, ImageError::Truncated { .. }) == (len > 0), "{len}: {error}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        Image::from_bytes(&damaged).unwrap_err();
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(Image::from_bytes(&longer), Err(ImageError::Length { .. })));
}

#[test]
fn errors_name_the_part() {
    let bytes = sample().to_bytes();
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Image::from_bytes(&bytes).unwrap_err()
    };
    assert!(matches!(changed(0, b'P'), ImageError::Foreign { .. }));
    assert_eq!(changed(8, 2), ImageError::Version { found: 2 });
    assert_eq!(changed(12, 7), ImageError::SectionCount { found: 7, expected: 6 });
    assert!(matches!(changed(30, b'x'), ImageError::HeaderChecksum { .. }));
    assert!(matches!(changed(bytes.len() - 1, b'x'), ImageError::SectionChecksum { section: "line", .. }));
    let text = changed(130, 0xff).to_string();
    assert!(text.starts_with("image: section `targ` has checksum 0x"), "{text}");
}

#[test]
fn damage_behind_right_checksums_is_found_or_harmless() {
    let (mut rng, mut generator) = (Rng::new(3), InstGen::new(4));
    let images: Vec<Image> = (0..20).map(|_| generator.image(20)).collect();
    let files: Vec<Vec<u8>> = images.iter().map(Image::to_bytes).collect();
    let (mut n_valid, n_runs) = (0, 100_000);
    for i in 0..n_runs {
        let mut bytes = rng.pick(&files).clone();
        let in_place = i % 2 == 0;
        if in_place {
            for _ in 0..=rng.below(3) {
                let at = 28 + rng.below(bytes.len() - 28);
                bytes[at] =
                    *rng.pick(&[bytes[at] ^ 1, bytes[at].wrapping_add(1), b'0', b'"', b'9', rng.clone().bits() as u8]);
            }
            reseal(&mut bytes);
        } else {
            damage(&mut rng, &mut bytes);
        }
        match Image::from_bytes(&bytes) {
            Ok(image) => {
                n_valid += 1;
                assert_eq!(Image::from_bytes(&image.to_bytes()).as_ref(), Ok(&image));
            }
            Err(error) => assert!(is_specific(&error), "{error}"),
        }
    }
    assert!(n_valid > 0 && n_valid < n_runs / 4, "{n_valid} of {n_runs} damaged images are valid");
}

#[test]
fn random_bytes_are_foreign_or_damaged() {
    let mut rng = Rng::new(5);
    for i in 0..10_000 {
        let len = rng.below(600);
        let mut bytes = rng.bytes(len);
        if i % 2 == 0 && len > 16 {
            bytes[..8].copy_from_slice(&MAGIC);
            bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        }
        if i % 4 == 0 && len > 16 {
            bytes[12..16].copy_from_slice(&6u32.to_le_bytes());
            reseal(&mut bytes);
        }
        let error = Image::from_bytes(&bytes).unwrap_err();
        assert!(is_specific(&error), "{error}");
    }
}

/// Whether an error says which part is meant, and something about it.
fn is_specific(error: &ImageError) -> bool {
    let text = error.to_string();
    let parts = [
        "file",
        "header",
        "section",
        "instruction",
        "entry",
        "name",
        "line table",
        "target",
        "format",
        "loop",
        "needs",
    ];
    text.starts_with("image: ") && parts.iter().any(|part| text.contains(part)) && !text.ends_with('.')
}

#[test]
fn rules_of_parts() {
    let sreg = |n| SReg::new(n).unwrap();
    assert!(matches!(refused(|p| p.code[3] = 0), ImageError::Word { pc: 3, word: 0, .. }));
    let jump = |to: u64| 0x03 << 56 | to;
    assert!(matches!(
        refused(|p| p.code[23] = jump(24)),
        ImageError::CodeTarget { pc: 23, to: 24, min: 0, max: 23, .. }
    ));
    let loop_i = |end: u64| 0x07 << 56 | end << 24 | 5;
    let nops = |p: &mut ImageParts| p.code = vec![0x02 << 56; 24];
    let cross = |p: &mut ImageParts| {
        nops(p);
        (p.code[0], p.code[2]) = (loop_i(6), loop_i(7));
    };
    assert_eq!(refused(cross), ImageError::LoopsCross { pc: 2, end: 7, outer: 0, outer_end: 6 });
    let name = |p: &mut ImageParts| {
        nops(p);
        p.code[1] = 0xf0 << 56 | p.names.len() as u64;
    };
    assert!(matches!(refused(name), ImageError::NameRange { pc: 1, .. }));
    assert!(
        matches!(refused(|p| p.names.push(p.names[0].clone())), ImageError::NameTwice { what, .. } if what == "name")
    );
    assert!(matches!(refused(|p| p.names[0] = "a\nb".to_owned()), ImageError::BadName { what, .. } if what == "name"));
    assert!(matches!(
        refused(|p| p.entries[2].name = p.entries[0].name.clone()),
        ImageError::NameTwice { what, .. } if what == "entry"
    ));
    assert!(matches!(refused(|p| p.entries[0].pc = 24), ImageError::EntryPc { pc: 24, code: 24, .. }));
    let param = |name: &str, kind| Param { name: name.to_owned(), kind, reg: sreg(3) };
    let twice =
        |p: &mut ImageParts| p.entries[0].params = vec![param("x", ParamKind::Scalar), param("y", ParamKind::Scalar)];
    assert!(
        matches!(refused(twice), ImageError::RegisterTwice { first, second, .. } if (&*first, &*second) == ("x", "y"))
    );
    let huge = ParamKind::Buffer { space: Space::Ocm, dir: Direction::In, len_bytes: u32::MAX };
    assert!(matches!(refused(|p| p.entries[0].params = vec![param("x", huge)]), ImageError::OcmParam { .. }));
    assert!(matches!(refused(|p| p.lines.ranges[1].start = 0), ImageError::LineOrder { index: 1, .. }));
    assert!(matches!(refused(|p| p.lines.ranges[1].file = 9), ImageError::LineFile { index: 1, file: 9, .. }));
    let split = |p: &mut ImageParts| {
        p.lines.ranges =
            vec![LineRange { start: 0, end: 1, file: 0, line: 1 }, LineRange { start: 1, end: 2, file: 0, line: 1 }];
    };
    assert_eq!(refused(split), ImageError::LineSplit { index: 1 });
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("program.iss");
    let image = sample();
    image.write(&path).unwrap();
    assert_eq!(Image::read(&path).as_ref(), Ok(&image));
    image.write(&path).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
    let missing = dir.path().join("none").join("program.iss");
    assert!(matches!(image.write(&missing), Err(ImageError::Io { action: "write", .. })));
    assert!(matches!(Image::read(&missing), Err(ImageError::Io { action: "read", .. })));
    // A directory cannot be replaced by a file, so the rename fails after the content was written beside it.
    let occupied = dir.path().join("occupied");
    std::fs::create_dir_all(occupied.join("inner")).unwrap();
    image.write(&occupied).unwrap_err();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn lines_are_found_both_ways() {
    let mut lines = LineTable { files: vec!["a.rs".to_owned()], ranges: Vec::new() };
    for (start, line) in [(2, 7), (3, 7), (4, 8), (6, 7)] {
        lines.append(LineRange { start, end: start + 1, file: 0, line });
    }
    assert_eq!(lines.ranges.len(), 3);
    assert_eq!([1, 3, 5, 6].map(|pc| lines.lookup(pc).map(|(_, line)| line)), [None, Some(7), None, Some(7)]);
    assert_eq!(lines.of_line("a.rs", 7).collect::<Vec<_>>(), [2..4, 6..7]);
}
