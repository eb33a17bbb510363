//! Each kernel natively, on the simulator and against golden tensors; its source, signature and cost as snapshots.
//!
//! `INSTA_UPDATE=always cargo test` takes over what has changed.

use ccl_runtime::kernel::Linked;
use ccl_runtime::testing::{Bar, Check};
use insta::assert_snapshot;

static CONSTANTS: &[u8] = include_bytes!("../constants.bin");
/// Tensors at the boundaries of kernels, computed by graphc's golden executor.
static GOLDEN: &[u8] = include_bytes!("../golden.bin");

#[test]
fn pc00() {
    use segformer_scene150::pc00::{PC00, pc00};
    let cost = Check::new(&PC00)
        .with_bytes("pixel_values", &GOLDEN[0..393216])
        .with_bytes("proj_weights", &CONSTANTS[0..6272])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[6272..6528])
        .with_bytes("layernorm_before_norm", &CONSTANTS[6528..7040])
        .with_bytes("q_proj_weights", &CONSTANTS[7040..8192])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[8192..73856])
        .with_bytes("layer_norm_3_norm", &CONSTANTS[73856..74112])
        .with_bytes("k_proj_weights", &CONSTANTS[74112..75264])
        .with_bytes("v_proj_weights", &CONSTANTS[75264..76416])
        .with_bytes("attention_exponentials", &CONSTANTS[76416..77440])
        .with_bytes("blocks_0_add_weights", &CONSTANTS[77440..78592])
        .expect_bytes("blocks_0_add", &GOLDEN[393216..655360])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc00_cost", cost);
    assert_snapshot!("pc00_signature", pc00::SIGNATURE);
    assert_snapshot!("pc00_source", include_str!("../kernels/pc00.rs"));
}

#[test]
fn pc01() {
    use segformer_scene150::pc01::{PC01, pc01};
    let cost = Check::new(&PC01)
        .with_bytes("blocks_0_add", &GOLDEN[393216..655360])
        .with_bytes("layernorm_after_norm", &CONSTANTS[78592..78848])
        .with_bytes("blocks_0_add_1_expand", &CONSTANTS[78848..83456])
        .with_bytes("blocks_0_add_1_depthwise", &CONSTANTS[83456..88576])
        .with_bytes("blocks_0_add_1_table", &CONSTANTS[88576..88832])
        .with_bytes("blocks_0_add_1_project", &CONSTANTS[88832..93056])
        .expect_bytes("blocks_0_add_1", &GOLDEN[655360..917504])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc01_cost", cost);
    assert_snapshot!("pc01_signature", pc01::SIGNATURE);
    assert_snapshot!("pc01_source", include_str!("../kernels/pc01.rs"));
}

#[test]
fn pc02() {
    use segformer_scene150::pc02::{PC02, pc02};
    let cost = Check::new(&PC02)
        .with_bytes("blocks_0_add_1", &GOLDEN[655360..917504])
        .with_bytes("layernorm_before_norm", &CONSTANTS[93056..93312])
        .with_bytes("q_proj_weights", &CONSTANTS[93312..94464])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[94464..160128])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[160128..160384])
        .with_bytes("k_proj_weights", &CONSTANTS[160384..161536])
        .with_bytes("v_proj_weights", &CONSTANTS[161536..162688])
        .with_bytes("attention_exponentials", &CONSTANTS[162688..163712])
        .with_bytes("blocks_1_add_weights", &CONSTANTS[163712..164864])
        .expect_bytes("blocks_1_add", &GOLDEN[917504..1179648])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc02_cost", cost);
    assert_snapshot!("pc02_signature", pc02::SIGNATURE);
    assert_snapshot!("pc02_source", include_str!("../kernels/pc02.rs"));
}

#[test]
fn pc03() {
    use segformer_scene150::pc03::{PC03, pc03};
    let cost = Check::new(&PC03)
        .with_bytes("blocks_1_add", &GOLDEN[917504..1179648])
        .with_bytes("layernorm_after_norm", &CONSTANTS[164864..165120])
        .with_bytes("blocks_1_add_1_expand", &CONSTANTS[165120..169728])
        .with_bytes("blocks_1_add_1_depthwise", &CONSTANTS[169728..174848])
        .with_bytes("blocks_1_add_1_table", &CONSTANTS[174848..175104])
        .with_bytes("blocks_1_add_1_project", &CONSTANTS[175104..179328])
        .expect_bytes("blocks_1_add_1", &GOLDEN[1179648..1441792])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc03_cost", cost);
    assert_snapshot!("pc03_signature", pc03::SIGNATURE);
    assert_snapshot!("pc03_source", include_str!("../kernels/pc03.rs"));
}

#[test]
fn pc04() {
    use segformer_scene150::pc04::{PC04, pc04};
    let cost = Check::new(&PC04)
        .with_bytes("blocks_1_add_1", &GOLDEN[1179648..1441792])
        .with_bytes("stages_0_transpose_norm", &CONSTANTS[179328..179584])
        .with_bytes("proj_weights", &CONSTANTS[179584..198272])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[198272..198784])
        .with_bytes("layernorm_before_norm", &CONSTANTS[198784..199808])
        .with_bytes("q_proj_weights", &CONSTANTS[199808..204160])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[204160..269952])
        .with_bytes("layer_norm_3_norm", &CONSTANTS[269952..270464])
        .with_bytes("k_proj_weights", &CONSTANTS[270464..274816])
        .with_bytes("v_proj_weights", &CONSTANTS[274816..279168])
        .with_bytes("attention_exponentials", &CONSTANTS[279168..280192])
        .with_bytes("blocks_0_add_weights", &CONSTANTS[280192..284544])
        .expect_bytes("stages_0_transpose", &GOLDEN[1441792..1703936])
        .expect_bytes("blocks_0_add", &GOLDEN[1703936..1835008])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc04_cost", cost);
    assert_snapshot!("pc04_signature", pc04::SIGNATURE);
    assert_snapshot!("pc04_source", include_str!("../kernels/pc04.rs"));
}

#[test]
fn pc05() {
    use segformer_scene150::pc05::{PC05, pc05};
    let cost = Check::new(&PC05)
        .with_bytes("blocks_0_add", &GOLDEN[1703936..1835008])
        .with_bytes("layernorm_after_norm", &CONSTANTS[284544..285056])
        .with_bytes("blocks_0_add_1_expand", &CONSTANTS[285056..302464])
        .with_bytes("blocks_0_add_1_depthwise", &CONSTANTS[302464..312704])
        .with_bytes("blocks_0_add_1_table", &CONSTANTS[312704..312960])
        .with_bytes("blocks_0_add_1_project", &CONSTANTS[312960..329600])
        .expect_bytes("blocks_0_add_1", &GOLDEN[1835008..1966080])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc05_cost", cost);
    assert_snapshot!("pc05_signature", pc05::SIGNATURE);
    assert_snapshot!("pc05_source", include_str!("../kernels/pc05.rs"));
}

#[test]
fn pc06() {
    use segformer_scene150::pc06::{PC06, pc06};
    let cost = Check::new(&PC06)
        .with_bytes("blocks_0_add_1", &GOLDEN[1835008..1966080])
        .with_bytes("layernorm_before_norm", &CONSTANTS[329600..330112])
        .with_bytes("q_proj_weights", &CONSTANTS[330112..334464])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[334464..400256])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[400256..400768])
        .with_bytes("k_proj_weights", &CONSTANTS[400768..405120])
        .with_bytes("v_proj_weights", &CONSTANTS[405120..409472])
        .with_bytes("attention_exponentials", &CONSTANTS[409472..410496])
        .with_bytes("blocks_1_add_weights", &CONSTANTS[410496..414848])
        .expect_bytes("blocks_1_add", &GOLDEN[1966080..2097152])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc06_cost", cost);
    assert_snapshot!("pc06_signature", pc06::SIGNATURE);
    assert_snapshot!("pc06_source", include_str!("../kernels/pc06.rs"));
}

#[test]
fn pc07() {
    use segformer_scene150::pc07::{PC07, pc07};
    let cost = Check::new(&PC07)
        .with_bytes("blocks_1_add", &GOLDEN[1966080..2097152])
        .with_bytes("layernorm_after_norm", &CONSTANTS[414848..415360])
        .with_bytes("blocks_1_add_1_expand", &CONSTANTS[415360..432768])
        .with_bytes("blocks_1_add_1_depthwise", &CONSTANTS[432768..443008])
        .with_bytes("blocks_1_add_1_table", &CONSTANTS[443008..443264])
        .with_bytes("blocks_1_add_1_project", &CONSTANTS[443264..459904])
        .expect_bytes("blocks_1_add_1", &GOLDEN[2097152..2228224])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc07_cost", cost);
    assert_snapshot!("pc07_signature", pc07::SIGNATURE);
    assert_snapshot!("pc07_source", include_str!("../kernels/pc07.rs"));
}

#[test]
fn pc08() {
    use segformer_scene150::pc08::{PC08, pc08};
    let cost = Check::new(&PC08)
        .with_bytes("blocks_1_add_1", &GOLDEN[2097152..2228224])
        .with_bytes("stages_1_transpose_norm", &CONSTANTS[459904..460416])
        .with_bytes("proj_weights", &CONSTANTS[460416..553216])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[553216..554496])
        .with_bytes("layernorm_before_norm", &CONSTANTS[554496..557056])
        .with_bytes("q_proj_weights", &CONSTANTS[557056..583296])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[583296..686336])
        .with_bytes("layer_norm_3_norm", &CONSTANTS[686336..687616])
        .with_bytes("k_proj_weights", &CONSTANTS[687616..713856])
        .with_bytes("v_proj_weights", &CONSTANTS[713856..740096])
        .with_bytes("attention_exponentials", &CONSTANTS[740096..741120])
        .with_bytes("blocks_0_add_weights", &CONSTANTS[741120..767360])
        .expect_bytes("stages_1_transpose", &GOLDEN[2228224..2359296])
        .expect_bytes("blocks_0_add", &GOLDEN[2359296..2441216])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc08_cost", cost);
    assert_snapshot!("pc08_signature", pc08::SIGNATURE);
    assert_snapshot!("pc08_source", include_str!("../kernels/pc08.rs"));
}

#[test]
fn pc09() {
    use segformer_scene150::pc09::{PC09, pc09};
    let cost = Check::new(&PC09)
        .with_bytes("blocks_0_add", &GOLDEN[2359296..2441216])
        .with_bytes("layernorm_after_norm", &CONSTANTS[767360..768640])
        .with_bytes("blocks_0_add_1_expand", &CONSTANTS[768640..873600])
        .with_bytes("blocks_0_add_1_depthwise", &CONSTANTS[873600..899200])
        .with_bytes("blocks_0_add_1_table", &CONSTANTS[899200..899456])
        .with_bytes("blocks_0_add_1_project", &CONSTANTS[899456..1002496])
        .expect_bytes("blocks_0_add_1", &GOLDEN[2441216..2523136])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc09_cost", cost);
    assert_snapshot!("pc09_signature", pc09::SIGNATURE);
    assert_snapshot!("pc09_source", include_str!("../kernels/pc09.rs"));
}

#[test]
fn pc10() {
    use segformer_scene150::pc10::{PC10, pc10};
    let cost = Check::new(&PC10)
        .with_bytes("blocks_0_add_1", &GOLDEN[2441216..2523136])
        .with_bytes("layernorm_before_norm", &CONSTANTS[1002496..1003776])
        .with_bytes("q_proj_weights", &CONSTANTS[1003776..1030016])
        .with_bytes("sequence_reduction_weights", &CONSTANTS[1030016..1133056])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[1133056..1134336])
        .with_bytes("k_proj_weights", &CONSTANTS[1134336..1160576])
        .with_bytes("v_proj_weights", &CONSTANTS[1160576..1186816])
        .with_bytes("attention_exponentials", &CONSTANTS[1186816..1187840])
        .with_bytes("blocks_1_add_weights", &CONSTANTS[1187840..1214080])
        .expect_bytes("blocks_1_add", &GOLDEN[2523136..2605056])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc10_cost", cost);
    assert_snapshot!("pc10_signature", pc10::SIGNATURE);
    assert_snapshot!("pc10_source", include_str!("../kernels/pc10.rs"));
}

#[test]
fn pc11() {
    use segformer_scene150::pc11::{PC11, pc11};
    let cost = Check::new(&PC11)
        .with_bytes("blocks_1_add", &GOLDEN[2523136..2605056])
        .with_bytes("layernorm_after_norm", &CONSTANTS[1214080..1215360])
        .with_bytes("blocks_1_add_1_expand", &CONSTANTS[1215360..1320320])
        .with_bytes("blocks_1_add_1_depthwise", &CONSTANTS[1320320..1345920])
        .with_bytes("blocks_1_add_1_table", &CONSTANTS[1345920..1346176])
        .with_bytes("blocks_1_add_1_project", &CONSTANTS[1346176..1449216])
        .expect_bytes("blocks_1_add_1", &GOLDEN[2605056..2686976])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc11_cost", cost);
    assert_snapshot!("pc11_signature", pc11::SIGNATURE);
    assert_snapshot!("pc11_source", include_str!("../kernels/pc11.rs"));
}

#[test]
fn pc12() {
    use segformer_scene150::pc12::{PC12, pc12};
    let cost = Check::new(&PC12)
        .with_bytes("blocks_1_add_1", &GOLDEN[2605056..2686976])
        .with_bytes("stages_2_transpose_norm", &CONSTANTS[1449216..1450496])
        .with_bytes("proj_weights", &CONSTANTS[1450496..1820160])
        .with_bytes("layer_norm_2_norm", &CONSTANTS[1820160..1822208])
        .with_bytes("layernorm_before_norm", &CONSTANTS[1822208..1826304])
        .with_bytes("k_proj_weights", &CONSTANTS[1826304..1892864])
        .with_bytes("q_proj_weights", &CONSTANTS[1892864..1959424])
        .with_bytes("v_proj_weights", &CONSTANTS[1959424..2025984])
        .with_bytes("attention_exponentials", &CONSTANTS[2025984..2027008])
        .with_bytes("blocks_0_add_weights", &CONSTANTS[2027008..2093568])
        .expect_bytes("stages_2_transpose", &GOLDEN[2686976..2768896])
        .expect_bytes("blocks_0_add", &GOLDEN[2768896..2801664])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc12_cost", cost);
    assert_snapshot!("pc12_signature", pc12::SIGNATURE);
    assert_snapshot!("pc12_source", include_str!("../kernels/pc12.rs"));
}

#[test]
fn pc13() {
    use segformer_scene150::pc13::{PC13, pc13};
    let cost = Check::new(&PC13)
        .with_bytes("blocks_0_add", &GOLDEN[2768896..2801664])
        .with_bytes("layernorm_after_norm", &CONSTANTS[2093568..2095616])
        .with_bytes("blocks_0_add_1_expand", &CONSTANTS[2095616..2361856])
        .with_bytes("blocks_0_add_1_depthwise", &CONSTANTS[2361856..2402816])
        .with_bytes("blocks_0_add_1_table", &CONSTANTS[2402816..2403072])
        .with_bytes("blocks_0_add_1_project", &CONSTANTS[2403072..2666240])
        .expect_bytes("blocks_0_add_1", &GOLDEN[2801664..2834432])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc13_cost", cost);
    assert_snapshot!("pc13_signature", pc13::SIGNATURE);
    assert_snapshot!("pc13_source", include_str!("../kernels/pc13.rs"));
}

#[test]
fn pc14() {
    use segformer_scene150::pc14::{PC14, pc14};
    let cost = Check::new(&PC14)
        .with_bytes("blocks_0_add_1", &GOLDEN[2801664..2834432])
        .with_bytes("layernorm_before_norm", &CONSTANTS[2666240..2668288])
        .with_bytes("k_proj_weights", &CONSTANTS[2668288..2734848])
        .with_bytes("q_proj_weights", &CONSTANTS[2734848..2801408])
        .with_bytes("v_proj_weights", &CONSTANTS[2801408..2867968])
        .with_bytes("attention_exponentials", &CONSTANTS[2867968..2868992])
        .with_bytes("blocks_1_add_weights", &CONSTANTS[2868992..2935552])
        .expect_bytes("blocks_1_add", &GOLDEN[2834432..2867200])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc14_cost", cost);
    assert_snapshot!("pc14_signature", pc14::SIGNATURE);
    assert_snapshot!("pc14_source", include_str!("../kernels/pc14.rs"));
}

#[test]
fn pc15() {
    use segformer_scene150::pc15::{PC15, pc15};
    let cost = Check::new(&PC15)
        .with_bytes("blocks_1_add", &GOLDEN[2834432..2867200])
        .with_bytes("layernorm_after_norm", &CONSTANTS[2935552..2937600])
        .with_bytes("blocks_1_add_1_expand", &CONSTANTS[2937600..3203840])
        .with_bytes("blocks_1_add_1_depthwise", &CONSTANTS[3203840..3244800])
        .with_bytes("blocks_1_add_1_table", &CONSTANTS[3244800..3245056])
        .with_bytes("blocks_1_add_1_project", &CONSTANTS[3245056..3508224])
        .expect_bytes("blocks_1_add_1", &GOLDEN[2867200..2899968])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc15_cost", cost);
    assert_snapshot!("pc15_signature", pc15::SIGNATURE);
    assert_snapshot!("pc15_source", include_str!("../kernels/pc15.rs"));
}

#[test]
fn pc16() {
    use segformer_scene150::pc16::{PC16, pc16};
    let cost = Check::new(&PC16)
        .with_bytes("blocks_1_add_1", &GOLDEN[2867200..2899968])
        .with_bytes("stages_2_transpose", &GOLDEN[2686976..2768896])
        .with_bytes("stages_1_transpose", &GOLDEN[2228224..2359296])
        .with_bytes("stages_0_transpose", &GOLDEN[1441792..1703936])
        .with_bytes("linear_projections_3_transpose_norm", &CONSTANTS[3508224..3510272])
        .with_bytes("classifier_project1", &CONSTANTS[3510272..3519488])
        .with_bytes("classifier_project2", &CONSTANTS[3519488..3536896])
        .with_bytes("classifier_project4", &CONSTANTS[3536896..3578880])
        .with_bytes("classifier_project8", &CONSTANTS[3578880..3645440])
        .with_bytes("classifier_tables", &CONSTANTS[3645440..3646464])
        .with_bytes("classifier_fuse", &CONSTANTS[3646464..3909632])
        .with_bytes("classifier_gate", &CONSTANTS[3909632..3909888])
        .with_bytes("classifier_classify", &CONSTANTS[3909888..3949408])
        .expect_bytes("argmax_2", &GOLDEN[2899968..3031040])
        .within(Bar { by: 1, one_in: 200 })
        .cases(1)
        .run();
    assert_snapshot!("pc16_cost", cost);
    assert_snapshot!("pc16_signature", pc16::SIGNATURE);
    assert_snapshot!("pc16_source", include_str!("../kernels/pc16.rs"));
}
