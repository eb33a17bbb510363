//! Masks, scopes and names: random nests of statements against an interpreter that runs one PE at a time.

use ccl_runtime::__rt::{self, Branch};
use ccl_runtime::native::{Cause, Probes, Session};
use ccl_runtime::prelude::*;

use crate::support::*;

const VARS: usize = 3;

#[derive(Debug)]
enum Expr {
    Var(usize),
    Const(i32),
    Place,
    Add(Box<Expr>, Box<Expr>),
    Sub(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
    Max(Box<Expr>, Box<Expr>),
    /// `if a < b { c } else { d }` as a value.
    If(Box<[Expr; 4]>),
}

#[derive(Debug)]
enum Stmt {
    Assign(usize, Expr),
    AddAssign(usize, Expr),
    /// A name for the present value of a variable, a change of the variable, and the name stored elsewhere.
    Keep(usize, usize, Expr),
    If(Expr, Expr, Vec<Stmt>, Vec<Stmt>),
    /// `while a < b` under a mask, at most so many rounds by a variable of its own.
    While(Expr, Vec<Stmt>, i32),
    For(usize, Vec<Stmt>),
    Block(Vec<Stmt>),
    /// `count += 1`: a scalar changes if any PE is enabled.
    Count,
}

fn expr(r: &mut Random, depth: usize) -> Expr {
    let sub = |r: &mut Random| Box::new(expr(r, depth - 1));
    match if depth == 0 { r.below(3) } else { r.below(8) } {
        0 => Expr::Var(r.below(VARS)),
        1 => Expr::Const(r.below(9) as i32 - 4),
        2 => Expr::Place,
        3 => Expr::Add(sub(r), sub(r)),
        4 => Expr::Sub(sub(r), sub(r)),
        5 => Expr::Mul(sub(r), sub(r)),
        6 => Expr::Max(sub(r), sub(r)),
        _ => Expr::If(Box::new([(); 4].map(|()| expr(r, depth - 1)))),
    }
}

fn stmts(r: &mut Random, depth: usize) -> Vec<Stmt> {
    let n = 1 + r.below(3);
    (0..n).map(|_| stmt(r, depth)).collect()
}

fn stmt(r: &mut Random, depth: usize) -> Stmt {
    match if depth == 0 { r.below(4) } else { r.below(9) } {
        0 => Stmt::Assign(r.below(VARS), expr(r, 2)),
        1 => Stmt::AddAssign(r.below(VARS), expr(r, 2)),
        2 => Stmt::Keep(r.below(VARS), r.below(VARS), expr(r, 1)),
        3 => Stmt::Count,
        4 | 5 => Stmt::If(expr(r, 1), expr(r, 1), stmts(r, depth - 1), stmts(r, depth - 1)),
        6 => Stmt::While(expr(r, 1), stmts(r, depth - 1), r.below(4) as i32),
        7 => Stmt::For(r.below(4), stmts(r, depth - 1)),
        _ => Stmt::Block(stmts(r, depth - 1)),
    }
}

/// As the macro would expand the expression.
fn native_expr(e: &Expr, v: &[Q<i32>; VARS]) -> Q<i32> {
    match e {
        Expr::Var(i) => v[*i],
        Expr::Const(c) => splat(*c),
        Expr::Place => q_row() * 3 + q_col(),
        Expr::Add(a, b) => native_expr(a, v) + native_expr(b, v),
        Expr::Sub(a, b) => native_expr(a, v) - native_expr(b, v),
        Expr::Mul(a, b) => native_expr(a, v) * native_expr(b, v),
        Expr::Max(a, b) => max(native_expr(a, v), native_expr(b, v)),
        Expr::If(parts) => {
            let [a, b, c, d] = &**parts;
            let branch = __rt::branch(__rt::lt(native_expr(a, v), native_expr(b, v)));
            let then = branch.then_value().map(|_m| {
                let s = __rt::scope();
                s.leave(native_expr(c, v))
            });
            let otherwise = branch.else_value().map(|_m| {
                let s = __rt::scope();
                s.leave(native_expr(d, v))
            });
            __rt::join(branch, then, otherwise)
        }
    }
}

fn native(stmts: &[Stmt], v: &mut [Q<i32>; VARS], count: &mut i32) {
    let _s = __rt::scope();
    for stmt in stmts {
        match stmt {
            Stmt::Assign(i, e) => {
                let value = native_expr(e, v);
                __rt::assign(value, &mut v[*i]);
            }
            Stmt::AddAssign(i, e) => {
                let value = native_expr(e, v);
                __rt::add_assign(value, &mut v[*i]);
            }
            Stmt::Keep(i, j, e) => {
                let kept = __rt::bind(v[*i]);
                let value = native_expr(e, v);
                __rt::assign(value, &mut v[*i]);
                __rt::add_assign(kept, &mut v[*j]);
            }
            Stmt::If(a, b, then, otherwise) => {
                let branch = __rt::branch(__rt::lt(native_expr(a, v), native_expr(b, v)));
                if let Some(_m) = branch.then_arm() {
                    native(then, v, count);
                }
                if let Some(_m) = branch.else_arm() {
                    native(otherwise, v, count);
                }
            }
            Stmt::While(a, body, rounds) => {
                let mut i = __rt::var(splat(0));
                let mut w = __rt::while_loop(100);
                while let Some(_m) = {
                    let _s = __rt::scope();
                    w.step(__rt::and(__rt::lt(i, *rounds), || __rt::lt(native_expr(a, v), 50)))
                } {
                    native(body, v, count);
                    __rt::add_assign(1, &mut i);
                }
            }
            Stmt::For(n, body) => {
                for _ in 0..*n {
                    native(body, v, count);
                }
            }
            Stmt::Block(body) => native(body, v, count),
            Stmt::Count => __rt::add_assign(1, count),
        }
    }
}

fn naive_expr(e: &Expr, v: &[i32; VARS], place: i32) -> i32 {
    let go = |e: &Expr| naive_expr(e, v, place);
    match e {
        Expr::Var(i) => v[*i],
        Expr::Const(c) => *c,
        Expr::Place => place,
        Expr::Add(a, b) => go(a).wrapping_add(go(b)),
        Expr::Sub(a, b) => go(a).wrapping_sub(go(b)),
        Expr::Mul(a, b) => go(a).wrapping_mul(go(b)),
        Expr::Max(a, b) => go(a).max(go(b)),
        Expr::If(parts) => {
            let [a, b, c, d] = &**parts;
            if go(a) < go(b) { go(c) } else { go(d) }
        }
    }
}

fn naive(stmts: &[Stmt], v: &mut [i32; VARS], place: i32) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign(i, e) => v[*i] = naive_expr(e, v, place),
            Stmt::AddAssign(i, e) => v[*i] = v[*i].wrapping_add(naive_expr(e, v, place)),
            Stmt::Keep(i, j, e) => {
                let kept = v[*i];
                v[*i] = naive_expr(e, v, place);
                v[*j] = v[*j].wrapping_add(kept);
            }
            Stmt::If(a, b, then, otherwise) => {
                let arm = if naive_expr(a, v, place) < naive_expr(b, v, place) { then } else { otherwise };
                naive(arm, v, place);
            }
            Stmt::While(a, body, rounds) => {
                let mut i = 0;
                while i < *rounds && naive_expr(a, v, place) < 50 {
                    naive(body, v, place);
                    i += 1;
                }
            }
            Stmt::For(n, body) => (0..*n).for_each(|_| naive(body, v, place)),
            Stmt::Block(body) => naive(body, v, place),
            Stmt::Count => {}
        }
    }
}

/// How often `Count` runs: once for a set of PEs that is not empty. Masks are sets of indices here.
fn count(stmts: &[Stmt], v: &mut [[i32; VARS]], places: &[i32], on: &[usize], n: &mut i32) {
    if on.is_empty() {
        return;
    }
    for stmt in stmts {
        match stmt {
            Stmt::If(a, b, then, otherwise) => {
                let (yes, no): (Vec<usize>, Vec<usize>) = on
                    .iter()
                    .partition(|pe| naive_expr(a, &v[**pe], places[**pe]) < naive_expr(b, &v[**pe], places[**pe]));
                count(then, v, places, &yes, n);
                count(otherwise, v, places, &no, n);
            }
            Stmt::While(a, body, rounds) => {
                let mut active = on.to_vec();
                for _ in 0..*rounds {
                    active.retain(|pe| naive_expr(a, &v[*pe], places[*pe]) < 50);
                    count(body, v, places, &active, n);
                }
            }
            Stmt::For(k, body) => (0..*k).for_each(|_| count(body, v, places, on, n)),
            Stmt::Block(body) => count(body, v, places, on, n),
            Stmt::Count => *n += 1,
            simple => on.iter().for_each(|pe| naive(std::slice::from_ref(simple), &mut v[*pe], places[*pe])),
        }
    }
}

#[test]
fn random_nests_of_statements_do_in_each_pe_what_they_say() {
    let g = ARRAYS[2];
    let mut session = Session::with_geometry(g);
    let mut vectors = 0;
    for seed in 0..400 {
        let mut r = Random(seed);
        let program = stmts(&mut r, 3);
        let start: Vec<Vec<i32>> = (0..VARS).map(|_| (0..35).map(|_| r.below(20) as i32 - 10).collect()).collect();
        let (got, n) = session
            .run("nest", || {
                let mut n = 0;
                let mut v = __rt::var([0, 1, 2].map(|i| Q::from_slice(&start[i])));
                native(&program, &mut v, &mut n);
                (v.map(Q::to_vec), n)
            })
            .unwrap();
        let places: Vec<i32> = (0..35).map(|pe| pe / 7 * 3 + pe % 7).collect();
        let mut all: Vec<[i32; VARS]> = (0..35).map(|pe| [0, 1, 2].map(|i| start[i][pe])).collect();
        for (pe, v) in all.clone().iter_mut().enumerate() {
            naive(&program, v, places[pe]);
            assert_eq!([0, 1, 2].map(|i| got[i][pe]), *v, "seed {seed}, PE {pe}: {program:?}");
        }
        let mut expected = 0;
        count(&program, &mut all, &places, &(0..35).collect::<Vec<_>>(), &mut expected);
        assert_eq!(n, expected, "seed {seed}: {program:?}");
        vectors = session.usage().vectors.max(vectors);
    }
    assert!(vectors < 300, "{vectors} vectors: a scope leaks");
}

#[test]
fn loops_do_not_grow_memory() {
    let mut session = Session::with_geometry(ARRAYS[0]);
    session
        .run("loop", || {
            let mut sum = __rt::var(splat(0));
            let mut pair = __rt::var([splat(1), splat(2)]);
            for i in 0..10_000 {
                let _s = __rt::scope();
                let mut inner = __rt::var(sum);
                let twice = __rt::bind(inner + inner);
                __rt::assign(twice - i, &mut inner);
                __rt::assign(inner - twice, &mut sum);
                let swapped = __rt::bind([pair[1], pair[0]]);
                __rt::assign(swapped, &mut pair);
            }
            assert_eq!(pair[0].to_vec()[0], 1);
            assert_eq!(sum.to_vec()[0], -9999);
        })
        .unwrap();
    assert!(session.usage().vectors < 20, "{:?}", session.usage());
}

#[test]
fn names_keep_their_values() {
    on_array(|| {
        let mut x = __rt::var(splat(1));
        let before = __rt::bind(x);
        let y = __rt::bind({
            let s = __rt::scope();
            s.leave(x)
        });
        let sum = __rt::bind(
            __rt::read(x) + {
                let s = __rt::scope();
                __rt::assign(splat(10), &mut x);
                s.leave(x)
            },
        );
        let (a, mut b) = __rt::bind((x, x));
        let mut c = __rt::var(b);
        __rt::assign(splat(3), &mut c);
        b = __rt::var(b);
        __rt::add_assign(5, &mut b);
        __rt::assign(splat(0), &mut x);
        let got = [before, y, sum, a, b, c, x].map(|v| v.to_vec()[5]);
        assert_eq!(got, [1, 1, 11, 10, 15, 3, 0]);
        // A repeated handle does not make two variables one.
        let mut rows = __rt::var([splat(0); 2]);
        __rt::assign(splat(7), &mut rows[0]);
        assert_eq!(rows.map(|v| v.to_vec()[0]), [7, 0]);
        __rt::assign([splat(8); 2], &mut rows);
        assert_eq!(rows.map(|v| v.to_vec()[0]), [8, 8]);
        // Nor does a block that yields the same value twice.
        let (mut p, q) = __rt::var({
            let s = __rt::scope();
            let v = __rt::bind(splat(4));
            s.leave((v, v))
        });
        __rt::assign(splat(5), &mut p);
        assert_eq!((p.to_vec()[0], q.to_vec()[0]), (5, 4));
    });
}

#[test]
fn a_buffer_is_a_value_too() {
    on_array(|| {
        let mut a = __rt::var(Lrm::<i16, 3>::filled(1));
        let b = __rt::bind(a);
        __rt::assign(splat(9i16), &mut a[1]);
        __rt::add_assign(5, &mut a[2]);
        let c = __rt::bind(a[1]);
        __rt::assign_range([splat(3i16), splat(4i16)], &mut a[0..2]);
        let read = |v: &Lrm<i16, 3>| [0, 1, 2].map(|i| v[i].to_vec()[9]);
        assert_eq!((read(&a), read(&b), c.to_vec()[9]), ([3, 4, 6], [1, 1, 1], 9));
        let slice = a.slice::<2>(1);
        assert_eq!(slice[1].to_vec()[0], 6);
    });
}

#[test]
fn a_value_does_not_outlive_its_block_unseen() {
    let outcome = std::panic::catch_unwind(|| {
        on_array(|| {
            let stale = {
                let _s = __rt::scope();
                splat(1)
            };
            (stale + 1).to_vec()
        })
    });
    let text = *outcome.unwrap_err().downcast::<&str>().expect("a text");
    assert!(text.contains("after the end of its block"), "{text}");
    // The thread's next session is sound.
    on_array(|| splat(1).to_vec());
}

#[test]
fn faults_name_kernel_and_line() {
    let mut session = Session::with_geometry(ARRAYS[0]);
    let fault = session
        .run("endless", || {
            let mut w = __rt::while_loop(8);
            while let Some(_m) = w.step(__rt::lt(q_col(), 3)) {}
        })
        .unwrap_err();
    assert_eq!(fault.cause, Cause::LoopBound { bound: 8 });
    let fault = session.run("checked", || __rt::assert(__rt::lt(q_row() + q_col(), 9), "small")).unwrap_err();
    assert_eq!(fault.cause, Cause::Assertion { text: "small".to_owned(), pe: Some((2, 7)) });
    assert!(fault.to_string().starts_with("kernel `checked`"), "{fault}");
    assert!(fault.file.ends_with("control.rs"));
    session.run("checked", || __rt::assert(__rt::lt(1, 2), "scalars too")).unwrap();
}

#[test]
fn probes_record_values_with_their_mask() {
    let mut session = Session::with_geometry(ARRAYS[0]);
    let body = || {
        let branch = __rt::branch(__rt::lt(q_col(), 1));
        let _m = branch.then_arm();
        __rt::probe("row", &q_row());
        __rt::probe("n", &3usize);
    };
    session.run("p", body).unwrap();
    assert!(session.probed().is_empty(), "off at first");
    session.probes(Probes::Record).run("p", body).unwrap();
    let [row, n] = session.probed() else { panic!("two probes") };
    assert_eq!(
        (row.name.as_str(), row.cols, row.values[8], row.enabled[8], row.enabled[9]),
        ("row", 8, 1, true, false)
    );
    assert_eq!((n.cols, &n.values[..]), (0, &[3][..]));
}

#[test]
fn early_return_ends_scopes() {
    fn first_over(limit: i32) -> Q<i32> {
        let f = __rt::scope();
        for i in 0..10 {
            let _s = __rt::scope();
            let v = __rt::bind(splat(i * i));
            if let Some(_m) = __rt::branch(any(__rt::gt(v, limit))).then_arm() {
                let _s = __rt::scope();
                return f.leave(v);
            }
        }
        f.leave(splat(-1))
    }
    on_array(|| assert_eq!((first_over(20).to_vec()[3], first_over(100).to_vec()[3]), (25, -1)));
}
