//! Packing against the native tensors, and arguments that do not fit.

use super::*;
use crate::tensor::layout::{Packed, Planar, Tokens, Vector};
use crate::tensor::{Kind, Ocm, Order};

fn tensor(kind: Kind, elem: ElemType, dims: [usize; 3]) -> TensorType {
    TensorType { memory: Memory::Ocm, elem, layout: LayoutType { kind, dims }, access: Access::Read }
}

fn counted(ty: &TensorType) -> HostTensor {
    HostTensor::from_fn(ty.elem, &ty.layout.host_dims(), |i| i as i64 * 7 - 50)
}

#[test]
fn packing_is_that_of_native_tensors() {
    macro_rules! same {
        ($T:ty, $elem:ident, $kind:ident, [$($d:literal),*], $Layout:ty) => {{
            let ty = tensor(Kind::$kind, ElemType::$elem, [$($d),*]);
            let host = counted(&ty);
            let values: Vec<$T> = host.iter().map(|v| v as $T).collect();
            let bytes = ty.pack(&host.clone().into()).expect("it fits");
            assert_eq!(bytes, Ocm::<$T, $Layout>::from_logical(&values).to_bytes(), "{ty}");
            assert_eq!(ty.unpack(&bytes), Ok(host), "{ty}");
        }};
    }
    same!(i8, I8, Planar, [3, 4, 5], Planar<3, 4, 5>);
    same!(i8, I8, Packed, [6, 2, 3], Packed<6, 2, 3>);
    same!(i16, I16, Packed, [5, 2, 3], Packed<5, 2, 3>);
    same!(i32, I32, Packed, [3, 2, 3], Packed<3, 2, 3>);
    same!(i8, I8, Tokens, [7, 1, 5], Tokens<5, 7>);
    same!(u16, U16, Vector, [1, 1, 9], Vector<9>);
}

#[test]
fn a_stream_has_the_biases_of_a_step_first() {
    let ty = tensor(Kind::Stream(Order::Mat4), ElemType::I8, [5, 1, 6]);
    let weights = HostTensor::from_fn(ElemType::I8, &[5, 6], |i| i as i64);
    let stream = Argument::Stream { weights, bias: vec![100, 200, 300, 400, 500] };
    let bytes = ty.pack(&stream).expect("it fits");
    assert_eq!(ty.argument(&bytes), Ok(stream));
    assert!(ty.argument(&bytes[1..]).is_err());
    assert_eq!(bytes.len(), 2 * (16 + 32));
    assert_eq!(bytes[..8], [100, 0, 0, 0, 200, 0, 0, 0]);
    // Output by output, four inputs each; inputs 6 and 7 are filled up.
    assert_eq!(bytes[16..24], [0, 1, 2, 3, 6, 7, 8, 9]);
    assert_eq!(bytes[32..40], [4, 5, 0, 0, 10, 11, 0, 0]);
    assert_eq!(bytes[48..56], [244, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[64..68], [24, 25, 26, 27]);
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let ty = tensor(Kind::Planar, ElemType::I8, [1, 2, 3]);
    let params = [
        Param { name: "x".into(), ty: ParamType::Tensor(ty) },
        Param { name: "n".into(), ty: ParamType::Tuple(vec![ParamType::Scalar(ElemType::U8), ParamType::Scale]) },
    ];
    let scale = Argument::Scale(crate::value::Scale::new(1, 0));
    let pair = |n: i64| Argument::List(vec![n.into(), scale.clone()]);
    let good = Arguments::new().with("x", counted(&ty)).with("n", pair(3));
    assert_eq!(good.check(&params), Ok(()));
    let message = |arguments: Arguments| arguments.check(&params).expect_err("it does not fit").to_string();
    assert_eq!(message(Arguments::new()), "no argument for the parameter `x`");
    assert_eq!(message(good.clone().with("n", pair(256))), "`n`: 256 is no `u8`");
    assert_eq!(message(good.clone().with("y", 1)), "no parameter `y`; there are `x`, `n`");
    assert_eq!(message(good.clone().with("x", 1)), "`x`: a tensor is wanted, this is a number");
    let other = HostTensor::zeros(ElemType::I8, &[1, 3, 2]);
    assert_eq!(message(good.with("x", other)), "`x`: extents [1, 2, 3] are wanted, these are [1, 3, 2]");
}

crate::ccl! {
    /// The sum of two tensors, in this crate as in any other.
    #[kernel]
    #[no_reference("one addition")]
    fn sum<const N: usize>(x: &Ocm<i16, Planar<1, 1, N>>, y: &mut Ocm<i16, Planar<1, 1, N>>, more: i16) {
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i16, 1>>().wait()[0] + more);
        }
    }

    #[instance(target = QC_N)]
    const SUM: Kernel = sum::<13>;
}

#[test]
fn kernels_are_written_in_this_crate_too() {
    let x = HostTensor::from_fn(ElemType::I16, &[1, 1, 13], |i| i as i64 * 100);
    let mut arguments = Arguments::new().with("x", x.clone()).with("y", x.clone()).with("more", 7);
    SUM.run_native(&mut crate::native::Session::new(SUM.target), &mut arguments).expect("it is sound");
    assert!(arguments.tensor("y").expect("it is written").iter().eq(x.iter().map(|v| v + 7)));
    assert!(SUM.source().ast().starts_with(b"CCLA"), "the tree of the block");
}
