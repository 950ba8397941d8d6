//! A sizing in tables and sentences.

use keytoll_analysis::simulation::{Agreement, LASTS_DELAYS_MIN};
use keytoll_dimensioning::doubt::SAMPLES_MIN;
use keytoll_dimensioning::outcome::{
    Contradiction, DaemonShare, Drained, Percentiles, Replacement, Side, Simulation, SizedNode, SizedRow,
    Sizing, Verdict,
};

use crate::screen;

/// The whole text.
pub(crate) fn text(sizing: &Sizing) -> String {
    let parts = [
        verdict(sizing),
        nodes(sizing),
        delays(sizing),
        notes(sizing),
        simulated(sizing),
        what_if(sizing),
        section("daemons", &paragraphs(sizing.daemons.iter().map(daemon))),
        section("another method", &paragraphs(sizing.replacements.iter().filter_map(replacement))),
        section("assumed", &paragraphs(sizing.assumptions.iter().cloned())),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn section(title: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("{}{body}", screen::paragraph(title)) }
}

/// Each sentence once: rows over several networks may say the same.
fn paragraphs(sentences: impl Iterator<Item = String>) -> String {
    let mut each: Vec<String> = Vec::new();
    sentences.for_each(|sentence| {
        if !each.contains(&sentence) {
            each.push(sentence);
        }
    });
    each.iter().map(|sentence| screen::below(sentence)).collect()
}

/// Three significant digits.
fn plain(value: f64) -> String {
    match value.abs() {
        size if value.fract() == 0.0 && size < 1e12 => format!("{value:.0}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        size => format!("{value:.*}", (2 - size.log10().floor() as i32).clamp(3, 9) as usize),
    }
}

/// A time in a unit that fits.
fn time(s: f64) -> String {
    const UNITS: [(f64, &str); 5] = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| s >= *unit).unwrap_or((1e-6, "µs"));
    format!("{} {name}", plain(s / unit))
}

fn bytes(bytes: f64) -> String {
    const UNITS: [(i32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let (power, name) =
        UNITS.into_iter().find(|(power, _)| bytes.abs() >= 2_f64.powi(*power)).unwrap_or((0, "B"));
    format!("{} {name}", plain(bytes / 2_f64.powi(power)))
}

fn label(row: &SizedRow) -> String {
    [&*row.method, &*row.variant].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn place(row: &SizedRow) -> String {
    format!("{}, {}", row.network, row.topology)
}

/// The answer in a sentence, and what was asked.
fn verdict(sizing: &Sizing) -> String {
    let kept: Vec<&SizedRow> = sizing.rows.iter().filter(|row| row.verdict == Verdict::Kept).collect();
    let is_missed =
        |row: &&SizedRow| ![Verdict::Kept, Verdict::HalfOpenFull].contains(&row.verdict) && row.is_certain;
    let missed = sizing.rows.iter().filter(is_missed).count();
    let rest = if missed == 0 || kept.is_empty() {
        String::new()
    } else {
        format!("{missed} of {} rows do not keep it: see below why.", sizing.rows.len())
    };
    let told = [contradictions(sizing), uncertainty(sizing), overfull(sizing), answer(sizing, &kept), rest];
    let told = told.into_iter().filter(|told| !told.is_empty()).collect::<Vec<_>>().join(" ");
    let incomplete =
        if sizing.complete { "" } else { "The run was interrupted: its rows are not complete.\n" };
    let asked = [screen::paragraph(&load(sizing)), screen::paragraph(&format!("run: {}", sizing.run))];
    format!("{}{}{incomplete}", screen::paragraph(&told), asked.concat())
}

/// What the rows with the least and with the most work need of those that keep the delay.
fn answer(sizing: &Sizing, kept: &[&SizedRow]) -> String {
    let total = |row: &&&SizedRow| row.nodes.iter().map(|(_, node)| node.busy_cores).sum::<f64>();
    let by_load = |one: &&&SizedRow, other: &&&SizedRow| total(one).total_cmp(&total(other));
    let needs = |row: &SizedRow| {
        let verb = if row.nodes.iter().any(|(_, node)| node.is_given) { "does with" } else { "needs" };
        format!("{} {verb} {}", label(row), cores(row))
    };
    let within = time(sizing.p99_max_ms / 1e3);
    let hedge = if kept.iter().any(|row| !row.is_certain) { "By the formulas alone: " } else { "" };
    let told = match (kept.iter().min_by(by_load), kept.iter().max_by(by_load), kept.len()) {
        (Some(row), _, 1) => format!("{} for 99 % within {within}.", needs(row)),
        (Some(least), Some(most), count) => format!(
            "For 99 % within {within} {} ({}), the least work of {count} rows that keep it, and {} ({}), the most.",
            needs(least),
            place(least),
            needs(most),
            place(most)
        ),
        _ if sizing.rows.iter().any(|row| row.verdict == Verdict::HalfOpenFull) => return String::new(),
        _ => format!("No method keeps 99 % within {within}: see below why."),
    };
    format!("{hedge}{told}")
}

/// The work of a daemon, and of the node of the run.
fn daemon(of: &DaemonShare) -> String {
    let DaemonShare { method, network, topology, node, software, cpu, busy_cores, own_busy_cores, .. } = of;
    format!(
        "{method} over {network}, {topology}: {software} keeps {} cores of {node} busy, the node of the run {}: ×{}. {:.0} % of the \
         daemon's CPU time is in the kernel; it was measured on {cpu}, all threads and the kernel's work included.",
        plain(*busy_cores),
        plain(*own_busy_cores),
        plain(of.ratio),
        100.0 * of.kernel_share
    )
}

/// Rows of which the formulas say nothing, because the gateway drops half-open SAs.
fn overfull(sizing: &Sizing) -> String {
    let full = |row: &SizedRow| {
        let half_open = row.cookies.filter(|_| row.verdict == Verdict::HalfOpenFull)?.half_open_mean;
        Some(format!("{} ({}: {half_open:.0})", label(row), place(row)))
    };
    let rows: Vec<String> = sizing.rows.iter().filter_map(full).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "Not decided: more SAs are half open than the gateway keeps (`half_open_max`) with {}; check with `--simulate`.",
        rows.join(", ")
    )
}

/// Rows of which the simulator says something else.
fn contradictions(sizing: &Sizing) -> String {
    let of_row = |row: &SizedRow| {
        let Contradiction { p99_max_ms, simulated_p99_ms, succeeded_share, wanted_share, .. } =
            row.contradiction?;
        let p99 = simulated_p99_ms
            .map_or_else(|| "nobody succeeds".to_owned(), |ms| format!("99 % take {}", time(ms / 1e3)));
        let is_slow = simulated_p99_ms.is_none_or(|ms| ms > p99_max_ms);
        let slow = if is_slow {
            format!(", more than the wanted {}", time(p99_max_ms / 1e3))
        } else {
            String::new()
        };
        let share = plain(100.0 * succeeded_share);
        let few =
            if succeeded_share < wanted_share { format!("only {share} %") } else { format!("{share} %") };
        Some(format!(
            "The simulator contradicts: with {} ({}) {p99}{slow}, and {few} succeed.",
            label(row),
            place(row)
        ))
    };
    sizing.rows.iter().filter_map(of_row).collect::<Vec<_>>().join(" ")
}

/// What cannot be said from so few samples.
fn uncertainty(sizing: &Sizing) -> String {
    let fewest = sizing.rows.iter().filter(|row| !row.is_certain).map(|row| row.delays_count).min();
    let of_rows = sizing.rows.iter().filter(|row| !row.is_certain).count();
    let told = |n: u64| {
        let of = if of_rows == sizing.rows.len() {
            String::new()
        } else {
            format!(" in {of_rows} of {} rows", sizing.rows.len())
        };
        let enough = if n < SAMPLES_MIN { 500 } else { 4 * n };
        format!(
            "Not decided: {n} samples{of} are too few for what 99 % take; measure with `keytoll run --samples {enough}` first."
        )
    };
    fewest.map_or_else(String::new, told)
}

/// `3 cores of gw, 1 of aaa`.
fn cores(row: &SizedRow) -> String {
    let given = row.nodes.iter().filter(|(_, node)| node.is_given);
    let given = given.map(|(name, node)| format!("{name}, busy {} %", plain(100.0 * node.utilisation)));
    let given = given.collect::<Vec<_>>().join("; ");
    let all = listed(row.nodes.iter().map(|(name, node)| (name, node.cores)));
    if given.is_empty() { all } else { format!("{all} (given: {given})") }
}

fn listed<'a>(nodes: impl Iterator<Item = (&'a str, u32)>) -> String {
    let first = |count: u32| if count == 1 { " core" } else { " cores" };
    let each = nodes.enumerate().map(|(place, (name, count))| {
        format!("{count}{} of {name}", if place == 0 { first(count) } else { "" })
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Devices become authentications a second.
fn load(sizing: &Sizing) -> String {
    let Sizing { devices_registered, devices_at_once, reauthenticate_s, authentications_per_s, .. } = sizing;
    let rekeys = sizing.rekeys_per_s.map(|rate| format!(", and {} changes of keys", plain(rate)));
    let storm = match sizing.storm_authentications_per_s {
        0.0 => String::new(),
        storm => format!(", {} of them in the storm ({})", plain(storm), sizing.arrivals),
    };
    let noon = if sizing.arrivals == "diurnal" { " at noon" } else { "" };
    format!(
        "{devices_registered} devices are registered, {devices_at_once} have a session at the same time and authenticate anew every {}: {} \
         authentications a second{noon}{storm}{}. Processors: {}.",
        time(*reauthenticate_s),
        plain(*authentications_per_s),
        rekeys.unwrap_or_default(),
        sizing.processor
    )
}

/// The places of rows, in their order.
fn places(sizing: &Sizing) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    sizing.rows.iter().map(place).for_each(|place| {
        if !places.contains(&place) {
            places.push(place);
        }
    });
    places
}

/// A table for each place.
fn by_place(
    sizing: &Sizing,
    heads: &[&str],
    lines: impl Fn(&SizedRow) -> Vec<Vec<String>>,
    fixed: usize,
) -> String {
    let of_place = |at: String| {
        let rows = sizing.rows.iter().filter(|row| place(row) == at).flat_map(&lines);
        format!("{}{}", screen::paragraph(&at), screen::folded(heads, rows, fixed))
    };
    places(sizing).into_iter().map(of_place).collect::<Vec<_>>().concat()
}

fn nodes(sizing: &Sizing) -> String {
    let heads = ["method", "node", "cores", "load", "busy %", "work µs", "steps", "CV²", "wait µs", "memory"];
    let lines = |row: &SizedRow| {
        let of_node = |(at, (name, node)): (usize, (&str, &SizedNode))| {
            let first = if at == 0 { label(row) } else { String::new() };
            [vec![first, name.to_owned()], node_cells(node)].concat()
        };
        row.nodes.iter().enumerate().map(of_node).collect()
    };
    section("nodes at the busiest time", &by_place(sizing, &heads, lines, 2))
}

fn node_cells(node: &SizedNode) -> Vec<String> {
    let needed = node.needed_cores.map_or_else(String::new, |needed| format!(" (needs {needed})"));
    vec![
        format!("{}{needed}", node.cores),
        plain(node.busy_cores),
        plain(100.0 * node.utilisation),
        plain(node.work_per_authentication_us),
        plain(node.steps_per_authentication),
        plain(node.squared_variation_ratio),
        node.wait_mean_us.map_or_else(|| "without end".to_owned(), plain),
        node.memory_bytes.map_or_else(|| "–".to_owned(), bytes),
    ]
}

fn delays(sizing: &Sizing) -> String {
    let heads = [
        "method",
        "p99 kept",
        "p99 ms",
        "p50 ms",
        "unloaded p99",
        "waiting p99",
        "behind ms",
        "head-room",
        "keeps up",
    ];
    let lines = |row: &SizedRow| vec![delay_cells(row)];
    section("delays, and by which factor the load may grow", &by_place(sizing, &heads, lines, 1))
}

fn delay_cells(row: &SizedRow) -> Vec<String> {
    let kept = match row.verdict {
        Verdict::Contradicted => "no: simulator contradicts".to_owned(),
        _ if !row.is_certain => format!("cannot be said from {}", row.delays_count),
        Verdict::Kept => "yes".to_owned(),
        Verdict::TooSlow => "no: too slow".to_owned(),
        Verdict::TooFewCores => "no: too few cores".to_owned(),
        Verdict::SlowWithoutLoad => "no: slow without load".to_owned(),
        Verdict::SlowWithCookies => "no: slow with cookies".to_owned(),
        Verdict::HalfOpenFull => "not decided: half-open SAs".to_owned(),
    };
    let of = |percentiles: Option<Percentiles>, of: fn(Percentiles) -> f64| {
        percentiles.map_or_else(|| "–".to_owned(), |percentiles| plain(of(percentiles)))
    };
    let factor =
        |factor: Option<f64>| factor.map_or_else(|| "–".to_owned(), |factor| format!("×{}", plain(factor)));
    vec![
        label(row),
        kept,
        of(row.delay_ms, |delay| delay.p99),
        of(row.delay_ms, |delay| delay.p50),
        of(Some(row.unloaded_ms), |delay| delay.p99),
        of(row.waiting_ms, |wait| wait.p99),
        row.back_end_ms.map_or_else(|| "–".to_owned(), plain),
        factor(row.head_room_ratio),
        factor(Some(row.keeps_up_ratio)),
    ]
}

fn notes(sizing: &Sizing) -> String {
    let of_row = |row: &SizedRow| {
        let storm = row.storm.iter().flat_map(|storm| [vec![in_storm(storm)], storm.notes.clone()].concat());
        storm.chain(row.notes.iter().cloned()).collect()
    };
    let left_out = sizing.left_out.iter().map(|left| format!("{left}."));
    section("notes", &paragraphs(noted(sizing, of_row).into_iter().chain(left_out)))
}

/// What is noted of rows, each note once.
fn noted(sizing: &Sizing, of_row: impl Fn(&SizedRow) -> Vec<String>) -> Vec<String> {
    let named = |row: &SizedRow| {
        let who = format!("{} ({})", label(row), place(row));
        of_row(row).into_iter().map(|note| (note, who.clone())).collect::<Vec<_>>()
    };
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (note, who) in sizing.rows.iter().flat_map(named) {
        match told.iter_mut().find(|(known, _)| *known == note) {
            Some((_, all)) => all.push(who),
            None => told.push((note, vec![who])),
        }
    }
    let is_of_all = |who: &[String]| who.len() == sizing.rows.len();
    let of_rows = told.into_iter().map(|(note, who)| match is_of_all(&who) {
        true => format!("All: {note}."),
        false => format!("{}: {note}.", who.join(", ")),
    });
    of_rows.collect()
}

fn in_storm(storm: &Drained) -> String {
    let Drained { devices, last_in_after_s, wait_max_s, bottleneck, .. } = storm;
    match last_in_after_s {
        Some(after) if *wait_max_s > 0.0 => format!(
            "in the storm a queue grows at {bottleneck}: the last of {devices} waits {}, and is in after {}",
            time(*wait_max_s),
            time(*after)
        ),
        Some(_) => format!("the storm of {devices} is served as it comes"),
        None => format!("the storm is never over: {bottleneck} does not keep up without it"),
    }
}

/// The busiest node of a side, and how busy it is.
fn busiest(side: &Side) -> (&str, f64) {
    let nodes = side.utilisation.iter().map(|(name, busy)| (name, *busy));
    nodes.max_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap_or(("", 0.0))
}

fn simulated(sizing: &Sizing) -> String {
    let heads = [
        "method",
        "over",
        "rate/s",
        "cores",
        "busy %",
        "p50 ms",
        "p99 ms",
        "waiting p99",
        "ok %",
        "sent",
        "delays",
    ];
    let is_storm = sizing.storm_authentications_per_s > 0.0;
    let line = |of: &Simulation| {
        let (node, expected) = busiest(&of.predicted);
        let found = of.simulated.utilisation.get(node).copied().unwrap_or(0.0);
        let ms = |side: &Side, get: fn(Percentiles) -> f64| side.delay_ms.map_or(f64::INFINITY, get);
        let [p50, p99] = [(|all: Percentiles| all.p50) as fn(Percentiles) -> f64, |all| all.p99]
            .map(|get| (ms(&of.predicted, get), ms(&of.simulated, get)));
        let waiting = (p99.0 - of.unloaded_p99_ms, p99.1 - of.unloaded_p99_ms);
        vec![
            format!("{} {}", of.method, of.variant).trim_end().to_owned(),
            format!("{}, {}", of.network, of.topology),
            plain(of.authentications_per_s),
            listed(of.cores.iter().map(|(name, cores)| (name, *cores))),
            beside(100.0 * expected, 100.0 * found),
            beside(p50.0, p50.1),
            beside(p99.0, p99.1),
            beside(waiting.0, waiting.1),
            plain(100.0 * of.simulated.succeeded_share),
            format!("×{}", plain(of.simulated.amplification_ratio)),
            // A node that does not keep up in a storm is busy all the time, however much there is to do.
            match of.agreement() {
                Agreement::TooShort if is_storm => {
                    format!("cannot be judged: the storm is shorter than {LASTS_DELAYS_MIN} delays")
                }
                // A simulation ends later than its storm, with a node that has less to do.
                _ => agreement((!is_storm).then_some((expected.min(1.0), found.min(1.0))), of),
            },
        ]
    };
    let devices = sizing.simulations.first().map_or(0, |of| of.devices);
    let title = format!(
        "formulas | simulator: {devices} devices each, with the costs of a table, on processors on which an authentication takes each node \
         as long as it is sized, without changes of keys"
    );
    let body = screen::folded(&heads, sizing.simulations.iter().map(line), 1);
    if sizing.simulations.is_empty() { String::new() } else { section(&title, &body) }
}

fn beside(expected: f64, found: f64) -> String {
    let shown = |value: f64| if value.is_finite() { plain(value.max(0.0)) } else { "–".to_owned() };
    format!("{} | {}", shown(expected), shown(found))
}

/// Whether formulas and simulator agree: about delays, and within a tenth about the utilisation, if that is compared.
fn agreement(utilisation: Option<(f64, f64)>, of: &Simulation) -> String {
    let differs = utilisation.is_some_and(|(expected, found)| (found / expected - 1.0).abs() > 0.1);
    match of.agreement() {
        Agreement::TooShort => format!("cannot be judged: needs `--devices {}`", devices_needed(of)),
        Agreement::Open => "cannot be judged: too few delays for p99".to_owned(),
        Agreement::Differ => "differ: the formulas do not hold here".to_owned(),
        Agreement::Agree if differs => "differ: utilisation".to_owned(),
        Agreement::Agree => "agree".to_owned(),
    }
}

/// So many devices that the simulation is long enough, rounded up to two digits.
fn devices_needed(of: &Simulation) -> u64 {
    let needed = of.devices as f64 * LASTS_DELAYS_MIN / of.lasts_delays_count;
    let unit = 10_f64.powi((needed.log10().floor() as i32 - 1).max(0));
    ((needed / unit).ceil() * unit) as u64
}

fn what_if(sizing: &Sizing) -> String {
    let count = sizing.rows.first().map_or(0, |row| row.site_lost.sites_count);
    let each = format!("each of {count} sites, one lost");
    let heads = ["method", &each, "last in after an outage"];
    let line = |row: &SizedRow| {
        let sites = listed(row.site_lost.cores_per_site.iter().map(|(name, cores)| (name, *cores)));
        vec![label(row), sites, outage(row)]
    };
    let title = format!(
        "what if a site is lost; what if all {} devices come back at once after an outage, to these cores",
        sizing.devices_at_once
    );
    let table = by_place(sizing, &heads, |row| vec![line(row)], 1);
    let notes = noted(sizing, |row| row.outage.notes.clone());
    section(&title, &(table + &paragraphs(notes.into_iter())))
}

fn outage(row: &SizedRow) -> String {
    let Drained { wait_max_s, bottleneck, gives_up_after_s, .. } = &row.outage;
    let cores = row.nodes.get(bottleneck).map_or(0, |node| node.cores);
    let patience =
        gives_up_after_s.map_or_else(String::new, |s| format!(", longer than devices wait ({})", time(s)));
    format!("{}{patience}: {}", time(*wait_max_s), listed([(bottleneck.as_str(), cores)].into_iter()))
}

/// Without what is nothing.
fn replacement(replacement: &Replacement) -> Option<String> {
    let Replacement { from, to, devices, saved_busy_cores, saved_bytes, network, topology } = replacement;
    let cores = saved_busy_cores.iter().filter(|(_, saved)| saved.abs() > 5e-4);
    let heap = saved_bytes.iter().filter(|(_, saved)| saved.abs() >= 1.0);
    let (saved, cost): (Vec<_>, Vec<_>) = cores
        .map(|(node, saved)| (*saved, format!("{} busy cores of {node}", plain(saved.abs()))))
        .chain(heap.map(|(node, saved)| (*saved, format!("{} of {node}", bytes(saved.abs())))))
        .partition(|(saved, _)| *saved > 0.0);
    let told = |of: Vec<(f64, String)>| of.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ");
    let costs = if cost.is_empty() { String::new() } else { format!(", and need {} more", told(cost)) };
    (!saved.is_empty()).then(|| {
        format!("{devices} devices from {from} to {to} ({network}, {topology}) save {}{costs}.", told(saved))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_have_three_digits() {
        let shown = [0.0, 0.000_123_4, 0.0512, 0.9999, 5.678, 56.78, 567.8].map(plain);
        assert_eq!(shown, ["0", "0.000123", "0.0512", "1.00", "5.68", "56.8", "568"]);
        assert_eq!([time(28_800.0), time(0.3), time(90.0)], ["8 h", "300 ms", "1.50 min"]);
        assert_eq!([bytes(1536.0), bytes(12.0)], ["1.50 KiB", "12 B"]);
    }
}
