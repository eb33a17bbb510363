//! The table of the allowed subset of Rust: what there is, and for everything else what to write instead. The parser takes
//! its messages from here, `docs/subset.md` is generated from it, and a test runs every example.

/// A construct that the language has.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Where it stands: `item`, `statement`, `expression`, `type`.
    pub place: &'static str,
    /// Its form.
    pub form: &'static str,
    /// What to know about it.
    pub note: &'static str,
}

macro_rules! allowed {
    ($( $place:literal: $form:literal, $note:literal; )*) => {
        /// Every construct of the language.
        pub const ALLOWED: &[Allowed] = &[ $( Allowed { place: $place, form: $form, note: $note }, )* ];
    };
}

allowed! {
    "item": "const NAME: Ty = value;", "scalars and arrays of scalars, evaluated by the front end";
    "item": "#[instance(target = PATH)] pub const NAME: Kernel = kernel::<..>;", "a kernel with its const arguments on a machine";
    "item": "fn name<const N: usize>(a: A, mut b: B) -> C { .. }", "`pub`, `pub(crate)`, `pub(super)` or private; const parameters only";
    "item": "use path::{a, b as c};", "every name spelled out";
    "attribute": "#[kernel], #[kernel(reference = path)]", "on `fn`: an entry point with its golden function";
    "attribute": "#[reference(path)], #[no_reference(\"reason\")]", "on `fn`: the golden function, or why there is none";
    "attribute": "#[overrides(path)], #[stub(path)]", "on `fn`: replaces a generated kernel; fills a slot of one";
    "attribute": "#[inline]", "on `fn`: expanded where it is called";
    "attribute": "#[edit(\"what\")], #[region(\"name\")]", "on `fn` and statements: ledger of hand edits; own table in the profile";
    "attribute": "#[tap(\"name\")]", "on `fn` and statements: intermediate that validation compares";
    "attribute": "#[bound(n)]", "on `while`: most iterations";
    "attribute": "/// text", "on items; plain comments are no part of the tree";
    "statement": "let a = v; let mut a: T = v; let (a, b) = v;", "always with a value";
    "statement": "a = v; a[i] = v; *a = v; a += v;", "all compound operators; per-PE places change where the PE is enabled";
    "statement": "for i in a..b { .. }", "over ranges, `.step_by(n)`, `.rev()` and walks of tiles";
    "statement": "while cond { .. }", "with `#[bound(n)]`";
    "statement": "if c { .. } else if d { .. } else { .. }", "scalar condition: one branch runs; per-PE condition: both run, under a mask";
    "statement": "{ .. }", "what is allocated in it is released at its brace";
    "statement": "return v; break; continue;", "not under a per-PE condition";
    "statement": "probe!(a, b); assert!(cond, \"text\");", "free when off";
    "expression": "12, 0xffu8, true", "integers with optional suffix; fractions only as argument of `fx`";
    "expression": "a, A::<N>, path::name", "";
    "expression": "-a, !a, *a, a + b, a & b, a << b, a == b, a && b", "all arithmetic, bit, shift, comparison and logic operators";
    "expression": "a as T", "between scalar integers; per-PE values use `widen` and `narrow`";
    "expression": "f(a), f::<N>(a), a.method::<N>(b)", "";
    "expression": "t.0, a[i], a[i..j], a..b, a..=b", "";
    "expression": "(a, b), [a, b], [a; N]", "";
    "expression": "&a, &mut a", "";
    "expression": "(a), { .. }, if c { a } else { b }", "with a value; a per-PE condition selects";
    "type": "i32, Q<i8>, Lrm<i8, N>, Packed<C, H, W>", "scalars and the types of the language; arguments are types, literals, names, constant expressions in braces";
    "type": "&T, &mut T, [T; N], (A, B)", "";
}

/// A construct of Rust that the language does not have.
#[derive(Clone, Copy, Debug)]
pub struct RefusedInfo {
    /// The construct.
    pub construct: Refused,
    /// What it is called.
    pub name: &'static str,
    /// What to write instead.
    pub instead: &'static str,
    /// A text that has it, and no other mistake.
    pub example: &'static str,
}

macro_rules! refused {
    ($( $Name:ident = $name:literal, $instead:literal, $example:literal; )*) => {
        /// A construct of Rust that the language does not have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Refused { $( #[doc = $name] $Name, )* }

        impl Refused {
            /// Every refused construct.
            pub const TABLE: &'static [RefusedInfo] = &[ $( RefusedInfo {
                construct: Refused::$Name, name: $name, instead: $instead, example: $example,
            }, )* ];
        }
    };
}

refused! {
    // ---- items ----
    Struct = "`struct`", "pass the parts as parameters, or a tuple", "struct S { a: i32 }";
    Enum = "`enum`", "use integer constants: `const MODE_SAME: i32 = 0;`", "enum E { A, B }";
    Union = "`union`", "declare one buffer a use; the allocator overlays what is not live together", "union U { a: i32 }";
    Trait = "`trait`", "write a `fn` with `#[stub(path)]`; the trait it fills belongs to `ccl_runtime`", "trait T { fn f(); }";
    Impl = "`impl`", "write a free `fn` that takes the value as its first parameter", "impl S { fn f() {} }";
    TypeAlias = "`type`", "write the type out, or name its extents with `const`", "type T = i32;";
    Static = "`static`", "use `const` for values, a kernel parameter in `Ocm` for data", "static N: i32 = 1;";
    Mod = "`mod`", "put the module around the block: `mod m { ccl! { .. } }`", "mod m { }";
    ExternCrate = "`extern`", "name what you need with `use`", "extern crate golden;";
    MacroItem = "a macro as an item", "generate the text outside the block", "macro_rules! m { () => {} }";
    Unsafe = "`unsafe`", "leave it out: everything in a kernel is checked", "unsafe fn f() {}";
    Async = "`async`", "leave it out: flows are asynchronous by themselves, `.wait()` ends one", "async fn f() {}";
    ConstFn = "`const fn`", "write `const` items; the front end evaluates them with `min`, `div_ceil` and the like", "const fn f() {}";
    ConstPattern = "`const _`", "give it a name; `assert!` checks constants too", "const _: () = ();";
    Glob = "`use ..::*`", "import by name, so that a misspelt name is found", "use golden::*;";
    PubIn = "`pub(in ..)`", "use `pub`, `pub(crate)` or `pub(super)`", "pub(in a::b) fn f() {}";
    // ---- functions ----
    TypeGeneric = "a type parameter", "write one function for each element type; only `const` parameters are generic", "fn f<T>(x: Q<T>) {}";
    LifetimeGeneric = "a lifetime", "leave it out: references live as long as the call", "fn f<'a>(x: &'a Lrm<i8, 4>) {}";
    ConstDefault = "a default of a const parameter", "name the argument at the instance", "fn f<const N: usize = 4>() {}";
    Bounds = "a trait bound", "use concrete types", "fn f<T: Copy>(x: i32) {}";
    Where = "`where`", "state what must hold of const parameters with `assert!` in the body", "fn f<const N: usize>() where i32: Copy {}";
    SelfParam = "`self`", "take the value as a named parameter", "fn f(self) {}";
    ParamPattern = "a pattern as parameter", "name the parameter and take it apart with `let (a, b) = ..`", "fn f((a, b): (i32, i32)) {}";
    // ---- types ----
    Dyn = "a `dyn` or `impl` type", "use a concrete type: the array has no indirect calls", "fn f(x: &dyn Fn) {}";
    RawPointer = "a raw pointer", "use `&Ocm<..>` or `&mut Lrm<..>`: memories are types", "fn f(x: *const i32) {}";
    FnPointer = "a function pointer", "call the function by name: the array has no indirect calls", "fn f(x: fn(i32) -> i32) {}";
    Slice = "a slice type", "give the extent: `[T; N]` or `Lrm<T, N>`", "fn f(x: &[i32]) {}";
    Never = "the type `!`", "leave the result out", "fn f() -> ! {}";
    InferType = "the type `_`", "leave the type out of the `let`", "fn f(x: i32) { let a: _ = x; }";
    Qualified = "`<T as Trait>::..`", "call the function by its plain path", "fn f(x: i32) { let a = <i32 as Num>::max(x); }";
    AssocConstraint = "a named generic argument", "give arguments by position", "fn f(x: Q<Item = i32>) {}";
    // ---- statements ----
    InnerItem = "an item inside a function", "move it to the top of the block", "fn f() { fn g() {} }";
    LetElse = "`let .. else`", "test first, then bind: `if c { .. }`", "fn f(x: i32) { let a = x else { return; }; }";
    LetPattern = "a pattern other than a name or a tuple of names", "bind one name and take it apart by index", "fn f(x: i32) { let [a, b] = [x, x]; }";
    LetUninit = "`let` without a value", "bind it with its first value: `let mut a = 0;`", "fn f() { let a: i32; }";
    // ---- expressions ----
    Match = "`match`", "use `if` / `else if`, or `lookup` in a table", "fn f(x: i32) { match x { 0 => {} _ => {} } }";
    IfLet = "`if let` or `while let`", "compare with `==`, or take the valid bit of a tuple: `let (v, ok) = ..`", "fn f(x: i32) { if let 0 = x { } }";
    Loop = "`loop`", "use `for i in 0..n { .. }`, or `while` with `#[bound(n)]`", "fn f() { loop { } }";
    Label = "a label", "put the inner loop into a `fn` and `return`", "fn f() { 'a: for i in 0..4 { } }";
    BreakValue = "`break` with a value", "assign to a `let mut` before `break`", "fn f(x: i32) { for i in 0..4 { break x; } }";
    Closure = "a closure", "write the loop, or a `fn` with `#[inline]`", "fn f(x: i32) { let g = |a| a + x; }";
    UnsafeBlock = "`unsafe { .. }`", "leave it out: everything in a kernel is checked", "fn f() { unsafe { } }";
    AsyncBlock = "`async` or `await`", "leave it out: `.wait()` ends a flow", "fn f(x: i32) { let a = x.await; }";
    ConstBlock = "`const { .. }`", "use a `const` item", "fn f() { let a = const { 3 }; }";
    Try = "`?`", "nothing in a kernel returns an error: state what must hold with `assert!`", "fn f(x: i32) { let a = x?; }";
    Str = "a string", "strings stand only in attributes and in `assert!`", "fn f() { let a = \"text\"; }";
    Char = "a character", "write its number: `65`", "fn f() { let a = 'x'; }";
    FloatLit = "a float", "write a fixed-point number: `fx::<16>(0.5)`", "fn f() { let a = 0.5; }";
    FloatType = "a float type", "use `Fx<F>` with `F` fraction bits", "fn f(x: f32) {}";
    WideInt = "a 128-bit, `isize` or `char` type", "use `i64`, the widest that a PE has, or `usize` for extents", "fn f(x: i128) {}";
    StructLit = "a struct literal", "use a tuple", "fn f(x: i32) { let a = S { a: x }; }";
    CallValue = "a call of a value", "call a function by name or a method", "fn f(x: i32) { let a = (x + 1)(2); }";
    AssignValue = "an assignment inside an expression", "make it a statement of its own", "fn f(mut x: i32) { let a = (x = 2); }";
    ReturnValue = "`return`, `break` or `continue` inside an expression", "make it a statement of its own", "fn f(x: i32) { let a = 1 + return; }";
    LoopValue = "a loop inside an expression", "assign to a `let mut` in the loop", "fn f(x: i32) { let a = 1 + for i in 0..2 {}; }";
    LetValue = "`let` inside an expression", "bind before the expression", "fn f(x: i32) { let a = 1 + let b = 2; }";
    ChainedCompare = "a chain of comparisons", "join two comparisons: `a < b && b < c`", "fn f(x: i32) { let a = 0 < x < 9; }";
    ExprAttribute = "an attribute on an expression", "bind it with `let` and put the attribute there", "fn f(x: i32) { let a = 1 + #[tap(\"t\")] x; }";
    Macro = "a macro inside an expression", "`probe!` and `assert!` are statements, other macros are not known", "fn f(x: i32) { let a = 1 + vec![x]; }";
    RawRef = "`&raw`", "use `&` or `&mut`", "fn f(x: i32) { let a = &raw const x; }";
    Underscore = "`_` as a value", "write `let _ = value;`", "fn f(x: i32) { let a = 1 + _; }";
    MoveYield = "a reserved word as a name", "choose another name", "fn f(x: i32) { let a = yield; }";
    RawName = "a raw name", "choose a name that is no keyword", "fn f(r#type: i32) {}";
}

impl Refused {
    /// Name, advice and example.
    pub fn info(self) -> &'static RefusedInfo {
        &Self::TABLE[self as usize]
    }
}

/// The page `docs/subset.md`.
pub fn subset_page() -> String {
    let mut page = String::from(
        "# The subset of Rust in `ccl!`\n\nGenerated from `src/subset.rs`; `CCL_BLESS=1 cargo test -p ccl-syntax` rewrites it.\n\n\
         ## What there is\n\n| where | form | notes |\n| --- | --- | --- |\n",
    );
    let cell = |text: &str| text.replace('|', "\\|");
    for row in ALLOWED {
        page += &format!("| {} | `{}` | {} |\n", row.place, cell(row.form), cell(row.note));
    }
    page += "\n## What to write instead\n\nAll of these are error C0101; each is reported once, and what stands around it is \
             still checked.\n\n| not in the language | write instead | for example not |\n| --- | --- | --- |\n";
    for row in Refused::TABLE {
        page += &format!("| {} | {} | `{}` |\n", cell(row.name), cell(row.instead), cell(row.example));
    }
    page
}
