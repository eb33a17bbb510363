//! What `probe!` shows of a kernel, natively and on the simulator.

use std::fmt;

use crate::native::Probe;

/// The probes of both opinions about one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// Natively, in the order of the text.
    pub native: Vec<Probe>,
    /// On the simulator, in the order of the program: pipelining may show a later trip first.
    pub simulated: Vec<Probe>,
}

impl Probed {
    /// Pairs of the same probe, in the order of the text; `None` where only one side has it.
    pub fn pairs(&self) -> Vec<(Option<&Probe>, Option<&Probe>)> {
        let mut left: Vec<&Probe> = self.simulated.iter().collect();
        let mut pairs: Vec<_> = self
            .native
            .iter()
            .map(|native| {
                let at = left.iter().position(|probe| probe.name == native.name);
                (Some(native), at.map(|at| left.remove(at)))
            })
            .collect();
        pairs.extend(left.into_iter().map(|probe| (None, Some(probe))));
        pairs
    }

    /// Whether both show the same grids.
    pub fn agree(&self) -> bool {
        self.pairs().iter().all(|(native, simulated)| same(*native, *simulated))
    }
}

/// Values of disabled PEs are not shown and not compared.
fn same(a: Option<&Probe>, b: Option<&Probe>) -> bool {
    a.map(Probe::to_string) == b.map(Probe::to_string)
}

/// Each grid once where both agree, else that of each.
impl fmt::Display for Probed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pairs().iter().try_for_each(|(native, simulated)| match (native, simulated) {
            (Some(native), Some(_)) if same(Some(native), *simulated) => write!(f, "{native}"),
            _ => {
                let of = |probe: &Option<&Probe>| probe.map_or_else(|| "nothing\n".to_owned(), Probe::to_string);
                write!(f, "native: {}simulator: {}", of(native), of(simulated))
            }
        })
    }
}
