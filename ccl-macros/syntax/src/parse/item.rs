//! Items: constants, functions, imports; and how reading goes on behind a broken one.

use crate::ast::{Attr, Binding, ConstParam, Fn, Ident, Item, ItemKind, NodeId, Param, UseEnd, UseTree, Vis};
use crate::parse::attr::Place;
use crate::parse::token::{Delim, Kind};
use crate::parse::{Failed, KEYWORDS, Parsed, Parser};
use crate::source::Span;
use crate::subset::Refused;

/// Words that begin an item.
const ITEM_WORDS: &[&str] = &[
    "fn",
    "const",
    "use",
    "pub",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "type",
    "static",
    "mod",
    "extern",
    "unsafe",
    "async",
    "macro_rules",
];

impl Parser<'_> {
    /// The items up to the end; broken ones are reported, their names kept.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.at_end() {
            if self.at_op(";") {
                // Behind a `}` it is a habit from C, and nothing is lost.
                self.expected("an item");
                self.bump();
                continue;
            }
            let first = self.at;
            let item = match self.item() {
                Ok(item) => item,
                Err(Failed) => self.recover_item(first),
            };
            items.push(item);
        }
        items
    }

    fn item(&mut self) -> Parsed<Item> {
        let start = self.span();
        self.bad_attr = false;
        let attrs = self.attrs(Place::Other);
        let bad_attr = self.bad_attr;
        let vis = self.vis()?;
        let (place, kind) = match self.word() {
            Some("const") => (Place::Const, self.const_item()?),
            Some("fn") => (Place::Fn, ItemKind::Fn(self.function()?)),
            Some("use") => (Place::Use, self.use_item()?),
            word => return Err(self.other_item(word, &attrs)),
        };
        self.check_places(&attrs, place);
        let kind = match kind {
            // Without its attribute an instance would be a constant that cannot be one.
            ItemKind::Const { name, .. } if bad_attr => ItemKind::Broken { name: Some(name) },
            kind => kind,
        };
        Ok(Item { attrs, vis, kind, span: start.to(self.last_span()) })
    }

    fn other_item(&mut self, word: Option<&str>, attrs: &[Attr]) -> Failed {
        let next_is_name = matches!(self.peek_at(1), Some(Kind::Ident(_)));
        let refused = match word {
            Some("struct") => Refused::Struct,
            Some("enum") => Refused::Enum,
            Some("union") if next_is_name => Refused::Union,
            Some("trait") => Refused::Trait,
            Some("impl") => Refused::Impl,
            Some("type") => Refused::TypeAlias,
            Some("static") => Refused::Static,
            Some("mod") => Refused::Mod,
            Some("extern") => Refused::ExternCrate,
            Some("unsafe") => Refused::Unsafe,
            Some("async") => Refused::Async,
            Some(_) if self.op_at(1) == Some("!") => Refused::MacroItem,
            Some("macro") => Refused::MacroItem,
            _ if self.at_end() && !attrs.is_empty() => return self.expected("an item behind its attributes"),
            _ => return self.expected("an item: `fn`, `const` or `use`"),
        };
        self.refuse(refused)
    }

    fn vis(&mut self) -> Parsed<Vis> {
        if !self.at_word("pub") {
            return Ok(Vis::Private);
        }
        self.bump();
        if !self.at_open(Delim::Paren) {
            return Ok(Vis::Public);
        }
        let vis = match (self.word_at(1), self.peek_at(2)) {
            (Some("crate"), Some(Kind::Close(_))) => Vis::Crate,
            (Some("super"), Some(Kind::Close(_))) => Vis::Super,
            (Some("self"), Some(Kind::Close(_))) => Vis::Private,
            _ => return Err(self.refuse(Refused::PubIn)),
        };
        self.at = self.behind(self.at);
        Ok(vis)
    }

    fn binding(&mut self, what: &str) -> Parsed<Binding> {
        Ok(Binding { id: NodeId::default(), name: self.ident(what)? })
    }

    fn const_item(&mut self) -> Parsed<ItemKind> {
        self.bump();
        match self.word() {
            Some("fn" | "unsafe" | "async" | "extern") => return Err(self.refuse(Refused::ConstFn)),
            Some("_") => return Err(self.refuse(Refused::ConstPattern)),
            _ => {}
        }
        let name = self.binding("the name of the constant")?;
        self.expect_op(":", "and the type of the constant")?;
        let ty = self.ty()?;
        self.expect_op("=", "and the value of the constant")?;
        let value = self.expr()?;
        if !self.eat_op(";") {
            let what = "`;` at the end of the constant";
            let failed = self.expected_at(self.last_span(), what);
            if !self.at_end() && !self.starts_line(self.at) {
                return Err(failed);
            }
        }
        Ok(ItemKind::Const { name, ty, value })
    }

    fn function(&mut self) -> Parsed<Fn> {
        self.bump();
        let name = self.binding("the name of the function")?;
        let generics = if self.at_char('<') { self.const_params()? } else { Vec::new() };
        if !self.at_open(Delim::Paren) {
            return Err(self.expected("`(` and the parameters"));
        }
        let (params, _) = self.group(Delim::Paren, |p| p.list(Self::param))?;
        let ret = if self.eat_op("->") { Some(self.ty()?) } else { None };
        if self.at_word("where") {
            self.refuse(Refused::Where);
            while !self.at_end() && !self.at_open(Delim::Brace) {
                self.at = self.behind(self.at);
            }
        }
        if !self.at_open(Delim::Brace) {
            return Err(self.expected("`{` and the body of the function"));
        }
        let body = self.block()?;
        Ok(Fn { name, generics, params, ret, body })
    }

    fn const_params(&mut self) -> Parsed<Vec<ConstParam>> {
        let mut params = Vec::new();
        self.eat_char('<');
        while !self.at_char('>') {
            if matches!(self.peek(), Some(Kind::Lifetime(_))) {
                return Err(self.refuse(Refused::LifetimeGeneric));
            }
            if !self.eat_word("const") {
                return Err(match self.peek() {
                    Some(Kind::Ident(_)) if self.op_at(1) == Some(":") => self.refuse(Refused::Bounds),
                    Some(Kind::Ident(_)) => self.refuse(Refused::TypeGeneric),
                    _ => self.expected("`const NAME: usize`"),
                });
            }
            let name = self.binding("the name of the const parameter")?;
            self.expect_op(":", "and the type of the const parameter")?;
            let ty = self.ty()?;
            if self.at_op("=") {
                return Err(self.refuse(Refused::ConstDefault));
            }
            params.push(ConstParam { name, ty });
            if !self.eat_op(",") && !self.at_char('>') {
                return Err(self.expected("`,` or `>`"));
            }
        }
        self.eat_char('>');
        Ok(params)
    }

    fn param(&mut self) -> Parsed<Param> {
        if self.at_char('#') {
            return Err(self.refuse(Refused::ExprAttribute));
        }
        let is_self = self.at_word("self")
            || (self.at_char('&') && matches!(self.word_at(1), Some("self" | "mut")))
            || (self.at_word("mut") && self.word_at(1) == Some("self"));
        if is_self {
            return Err(self.refuse(Refused::SelfParam));
        }
        let mutable = self.eat_word("mut");
        match self.word() {
            Some(word) if !KEYWORDS.contains(&word) && word != "_" => {}
            _ if self.at_end() => {}
            _ => return Err(self.refuse(Refused::ParamPattern)),
        }
        let name = self.binding("the name of a parameter")?;
        self.expect_op(":", "and the type of the parameter")?;
        Ok(Param { mutable, name, ty: self.ty()? })
    }

    fn use_item(&mut self) -> Parsed<ItemKind> {
        self.bump();
        self.eat_op("::");
        let tree = self.use_tree()?;
        if !self.eat_op(";") {
            let failed = self.expected_at(self.last_span(), "`;` at the end of the import");
            if !self.at_end() && !self.starts_line(self.at) {
                return Err(failed);
            }
        }
        Ok(ItemKind::Use(tree))
    }

    fn use_tree(&mut self) -> Parsed<UseTree> {
        self.nested(|p| {
            let mut prefix = Vec::new();
            loop {
                if p.at_op("*") {
                    return Err(p.refuse(Refused::Glob));
                }
                if p.at_open(Delim::Brace) {
                    let (trees, _) = p.group(Delim::Brace, |p| p.list(Self::use_tree))?;
                    return Ok(UseTree { prefix, end: UseEnd::Group(trees) });
                }
                let name = match p.word() {
                    Some(word @ ("crate" | "self" | "super")) => Ident { name: word.to_owned(), span: p.bump() },
                    _ => p.ident("a name")?,
                };
                if p.eat_op("::") {
                    prefix.push(name);
                    continue;
                }
                let alias = if p.eat_word("as") { Some(p.ident("another name")?) } else { None };
                return Ok(UseTree { prefix, end: UseEnd::Name { name, alias, id: NodeId::default() } });
            }
        })
    }

    /// Moves behind the item that begins at `first` and could not be read, and reads a body that has not been read yet.
    fn recover_item(&mut self, first: usize) -> Item {
        let failed_at = self.at;
        let mut index = first;
        while index + 1 < self.end && matches!(self.tokens[index].kind, Kind::Punct { ch: '#', .. }) {
            index = self.behind(index + 1).min(self.end);
        }
        let head = (index..self.end).find(|i| match &self.tokens[*i].kind {
            Kind::Ident(word) => word != "pub",
            _ => false,
        });
        let word_at = |i: usize| match self.tokens.get(i).filter(|_| i < self.end).map(|t| &t.kind) {
            Some(Kind::Ident(word)) => word.as_str(),
            _ => "",
        };
        let mut keyword = head.map_or("", word_at);
        let mut name_at = head.map_or(self.end, |i| i + 1);
        while matches!(keyword, "const" | "unsafe" | "async" | "extern")
            && matches!(word_at(name_at), "fn" | "unsafe" | "async")
        {
            keyword = word_at(name_at);
            name_at += 1;
        }
        let name = match word_at(name_at) {
            "" => None,
            word if KEYWORDS.contains(&word) => None,
            _ if !matches!(keyword, "fn" | "const" | "static" | "type" | "struct" | "enum" | "union" | "trait") => None,
            word => {
                let name = Ident { name: word.to_owned(), span: self.tokens[name_at].span };
                Some(Binding { id: NodeId::default(), name })
            }
        };
        let ends_with_semicolon = matches!(keyword, "const" | "use" | "static" | "type");
        while index < self.end {
            match &self.tokens[index].kind {
                Kind::Punct { ch: ';', .. } => {
                    index += 1;
                    break;
                }
                Kind::Open { delim: Delim::Brace, mate } => {
                    if index >= failed_at && keyword == "fn" {
                        self.at = index;
                        _ = self.block();
                    }
                    index = mate + 1;
                    if !ends_with_semicolon {
                        break;
                    }
                }
                Kind::Ident(word)
                    if index > first
                        && index >= failed_at
                        && self.starts_line(index)
                        && ITEM_WORDS.contains(&word.as_str()) =>
                {
                    break;
                }
                Kind::Punct { ch: '#', .. } if index > first && index >= failed_at && self.starts_line(index) => break,
                _ => index = self.behind(index),
            }
        }
        self.at = index.clamp(first + 1, self.end);
        let span: Span = self.tokens[first].span.to(self.last_span());
        Item { attrs: Vec::new(), vis: Vis::Private, kind: ItemKind::Broken { name }, span }
    }
}
