//! One line a kernel: it runs natively, on the simulator and, where it names one, by its reference; all must agree to the bit.

use super::cost::Cost;
use super::input::{Fill, arguments};
use super::mismatch::{Mismatch, Opinion, Origin, Report, compare};
use super::probe::Probed;
use crate::kernel::{Access, Argument, Arguments, Param, ParamType};

/// What can be checked: a kernel of a `ccl!` block, or one that was read from text.
pub trait Subject {
    /// Name of the instance.
    fn name(&self) -> String;
    /// Product name of the machine.
    fn target(&self) -> String;
    /// The parameters, extents known.
    fn params(&self) -> Vec<Param>;
    /// Runs it natively.
    ///
    /// # Errors
    /// The fault, as text.
    fn native(&self, arguments: &mut Arguments) -> Result<(), String>;
    /// Runs it on the simulator.
    ///
    /// # Errors
    /// What the compiler or the simulator says.
    fn simulate(&self, arguments: &mut Arguments) -> Result<Cost, String>;
    /// Runs it on the simulator again, to see where an element of an output came from.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate).
    fn origin(&self, arguments: &Arguments, output: &str, element: usize) -> Result<Option<Origin>, String>;
    /// Runs the reference.
    fn reference(&self, arguments: &mut Arguments) -> ReferenceRun;
    /// Runs it natively and on the simulator for what it probes.
    ///
    /// # Errors
    /// As [`native`](Self::native) and [`simulate`](Self::simulate).
    fn probes(&self, arguments: &Arguments) -> Result<Probed, String>;
}

/// What became of the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceRun {
    /// It ran.
    Done,
    /// `#[no_reference("reason")]`.
    None,
    /// Nothing is said: an error.
    Missing,
    /// It was refused.
    Failed(String),
}

/// How far a kernel may be from its reference. Native code and simulator always agree to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The greatest difference of an element.
    pub by: u64,
    /// Of so many elements of all cases one may differ; at least one element may.
    pub one_in: u64,
}

/// A check of a kernel with arguments and cases of its own.
///
/// The environment replays one case: `CCL_SEED` and `CCL_CASE`, as a report says.
#[derive(Clone, Debug)]
#[must_use = "`run` runs it"]
pub struct Check<'a, S> {
    subject: &'a S,
    given: Arguments,
    seed: u64,
    cases: usize,
    bar: Option<Bar>,
    probes: bool,
    steps: Vec<(String, f64)>,
    /// Bytes in memory of arguments.
    bytes: Vec<(String, Vec<u8>)>,
    /// Bytes in memory that outputs must have.
    expected: Vec<(String, Vec<u8>)>,
}

/// Checks a kernel with the first six fills: random, corners, near 0, least, greatest, zero.
///
/// # Panics
/// With the report, if opinions differ, or if one of them has none.
#[track_caller]
pub fn check(kernel: &impl Subject) -> Cost {
    Check::new(kernel).run()
}

impl<'a, S: Subject> Check<'a, S> {
    /// A check with random arguments.
    pub fn new(subject: &'a S) -> Self {
        Self {
            subject,
            given: Arguments::new(),
            seed: 1,
            cases: Fill::ALL.len(),
            bar: None,
            probes: false,
            steps: Vec::new(),
            bytes: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// Passes `argument` in every case.
    pub fn with(mut self, name: &str, argument: impl Into<Argument>) -> Self {
        self.given.set(name, argument);
        self
    }

    /// Passes the tensor, or the weights with biases, that lie in memory as `bytes`.
    pub fn with_bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.bytes.push((name.to_owned(), bytes.to_vec()));
        self
    }

    /// Wants an output to be what `bytes` are in memory; what else the kernel writes is not compared with a reference. For
    /// kernels whose arguments are all given: a reference that a kernel names is not run.
    pub fn expect_bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.expected.push((name.to_owned(), bytes.to_vec()));
        self
    }

    /// Draws from another sequence.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs so many cases.
    pub const fn cases(mut self, cases: usize) -> Self {
        self.cases = cases;
        self
    }

    /// Lets elements differ from the reference.
    pub const fn within(mut self, bar: Bar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// Prints what the kernel probes in the first case, in runs of their own: neither results nor costs change by it.
    pub const fn print_probes(mut self) -> Self {
        self.probes = true;
        self
    }

    /// Shows an output in units: `step` is what 1 stands for.
    pub fn step(mut self, output: &str, step: f64) -> Self {
        self.steps.push((output.to_owned(), step));
        self
    }

    /// Runs the cases and gives the cost of the first.
    ///
    /// # Panics
    /// As [`check`].
    #[track_caller]
    pub fn run(self) -> Cost {
        self.try_run().unwrap_or_else(|text| panic!("{text}"))
    }

    /// As [`run`](Self::run).
    ///
    /// # Errors
    /// What `run` panics with.
    pub fn try_run(&self) -> Result<Cost, String> {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seed = number("CCL_SEED").unwrap_or(self.seed);
        let cases = match number("CCL_CASE") {
            Some(case) => case as usize..case as usize + 1,
            None => 0..self.cases.max(1),
        };
        let (mut first, mut missed) = (None, Missed::default());
        if self.probes {
            let inputs = self.inputs(seed, cases.start)?;
            let probed = self.subject.probes(&inputs).map_err(|e| format!("`{}`: probes: {e}", self.subject.name()))?;
            eprint!("{probed}");
        }
        for case in cases {
            let cost = self.case(seed, case, &mut missed)?;
            first.get_or_insert(cost);
        }
        match (missed.report, self.bar) {
            (Some(report), Some(bar)) if missed.count as u64 > bar.allowed(missed.elements) => {
                Err(format!("over all cases {} of {} elements differ; {report}", missed.count, missed.elements))
            }
            _ => first.ok_or_else(|| "no case was asked for".to_owned()),
        }
    }

    fn case(&self, seed: u64, case: usize, missed: &mut Missed) -> Result<Cost, String> {
        let (params, name) = (self.subject.params(), self.subject.name());
        let inputs = self.inputs(seed, case)?;
        let in_case = |what: &str, text: String| format!("`{name}`, seed {seed}, case {case}: {what}: {text}");
        let mut native = inputs.clone();
        self.subject.native(&mut native).map_err(|e| in_case("native", e))?;
        let mut simulated = inputs.clone();
        let cost = self.subject.simulate(&mut simulated).map_err(|e| in_case("simulator", e))?;
        let mut opinions =
            vec![Opinion { name: "native", arguments: native }, Opinion { name: "simulator", arguments: simulated }];
        let mut outputs: Vec<&str> = params.iter().filter(|p| is_output(&p.ty)).map(|p| p.name.as_str()).collect();
        let mut found = compare(&outputs, &opinions);
        if !self.expected.is_empty() {
            outputs.retain(|output| self.expected.iter().any(|(name, _)| name == output));
        }
        let mut golden = inputs.clone();
        match self.golden(&params, &mut golden)? {
            ReferenceRun::None => {}
            ReferenceRun::Failed(error) => return Err(in_case("reference", error)),
            ReferenceRun::Missing => {
                return Err(format!(
                    "`{name}` names no reference\n  help: `#[kernel(reference = path)]`, or `#[no_reference(\"why\")]`"
                ));
            }
            ReferenceRun::Done => {
                opinions.push(Opinion { name: "reference", arguments: golden });
                missed.elements += outputs.iter().filter_map(|y| Some(inputs.tensor(y)?.len())).sum::<usize>();
                let agreed = found.is_none();
                found = compare(&outputs, &opinions);
                if let (true, Some(bar)) = (agreed, self.bar)
                    && let Some(m) = found.take_if(|m| m.largest.0 <= bar.by)
                {
                    missed.count += m.count;
                    if missed.report.is_none() {
                        missed.report = Some(self.report(m, &inputs, (seed, case)).to_string());
                    }
                }
            }
        }
        match found {
            None => Ok(cost),
            Some(mismatch) => Err(self.report(mismatch, &inputs, (seed, case)).to_string()),
        }
    }

    /// What the reference gives, or what is expected.
    fn golden(&self, params: &[Param], golden: &mut Arguments) -> Result<ReferenceRun, String> {
        if self.expected.is_empty() {
            return Ok(self.subject.reference(golden));
        }
        for (name, bytes) in &self.expected {
            golden.set(name, self.argument(params, name, bytes)?);
        }
        Ok(ReferenceRun::Done)
    }

    fn argument(&self, params: &[Param], name: &str, bytes: &[u8]) -> Result<Argument, String> {
        let of = self.subject.name();
        match params.iter().find(|param| param.name == name).map(|param| &param.ty) {
            Some(ParamType::Tensor(ty)) => ty.argument(bytes).map_err(|error| format!("`{of}`: `{name}`: {error}")),
            _ => Err(format!("`{of}` has no tensor `{name}`")),
        }
    }

    /// The arguments of a case.
    fn inputs(&self, seed: u64, case: usize) -> Result<Arguments, String> {
        let (params, name) = (self.subject.params(), self.subject.name());
        let mut given = self.given.clone();
        for (name, bytes) in &self.bytes {
            given.set(name, self.argument(&params, name, bytes)?);
        }
        let inputs = arguments(&params, &given, Fill::of_case(case), seed.wrapping_add(case as u64 * 7919)).map_err(
            |missing| {
                let names = missing.join("`, `");
                format!("`{name}`: no value for `{names}`\n  help: give one, `.with(\"{}\", 3)`", missing[0])
            },
        )?;
        inputs.check(&params).map_err(|error| format!("`{name}`: {error}"))?;
        Ok(inputs)
    }

    fn report(&self, mismatch: Mismatch, inputs: &Arguments, case: (u64, usize)) -> Report {
        // A report without an origin is better than none.
        let origin = self.subject.origin(inputs, &mismatch.output, mismatch.first).ok().flatten();
        let scalars = inputs.iter().filter_map(|(name, argument)| Some((name.to_owned(), scalar_text(argument)?)));
        Report {
            kernel: self.subject.name(),
            target: self.subject.target(),
            step: self.steps.iter().find(|(output, _)| *output == mismatch.output).map(|(_, step)| *step),
            mismatch,
            origin,
            case,
            scalars: scalars.collect(),
        }
    }
}

impl Bar {
    /// How many of so many elements may differ.
    fn allowed(&self, elements: usize) -> u64 {
        if self.by == 0 { 0 } else { (elements as u64 / self.one_in.max(1)).max(1) }
    }

    /// Whether so many differences are within it.
    pub(super) fn allows(&self, m: &Mismatch) -> bool {
        m.largest.0 <= self.by && m.count as u64 <= self.allowed(m.dims.iter().product())
    }
}

/// Elements that differ from the reference by no more than the bar.
#[derive(Default)]
struct Missed {
    elements: usize,
    count: usize,
    /// Of the first case that has some.
    report: Option<String>,
}

fn is_output(ty: &ParamType) -> bool {
    match ty {
        ParamType::Tensor(ty) => ty.access == Access::Write,
        ParamType::Array(of, _) => is_output(of),
        ParamType::Tuple(types) => types.iter().any(is_output),
        ParamType::Scale | ParamType::Scalar(_) => false,
    }
}

fn scalar_text(argument: &Argument) -> Option<String> {
    match argument {
        Argument::Scale(scale) => Some(format!("{} * 2^{}", scale.mantissa, -scale.shift)),
        Argument::Scalar(value) => Some(value.to_string()),
        Argument::List(list) => {
            let texts: Option<Vec<String>> = list.iter().map(scalar_text).collect();
            Some(format!("({})", texts?.join(", ")))
        }
        Argument::Tensor(_) | Argument::Stream { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{ElemType, HostTensor, LayoutType, Memory, TensorType};
    use crate::tensor::Kind;

    /// `y = x`, but for what it is told to get wrong.
    #[derive(Clone)]
    struct Copy {
        simulated: fn(usize, i64) -> i64,
        reference: Option<fn(usize, i64) -> i64>,
    }

    fn write(arguments: &mut Arguments, f: fn(usize, i64) -> i64) {
        let x = arguments.tensor("x").expect("a tensor").clone();
        let (lo, hi) = ElemType::I8.range();
        arguments.set("y", HostTensor::from_fn(x.elem(), x.dims(), |i| f(i, x.get(i)).clamp(lo, hi)));
    }

    impl Subject for Copy {
        fn name(&self) -> String {
            "copy".into()
        }
        fn target(&self) -> String {
            "QC-U".into()
        }
        fn params(&self) -> Vec<Param> {
            let layout = LayoutType { kind: Kind::Planar, dims: [1, 20, 30] };
            let ty = |access| ParamType::Tensor(TensorType { memory: Memory::Ocm, elem: ElemType::I8, layout, access });
            vec![Param { name: "x".into(), ty: ty(Access::Read) }, Param { name: "y".into(), ty: ty(Access::Write) }]
        }
        fn native(&self, arguments: &mut Arguments) -> Result<(), String> {
            write(arguments, |_, v| v);
            Ok(())
        }
        fn simulate(&self, arguments: &mut Arguments) -> Result<Cost, String> {
            write(arguments, self.simulated);
            let (kernel, target) = (self.name(), self.target());
            let (classes, engines) = (Vec::new(), Vec::new());
            Ok(Cost { kernel, target, total: 7, classes, engines, lrm_peak_bytes: 0, ocm_peak_bytes: 0 })
        }
        fn origin(&self, _: &Arguments, _: &str, element: usize) -> Result<Option<Origin>, String> {
            let pe = Some((element / 30, (element % 30) as i32));
            Ok(Some(Origin { pc: 1, cycle: 2, pe, line: None, operations: Vec::new() }))
        }
        fn probes(&self, _: &Arguments) -> Result<Probed, String> {
            Ok(Probed::default())
        }
        fn reference(&self, arguments: &mut Arguments) -> ReferenceRun {
            match self.reference {
                None => ReferenceRun::Missing,
                Some(f) => {
                    write(arguments, f);
                    ReferenceRun::Done
                }
            }
        }
    }

    const SAME: fn(usize, i64) -> i64 = |_, v| v;

    #[test]
    fn agreement_gives_the_cost() {
        assert_eq!(check(&Copy { simulated: SAME, reference: Some(SAME) }).total, 7);
    }

    #[test]
    fn a_simulator_that_differs_is_reported_with_its_pe() {
        let wrong: fn(usize, i64) -> i64 = |i, v| if i == 65 { v - 1 } else { v };
        let copy = Copy { simulated: wrong, reference: Some(SAME) };
        let text = Check::new(&copy).try_run().expect_err("they differ");
        assert!(text.contains("1 of 600 elements of `y` differ"), "{text}");
        assert!(text.contains("[0, 2, 5], PE (row 2, column 5)"), "{text}");
        assert!(text.contains("native and reference agree, simulator differs"), "{text}");
        assert!(text.contains("CCL_SEED=1 CCL_CASE=0"), "{text}");
    }

    #[test]
    fn a_reference_may_be_missed_by_the_bar_and_no_more() {
        let near: fn(usize, i64) -> i64 = |i, v| if i == 3 { v ^ 1 } else { v };
        let copy = Copy { simulated: SAME, reference: Some(near) };
        assert!(Check::new(&copy).try_run().is_err());
        assert!(Check::new(&copy).within(Bar { by: 1, one_in: 100_000 }).cases(1).try_run().is_ok());
        assert!(Check::new(&copy).within(Bar { by: 1, one_in: 100_000 }).try_run().is_err(), "one in each case");
        let two: fn(usize, i64) -> i64 = |i, v| if i < 2 { v ^ 1 } else { v };
        let copy = Copy { simulated: SAME, reference: Some(two) };
        assert!(Check::new(&copy).within(Bar { by: 1, one_in: 100_000 }).try_run().is_err());
        assert!(Check::new(&copy).within(Bar { by: 1, one_in: 300 }).try_run().is_ok());
    }

    #[test]
    fn expected_bytes_take_the_place_of_a_reference() {
        let copy = Copy { simulated: SAME, reference: None };
        let (zeros, mut wrong) = (vec![0; 600], vec![0; 600]);
        wrong[599] = 1;
        let given = Check::new(&copy).with_bytes("x", &zeros).cases(1);
        assert_eq!(given.clone().expect_bytes("y", &zeros).run().total, 7);
        let text = given.clone().expect_bytes("y", &wrong).try_run().expect_err("the last element differs");
        assert!(text.contains("1 of 600 elements of `y` differ"), "{text}");
        let text = given.clone().expect_bytes("y", &zeros[1..]).try_run().expect_err("too few");
        assert!(text.contains("`copy`: `y`"), "{text}");
        let text = given.expect_bytes("z", &zeros).try_run().expect_err("no such output");
        assert!(text.contains("`copy` has no tensor `z`"), "{text}");
    }

    #[test]
    fn a_kernel_without_a_reference_says_why() {
        let text = Check::new(&Copy { simulated: SAME, reference: None }).try_run().expect_err("nothing is named");
        assert!(text.contains("names no reference") && text.contains("no_reference"), "{text}");
    }
}
