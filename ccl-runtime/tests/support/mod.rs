//! What the tests share: running a module three ways, and a generator of well-typed modules.
#![allow(dead_code, reason = "each test uses a part")]

pub mod random;

use std::collections::BTreeMap;

use ccl_runtime::ir::{FuncKind, Module, Type, interp};
use ccl_runtime::lower::{Compiled, Options, compile};
use iss::image::Direction;
use iss::profile::Profile;
use iss::sim::{Arg, Simulator, Stopped};
use iss::target::Target;
use iss::testing::Rng;

/// Arguments by name.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub bytes: BTreeMap<String, Vec<u8>>,
    pub scalars: BTreeMap<String, i32>,
}

impl Args {
    pub fn with(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.bytes.insert(name.into(), bytes);
        self
    }
    /// Random arguments for the kernel of a module.
    pub fn random(m: &Module, kernel: &str, rng: &mut Rng) -> Self {
        let f = m.func(kernel).expect("the kernel is there");
        let mut args = Args::default();
        for p in &f.params {
            let name = f.name_of(p.id).to_owned();
            match f.ty(p.id) {
                Type::Ocm(n) | Type::Ext(n) if p.dir != Direction::Out => {
                    args.bytes.insert(name, rng.bytes(n as usize));
                }
                Type::Scalar => {
                    let (lo, hi) = p.range.unwrap_or((-100, 100));
                    args.scalars.insert(name, lo + rng.below((hi - lo + 1) as usize) as i32);
                }
                _ => {}
            }
        }
        args
    }
}

pub type Outputs = BTreeMap<String, Vec<u8>>;

pub fn interpret(m: &Module, kernel: &str, target: &Target, args: &Args) -> Result<Outputs, interp::InterpError> {
    let mut list: Vec<(&str, interp::Arg<'_>)> = Vec::new();
    list.extend(args.bytes.iter().map(|(n, b)| (n.as_str(), interp::Arg::Bytes(b))));
    list.extend(args.scalars.iter().map(|(n, v)| (n.as_str(), interp::Arg::Scalar(*v))));
    interp::run(m, kernel, target, &list).map(|o| o.buffers.into_iter().collect())
}

/// Runs a compiled kernel; panics with the trap.
pub fn simulate(c: &Compiled, m: &Module, kernel: &str, args: &Args) -> (Outputs, Profile) {
    let mut sim =
        Simulator::new(&c.image, iss::sim::Options { threads: Some(1), ..Default::default() }).expect("a simulator");
    let mut list: Vec<(&str, Arg<'_>)> = Vec::new();
    list.extend(args.bytes.iter().map(|(n, b)| (n.as_str(), Arg::Bytes(b))));
    list.extend(args.scalars.iter().map(|(n, v)| (n.as_str(), Arg::Scalar(*v))));
    sim.start(kernel, &list).expect("arguments fit");
    match sim.run().expect("it runs") {
        Stopped::Halt => {}
        other => {
            let text = iss::asm::disassemble(&c.image);
            panic!("{other:?}\n{text}");
        }
    }
    let f = m.func(kernel).expect("the kernel is there");
    let outs = f.params.iter().filter(|p| p.dir != Direction::In);
    let outs = outs.map(|p| (f.name_of(p.id).to_owned(), sim.buffer(f.name_of(p.id)).expect("a buffer").to_vec()));
    let profile = sim.profile().expect("a run was started");
    profile.check_sums().expect("cycles add up");
    (outs.collect(), profile)
}

#[track_caller]
pub fn parse(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[track_caller]
pub fn compiled(m: &Module, target: &Target) -> Compiled {
    compile(m, target, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{}", m.bare()))
}

/// The only kernel of a module.
pub fn kernel_name(m: &Module) -> String {
    m.funcs.iter().find(|f| f.kind == FuncKind::Kernel).expect("a kernel").name.clone()
}
