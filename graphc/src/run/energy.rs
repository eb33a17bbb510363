//! What a run may take of energy: an estimate from counts of the simulator and published energies of single operations.
//!
//! The machine's own figures are not public. Whoever knows better ones gives them; counts stay as they are.

use std::str::FromStr;

use iss::isa::Class;
use iss::isa::operand::Engine;
use iss::profile::Table;
use serde::{Deserialize, Serialize};

use crate::run::report::Machine;

/// Bytes of local memory that an operation on 32-bit words touches: two words read, one written.
const BYTES_OF_OPERATION: u64 = 12;

/// What is counted, an event of it in pJ, and where that figure is from.
struct Parameter {
    name: &'static str,
    event: &'static str,
    pj: f64,
    source: &'static str,
}

/// All at 45 nm and 0.9 V: a newer process takes less, wires and control more.
const PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "mac",
        event: "int8 product added to a 32-bit sum",
        pj: 0.3,
        source: "Horowitz, ISSCC 2014: 8-bit multiplication 0.2 pJ, 32-bit addition 0.1 pJ",
    },
    Parameter {
        name: "operation",
        event: "32-bit operation of a PE",
        pj: 0.1,
        source: "Horowitz, ISSCC 2014: 32-bit addition 0.1 pJ",
    },
    Parameter {
        name: "local",
        event: "byte of a PE's memory",
        pj: 1.25,
        source: "Horowitz, ISSCC 2014: 64 bits of an SRAM of 8 KB 10 pJ",
    },
    Parameter {
        name: "on-chip",
        event: "byte of on-chip memory",
        pj: 12.5,
        source: "Horowitz, ISSCC 2014: 64 bits of an SRAM of 1 MB 100 pJ",
    },
    Parameter {
        name: "external",
        event: "byte of external memory",
        pj: 162.5,
        source: "Horowitz, ISSCC 2014: 64 bits of a DRAM 1.3 nJ at least",
    },
];

/// An estimate for a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Energy {
    /// mJ, the sum of the parts.
    pub total_mj: f64,
    /// What it is made of.
    pub parts: Vec<EnergyPart>,
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnergyPart {
    /// Its name.
    pub name: String,
    /// What an event is.
    pub event: String,
    /// Events.
    pub count: u64,
    /// pJ of one.
    pub pj: f64,
    /// mJ of all.
    pub mj: f64,
    /// Where `pj` is from.
    pub source: String,
}

/// A figure that replaces a published one: `NAME=PJ`.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyOfEvent {
    name: &'static str,
    pj: f64,
}

impl Energy {
    /// An estimate from the tables of all entry points of a run.
    pub fn of<'a>(tables: impl Iterator<Item = &'a Table>, machine: &Machine) -> Self {
        let pes = u64::from(machine.rows) * u64::from(machine.cols);
        let mut counts = [0_u64; PARAMETERS.len()];
        for table in tables {
            let bytes = |engine| table.engine(engine).bytes;
            let external = bytes(Engine::DmaIn) + bytes(Engine::DmaOut);
            let flows = bytes(Engine::FlowIn) + bytes(Engine::FlowOut) + bytes(Engine::Rau);
            let operations = table.class(Class::Compute).issue_cycles * pes;
            let local = table.mac_products + BYTES_OF_OPERATION * operations + flows;
            let on_chip = flows + bytes(Engine::Broadcast) + external;
            for (count, own) in counts.iter_mut().zip([table.mac_products, operations, local, on_chip, external]) {
                *count += own;
            }
        }
        let part = |(p, count): (&Parameter, u64)| EnergyPart {
            name: p.name.to_owned(),
            event: p.event.to_owned(),
            count,
            pj: p.pj,
            mj: 0.0,
            source: p.source.to_owned(),
        };
        let mut energy = Self { total_mj: 0.0, parts: PARAMETERS.iter().zip(counts).map(part).collect() };
        energy.add_up();
        energy
    }

    /// The estimate with other figures.
    pub fn replace(&mut self, figures: &[EnergyOfEvent]) {
        for figure in figures {
            for part in self.parts.iter_mut().filter(|part| part.name == figure.name) {
                part.pj = figure.pj;
                part.source = "given".to_owned();
            }
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        for part in &mut self.parts {
            part.mj = part.count as f64 * part.pj / 1e9;
        }
        self.total_mj = self.parts.iter().map(|part| part.mj).sum();
    }
}

impl FromStr for EnergyOfEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = PARAMETERS.map(|p| p.name);
        let wanted = || format!("expected NAME=PJ, the name one of {}", names.join(", "));
        let (name, pj) = text.split_once('=').ok_or_else(wanted)?;
        let name = names.into_iter().find(|own| *own == name.trim()).ok_or_else(wanted)?;
        let pj: f64 = pj.trim().parse().map_err(|_| format!("`{pj}` is no number of pJ"))?;
        if !(0.0..=1e9).contains(&pj) {
            return Err(format!("{pj} pJ: expected 0 to 1e9"));
        }
        Ok(Self { name, pj })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iss::profile::{ClassUse, EngineUse};
    use iss::target::QC_U;

    use super::*;

    fn table() -> Table {
        let engine = |bytes| EngineUse { bytes, ..EngineUse::default() };
        Table {
            cycles: 100,
            classes: BTreeMap::from([(Class::Compute, ClassUse { issue_cycles: 10, ..ClassUse::default() })]),
            mac_products: 1_000,
            engines: BTreeMap::from([
                (Engine::FlowIn, engine(64)),
                (Engine::Broadcast, engine(32)),
                (Engine::DmaIn, engine(128)),
            ]),
        }
    }

    #[test]
    fn counts_by_hand() {
        let (table, machine) = (table(), Machine::of(&QC_U));
        let energy = Energy::of([&table, &table].into_iter(), &machine);
        let counts: Vec<u64> = energy.parts.iter().map(|part| part.count).collect();
        assert_eq!(counts, [2_000, 20_480, 2_000 + 12 * 20_480 + 128, 2 * (64 + 32 + 128), 256]);
        let by_hand = 2_000.0 * 0.3 + 20_480.0 * 0.1 + 247_888.0 * 1.25 + 448.0 * 12.5 + 256.0 * 162.5;
        assert!((energy.total_mj - by_hand / 1e9).abs() < 1e-15, "{energy:?}");
    }

    #[test]
    fn figures_of_ones_own() {
        let mut energy = Energy::of([&table()].into_iter(), &Machine::of(&QC_U));
        let before = energy.total_mj;
        energy.replace(&["external=0".parse().unwrap()]);
        assert!((before - energy.total_mj - 128.0 * 162.5 / 1e9).abs() < 1e-15);
        assert_eq!(energy.parts[4].source, "given");
        for (text, says) in
            [("mac", "NAME=PJ"), ("adc=1", "one of mac"), ("mac=x", "no number"), ("mac=-1", "0 to 1e9")]
        {
            let error = text.parse::<EnergyOfEvent>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
