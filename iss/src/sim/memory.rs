//! On-chip and external memory: flat bytes with bounds, the external one grown on demand up to a limit.

use super::trap::{Memory, TrapCause};

/// A byte memory of a fixed or bounded size.
#[derive(Debug)]
pub struct ByteMemory {
    kind: Memory,
    bytes: Vec<u8>,
}

impl ByteMemory {
    /// Zeroed memory of `size` bytes. The host's pages are only touched when used.
    pub fn new(kind: Memory, size: usize) -> Self {
        Self { kind, bytes: vec![0; size] }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Checks that `len` bytes at `address` exist.
    pub fn check(&self, address: i64, len: u64) -> Result<(), TrapCause> {
        let size = self.size();
        let inside = address >= 0 && (address as u64).checked_add(len).is_some_and(|end| end <= size);
        if inside { Ok(()) } else { Err(TrapCause::Address { memory: self.kind, address, bytes: len, size }) }
    }

    /// `len` bytes at a checked address.
    pub fn slice(&self, address: u64, len: usize) -> &[u8] {
        &self.bytes[address as usize..][..len]
    }

    /// `len` bytes at a checked address, to write.
    pub fn slice_mut(&mut self, address: u64, len: usize) -> &mut [u8] {
        &mut self.bytes[address as usize..][..len]
    }

    /// The aligned little-endian word at a checked address.
    pub fn word(&self, address: u64) -> i32 {
        i32::from_le_bytes(self.slice(address, 4).try_into().expect("four bytes"))
    }
}
