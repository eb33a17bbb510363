//! Names that users type: which of those that exist they may have meant.

/// Names to propose at most.
const MAX_PROPOSALS: usize = 3;

/// The names that are nearest to a wrong one, nearest first: by their own spelling, or as a part of them.
pub fn closest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let near = |name: &str| {
        let whole = strsim::jaro_winkler(wrong, name);
        let is_part = !wrong.is_empty() && name.to_lowercase().contains(&wrong.to_lowercase());
        if is_part { whole.max(0.9) } else { whole }
    };
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|name| (near(name), name)).collect();
    scored.retain(|(score, _)| *score > 0.7);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(MAX_PROPOSALS).map(|(_, name)| name.to_owned()).collect()
}

/// A line that proposes names; empty where there are none.
pub fn suggest(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("\n  help: did you mean {}?", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first() {
        let names = ["/layers.0/Add_output_0", "/layers.0/Add_1_output_0", "src", "pos_embed"];
        assert_eq!(closest("/layers.0/Ad_output_0", names)[0], "/layers.0/Add_output_0");
        assert_eq!(closest("posembed", names), ["pos_embed"]);
        assert!(closest("add_1", names).contains(&"/layers.0/Add_1_output_0".to_owned()));
        assert!(closest("zzz", names).is_empty());
        assert_eq!(suggest(&["a".to_owned(), "b".to_owned()]), "\n  help: did you mean `a`, `b`?");
    }
}
