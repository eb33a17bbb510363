//! Which nodes are quantised.

use std::collections::BTreeSet;

use glob::Pattern;

use crate::names;
use crate::quantize::network::{Network, Site};
use crate::quantize::operators::Role;
use crate::quantize::{Format, Options, QuantizeError};

/// Operators that stay in float unless the user says otherwise: 8 bits cost them more than they save.
pub const DEFAULT_EXCLUSIONS: [&str; 3] = ["Softmax", "Sigmoid", "LayerNormalization"];

/// What was decided about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// It is quantised in this way, if its inputs are.
    Quantise(Role),
    /// The user excludes it.
    Excluded,
    /// There is no 8-bit form of it.
    Unsupported,
    /// It computes with something else than floats.
    NoFloats,
}

/// What was decided, for each site of a network.
pub(super) struct Selection {
    pub choices: Vec<Choice>,
}

impl Selection {
    /// Decides.
    pub fn new(network: &Network, options: &Options) -> Result<Self, QuantizeError> {
        let exclusions = Exclusions::new(network, &options.exclude)?;
        let choices: Vec<Choice> =
            network.sites.iter().map(|site| choose(network, site, &exclusions, options)).collect();
        let computes = |choice: &Choice| matches!(choice, Choice::Quantise(role) if role.computes());
        // Where the ends are to be of 8 bits, that alone is something.
        if !choices.iter().any(computes) && !options.compilable {
            let operators: BTreeSet<&str> = network.sites.iter().map(|s| s.node.origin.op_type.as_str()).collect();
            let operators: Vec<&str> = operators.into_iter().take(12).collect();
            return Err(QuantizeError::Nothing { operators: operators.join(", ") });
        }
        Ok(Selection { choices })
    }

    /// The sites with what was decided about them.
    pub fn of<'s, 'a>(&'s self, network: &'s Network<'a>) -> impl Iterator<Item = (&'s Site<'a>, Choice)> + 's {
        network.sites.iter().zip(self.choices.iter().copied())
    }
}

fn choose(network: &Network, site: &Site, exclusions: &Exclusions, options: &Options) -> Choice {
    let role = if site.proto.domain.is_empty() || site.proto.domain == "ai.onnx" {
        Role::of(&site.proto.op_type)
    } else {
        Role::Float
    };
    let input = |place: usize| site.proto.input.get(place).map_or("", String::as_str);
    if !network.is_float(input(0)) {
        return Choice::NoFloats;
    }
    if exclusions.matches(site) {
        return Choice::Excluded;
    }
    let supported = match role {
        Role::Float => false,
        Role::Between => options.format == Format::Qdq,
        Role::Gemm => options.format == Format::Qdq || gemm_has_form(network, site),
        Role::Conv => input(2).is_empty() || network.constant(input(2)).is_some(),
        _ => true,
    };
    if supported { Choice::Quantise(role) } else { Choice::Unsupported }
}

/// QGemm takes a bias for each column, known beforehand.
fn gemm_has_form(network: &Network, site: &Site) -> bool {
    let Some(name) = site.proto.input.get(2).filter(|name| !name.is_empty()) else { return true };
    let columns = site.node.outputs.first().and_then(|&id| network.graph.value(id).ty.shape.last().copied());
    let bias = network.constant(name).map(|bias| bias.shape().to_vec());
    matches!((columns, bias), (Some(n), Some(shape)) if shape == [n] || shape == [1, n])
}

/// What the user excludes.
struct Exclusions {
    exact: BTreeSet<String>,
    patterns: Vec<Pattern>,
}

impl Exclusions {
    fn new(network: &Network, list: &[String]) -> Result<Self, QuantizeError> {
        let mut exclusions = Exclusions { exact: BTreeSet::new(), patterns: Vec::new() };
        for text in list {
            exclusions.add(network, text)?;
        }
        Ok(exclusions)
    }

    /// Adds one that is a name or a pattern, and refuses what has no effect: it is most likely misspelt.
    fn add(&mut self, network: &Network, text: &str) -> Result<(), QuantizeError> {
        let names = || network.sites.iter().flat_map(|s| [s.node.name.as_str(), s.proto.op_type.as_str()]);
        let is_known_operator = || crate::operators::OPERATORS.iter().any(|row| row.name == text);
        if names().any(|name| name == text) || is_known_operator() {
            self.exact.insert(text.to_owned());
            return Ok(());
        }
        let pattern = Pattern::new(text)
            .map_err(|error| QuantizeError::Pattern { pattern: text.to_owned(), reason: error.msg })?;
        if !names().any(|name| pattern.matches(name)) {
            let closest = names::closest(text, names());
            return Err(QuantizeError::Exclusion { pattern: text.to_owned(), closest });
        }
        self.patterns.push(pattern);
        Ok(())
    }

    fn matches(&self, site: &Site) -> bool {
        let names = [site.node.name.as_str(), site.proto.op_type.as_str()];
        names.iter().any(|name| self.exact.contains(*name) || self.patterns.iter().any(|p| p.matches(name)))
    }
}
