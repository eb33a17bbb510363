//! The bar of a run.

use graphc::run::program::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar of so many kernels, on the error stream where that is a terminal.
pub fn bar(kernels: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}").expect("the template is one");
    ProgressBar::new(kernels as u64).with_style(style)
}

/// A sign of life where it is not known how long something takes.
pub fn spinner(doing: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(doing);
    spinner.enable_steady_tick(std::time::Duration::from_millis(120));
    spinner
}

/// Moves it to the kernel that begins.
pub fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    bar.set_position(progress.done as u64);
    bar.set_message(format!("{}, {} cycles so far", progress.kernel, progress.cycles));
}
