//! Ranges of all float tensors on calibration inputs, by the golden executor. Inputs run side by side on the host's processors;
//! minima, maxima and counts do not depend on the order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::golden::{Keep, run_observed};
use crate::graph::{Graph, Tensor, TensorView, ValueId};
use crate::quantize::constants;
use crate::quantize::histogram::{Histogram, for_percentile};
use crate::quantize::ranges::{Range, Ranges};
use crate::quantize::{Method, Options, Progress, QuantizeError, Samples};

/// What was observed of each value.
type Observed<T> = Vec<Option<T>>;

/// The range of every float tensor, constants included.
pub(super) fn calibrate(
    graph: &Graph,
    inputs: &dyn Samples,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Ranges, QuantizeError> {
    let n_passes = if options.method == Method::MinMax { 1 } else { 2 };
    let total = inputs.count() * n_passes;
    let done = AtomicUsize::new(0);
    let tick = || {
        progress(Progress::Calibrating { done: done.fetch_add(1, Ordering::Relaxed) + 1, total });
    };
    progress(Progress::Calibrating { done: 0, total });
    let observed = observe(graph, inputs, &tick, extend_range, merge_ranges)?;
    let ranges = match options.method {
        Method::MinMax => observed,
        method => clipped(graph, inputs, options, &tick, method, &observed)?,
    };
    Ok(name_all(graph, &ranges))
}

/// Ranges that leave outliers out, in a second pass over the inputs.
fn clipped(
    graph: &Graph,
    inputs: &dyn Samples,
    options: &Options,
    tick: &(dyn Fn() + Sync),
    method: Method,
    observed: &Observed<Range>,
) -> Result<Observed<Range>, QuantizeError> {
    let empty = |range: Range| match method {
        Method::Percentile(_) => for_percentile(options.activations, range),
        _ => Histogram::of_magnitudes(range),
    };
    let count = |histogram: &mut Option<Histogram>, id: ValueId, x: &Tensor| {
        if let (Some(range), Some(x)) = (observed[id.index()].filter(is_finite), x.view::<f32>()) {
            histogram.get_or_insert_with(|| empty(range)).add(&x);
        }
    };
    let merge = |into: &mut Option<Histogram>, from: Option<Histogram>| match (into, from) {
        (Some(into), Some(from)) => into.merge(&from),
        (into, from) => *into = into.take().or(from),
    };
    let histograms = observe(graph, inputs, tick, count, merge)?;
    let range = |(observed, histogram): (&Option<Range>, &Option<Histogram>)| {
        let (observed, histogram) = ((*observed)?, histogram.as_ref()?);
        Some(match method {
            Method::Percentile(percent) => histogram.percentile(percent, observed),
            _ => histogram.entropy(observed),
        })
    };
    Ok(observed.iter().zip(&histograms).map(range).collect())
}

/// Runs the network on all inputs and gathers what `add` makes of each tensor.
fn observe<T: Send + Clone>(
    graph: &Graph,
    inputs: &dyn Samples,
    tick: &(dyn Fn() + Sync),
    add: impl Fn(&mut Option<T>, ValueId, &Tensor) + Sync,
    merge: impl Fn(&mut Option<T>, Option<T>) + Sync,
) -> Result<Observed<T>, QuantizeError> {
    if inputs.count() == 0 {
        return Err(QuantizeError::NoSamples);
    }
    let next = AtomicUsize::new(0);
    let gathered: Mutex<Result<Observed<T>, (usize, QuantizeError)>> = Mutex::new(Ok(vec![None; graph.values().len()]));
    let work = || {
        let mut own: Observed<T> = vec![None; graph.values().len()];
        let mut failed = None;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= inputs.count() {
                break;
            }
            if let Err(error) = observe_one(graph, inputs, index, &mut own, &add) {
                failed = Some((index, error));
                next.store(inputs.count(), Ordering::Relaxed);
                break;
            }
            tick();
        }
        let mut all = gathered.lock().expect("no thread panics while it merges");
        match (&mut *all, failed) {
            (Ok(all), None) => all.iter_mut().zip(own).for_each(|(into, from)| merge(into, from)),
            // The first input that fails, whichever thread finds it, as far as it was tried.
            (Err((known, _)), Some((index, error))) if index < *known => *all = Err((index, error)),
            (Err(_), _) => {}
            (Ok(_), Some(failure)) => *all = Err(failure),
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(inputs.count()).min(MAX_THREADS);
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            scope.spawn(work);
        }
        work();
    });
    gathered.into_inner().expect("no thread panics while it merges").map_err(|(_, error)| error)
}

/// Runs at once; each holds the tensors that are alive.
const MAX_THREADS: usize = 8;

fn observe_one<T>(
    graph: &Graph,
    inputs: &dyn Samples,
    index: usize,
    own: &mut Observed<T>,
    add: &impl Fn(&mut Option<T>, ValueId, &Tensor),
) -> Result<(), QuantizeError> {
    let label = inputs.label(index);
    let sample = inputs.get(index).map_err(|source| QuantizeError::Sample { label: label.clone(), source })?;
    crate::golden::check_inputs(graph, &sample)
        .map_err(|source| QuantizeError::Run { label: label.clone(), source: Box::new(source) })?;
    for &id in graph.inputs() {
        if let Some(tensor) = sample.get(&graph.value(id).name) {
            check_elements(&graph.value(id).name, tensor, &label)?;
            add(&mut own[id.index()], id, tensor);
        }
    }
    let ran = run_observed(graph, &sample, Keep::Outputs, |id, tensor| add(&mut own[id.index()], id, tensor));
    ran.map(|_| ()).map_err(|source| QuantizeError::Run { label, source: Box::new(source) })
}

fn check_elements(name: &str, tensor: &Tensor, label: &str) -> Result<(), QuantizeError> {
    match tensor.view::<f32>() {
        Some(x) if x.iter().any(|v| !v.is_finite()) => {
            Err(QuantizeError::NotFinite { label: label.to_owned(), tensor: name.to_owned() })
        }
        _ => Ok(()),
    }
}

fn extend_range(range: &mut Option<Range>, _: ValueId, x: &Tensor) {
    if let Some(x) = x.view::<f32>() {
        merge_ranges(range, Some(constants::range(&x)));
    }
}

fn merge_ranges(into: &mut Option<Range>, from: Option<Range>) {
    *into = match (*into, from) {
        (Some([a, b]), Some([c, d])) => Some([constants::min(a, c), constants::max(b, d)]),
        (into, from) => into.or(from),
    };
}

/// Ranges by name, those of constants from their elements. A tensor with infinities, as masks have them, gets none.
fn name_all(graph: &Graph, observed: &Observed<Range>) -> Ranges {
    let mut ranges = BTreeMap::new();
    for (value, observed) in graph.values().iter().zip(observed) {
        let constant = value.constant.as_ref().and_then(|tensor| tensor.view::<f32>());
        let range = observed.or_else(|| constant.map(|x| constants::range(&x)));
        if let Some(range) = range.filter(is_finite) {
            ranges.insert(value.name.clone(), range);
        }
    }
    Ranges(ranges)
}

fn is_finite(range: &Range) -> bool {
    range.iter().all(|v| v.is_finite())
}
