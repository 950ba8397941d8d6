//! Figures of repeated measurements.

use std::fmt;

/// Smallest, middle and largest of some values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// # Panics
    /// If there are no values or one of them is not a number.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(|a, b| a.partial_cmp(b).expect("measurements are numbers"));
        let max = *values.last().expect("something was measured");
        Self { min: values[0], median: values[values.len() / 2], max }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, median, max } = self;
        let digits = f.precision().unwrap_or(2);
        write!(f, "{min:>9.digits$} {median:>9.digits$} {max:>9.digits$}")
    }
}

/// `full` repetitions under `cargo bench`; `few` where the benchmark is only tried (`cargo test --all-targets`).
pub(crate) fn repetitions(full: u32, few: u32) -> u32 {
    if std::env::args().any(|argument| argument == "--bench") { full } else { few }
}
