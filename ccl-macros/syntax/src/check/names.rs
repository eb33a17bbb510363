//! Names: what each one means, and the rules that need no more than that. Unknown, doubled and misused names, assignment to
//! what is not `mut`, counts of arguments, members, jumps outside loops, recursion, computed extents.

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

/// Methods of scalars and constants, beside those of the table: the standard library's.
const SCALAR_METHODS: &[(&str, usize)] = &[
    ("min", 1),
    ("max", 1),
    ("abs", 0),
    ("clamp", 2),
    ("div_ceil", 1),
    ("next_multiple_of", 1),
    ("ilog2", 0),
    ("pow", 1),
    ("is_power_of_two", 0),
];

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

    // ---- assignment ----

    /// Checks that the left side of an assignment may change.
    fn assigned(&mut self, place: &'a Expr) {
        let (mut root, mut through) = (place, false);
        loop {
            match &root.kind {
                ExprKind::Index { base, .. } => (root, through) = (base, true),
                ExprKind::Unary { op: UnOp::Deref, arg } => (root, through) = (arg, true),
                ExprKind::Field { base, .. } => root = base,
                _ => break,
            }
        }
        self.may_change(root, through, "assigned");
    }

    fn may_change(&mut self, root: &'a Expr, through: bool, what: &str) {
        let ExprKind::Path(path) = &root.kind else { return };
        let Some(name) = path.as_name() else { return };
        let Some(entry) = self.find(&name.name) else { return };
        let is_reference = match entry.access {
            Access::Mutable => return,
            // That a function is no value has been said.
            Access::Fixed if matches!(entry.def, Def::Unknown | Def::Fn(_)) => return,
            Access::Fixed => {
                let message = format!("`{}` is no variable and cannot be {what}", name.name);
                let diag = Diag::new(Code::Immutable, root.span, message).note_at(entry.span, "declared here");
                return self.diags.push(diag);
            }
            Access::Immutable { ty: Some(Ty { kind: TyKind::Ref { mutable, .. }, .. }), .. } => *mutable,
            Access::Immutable { ty: Some(_), .. } => false,
            // A value of unknown type may be a reference, one that is made here is not.
            Access::Immutable { ty: None, value } => !value.is_some_and(is_made_here),
        };
        if through && is_reference {
            return;
        }
        let is_shared = matches!(
            entry.access,
            Access::Immutable { ty: Some(Ty { kind: TyKind::Ref { mutable: false, .. }, .. }), .. }
        );
        let help = match (through, entry.def) {
            (true, Def::Param(_)) if is_shared => format!("declare it as `{}: &mut ..`", name.name),
            (false, Def::Param(_)) if is_reference && what != "assigned" => {
                format!("it is a `&mut` reference already: pass `{}`", name.name)
            }
            (false, Def::Param(_)) if is_reference => format!("assign what it refers to: `*{} = ..`", name.name),
            (_, Def::Param(_)) => format!("declare it as `mut {}: ..`", name.name),
            _ => format!("declare it as `let mut {}`", name.name),
        };
        let message = format!("`{}` is immutable and cannot be {what}", name.name);
        let diag = Diag::new(Code::Immutable, root.span, message).note_at(entry.span, "declared here").help(help);
        self.diags.push(diag);
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

    fn call(&mut self, callee: &'a Path, n_args: usize) {
        let name = callee.text();
        let n_generics = callee.last().args.len();
        match self.path(callee) {
            Def::Fn(id) => {
                let Some(index) = self.fns.iter().position(|f| f.name.id.0 == id.0) else { return };
                let function = self.fns[index];
                self.calls.push((self.caller, index, callee.span));
                let wanted = (function.params.len(), function.generics.len());
                let declared = function.name.name.span;
                self.count(&name, callee.span, (n_args, n_generics), wanted, Some(declared), None);
            }
            Def::Builtin(builtin) => match builtin.arity() {
                Some(wanted) if builtin.kind != BuiltinKind::Method => {
                    // `Lrm::<i8, 4>::new`: the arguments belong to the type.
                    let given = if builtin.kind == BuiltinKind::Associated {
                        callee.segments[0].args.len()
                    } else {
                        n_generics
                    };
                    self.count(&name, callee.span, (n_args, given), wanted, None, Some(builtin.signature));
                }
                _ => {
                    let message = format!("`{name}` is no function");
                    let help = format!("it means `{}`", builtin.signature);
                    self.diags.push(Diag::new(Code::WrongKind, callee.span, message).help(help));
                }
            },
            def @ (Def::Local(_) | Def::Param(_) | Def::ConstParam(_) | Def::Const(_)) => {
                let what = if matches!(def, Def::Const(_)) { "constant" } else { "value" };
                let message = format!("`{name}` is a {what}, not a function");
                self.diags.error(Code::WrongKind, callee.span, message);
            }
            Def::Import(_) | Def::External | Def::Unknown => {}
        }
    }

    /// Checks the counts (arguments, generic arguments) of a call.
    fn count(
        &mut self,
        name: &str,
        span: Span,
        given: (usize, usize),
        wanted: (usize, usize),
        declared: Option<Span>,
        signature: Option<&str>,
    ) {
        let message = if given.0 != wanted.0 {
            format!("`{name}` takes {}, {} given", counted(wanted.0, "argument"), given.0)
        } else if given.1 != wanted.1 && given.1 != 0 {
            format!("`{name}` takes {}, {} given", counted(wanted.1, "generic argument"), given.1)
        } else {
            return;
        };
        let mut diag = Diag::new(Code::ArgumentCount, span, message);
        if let Some(declared) = declared {
            diag = diag.note_at(declared, format!("`{name}` is declared here"));
        }
        if let Some(signature) = signature {
            diag = diag.help(format!("it is `{signature}`"));
        }
        self.diags.push(diag);
    }

    fn method(&mut self, name: &'a Ident, n_generics: usize, n_args: usize) {
        let rows: Vec<&Builtin> =
            BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method && b.name == name.name).collect();
        let scalar = SCALAR_METHODS.iter().find(|(method, _)| *method == name.name);
        if rows.is_empty() && scalar.is_none() {
            let methods = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method).map(|b| b.name);
            let diag = Diag::new(Code::UnknownMethod, name.span, format!("no type has a method `{}`", name.name));
            let near = nearest(&name.name, methods.chain(SCALAR_METHODS.iter().map(|(name, _)| *name)));
            let function = named(&name.name, &[BuiltinKind::Function]);
            self.diags.push(match (near, function) {
                (_, Some(function)) => diag.help(format!("it is a function: `{}`", function.signature)),
                (Some(near), None) => diag.help(format!("did you mean `{near}`?")),
                (None, None) => diag,
            });
            return;
        }
        let fits = |b: &&Builtin| b.arity().is_some_and(|(p, g)| p == n_args && (n_generics == 0 || g == n_generics));
        if rows.iter().any(fits) || scalar.is_some_and(|(_, n)| *n == n_args && n_generics == 0) {
            return;
        }
        let (wanted, signature) = match (rows.first(), scalar) {
            (Some(row), _) => (row.arity().unwrap_or_default(), Some(row.signature)),
            (None, Some((_, n))) => ((*n, 0), None),
            (None, None) => unreachable!("one of them was found"),
        };
        self.count(&name.name, name.span, (n_args, n_generics), wanted, None, signature);
    }

    fn member(&mut self, member: &'a Ident) {
        if member.name.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let methods = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method);
        let diag = Diag::new(Code::UnknownField, member.span, format!("there is no member `{}`", member.name));
        let diag = match nearest(&member.name, methods.clone().map(|b| b.name)) {
            Some(near) if near == member.name => {
                let row = methods.clone().find(|b| b.name == near).expect("it came from there");
                diag.help(format!("it is a method: `.{}`", row.signature))
            }
            Some(near) => diag.help(format!("did you mean the method `{near}`?")),
            None => {
                let starts = methods.map(|b| b.name).filter(|name| name.starts_with(&member.name));
                let mut starts: Vec<&str> = starts.collect();
                starts.dedup();
                match starts.as_slice() {
                    [] => diag.help("tuples have numbered members: `.0`"),
                    names => diag.help(format!("methods that begin so: `{}`", names.join("`, `"))),
                }
            }
        };
        self.diags.push(diag);
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

    // ---- types ----

    fn ty(&mut self, ty: &'a Ty) {
        match &ty.kind {
            TyKind::Path(path) => self.type_path(path),
            TyKind::Ref { target, .. } => self.ty(target),
            TyKind::Array { elem, len } => {
                self.ty(elem);
                self.extent(len);
            }
            TyKind::Tuple(elems) => elems.iter().for_each(|elem| self.ty(elem)),
        }
    }

    fn type_path(&mut self, path: &'a Path) {
        path.segments.iter().for_each(|segment| self.generic_args(&segment.args));
        let def = match path.segments.as_slice() {
            [segment] => self.single_type(&segment.name, segment.args.len()),
            [first, ..] if first.name.name.starts_with(char::is_uppercase) => {
                self.unknown(&first.name, "type", TYPE_KINDS, Code::UnknownName)
            }
            _ => Def::External,
        };
        self.names.defs.insert(path.id.0, def);
    }

    fn single_type(&mut self, name: &'a Ident, n_args: usize) -> Def {
        if let Some(builtin) = named(&name.name, TYPE_KINDS) {
            let wanted = type_arity(builtin.name);
            if n_args != wanted {
                let message = format!("`{}` takes {}, {n_args} given", name.name, counted(wanted, "generic argument"));
                let help = format!("it is `{}`", builtin.signature);
                self.diags.push(Diag::new(Code::ArgumentCount, name.span, message).help(help));
            }
            return Def::Builtin(builtin);
        }
        match self.find(&name.name).map(|entry| entry.def) {
            Some(def @ (Def::Import(_) | Def::Unknown)) => def,
            Some(_) => {
                self.diags.error(Code::WrongKind, name.span, format!("`{}` is a value, not a type", name.name));
                Def::Unknown
            }
            None => self.unknown(name, "type", TYPE_KINDS, Code::UnknownName),
        }
    }

    fn generic_args(&mut self, args: &'a [GenericArg]) {
        for arg in args {
            match arg {
                GenericArg::Infer(_) => {}
                GenericArg::Const(value) => self.extent(value),
                GenericArg::Ty(ty) => match &ty.kind {
                    // A single name may be a value: a const parameter or a constant.
                    TyKind::Path(path)
                        if path.as_name().is_some_and(|n| {
                            named(&n.name, TYPE_KINDS).is_none()
                                && (self.find(&n.name).is_some() || is_constant(&n.name))
                        }) =>
                    {
                        let name = path.as_name().expect("the guard says so");
                        let def = self.single(name);
                        self.names.defs.insert(path.id.0, def);
                        if let Def::Local(_) | Def::Param(_) | Def::Fn(_) = def {
                            let message = format!("`{}` is no constant, so it is no generic argument", name.name);
                            self.diags.error(Code::WrongKind, name.span, message);
                        }
                    }
                    _ => self.ty(ty),
                },
            }
        }
    }

    /// An extent or other constant argument: a const parameter stands alone or not at all, as stable Rust wants it.
    fn extent(&mut self, value: &'a Expr) {
        let before = self.const_param_uses;
        self.expr(value);
        let is_bare = matches!(&value.kind, ExprKind::Path(path) if path.as_name().is_some());
        if self.const_param_uses > before && !is_bare {
            let message = format!("`{}` is computed from a const parameter", crate::print::print_expr(value));
            let diag = Diag::new(Code::DerivedExtent, value.span, message)
                .help("make it a const parameter of its own and state with `assert!` how they hang together");
            self.diags.push(diag);
        }
    }

    // ---- the calls ----

    /// Reports each circle of calls once, at a call that closes it.
    fn no_recursion(&mut self) {
        let mut callees: Vec<Vec<(usize, Span)>> = vec![Vec::new(); self.fns.len()];
        for (caller, callee, span) in &self.calls {
            callees[*caller].push((*callee, *span));
        }
        // 0 not seen, 1 on the way, 2 done; the way is explicit, since there may be any number of functions.
        let mut state = vec![0u8; self.fns.len()];
        for start in 0..self.fns.len() {
            if state[start] != 0 {
                continue;
            }
            state[start] = 1;
            let mut way = vec![(start, 0)];
            while let Some((function, next)) = way.last_mut() {
                let Some((callee, span)) = callees[*function].get(*next).copied() else {
                    state[*function] = 2;
                    way.pop();
                    continue;
                };
                *next += 1;
                match state[callee] {
                    0 => {
                        state[callee] = 1;
                        way.push((callee, 0));
                    }
                    1 => {
                        let first = way.iter().position(|(f, _)| *f == callee).expect("it is on the way");
                        let circle: Vec<usize> = way[first..].iter().map(|(f, _)| *f).chain([callee]).collect();
                        let names: Vec<&str> = circle.iter().map(|f| self.fns[*f].name.name.name.as_str()).collect();
                        let message = format!("`{}` calls itself: {}", names[0], names.join(" -> "));
                        let diag = Diag::new(Code::Recursion, span, message)
                            .note_at(self.fns[callee].name.name.span, "declared here")
                            .help("the array has no stack; write a loop");
                        self.diags.push(diag);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Whether it is the type of instances.
pub(super) fn is_kernel(ty: &Ty) -> bool {
    matches!(&ty.kind, TyKind::Path(path) if path.as_name().is_some_and(|name| name.name == "Kernel"))
}

/// Whether a value is new rather than a reference to something else, as far as its form tells.
fn is_made_here(value: &Expr) -> bool {
    matches!(
        value.kind,
        ExprKind::Lit(_)
            | ExprKind::Binary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Array(_)
            | ExprKind::Repeat { .. }
            | ExprKind::Range { .. }
            | ExprKind::Call { .. }
            | ExprKind::Ref { mutable: false, .. }
    )
}

/// Number of generic arguments of a type of the language.
fn type_arity(name: &str) -> usize {
    let signature = named(name, TYPE_KINDS).map_or("", |builtin| builtin.signature);
    signature.split_once('<').map_or(0, |(_, args)| args.split(',').count())
}

fn is_constant(name: &str) -> bool {
    named(name, &[BuiltinKind::Constant]).is_some()
}

fn counted(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
