//! Views of channels, parts of blobs, and kernels made of kernels: native code, the interpreter, the simulator and references.

use ccl_runtime::ccl;
use ccl_runtime::interp::Limits;
use ccl_runtime::kernel::{Instance, Kernel};
use ccl_runtime::testing::Check;

mod golden {
    use ndarray::{Array1, Array2, Array3};

    fn shifted(sum: i64, by: u32) -> i8 {
        let (low, half) = (sum & ((1 << by) - 1), 1 << (by - 1));
        let up = low > half || (low == half && (sum >> by) & 1 == 1);
        ((sum >> by) + i64::from(up)).clamp(-128, 127) as i8
    }

    /// For each head of 4 features: scores of a token against all keys, then values weighted by them.
    pub fn heads(q: &Array2<i8>, k: &Array2<i8>, v: &Array3<i8>, y: &mut Array2<i8>) {
        let n_keys = k.nrows();
        for ((n, feature), y) in y.indexed_iter_mut() {
            let features = feature / 4 * 4..feature / 4 * 4 + 4;
            let score = |m: usize| {
                let sum = features.clone().map(|c| i64::from(q[[n, c]]) * i64::from(k[[m, c]])).sum();
                i64::from(shifted(sum, 7))
            };
            *y = shifted((0..n_keys).map(|m| score(m) * i64::from(v[[feature, 0, m]])).sum(), 7);
        }
    }

    fn word(blob: &Array1<i8>, at: usize) -> i64 {
        i64::from(i32::from_le_bytes(std::array::from_fn(|i| blob[at + i] as u8)))
    }

    /// Twice the sum with the word at byte 48 modulo 64, then the layer at byte 64; into the second half of the output.
    pub fn frame(blob: &Array1<i8>, x: &Array3<i8>, y: &mut Array1<i8>) {
        let (_, h, w) = x.dim();
        let step = word(blob, 48) & 63;
        let moved = |v: i8| (i64::from(v) + step).clamp(-128, 127);
        for r in 0..h {
            for c in 0..w {
                let a: [i64; 4] = std::array::from_fn(|i| moved(moved(x[[i, r, c]]) as i8));
                for o in 0..4 {
                    let weight = |i: usize| i64::from(blob[64 + 16 + o * 4 + i]);
                    let sum: i64 = (0..4).map(|i| a[i] * weight(i)).sum::<i64>() + word(blob, 64 + 4 * o);
                    y[(h * w + r * w + c) * 4 + o] = shifted(sum, 9);
                }
            }
        }
    }

    /// Channel `first + c` of the tensor, by place.
    pub fn taken(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.indexed_iter_mut().for_each(|((c, r, w), y)| *y = x[[c + 8, r, w]]);
    }

    /// Elements of the second half, backwards.
    pub fn backwards(x: &Array1<i8>, y: &mut Array1<i8>) {
        let n = y.len() / 2;
        (0..n).for_each(|i| y[n + i] = x[2 * n - 1 - i]);
    }
}

mod head {
    ccl_runtime::ccl! {
        #[kernel]
        #[no_reference("a part of `heads`")]
        pub fn scores<const N: usize, const M: usize, const D: usize>(
            q: &Ocm<i8, Tokens<N, D>>,
            k: &Ocm<i8, Tokens<M, D>>,
            y: &mut Ocm<i8, Tokens<N, M>>,
        ) {
            for t in q.tiles().pipelined(2) {
                let a = t.fetch::<Lrm<i8, D>>().wait();
                let mut keys = broadcast(k);
                for m in (0..M).step_by(4) {
                    let acc = mac(a, keys.take::<4>());
                    y.at(t).channels(m).store(requant(acc, Scale::new(1 << 23, 30), HalfEven, Saturate));
                }
            }
        }

        #[kernel]
        #[no_reference("a part of `heads`")]
        pub fn weighted<const N: usize, const M: usize, const D: usize>(
            p: &Ocm<i8, Tokens<N, M>>,
            v: &Ocm<i8, Planar<D, 1, M>>,
            y: &mut Ocm<i8, Tokens<N, D>>,
        ) {
            for t in p.tiles().pipelined(2) {
                let a = t.fetch::<Lrm<i8, M>>().wait();
                let mut values = broadcast(v);
                let mut out = Lrm::<i8, D>::new();
                for c in 0..D {
                    out[c] = requant(mac(a, values.take::<1>()), Scale::new(1 << 23, 30), HalfEven, Saturate)[0];
                }
                y.at(t).store(out);
            }
        }
    }
}

/// Kernels that the frame is made of, in two levels.
mod levels {
    pub mod first {
        ccl_runtime::ccl! {
            #[kernel]
            #[no_reference("a part of `frame`")]
            pub fn moved<const C: usize, const H: usize, const W: usize>(
                x: &Ocm<i8, Packed<C, H, W>>,
                constants: &Ocm<i32, Vector<4>>,
                y: &mut Ocm<i8, Packed<C, H, W>>,
            ) {
                let step = broadcast(constants).next::<i32>() & 63;
                for t in x.tiles().chunks::<4>().pipelined(2) {
                    let mut a = t.fetch::<Lrm<i8, 4>>().wait();
                    for c in 0..4 {
                        a[c] = (a[c].widen::<i32>() + step).narrow::<i8>(Saturate);
                    }
                    y.at(t).store(a);
                }
            }
        }
    }
    pub mod second {
        ccl_runtime::ccl! {
            use super::first::moved;

            #[kernel]
            #[no_reference("a part of `frame`")]
            pub fn moved_twice<const C: usize, const H: usize, const W: usize>(
                x: &Ocm<i8, Packed<C, H, W>>,
                constants: &Ocm<i32, Vector<4>>,
                y: &mut Ocm<i8, Packed<C, H, W>>,
            ) {
                let mut after = Ocm::<i8, Packed<C, H, W>>::new();
                {
                    let mut between = Ocm::<i8, Packed<C, H, W>>::new();
                    {
                        moved::<C, H, W>(x, constants, &mut between);
                        moved::<C, H, W>(&between, constants, &mut after);
                    }
                }
                {
                    let zero = Ocm::<i8, Packed<C, H, W>>::new();
                    let _ = zero.tiles();
                    for t in after.tiles() {
                        y.at(t).store(t.fetch::<Lrm<i8, C>>().wait());
                    }
                }
            }
        }
    }
}

ccl! {
    use head::{scores, weighted};
    use levels::second::moved_twice;

    /// Three heads of attention without a softmax.
    #[kernel(reference = golden::heads)]
    pub fn heads<const N: usize, const M: usize>(
        q: &Ocm<i8, Tokens<N, 12>>,
        k: &Ocm<i8, Tokens<M, 12>>,
        v: &Ocm<i8, Planar<12, 1, M>>,
        y: &mut Ocm<i8, Tokens<N, 12>>,
    ) {
        let mut between = Ocm::<i8, Tokens<N, M>>::new();
        scores::<N, M, 4>(&q.channels(0).view::<Tokens<N, 4>>(), &k.channels(0).view::<Tokens<M, 4>>(), &mut between);
        weighted::<N, M, 4>(&between, &v.channels(0).view::<Planar<4, 1, M>>(), &mut y.channels(0).view::<Tokens<N, 4>>());
        for h in 1..3 {
            scores::<N, M, 4>(
                &q.channels(4 * h).view::<Tokens<N, 4>>(),
                &k.channels(4 * h).view::<Tokens<M, 4>>(),
                &mut between,
            );
            weighted::<N, M, 4>(
                &between,
                &v.channels(4 * h).view::<Planar<4, 1, M>>(),
                &mut y.channels(4 * h).view::<Tokens<N, 4>>(),
            );
        }
    }

    /// A frame: constants of a later kernel land while an earlier one runs.
    #[kernel(reference = golden::frame)]
    pub fn frame<const H: usize, const W: usize, const BYTES: usize>(
        blob: &Ext<i8, Vector<96>>,
        x: &Ext<i8, Packed<4, H, W>>,
        y: &mut Ext<i8, Vector<BYTES>>,
    ) {
        assert!(BYTES == 2 * 4 * H * W, "twice the output");
        let mut image = Ocm::<i8, Packed<4, H, W>>::new();
        let image_landed = prefetch(x, &mut image);
        let mut steps = Ocm::<i8, Vector<32>>::new();
        let steps_landed = prefetch(&blob.part::<i8, Vector<32>>(32), &mut steps);
        let constants = Ocm::<i8, Vector<64>>::new();
        let weights_landed = prefetch(&blob.part::<i32, Vector<8>>(64), &mut constants.part::<i32, Vector<8>>(16));
        let mut after = Ocm::<i8, Packed<4, H, W>>::new();
        image_landed.wait();
        steps_landed.wait();
        moved_twice::<4, H, W>(&image, &steps.part::<i32, Vector<4>>(16), &mut after);
        weights_landed.wait();
        let out = Ocm::<i8, Vector<BYTES>>::new();
        {
            let weights = constants.part::<i8, Stream<4, 4>>(16);
            let half = out.part::<i8, Packed<4, H, W>>(4 * H * W);
            for t in after.tiles().pipelined(2) {
                let a = t.fetch::<Lrm<i8, 4>>().wait();
                let mut w = broadcast(&weights);
                let acc = w.bias::<4>() + mac(a, w.take::<4>());
                half.at(t).store(requant(acc, Scale::new(1 << 23, 32), HalfEven, Saturate));
            }
        }
        write_back(&out.part::<i8, Packed<4, H, W>>(4 * H * W), &mut y.part::<i8, Packed<4, H, W>>(4 * H * W)).wait();
    }

    /// Channels from the eighth on, through packed and planar views.
    #[kernel(reference = golden::taken)]
    pub fn taken<const C: usize, const H: usize, const W: usize, const REST: usize, const P: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Planar<REST, H, W>>,
    ) {
        let planar = Ocm::<i8, Planar<C, H, W>>::new();
        for t in x.tiles() {
            planar.at(t).store(t.fetch::<Lrm<i8, C>>().wait());
        }
        let packed = x.channels(4).view::<Packed<P, H, W>>();
        let from = planar.channels(3).channels(5).view::<Planar<REST, H, W>>();
        for t in from.tiles().halo(1).pipelined(2) {
            let a = t.fetch::<Lrm<i8, 3>>().wait();
            y.at(t).channels(0).store(a.row(0)[0]);
            let b = packed.at(t).channels(5).fetch::<Lrm<i8, 1>>().wait();
            y.at(t).channels(1).store(b);
        }
    }

    /// Random access to a part.
    #[kernel(reference = golden::backwards)]
    pub fn backwards<const N: usize, const HALF: usize>(x: &Ocm<i8, Vector<N>>, y: &mut Ocm<i8, Vector<N>>) {
        let (from, to) = (x.part::<i8, Vector<HALF>>(HALF), y.part::<i8, Vector<HALF>>(HALF));
        let at = q_row() * COLS as i32 + q_col();
        let (value, inside) = from.gather(HALF as i32 - 1 - at).wait();
        to.scatter(at, select(inside, value, splat(0))).wait();
    }

    #[instance(target = QC_N)]
    const HEADS: Kernel = heads::<72, 16>;
    #[instance(target = QC_U)]
    const WIDE_HEADS: Kernel = heads::<1030, 48>;
    #[instance(target = QC_N)]
    const FRAME: Kernel = frame::<9, 12, 864>;
    #[instance(target = QC_U)]
    const LARGE_FRAME: Kernel = frame::<40, 36, 11520>;
    #[instance(target = QC_N)]
    const TAKEN: Kernel = taken::<12, 9, 8, 2, 8>;
    #[instance(target = QC_N)]
    const BACKWARDS: Kernel = backwards::<128, 64>;
}

/// Native code, the simulator and the reference agree, and so does the interpreter.
#[track_caller]
fn agree(kernel: &'static Kernel) {
    Check::new(kernel).cases(3).run();
    let instance = Instance::of_kernel(kernel).expect("an instance");
    let mut interpreted = instance.zeros();
    for (i, param) in instance.params().iter().enumerate() {
        if let ccl_runtime::kernel::ParamType::Tensor(ty) = &param.ty {
            let host = ccl_runtime::kernel::HostTensor::from_fn(ty.elem, &ty.layout.host_dims(), |at| {
                ((at + i) * 7919 % 251) as i64 - 125
            });
            interpreted.set(&param.name, host);
        }
    }
    let simulated = instance.run(&interpreted).expect("it runs").arguments;
    instance.interpret(&mut interpreted, Limits::default()).expect("it runs");
    assert!(simulated == interpreted, "{kernel:?}: the simulator and the interpreter differ");
}

#[test]
fn heads_are_views_of_channels() {
    agree(&HEADS);
    agree(&WIDE_HEADS);
    agree(&TAKEN);
}

#[test]
fn kernels_of_kernels_take_parts_of_a_blob() {
    agree(&FRAME);
    agree(&LARGE_FRAME);
    agree(&BACKWARDS);
}
