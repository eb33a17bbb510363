//! The instruction table: one row an instruction. Encoder, decoder, assembler, disassembler, cost look-up, the execution
//! trait and `docs/isa.md` are derived from it; opcodes are explicit, so a new row renumbers none.
//!
//! A row: prose; `opcode mnemonic = Variant { field: Operand, .. }, class Class, cost parameter;`. Operands fill the
//! word from bit 0 upwards in the order written, the opcode stands in bits 56..64.
//!
//! The rule of the table: no instruction does more per PE and cycle than two 32-bit reads of local memory, one write and
//! one 32-bit operation, or one MAC step. A row that needs hardware beyond that says which.

/// Hands the table to `$consume`.
macro_rules! for_each_inst {
    ($consume:ident) => {
        $consume! {
            // ---- control; opcode 0x00 stays illegal, so that zeroed memory is no program ----
            /// Ends the program. Every transfer must have been retired.
            0x01 halt = Halt { }, class Compute, cost idle;
            /// Does nothing.
            0x02 nop = Nop { }, class Compute, cost idle;
            /// Continues at `to`.
            0x03 jump = Jump { to: CodeAddr }, class Predication, cost branch_taken;
            /// Continues at `to` if `a cond b`; otherwise costs `branch_not_taken`. May not leave the body of a hardware loop.
            0x04 branch = Branch { cond: Cond, a: SReg, b: SSrc16, to: CodeAddr }, class Predication, cost branch_taken;
            /// Continues at `to`; `ret` comes back behind this instruction.
            0x05 call = Call { to: CodeAddr }, class Predication, cost branch_taken;
            /// Returns from the innermost call.
            0x06 ret = Ret { }, class Predication, cost branch_taken;
            /// Hardware loop: the instructions up to `end` (exclusive) run `trips` times; 0 skips them.
            0x07 loop_i = LoopI { trips: Trips, end: CodeAddr }, class Predication, cost loop_setup;
            /// As `loop_i`, trips from a scalar register; 0 or less skips the body.
            0x08 loop_s = LoopS { trips: SReg, end: CodeAddr }, class Predication, cost loop_setup;
            /// Stops the run as failed, with the message `name`.
            0x09 trap = Trap { name: NameId }, class Predication, cost idle;

            // ---- scalar ----
            /// `dst = a`.
            0x10 s_mov = SMov { dst: SReg, a: SSrc }, class Compute, cost scalar;
            /// `dst = a + b`, wrapping.
            0x11 s_add = SAdd { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = a - b`, wrapping.
            0x12 s_sub = SSub { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = low32(a * b)`.
            0x13 s_mul = SMul { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Bitwise and.
            0x14 s_and = SAnd { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Bitwise or.
            0x15 s_or = SOr { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Bitwise exclusive or.
            0x16 s_xor = SXor { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = a << (b & 31)`.
            0x17 s_shl = SShl { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = a >> (b & 31)`, zeros shifted in.
            0x18 s_shr = SShr { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = a >> (b & 31)`, the sign shifted in.
            0x19 s_sar = SSar { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Signed minimum.
            0x1a s_min = SMin { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Signed maximum.
            0x1b s_max = SMax { dst: SReg, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// `dst = 1` if `a cond b`, else 0.
            0x1c s_set = SSet { dst: SReg, cond: Cond, a: SReg, b: SSrc }, class Compute, cost scalar;
            /// Loads the aligned 32-bit word of on-chip memory at `base + offset`; usable after `scalar_load_latency`.
            0x1d s_load = SLoad { dst: SReg, base: SReg, offset: SSrc }, class DataOcm, cost scalar_load;

            // ---- predicates ----
            /// Pushes the enable bit; PEs whose predicate bit is clear are disabled.
            0x30 p_push = PPush { }, class Predication, cost predicate;
            /// Enables those PEs that were enabled at the innermost push and are disabled now, and disables the others.
            0x31 p_else = PElse { }, class Predication, cost predicate;
            /// Restores the enable bit of the innermost push.
            0x32 p_pop = PPop { }, class Predication, cost predicate;
            /// Disables the PEs whose predicate bit is set; the stack stays.
            0x33 p_disable = PDisable { }, class Predication, cost predicate;
            /// Enables every PE; the stack stays.
            0x34 p_enable = PEnable { }, class Predication, cost predicate;
            /// `dst = 1` if the predicate bit of any enabled PE of the array (not the border) is set, else 0; usable after
            /// `any_latency`.
            0x35 p_any = PAny { dst: SReg }, class Predication, cost any;

            // ---- array ALU: every enabled PE, the border columns too ----
            /// `dst = a`.
            0x40 mov = Mov { dst: Dst, a: Src }, class Compute, cost alu;
            /// `dst = a + b`, wrapping.
            0x41 add = Add { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = a - b`, wrapping.
            0x42 sub = Sub { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Bitwise and.
            0x43 and = And { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Bitwise or.
            0x44 or = Or { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Bitwise exclusive or.
            0x45 xor = Xor { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = a << (b & 31)`.
            0x46 shl = Shl { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = a >> (b & 31)`, zeros shifted in.
            0x47 shr = Shr { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = a >> (b & 31)`, the sign shifted in.
            0x48 sar = Sar { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Signed minimum.
            0x49 min = Min { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Signed maximum.
            0x4a max = Max { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// Absolute value; -2^31 stays.
            0x4b abs = Abs { dst: Dst, a: Src }, class Compute, cost alu;
            /// `dst = min(max(a, lo), hi)`.
            0x4c clip = Clip { dst: Dst, a: Src, lo: Bound, hi: Bound }, class Compute, cost alu;
            /// The predicate bit becomes `a cond b`; disabled PEs keep theirs.
            0x4d cmp = Cmp { cond: Cond, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = 1` if `a cond b`, else 0.
            0x4e set = Set { cond: Cond, dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = a` where the predicate bit is set, else `b`.
            0x4f sel = Sel { dst: Dst, a: Src, b: Src }, class Compute, cost alu;
            /// `dst = table[idx & (2^bits - 1)]`, element width that of `table`. The index and the element are the two reads;
            /// `idx` may be local memory, the element's address is the operation.
            0x50 lut = Lut { dst: Dst, idx: Src, table: Lrm, bits: TableBits }, class Compute, cost alu;
            /// `dst = low32((a * b) >> shift)`: 64-bit product, arithmetic shift (left if negative), no rounding.
            0x51 fx_mul = FxMul { dst: Dst, a: Src, b: Src, shift: Shift }, class Compute, cost fx_mul;
            /// `dst = low32((a << frac) / b)` in 64 bit, truncating toward zero. A zero divisor in an enabled PE of the
            /// array stops the run; in the border `dst` stays.
            0x52 fx_div = FxDiv { dst: Dst, a: Src, b: Src, frac: Frac }, class Compute, cost fx_div;
            /// `dst = round(exp(a / 2^from) * 2^to)`, correctly rounded, saturated to 32 bit; usable after
            /// `transcendental_latency`. Needs a pipelined exponential unit beside the ALU.
            0x53 exp = Exp { dst: Dst, a: Src, from: Frac, to: Frac }, class Compute, cost transcendental;
            /// `dst = round(ln(a / 2^from) * 2^to)`, correctly rounded, saturated to 32 bit; -2^31 for a <= 0; usable after
            /// `transcendental_latency`. Needs a pipelined logarithm unit beside the ALU.
            0x54 log = Log { dst: Dst, a: Src, from: Frac, to: Frac }, class Compute, cost transcendental;
            /// As `exp`, iterated in the ALU: blocking, usable at once.
            0x55 exp_iter = ExpIter { dst: Dst, a: Src, from: Frac, to: Frac }, class Compute, cost exp_iter;

            // ---- neighbours ----
            /// Every enabled PE writes `a` to the facing ports of the neighbours `to`: what goes east is read as `port.w`.
            /// A port on the outer edge, where no neighbour is, reads 0.
            0x60 send = Send { to: Dirs, a: Src }, class DataArray, cost hop;

            // ---- MAC: every enabled PE of the array, not the border; pops weights from the broadcast queue ----
            /// 8 x 8 bit: `a` is 16 bytes at a multiple of 16 (`dot`), a word (`mat4`) or a byte (`outer`); 16 int8 weights.
            0x68 mac8 = Mac8 { shape: MacShape, acc: Acc, a: Lrm }, class Mac, cost mac8;
            /// 16 x 8 bit: `a` is 32 bytes at a multiple of 16 (`dot`), 8 bytes at a multiple of 4 (`mat4`) or a half-word
            /// (`outer`); 16 int8 weights.
            0x69 mac16x8 = Mac16x8 { shape: MacShape, acc: Acc, a: Lrm }, class Mac, cost mac16x8;
            /// 16 x 16 bit: as `mac16x8` with 16 int16 weights, two entries of the queue.
            0x6a mac16 = Mac16 { shape: MacShape, acc: Acc, a: Lrm }, class Mac, cost mac16;

            // ---- engines ----
            /// Sets every field of a descriptor to 0.
            0x80 d_clear = DClear { desc: DReg }, class Compute, cost scalar;
            /// Sets one field. Engines latch the descriptor when they are started.
            0x81 d_set = DSet { desc: DReg, field: Field, value: SSrc }, class Compute, cost scalar;
            /// Starts a flow from on-chip memory into the array.
            0x82 flow_in = FlowIn { desc: DReg, token: Token }, class DataOcm, cost engine_start;
            /// Starts a flow from the array into on-chip memory. With a ring, a buffer leaves once it has been pushed.
            0x83 flow_out = FlowOut { desc: DReg, token: Token }, class DataOcm, cost engine_start;
            /// Starts a broadcast stream into the queue, behind those already started.
            0x84 bcast = Bcast { desc: DReg, token: Token }, class DataOcm, cost engine_start;
            /// Random reads: each enabled PE whose index is in 0..limit receives its element; an enabled PE with another
            /// index receives 0, and its valid word is 0 instead of 1.
            0x85 rau_load = RauLoad { desc: DReg, token: Token }, class DataOcm, cost engine_start;
            /// Random writes of each enabled PE whose index is in 0..limit; of equal indices the highest row, then column, stays.
            0x86 rau_store = RauStore { desc: DReg, token: Token }, class DataOcm, cost engine_start;
            /// Starts a transfer from external to on-chip memory, where its rows may not overlap.
            0x87 dma_in = DmaIn { desc: DReg, token: Token }, class DataExternal, cost engine_start;
            /// Starts a transfer from on-chip to external memory, where its rows may not overlap.
            0x88 dma_out = DmaOut { desc: DReg, token: Token }, class DataExternal, cost engine_start;
            /// Stalls until the tiles have landed (left) and retires them; the rest of the transfer stays in flight. The token
        /// is free when everything is retired and, of an inbound ring, every buffer released.
            0x89 wait = Wait { token: Token, tiles: Tiles }, class DataOcm, cost engine_sync;
            /// As `wait`, the count from a scalar register.
            0x8a wait_s = WaitS { token: Token, tiles: SReg }, class DataOcm, cost engine_sync;
            /// Gives the oldest buffer of an inbound ring back to its flow.
            0x8b release = Release { token: Token }, class DataOcm, cost engine_sync;
            /// Hands the next buffer of an outbound ring to its flow.
            0x8c push = Push { token: Token }, class DataOcm, cost engine_sync;
            /// Waits for every transfer of the named engines and retires it.
            0x8d drain = Drain { engines: Engines }, class DataOcm, cost engine_sync;

            // ---- markers: beside the instruction stream ----
            /// Enters a region of the profile.
            0xf0 region = Region { name: NameId }, class Compute, cost marker;
            /// Leaves the innermost region.
            0xf1 region_end = RegionEnd { }, class Compute, cost marker;
            /// Records a per-PE value under a name, if probes are on.
            0xf2 probe = Probe { name: NameId, a: Src }, class Compute, cost marker;
            /// Stops the run if the value is 0 in any enabled PE of the array, if assertions are on.
            0xf3 assert = Assert { name: NameId, a: Src }, class Compute, cost marker;
        }
    };
}
pub(crate) use for_each_inst;
