//! What is shown of a running load, on stderr: a view that is drawn again every second on a terminal, else a line a second.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keytoll_load::{Course, Second, Tally, Totals, Watch};

use super::export::page;
use crate::metrics::Exported;
use crate::screen;

/// Shows a load and exports it.
pub(crate) struct View {
    exported: Exported,
    stop: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    /// The last failures: the second, how many, why.
    errors: VecDeque<(u64, u64, &'static str)>,
    is_stopping: bool,
}

/// How many of the last failures are shown.
const ERRORS: usize = 3;

impl View {
    pub(crate) fn new(exported: Exported, stop: Arc<AtomicBool>) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.with_style(ProgressStyle::with_template("{msg}").expect("a literal template"))
        });
        Self { exported, stop, bar, errors: VecDeque::new(), is_stopping: false }
    }

    /// Takes the view off the screen.
    pub(crate) fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn note_errors(&mut self, second: &Second) {
        for (why, count) in &second.tally.counts.failed {
            self.errors.push_back((second.number, *count, why));
        }
        while self.errors.len() > ERRORS {
            self.errors.pop_front();
        }
    }

    fn drawn(&self, second: &Second, totals: &Totals) -> String {
        let counts = &totals.tally.counts;
        let mut text = format!("{}\n  now   {}\n", line(second), delays(&second.tally));
        text += &format!("  all   {}\n", delays(&totals.tally));
        text += &format!(
            "  {} offered, {} established, {} failed, {} sessions; worker {:.0} % busy, {} limited\n",
            counts.offered,
            counts.usable,
            counts.failed_sum(),
            second.standing,
            second.cpu_share * 100.0,
            if totals.limited_seconds == 0 {
                "nothing".to_owned()
            } else {
                format!("{} s", totals.limited_seconds)
            }
        );
        for (why, count) in &counts.failed {
            text += &format!("  failed {count}: {why}\n");
        }
        for (at, count, why) in &self.errors {
            text += &format!("  at {at} s: {count} x {why}\n");
        }
        text.trim_end().to_owned()
    }
}

impl Watch for View {
    fn second(&mut self, second: &Second, totals: &Totals) {
        self.exported.show(page(second, totals));
        self.note_errors(second);
        match &self.bar {
            Some(bar) => bar.set_message(self.drawn(second, totals)),
            None => screen::note(&(line(second) + "\n")),
        }
    }

    fn is_to_stop(&mut self) -> bool {
        let is_to_stop = self.stop.load(Ordering::Relaxed);
        if is_to_stop && !self.is_stopping {
            self.is_stopping = true;
            screen::note("stopping: what is open is closed; a second Ctrl-C ends at once\n");
        }
        is_to_stop
    }
}

/// `  12 s  offered 500  established 498  failed 0  p50 1.2 ms  p99 3.4 ms  in progress 3`
fn line(second: &Second) -> String {
    let counts = &second.tally.counts;
    let course = match second.course {
        Course::Starting => "",
        Course::Finishing => "  finishing",
        Course::Holding => "  holding",
        Course::Closing => "  closing",
        Course::Over => "  over",
    };
    let limited = if second.is_limited { "  limited by the generator" } else { "" };
    let target = second
        .target
        .map_or_else(String::new, |usage| format!("  target {:.0} %", usage.cpu.as_secs_f64() * 100.0));
    format!(
        "{:5} s  offered {}  established {}  failed {}  {}  in progress {}  sessions {}{target}{limited}{course}",
        second.number + 1,
        counts.offered,
        counts.usable,
        counts.failed_sum(),
        delays(&second.tally),
        second.under_way,
        second.standing,
    )
}

fn delays(tally: &Tally) -> String {
    let at = |quantile| tally.delays.quantile(quantile).map_or_else(|| "-".to_owned(), shown);
    format!("p50 {}  p99 {}  p99.9 {}", at(0.5), at(0.99), at(0.999))
}

/// `1.234 ms`, `2.50 s`.
fn shown(delay: Duration) -> String {
    let ms = delay.as_secs_f64() * 1000.0;
    if ms >= 1000.0 { format!("{:.2} s", ms / 1000.0) } else { format!("{ms:.3} ms") }
}
