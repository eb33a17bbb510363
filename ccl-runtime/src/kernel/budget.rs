//! What an instance needs against what its machine has, at compile time.

use super::instance::Kernel;
use super::text::Text;

/// Bytes of the local memory of every PE that are not for buffers: the compiler's temporaries, per-PE variables, operands of
/// the MAC unit. The front end counts buffers alone; the allocator promises to stay within the rest.
pub const LRM_RESERVE_BYTES: u64 = 256;

/// Stops the build where the buffers of `kernel` and the [reserve](LRM_RESERVE_BYTES) do not fit into the local memory of a PE.
/// `live` lists the buffers at the peak.
///
/// # Panics
/// At compile time, if they do not fit.
#[track_caller]
pub const fn check_lrm(kernel: Kernel, peak_bytes: u64, live: &str) {
    let room = (kernel.target.spec().lrm_bytes as u64).saturating_sub(LRM_RESERVE_BYTES);
    if peak_bytes <= room {
        return;
    }
    let text = needs(&kernel, peak_bytes, " bytes of local memory in every PE, ", room);
    let text = text.str(" of `").str(product(&kernel)).str("` (").number(kernel.target.spec().lrm_bytes as u64);
    let text = text.str(" without ").number(LRM_RESERVE_BYTES).str(" for temporaries) [C0602]").str(live);
    let help =
        "\nhelp: fetch fewer channels at a time (`chunks::<N>()`), or end a block before the next buffer is allocated";
    panic!("{}", text.str(help).as_str())
}

/// Stops the build where the tensors of `kernel` do not fit into the memory on the chip. `live` lists the tensors at the peak.
///
/// # Panics
/// At compile time, if they do not fit.
#[track_caller]
pub const fn check_ocm(kernel: Kernel, peak_bytes: u64, live: &str) {
    let room = kernel.target.spec().ocm_bytes as u64;
    if peak_bytes <= room {
        return;
    }
    let text = needs(&kernel, peak_bytes, " bytes of on-chip memory, ", room);
    let text = text.str(" of `").str(product(&kernel)).str("` [C0603]").str(live);
    let help = "\nhelp: work on a part of the tensor at a time, or leave one in external memory";
    panic!("{}", text.str(help).as_str())
}

/// Stops the build where a walk over `rows` x `cols` elements, one a PE, leaves PEs of the machine of `kernel` idle: called for
/// writes that idle PEs would make too.
///
/// # Panics
/// At compile time, if PEs are idle in the last tiles.
#[track_caller]
pub const fn check_idle(kernel: Kernel, rows: u64, cols: u64) {
    let spec = kernel.target.spec();
    if rows.is_multiple_of(spec.rows as u64) && cols.is_multiple_of(spec.cols as u64) {
        return;
    }
    let text = Text::<1000>::new().str("`scatter` writes from idle PEs too: instance `").str(kernel.name);
    let text = text.str("` walks ").number(rows).str(" x ").number(cols).str(" elements, `").str(product(&kernel));
    let text = text.str("` has ").number(spec.rows as u64).str(" x ").number(spec.cols as u64).str(" PEs [C0506]");
    let text = text.str("\nhelp: put it under `if t.inside() { .. }`, where `t` is the tile of the walk");
    panic!("{}", text.as_str())
}

const fn needs(kernel: &Kernel, peak_bytes: u64, memory: &str, room: u64) -> Text<4000> {
    let text = Text::new().str("instance `").str(kernel.name).str("` needs ").number(peak_bytes).str(memory);
    text.number(peak_bytes - room).str(" more than the ").number(room)
}

const fn product(kernel: &Kernel) -> &'static str {
    match &kernel.target.spec().product {
        std::borrow::Cow::Borrowed(name) => name,
        std::borrow::Cow::Owned(_) => "the target",
    }
}
