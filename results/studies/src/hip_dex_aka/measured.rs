//! The run's measurements in the terms of the slides. Messages, bytes, cycles and memory do not depend on the network, nor on how fast
//! the processors are, so all rows of the run count.

use super::{Access, Architecture, METHODS, Method, Part, Speed};
use crate::{Basis, Figure, Material};
use keytoll_analysis::stats::median95;
use keytoll_analysis::summary::{Cpu, LinkMeans, Median, Memory, Summary, SummaryRow};

/// The run and its repetitions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured<'a>(pub(super) &'a Material<'a>);

impl<'a> Measured<'a> {
    /// The run with processors of this speed.
    fn summary(self, speed: Speed) -> Option<&'a Summary> {
        speed.of(self.0)
    }

    /// The rows of a method in the run itself.
    fn rows(self, method: Method) -> impl Iterator<Item = &'a SummaryRow> {
        self.0.summary.rows.iter().filter(move |row| row.method == method.method)
    }

    /// The row of a method.
    fn row(self, method: Method, speed: Speed, at: (Access, Architecture)) -> Option<&'a SummaryRow> {
        let (access, architecture) = at;
        self.summary(speed)?.rows.iter().find(|row| {
            row.method == method.method
                && row.network == access.network()
                && row.topology == architecture.name()
        })
    }

    /// Whether the run has any row of a method.
    pub(super) fn has(self, method: Method) -> bool {
        self.rows(method).next().is_some()
    }

    /// Whether computation takes time in no row.
    pub(super) fn is_uncharged(self) -> bool {
        METHODS.iter().all(|&method| self.rows(method).all(|row| !row.charged))
    }

    /// The median of the delay.
    pub(super) fn delay_ms(self, method: Method, speed: Speed, at: (Access, Architecture)) -> Option<Figure> {
        Some(Figure::of_median(self.row(method, speed, at)?.delay_ms?.median_of_blocks()))
    }

    /// The same, unless computation took no time.
    pub(super) fn charged_delay_ms(
        self,
        method: Method,
        speed: Speed,
        at: (Access, Architecture),
    ) -> Option<Figure> {
        self.delay_ms(method, speed, at)
            .filter(|_| self.row(method, speed, at).is_some_and(|row| row.charged))
    }

    /// The part of the delay in which nodes compute and nothing is on its way, in per cent: of medians. Its interval is that of the
    /// computation; the rest of the delay does not depend on how fast nodes compute.
    pub(super) fn share_percent(
        self,
        method: Method,
        speed: Speed,
        at: (Access, Architecture),
    ) -> Option<Figure> {
        let row = self.row(method, speed, at).filter(|row| row.charged)?;
        let (own_ms, delay_ms) = (row.delay_split_p50_ms?.computation, row.delay_ms?.p50);
        let Figure { low, high, .. } = self.computation_ms(method, speed)?;
        let percent = |ms: f64| 100.0 * ms / (delay_ms - own_ms + ms);
        let (low, high) = (low.map(|ms| percent(ms.min(own_ms))), high.map(|ms| percent(ms.max(own_ms))));
        Some(Figure { low, high, ..Figure::of_run(Basis::Measured, percent(own_ms), None) })
    }

    /// Computation in the delay in milliseconds: the median of the rows.
    pub(super) fn computation_ms(self, method: Method, speed: Speed) -> Option<Figure> {
        let rows = self.summary(speed)?.rows.iter().filter(|row| row.method == method.method && row.charged);
        median_of_rows(rows.filter_map(|row| Some(row.delay_split_p50_ms?.computation)))
    }

    /// Something counted in a part of the network; `None` if the method sends nothing there.
    pub(super) fn counted(self, method: Method, part: Part, of: fn(&LinkMeans) -> f64) -> Option<Figure> {
        let parts = self.rows(method).filter_map(|row| {
            let links = row.links.iter().filter(|(link, _)| part.has(link));
            let sum = links.map(|(_, means)| of(means)).reduce(|one, other| one + other)?;
            Some((sum, None, row.n))
        });
        Figure::pooled(Basis::Measured, &parts.collect::<Vec<_>>())
    }

    /// The same in the whole network.
    pub(super) fn counted_in_all(self, method: Method, of: fn(&LinkMeans) -> f64) -> Option<Figure> {
        let ran = self.counted(method, Part::Ran, of)?.value;
        let core = self.counted(method, Part::Core, of).map_or(0.0, |figure| figure.value);
        Some(Figure::of_run(Basis::Measured, ran + core, None))
    }

    /// Messages on a link.
    pub(super) fn messages_on(self, method: Method, link: &str) -> Option<f64> {
        let figure = Figure::of_link(self.rows(method), link, |means| means.messages);
        figure.map(|figure| figure.value)
    }

    /// Millions of cycles of an authentication at a node, if cryptography was computed: the median of the rows. Other programs only
    /// prolong computation, that of short authentications in all rows alike, because they fill the caches: the interval reaches down to the
    /// median of the rows' 5th percentiles.
    pub(super) fn megacycles(self, method: Method, node: &str) -> Option<Figure> {
        let rows = self.cpus(method, node).filter_map(|cpu| Some(cpu.cycles_p50? / 1e6));
        let figure = median_of_rows(rows).filter(|figure| figure.value > 0.0)?;
        let quick =
            self.cpus(method, node).filter_map(|cpu| Some(cpu.cycles_p50? / 1e6 * cpu.ns_p5 / cpu.ns_p50));
        let (undisturbed, _) = median95(quick)?;
        Some(Figure { low: figure.low.map(|low| low.min(undisturbed)), ..figure })
    }

    /// The mean of the same, for a node that is asked now and then.
    pub(super) fn mean_megacycles(self, method: Method, node: &str) -> Option<Figure> {
        let parts = self.cpus(method, node).filter_map(|cpu| Some((cpu.cycles? / 1e6, None, cpu.n)));
        Figure::pooled(Basis::Measured, &parts.collect::<Vec<_>>()).filter(|figure| figure.value > 0.0)
    }

    fn cpus(self, method: Method, node: &str) -> impl Iterator<Item = &'a Cpu> {
        let node = node.to_owned();
        self.rows(method).filter(|row| row.charged).filter_map(move |row| row.cpu.get(&node))
    }

    /// Milliseconds of an authentication at a node at the clock that the scenario gives it.
    pub(super) fn node_ms(self, method: Method, node: &str) -> Option<Figure> {
        let clock_hz = self.cpus(method, node).find_map(|cpu| Some(cpu.sampled?.cpu_hz))?;
        Some(self.megacycles(method, node)?.times(1e9 / clock_hz))
    }

    /// The peaks of heap and stack of a node during its start and one authentication, added up, in kilobytes.
    pub(super) fn memory_kb(self, method: Method, node: &str) -> Option<Figure> {
        self.peak_kb(method, node, |memory| Some(memory.peak? + memory.stack_peak.unwrap_or(0)))
    }

    /// The peak of the heap alone.
    pub(super) fn heap_kb(self, method: Method, node: &str) -> Option<Figure> {
        self.peak_kb(method, node, |memory| memory.peak)
    }

    /// The peak of the stack alone; none without measured computation.
    pub(super) fn stack_kb(self, method: Method, node: &str) -> Option<Figure> {
        self.peak_kb(method, node, |memory| memory.stack_peak)
    }

    /// The median of all rows, because memory that is allocated once in a program, such as the tables of a shared key, is charged to the
    /// first row that needs it.
    fn peak_kb(self, method: Method, node: &str, peak: impl Fn(&Memory) -> Option<u64>) -> Option<Figure> {
        let peaks = self.rows(method).filter_map(|row| row.memory_bytes.get(node).and_then(&peak));
        let mut peaks: Vec<u64> = peaks.filter(|&bytes| bytes > 0).collect();
        peaks.sort_unstable();
        let bytes = peaks.get(peaks.len() / 2)?;
        Some(Figure::of_run(Basis::Measured, *bytes as f64 / 1000.0, None))
    }
}

/// The median of a quantity that no network changes. Rows are measured at different times, and the authentications of one row
/// share its disturbances, so the rows are the blocks of its interval.
fn median_of_rows(rows: impl IntoIterator<Item = f64>) -> Option<Figure> {
    let (value, interval) = median95(rows)?;
    Some(Figure::of_median(Median { value, interval: interval.map(|ends| (ends.low, ends.high)) }))
}
