//! An entry point of 17 kernels, made by `graphc compile`.

use ccl_runtime::ccl;

ccl! {
    use super::pc00::pc00;
    use super::pc01::pc01;
    use super::pc02::pc02;
    use super::pc03::pc03;
    use super::pc04::pc04;
    use super::pc05::pc05;
    use super::pc06::pc06;
    use super::pc07::pc07;
    use super::pc08::pc08;
    use super::pc09::pc09;
    use super::pc10::pc10;
    use super::pc11::pc11;
    use super::pc12::pc12;
    use super::pc13::pc13;
    use super::pc14::pc14;
    use super::pc15::pc15;
    use super::pc16::pc16;

    /// `pc00` to `pc16`, tensors between them on the chip.
    #[kernel]
    #[no_reference("calls of kernels that are checked by themselves")]
    pub fn frame(
        pixel_values: &Ext<i8, Planar<3, 256, 512>>,
        constants: &Ext<i8, Vector<3915088>>,
        argmax_2: &mut Ext<u8, Planar<1, 256, 512>>,
    ) {
        // `pixel_values_quantized`, `/m/segformer/stages.0/blocks.0/Add_1_output_0_quantized`, `/m/segformer/stages.0/blocks.1/Add_1_output_0_quantized`, `/m/segformer/stages.1/blocks.0/Add_1_output_0_quantized`, `/m/segformer/stages.1/blocks.1/Add_1_output_0_quantized`, `/ArgMax_output_0`, `/m/segformer/stages.2/blocks.0/Add_1_output_0_quantized`, `/m/segformer/stages.2/blocks.1/Add_1_output_0_quantized`, `/m/segformer/stages.3/blocks.0/Add_1_output_0_quantized`
        let slot_0 = Ocm::<i8, Vector<393216>>::new();
        // `/m/segformer/stages.0/blocks.0/Add_output_0_quantized`, `/m/segformer/stages.0/blocks.1/Add_output_0_quantized`, `/m/segformer/stages.0/Transpose_output_0_quantized`
        let slot_1 = Ocm::<i8, Vector<262144>>::new();
        // `/m/segformer/stages.1/blocks.0/Add_output_0_quantized`, `/m/segformer/stages.1/blocks.1/Add_output_0_quantized`, `/m/segformer/stages.1/Transpose_output_0_quantized`
        let slot_2 = Ocm::<i8, Vector<131072>>::new();
        // `/m/segformer/stages.2/blocks.0/Add_output_0_quantized`, `/m/segformer/stages.2/blocks.1/Add_output_0_quantized`, `/m/segformer/stages.2/Transpose_output_0_quantized`
        let slot_3 = Ocm::<i8, Vector<81920>>::new();
        // `/m/segformer/stages.3/blocks.0/Add_output_0_quantized`, `/m/segformer/stages.3/blocks.1/Add_output_0_quantized`
        let slot_4 = Ocm::<i8, Vector<32768>>::new();
        // `/m/segformer/stages.3/blocks.1/Add_1_output_0_quantized`
        let slot_5 = Ocm::<i8, Vector<32768>>::new();
        let constants_0 = Ocm::<i8, Vector<644352>>::new();
        let constants_1 = Ocm::<i8, Vector<572672>>::new();
        #[region("inputs")]
        {
            let pixel_values_lands = prefetch(pixel_values, &mut slot_0.part::<i8, Planar<3, 256, 512>>(0));
            let pc00_constants = prefetch(
                &constants.part::<i8, Vector<78592>>(0),
                &mut constants_0.part::<i8, Vector<78592>>(0),
            );
            pixel_values_lands.wait();
            pc00_constants.wait();
        }
        #[region("pc00")]
        {
            let pc01_constants = prefetch(
                &constants.part::<i8, Vector<14464>>(78592),
                &mut constants_1.part::<i8, Vector<14464>>(0),
            );
            pc00(
                &slot_0.part::<i8, Planar<3, 256, 512>>(0),
                &constants_0.part::<i8, Stream<32, 192>>(0),
                &constants_0.part::<i32, Vector<64>>(6272),
                &constants_0.part::<i32, Vector<128>>(6528),
                &constants_0.part::<i8, Stream<32, 32>>(7040),
                &constants_0.part::<i8, Stream<32, 2048>>(8192),
                &constants_0.part::<i32, Vector<64>>(73856),
                &constants_0.part::<i8, Stream<32, 32>>(74112),
                &constants_0.part::<i8, Stream<32, 32>>(75264),
                &constants_0.part::<i32, Vector<256>>(76416),
                &constants_0.part::<i8, Stream<32, 32>>(77440),
                &mut slot_1.part::<i8, Tokens<8192, 32>>(0),
            );
            pc01_constants.wait();
        }
        #[region("pc01")]
        {
            let pc02_constants = prefetch(
                &constants.part::<i8, Vector<71808>>(93056),
                &mut constants_0.part::<i8, Vector<71808>>(0),
            );
            pc01(
                &slot_1.part::<i8, Tokens<8192, 32>>(0),
                &constants_1.part::<i32, Vector<64>>(0),
                &constants_1.part::<i8, Stream<128, 32>>(256),
                &constants_1.part::<i8, Stream<128, 36>>(4864),
                &constants_1.part::<i8, Vector<256>>(9984),
                &constants_1.part::<i8, Stream<32, 128>>(10240),
                &mut slot_0.part::<i8, Tokens<8192, 32>>(0),
            );
            pc02_constants.wait();
        }
        #[region("pc02")]
        {
            let pc03_constants = prefetch(
                &constants.part::<i8, Vector<14464>>(164864),
                &mut constants_1.part::<i8, Vector<14464>>(0),
            );
            pc02(
                &slot_0.part::<i8, Tokens<8192, 32>>(0),
                &constants_0.part::<i32, Vector<64>>(0),
                &constants_0.part::<i8, Stream<32, 32>>(256),
                &constants_0.part::<i8, Stream<32, 2048>>(1408),
                &constants_0.part::<i32, Vector<64>>(67072),
                &constants_0.part::<i8, Stream<32, 32>>(67328),
                &constants_0.part::<i8, Stream<32, 32>>(68480),
                &constants_0.part::<i32, Vector<256>>(69632),
                &constants_0.part::<i8, Stream<32, 32>>(70656),
                &mut slot_1.part::<i8, Tokens<8192, 32>>(0),
            );
            pc03_constants.wait();
        }
        #[region("pc03")]
        {
            let pc04_constants = prefetch(
                &constants.part::<i8, Vector<105216>>(179328),
                &mut constants_0.part::<i8, Vector<105216>>(0),
            );
            pc03(
                &slot_1.part::<i8, Tokens<8192, 32>>(0),
                &constants_1.part::<i32, Vector<64>>(0),
                &constants_1.part::<i8, Stream<128, 32>>(256),
                &constants_1.part::<i8, Stream<128, 36>>(4864),
                &constants_1.part::<i8, Vector<256>>(9984),
                &constants_1.part::<i8, Stream<32, 128>>(10240),
                &mut slot_0.part::<i8, Tokens<8192, 32>>(0),
            );
            pc04_constants.wait();
        }
        #[region("pc04")]
        {
            let pc05_constants = prefetch(
                &constants.part::<i8, Vector<45056>>(284544),
                &mut constants_1.part::<i8, Vector<45056>>(0),
            );
            pc04(
                &slot_0.part::<i8, Tokens<8192, 32>>(0),
                &constants_0.part::<i32, Vector<64>>(0),
                &constants_0.part::<i8, Stream<64, 288>>(256),
                &constants_0.part::<i32, Vector<128>>(18944),
                &constants_0.part::<i32, Vector<256>>(19456),
                &constants_0.part::<i8, Stream<64, 64>>(20480),
                &constants_0.part::<i8, Stream<64, 1024>>(24832),
                &constants_0.part::<i32, Vector<128>>(90624),
                &constants_0.part::<i8, Stream<64, 64>>(91136),
                &constants_0.part::<i8, Stream<64, 64>>(95488),
                &constants_0.part::<i32, Vector<256>>(99840),
                &constants_0.part::<i8, Stream<64, 64>>(100864),
                &mut slot_1.part::<i8, Packed<32, 64, 128>>(0),
                &mut slot_2.part::<i8, Tokens<2048, 64>>(0),
            );
            pc05_constants.wait();
        }
        #[region("pc05")]
        {
            let pc06_constants = prefetch(
                &constants.part::<i8, Vector<85248>>(329600),
                &mut constants_0.part::<i8, Vector<85248>>(0),
            );
            pc05(
                &slot_2.part::<i8, Tokens<2048, 64>>(0),
                &constants_1.part::<i32, Vector<128>>(0),
                &constants_1.part::<i8, Stream<256, 64>>(512),
                &constants_1.part::<i8, Stream<256, 36>>(17920),
                &constants_1.part::<i8, Vector<256>>(28160),
                &constants_1.part::<i8, Stream<64, 256>>(28416),
                &mut slot_0.part::<i8, Tokens<2048, 64>>(0),
            );
            pc06_constants.wait();
        }
        #[region("pc06")]
        {
            let pc07_constants = prefetch(
                &constants.part::<i8, Vector<45056>>(414848),
                &mut constants_1.part::<i8, Vector<45056>>(0),
            );
            pc06(
                &slot_0.part::<i8, Tokens<2048, 64>>(0),
                &constants_0.part::<i32, Vector<128>>(0),
                &constants_0.part::<i8, Stream<64, 64>>(512),
                &constants_0.part::<i8, Stream<64, 1024>>(4864),
                &constants_0.part::<i32, Vector<128>>(70656),
                &constants_0.part::<i8, Stream<64, 64>>(71168),
                &constants_0.part::<i8, Stream<64, 64>>(75520),
                &constants_0.part::<i32, Vector<256>>(79872),
                &constants_0.part::<i8, Stream<64, 64>>(80896),
                &mut slot_2.part::<i8, Tokens<2048, 64>>(0),
            );
            pc07_constants.wait();
        }
        #[region("pc07")]
        {
            let pc08_constants = prefetch(
                &constants.part::<i8, Vector<307456>>(459904),
                &mut constants_0.part::<i8, Vector<307456>>(0),
            );
            pc07(
                &slot_2.part::<i8, Tokens<2048, 64>>(0),
                &constants_1.part::<i32, Vector<128>>(0),
                &constants_1.part::<i8, Stream<256, 64>>(512),
                &constants_1.part::<i8, Stream<256, 36>>(17920),
                &constants_1.part::<i8, Vector<256>>(28160),
                &constants_1.part::<i8, Stream<64, 256>>(28416),
                &mut slot_0.part::<i8, Tokens<2048, 64>>(0),
            );
            pc08_constants.wait();
        }
        #[region("pc08")]
        {
            let pc09_constants = prefetch(
                &constants.part::<i8, Vector<235136>>(767360),
                &mut constants_1.part::<i8, Vector<235136>>(0),
            );
            pc08(
                &slot_0.part::<i8, Tokens<2048, 64>>(0),
                &constants_0.part::<i32, Vector<128>>(0),
                &constants_0.part::<i8, Stream<160, 576>>(512),
                &constants_0.part::<i32, Vector<320>>(93312),
                &constants_0.part::<i32, Vector<640>>(94592),
                &constants_0.part::<i8, Stream<160, 160>>(97152),
                &constants_0.part::<i8, Stream<160, 640>>(123392),
                &constants_0.part::<i32, Vector<320>>(226432),
                &constants_0.part::<i8, Stream<160, 160>>(227712),
                &constants_0.part::<i8, Stream<160, 160>>(253952),
                &constants_0.part::<i32, Vector<256>>(280192),
                &constants_0.part::<i8, Stream<160, 160>>(281216),
                &mut slot_2.part::<i8, Packed<64, 32, 64>>(0),
                &mut slot_3.part::<i8, Tokens<512, 160>>(0),
            );
            pc09_constants.wait();
        }
        #[region("pc09")]
        {
            let pc10_constants = prefetch(
                &constants.part::<i8, Vector<211584>>(1002496),
                &mut constants_0.part::<i8, Vector<211584>>(0),
            );
            pc09(
                &slot_3.part::<i8, Tokens<512, 160>>(0),
                &constants_1.part::<i32, Vector<320>>(0),
                &constants_1.part::<i8, Stream<640, 160>>(1280),
                &constants_1.part::<i8, Stream<640, 36>>(106240),
                &constants_1.part::<i8, Vector<256>>(131840),
                &constants_1.part::<i8, Stream<160, 640>>(132096),
                &mut slot_0.part::<i8, Tokens<512, 160>>(0),
            );
            pc10_constants.wait();
        }
        #[region("pc10")]
        {
            let pc11_constants = prefetch(
                &constants.part::<i8, Vector<235136>>(1214080),
                &mut constants_1.part::<i8, Vector<235136>>(0),
            );
            pc10(
                &slot_0.part::<i8, Tokens<512, 160>>(0),
                &constants_0.part::<i32, Vector<320>>(0),
                &constants_0.part::<i8, Stream<160, 160>>(1280),
                &constants_0.part::<i8, Stream<160, 640>>(27520),
                &constants_0.part::<i32, Vector<320>>(130560),
                &constants_0.part::<i8, Stream<160, 160>>(131840),
                &constants_0.part::<i8, Stream<160, 160>>(158080),
                &constants_0.part::<i32, Vector<256>>(184320),
                &constants_0.part::<i8, Stream<160, 160>>(185344),
                &mut slot_3.part::<i8, Tokens<512, 160>>(0),
            );
            pc11_constants.wait();
        }
        #[region("pc11")]
        {
            let pc12_constants = prefetch(
                &constants.part::<i8, Vector<644352>>(1449216),
                &mut constants_0.part::<i8, Vector<644352>>(0),
            );
            pc11(
                &slot_3.part::<i8, Tokens<512, 160>>(0),
                &constants_1.part::<i32, Vector<320>>(0),
                &constants_1.part::<i8, Stream<640, 160>>(1280),
                &constants_1.part::<i8, Stream<640, 36>>(106240),
                &constants_1.part::<i8, Vector<256>>(131840),
                &constants_1.part::<i8, Stream<160, 640>>(132096),
                &mut slot_0.part::<i8, Tokens<512, 160>>(0),
            );
            pc12_constants.wait();
        }
        #[region("pc12")]
        {
            let pc13_constants = prefetch(
                &constants.part::<i8, Vector<572672>>(2093568),
                &mut constants_1.part::<i8, Vector<572672>>(0),
            );
            pc12(
                &slot_0.part::<i8, Tokens<512, 160>>(0),
                &constants_0.part::<i32, Vector<320>>(0),
                &constants_0.part::<i8, Stream<256, 1440>>(1280),
                &constants_0.part::<i32, Vector<512>>(370944),
                &constants_0.part::<i32, Vector<1024>>(372992),
                &constants_0.part::<i8, Stream<256, 256>>(377088),
                &constants_0.part::<i8, Stream<256, 256>>(443648),
                &constants_0.part::<i8, Stream<256, 256>>(510208),
                &constants_0.part::<i32, Vector<256>>(576768),
                &constants_0.part::<i8, Stream<256, 256>>(577792),
                &mut slot_3.part::<i8, Packed<160, 16, 32>>(0),
                &mut slot_4.part::<i8, Tokens<128, 256>>(0),
            );
            pc13_constants.wait();
        }
        #[region("pc13")]
        {
            let pc14_constants = prefetch(
                &constants.part::<i8, Vector<269312>>(2666240),
                &mut constants_0.part::<i8, Vector<269312>>(0),
            );
            pc13(
                &slot_4.part::<i8, Tokens<128, 256>>(0),
                &constants_1.part::<i32, Vector<512>>(0),
                &constants_1.part::<i8, Stream<1024, 256>>(2048),
                &constants_1.part::<i8, Stream<1024, 36>>(268288),
                &constants_1.part::<i8, Vector<256>>(309248),
                &constants_1.part::<i8, Stream<256, 1024>>(309504),
                &mut slot_0.part::<i8, Tokens<128, 256>>(0),
            );
            pc14_constants.wait();
        }
        #[region("pc14")]
        {
            let pc15_constants = prefetch(
                &constants.part::<i8, Vector<572672>>(2935552),
                &mut constants_1.part::<i8, Vector<572672>>(0),
            );
            pc14(
                &slot_0.part::<i8, Tokens<128, 256>>(0),
                &constants_0.part::<i32, Vector<512>>(0),
                &constants_0.part::<i8, Stream<256, 256>>(2048),
                &constants_0.part::<i8, Stream<256, 256>>(68608),
                &constants_0.part::<i8, Stream<256, 256>>(135168),
                &constants_0.part::<i32, Vector<256>>(201728),
                &constants_0.part::<i8, Stream<256, 256>>(202752),
                &mut slot_4.part::<i8, Tokens<128, 256>>(0),
            );
            pc15_constants.wait();
        }
        #[region("pc15")]
        {
            let pc16_constants = prefetch(
                &constants.part::<i8, Vector<406864>>(3508224),
                &mut constants_0.part::<i8, Vector<406864>>(0),
            );
            pc15(
                &slot_4.part::<i8, Tokens<128, 256>>(0),
                &constants_1.part::<i32, Vector<512>>(0),
                &constants_1.part::<i8, Stream<1024, 256>>(2048),
                &constants_1.part::<i8, Stream<1024, 36>>(268288),
                &constants_1.part::<i8, Vector<256>>(309248),
                &constants_1.part::<i8, Stream<256, 1024>>(309504),
                &mut slot_5.part::<i8, Tokens<128, 256>>(0),
            );
            pc16_constants.wait();
        }
        #[region("pc16")]
        {
            pc16(
                &slot_5.part::<i8, Tokens<128, 256>>(0),
                &slot_3.part::<i8, Packed<160, 16, 32>>(0),
                &slot_2.part::<i8, Packed<64, 32, 64>>(0),
                &slot_1.part::<i8, Packed<32, 64, 128>>(0),
                &constants_0.part::<i32, Vector<512>>(0),
                &constants_0.part::<i8, Stream<256, 32>>(2048),
                &constants_0.part::<i8, Stream<256, 64>>(11264),
                &constants_0.part::<i8, Stream<256, 160>>(28672),
                &constants_0.part::<i8, Stream<256, 256>>(70656),
                &constants_0.part::<i8, Vector<1024>>(137216),
                &constants_0.part::<i8, Stream<256, 1024>>(138240),
                &constants_0.part::<i8, Vector<256>>(401408),
                &constants_0.part::<i8, Stream<19, 256>>(401664),
                &mut slot_0.part::<u8, Planar<1, 256, 512>>(0),
            );
        }
        #[region("outputs")]
        {
            let argmax_2_leaves = write_back(&slot_0.part::<u8, Planar<1, 256, 512>>(0), argmax_2);
            argmax_2_leaves.wait();
            drain();
        }
    }

    #[instance(target = QC_U)]
    pub const FRAME: Kernel = frame;
}
