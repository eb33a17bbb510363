//! Programs of the benchmarks. They compute nothing of use, but at the shape of real kernels: blocks of accumulators, addresses
//! all over local memory, weights by broadcast.

use crate::builder::*;
use crate::image::Image;
use crate::target::QC_U;

fn build(body: impl FnOnce(&mut Program)) -> Image {
    let mut p = Program::new(&QC_U);
    p.entry("main");
    body(&mut p);
    p.halt();
    p.finish().unwrap_or_else(|error| panic!("a benchmark's program builds: {error}"))
}

/// Fills the words of local memory from `from` on with different numbers.
fn fill(p: &mut Program, from: u32, words: u32) {
    p.s_mov(s(0), from).fx_mul(acc(15), Src::QRow, 4099, 0).fx_mul(acc(14), Src::QCol, 1021, 0);
    p.add(acc(15), acc(15), acc(14));
    p.loop_n(words, |p| {
        p.fx_mul(acc(15), acc(15), 1117, 0).add(acc(15), acc(15), 257).mov(w(0).based(s(0)), acc(15));
        p.s_add(s(0), s(0), 4);
    });
}

/// Some `n_macs` steps of a 1 x 1 convolution over `channels` input channels, a multiple of 16 up to 2,048: 16 outputs at a
/// time, cleared, accumulated and stored as bytes.
pub fn mac_loop(channels: u32, n_macs: u32) -> Image {
    const BLOCK: u32 = 16;
    let blocks = n_macs.div_ceil(channels);
    build(|p| {
        fill(p, 0, channels / 4);
        p.broadcast(d(0), &BroadcastDesc::default().n0(channels).n1(blocks)).bcast(d(0), t(0));
        p.loop_n(blocks, |p| {
            (0..BLOCK).for_each(|n| _ = p.mov(acc(n), 0));
            for slot in 0..channels / 16 {
                (0..BLOCK).for_each(|n| _ = p.mac8(MacShape::Dot, acc(n), w(16 * slot)));
            }
            (0..BLOCK).for_each(|n| _ = p.mov(b(4080 + n), acc(n)));
        });
        p.wait(t(0), Tiles::All);
    })
}

/// An array ALU instruction of [`alu_loop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// Sum of two words.
    Add,
    /// Fixed-point product of two words.
    FxMul,
    /// Choice of two words.
    Sel,
    /// A byte of a table of 256 at the index in a byte.
    Lut,
}

impl Alu {
    /// All of them.
    pub const ALL: [Alu; 4] = [Alu::Add, Alu::FxMul, Alu::Sel, Alu::Lut];

    /// The mnemonic.
    pub const fn word(self) -> &'static str {
        match self {
            Alu::Add => "add",
            Alu::FxMul => "fx_mul",
            Alu::Sel => "sel",
            Alu::Lut => "lut",
        }
    }
}

/// Words of local memory that a short kernel works on: those of 64 PEs fit the host's innermost cache.
pub const NEAR: u32 = 64;
/// All words but those of the table.
pub const FAR: u32 = 960;

/// Some `n` instructions of a kind, sources and destinations spread over `words` of local memory, at most [`FAR`].
pub fn alu_loop(alu: Alu, n: u32, words: u32) -> Image {
    const BODY: u32 = 256;
    let table = b(0);
    build(|p| {
        fill(p, 0, 1024);
        p.cmp(Cond::Lt, Src::QCol, 13);
        p.loop_n(n.div_ceil(BODY), |p| {
            for i in 0..BODY {
                // The table keeps 256 bytes at 0.
                let [dst, a, b] = [i * 7, i * 13 + 1, i * 29 + 2].map(|word| w(256 + word % words * 4));
                match alu {
                    Alu::Add => p.add(dst, a, b),
                    Alu::FxMul => p.fx_mul(dst, a, b, 15),
                    Alu::Sel => p.sel(dst, a, b),
                    Alu::Lut => p.lut(dst, a, table, 8),
                };
            }
        });
    })
}

/// `n` flows of one int8 tile each, from all over 1 MB.
pub fn flow_loop(n: u32) -> Image {
    build(|p| {
        let flow = FlowDesc::full(&QC_U).width(1024).height(1024).row_pitch(1024);
        p.flow(d(0), &flow).s_mov(s(8), 0);
        p.loop_n(n, |p| {
            p.s_add(s(8), s(8), 32).s_and(s(8), s(8), 1023).d_set(d(0), Field::X0, s(8));
            p.flow_in(d(0), t(0)).wait(t(0), Tiles::All);
        });
    })
}

/// `n` flows of 64 int8 tiles each.
pub fn flow_walk(n: u32) -> Image {
    build(|p| {
        let flow = FlowDesc::full(&QC_U).width(32).height(32).row_pitch(32).plane_pitch(1024);
        p.flow(d(0), &flow.n0(64).dp0(1).lrm_step(1));
        p.loop_n(n, |p| _ = p.flow_in(d(0), t(0)).wait(t(0), Tiles::All));
    })
}

/// Some `n` array instructions in the proportions of a convolutional network: 20 % MACs, 25 % moves, 40 % of the ALU, 15 %
/// shifts and steps of a requantisation.
pub fn mixed(n: u32) -> Image {
    const BODY: u32 = 100;
    const MACS: u32 = 20;
    let trips = n.div_ceil(BODY);
    build(|p| {
        fill(p, 0, 1024);
        p.broadcast(d(0), &BroadcastDesc::default().n0(MACS).n1(trips)).bcast(d(0), t(0)).cmp(Cond::Lt, Src::QRow, 9);
        p.loop_n(trips, |p| {
            let word = |i: u32| w(1024 + i * 37 % 700 * 4);
            // Four outputs of 5 x 16 channels: 4 moves, 20 MACs.
            (0..4).for_each(|n| _ = p.mov(acc(n), word(n)));
            for slot in 0..MACS / 4 {
                (0..4).for_each(|n| _ = p.mac8(MacShape::Dot, acc(n), w(16 * slot)));
            }
            // Their requantisation: 12 steps, 4 moves.
            for n in 0..4 {
                p.fx_mul(acc(n), acc(n), word(n + 10), 20).sar(acc(n), acc(n), 2).clip(acc(n), acc(n), -128, 127);
                p.mov(b(512 + n), acc(n));
            }
            // 17 moves, 40 of the ALU, 3 shifts.
            for i in 0..17 {
                p.mov(word(i + 20), word(i + 50));
            }
            for i in 0..10 {
                p.add(word(i), word(i + 1), word(i + 2)).sub(word(i + 3), word(i), word(i + 4));
                p.max(word(i + 5), word(i + 6), word(i + 7)).sel(word(i + 8), word(i), word(i + 9));
            }
            (0..3).for_each(|i| _ = p.shl(word(i + 90), word(i + 91), 3));
        });
        p.wait(t(0), Tiles::All);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Class;
    use crate::profile::Profile;

    fn profile(image: &Image) -> Profile {
        let mut sim = crate::bench::started(image, 1).unwrap();
        sim.run().unwrap().into_result().unwrap();
        let profile = sim.profile().unwrap();
        profile.check_sums().unwrap();
        profile
    }

    #[test]
    fn programs_do_as_much_as_they_say() {
        assert_eq!(profile(&mac_loop(64, 640)).root.inclusive.class(Class::Mac).instructions, 640);
        for alu in Alu::ALL {
            assert!(profile(&alu_loop(alu, 512, NEAR)).root.inclusive.class(Class::Compute).instructions >= 512);
        }
        assert_eq!(profile(&flow_loop(40)).root.inclusive.engine(Engine::FlowIn).bytes, 40 * 1024);
        assert_eq!(profile(&flow_walk(2)).root.inclusive.engine(Engine::FlowIn).tiles, 128);
    }

    #[test]
    fn the_mix_has_its_proportions() {
        let [less, more] = [100, 1100].map(|n| profile(&mixed(n)).root.inclusive);
        let per_thousand = |class| more.class(class).instructions - less.class(class).instructions;
        assert_eq!([per_thousand(Class::Mac), per_thousand(Class::Compute)], [200, 800]);
    }
}
