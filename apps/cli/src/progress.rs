//! Progress of a measurement, on stderr: a bar on a terminal, otherwise a line every ten seconds; with a warning if it will
//! take hours.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::screen;

/// The interval of checks.
const LOOK_UP: Duration = Duration::from_secs(1);
/// How many checks there are to a line.
const LOOKS_PER_LINE: u32 = 10;
/// After so many checks the pace is known well enough to warn.
const LOOKS_BEFORE_WARNING: u32 = 3;
/// The least remaining time that causes a warning.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// A measurement in progress; it ends when this is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What is counted, and the option that reduces it, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) length: u64,
    pub(crate) of: &'static str,
    pub(crate) switch: &'static str,
}

impl Progress {
    /// Starts the display.
    pub(crate) fn begin(counted: Counted) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let bar = if is_terminal { drawn(counted) } else { hidden(counted) };
        let (sender, ended) = mpsc::channel();
        let watched = bar.clone();
        let thread = thread::spawn(move || tell(&watched, counted, !is_terminal, &ended));
        Self { bar, watch: Some((sender, thread)) }
    }

    /// Counts one more.
    pub(crate) fn tick(&self) {
        self.add(1);
    }

    /// Counts some more.
    pub(crate) fn add(&self, count: u64) {
        self.bar.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.watch.take() {
            drop(sender);
            // The thread returns nothing.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

fn hidden(counted: Counted) -> ProgressBar {
    ProgressBar::with_draw_target(Some(counted.length), ProgressDrawTarget::hidden())
}

/// The bar, visible before the first of many is done.
fn drawn(counted: Counted) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(counted.length), ProgressDrawTarget::stderr());
    let template = format!("{{bar:40}} {{pos}}/{{len}} {}, {{rest}}", counted.of);
    let style = ProgressStyle::with_template(&template).expect("a literal template");
    // A closed stderr is no error.
    let rest = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&rest(state.pos(), state.eta()));
    };
    let bar = bar.with_style(style.with_key("rest", rest));
    bar.tick();
    bar.enable_steady_tick(LOOK_UP / 2);
    bar
}

/// The remaining time. Before the first is done keys are generated, which may take a while.
fn rest(done: u64, left: Duration) -> String {
    if done == 0 { "preparing".to_owned() } else { format!("about {} left", about(left)) }
}

/// Displays the progress until the other side of the channel is dropped.
fn tell(bar: &ProgressBar, counted: Counted, has_lines: bool, ended: &Receiver<()>) {
    let (mut looks, mut is_warned) = (0_u32, false);
    while ended.recv_timeout(LOOK_UP) == Err(RecvTimeoutError::Timeout) {
        looks += 1;
        let done = bar.position();
        let left = left(LOOK_UP * looks, done, counted.length);
        if let Some(left) = left.filter(|left| looks >= LOOKS_BEFORE_WARNING && *left >= LONG && !is_warned) {
            bar.suspend(|| screen::note(&warning(counted, left)));
            is_warned = true;
        }
        if has_lines && looks.is_multiple_of(LOOKS_PER_LINE) {
            screen::note(&line(counted, done, left));
        }
    }
}

/// The remaining time at the pace so far; `None` as long as nothing is done.
fn left(elapsed: Duration, done: u64, length: u64) -> Option<Duration> {
    let nanos = elapsed.as_nanos().saturating_mul(length.saturating_sub(done).into());
    let nanos = nanos.checked_div(u128::from(done))?;
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

fn line(Counted { length, of, .. }: Counted, done: u64, left: Option<Duration>) -> String {
    let left = left.map_or_else(String::new, |left| format!(", about {} left", about(left)));
    format!("{done} of {length} {of}{left}\n")
}

fn warning(Counted { length, of, switch }: Counted, left: Duration) -> String {
    let fewer = if switch.is_empty() { String::new() } else { format!("; `{switch}` asks for fewer") };
    format!("warning: {length} {of} take about {} at this pace{fewer}\n", about(left))
}

/// A duration in the largest unit of which there are at least two.
pub(crate) fn about(left: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(31_557_600, "years"), (86_400, "days"), (3_600, "hours"), (60, "min")];
    let seconds = left.as_secs();
    let fitting = UNITS.into_iter().find(|(unit, _)| seconds / unit >= 2);
    let (unit, name) = fitting.unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: Counted = Counted { length: 1_000_000_000, of: "authentications", switch: "--samples" };

    #[test]
    fn a_line_has_the_count_and_the_remaining_time() {
        let after = left(Duration::from_secs(10), 10_000, COUNTED.length);
        assert_eq!(line(COUNTED, 10_000, after), "10000 of 1000000000 authentications, about 11 days left\n");
        assert_eq!(left(Duration::from_secs(10), 0, 5), None);
        assert_eq!(line(COUNTED, 0, None), "0 of 1000000000 authentications\n");
        assert_eq!(left(Duration::MAX, 1, u64::MAX), Some(Duration::from_nanos(u64::MAX)));
    }

    #[test]
    fn a_bar_has_the_remaining_time_once_known() {
        assert_eq!(rest(0, Duration::ZERO), "preparing");
        assert_eq!(rest(1, Duration::from_secs(300)), "about 5 min left");
    }

    #[test]
    fn durations_are_printed_in_a_fitting_unit() {
        let told = [0, 119, 120, 7_199, 7_200, 172_800, 70_000_000].map(|s| about(Duration::from_secs(s)));
        assert_eq!(told, ["0 s", "119 s", "2 min", "119 min", "2 hours", "2 days", "2 years"]);
    }
}
