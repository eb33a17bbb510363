//! What a stall waited for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a stall waited for. Shown as `Stall[LOAD]` and so on; the two directions of DMA are counted apart and shown
/// alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StallCause {
    /// A flow into the array.
    Load = 0,
    /// A flow out of the array.
    Store = 1,
    /// A broadcast: an empty queue, or a stream too many.
    Broadcast = 2,
    /// The RAU.
    Rau = 3,
    /// A transfer from external memory.
    DmaRead = 4,
    /// A transfer to external memory.
    DmaWrite = 5,
    /// A scalar that is not there yet: scalar load, any-PE test.
    Scalar = 6,
    /// The result of `exp` or `log`.
    Latency = 7,
}

impl StallCause {
    /// Every cause in the order of the tables.
    pub const ALL: [StallCause; 8] = [
        StallCause::Load,
        StallCause::Store,
        StallCause::Broadcast,
        StallCause::Rau,
        StallCause::DmaRead,
        StallCause::DmaWrite,
        StallCause::Scalar,
        StallCause::Latency,
    ];

    /// The word in JSON; unlike the shown name, each cause has its own.
    pub const fn word(self) -> &'static str {
        ["load", "store", "broadcast", "rau", "dma_read", "dma_write", "scalar", "latency"][self as usize]
    }

    /// The name in tables and the timeline.
    pub const fn shown(self) -> &'static str {
        match self {
            StallCause::Load => "Stall[LOAD]",
            StallCause::Store => "Stall[STORE]",
            StallCause::Broadcast => "Stall[BROADCAST]",
            StallCause::Rau => "Stall[RAU]",
            StallCause::DmaRead | StallCause::DmaWrite => "Stall[DMA]",
            StallCause::Scalar => "Stall[SCALAR]",
            StallCause::Latency => "Stall[LATENCY]",
        }
    }
}

impl fmt::Display for StallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.shown())
    }
}
