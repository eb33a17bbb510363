//! How fast is the array executor? One core; `cargo bench -p iss --bench array [-- filter]`.
//!
//! `mac` reports multiply-accumulates per second as elements per second, the others time per operation over 1,024 PEs as
//! elements (operations) per second; `memcpy` is the host's own yardstick.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iss::isa::operand::{Dir, Dirs, Width};
use iss::sim::array::kernels::{self, AluKernel};
use iss::sim::array::{Place, SimdPath, Source, TraceBuffer};

const N_UOPS: u32 = 2000;

fn macs(c: &mut Criterion) {
    let mut group = c.benchmark_group("mac");
    for path in SimdPath::ALL.into_iter().filter(|p| p.available()) {
        for n_channels in [64, 256, 1024] {
            let mut array = kernels::array();
            array.set_path(path);
            let (mut trace, n_macs) = kernels::mac_dot(n_channels);
            group.throughput(Throughput::Elements(n_macs * 1024));
            group.bench_function(format!("{path}/{n_channels}"), |b| b.iter(|| array.run(&mut trace)));
        }
    }
    // With the time to fill the buffer.
    let mut array = kernels::array();
    let (_, n_macs) = kernels::mac_dot(256);
    group.throughput(Throughput::Elements(n_macs * 1024));
    group.bench_function("fill-and-run/256", |b| b.iter(|| array.run(&mut kernels::mac_dot(256).0)));
}

fn alu(c: &mut Criterion) {
    let mut group = c.benchmark_group("alu");
    group.throughput(Throughput::Elements(N_UOPS as u64));
    for path in SimdPath::ALL.into_iter().filter(|p| p.available()) {
        for kernel in AluKernel::ALL {
            let mut array = kernels::array();
            array.set_path(path);
            let mut trace = kernel.trace(N_UOPS);
            let id = format!("{path}/{}", kernel.word());
            group.bench_function(id, |b| b.iter(|| array.run(&mut trace)));
        }
    }
    let mut array = kernels::array();
    group.bench_function("fill-and-run/mixed", |b| b.iter(|| array.run(&mut AluKernel::Mixed.trace(N_UOPS))));
    let mut array = kernels::array();
    array.set_threads(2);
    let mut trace = AluKernel::Mixed.trace(N_UOPS);
    group.bench_function("two-threads/mixed", |b| b.iter(|| array.run(&mut trace)));
}

fn moves(c: &mut Criterion) {
    let mut group = c.benchmark_group("move");
    for (name, borders) in [("send", false), ("send-borders", true)] {
        let mut array = kernels::array();
        array.set_borders(borders);
        for (dir_name, dir) in [("east", Dir::East), ("south", Dir::South)] {
            group.throughput(Throughput::Elements(1));
            group.bench_function(format!("{name}/{dir_name}"), |b| {
                b.iter(|| array.send(Dirs::one(dir), Source::word(0)))
            });
        }
        group.throughput(Throughput::Elements(100));
        group.bench_function(format!("{name}/and-add"), |b| {
            let mut trace = TraceBuffer::new();
            b.iter(|| kernels::send_and_add(&mut array, &mut trace, 100))
        });
    }
    let mut array = kernels::array();
    array.set_borders(true);
    group.throughput(Throughput::Elements(20 * 100));
    group.bench_function("mixed-with-borders", |b| {
        let mut trace = TraceBuffer::new();
        b.iter(|| kernels::mixed_rounds(&mut array, &mut trace, 100))
    });
    for width in [Width::Word, Width::Byte] {
        let mut array = kernels::array();
        let mut bytes = vec![1u8; 32 * width.bytes() as usize];
        group.throughput(Throughput::Bytes(32 * bytes.len() as u64));
        group.bench_function(format!("write-tile/{width:?}"), |b| {
            b.iter(|| (0..32).for_each(|row| array.write_row(row, 0, Place { width, addr: 8 }, black_box(&bytes))))
        });
        group.bench_function(format!("read-tile/{width:?}"), |b| {
            b.iter(|| (0..32).for_each(|row| array.read_row(row, 0, Place { width, addr: 8 }, black_box(&mut bytes))))
        });
    }
}

fn memcpy(c: &mut Criterion) {
    let mut group = c.benchmark_group("memcpy");
    for (name, len) in [("4k", 4 << 10), ("4M", 4 << 20)] {
        let (from, mut to) = (vec![1u8; len], vec![0u8; len]);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(name, |b| b.iter(|| black_box(&mut to).copy_from_slice(black_box(&from))));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = macs, alu, moves, memcpy
}
criterion_main!(benches);
