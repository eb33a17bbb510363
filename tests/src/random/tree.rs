//! Nodes of the tree without their places.

use ccl_syntax::Span;
use ccl_syntax::ast::*;

use ccl_runtime::kernel::ElemType;

const NOWHERE: Span = Span::at(ccl_syntax::Pos { line: 0, col: 0 }, ccl_syntax::Pos { line: 0, col: 0 });

pub(super) fn ident(name: &str) -> Ident {
    Ident { name: name.to_owned(), span: NOWHERE }
}

pub(super) fn binding(name: &str) -> Binding {
    Binding { id: NodeId(0), name: ident(name) }
}

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr { id: NodeId(0), kind, span: NOWHERE }
}

/// `a::b::<args>`.
fn path(names: &[&str], args: Vec<GenericArg>) -> Path {
    let mut segments: Vec<Segment> = names.iter().map(|n| Segment { name: ident(n), args: Vec::new() }).collect();
    if let Some(last) = segments.last_mut() {
        last.args = args;
    }
    Path { id: NodeId(0), segments, span: NOWHERE }
}

pub(super) fn name(of: &str) -> Expr {
    expr(ExprKind::Path(path(&[of], Vec::new())))
}

/// A literal, with its type or open.
pub(super) fn int(value: i64, suffix: Option<IntTy>) -> Expr {
    let lit = |value| expr(ExprKind::Lit(Lit::Int { value, base: Base::Dec, suffix }));
    let magnitude = lit(u128::from(value.unsigned_abs()));
    if value < 0 { unary(UnOp::Neg, magnitude) } else { magnitude }
}

pub(super) fn number(value: usize) -> Expr {
    int(value as i64, None)
}

pub(super) fn boolean(value: bool) -> Expr {
    expr(ExprKind::Lit(Lit::Bool(value)))
}

/// A number of quarters as a decimal fraction.
pub(super) fn quarters(value: i64) -> Expr {
    let text = format!("{}.{}", value.unsigned_abs() / 4, ["0", "25", "5", "75"][(value.unsigned_abs() % 4) as usize]);
    let lit = expr(ExprKind::Lit(Lit::Float(text)));
    if value < 0 { unary(UnOp::Neg, lit) } else { lit }
}

pub(super) fn unary(op: UnOp, arg: Expr) -> Expr {
    expr(ExprKind::Unary { op, arg: Box::new(arg) })
}

pub(super) fn binary(op: BinOp, lhs: Expr, rhs: Expr) -> Expr {
    expr(ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) })
}

pub(super) fn call(of: &str, args: Vec<Expr>) -> Expr {
    call_with(&[of], Vec::new(), args)
}

pub(super) fn call_with(of: &[&str], generics: Vec<GenericArg>, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Call { callee: path(of, generics), args })
}

/// `Owner::<generics>::of(args)`.
pub(super) fn associated(owner: &str, generics: Vec<GenericArg>, of: &str, args: Vec<Expr>) -> Expr {
    let mut callee = path(&[owner, of], Vec::new());
    callee.segments[0].args = generics;
    expr(ExprKind::Call { callee, args })
}

pub(super) fn method(recv: Expr, of: &str, args: Vec<Expr>) -> Expr {
    method_with(recv, of, Vec::new(), args)
}

pub(super) fn method_with(recv: Expr, of: &str, generics: Vec<GenericArg>, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Method { recv: Box::new(recv), name: ident(of), generics, args })
}

pub(super) fn index(base: Expr, at: Expr) -> Expr {
    expr(ExprKind::Index { base: Box::new(base), index: Box::new(at) })
}

pub(super) fn range(start: Expr, end: Expr, inclusive: bool) -> Expr {
    expr(ExprKind::Range { start: Some(Box::new(start)), end: Some(Box::new(end)), inclusive })
}

pub(super) fn lend(target: Expr, mutable: bool) -> Expr {
    expr(ExprKind::Ref { mutable, target: Box::new(target) })
}

pub(super) fn if_else(cond: Expr, then: Block, otherwise: Option<Block>) -> Expr {
    let otherwise = otherwise.map(|block| Box::new(expr(ExprKind::Block(block))));
    expr(ExprKind::If { cond: Box::new(cond), then, otherwise })
}

pub(super) fn block(stmts: Vec<Stmt>, tail: Option<Expr>) -> Block {
    Block { stmts, tail: tail.map(Box::new), span: NOWHERE }
}

// ---- types ----

pub(super) fn ty(of: &str, args: Vec<GenericArg>) -> Ty {
    Ty { kind: TyKind::Path(path(&[of], args)), span: NOWHERE }
}

pub(super) fn lent(target: Ty, mutable: bool) -> Ty {
    Ty { kind: TyKind::Ref { mutable, target: Box::new(target) }, span: NOWHERE }
}

pub(super) fn array_ty(elem: Ty, n: usize) -> Ty {
    Ty { kind: TyKind::Array { elem: Box::new(elem), len: Box::new(number(n)) }, span: NOWHERE }
}

pub(super) fn arg_ty(ty: Ty) -> GenericArg {
    GenericArg::Ty(ty)
}

pub(super) fn arg(n: usize) -> GenericArg {
    GenericArg::Const(number(n))
}

pub(super) fn arg_name(of: &str) -> GenericArg {
    GenericArg::Ty(ty(of, Vec::new()))
}

pub(super) fn elem(of: ElemType) -> Ty {
    match of {
        ElemType::Fx(bits) => ty("Fx", vec![arg(bits.into())]),
        other => ty(&other.to_string(), Vec::new()),
    }
}

pub(super) fn q(of: ElemType) -> Ty {
    ty("Q", vec![arg_ty(elem(of))])
}

pub(super) fn lrm(of: ElemType, n: usize) -> Ty {
    ty("Lrm", vec![arg_ty(elem(of)), arg(n)])
}

/// The integer type of literals of these elements.
pub(super) fn suffix(of: ElemType) -> Option<IntTy> {
    IntTy::parse(&of.to_string())
}

// ---- statements ----

pub(super) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { attrs: Vec::new(), kind, span: NOWHERE }
}

pub(super) fn bind(mutable: bool, of: &str, value: Expr) -> Stmt {
    let pattern = Pattern::Name(Local { mutable, name: binding(of) });
    stmt(StmtKind::Let { pattern, ty: None, value })
}

pub(super) fn assign(op: Option<BinOp>, place: Expr, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { op, place, value })
}

pub(super) fn run(value: Expr) -> Stmt {
    stmt(StmtKind::Expr(value))
}

pub(super) fn for_in(of: &str, iter: Expr, body: Block) -> Stmt {
    let pattern = Pattern::Name(Local { mutable: false, name: binding(of) });
    stmt(StmtKind::For { pattern, iter, body })
}

pub(super) fn while_bound(bound: usize, cond: Expr, body: Block) -> Stmt {
    let bound = Attr { kind: AttrKind::Bound(number(bound)), span: NOWHERE };
    Stmt { attrs: vec![bound], kind: StmtKind::While { cond, body }, span: NOWHERE }
}

// ---- items ----

pub(super) fn param(of: &str, ty: Ty) -> Param {
    Param { mutable: false, name: binding(of), ty }
}

pub(super) fn const_param(of: &str) -> ConstParam {
    ConstParam { name: binding(of), ty: ty("usize", Vec::new()) }
}

pub(super) fn function(of: &str, generics: Vec<ConstParam>, params: Vec<Param>, ret: Option<Ty>, body: Block) -> Fn {
    Fn { name: binding(of), generics, params, ret, body }
}

pub(super) fn item(attrs: Vec<AttrKind>, vis: Vis, kind: ItemKind) -> Item {
    let attrs = attrs.into_iter().map(|kind| Attr { kind, span: NOWHERE }).collect();
    Item { attrs, vis, kind, span: NOWHERE }
}

pub(super) fn constant(of: &str, ty: Ty, value: Expr) -> Item {
    item(Vec::new(), Vis::Private, ItemKind::Const { name: binding(of), ty, value })
}

/// `#[instance(target = target)] pub const of: Kernel = kernel::<args>;`
pub(super) fn instance(of: &str, target: &str, kernel: &str, args: &[usize]) -> Item {
    let value = expr(ExprKind::Path(path(&[kernel], args.iter().map(|n| arg(*n)).collect())));
    let target = AttrKind::Instance { target: path(&[target], Vec::new()) };
    let kind = ItemKind::Const { name: binding(of), ty: ty("Kernel", Vec::new()), value };
    item(vec![target], Vis::Public, kind)
}
