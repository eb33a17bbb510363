//! Windows: the attributes that convolutions and poolings share, and the float poolings.

use ccl_golden::conv::Window;
use ccl_golden::pool::{Pool, PoolDivisor, PoolExtent};

use crate::graph::Op;
use crate::graph::op::Conv;
use crate::operators::{Meaning, Operand, Refusal, Site};

/// Taps that a pooling may have. Unlike a convolution's they are numbers in a file without data that would bound them.
const MAX_TAPS: usize = 1 << 16;

/// A list of one number per spatial dimension as rows and columns; a single dimension is the columns.
fn pair(name: &'static str, list: &[i64], spatial: usize, fill: usize) -> Result<[usize; 2], Refusal> {
    let legal = || Refusal::value(name, format!("{list:?}"), format!("{spatial} numbers that are not negative"));
    if list.len() != spatial {
        return Err(legal());
    }
    let mut pair = [fill; 2];
    for (to, &from) in pair[2 - spatial..].iter_mut().zip(list) {
        *to = usize::try_from(from).map_err(|_| legal())?;
    }
    Ok(pair)
}

/// Spatial dimensions of an image tensor.
fn spatial(x: Operand) -> Result<usize, Refusal> {
    match x.ty.shape.len() {
        3 => Ok(1),
        4 => Ok(2),
        other => Err(Refusal::value("rank of the input", other, "3 or 4: 1 or 2 spatial dimensions")),
    }
}

/// The last one or two extents, rows and columns.
fn extents(ty: &crate::graph::Type, spatial: usize) -> [usize; 2] {
    let mut extents = [1; 2];
    let at = ty.shape.len() - spatial;
    extents[2 - spatial..].copy_from_slice(&ty.shape[at..]);
    extents
}

/// How the pads are given.
enum Pads {
    Explicit([usize; 4]),
    /// As many as keep `ceil(in / stride)`; the odd one at the end or at the beginning.
    Same {
        odd_at_end: bool,
    },
}

fn pads(site: &Site, spatial: usize) -> Result<Pads, Refusal> {
    let explicit = site.ints("pads")?;
    match site.text("auto_pad", "NOTSET")?.as_str() {
        "NOTSET" => {}
        "VALID" => return Ok(Pads::Explicit([0; 4])),
        "SAME_UPPER" => return Ok(Pads::Same { odd_at_end: true }),
        "SAME_LOWER" => return Ok(Pads::Same { odd_at_end: false }),
        other => return Err(Refusal::value("auto_pad", other, "NOTSET, VALID, SAME_UPPER or SAME_LOWER")),
    }
    let Some(list) = explicit else { return Ok(Pads::Explicit([0; 4])) };
    if list.len() != 2 * spatial {
        return Err(Refusal::value("pads", format!("{list:?}"), format!("{} numbers", 2 * spatial)));
    }
    let [top, left] = pair("pads", &list[..spatial], spatial, 0)?;
    let [bottom, right] = pair("pads", &list[spatial..], spatial, 0)?;
    Ok(Pads::Explicit([top, left, bottom, right]))
}

fn steps(site: &Site, name: &'static str, spatial: usize) -> Result<[usize; 2], Refusal> {
    let steps = site.ints(name)?.map_or(Ok([1; 2]), |list| pair(name, list, spatial, 1))?;
    if steps.contains(&0) { Err(Refusal::value(name, "0", "at least 1")) } else { Ok(steps) }
}

/// Begin and end of each axis, where `total` are added.
fn halves(total: [usize; 2], odd_at_end: bool) -> [usize; 4] {
    let less = total.map(|t| t / 2);
    let more = [total[0] - less[0], total[1] - less[1]];
    let (begin, end) = if odd_at_end { (less, more) } else { (more, less) };
    [begin[0], begin[1], end[0], end[1]]
}

fn window(site: &Site, input: [usize; 2], kernel: [usize; 2], spatial: usize) -> Result<Window, Refusal> {
    let (strides, dilations) = (steps(site, "strides", spatial)?, steps(site, "dilations", spatial)?);
    let pads = match pads(site, spatial)? {
        Pads::Explicit(pads) => pads,
        Pads::Same { odd_at_end } => {
            let total = [0, 1].map(|axis| {
                let n_out = input[axis].div_ceil(strides[axis]);
                let reach = kernel[axis].saturating_sub(1).saturating_mul(dilations[axis]).saturating_add(1);
                n_out.saturating_sub(1).saturating_mul(strides[axis]).saturating_add(reach).saturating_sub(input[axis])
            });
            halves(total, odd_at_end)
        }
    };
    Ok(Window { strides, dilations, pads })
}

/// `Ok` if the attribute, where it is there, says what the weights have.
fn check_kernel(site: &Site, kernel: [usize; 2], spatial: usize) -> Result<(), Refusal> {
    let Some(list) = site.ints("kernel_shape")? else { return Ok(()) };
    if pair("kernel_shape", list, spatial, 1)? == kernel {
        return Ok(());
    }
    Err(Refusal::value(
        "kernel_shape",
        format!("{list:?}"),
        format!("{:?}, the shape of the weights", &kernel[2 - spatial..]),
    ))
}

fn groups(site: &Site) -> Result<usize, Refusal> {
    let groups = site.int("group")?.unwrap_or(1);
    usize::try_from(groups).ok().filter(|&g| g > 0).ok_or_else(|| Refusal::value("group", groups, "at least 1"))
}

/// Attributes of a convolution of `x` with `w`.
pub(super) fn conv_attributes(site: &Site, x: Operand, w: Operand) -> Result<Conv, Refusal> {
    let spatial = spatial(x)?;
    if w.ty.shape.len() != spatial + 2 {
        return Err(Refusal::value("rank of the weights", w.ty.shape.len(), format!("{}", spatial + 2)));
    }
    let kernel = extents(w.ty, spatial);
    check_kernel(site, kernel, spatial)?;
    let window = window(site, extents(x.ty, spatial), kernel, spatial)?;
    Ok(Conv { window, groups: groups(site)?, spatial })
}

/// Attributes of a transposed convolution, and the output padding.
pub(super) fn conv_transpose_attributes(site: &Site) -> Result<(Conv, [usize; 2]), Refusal> {
    let (x, w) = (site.input(0, "X")?, site.input(1, "W")?);
    let spatial = spatial(x)?;
    if w.ty.shape.len() != spatial + 2 {
        return Err(Refusal::value("rank of the weights", w.ty.shape.len(), format!("{}", spatial + 2)));
    }
    let (input, kernel) = (extents(x.ty, spatial), extents(w.ty, spatial));
    check_kernel(site, kernel, spatial)?;
    let (strides, dilations) = (steps(site, "strides", spatial)?, steps(site, "dilations", spatial)?);
    let padding = site.ints("output_padding")?.map_or(Ok([0; 2]), |list| pair("output_padding", list, spatial, 0))?;
    let full = [0, 1].map(|axis| {
        let reach = kernel[axis].saturating_sub(1).saturating_mul(dilations[axis]);
        let steps = input[axis].saturating_sub(1).saturating_mul(strides[axis]);
        steps.saturating_add(reach).saturating_add(padding[axis]).saturating_add(1)
    });
    let wanted = site.ints("output_shape")?.map(|list| pair("output_shape", list, spatial, 1)).transpose()?;
    let pads = match (pads(site, spatial)?, wanted) {
        (Pads::Explicit(pads), None) => pads,
        (given, wanted) => {
            let wanted = wanted.unwrap_or([0, 1].map(|axis| input[axis].saturating_mul(strides[axis])));
            let total = [0, 1].map(|axis| full[axis].saturating_sub(wanted[axis]));
            // ONNX puts the odd one of an output_shape at the beginning unless SAME_UPPER says otherwise.
            halves(total, matches!(given, Pads::Same { odd_at_end: true }))
        }
    };
    let window = Window { strides, dilations, pads };
    Ok((Conv { window, groups: groups(site)?, spatial }, padding))
}

/// Attributes of a pooling, and its spatial dimensions.
pub(super) fn pool_attributes(site: &Site) -> Result<(Pool, usize), Refusal> {
    let x = site.input(0, "X")?;
    let spatial = spatial(x)?;
    let list = site.ints("kernel_shape")?.ok_or(Refusal::AttributeMissing { name: "kernel_shape" })?;
    let kernel = pair("kernel_shape", list, spatial, 1)?;
    if kernel.contains(&0) || kernel[0].saturating_mul(kernel[1]) > MAX_TAPS {
        let legal = format!("at least 1, with at most {MAX_TAPS} taps");
        return Err(Refusal::value("kernel_shape", format!("{list:?}"), legal));
    }
    let window = window(site, extents(x.ty, spatial), kernel, spatial)?;
    let extent = if site.flag("ceil_mode", false)? { PoolExtent::Ceil } else { PoolExtent::Floor };
    Ok((Pool { kernel, window, extent, divisor: PoolDivisor::Inside }, spatial))
}

/// [`pool_attributes`] with what an average divides by.
pub(super) fn average_attributes(site: &Site) -> Result<(Pool, usize), Refusal> {
    let (pool, spatial) = pool_attributes(site)?;
    let divisor = if site.flag("count_include_pad", false)? { PoolDivisor::Kernel } else { PoolDivisor::Inside };
    Ok((Pool { divisor, ..pool }, spatial))
}

pub(super) fn max_pool(site: &Site) -> Result<Meaning, Refusal> {
    site.outputs(1)?;
    site.only("storage_order", 0)?;
    let (pool, spatial) = pool_attributes(site)?;
    site.op_of_all(Op::MaxPool { pool, spatial })
}

pub(super) fn average_pool(site: &Site) -> Result<Meaning, Refusal> {
    let (pool, spatial) = average_attributes(site)?;
    site.op_of_all(Op::AveragePool { pool, spatial })
}

pub(super) fn global_average_pool(site: &Site) -> Result<Meaning, Refusal> {
    spatial(site.input(0, "X")?)?;
    site.op_of_all(Op::GlobalAveragePool)
}
