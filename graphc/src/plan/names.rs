//! Names of kernels and variables from the names of a graph: stable, readable, legal in Rust.

use std::collections::BTreeSet;

use crate::graph::{Graph, ValueId};
use crate::plan::group::Grouped;

/// A Rust identifier from any text: other characters become `_`, and what begins with none of its letters gets one.
pub fn identifier(text: &str) -> String {
    const RESERVED: &[&str] = &[
        "as", "async", "await", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern",
        "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
        "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "union",
        "unsafe", "use", "virtual", "where", "while", "yield", "abstract", "become", "override", "priv", "typeof",
        "unsized",
    ];
    let mut name = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&name) {
        return format!("t_{name}").trim_end_matches('_').to_owned();
    }
    name.to_owned()
}

/// The name, or the first of `name_2`, `name_3` and so on that is free; taken from then on.
pub fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = name.clone();
    for n in 2.. {
        if taken.insert(candidate.clone()) {
            break;
        }
        candidate = format!("{name}_{n}");
    }
    candidate
}

/// The parts of a node's name that say where it is: what stands before the last `/`.
fn scope(name: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    parts.pop();
    parts
}

fn common<'a>(scopes: impl IntoIterator<Item = Vec<&'a str>>) -> Vec<&'a str> {
    let mut scopes = scopes.into_iter();
    let first = scopes.next().unwrap_or_default();
    scopes.fold(first, |common, scope| {
        common.into_iter().zip(scope).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    })
}

/// Where most of the arithmetic of some steps is, and what the last of them does: `stages_0_blocks_1_attention_dense`.
pub(crate) fn of_steps(graph: &Graph, grouped: &Grouped, steps: &[usize], all: &[usize]) -> String {
    let scopes = |steps: &[usize]| -> Vec<Vec<&str>> {
        let nodes = steps.iter().flat_map(|&i| &grouped.steps[i].nodes);
        nodes.map(|&id| scope(&graph.node(id).name)).collect()
    };
    let outer = common(scopes(all)).len();
    let mixed = steps.iter().rev().find(|&&i| ["attention", "ffn"].contains(&grouped.steps[i].word()));
    let main = mixed.or(steps.last()).copied().unwrap_or_default();
    let mut parts: Vec<&str> = common(scopes(&[main])).into_iter().skip(outer).collect();
    let word = grouped.steps[main].word();
    if parts.last() != Some(&word) {
        parts.push(word);
    }
    identifier(&parts.join("_"))
}

/// A variable for a buffer: the last parts of its name that say something.
pub(crate) fn of_value(graph: &Graph, id: ValueId) -> String {
    let name = graph.value(id).name.trim_end_matches("_quantized");
    let name = name.rfind("_output_").map_or(name, |at| &name[..at]);
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    let said = match parts[..] {
        // `blocks.0` alone says too little.
        [.., scope, op] if scope.ends_with(|c: char| c.is_ascii_digit()) => format!("{scope}_{op}"),
        [.., scope, _] => scope.to_owned(),
        _ => name.to_owned(),
    };
    identifier(&said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        let cases = [("a/b.c", "a_b_c"), ("3x", "t_3x"), ("", "t"), ("match", "t_match"), ("__A__", "a"), ("é", "t")];
        for (text, name) in cases {
            assert_eq!(identifier(text), name, "{text}");
            assert_eq!(identifier(name), name, "a name stays one");
        }
    }

    #[test]
    fn taken_names_are_counted() {
        let mut taken = BTreeSet::new();
        let names: Vec<String> = (0..3).map(|_| unique("x".to_owned(), &mut taken)).collect();
        assert_eq!(names, ["x", "x_2", "x_3"]);
    }
}
