//! Attributes: which there are, where each may stand, and what it takes.

use crate::ast::{Attr, AttrKind, Path};
use crate::builtins::nearest;
use crate::code::Code;
use crate::diag::Diag;
use crate::parse::token::{Delim, Kind};
use crate::parse::ty::PathStyle;
use crate::parse::{Failed, Parsed, Parser};
use crate::source::Span;

/// Where an attribute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Fn,
    Const,
    Use,
    Stmt,
    /// An item that is reported anyway.
    Other,
}

/// A known attribute.
pub(crate) struct AttrInfo {
    pub(crate) name: &'static str,
    /// How it is written.
    pub(crate) form: &'static str,
    places: &'static [Place],
    repeats: bool,
}

const fn row(name: &'static str, form: &'static str, places: &'static [Place], repeats: bool) -> AttrInfo {
    AttrInfo { name, form, places, repeats }
}

/// Every attribute of the language.
pub(crate) const ATTRS: &[AttrInfo] = &[
    row("doc", "/// text", &[Place::Fn, Place::Const, Place::Use], true),
    row("kernel", "#[kernel] or #[kernel(reference = path)]", &[Place::Fn], false),
    row("reference", "#[reference(path)]", &[Place::Fn], false),
    row("no_reference", "#[no_reference(\"reason\")]", &[Place::Fn], false),
    row("instance", "#[instance(target = PATH)]", &[Place::Const], false),
    row("overrides", "#[overrides(path)]", &[Place::Fn], false),
    row("edit", "#[edit(\"what was changed\")]", &[Place::Fn, Place::Const, Place::Stmt], true),
    row("region", "#[region(\"name\")]", &[Place::Fn, Place::Stmt], false),
    row("tap", "#[tap(\"name\")]", &[Place::Fn, Place::Stmt], true),
    row("inline", "#[inline]", &[Place::Fn], false),
    row("stub", "#[stub(path)]", &[Place::Fn], false),
    row("bound", "#[bound(n)]", &[Place::Stmt], false),
];

impl Parser<'_> {
    /// The attributes before an item or statement, wherever it may be; [`Self::check_places`] comes when that is known.
    pub(super) fn attrs(&mut self, place: Place) -> Vec<Attr> {
        let mut attrs = Vec::new();
        let mut height = 0;
        while self.at_char('#') {
            let start = self.span();
            let is_inner = self.op_at(1) == Some("!");
            let open = self.at + if is_inner { 2 } else { 1 };
            let Some(&Kind::Open { delim: Delim::Bracket, mate }) =
                self.tokens.get(open).filter(|_| open < self.end).map(|t| &t.kind)
            else {
                break;
            };
            let span = start.to(self.tokens[mate].span);
            self.at = open;
            if is_inner {
                let diag = Diag::new(Code::BadAttribute, span, "an inner attribute says nothing inside the block")
                    .help("put it before the item that it is about, without `!`");
                self.diags.push(diag);
            } else {
                match self.attr(span) {
                    Ok(kind) => attrs.push(Attr { kind, span }),
                    Err(Failed) => self.bad_attr = true,
                }
            }
            height = height.max(std::mem::take(&mut self.height));
            self.at = mate + 1;
        }
        self.height = height;
        if place == Place::Stmt {
            self.check_places(&attrs, place);
        }
        attrs
    }

    fn attr(&mut self, span: Span) -> Parsed<AttrKind> {
        self.group(Delim::Bracket, |p| {
            let name = match p.word() {
                Some(word) if ATTRS.iter().any(|row| row.name == word) => word,
                Some(word) => return Err(p.unknown_attr(word, span)),
                None => return Err(p.expected("the name of an attribute")),
            };
            let form = ATTRS.iter().find(|row| row.name == name).expect("looked up above").form;
            p.bump();
            p.attr_args(name).and_then(|kind| match kind {
                Some(kind) if p.at_end() => Ok(kind),
                _ => {
                    let diag = Diag::new(Code::BadAttribute, span, format!("`#[{name}]` takes other arguments"))
                        .help(format!("write `{form}`"));
                    p.diags.push(diag);
                    Err(Failed)
                }
            })
        })
    }

    /// The arguments; none where they are not what the attribute takes.
    fn attr_args(&mut self, name: &str) -> Parsed<Option<AttrKind>> {
        let kind = match name {
            "doc" => {
                if !self.eat_op("=") {
                    return Ok(None);
                }
                AttrKind::Doc(self.string("a text")?)
            }
            "inline" => AttrKind::Inline,
            "kernel" if self.at_end() => AttrKind::Kernel { reference: None },
            "kernel" => match self.named_path("reference")? {
                Some(path) => AttrKind::Kernel { reference: Some(path) },
                None => return Ok(None),
            },
            "instance" => match self.named_path("target")? {
                Some(target) => AttrKind::Instance { target },
                None => return Ok(None),
            },
            _ if !self.at_open(Delim::Paren) => return Ok(None),
            "reference" => AttrKind::Reference(self.group(Delim::Paren, |p| p.path(PathStyle::Expr, "a path"))?),
            "overrides" => AttrKind::Overrides(self.group(Delim::Paren, |p| p.path(PathStyle::Expr, "a path"))?),
            "stub" => AttrKind::Stub(self.group(Delim::Paren, |p| p.path(PathStyle::Expr, "a path"))?),
            "bound" => AttrKind::Bound(self.group(Delim::Paren, Self::expr)?),
            "no_reference" => AttrKind::NoReference(self.attr_text("a reason in quotes")?),
            "edit" => AttrKind::Edit(self.attr_text("what was changed, in quotes")?),
            "region" => AttrKind::Region(self.attr_text("a name in quotes")?),
            "tap" => AttrKind::Tap(self.attr_text("a name in quotes")?),
            _ => unreachable!("every row of the table is read above"),
        };
        Ok(Some(kind))
    }

    fn attr_text(&mut self, what: &str) -> Parsed<String> {
        self.group(Delim::Paren, |p| p.string(what))
    }

    /// `(name = path)`.
    fn named_path(&mut self, name: &str) -> Parsed<Option<Path>> {
        if !self.at_open(Delim::Paren) {
            return Ok(None);
        }
        self.group(Delim::Paren, |p| {
            if !p.eat_word(name) || !p.eat_op("=") {
                return Err(p.expected(&format!("`{name} = path`")));
            }
            p.path(PathStyle::Expr, "a path").map(Some)
        })
    }

    fn unknown_attr(&mut self, word: &str, span: Span) -> Failed {
        if self.diags.is_full() {
            return Failed;
        }
        let mut diag =
            Diag::new(Code::BadAttribute, span, format!("`#[{word}]` is no attribute of the kernel language"));
        let names = ATTRS.iter().map(|row| row.name).filter(|name| *name != "doc");
        if let Some(near) = nearest(word, names.clone()) {
            diag = diag.help(format!("did you mean `#[{near}]`?"));
        } else {
            diag = diag.help(format!("there are {}", names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")));
        }
        self.diags.push(diag);
        Failed
    }

    /// Reports attributes that say nothing where they stand, and those that stand twice.
    pub(super) fn check_places(&mut self, attrs: &[Attr], place: Place) {
        if place == Place::Other {
            return;
        }
        for (i, attr) in attrs.iter().enumerate() {
            let info = attr.kind.info();
            if !info.places.contains(&place) {
                let places: Vec<&str> = info.places.iter().map(|p| p.word()).collect();
                let message = format!("`#[{}]` says nothing on {}", info.name, place.word());
                let help = format!("it stands on {}", places.join(" or "));
                self.diags.push(Diag::new(Code::MisplacedAttribute, attr.span, message).help(help));
            }
            let same = |other: &&Attr| std::mem::discriminant(&other.kind) == std::mem::discriminant(&attr.kind);
            if !info.repeats
                && let Some(first) = attrs[..i].iter().find(same)
            {
                let diag =
                    Diag::new(Code::MisplacedAttribute, attr.span, format!("`#[{}]` stands here twice", info.name))
                        .note_at(first.span, "the first one");
                self.diags.push(diag);
            }
        }
    }
}

impl Place {
    const fn word(self) -> &'static str {
        match self {
            Self::Fn => "`fn`",
            Self::Const => "`const`",
            Self::Use => "`use`",
            Self::Stmt => "a statement",
            Self::Other => "this item",
        }
    }
}

impl AttrKind {
    /// The row of the table.
    pub(crate) fn info(&self) -> &'static AttrInfo {
        let name = match self {
            Self::Doc(_) => "doc",
            Self::Kernel { .. } => "kernel",
            Self::Reference(_) => "reference",
            Self::NoReference(_) => "no_reference",
            Self::Instance { .. } => "instance",
            Self::Overrides(_) => "overrides",
            Self::Edit(_) => "edit",
            Self::Region(_) => "region",
            Self::Tap(_) => "tap",
            Self::Inline => "inline",
            Self::Stub(_) => "stub",
            Self::Bound(_) => "bound",
        };
        ATTRS.iter().find(|row| row.name == name).expect("every attribute has a row")
    }
}
