//! The page of operators, from the table.

use std::fmt::Write;

use crate::operators::{Domain, MAX_OPSET, MIN_OPSET, Mapping, OPERATORS};

/// `docs/operators.md`.
pub fn markdown() -> String {
    let mut page = format!(
        "# Operators\n\n\
         Made from the table in `src/operators/table.rs`; `CCL_BLESS=1 cargo test -p graphc --test docs` writes it anew.\n\n\
         ONNX opsets {MIN_OPSET} to {MAX_OPSET}. *Mapped* operators become part of a kernel, *decomposed* ones are replaced by \
         others or by constants, *refused* ones stop the compilation with what to write instead. Where a form is not \
         accepted, `graphc check` names the node and repeats the column on the right.\n"
    );
    for (mapping, title) in
        [(Mapping::Mapped, "Mapped"), (Mapping::Decomposed, "Decomposed"), (Mapping::Refused, "Refused")]
    {
        let last = if mapping == Mapping::Refused { "instead" } else { "becomes" };
        let _ = write!(
            page,
            "\n## {title}\n\n| operator | from opset | {last} | accepted forms |\n| --- | --- | --- | --- |\n"
        );
        for row in OPERATORS.iter().filter(|row| row.mapping == mapping) {
            let domain = if row.domain == Domain::Onnx { String::new() } else { format!("{}.", row.domain.name()) };
            let _ = writeln!(page, "| {domain}{} | {} | {} | {} |", row.name, row.since, row.how, row.forms);
        }
    }
    page
}
