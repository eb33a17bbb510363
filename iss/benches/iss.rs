//! How fast is the simulator, issue and engines included? `cargo bench -p iss --bench iss [-- filter]`.
//!
//! The programs of `iss bench`, with statistics: elements are multiply-accumulates, instructions or bytes.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use iss::bench::programs::{self, Alu};
use iss::bench::started;
use iss::image::Image;

/// Times the run alone: memories are made before, and given back after.
fn program(c: &mut Criterion, name: &str, throughput: Throughput, image: &Image, threads: usize) {
    let mut group = c.benchmark_group("program");
    group.throughput(throughput).sample_size(10);
    group.bench_function(name, |b| {
        b.iter_batched(
            || started(image, threads).expect("the program starts"),
            |mut sim| {
                sim.run().expect("the program runs").into_result().expect("the program halts");
                sim
            },
            BatchSize::PerIteration,
        )
    });
    group.finish();
}

fn all(c: &mut Criterion) {
    for channels in [64, 256, 1024] {
        let macs = Throughput::Elements((1 << 16) * 16 * 1024);
        program(c, &format!("mac-{channels}"), macs, &programs::mac_loop(channels, 1 << 16), 1);
    }
    for alu in Alu::ALL {
        for (words, suffix) in [(programs::NEAR, ""), (programs::FAR, "-far")] {
            let image = programs::alu_loop(alu, 1 << 16, words);
            program(c, &format!("alu-{}{suffix}", alu.word()), Throughput::Elements(1 << 16), &image, 1);
        }
    }
    program(c, "flow-loop", Throughput::Bytes(1 << 25), &programs::flow_loop(1 << 15), 1);
    program(c, "flow-walk", Throughput::Bytes(1 << 25), &programs::flow_walk(1 << 9), 1);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let image = programs::mixed(5_000_000);
    for threads in [1, cores] {
        program(c, &format!("mix-{threads}-threads"), Throughput::Elements(5_000_000), &image, threads);
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
