//! Where opinions differ: found, counted, and told on one screen.

use std::fmt::{self, Write as _};

use crate::kernel::{Argument, Arguments, HostTensor};

/// What one way of running a kernel gave.
#[derive(Clone, Debug)]
pub struct Opinion {
    /// `native`, `simulator`, `reference`.
    pub name: &'static str,
    /// All arguments afterwards.
    pub arguments: Arguments,
}

/// The first difference of an output, and how many there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The output; of an array of tensors with the index behind.
    pub output: String,
    /// Its extents.
    pub dims: Vec<usize>,
    /// Elements on which not all opinions agree.
    pub count: usize,
    /// The first of them, as a number.
    pub first: usize,
    /// What each opinion has there.
    pub values: Vec<(&'static str, i64)>,
    /// The greatest difference of any element, and where.
    pub largest: (u64, usize),
    /// Whether one of the values there is an end of the element type's range.
    pub is_saturated: bool,
}

/// Compares the outputs; `None` where all are the same.
pub fn compare(outputs: &[&str], opinions: &[Opinion]) -> Option<Mismatch> {
    outputs.iter().find_map(|output| {
        let all: Vec<Vec<(String, &HostTensor)>> = opinions
            .iter()
            .map(|o| o.arguments.get(output).map_or_else(Vec::new, |argument| tensors(output, argument)))
            .collect();
        (0..all.first()?.len()).find_map(|i| {
            let of: Vec<(&'static str, &HostTensor)> =
                opinions.iter().zip(&all).filter_map(|(o, tensors)| Some((o.name, tensors.get(i)?.1))).collect();
            compare_tensor(&all[0][i].0, &of)
        })
    })
}

fn tensors<'a>(name: &str, argument: &'a Argument) -> Vec<(String, &'a HostTensor)> {
    match argument {
        Argument::Tensor(tensor) => vec![(name.to_owned(), tensor)],
        Argument::List(list) => {
            list.iter().enumerate().flat_map(|(i, argument)| tensors(&format!("{name}[{i}]"), argument)).collect()
        }
        Argument::Stream { .. } | Argument::Scale(_) | Argument::Scalar(_) => Vec::new(),
    }
}

fn compare_tensor(name: &str, of: &[(&'static str, &HostTensor)]) -> Option<Mismatch> {
    let (_, one) = of.first()?;
    let mut found: Option<Mismatch> = None;
    for i in 0..one.len() {
        let spread = |v: &[i64]| v.iter().max().zip(v.iter().min()).map_or(0, |(hi, lo)| hi.abs_diff(*lo));
        let values: Vec<i64> = of.iter().map(|(_, tensor)| tensor.get(i)).collect();
        let by = spread(&values);
        if by == 0 {
            continue;
        }
        let (lo, hi) = one.elem().range();
        let m = found.get_or_insert_with(|| Mismatch {
            output: name.to_owned(),
            dims: one.dims().to_vec(),
            count: 0,
            first: i,
            values: of.iter().map(|(name, _)| *name).zip(values.iter().copied()).collect(),
            largest: (0, i),
            is_saturated: values.iter().any(|v| *v == lo || *v == hi),
        });
        m.count += 1;
        if by > m.largest.0 {
            m.largest = (by, i);
        }
    }
    found
}

impl Mismatch {
    /// Coordinates of an element.
    pub fn index(&self, mut element: usize) -> Vec<usize> {
        let mut index: Vec<usize> = self
            .dims
            .iter()
            .rev()
            .map(|n| {
                let i = element % n;
                element /= n;
                i
            })
            .collect();
        index.reverse();
        index
    }

    /// Which opinions agree on the first element: "native and reference agree, simulator differs".
    fn who(&self) -> String {
        let mut groups: Vec<(i64, Vec<&str>)> = Vec::new();
        for (name, value) in &self.values {
            match groups.iter_mut().find(|(v, _)| v == value) {
                Some((_, names)) => names.push(name),
                None => groups.push((*value, vec![name])),
            }
        }
        groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        let names: Vec<String> = groups.iter().map(|(_, names)| names.join(" and ")).collect();
        match (groups[0].1.len(), names.as_slice()) {
            (1, _) => "no two agree".to_owned(),
            (_, [agree, others @ ..]) => format!("{agree} agree, {} differs", others.join(", ")),
            (_, []) => unreachable!("there are opinions"),
        }
    }
}

/// All that a report shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// Kernel.
    pub kernel: String,
    /// Product name of the target.
    pub target: String,
    /// What differs.
    pub mismatch: Mismatch,
    /// The instruction that sent the element out, its cycle, PE and source line.
    pub origin: Option<Origin>,
    /// What a step of the output stands for, to show values in the user's units.
    pub step: Option<f64>,
    /// Seed and number of the case.
    pub case: (u64, usize),
    /// The scalar arguments.
    pub scalars: Vec<(String, String)>,
}

/// Where an element came from on the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Instruction that handed it out.
    pub pc: u32,
    /// Its cycle.
    pub cycle: u64,
    /// Its PE.
    pub pe: Option<(usize, i32)>,
    /// Its line of the kernel's text.
    pub line: Option<(String, u32)>,
    /// What the PE computed before: line, instruction, value.
    pub operations: Vec<iss::sim::Operation>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = &self.mismatch;
        let total: usize = m.dims.iter().product();
        writeln!(f, "{} on {}: {} of {total} elements of `{}` differ", self.kernel, self.target, m.count, m.output)?;
        write!(f, "  first at {:?}", m.index(m.first))?;
        if let Some(origin) = &self.origin {
            if let Some((row, col)) = origin.pe {
                write!(f, ", PE (row {row}, column {col})")?;
            }
            if let Some((file, line)) = &origin.line {
                write!(f, ", from {file}:{line}")?;
            }
            write!(f, " (instruction {}, cycle {})", origin.pc, origin.cycle)?;
        }
        writeln!(f, ": {}", m.who())?;
        for (name, value) in &m.values {
            let scaled = self.step.map_or_else(String::new, |step| format!(" = {:.6}", *value as f64 * step));
            writeln!(f, "    {name:<10} {value:>12}{scaled}")?;
        }
        writeln!(f, "  largest difference {} at {:?}", m.largest.0, m.index(m.largest.1))?;
        if m.is_saturated {
            writeln!(f, "  one of the values is an end of its type's range: it may have saturated")?;
        }
        if let Some(origin) = self.origin.as_ref().filter(|o| !o.operations.is_empty()) {
            writeln!(f, "  last operations of that PE on the simulator:")?;
            f.write_str(&operations(&origin.operations))?;
        }
        for (name, value) in &self.scalars {
            writeln!(f, "  {name} = {value}")?;
        }
        let (seed, case) = self.case;
        let test = std::thread::current().name().filter(|n| *n != "main").unwrap_or("").to_owned();
        write!(f, "  again: CCL_SEED={seed} CCL_CASE={case} cargo test {test}")
    }
}

fn operations(list: &[iss::sim::Operation]) -> String {
    let mut text = String::new();
    let width = list.iter().map(|op| op.text.len()).max().unwrap_or(0);
    for op in list {
        let line = op.line.as_ref().map_or_else(String::new, |(file, line)| format!("{file}:{line}"));
        let _ = writeln!(text, "    {:>6}  {:<width$}  {:>12}  {line}", op.pc, op.text, op.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ElemType;

    fn opinion(name: &'static str, values: &[i64]) -> Opinion {
        let tensor = HostTensor::from_fn(ElemType::I8, &[2, 1, 3], |i| values[i]);
        Opinion { name, arguments: Arguments::new().with("y", tensor) }
    }

    #[test]
    fn same_outputs_give_nothing() {
        let same = [opinion("native", &[1; 6]), opinion("simulator", &[1; 6])];
        assert_eq!(compare(&["y"], &same), None);
    }

    #[test]
    fn a_report_says_where_and_who() {
        let opinions = [
            opinion("native", &[1, 2, 3, 4, 5, 6]),
            opinion("simulator", &[1, 2, 3, 4, 127, 9]),
            opinion("reference", &[1, 2, 3, 4, 5, 6]),
        ];
        let mismatch = compare(&["y"], &opinions).expect("they differ");
        let operations = vec![iss::sim::Operation {
            pc: 40,
            line: Some(("k.rs".into(), 7)),
            text: "add a0, a0, #1".into(),
            value: 127,
        }];
        let origin = Origin { pc: 41, cycle: 900, pe: Some((0, 1)), line: Some(("k.rs".into(), 8)), operations };
        let report = Report {
            kernel: "double".into(),
            target: "QC-U".into(),
            mismatch,
            origin: Some(origin),
            step: Some(0.5),
            case: (3, 1),
            scalars: vec![("scale".into(), "8388608 * 2^-30".into())],
        };
        let text = report.to_string();
        let expected = "\
double on QC-U: 2 of 6 elements of `y` differ
  first at [1, 0, 1], PE (row 0, column 1), from k.rs:8 (instruction 41, cycle 900): native and reference agree, simulator differs
    native                5 = 2.500000
    simulator           127 = 63.500000
    reference             5 = 2.500000
  largest difference 122 at [1, 0, 1]
  one of the values is an end of its type's range: it may have saturated
  last operations of that PE on the simulator:
        40  add a0, a0, #1           127  k.rs:7
  scale = 8388608 * 2^-30
  again: CCL_SEED=3 CCL_CASE=1 cargo test ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn no_two_agree() {
        let opinions = [opinion("native", &[1; 6]), opinion("simulator", &[2; 6]), opinion("reference", &[3; 6])];
        let m = compare(&["y"], &opinions).expect("they differ");
        assert_eq!((m.count, m.who().as_str()), (6, "no two agree"));
    }
}
