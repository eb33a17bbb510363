//! Questions that are asked of trees.

use super::*;

impl Module {
    /// Gives every node its number, in the order of the text. Whoever builds or edits a tree by hand calls it at the end.
    pub fn renumber(&mut self) {
        self.number(&mut 0);
    }
    /// The functions.
    pub fn fns(&self) -> impl Iterator<Item = (&Item, &Fn)> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Fn(function) => Some((item, function)),
            _ => None,
        })
    }
    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = (&Item, &Fn)> {
        self.fns().filter(|(item, _)| item.is_kernel())
    }
    /// The instances: name, kernel with its arguments, machine.
    pub fn instances(&self) -> impl Iterator<Item = (&Binding, &Path, &Path)> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Const { name, value: Expr { kind: ExprKind::Path(kernel), .. }, .. } => {
                item.instance_target().map(|target| (name, kernel, target))
            }
            _ => None,
        })
    }
}

impl Item {
    /// Whether `#[kernel]` stands on it.
    pub fn is_kernel(&self) -> bool {
        self.attrs.iter().any(|a| matches!(a.kind, AttrKind::Kernel { .. }))
    }
    /// The machine of an instance.
    pub fn instance_target(&self) -> Option<&Path> {
        self.attrs.iter().find_map(|a| match &a.kind {
            AttrKind::Instance { target } => Some(target),
            _ => None,
        })
    }
    /// The name that it declares; imports may declare several.
    pub fn name(&self) -> Option<&Binding> {
        match &self.kind {
            ItemKind::Const { name, .. } => Some(name),
            ItemKind::Fn(function) => Some(&function.name),
            ItemKind::Broken { name } => name.as_ref(),
            ItemKind::Use(_) => None,
        }
    }
    /// The documentation, lines joined.
    pub fn doc(&self) -> String {
        let lines = self.attrs.iter().filter_map(|a| match &a.kind {
            AttrKind::Doc(text) => Some(text.strip_prefix(' ').unwrap_or(text)),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Path {
    /// The name, if it is one name without arguments.
    pub fn as_name(&self) -> Option<&Ident> {
        match self.segments.as_slice() {
            [Segment { name, args }] if args.is_empty() => Some(name),
            _ => None,
        }
    }
    /// `a::b` without arguments.
    pub fn text(&self) -> String {
        self.segments.iter().map(|s| s.name.name.as_str()).collect::<Vec<_>>().join("::")
    }
    /// The last segment.
    pub fn last(&self) -> &Segment {
        self.segments.last().expect("a path has a segment")
    }
}

impl Pattern {
    /// The names that it binds.
    pub fn locals(&self) -> &[Local] {
        match self {
            Self::Name(local) => std::slice::from_ref(local),
            Self::Tuple(locals) => locals,
            Self::Ignore(_) => &[],
        }
    }
}

impl Block {
    /// Whether a block in statement position yields a value rather than being a statement.
    pub fn has_value(&self) -> bool {
        self.tail.is_some()
    }
}

impl Expr {
    /// Whether it ends with a brace and, where a statement begins, is a whole statement: `if` and blocks.
    pub fn is_block_like(&self) -> bool {
        matches!(self.kind, ExprKind::Block(_) | ExprKind::If { .. })
    }
    /// Whether a block-like expression at the end of a block without semicolon is the block's value: a block with a value,
    /// or an `if` with an `else` whose first block has one.
    pub fn is_block_value(&self) -> bool {
        match &self.kind {
            ExprKind::Block(block) => block.has_value(),
            ExprKind::If { then, otherwise, .. } => otherwise.is_some() && then.has_value(),
            _ => false,
        }
    }
}
