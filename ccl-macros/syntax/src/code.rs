//! The table of error codes: name, what is wrong, a text that has the error and the same text mended. `docs/errors.md` is
//! generated from it, and a test runs every example.

use std::fmt;

/// An explained code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Short title.
    pub title: &'static str,
    /// What it means and why it is an error.
    pub prose: &'static str,
    /// A text with this error.
    pub before: &'static str,
    /// The text mended.
    pub after: &'static str,
}

macro_rules! codes {
    ($( $(#[doc = $prose:literal])* $number:literal $Code:ident = $title:literal, before $before:literal, after $after:literal; )*) => {
        /// Kind of a diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Code { $( $(#[doc = $prose])* $Code = $number, )* }

        impl Code {
            /// Every code, explained, in the order of the numbers.
            pub const TABLE: &'static [CodeInfo] = &[ $( CodeInfo {
                code: Code::$Code, title: $title, prose: concat!($($prose, "\n"),*), before: $before, after: $after,
            }, )* ];
        }
    };
}

// C00 text, C01 subset of Rust, C02 names, C03 constants, C04 types, C05 flows, C06 what an
// instance needs. The numbers
// are written without leading zeros: 201 is C0201.
codes! {
    /// A bracket has no partner. The place is the bracket that stays open, or the one too many; what follows is read as if
    /// the missing one stood there.
    1 Unbalanced = "unbalanced bracket",
        before "fn f(x: i32) {\n    let a = (x + 1;\n}", after "fn f(x: i32) {\n    let a = (x + 1);\n}";
    /// Something that is no token of Rust, a string, character or comment that never ends, or a number that cannot be read.
    2 BadToken = "unreadable token",
        before "const N: usize = 0b12;", after "const N: usize = 0b11;";
    /// The grammar wants something else here. The statement is dropped, the ones around it are still checked.
    3 Expected = "something else expected",
        before "fn f(x: i32) {\n    let a x;\n}", after "fn f(x: i32) {\n    let a = x;\n}";
    /// Expressions, types and blocks nest, and operators chain, at most 64 and 128 deep, so that no input can exhaust the
    /// stack of the compiler.
    4 TooDeep = "nested too deep",
        before "fn f(x: i32) {\n    let a = -----------------------------------------------------------------x;\n}",
        after "fn f(x: i32) {\n    let a = x;\n}";
    /// A construct of Rust that the language does not have. `docs/subset.md` lists what it has, and for every other construct
    /// what to write instead.
    101 OutsideSubset = "outside the subset of Rust",
        before "fn f(x: i32) {\n    loop {\n        break;\n    }\n}", after "fn f(x: i32) {\n    for i in 0..8 {\n        break;\n    }\n}";
    /// An attribute that the language does not have, or with other arguments than it takes.
    102 BadAttribute = "unknown or malformed attribute",
        before "#[regoin(\"stem\")]\nfn f() {}", after "#[region(\"stem\")]\nfn f() {}";
    /// An attribute on something that it says nothing about, or twice on one thing.
    103 MisplacedAttribute = "misplaced attribute",
        before "#[bound(4)]\nfn f() {}", after "fn f(n: i32) {\n    #[bound(4)]\n    while n < 3 {}\n}";
    /// A macro other than `probe!` and `assert!`.
    104 UnknownMacro = "unknown macro",
        before "fn f(x: i32) {\n    println!(x);\n}", after "fn f(x: i32) {\n    probe!(x);\n}";
    /// The left side of an assignment names no place: places are names, elements of places and what a reference refers to.
    105 NotAPlace = "not a place",
        before "fn f(x: i32) {\n    x + 1 = 2;\n}", after "fn f(mut x: i32) {\n    x = 2;\n}";
    /// A `while` loop says how often it can run at most, so that its cost is bounded and a run cannot hang.
    106 Unbounded = "loop without a bound",
        before "fn f(mut x: i32) {\n    while x < 9 {\n        x += 1;\n    }\n}",
        after "fn f(mut x: i32) {\n    #[bound(9)]\n    while x < 9 {\n        x += 1;\n    }\n}";
    /// A name that nothing declares: no local, parameter, item, import or name of the language.
    201 UnknownName = "unknown name",
        before "fn f(width: i32) {\n    let a = widht + 1;\n}", after "fn f(width: i32) {\n    let a = width + 1;\n}";
    /// A method that no type of the language has.
    202 UnknownMethod = "unknown method",
        before "fn f(x: &Ocm<i8, Packed<4, 32, 32>>) {\n    for t in x.tilse() {}\n}",
        after "fn f(x: &Ocm<i8, Packed<4, 32, 32>>) {\n    for t in x.tiles() {}\n}";
    /// Two items, parameters or names of one pattern are called the same, or an item takes a name of the language.
    203 Duplicate = "name declared twice",
        before "const N: usize = 1;\nconst N: usize = 2;", after "const N: usize = 1;\nconst M: usize = 2;";
    /// A binding without `mut` is assigned or lent as `&mut`.
    204 Immutable = "assignment to an immutable binding",
        before "fn f() {\n    let n = 1;\n    n = 2;\n}", after "fn f() {\n    let mut n = 1;\n    n = 2;\n}";
    /// A name is used as something it is not: a type as a value, a local as a function, a function as a value.
    205 WrongKind = "wrong kind of name",
        before "fn f(n: usize) {\n    let a = n(2);\n}", after "fn f(n: usize) {\n    let a = n * 2;\n}";
    /// A member without call parentheses. Tuples have numbered members, everything else has methods.
    206 UnknownField = "no such member",
        before "fn f(x: &Ocm<i8, Packed<4, 32, 32>>) {\n    x.tiles;\n}",
        after "fn f(x: &Ocm<i8, Packed<4, 32, 32>>) {\n    for t in x.tiles() {}\n}";
    /// A call with more or fewer arguments, or generic arguments, than the function has parameters.
    207 ArgumentCount = "wrong number of arguments",
        before "fn f(x: i32) -> i32 {\n    min(x)\n}", after "fn f(x: i32) -> i32 {\n    min(x, 7)\n}";
    /// Functions that call each other in a circle. The array has no stack for them: frames are laid out along the calls.
    208 Recursion = "recursion",
        before "fn f(x: i32) -> i32 {\n    f(x - 1)\n}", after "fn f(x: i32) -> i32 {\n    x - 1\n}";
    /// `break` or `continue` where there is no loop around.
    209 OutsideLoop = "outside a loop",
        before "fn f() {\n    break;\n}", after "fn f() {\n    for i in 0..4 {\n        break;\n    }\n}";
    /// An `#[instance]` that is no `const NAME: Kernel = kernel::<arguments>;`, names no kernel of this block, or has other
    /// arguments than the kernel has const parameters.
    210 BadInstance = "malformed instance",
        before "#[kernel]\npub fn scale<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>) {}\n#[instance(target = QC_U)]\npub const SCALE: Kernel = scale::<32>;",
        after "#[kernel]\npub fn scale<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>) {}\n#[instance(target = QC_U)]\npub const SCALE: Kernel = scale::<32, 64>;";
    /// A generic argument computed from const parameters. Stable Rust has no types such as `Lrm<i8, { C / 4 }>`: the extent
    /// becomes a const parameter of its own, and an `assert!` states how they hang together.
    211 DerivedExtent = "computed generic argument",
        before "fn f<const C: usize>(x: &Lrm<i8, { C / 4 }>) {}",
        after "fn f<const C: usize, const C4: usize>(x: &Lrm<i8, C4>) {\n    assert!(C4 == C / 4);\n}";
    /// A value that cannot be computed before the kernel runs where a constant is needed.
    301 NotConst = "not a constant",
        before "const N: usize = q_row();", after "const N: usize = 32;";
    /// A constant outside the range of its type.
    302 ConstOverflow = "constant overflows",
        before "const N: u8 = 16 * 16;", after "const N: u16 = 16 * 16;";
    /// A constant divided by zero, or a shift by as many bits as the type has or more.
    303 ConstDivision = "division by zero",
        before "const N: usize = 8 / (4 - 4);", after "const N: usize = 8 / 4;";
    /// Constants defined by each other in a circle.
    304 ConstCycle = "constants in a circle",
        before "const A: usize = B + 1;\nconst B: usize = A - 1;", after "const A: usize = 5;\nconst B: usize = A - 1;";
    /// Operands of a constant expression of unlike types, or of a type that the operator does not take.
    305 ConstType = "constant of the wrong type",
        before "const N: usize = 3 + true;", after "const N: usize = 3 + 1;";
    /// An index beyond the end of a constant array.
    306 ConstIndex = "index out of range",
        before "const T: [i32; 2] = [1, 2];\nconst N: i32 = T[2];", after "const T: [i32; 2] = [1, 2];\nconst N: i32 = T[1];";
    /// A value of another type than its place wants.
    401 WrongType = "wrong type",
        before "fn f(a: Q<i8>) -> Q<i32> {\n    a\n}", after "fn f(a: Q<i8>) -> Q<i32> {\n    a.widen::<i32>()\n}";
    /// Fixed-point numbers with unlike numbers of fraction bits. Nothing aligns them unasked: bits would be lost unseen.
    402 UnlikeFractionBits = "unlike fraction bits",
        before "fn f(a: Q<Fx<16>>, b: Q<Fx<12>>) -> Q<Fx<16>> {\n    a + b\n}",
        after "fn f(a: Q<Fx<16>>, b: Q<Fx<12>>) -> Q<Fx<16>> {\n    a + b.rescale::<16>(HalfEven, Saturate)\n}";
    /// A wider value where a narrower one is wanted. Narrowing says what becomes of values out of range, and of bits behind
    /// the point.
    403 UnnamedNarrowing = "narrowing that names no overflow",
        before "fn f(a: Q<i32>) -> Q<i8> {\n    a\n}", after "fn f(a: Q<i32>) -> Q<i8> {\n    a.narrow::<i8>(Saturate)\n}";
    /// A scalar, one value in the control unit, where a value of every PE is wanted, or the other way round. Operators and
    /// functions of the language spread scalars by themselves; bindings, results and arguments of own functions do not.
    404 ScalarPerPe = "scalar and per-PE value mixed up",
        before "fn f(mut a: Q<i32>) -> Q<i32> {\n    a = 3;\n    a\n}",
        after "fn f(mut a: Q<i32>) -> Q<i32> {\n    a = splat(3);\n    a\n}";
    /// An operator with operands that it does not take. Per-PE values keep their width, products of fixed-point numbers name
    /// their format.
    405 WrongOperand = "wrong operands",
        before "fn f(a: Q<i8>, b: Q<i32>) -> Q<i32> {\n    a + b\n}",
        after "fn f(a: Q<i8>, b: Q<i32>) -> Q<i32> {\n    a.widen::<i32>() + b\n}";
    /// A method of another type.
    406 WrongReceiver = "method of another type",
        before "fn f(a: &Lrm<i8, 4>) -> Q<i16> {\n    a.widen::<i16>()\n}",
        after "fn f(a: &Lrm<i8, 4>) -> Q<i16> {\n    a[0].widen::<i16>()\n}";
    /// A loop or jump by a condition that differs from PE to PE. There is one instruction stream: such a condition can only
    /// mask what PEs write.
    407 PerPeControl = "control flow by a condition of each PE",
        before "fn f(mut a: Q<i32>) {\n    #[bound(9)]\n    while a > 0 {\n        a -= 1;\n    }\n}",
        after "fn f(mut a: Q<i32>) {\n    #[bound(9)]\n    while any(a > 0) {\n        if a > 0 {\n            a -= 1;\n        }\n    }\n}";
    /// Flows, broadcasts, DMA, `shift` and `reduce` do not stand under a condition that differs from PE to PE: engines serve the
    /// whole array, and a neighbour may be disabled. `gather` and `scatter` may, since random access skips disabled PEs, and so
    /// may `any`, `all`, and the words of a broadcast, which all PEs pass alike.
    408 TalkInBranch = "communication under a condition of each PE",
        before "fn f(a: Q<i32>) -> Q<i32> {\n    let mut b = a;\n    if a > 0 {\n        b = shift(a, East, 1);\n    }\n    b\n}",
        after "fn f(a: Q<i32>) -> Q<i32> {\n    let mut b = a;\n    let west = shift(a, East, 1);\n    if a > 0 {\n        b = west;\n    }\n    b\n}";
    /// A generic argument that is left out and cannot be told from the arguments or from the type that the place wants.
    409 OpenGeneric = "generic argument not known",
        before "fn f(a: Q<Fx<16>>) {\n    probe!(exp(a));\n}", after "fn f(a: Q<Fx<16>>) {\n    probe!(exp::<24>(a));\n}";
    /// A kernel takes or returns what no caller outside the machine has. Kernels take tensors behind references, and scalars; their
    /// results leave through tensors. Functions that kernels call may take and return anything.
    410 KernelParam = "not for the signature of a kernel",
        before "#[kernel]\nfn k(a: &Lrm<i8, 4>) {\n    probe!(a[0]);\n}",
        after "#[kernel]\nfn k(x: &Ocm<i8, Planar<4, 8, 8>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 4>>().wait();\n        probe!(a[0]);\n    }\n}";
    /// A quotient or remainder in every PE. The ALU does not divide: a reciprocal is a multiplication, a power of two a shift, and
    /// what must be divided is `fx_div`, 82 cycles long.
    411 PerPeDivision = "division in PEs",
        before "fn f(a: Q<i32>) -> Q<i32> {\n    a / 8\n}", after "fn f(a: Q<i32>) -> Q<i32> {\n    a >> 3\n}";
    /// A type that PEs do not hold, as the element of a value, buffer or tensor.
    412 NoElement = "not an element type",
        before "fn f(a: Q<u32>) -> Q<bool> {\n    a == 3\n}", after "fn f(a: Q<i32>) -> Q<bool> {\n    a == 3\n}";
    /// A shift of a scalar by a number that differs from PE to PE, or of a value of PEs by a number of another type than `i32`.
    413 ShiftAmount = "wrong amount of a shift",
        before "fn f(a: Q<i32>, n: Q<i8>) -> Q<i32> {\n    a << n\n}",
        after "fn f(a: Q<i32>, n: Q<i8>) -> Q<i32> {\n    a << n.widen::<i32>()\n}";
    /// More fraction bits than a fixed-point number has bits behind its sign: `Fx` is 32 bits wide. Also a number that a format has
    /// no room for.
    414 FractionBits = "too many fraction bits",
        before "fn f(a: Q<i32>) -> Q<i32> {\n    fx_mul::<40>(fx_raw::<16>(a), fx::<30>(0.5)).raw()\n}",
        after "fn f(a: Q<i32>) -> Q<i32> {\n    fx_mul::<16>(fx_raw::<16>(a), fx::<30>(0.5)).raw()\n}";
    /// What flows in or out differs from its tensor: another element type, more channels, or weights in another order than
    /// they are taken.
    501 FlowShape = "shapes differ in a flow",
        before "fn f(y: &mut Ocm<i8, Planar<1, 32, 32>>, v: Q<i32>) {\n    for t in y.tiles() {\n        t.store(v);\n    }\n}",
        after "fn f(y: &mut Ocm<i8, Planar<1, 32, 32>>, v: Q<i32>) {\n    for t in y.tiles() {\n        t.store(v.narrow::<i8>(Saturate));\n    }\n}";
    /// A flow used as the data that it will bring. Data can be read once the flow has landed.
    502 ReadBeforeLanding = "read before landing",
        before "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>();\n        probe!(a[0]);\n    }\n}",
        after "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        probe!(a[0]);\n    }\n}";
    /// A flow that is started and not waited for. It would land in a buffer that is in use for something else by then.
    503 FlowNeverWaited = "flow never waited for",
        before "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>();\n    }\n}",
        after "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        probe!(a[0]);\n    }\n}";
    /// A tile, buffer or flow of a block assigned to a variable that outlives the block. At the brace its memory is released.
    504 LeavesScope = "place leaves its scope",
        before "fn f() {\n    let mut kept = Lrm::<i8, 4>::filled(0);\n    {\n        let inner = Lrm::<i8, 4>::filled(1);\n        kept = inner;\n    }\n    probe!(kept[0]);\n}",
        after "fn f() {\n    let mut kept = Lrm::<i8, 4>::filled(0);\n    {\n        let inner = Lrm::<i8, 4>::filled(1);\n        kept[0..4] = inner;\n    }\n    probe!(kept[0]);\n}";
    /// A buffer, tile or flow of one iteration of a pipelined walk kept for the next ones. The buffers of the body exist `n` times
    /// and are used in turn, so the next iteration but `n - 1` overwrites it.
    505 KeptAcrossIterations = "kept across iterations",
        before "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    let mut last = Lrm::<i8, 1>::filled(0);\n    for t in x.tiles().pipelined(2) {\n        probe!(last[0]);\n        last = t.fetch::<Lrm<i8, 1>>().wait();\n    }\n}",
        after "fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    let mut last = Lrm::<i8, 1>::filled(0);\n    for t in x.tiles().pipelined(2) {\n        probe!(last[0]);\n        last[0..1] = t.fetch::<Lrm<i8, 1>>().wait();\n    }\n}";
    /// `scatter` under no condition of PEs, in a walk whose last tiles leave PEs idle on the machine of an instance. What flows out
    /// to a tile stays inside the tensor by itself; an index of the PE's own does not.
    506 IdleWrite = "idle PEs write",
        before "#[kernel]\npub fn k<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Vector<256>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        y.scatter(a[0].widen::<i32>() + 128, a[0]).wait();\n    }\n}\n#[instance(target = QC_U)]\npub const K40: Kernel = k::<40>;",
        after "#[kernel]\npub fn k<const H: usize>(x: &Ocm<i8, Planar<1, H, H>>, y: &mut Ocm<i8, Vector<256>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        if t.inside() {\n            y.scatter(a[0].widen::<i32>() + 128, a[0]).wait();\n        }\n    }\n}\n#[instance(target = QC_U)]\npub const K40: Kernel = k::<40>;";
    /// A kernel takes a tensor as `&mut` and nothing writes it, so that its caller finds in it what was there before. What another
    /// function is given counts as written; a parameter whose name begins with `_` is unused on purpose.
    507 NeverWritten = "output never written",
        before "#[kernel]\nfn k(x: &Ocm<i8, Planar<1, 32, 32>>, y: &mut Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        probe!(a[0]);\n    }\n}",
        after "#[kernel]\nfn k(x: &Ocm<i8, Planar<1, 32, 32>>, y: &mut Ocm<i8, Planar<1, 32, 32>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i8, 1>>().wait();\n        y.at(t).store(a);\n    }\n}";
    /// A store of fewer channels than a chunk of the walk has, to a tensor of as many channels as are walked: the other channels of each
    /// chunk are never written.
    508 PartOfChunk = "store of a part of a chunk",
        before "fn f(x: &Ocm<i8, Planar<8, 32, 32>>, y: &mut Ocm<i8, Planar<8, 32, 32>>) {\n    for t in x.tiles().chunks::<4>() {\n        let a = t.fetch::<Lrm<i8, 4>>().wait();\n        y.at(t).store(a[0]);\n    }\n}",
        after "fn f(x: &Ocm<i8, Planar<8, 32, 32>>, y: &mut Ocm<i8, Planar<8, 32, 32>>) {\n    for t in x.tiles().chunks::<4>() {\n        let a = t.fetch::<Lrm<i8, 4>>().wait();\n        y.at(t).store(a);\n    }\n}";
    /// The sum of products may leave the 32 bits of an accumulator: the number of products (extents and trip counts of the
    /// instance) times the ends of the ranges of elements and weights. Biases are not counted.
    601 AccOverflow = "accumulator may overflow",
        before "#[kernel]\npub fn k<const K: usize>(x: &Ocm<i16, Planar<K, 8, 8>>, w: &Ocm<i16, Stream<4, K>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i16, K>>().wait();\n        let mut weights = broadcast(w);\n        let acc = weights.bias::<4>() + mac(a, weights.take::<4>());\n        probe!(acc.get(0));\n    }\n}\n#[instance(target = QC_U)]\npub const K64: Kernel = k::<64>;",
        after "#[kernel]\npub fn k<const K: usize>(x: &Ocm<i16, Planar<K, 8, 8>>, w: &Ocm<i8, Stream<4, K>>) {\n    for t in x.tiles() {\n        let a = t.fetch::<Lrm<i16, K>>().wait();\n        let mut weights = broadcast(w);\n        let acc = weights.bias::<4>() + mac(a, weights.take::<4>());\n        probe!(acc.get(0));\n    }\n}\n#[instance(target = QC_U)]\npub const K64: Kernel = k::<64>;";
    /// The buffers that are alive at one moment do not fit the local memory of a PE.
    602 LrmBudget = "local memory over budget",
        before "#[kernel]\npub fn k<const C: usize>(x: &Ocm<i8, Planar<C, 8, 8>>) {\n    for t in x.tiles().pipelined(2) {\n        let a = t.fetch::<Lrm<i8, C>>().wait();\n        probe!(a[0]);\n    }\n}\n#[instance(target = QC_U)]\npub const C3000: Kernel = k::<3000>;",
        after "#[kernel]\npub fn k<const C: usize>(x: &Ocm<i8, Planar<C, 8, 8>>) {\n    for t in x.tiles().chunks::<4>().pipelined(2) {\n        let a = t.fetch::<Lrm<i8, 4>>().wait();\n        probe!(a[0]);\n    }\n}\n#[instance(target = QC_U)]\npub const C3000: Kernel = k::<3000>;";
    /// The tensors of an instance that are alive at one moment do not fit the on-chip memory.
    603 OcmBudget = "on-chip memory over budget",
        before "#[kernel]\npub fn k<const H: usize>(x: &Ext<i8, Planar<4, H, H>>) {\n    let mut here = Ocm::<i8, Planar<4, H, H>>::new();\n    prefetch(x, &mut here).wait();\n}\n#[instance(target = QC_U)]\npub const H2048: Kernel = k::<2048>;",
        after "#[kernel]\npub fn k<const H: usize>(x: &Ext<i8, Planar<4, H, H>>) {\n    let mut here = Ocm::<i8, Planar<4, H, H>>::new();\n    prefetch(x, &mut here).wait();\n}\n#[instance(target = QC_U)]\npub const H512: Kernel = k::<512>;";
    /// `assert!` over constants is false for the arguments of an instance.
    604 FailedAssert = "assertion of constants fails",
        before "#[kernel]\npub fn k<const H: usize>(x: &Ocm<i8, Planar<1, H, 8>>) {\n    assert!(H % 8 == 0, \"rows come by eights\");\n    for t in x.tiles() {\n        probe!(t.inside());\n    }\n}\n#[instance(target = QC_U)]\npub const K: Kernel = k::<12>;",
        after "#[kernel]\npub fn k<const H: usize>(x: &Ocm<i8, Planar<1, H, 8>>) {\n    assert!(H % 8 == 0, \"rows come by eights\");\n    for t in x.tiles() {\n        probe!(t.inside());\n    }\n}\n#[instance(target = QC_U)]\npub const K: Kernel = k::<16>;";
    /// A view of channels, or a part of a blob, that does not lie inside its tensor for the arguments of an instance, or begins within a
    /// word of channels or within 16 bytes.
    605 PartOutside = "part outside its tensor",
        before "#[kernel]\npub fn k<const C: usize>(x: &Ocm<i8, Planar<C, 8, 8>>) {\n    for t in x.channels(4).view::<Planar<4, 8, 8>>().tiles() {\n        probe!(t.inside());\n    }\n}\n#[instance(target = QC_U)]\npub const K: Kernel = k::<6>;",
        after "#[kernel]\npub fn k<const C: usize>(x: &Ocm<i8, Planar<C, 8, 8>>) {\n    for t in x.channels(4).view::<Planar<4, 8, 8>>().tiles() {\n        probe!(t.inside());\n    }\n}\n#[instance(target = QC_U)]\npub const K: Kernel = k::<8>;";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "C{:04}", *self as u16)
    }
}

/// The page `docs/errors.md`.
pub fn errors_page() -> String {
    let mut page = String::from(
        "# Error codes of `ccl!`\n\nGenerated from `src/code.rs`; `CCL_BLESS=1 cargo test -p ccl-syntax` rewrites it. \
         `tests/ui` has what rustc prints of them.\n\n\
         Where an error comes from:\n\n\
         - **The macro itself**: all codes below but the next; with the same text from kernel files read at run time.\n\
         - **Checks of constants** that the macro emits for each instance, since only there the machine is known: C0506, C0602,\n  \
           C0603. Also, without a code: an `#[overrides(path)]` or `#[stub(path)]` whose signature has drifted, with the first field\n  \
           that differs. rustc calls them `evaluation panicked`.\n\
         - **rustc's types**, at the user's tokens: a reference with another signature than the kernel, a function that is called but\n  \
           stands in no `ccl!` block (\"expected type\": kernels call functions of `ccl!` blocks only), a path, machine or kernel that\n  \
           does not exist, and the types of what other blocks return.\n",
    );
    for info in Code::TABLE {
        page += &format!(
            "\n## {}: {}\n\n{}\n```rust\n{}\n```\n\nmended:\n\n```rust\n{}\n```\n",
            info.code,
            info.title,
            info.prose.lines().map(|l| format!("{}\n", l.trim())).collect::<String>(),
            info.before,
            info.after
        );
    }
    page
}
