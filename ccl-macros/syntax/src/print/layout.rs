//! A small document algebra: text with possible line breaks, laid out in linear time.

/// Widest line.
pub(super) const WIDTH: usize = 120;
/// One step of indentation.
pub(super) const INDENT: usize = 4;

/// A layout to be decided.
pub(super) enum Doc {
    Text(String),
    /// A line break in a broken group, otherwise the text.
    Line(&'static str),
    /// A line break.
    Hard,
    Cat(Vec<Doc>),
    /// Further lines are indented by so much more.
    Nest(usize, Box<Doc>),
    /// On one line if it fits.
    Group(Box<Doc>),
    /// Text only where the group is broken.
    IfBroken(&'static str),
}

pub(super) fn text(text: impl Into<String>) -> Doc {
    Doc::Text(text.into())
}
pub(super) fn cat(docs: impl IntoIterator<Item = Doc>) -> Doc {
    Doc::Cat(docs.into_iter().collect())
}
pub(super) fn group(doc: Doc) -> Doc {
    Doc::Group(Box::new(doc))
}
pub(super) fn nest(doc: Doc) -> Doc {
    Doc::Nest(INDENT, Box::new(doc))
}

/// Lays out a document; the first line begins at column `column`.
pub(super) fn render(doc: &Doc, column: usize) -> String {
    let mut out = String::new();
    let mut column = column;
    let mut todo = vec![(0usize, false, doc)];
    while let Some((indent, flat, doc)) = todo.pop() {
        match doc {
            Doc::Text(text) => {
                out += text;
                column += text.chars().count();
            }
            Doc::Line(text) if flat => {
                out += text;
                column += text.len();
            }
            Doc::Line(_) | Doc::Hard => {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            Doc::Cat(docs) => todo.extend(docs.iter().rev().map(|doc| (indent, flat, doc))),
            Doc::Nest(by, doc) => todo.push((indent + by, flat, doc)),
            Doc::Group(doc) => {
                let flat = flat || fits(doc, WIDTH.saturating_sub(column), &todo);
                todo.push((indent, flat, doc));
            }
            Doc::IfBroken(text) => {
                if !flat {
                    out += text;
                    column += text.len();
                }
            }
        }
    }
    out
}

/// Whether a group fits on the rest of the line, together with what follows it up to the next possible break. Looks at a
/// bounded piece of the document, so that layout takes linear time.
fn fits(doc: &Doc, room: usize, behind: &[(usize, bool, &Doc)]) -> bool {
    let mut room = room as isize;
    let mut todo = vec![(true, true, doc)];
    let mut behind = behind.iter().rev();
    for _ in 0..16 * WIDTH {
        let (inside, flat, doc) = match todo.pop() {
            Some(next) => next,
            None => match behind.next() {
                Some((_, flat, doc)) => (false, *flat, *doc),
                None => return true,
            },
        };
        match doc {
            Doc::Text(text) => room -= text.chars().count() as isize,
            Doc::Line(text) if flat => room -= text.len() as isize,
            Doc::Line(_) => return true,
            // A forced break inside breaks the group; one behind it ends the line.
            Doc::Hard => return !inside,
            Doc::Cat(docs) => todo.extend(docs.iter().rev().map(|doc| (inside, flat, doc))),
            Doc::Nest(_, doc) | Doc::Group(doc) => todo.push((inside, flat, doc)),
            Doc::IfBroken(_) => {}
        }
        if room < 0 {
            return false;
        }
    }
    false
}
