//! Data movement.

use ccl_runtime::ccl;
use ccl_runtime::kernel::{ElemType, HostTensor};

use crate::support::*;

ccl! {
    use ccl_runtime::nn::moves::{gather_rows, pad, permute, put, slice, to_packed, to_planar};

    #[instance(target = QC_N)]
    const TO_PACKED: Kernel = to_packed::<6, 9, 17>;
    #[instance(target = QC_N)]
    const TO_PACKED_3: Kernel = to_packed::<3, 17, 35>;
    #[instance(target = QC_N)]
    const TO_PACKED_1: Kernel = to_packed::<1, 3, 33>;
    #[instance(target = QC_N)]
    const TO_PLANAR_2: Kernel = to_planar::<2, 33, 5>;
    #[instance(target = QC_U)]
    const TO_PLANAR: Kernel = to_planar::<6, 35, 40>;
    #[instance(target = QC_N)]
    const PUT: Kernel = put::<5, 9, 17, 13, 20, 30, 8>;
    #[instance(target = QC_U)]
    const PUT_FIRST: Kernel = put::<8, 35, 40, 12, 35, 40, 0>;
    #[instance(target = QC_N)]
    const SLICE: Kernel = slice::<13, 20, 30, 5, 9, 17, 4>;
    #[instance(target = QC_N)]
    const PAD: Kernel = pad::<6, 9, 17, 12, 21>;
    #[instance(target = QC_N)]
    const PERMUTE: Kernel = permute::<{ 5 * 9 * 17 }, 17, 5, 9>;
    #[instance(target = QC_N)]
    const GATHER: Kernel = gather_rows::<12, 7, 70>;
}

#[test]
fn layouts_and_parts() {
    agree(&TO_PACKED, &[], EXACT);
    agree(&TO_PLANAR, &[], EXACT);
    // Fewer channels than a word has, over several tiles.
    agree(&TO_PACKED_3, &[], EXACT);
    agree(&TO_PACKED_1, &[], EXACT);
    agree(&TO_PLANAR_2, &[], EXACT);
    agree(&PUT, &[("row", 3.into()), ("column", 11.into())], EXACT);
    agree(&PUT_FIRST, &[("row", 0.into()), ("column", 0.into())], EXACT);
    agree(&SLICE, &[("row", 3.into()), ("column", 11.into())], EXACT);
    agree(&PAD, &[("above", 1.into()), ("left", 3.into()), ("value", (-9).into())], EXACT);
}

#[test]
fn random_access() {
    // [5, 9, 17] becomes [17, 5, 9].
    agree(&PERMUTE, &[("first", 0.into()), ("steps", list([1, 9 * 17, 17]))], EXACT);
    // The same backwards.
    agree(&PERMUTE, &[("first", (5 * 9 * 17 - 1).into()), ("steps", list([-1, -9 * 17, -17]))], EXACT);
    let indices = HostTensor::from_fn(ElemType::I32, &[70, 1], |i| i as i64 * 5 % 14 - 1);
    agree(&GATHER, &[("indices", indices.into())], EXACT);
}
