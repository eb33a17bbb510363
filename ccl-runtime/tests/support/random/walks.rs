//! Random kernels for passes: loops over tiles with flows.

use std::fmt::Write as _;

use iss::target::Target;
use iss::testing::Rng;

/// A pipelined loop of random shape: chunks or whole tiles, ragged edges, one or two levels, perfect or with work between.
pub fn pipelined(rng: &mut Rng, target: &Target) -> String {
    let side = target.spec().rows as usize;
    let (h, w) = (side + rng.below(2 * side), side + rng.below(2 * side));
    let (ty, tx) = (h.div_ceil(side), w.div_ceil(side));
    let (planes, n) = (1 + rng.below(5), 1 + rng.below(4));
    let plane = h * w * 4;
    let mut out = String::new();
    let bytes = plane * planes;
    let _ =
        writeln!(out, "kernel @k(%x: in ocm<{bytes}>, %w: in ocm<256>, %w2: in ocm<{bytes}>, %y: out ocm<{bytes}>) {{");
    let shape = format!("elem 4 size {h}x{w} pitch {} ", w * 4);
    let level = if rng.once_in(2) {
        (format!("pipelined({n})"), String::new())
    } else {
        (String::new(), format!("pipelined({n})"))
    };
    let _ = writeln!(out, "for %ty in 0..{ty} {} {{\n%y0 = s.mul %ty, {side}", level.0);
    let _ = writeln!(out, "for %tx in 0..{tx} {} {{\n%x0 = s.shl %tx, {}", level.1, side.trailing_zeros());
    let at = "at (%x0, %y0)";
    let stream = rng.once_in(2);
    let chunk = |out: &mut String, stream: bool| {
        let add = if stream { "%s" } else { "3" };
        for k in 0..4 {
            let _ = writeln!(
                out,
                "%t{k} = add %src[{}], {add}\n%dst[{k}] = clip %t{k}, -128, 127",
                if stream { 0 } else { k }
            );
        }
    };
    if stream {
        let _ = writeln!(out, "%s = bcast %w[16] ({planes}: 16)");
    }
    match rng.below(3) {
        // One chunk in, of one tensor or two in turn, one out.
        0 => {
            let two = rng.once_in(2);
            let (n, second, slot) = if two { (8, " and %w2[%p]", "slot 4") } else { (4, "", "") };
            let _ = writeln!(
                out,
                "for %c in 0..{planes} {{\n%p = s.mul %c, {plane}\n%src = lrm <i8 x {n}>\n%dst = lrm <i8 x 4>"
            );
            let _ =
                writeln!(out, "%f = flow.in %x[%p]{second} -> %src[0] {shape} tile {side}x{side} {at} {slot}\nwait %f");
            chunk(&mut out, stream);
            if two {
                let _ = writeln!(out, "%dst[1] = max %src[1], %src[5]");
            }
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[%p] {shape} tile {side}x{side} {at}\nwait %g\n}}");
        }
        // A whole tile in, work on it, chunks out.
        1 => {
            let n = planes * 4;
            let _ = writeln!(out, "%src = lrm <i8 x {n}>");
            let _ = writeln!(
                out,
                "%f = flow.in %x[0] -> %src[0] {shape} plane {plane} tile {side}x{side} {at} ({planes}: 0, 0, 1) slot 4\nwait %f"
            );
            let _ = writeln!(
                out,
                "%m = var 0\nfor %k in 0..{n} {{\nset %m = max %m, %src[%k]\n%d = lut %m, %src[0], 2\nset %m = add %m, %d\n}}"
            );
            let _ = writeln!(out, "for %c in 0..{planes} {{\n%p = s.mul %c, {plane}\n%dst = lrm <i8 x 4>");
            for k in 0..4 {
                let add = if stream { "%s" } else { "%m" };
                let _ = writeln!(out, "%t{k} = add %src[%c*4+{k}], {add}\n%dst[{k}] = clip %t{k}, -128, 127");
            }
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[%p] {shape} tile {side}x{side} {at}\nwait %g\n}}");
        }
        // Whole tiles both ways.
        _ => {
            let n = planes * 4;
            let _ = writeln!(out, "%src = lrm <i8 x {n}>\n%dst = lrm <i8 x {n}>");
            let walk = format!("{shape} plane {plane} tile {side}x{side} {at} ({planes}: 0, 0, 1) slot 4");
            let _ = writeln!(out, "%f = flow.in %x[0] -> %src[0] {walk}\nwait %f");
            let add = if stream { "%s" } else { "%ty" };
            let _ = writeln!(out, "for %k in 0..{n} {{\n%t = add %src[%k], {add}\n%dst[%k] = clip %t, -128, 127\n}}");
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[0] {walk}\nwait %g");
        }
    }
    out.push_str("}\n}\n}\n");
    out
}

/// A pipelined loop with several flows of a direction: fetches and stores of unlike shapes, of one tensor or several, in chunks
/// or whole tiles, in place or not, with work and streams between, also where the nest is not perfect.
pub fn buffered(rng: &mut Rng, target: &Target) -> String {
    let side = target.spec().rows as usize;
    let (h, w) = (side + rng.below(2 * side), side + rng.below(2 * side));
    let (ty, tx) = (h.div_ceil(side), w.div_ceil(side));
    let chunks = 1 + rng.below(4);
    let (plane, bytes) = (h * w * 4, h * w * 4 * chunks);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "kernel @k(%x: in ocm<{bytes}>, %w: in ocm<256>, %v: in ocm<{}>, %n: s32 in 0..=3, %y: out ocm<{bytes}>, %z: inout ocm<{bytes}>) {{",
        h * w
    );
    let at = format!("tile {side}x{side} at (%x0, %y0)");
    let words = format!("elem 4 size {h}x{w} pitch {} {at}", w * 4);
    let thirds = format!("elem 1 size {h}x{w} pitch {w} {at}");
    let levels = ["pipelined(2)", "", ""];
    let first = rng.below(3);
    let level = |i: usize| if i == first { levels[0] } else { levels[1] };
    let _ = writeln!(out, "for %ty in 0..{ty} {} {{\n%y0 = s.mul %ty, {side}", level(0));
    let _ = writeln!(out, "for %tx in 0..{tx} {} {{\n%x0 = s.mul %tx, {side}", level(1));
    let between = rng.once_in(3);
    if between {
        let origin = *rng.pick(&["16", "%from", "%tx16"]);
        let _ = writeln!(out, "%tx16 = s.mul %tx, 16\n%row = s.mul %ty, 32\n%from = s.add %row, %tx16");
        let _ = writeln!(out, "%s = bcast %w[{origin}] (1: 16)");
        let _ = writeln!(out, "%u = add %s, %ty\n%u2 = add %s, %u\n%u3 = add %s, 1\n%u4 = add %s, 2");
    }
    // A stream a chunk, of entries that follow one another or stand apart.
    let weights = !between && rng.once_in(2);
    let apart = if rng.once_in(2) { 16 } else { 48 };
    // A tile's own fetch, in the loop around the chunks.
    let whole = rng.once_in(3);
    if whole {
        let _ = writeln!(out, "%t = lrm <i8 x 1>\n%ft = flow.in %v[0] -> %t[0] {thirds}\nwait %ft");
    }
    // The last loop has run-time bounds now and then, or counts from another number.
    let bounds = match rng.below(6) {
        0 => "0..%n".to_owned(),
        1 => format!("1..{chunks}"),
        _ => format!("0..{chunks}"),
    };
    let _ = writeln!(out, "for %c in {bounds} {} {{\n%p = s.mul %c, {plane}", level(2));
    if bounds.ends_with("%n") {
        out = out.replace(&format!("s.mul %c, {plane}"), &format!("s.min %c, {}\n%p = s.mul %pc, {plane}", chunks - 1));
        out = out.replace("%p = s.min", "%pc = s.min");
    }
    let _ = writeln!(out, "%a = lrm <i8 x 8>\n%b = lrm <i8 x 4>\n%d = lrm <i8 x 4>");
    if weights {
        let _ = writeln!(out, "%cs = s.mul %c, {apart}\n%sc = bcast %w[%cs] (1: 16)");
        let _ = writeln!(out, "%k0 = add %sc, 1\n%k1 = add %sc, %k0\n%k2 = add %sc, %k1\n%k3 = add %sc, %k2");
    }
    let _ = writeln!(out, "%f1 = flow.in %x[%p] -> %a[0] {words}");
    let late = rng.once_in(2);
    if late {
        let _ = writeln!(out, "wait %f1");
    }
    let three = rng.once_in(2);
    let (second, origin) = if rng.once_in(4) { ("%z", "%p") } else { ("%x", "0") };
    let _ = writeln!(out, "%f2 = flow.in {second}[{origin}] -> %a[4] {words} halo 1");
    if three {
        let _ = writeln!(out, "%b3 = lrm <i8 x 2>\n%f3 = flow.in %v[0] -> %b3[1] {thirds}\nwait %f3");
    }
    let taps = if rng.once_in(3) { 1 + rng.below(7) } else { 0 };
    if taps > 0 {
        let _ = writeln!(out, "%tap = lrm <i8 x {taps}>");
    }
    let grid = rng.once_in(2);
    for k in 0..taps {
        let shift = if grid { k as i64 % 4 } else { rng.below(3) as i64 - 1 };
        let _ = writeln!(out, "%at{k} = s.add %x0, {shift}");
        let _ = writeln!(
            out,
            "%ftap{k} = flow.in %v[0] -> %tap[{k}] elem 1 size {h}x{w} pitch {w} tile {side}x{side} at (%at{k}, %y0)"
        );
        let _ = writeln!(out, "wait %ftap{k}");
    }
    let _ = writeln!(out, "wait %f2");
    if !late {
        let _ = writeln!(out, "wait %f1");
    }
    for k in 0..4 {
        let extra = match k {
            0 if three => "%b3[1]",
            1 if between => "%u",
            2 if whole => "%t[0]",
            3 if weights => "%k3",
            3 if taps > 0 => "%tap[0]",
            _ => "%c",
        };
        let _ = writeln!(out, "%m{k} = max %a[{k}], {extra}\n%b[{k}] = clip %m{k}, -128, 127");
        let other = if k < taps { format!("%tap[{}]", taps - 1 - k) } else { extra.to_owned() };
        let _ = writeln!(out, "%e{k} = sub %a[{}], {other}\n%d[{k}] = clip %e{k}, -100, 127", k + 4);
    }
    let store = |out: &mut String, i: usize, buf: &str, to: &str| {
        let _ = writeln!(out, "%g{i} = flow.out {buf} -> {to}[%p] {words}\nwait %g{i}");
    };
    store(&mut out, 1, "%b[0]", "%y");
    match rng.below(4) {
        0 => store(&mut out, 2, "%d[0]", "%z"),
        1 => store(&mut out, 2, "%d[0]", "%y"),
        2 => store(&mut out, 2, "%a[4]", "%z"),
        _ => {}
    }
    out.push_str("}\n}\n}\n}\n");
    out
}
