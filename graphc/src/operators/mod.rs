//! What the compiler accepts: one table of operators, and for each a function that reads a node of a file as an
//! [`Op`](crate::graph::Op). The table also is the documentation (`docs/operators.md`) and what `graphc check` says.

mod axes;
mod constants;
mod docs;
mod moves;
mod pointwise;
mod products;
mod quantized;
mod refusal;
mod resize;
mod site;
mod table;
mod windows;

pub use docs::markdown;
pub use refusal::Refusal;
pub use site::{Meaning, Operand, Site};
pub use table::{Domain, MAX_OPSET, MIN_OPSET, Mapping, OPERATORS, Row, find};
