//! Whether a plan can run here, and about how much work it is. `keytoll check` reports it; `keytoll run` and `keytoll study`
//! start only after these checks.

use std::path::Path;
use std::time::Duration;

use keytoll_lab::{Directory, Room, Work, free_bytes, rehearse, rehearse_memory};
use keytoll_scenario::Plan;
use keytoll_scenario::plan::WorldKind;
use miette::{Report, miette};

use crate::args::Execution;
use crate::progress::{LONG, about};
use crate::run::told;
use crate::screen::{self, Usage};

/// A run of fewer authentications starts without a rehearsal.
const MANY: u64 = 100_000;

/// Length of a line of samples.csv in bytes, as observed with the quickstart scenario.
const SAMPLE_LINE_BYTES: u64 = 500;

/// Refuses a plan that cannot run here, with the same messages for every verb.
fn refuse(plan: &Plan, out: &Path) -> Result<(), Report> {
    let refused = match plan.world {
        WorldKind::Sim => keytoll_lab::refuse(plan),
        WorldKind::Live => keytoll_lab_live::refuse(plan),
    };
    refused.map_err(told)?;
    Directory::refuse(out).map_err(told)
}

/// Nothing is kept of the packets of a population.
fn uncaptured(plan: &Plan, execution: &Execution) -> Result<(), Report> {
    if plan.population.is_none() || execution.captured() == 0 {
        return Ok(());
    }
    let hint = "leave it out, or run the scenario without `[population]`";
    Err(Usage::hint("a population is not captured".to_owned(), hint).into())
}

/// Refuses a plan that cannot run or does not fit on the disk; warns of one that takes hours.
pub(crate) fn begin(plan: &Plan, out: &Path, execution: &Execution) -> Result<(), Report> {
    refuse(plan, out)?;
    uncaptured(plan, execution)?;
    if plan.authentications() < MANY {
        return Ok(());
    }
    let Some(work) = rehearse(plan) else { return Ok(()) };
    let estimate = Estimate::of(plan, work, execution);
    estimate.room(out)?;
    if estimate.time >= LONG {
        screen::note(&estimate.warning());
    }
    Ok(())
}

/// The same for `check`, which in any case reports how much work it would be.
pub(crate) fn ask(plan: &Plan, out: &Path, execution: &Execution) -> Result<String, Report> {
    refuse(plan, out)?;
    uncaptured(plan, execution)?;
    let Some(work) = rehearse(plan) else {
        return Ok("in the live world authentications take the time that they take: nothing is estimated\n"
            .to_owned());
    };
    let estimate = Estimate::of(plan, work, execution);
    estimate.room(out)?;
    let memory = rehearse_memory(plan, estimate.threads).as_ref().map(memory);
    Ok(format!("{}{}", estimate.sentence(), memory.unwrap_or_default()))
}

/// How much memory a population is estimated to need.
fn memory(Room { bytes, empty_bytes, each_bytes, tried, .. }: &Room) -> String {
    let [all, empty, each] = [bytes, empty_bytes, each_bytes].map(|bytes| size_of_heap(*bytes));
    format!(
        "about {all} of memory when all devices are there: {empty} without them, and {each} of heap for each, as {tried} of \
         them took here\n"
    )
}

/// An estimated size with one decimal, in the largest unit of which there is at least one.
fn size_of_heap(bytes: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1.0, "B"));
    format!("{:.1} {name}", bytes / unit)
}

/// About how long a run takes, according to a rehearsal; `None` for one that cannot be rehearsed.
pub(crate) fn time(plan: &Plan, execution: &Execution) -> Option<Duration> {
    Some(Estimate::of(plan, rehearse(plan)?, execution).time)
}

/// The estimated work of a run, according to a rehearsal.
struct Estimate {
    work: Work,
    threads: usize,
    time: Duration,
    /// Bytes on the disk.
    bytes: u64,
}

impl Estimate {
    fn of(plan: &Plan, work: Work, execution: &Execution) -> Self {
        let threads = execution.threads().min(plan.rows.len());
        let lines = work.authentications.saturating_mul(SAMPLE_LINE_BYTES);
        let bytes = if execution.no_trace || plan.population.is_some() {
            0
        } else {
            work.bytes().saturating_add(lines)
        };
        Self { threads, time: work.time(threads), bytes, work }
    }

    /// Refuses a run that does not fit on the disk.
    fn room(&self, out: &Path) -> Result<(), Report> {
        let Some(free) = free_bytes(out).filter(|free| *free < self.bytes) else { return Ok(()) };
        Err(miette!(
            help = "`--no-trace` keeps only what is computed of them, `--samples` asks for fewer, `--out` names another place",
            "{} authentications leave about {} in `{}`, and {} are free there",
            self.work.authentications,
            size(self.bytes),
            out.display(),
            size(free)
        ))
    }

    fn warning(&self) -> String {
        let Self { work, .. } = self;
        let (count, time) = (work.authentications, about(self.time));
        format!(
            "warning: {count} authentications take about {time}, {}; `--samples` asks for fewer\n",
            self.basis()
        )
    }

    /// The basis of the estimate.
    fn basis(&self) -> String {
        let Work { rehearsed, machine, has_traffic, of_population, .. } = &self.work;
        let rows = if *rehearsed == 1 { "one row".to_owned() } else { format!("{rehearsed} rows") };
        let machine = machine.as_ref();
        let crypto = machine.map_or_else(String::new, |name| format!(", and cryptography as on {name}"));
        let left_out = match (*has_traffic, *of_population) {
            (true, _) => "; what users send is not in it",
            // A device that waits in a queue repeats itself, and some of all it has sent is dropped.
            (_, true) => "; where nodes cannot keep up, devices repeat themselves, and it takes longer",
            _ => "",
        };
        format!("as a rehearsal of {rows} without cryptography took here{crypto}{left_out}")
    }

    fn sentence(&self) -> String {
        let disk =
            if self.bytes == 0 { "no traces".to_owned() } else { format!("{} of files", size(self.bytes)) };
        let threads =
            if self.threads == 1 { "one thread".to_owned() } else { format!("{} threads", self.threads) };
        let time =
            if self.time < Duration::from_secs(1) { "a second or less".to_owned() } else { about(self.time) };
        format!("about {time} on {threads} besides making keys, and {disk}: {}\n", self.basis())
    }
}

/// An estimated size in the largest unit of which there is at least one.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1, "B"));
    format!("{} {name}", bytes.div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_in_a_fitting_unit() {
        let told = [0, 999, 1_000, 1_500_000, 47_000_000_000, 3_000_000_000_001].map(size);
        assert_eq!(told, ["0 B", "999 B", "1 kB", "2 MB", "47 GB", "4 TB"]);
    }

    #[test]
    fn memory_is_printed_with_one_decimal() {
        let told = [999.0, 3_250.0, 812_000_000.0, 4_160_000_000.0].map(size_of_heap);
        assert_eq!(told, ["999.0 B", "3.2 kB", "812.0 MB", "4.2 GB"]);
    }

    #[test]
    fn a_run_that_does_not_fit_on_the_disk_is_refused_with_advice() {
        let work = Work { authentications: 7, each_bytes: u64::MAX / 8, ..Work::default() };
        let estimate = Estimate { threads: 1, time: work.time(1), bytes: work.bytes(), work };
        let refused = estimate.room(Path::new(".")).unwrap_err();
        assert!(refused.to_string().starts_with("7 authentications leave about 16140902 TB"), "{refused}");
        assert!(refused.help().is_some_and(|help| help.to_string().contains("--no-trace")));
        assert!(Estimate { bytes: 0, ..estimate }.room(Path::new(".")).is_ok());
    }
}
