//! The provenance of figures, for people: a sentence below the tables, a table at the end of the page.

use keytoll_analysis::summary::{CAPTURED, Summary};
use keytoll_analysis::trace::provenance::{Load, Provenance};

use crate::number::plain;

/// Stands for a value that was not recorded.
const UNKNOWN: &str = "not noted";

/// All values with their names.
pub(crate) fn lines(provenance: &Provenance) -> Vec<(&'static str, String)> {
    let machine = &provenance.machine;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let busy = |load: Option<Load>| load.map_or_else(|| UNKNOWN.to_owned(), averages);
    vec![
        ("keytoll", provenance.version()),
        ("build", known(&provenance.keytoll_build)),
        ("crypto library", known(&provenance.crypto_library)),
        ("command", known(&provenance.command.as_deref().map(|words| words.join(" ")))),
        ("began", known(&provenance.began_at)),
        ("ended", known(&provenance.ended_at)),
        ("host", known(&machine.host)),
        ("cpu", machine.cpu.clone()),
        ("logical CPUs", machine.cores.to_string()),
        ("core frequency, GHz", plain(machine.core_hz / 1e9)),
        ("cycle counter, GHz", plain(machine.ticks_hz / 1e9)),
        ("governor", known(&machine.governor)),
        ("kernel", machine.kernel.clone()),
        ("load over 1, 5, 15 min, at the beginning", busy(provenance.load_at_begin)),
        ("the same at the end", busy(provenance.load_at_end)),
    ]
}

/// What is at the top of a page: when, on what, and with which command.
pub(crate) fn facts(provenance: &Provenance) -> Vec<(String, String)> {
    let told = ["keytoll", "began", "cpu", "command"];
    let lines = lines(provenance).into_iter().filter(|(name, _)| told.contains(name));
    lines.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn averages(load: Load) -> String {
    format!("{:.2}, {:.2}, {:.2}", load.over_1_min, load.over_5_min, load.over_15_min)
}

/// One sentence with what is needed to compare figures.
pub(crate) fn sentence(provenance: &Provenance) -> String {
    let machine = &provenance.machine;
    let mut parts = vec![format!("keytoll {}", provenance.version())];
    parts.extend(provenance.keytoll_build.as_ref().map(|build| format!("{build} build")));
    parts.extend(provenance.crypto_library.clone());
    parts.extend([machine.cpu.clone(), machine.kernel.clone()]);
    parts.extend(machine.governor.as_ref().map(|governor| format!("governor {governor}")));
    let loads = [provenance.load_at_begin, provenance.load_at_end].into_iter().flatten();
    let loads: Vec<_> = loads.map(|load| format!("{:.2}", load.over_1_min)).collect();
    parts.extend((!loads.is_empty()).then(|| format!("load {}", loads.join(" to "))));
    parts.extend(provenance.began_at.clone());
    format!("Measured by {}.", parts.join(", "))
}

/// `seed 42`, or that there is none.
pub(crate) fn seed(summary: &Summary) -> String {
    let is_load = summary.rows.iter().any(|row| row.load.is_some());
    match summary.seed.as_str() {
        "" if is_load => "unpredictable seed".to_owned(),
        "" => CAPTURED.to_owned(),
        seed => format!("seed {seed}"),
    }
}
