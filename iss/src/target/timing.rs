//! The timing parameters of a target: one table, from which the struct, its documentation, its serialised form and the
//! cost page are derived. What an instruction charges is looked up here by [`Param`]; no cost lives anywhere else.

use serde::{Deserialize, Serialize};

/// Where a parameter's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Stated by a public document of the machine.
    Documented,
    /// Follows from published measurements (the calibration table).
    Inferred,
    /// Chosen by us; nothing public contradicts it.
    Free,
}

/// Hands the parameter table to `$consume`: `prose; name = default on QC-U, legal range, unit, standing;`.
macro_rules! for_each_param {
    ($consume:ident) => {
        $consume! {
            /// Scalar ALU operation, address arithmetic, one descriptor field.
            scalar = 1, 1..=64, "cycles", Free;
            /// Issue of a scalar load from on-chip memory.
            scalar_load = 1, 1..=64, "cycles", Free;
            /// From the issue of a scalar load until its register is usable; an earlier reader stalls.
            scalar_load_latency = 8, 1..=4096, "cycles", Free;
            /// Array ALU operation on every PE, back to back.
            alu = 1, 1..=64, "cycles", Inferred;
            /// 32 x 32 -> 64 bit fixed-point multiply on a PE with 16 MACs.
            fx_mul = 1, 1..=64, "cycles", Inferred;
            /// Extra cycles of `fx_mul` on a PE with 8 MACs.
            fx_mul_narrow_extra = 1, 0..=64, "cycles", Inferred;
            /// Fixed-point divide, blocking (calibration row 6).
            fx_div = 82, 1..=4096, "cycles", Inferred;
            /// Issue of `exp` or `log`.
            transcendental = 1, 1..=64, "cycles", Free;
            /// From the issue of `exp` or `log` until its result is usable; an earlier reader stalls.
            transcendental_latency = 4, 1..=4096, "cycles", Free;
            /// The older iterated exponential, blocking (calibration row 5).
            exp_iter = 20, 1..=4096, "cycles", Inferred;
            /// One step of 16 products, 8 x 8 bit, on a PE with 16 MACs; twice that with 8.
            mac8 = 1, 1..=64, "cycles", Inferred;
            /// One step of 16 products, 16 x 8 bit, on a PE with 16 MACs; twice that with 8.
            mac16x8 = 2, 1..=64, "cycles", Inferred;
            /// One step of 16 products, 16 x 16 bit, on a PE with 16 MACs; twice that with 8.
            mac16 = 4, 1..=64, "cycles", Inferred;
            /// Move of one register to the neighbours' ports.
            hop = 1, 1..=64, "cycles", Free;
            /// Predicate push, else, pop, disable, enable.
            predicate = 1, 1..=64, "cycles", Free;
            /// Issue of the any-PE test.
            any = 1, 1..=64, "cycles", Free;
            /// From the issue of the any-PE test until its scalar is usable; an earlier reader stalls.
            any_latency = 8, 1..=4096, "cycles", Free;
            /// Set-up of a hardware loop; an iteration costs nothing.
            loop_setup = 2, 0..=64, "cycles", Free;
            /// Taken branch, jump, call, return.
            branch_taken = 3, 1..=64, "cycles", Free;
            /// Branch that falls through.
            branch_not_taken = 1, 1..=64, "cycles", Free;
            /// Issue of an engine start (flow, broadcast, RAU, DMA).
            engine_start = 1, 1..=64, "cycles", Free;
            /// Issue of a wait, release, push or drain.
            engine_sync = 1, 1..=64, "cycles", Free;
            /// Markers (region, probe, assert) ride beside the instruction stream.
            marker = 0, 0..=64, "cycles", Free;
            /// `nop` and `halt`.
            idle = 1, 1..=64, "cycles", Free;

            /// From the start of a flow to its first beat.
            flow_start = 24, 0..=4096, "cycles", Inferred;
            /// Bytes of one aligned beat of a contiguous row.
            flow_beat = 32, 4..=512, "bytes", Inferred;
            /// Elements a cycle of a walk with a column stride over 1; 0: every beat of the whole span is paid instead.
            flow_strided = 4, 0..=512, "elements/cycle", Inferred;
            /// One dead cycle of the engine in so many; 0 and 1: none.
            flow_dead_cycle_in = 0, 0..=4096, "cycles", Inferred;
            /// Flows of one direction that may be started and unfinished; a further start stalls.
            flow_queue = 2, 1..=16, "flows", Documented;
            /// From the start of a broadcast to its first entry in the queue.
            broadcast_start = 8, 0..=4096, "cycles", Free;
            /// Depth of the broadcast queue in entries of 16 bytes.
            broadcast_queue = 8, 1..=256, "entries", Free;
            /// Broadcast streams that may be started and unfinished; a further start stalls.
            broadcast_streams = 2, 1..=16, "streams", Free;
            /// RAU: fixed cycles of each row with an active PE.
            rau_row = 3, 0..=4096, "cycles", Inferred;
            /// RAU: accesses of one row served a cycle.
            rau_accesses = 4, 1..=512, "accesses/cycle", Inferred;
            /// RAU: cycles after the last row.
            rau_tail = 4, 0..=4096, "cycles", Inferred;
            /// RAU: 1 if equal addresses of a row are served once, 0 if each active PE counts.
            rau_merges = 1, 0..=1, "flag", Inferred;
            /// DMA: from issue to the first word.
            dma_latency = 300, 0..=65536, "cycles", Free;
            /// DMA: bytes of a burst; a row is rounded up to whole bursts.
            dma_burst = 64, 4..=4096, "bytes", Free;
            /// DMA transfers of one direction that may be started and unfinished; a further start stalls.
            dma_queue = 16, 1..=64, "transfers", Free;
            /// Depth of the predicate stack.
            predicate_depth = 16, 1..=32, "entries", Free;
            /// Depth of the call stack.
            call_depth = 16, 1..=64, "entries", Free;
            /// Nesting of hardware loops.
            loop_depth = 2, 1..=8, "levels", Documented;
        }
    };
}

macro_rules! define_timing {
    ($( $(#[doc = $doc:literal])* $name:ident = $default:literal, $range:expr, $unit:literal, $standing:ident; )*) => {
        /// Cost and capacity parameters. Each field's last doc line gives its unit, its standing and its value on
        /// `QC-U`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Timing {
            $( $(#[doc = $doc])*
               ///
               #[doc = concat!("Unit: ", $unit, ". Standing: ", stringify!($standing), ". QC-U: ", stringify!($default), ".")]
               pub $name: u32, )*
        }
        impl Timing {
            /// The parameters of `QC-U`.
            pub const QC_U: Self = Self { $( $name: $default, )* };

            /// The value of one parameter.
            pub const fn get(&self, param: Param) -> u32 {
                match param { $( Param::$name => self.$name, )* }
            }

            /// Sets one parameter; the legal range is checked when the target is built.
            pub const fn set(&mut self, param: Param, value: u32) {
                match param { $( Param::$name => self.$name = value, )* }
            }
        }
        impl Default for Timing {
            fn default() -> Self { Self::QC_U }
        }

        /// The name of a parameter, as the instruction table and reports refer to it.
        #[allow(non_camel_case_types, reason = "the variants are the field names, so that each is written once")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Param { $( $(#[doc = $doc])* $name, )* }

        impl Param {
            /// Every parameter in table order.
            pub const ALL: &'static [Param] = &[ $( Param::$name, )* ];

            /// The parameter of that name.
            pub fn from_name(name: &str) -> Option<Param> {
                Self::ALL.iter().copied().find(|param| param.name() == name)
            }

            /// The field's name.
            pub const fn name(self) -> &'static str {
                match self { $( Param::$name => stringify!($name), )* }
            }
            /// The unit of the value.
            pub const fn unit(self) -> &'static str {
                match self { $( Param::$name => $unit, )* }
            }
            /// Where the value comes from.
            pub const fn standing(self) -> Standing {
                match self { $( Param::$name => Standing::$standing, )* }
            }
            /// The values a target may give it.
            pub const fn range(self) -> std::ops::RangeInclusive<u32> {
                match self { $( Param::$name => $range, )* }
            }
            /// What is said of a value outside the range where no value can be printed, at compile time.
            pub(super) const fn complaint(self) -> &'static str {
                match self {
                    $( Param::$name => concat!("target: `", stringify!($name), "` is outside ", stringify!($range)), )*
                }
            }
            /// One sentence on what it is.
            pub const fn prose(self) -> &'static str {
                match self { $( Param::$name => concat!($($doc),*).trim_ascii(), )* }
            }
        }
    };
}
for_each_param!(define_timing);
