//! Arguments for tests: random, with the corners of every type.

use iss::testing::Rng;

use crate::kernel::{Argument, Arguments, ElemType, HostTensor, Param, ParamType, TensorType};
use crate::tensor::Kind;
use crate::value::Scale;

/// How the elements of a case are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Any value of the type.
    Uniform,
    /// The ends of the range, their neighbours, and the numbers around 0.
    Corners,
    /// Near 0: results do not saturate, and ties are frequent.
    Small,
    /// The least value everywhere.
    Least,
    /// The greatest value everywhere.
    Greatest,
    /// 0 everywhere.
    Zero,
}

impl Fill {
    /// The fills in the order in which cases use them.
    pub const ALL: [Fill; 6] = [Fill::Uniform, Fill::Corners, Fill::Small, Fill::Least, Fill::Greatest, Fill::Zero];

    /// The fill of a case; those after the first six are random.
    pub const fn of_case(case: usize) -> Fill {
        match case {
            0..6 => Fill::ALL[case],
            _ => Fill::ALL[case % 3],
        }
    }

    fn draw(self, (lo, hi): (i64, i64), rng: &mut Rng) -> i64 {
        match self {
            Fill::Uniform => lo + (rng.bits() % (hi.abs_diff(lo) + 1)) as i64,
            Fill::Corners => *rng.pick(&[lo, lo + 1, (-1).max(lo), 0, 1, hi - 1, hi]),
            Fill::Small => (rng.below(9) as i64 - 4).clamp(lo, hi),
            Fill::Least => lo,
            Fill::Greatest => hi,
            Fill::Zero => 0,
        }
    }
}

/// What elements are drawn from. Wide types are parameters more often than data: their whole range would overflow every sum.
const fn data_range(elem: ElemType) -> (i64, i64) {
    match elem {
        ElemType::I32 | ElemType::Fx(_) | ElemType::I64 => (-(1 << 20), 1 << 20),
        _ => elem.range(),
    }
}

/// Biases stay in the range of a sum of some products.
const BIAS: (i64, i64) = (-(1 << 14), 1 << 14);

/// Arguments for every parameter that `given` has none for. Outputs begin as a pattern, so that an element that nothing writes
/// differs from one written as 0.
///
/// # Errors
/// The names of the numbers that a test has to choose: no random one would make sense.
pub fn arguments(params: &[Param], given: &Arguments, fill: Fill, seed: u64) -> Result<Arguments, Vec<String>> {
    let mut rng = Rng::new(seed);
    let mut out = Arguments::new();
    let mut missing = Vec::new();
    for param in params {
        let drawn = match given.get(&param.name) {
            Some(argument) => Some(argument.clone()),
            None => argument(&param.ty, fill, &mut rng),
        };
        match drawn {
            Some(argument) => out.set(&param.name, argument),
            None => missing.push(param.name.clone()),
        }
    }
    if missing.is_empty() { Ok(out) } else { Err(missing) }
}

fn argument(ty: &ParamType, fill: Fill, rng: &mut Rng) -> Option<Argument> {
    match ty {
        ParamType::Tensor(ty) => Some(tensor(ty, fill, rng)),
        ParamType::Scale => Some(scale(rng).into()),
        ParamType::Scalar(ElemType::Bool) => Some(i64::from(rng.once_in(2)).into()),
        ParamType::Scalar(_) => None,
        ParamType::Array(of, n) => (0..*n).map(|_| argument(of, fill, rng)).collect::<Option<_>>().map(Argument::List),
        ParamType::Tuple(types) => {
            types.iter().map(|ty| argument(ty, fill, rng)).collect::<Option<_>>().map(Argument::List)
        }
    }
}

fn tensor(ty: &TensorType, fill: Fill, rng: &mut Rng) -> Argument {
    let range = data_range(ty.elem);
    let values = HostTensor::from_fn(ty.elem, &ty.layout.host_dims(), |_| fill.draw(range, rng));
    match ty.layout.kind {
        Kind::Stream(_) => {
            let bias = (0..ty.layout.dims[0]).map(|_| fill.draw(BIAS, rng) as i32).collect();
            Argument::Stream { weights: values, bias }
        }
        _ => values.into(),
    }
}

/// From 2^-6 to 2^-12, every fourth a power of two, with which ties are frequent.
fn scale(rng: &mut Rng) -> Scale {
    let shift = 29 + rng.below(7) as i32;
    let mantissa = if rng.once_in(4) { 1 << 23 } else { (1 << 23) + rng.below(1 << 23) as i32 };
    Scale::new(mantissa, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Access, LayoutType, Memory};

    fn params() -> Vec<Param> {
        let layout = LayoutType { kind: Kind::Planar, dims: [2, 3, 50] };
        let ty = TensorType { memory: Memory::Ocm, elem: ElemType::I8, layout, access: Access::Read };
        vec![
            Param { name: "x".into(), ty: ParamType::Tensor(ty) },
            Param { name: "scale".into(), ty: ParamType::Scale },
            Param { name: "steps".into(), ty: ParamType::Scalar(ElemType::I64) },
        ]
    }

    #[test]
    fn every_fill_fits_and_the_corners_occur() {
        let given = Arguments::new().with("steps", 3);
        for fill in Fill::ALL {
            let made = arguments(&params(), &given, fill, 1).expect("nothing is missing");
            assert_eq!(made.check(&params()), Ok(()));
            let values: Vec<i64> = made.tensor("x").expect("a tensor").iter().collect();
            match fill {
                Fill::Least => assert!(values.iter().all(|v| *v == -128)),
                Fill::Corners => assert!([-128, -127, -1, 0, 1, 126, 127].iter().all(|c| values.contains(c))),
                Fill::Small => assert!(values.iter().all(|v| v.abs() <= 4)),
                Fill::Uniform => assert!(values.iter().any(|v| *v < -100) && values.iter().any(|v| *v > 100)),
                Fill::Greatest | Fill::Zero => assert!(values.windows(2).all(|w| w[0] == w[1])),
            }
        }
    }

    #[test]
    fn numbers_that_only_a_test_can_choose_are_named() {
        let missing = arguments(&params(), &Arguments::new(), Fill::Uniform, 1);
        assert_eq!(missing, Err(vec!["steps".to_owned()]));
    }
}
