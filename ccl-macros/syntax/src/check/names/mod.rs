//! Names: what each one means, and the rules that need no more than that. Unknown, doubled and misused names, assignment to
//! what is not `mut`, counts of arguments, members, jumps outside loops, recursion, computed extents.
//! This file declares names and walks the tree; the rules are beside it.

mod assign;
mod calls;
mod recursion;
mod types;

use std::collections::HashMap;

use crate::ast::*;
use crate::builtins::{BUILTINS, Builtin, BuiltinKind, TYPE_KINDS, VALUE_KINDS, named, nearest};
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::source::Span;

/// What a name means.
#[derive(Clone, Copy, Debug)]
pub enum Def {
    /// A local, by its binding.
    Local(NodeId),
    /// A parameter, by its binding.
    Param(NodeId),
    /// A const parameter, by its binding.
    ConstParam(NodeId),
    /// A constant of the block, by its binding.
    Const(NodeId),
    /// A function of the block, by its binding.
    Fn(NodeId),
    /// An imported name, by the key of the import.
    Import(NodeId),
    /// A name of the language.
    Builtin(&'static Builtin),
    /// A path that leaves the block; rustc knows it.
    External,
    /// Something that could not be read, or does not exist; reported.
    Unknown,
}

/// What every path of a module means.
#[derive(Clone, Debug, Default)]
pub struct Names {
    defs: HashMap<u32, Def>,
}

impl Names {
    /// What a path means.
    pub fn of(&self, path: &Path) -> Option<Def> {
        self.defs.get(&path.id.0).copied()
    }
}

/// Resolves the names of a module.
pub(super) fn resolve(module: &Module, diags: &mut Diags) -> Names {
    let mut resolver = Resolver {
        diags,
        names: Names::default(),
        items: HashMap::new(),
        fns: Vec::new(),
        scopes: Vec::new(),
        const_param_uses: 0,
        n_loops: 0,
        caller: 0,
        calls: Vec::new(),
        is_incomplete: false,
    };
    resolver.declare_items(module);
    resolver.check_items(module);
    resolver.no_recursion();
    resolver.names
}

/// A declared name.
#[derive(Clone, Copy)]
struct Entry<'a> {
    def: Def,
    span: Span,
    access: Access<'a>,
}

/// What may be done with the value of a name.
#[derive(Clone, Copy)]
enum Access<'a> {
    /// It may be assigned.
    Mutable,
    /// It may not, but what it refers to perhaps may.
    Immutable { ty: Option<&'a Ty>, value: Option<&'a Expr> },
    /// It is no variable.
    Fixed,
}

struct Resolver<'a, 'd> {
    diags: &'d mut Diags,
    names: Names,
    items: HashMap<&'a str, Entry<'a>>,
    fns: Vec<&'a Fn>,
    scopes: Vec<HashMap<&'a str, Entry<'a>>>,
    const_param_uses: usize,
    n_loops: usize,
    /// Index of the function that is being checked, and who calls whom.
    caller: usize,
    calls: Vec<(usize, usize, Span)>,
    /// Some item could not even be named, so an unknown name may be its.
    is_incomplete: bool,
}

impl<'a> Resolver<'a, '_> {
    // ---- declarations ----

    fn declare_items(&mut self, module: &'a Module) {
        for item in &module.items {
            match &item.kind {
                ItemKind::Const { name, .. } => self.declare_item(&name.name, Def::Const(name.id)),
                ItemKind::Fn(function) => {
                    self.fns.push(function);
                    self.declare_item(&function.name.name, Def::Fn(function.name.id));
                }
                ItemKind::Use(tree) => self.declare_imports(tree, None),
                ItemKind::Broken { name: Some(name) } => self.declare_item(&name.name, Def::Unknown),
                ItemKind::Broken { name: None } => self.is_incomplete = true,
            }
        }
    }

    fn declare_item(&mut self, name: &'a Ident, def: Def) {
        if name.name == "_" {
            return;
        }
        let kinds = [VALUE_KINDS, TYPE_KINDS].concat();
        if let Some(builtin) = named(&name.name, &kinds) {
            let diag = Diag::new(Code::Duplicate, name.span, format!("`{}` is a name of the language", name.name))
                .note(format!("it means `{}`", builtin.signature))
                .help(match def {
                    Def::Import(_) => "import it under another name: `name as other`",
                    _ => "choose another name",
                });
            self.diags.push(diag);
            return;
        }
        let entry = Entry { def, span: name.span, access: Access::Fixed };
        if let Some(first) = self.items.insert(&name.name, entry) {
            self.doubled(name, first.span);
        }
    }

    fn doubled(&mut self, name: &Ident, first: Span) {
        let diag = Diag::new(Code::Duplicate, name.span, format!("`{}` is declared twice", name.name))
            .note_at(first, "first declared here");
        self.diags.push(diag);
    }

    fn declare_imports(&mut self, tree: &'a UseTree, outer: Option<&'a Ident>) {
        let last = tree.prefix.last().or(outer);
        match &tree.end {
            UseEnd::Group(trees) => trees.iter().for_each(|tree| self.declare_imports(tree, last)),
            UseEnd::Name { name, alias, id } => {
                let name = match (alias, last) {
                    (Some(alias), _) => alias,
                    (None, Some(last)) if name.name == "self" => last,
                    _ => name,
                };
                self.declare_item(name, Def::Import(*id));
            }
        }
    }

    fn declare_local(&mut self, name: &'a Ident, def: Def, access: Access<'a>) {
        let entry = Entry { def, span: name.span, access };
        self.scopes.last_mut().expect("locals live in a function").insert(&name.name, entry);
    }

    fn declare_distinct(&mut self, name: &'a Ident, def: Def, access: Access<'a>) {
        let first = self.scopes.last().and_then(|scope| scope.get(name.name.as_str())).map(|entry| entry.span);
        if let Some(first) = first {
            self.doubled(name, first);
        }
        self.declare_local(name, def, access);
    }

    fn declare_pattern(&mut self, pattern: &'a Pattern, ty: Option<&'a Ty>, value: Option<&'a Expr>) {
        let locals = pattern.locals();
        for (i, local) in locals.iter().enumerate() {
            let name = &local.name.name;
            if let Some(first) = locals[..i].iter().find(|l| l.name.name == *name) {
                self.doubled(name, first.name.name.span);
            }
            // Of a tuple's parts nothing is known.
            let access = match (local.mutable, locals.len()) {
                (true, _) => Access::Mutable,
                (false, 1) => Access::Immutable { ty, value },
                (false, _) => Access::Immutable { ty: None, value: None },
            };
            self.declare_local(name, Def::Local(local.name.id), access);
        }
    }

    // ---- items ----

    fn check_items(&mut self, module: &'a Module) {
        let mut n_fns = 0;
        for item in &module.items {
            self.scopes.push(HashMap::new());
            match &item.kind {
                ItemKind::Const { ty, value, .. } => {
                    self.ty(ty);
                    match &value.kind {
                        ExprKind::Path(path) if item.instance_target().is_some() || is_kernel(ty) => {
                            self.instance_path(path);
                        }
                        _ => self.expr(value),
                    }
                }
                ItemKind::Fn(function) => {
                    self.caller = n_fns;
                    n_fns += 1;
                    self.function(function);
                }
                ItemKind::Use(_) | ItemKind::Broken { .. } => {}
            }
            self.scopes.pop();
        }
    }

    fn function(&mut self, function: &'a Fn) {
        for param in &function.generics {
            self.ty(&param.ty);
            self.declare_distinct(&param.name.name, Def::ConstParam(param.name.id), Access::Fixed);
        }
        for param in &function.params {
            self.ty(&param.ty);
            let access =
                if param.mutable { Access::Mutable } else { Access::Immutable { ty: Some(&param.ty), value: None } };
            self.declare_distinct(&param.name.name, Def::Param(param.name.id), access);
        }
        if let Some(ret) = &function.ret {
            self.ty(ret);
        }
        self.n_loops = 0;
        self.block(&function.body);
    }

    /// The kernel of an instance and its arguments; their number is checked with the instance.
    fn instance_path(&mut self, path: &'a Path) {
        let def = match path.segments.as_slice() {
            [segment] => match self.items.get(segment.name.name.as_str()) {
                Some(entry) => entry.def,
                None => self.unknown(&segment.name, "kernel", &[], Code::BadInstance),
            },
            _ => Def::External,
        };
        self.names.defs.insert(path.id.0, def);
        path.segments.iter().for_each(|segment| self.generic_args(&segment.args));
    }

    // ---- statements ----

    fn block(&mut self, block: &'a Block) {
        self.scopes.push(HashMap::new());
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        if let Some(tail) = &block.tail {
            self.expr(tail);
        }
        self.scopes.pop();
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        for attr in &stmt.attrs {
            if let AttrKind::Bound(trips) = &attr.kind {
                self.expr(trips);
            }
        }
        match &stmt.kind {
            StmtKind::Let { pattern, ty, value } => {
                if let Some(ty) = ty {
                    self.ty(ty);
                }
                self.expr(value);
                self.declare_pattern(pattern, ty.as_ref(), Some(value));
            }
            StmtKind::Assign { place, value, .. } => {
                self.expr(value);
                self.expr(place);
                self.assigned(place);
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::For { pattern, iter, body } => {
                self.expr(iter);
                self.scopes.push(HashMap::new());
                self.declare_pattern(pattern, None, None);
                self.loop_body(body);
                self.scopes.pop();
            }
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.loop_body(body);
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::Break => self.inside_loop("break", stmt.span),
            StmtKind::Continue => self.inside_loop("continue", stmt.span),
            StmtKind::Probe(values) => values.iter().for_each(|value| self.expr(value)),
            StmtKind::Assert { cond, .. } => self.expr(cond),
            StmtKind::Broken { declares } => {
                for binding in declares {
                    self.declare_local(&binding.name, Def::Unknown, Access::Mutable);
                }
            }
        }
    }

    fn loop_body(&mut self, body: &'a Block) {
        self.n_loops += 1;
        self.block(body);
        self.n_loops -= 1;
    }

    fn inside_loop(&mut self, word: &str, span: Span) {
        if self.n_loops == 0 {
            self.diags.error(Code::OutsideLoop, span, format!("`{word}` outside a loop"));
        }
    }

    // ---- expressions ----

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Lit(_) => {}
            ExprKind::Path(path) => self.value_path(path),
            ExprKind::Unary { arg, .. } => self.expr(arg),
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Cast { value, ty } => {
                self.expr(value);
                self.ty(ty);
            }
            ExprKind::Call { callee, args } => {
                args.iter().for_each(|arg| self.expr(arg));
                self.call(callee, args.len());
            }
            ExprKind::Method { recv, name, generics, args } => {
                self.expr(recv);
                self.generic_args(generics);
                args.iter().for_each(|arg| self.expr(arg));
                self.method(name, generics.len(), args.len());
            }
            ExprKind::Field { base, member } => {
                self.expr(base);
                self.member(member);
            }
            ExprKind::Index { base, index } => {
                self.expr(base);
                self.expr(index);
            }
            ExprKind::Range { start, end, .. } => start.iter().chain(end).for_each(|bound| self.expr(bound)),
            ExprKind::Tuple(elems) | ExprKind::Array(elems) => elems.iter().for_each(|elem| self.expr(elem)),
            ExprKind::Repeat { value, len } => {
                self.expr(value);
                self.extent(len);
            }
            ExprKind::Ref { mutable, target } => {
                self.expr(target);
                if *mutable {
                    let (mut root, mut through) = (&**target, false);
                    while let ExprKind::Index { base, .. } = &root.kind {
                        (root, through) = (base, true);
                    }
                    self.may_change(root, through, "lent as `&mut`");
                }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                otherwise.iter().for_each(|branch| self.expr(branch));
            }
        }
    }

    /// A path that stands for a value.
    fn value_path(&mut self, path: &'a Path) {
        let def = self.path(path);
        let message = match def {
            Def::Fn(_) => "is a function",
            Def::Builtin(builtin) => match builtin.kind {
                BuiltinKind::Function | BuiltinKind::Associated => "is a function",
                BuiltinKind::Scalar | BuiltinKind::Type | BuiltinKind::Layout => "is a type",
                BuiltinKind::Constant | BuiltinKind::Method => return,
            },
            _ => return,
        };
        let help = match def {
            Def::Builtin(builtin) => format!("write `{}`", builtin.signature),
            _ => format!("call it: `{}(..)`", path.text()),
        };
        let message = format!("`{}` {message}, not a value", path.text());
        self.diags.push(Diag::new(Code::WrongKind, path.span, message).help(help));
    }

    // ---- paths ----

    fn find(&self, name: &str) -> Option<Entry<'a>> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).or_else(|| self.items.get(name)).copied()
    }

    /// Resolves a path in an expression.
    fn path(&mut self, path: &'a Path) -> Def {
        path.segments.iter().for_each(|segment| self.generic_args(&segment.args));
        let def = match path.segments.as_slice() {
            [segment] => self.single(&segment.name),
            [first, second, ..] => self.qualified(&first.name, &second.name),
            [] => unreachable!("a path has a segment"),
        };
        self.names.defs.insert(path.id.0, def);
        def
    }

    fn single(&mut self, name: &'a Ident) -> Def {
        if let Some(entry) = self.find(&name.name) {
            if matches!(entry.def, Def::ConstParam(_)) {
                self.const_param_uses += 1;
            }
            return entry.def;
        }
        let kinds = [VALUE_KINDS, TYPE_KINDS].concat();
        match named(&name.name, &kinds) {
            Some(builtin) => Def::Builtin(builtin),
            None => self.unknown(name, "name", VALUE_KINDS, Code::UnknownName),
        }
    }

    fn qualified(&mut self, first: &'a Ident, second: &'a Ident) -> Def {
        if let Some(entry) = self.items.get(first.name.as_str()) {
            return match entry.def {
                Def::Import(_) => Def::External,
                Def::Unknown => Def::Unknown,
                _ => {
                    let message = format!("`{}` has nothing inside it", first.name);
                    self.diags.error(Code::WrongKind, first.span, message);
                    Def::Unknown
                }
            };
        }
        if let Some(owner) = named(&first.name, TYPE_KINDS) {
            let of_owner = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Associated && b.owner == owner.name);
            if let Some(row) = of_owner.clone().find(|b| b.name == second.name) {
                return Def::Builtin(row);
            }
            let message = format!("`{}` has no function `{}`", first.name, second.name);
            let mut diag = Diag::new(Code::UnknownName, second.span, message);
            let known: Vec<&str> = of_owner.map(|b| b.signature).collect();
            if !known.is_empty() {
                diag = diag.help(format!("there are `{}`", known.join("`, `")));
            }
            self.diags.push(diag);
            return Def::Unknown;
        }
        // Crates and modules are lower case; a type from outside is imported.
        if first.name.starts_with(char::is_uppercase) {
            return self.unknown(first, "type", TYPE_KINDS, Code::UnknownName);
        }
        Def::External
    }

    fn unknown(&mut self, name: &'a Ident, what: &str, kinds: &[BuiltinKind], code: Code) -> Def {
        if self.is_incomplete || self.diags.is_full() {
            return Def::Unknown;
        }
        let locals = self.scopes.iter().flat_map(|scope| scope.keys().copied());
        let declared = locals.chain(self.items.keys().copied());
        let builtins = BUILTINS.iter().filter(|b| kinds.contains(&b.kind)).map(|b| b.name);
        let mut diag = Diag::new(code, name.span, format!("unknown {what} `{}`", name.name));
        if let Some(near) = nearest(&name.name, declared.chain(builtins)) {
            diag = diag.help(format!("did you mean `{near}`?"));
        } else if BUILTINS.iter().any(|b| b.kind == BuiltinKind::Method && b.name == name.name) {
            diag = diag.help(format!("it is a method: `value.{}(..)`", name.name));
        }
        self.diags.push(diag);
        Def::Unknown
    }
}

/// Whether it is the type of instances.
pub(crate) fn is_kernel(ty: &Ty) -> bool {
    matches!(&ty.kind, TyKind::Path(path) if path.as_name().is_some_and(|name| name.name == "Kernel"))
}
