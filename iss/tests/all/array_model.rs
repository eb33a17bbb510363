//! The array executor against the naive model: every micro-op, predicates, narrow lanes, MACs regrouped or not, sends, on
//! every path of the host, any number of threads and several shapes.

use crate::array_support::*;
use iss::isa::operand::{Cond, Dir, Dirs, MacShape, Width};
use iss::sim::array::*;

const LRM_BYTES: usize = 256;

const SHAPES: [Geometry; 10] = [
    Geometry { rows: 1, cols: 1, border: 0 },
    Geometry { rows: 1, cols: 1, border: 2 },
    Geometry { rows: 8, cols: 8, border: 4 },
    Geometry { rows: 3, cols: 70, border: 1 },
    Geometry { rows: 24, cols: 20, border: 4 },
    Geometry { rows: 16, cols: 16, border: 0 },
    Geometry { rows: 32, cols: 32, border: 4 },
    Geometry { rows: 130, cols: 1, border: 1 },
    Geometry { rows: 5, cols: 64, border: 3 },
    Geometry { rows: 2, cols: 130, border: 40 },
];

fn paths() -> impl Iterator<Item = SimdPath> {
    SimdPath::ALL.into_iter().filter(|p| p.available())
}

/// Array and model with the same random memory.
fn filled(geometry: Geometry, rng: &mut Rng) -> (Array, Model) {
    let mut array = Array::new(geometry, LRM_BYTES);
    let mut model = Model::new(geometry, LRM_BYTES);
    for pe in &mut model.pes {
        for addr in (0..LRM_BYTES as u32).step_by(4) {
            let value = rng.value();
            pe.put(Place::word(addr), value);
            array.set(pe.row as usize, pe.col, Place::word(addr), value);
        }
    }
    (array, model)
}

fn run(array: &mut Array, trace: &mut TraceBuffer) {
    array.run(trace).expect("no division in this program");
    trace.clear();
}

fn execute(array: &mut Array, steps: &[Step]) {
    let mut trace = TraceBuffer::new();
    for step in steps {
        match step {
            Step::Uop(uop) => trace.push(*uop),
            Step::Mac(mac, weights) => trace.push_mac(*mac, &weights[..mac.width.weight_bytes()]),
            Step::Send(dirs, src) => {
                run(array, &mut trace);
                array.send(*dirs, *src);
            }
        }
    }
    run(array, &mut trace);
}

fn execute_model(model: &mut Model, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Uop(uop) => assert_eq!(model.uop(*uop), None),
            Step::Mac(mac, weights) => model.mac(*mac, weights),
            Step::Send(dirs, src) => model.send(*dirs, *src),
        }
    }
}

/// Every register and word, and the predicates.
#[track_caller]
fn assert_same(array: &Array, model: &Model, what: &str) {
    let words = (0..LRM_BYTES as u32).step_by(4).map(Source::word);
    let registers = (0..16).map(Source::Acc).chain(Dir::ALL.map(Source::Port)).chain([Source::QRow, Source::QCol]);
    for src in words.chain(registers) {
        assert_eq!(array.read(src), model.read(src), "{what}: {src:?}");
    }
    for pe in &model.pes {
        let (row, col) = (pe.row as usize, pe.col);
        assert_eq!(array.enabled(row, col), pe.enable, "{what}: enable of ({row}, {col})");
        assert_eq!(array.predicate(row, col), pe.pred, "{what}: predicate of ({row}, {col})");
    }
    assert_eq!(array.any(), model.any(), "{what}: any");
}

#[test]
fn random_programs_agree_on_every_path_and_shape() {
    for (s, geometry) in SHAPES.into_iter().enumerate() {
        let n_programs = if geometry.rows * geometry.cols > 400 { 4 } else { 12 };
        for seed in 0..n_programs {
            let mut rng = Rng(seed * 100 + s as u64);
            let (array, mut model) = filled(geometry, &mut rng);
            let steps = program(&mut rng, 300, LRM_BYTES as u32);
            execute_model(&mut model, &steps);
            for path in paths() {
                let mut array = array.clone();
                array.set_path(path);
                execute(&mut array, &steps);
                assert_same(&array, &model, &format!("{geometry:?}, seed {seed}, {path}"));
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let geometry = Geometry { rows: 24, cols: 20, border: 4 };
    let mut rng = Rng(7);
    let (array, mut model) = filled(geometry, &mut rng);
    let no_send = |s: &Step| !matches!(s, Step::Send(..));
    let steps: Vec<Step> = program(&mut rng, 9000, LRM_BYTES as u32).into_iter().filter(no_send).collect();
    execute_model(&mut model, &steps);
    for n_threads in [1, 2, 3, 64] {
        let mut array = array.clone();
        array.set_threads(n_threads);
        execute(&mut array, &steps);
        assert_same(&array, &model, &format!("{n_threads} threads"));
    }
}

#[test]
fn threads_report_the_same_fault() {
    let mut trace = TraceBuffer::new();
    for _ in 0..5000 {
        trace.push(Uop::Binary { op: BinaryOp::Add, dst: Dest::Acc(0), a: Source::QCol, b: Source::QRow });
    }
    // Zero where row and column cancel: in the corner and in the west border.
    trace.push(Uop::FxDiv { dst: Dest::Acc(1), a: Source::Acc(0), b: Source::Acc(0), frac: 0 });
    let find = |n_threads| {
        let mut array = Array::new(Geometry { rows: 32, cols: 32, border: 2 }, 8);
        array.set_threads(n_threads);
        (array.run(&mut trace.clone()), array.read(Source::Acc(1)))
    };
    let fault = DivisionFault { uop_index: 5000, row: 0, col: 0 };
    assert_eq!(find(1).0, Err(fault));
    (2..5).for_each(|n_threads| assert_eq!(find(n_threads), find(1)));
}

/// Runs one operation on all pairs of int8, which fill the low bytes of words 0 and 4 of a 256 x 256 array.
#[track_caller]
fn check_bytes(make: impl Fn(Source, Source) -> Uop, expected: impl Fn(i32, i32) -> i32) {
    let geometry = Geometry { rows: 256, cols: 256, border: 0 };
    let mut array = Array::new(geometry, 16);
    let column: Vec<u8> = (0..=255).collect();
    for row in 0..256 {
        array.write_row(row, 0, Place::byte(0), &[row as u8; 256]);
        array.write_row(row, 0, Place::byte(5), &column);
    }
    let uop = make(Source::Lrm(Place::byte(0)), Source::Lrm(Place::byte(5)));
    let mut trace = TraceBuffer::new();
    trace.push(uop);
    for path in paths() {
        array.set_path(path);
        // Words 2 and 3 are free; operations write word 2.
        array.run(&mut trace).ok();
        let got = array.read(Source::word(8));
        for (i, got) in got.into_iter().enumerate() {
            let (a, b) = ((i / 256) as u8 as i8 as i32, i as u8 as i8 as i32);
            assert_eq!(got, expected(a, b), "{uop:?} on {path}: a = {a}, b = {b}");
        }
    }
}

const DST: Dest = Dest::Lrm(Place::word(8));

#[test]
fn binary_operations_are_right_for_all_bytes() {
    for op in BinaryOp::ALL {
        check_bytes(|a, b| Uop::Binary { op, dst: DST, a, b }, |a, b| binary(op, a, b));
    }
    check_bytes(|a, _| Uop::Mov { dst: DST, a }, |a, _| a);
    check_bytes(|a, _| Uop::Abs { dst: DST, a }, |a, _| if a < 0 { -a } else { a });
    check_bytes(|a, _| Uop::Clip { dst: DST, a, lo: -100, hi: 7 }, |a, _| a.clamp(-100, 7));
}

#[test]
fn conditions_are_right_for_all_bytes() {
    for cond in Cond::ALL {
        check_bytes(|a, b| Uop::Set { cond: *cond, dst: DST, a, b }, |a, b| holds(*cond, a, b) as i32);
    }
}

#[test]
fn products_and_quotients_are_right_for_all_bytes() {
    for shift in -31..=63 {
        check_bytes(|a, b| Uop::FxMul { dst: DST, a, b, shift }, |a, b| fx_mul(a, b, shift));
    }
    for frac in [0, 1, 8, 30, 31] {
        // Lanes without a quotient keep the zero.
        check_bytes(|a, b| Uop::FxDiv { dst: DST, a, b, frac }, |a, b| if b == 0 { 0 } else { fx_div(a, b, frac) });
    }
}

#[test]
fn wide_operands_are_right_at_corners_and_at_random() {
    let geometry = Geometry { rows: 8, cols: 40, border: 0 };
    let mut rng = Rng(3);
    let (array, model) = filled(geometry, &mut rng);
    let mut array = array;
    let mut model = model;
    // All pairs of corners, the rest at random.
    for (i, pe) in model.pes.iter_mut().enumerate() {
        let n = CORNERS.len();
        let pair = if i < n * n { (CORNERS[i / n], CORNERS[i % n]) } else { (rng.value(), rng.value()) };
        pe.put(Place::word(0), pair.0);
        pe.put(Place::word(4), pair.1);
        array.set(pe.row as usize, pe.col, Place::word(0), pair.0);
        array.set(pe.row as usize, pe.col, Place::word(4), pair.1);
    }
    let (a, b) = (Source::word(0), Source::word(4));
    let mut uops: Vec<Uop> = BinaryOp::ALL.into_iter().map(|op| Uop::Binary { op, dst: DST, a, b }).collect();
    uops.extend(Cond::ALL.iter().map(|cond| Uop::Set { cond: *cond, dst: DST, a, b }));
    uops.extend((-31..=63).map(|shift| Uop::FxMul { dst: DST, a, b, shift }));
    uops.extend((0..=31).map(|frac| Uop::FxDiv { dst: DST, a, b, frac }));
    uops.extend([Uop::Abs { dst: DST, a }, Uop::Clip { dst: DST, a, lo: -2048, hi: 2047 }]);
    for uop in uops {
        let fault = model.uop(uop);
        for path in paths() {
            let mut array = array.clone();
            array.set_path(path);
            let mut trace = TraceBuffer::new();
            trace.push(uop);
            let result = array.run(&mut trace);
            assert_eq!(result.err().map(|f| (f.uop_index, f.row, f.col)), fault.map(|(r, c)| (0, r, c)), "{uop:?}");
            let (got, expected) = (array.read(Source::word(8)), model.read(Source::word(8)));
            for (i, (got, expected)) in got.into_iter().zip(expected).enumerate() {
                let pe = &model.pes[i];
                // The array starts from the memory before; where a division wrote nothing, nothing is compared.
                if !matches!(uop, Uop::FxDiv { .. }) || pe.read(b) != 0 {
                    assert_eq!(got, expected, "{uop:?} on {path}: a = {}, b = {}", pe.read(a), pe.read(b));
                }
            }
        }
    }
}

#[test]
fn division_reports_the_first_enabled_zero_divisor() {
    let geometry = Geometry { rows: 5, cols: 20, border: 2 };
    let mut array = Array::new(geometry, 16);
    let mut trace = TraceBuffer::new();
    let div = Uop::FxDiv { dst: Dest::Acc(1), a: Source::Splat(9), b: Source::Acc(0), frac: 1 };
    trace.push(Uop::Mov { dst: Dest::Acc(0), a: Source::QCol });
    trace.push_mac(Mac { width: MacWidth::W8x8, shape: MacShape::Dot, acc: 5, addr: 0 }, &[1; 16]);
    trace.push_mac(Mac { width: MacWidth::W8x8, shape: MacShape::Dot, acc: 6, addr: 0 }, &[1; 16]);
    trace.push(div);
    assert_eq!(array.run(&mut trace), Err(DivisionFault { uop_index: 3, row: 0, col: 0 }));
    let quotients = array.read(Source::Acc(1));
    assert_eq!(quotients[..6], [-9, -18, 0, 18, 9, 6], "the other PEs divide");

    trace.clear();
    trace.push(Uop::Cmp { cond: Cond::Lt, a: Source::QRow, b: Source::Splat(3) });
    trace.push(Uop::Disable);
    trace.push(Uop::Mov { dst: Dest::Acc(0), a: Source::QCol });
    trace.push(Uop::Binary { op: BinaryOp::Add, dst: Dest::Acc(0), a: Source::Acc(0), b: Source::Splat(2) });
    trace.push(div);
    assert_eq!(array.run(&mut trace), Ok(()), "the border divides by zero unseen");
    trace.push(Uop::Mov { dst: Dest::Acc(0), a: Source::Splat(0) });
    trace.push(div);
    assert_eq!(array.run(&mut trace), Err(DivisionFault { uop_index: 6, row: 3, col: 0 }));
}

#[test]
fn mac_runs_in_program_order_of_a_convolution_agree() {
    // Sixteen accumulators over all words, channel-major and accumulator-major, and one accumulator alone.
    let geometry = Geometry { rows: 8, cols: 8, border: 1 };
    let mut rng = Rng(11);
    let (array, model) = filled(geometry, &mut rng);
    for width in [MacWidth::W8x8, MacWidth::W16x8, MacWidth::W16x16] {
        let step = if width == MacWidth::W8x8 { 16 } else { 32 };
        for n_acc in [1u8, 2, 3, 4, 5, 7, 8, 11, 16] {
            let addrs = || (0..LRM_BYTES as u32).step_by(step);
            let order: [Vec<(u8, u32)>; 2] = [
                addrs().flat_map(|addr| (0..n_acc).map(move |acc| (acc, addr))).collect(),
                (0..n_acc).flat_map(|acc| addrs().map(move |addr| (acc, addr))).collect(),
            ];
            for order in order {
                let mut steps = vec![Step::Uop(Uop::Cmp { cond: Cond::Lt, a: Source::word(0), b: Source::word(4) })];
                steps.push(Step::Uop(Uop::Push));
                steps.extend(order.iter().map(|(acc, addr)| {
                    let weights = std::array::from_fn(|_| rng.next() as u8);
                    Step::Mac(Mac { width, shape: MacShape::Dot, acc: *acc, addr: *addr }, weights)
                }));
                let mut model = model.clone();
                execute_model(&mut model, &steps);
                for path in paths() {
                    let mut array = array.clone();
                    array.set_path(path);
                    execute(&mut array, &steps);
                    assert_same(&array, &model, &format!("{width:?}, {n_acc} accumulators, {path}"));
                }
            }
        }
    }
}

#[test]
fn int8_products_are_right_for_all_pairs_in_every_lane() {
    // PE (r, c) holds the byte 16 * r + c in each byte lane of a word of its own.
    let mut array = Array::new(Geometry { rows: 16, cols: 16, border: 0 }, 80);
    let byte = |pe: usize| pe as u8 as i8 as i32;
    for (pe, lane) in (0..256).flat_map(|pe| (0..4).map(move |lane| (pe, lane))) {
        array.set(pe / 16, (pe % 16) as i32, Place::byte(20 * lane), byte(pe));
        array.set(pe / 16, (pe % 16) as i32, Place::half(16 * lane + 2), byte(pe));
    }
    for path in paths() {
        array.set_path(path);
        for (lane, first) in (0..4).flat_map(|lane| (0..=240u8).step_by(16).map(move |first| (lane, first))) {
            let weights: [u8; 16] = std::array::from_fn(|i| first + i as u8);
            let wide: Vec<u8> = weights.iter().flat_map(|w| (*w as i8 as i16).to_le_bytes()).collect();
            let mac = |width, addr| Mac { width, shape: MacShape::Outer, acc: 0, addr };
            let runs = [
                (mac(MacWidth::W8x8, 20 * lane), &weights[..]),
                (mac(MacWidth::W16x8, 16 * lane + 2), &weights[..]),
                (mac(MacWidth::W16x16, 16 * lane + 2), &wide[..]),
            ];
            for (mac, weights) in runs {
                let mut trace = TraceBuffer::new();
                (0..16).for_each(|acc| trace.push(Uop::Mov { dst: Dest::Acc(acc), a: Source::Splat(-5) }));
                trace.push_mac(mac, weights);
                run(&mut array, &mut trace);
                for i in 0..16u8 {
                    let got = array.read(Source::Acc(i));
                    let expected = (0..256).map(|pe| byte(pe) * byte((first + i) as usize) - 5);
                    assert!(got.into_iter().eq(expected), "{mac:?} on {path}: weight {}", first + i);
                }
            }
        }
    }
}

#[test]
fn a_buffer_runs_twice() {
    let mut array = Array::new(Geometry { rows: 2, cols: 2, border: 0 }, 16);
    let mut trace = TraceBuffer::new();
    let width = MacWidth::W16x16;
    array.set(1, 1, Place::half(2), 3);
    trace.push_mac(Mac { width, shape: MacShape::Outer, acc: 0, addr: 2 }, &[1; 32]);
    array.run(&mut trace).expect("no division");
    array.run(&mut trace).expect("no division");
    assert_eq!(array.read(Source::Acc(15)), [0, 0, 0, 2 * 3 * 257]);
    assert_eq!(trace.len(), 1);
}

#[test]
fn rows_and_elements_move_little_endian_in_any_width() {
    let mut rng = Rng(5);
    for geometry in SHAPES {
        let (mut array, mut model) = filled(geometry, &mut rng);
        let full = geometry.full_cols() as u64;
        for _ in 0..200 {
            let at = place(&mut rng, LRM_BYTES as u32);
            let size = at.width.bytes() as usize;
            let row = rng.below(geometry.rows as u64) as usize;
            let first = rng.below(full);
            let n = rng.below(full - first + 1) as usize;
            let col = first as i32 - geometry.border as i32;
            let bytes: Vec<u8> = (0..n * size).map(|_| rng.next() as u8).collect();
            array.write_row(row, col, at, &bytes);
            for (i, element) in bytes.chunks(size).enumerate() {
                let pe = model.at(row, col + i as i32);
                pe.lrm[at.addr as usize..][..size].copy_from_slice(element);
                assert_eq!(array.get(row, col + i as i32, at), pe.place(at));
            }
            let mut back = vec![0; bytes.len()];
            array.read_row(row, col, at, &mut back);
            assert_eq!(back, bytes);
        }
        assert_same(&array, &model, &format!("{geometry:?}"));
    }
}

#[test]
fn single_elements_keep_their_neighbours() {
    let mut array = Array::new(Geometry { rows: 1, cols: 3, border: 1 }, 8);
    array.set(0, -1, Place::word(4), 0x1122_3344);
    array.set(0, -1, Place::byte(5), -1);
    assert_eq!(array.get(0, -1, Place::word(4)), 0x1122_ff44);
    assert_eq!(array.get(0, -1, Place { width: Width::Half, addr: 4 }), 0xff44u16 as i16 as i32);
    assert_eq!(array.read(Source::word(4)), [0x1122_ff44, 0, 0, 0, 0]);
}

#[test]
fn edges_without_a_neighbour_read_zero() {
    let mut array = Array::new(Geometry { rows: 2, cols: 2, border: 1 }, 8);
    array.send(Dirs::ALL, Source::Splat(7));
    assert_eq!(array.read(Source::Port(Dir::North)), [0, 0, 0, 0, 7, 7, 7, 7]);
    assert_eq!(array.read(Source::Port(Dir::South)), [7, 7, 7, 7, 0, 0, 0, 0]);
    assert_eq!(array.read(Source::Port(Dir::West)), [0, 7, 7, 7, 0, 7, 7, 7]);
    assert_eq!(array.read(Source::Port(Dir::East)), [7, 7, 7, 0, 7, 7, 7, 0]);
}

#[test]
fn a_port_can_be_sent_on_in_all_directions() {
    for geometry in SHAPES {
        let mut rng = Rng(23);
        let (array, model) = filled(geometry, &mut rng);
        for side in Dir::ALL {
            let steps = [Step::Send(Dirs::ALL, Source::word(4)), Step::Send(Dirs::ALL, Source::Port(side))];
            let (mut array, mut model) = (array.clone(), model.clone());
            execute(&mut array, &steps);
            execute_model(&mut model, &steps);
            assert_same(&array, &model, &format!("{geometry:?}, port {side:?}"));
        }
    }
}

#[test]
fn borders_that_are_off_neither_execute_nor_send() {
    let mut array = Array::new(Geometry { rows: 1, cols: 2, border: 1 }, 8);
    array.set_borders(false);
    let mut trace = TraceBuffer::new();
    trace.push(Uop::Mov { dst: Dest::Acc(0), a: Source::Splat(5) });
    array.run(&mut trace).expect("no division");
    array.send(Dirs::ALL, Source::Acc(0));
    assert_eq!(array.read(Source::Acc(0)), [0, 5, 5, 0]);
    assert_eq!(array.read(Source::Port(Dir::West)), [0, 0, 5, 0]);
    assert_eq!(array.read(Source::Port(Dir::East)), [0, 5, 0, 0]);
}

#[test]
fn assertions_find_the_first_zero_of_the_enabled_core() {
    let mut array = Array::new(Geometry { rows: 3, cols: 40, border: 4 }, 8);
    assert_eq!(array.first_enabled_zero(Source::QCol), Some((0, 0)));
    let mut trace = TraceBuffer::new();
    trace.push(Uop::Cmp { cond: Cond::Eq, a: Source::QRow, b: Source::Splat(0) });
    trace.push(Uop::Disable);
    array.run(&mut trace).expect("no division");
    assert_eq!(array.first_enabled_zero(Source::QCol), Some((1, 0)));
    assert_eq!(array.first_enabled_zero(Source::QRow), None);
    assert!(!array.any(), "the set predicate bits are those of disabled PEs");
}

#[test]
fn paths_print_and_parse() {
    for path in SimdPath::ALL {
        assert_eq!(path.to_string().parse(), Ok(path));
    }
    assert!("sse".parse::<SimdPath>().is_err());
    assert!(SimdPath::detect().available());
}
