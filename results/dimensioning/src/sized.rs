//! From a run and a question to the cores of every node.

use keytoll_analysis::comparable::listed;
use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::trace::provenance::Provenance;

use crate::SizingError;
use crate::cookies::Cookies;
use crate::daemon::{check_daemons, shares};
use crate::delay::{Unloaded, Waits};
use crate::doubt;
use crate::loaded::Loaded;
use crate::outcome::{CookieLoad, FORMAT, Needed, Percentiles, SizedNode, SizedRow, Sizing, Verdict};
use crate::question::{Arrivals, Processor, Question, Run, row_name};
use crate::sound;
use crate::station::Station;
use crate::storm::Flow;
use crate::whatif;
use crate::work::{self, Work};

/// Nodes are not given so few cores that they are busier: above, small mistakes in the load make long waits.
pub const UTILISATION_MAX: f64 = 0.8;
/// No node is given more cores.
const CORES_MAX: u32 = 1_000_000;
/// The share of authentications that may be slower.
pub(crate) const SLOWER_MAX: f64 = 0.01;
/// Authentications that come back to a node more often meet each other there again: measured in the simulator at half of the load, waits
/// are as computed, and at 70 % twice as long.
const VISITS_MAX: f64 = 3.5;
/// Up to this load they are.
const RETURNING_UTILISATION_MAX: f64 = 0.5;

/// The invariant of rows that are sized.
const HAS_DELAY: &str = "rows without a delay are left out";

/// Sizes the rows of a run.
///
/// # Errors
/// When the run has not what the question needs, or given cores do not keep up with any method.
pub fn size(run: &Run<'_>, question: &Question) -> Result<Sizing, SizingError> {
    let (rows, left_out) = rows(run, question)?;
    check_nodes(&rows, question)?;
    let sized: Vec<SizedRow> = rows.iter().map(Row::sized).collect();
    if sized.iter().all(|row| row.verdict == Verdict::TooFewCores) {
        return Err(too_few(&sized, question));
    }
    Ok(Sizing {
        format: FORMAT,
        run: run.summary.title.clone(),
        complete: run.summary.complete,
        devices_registered: question.devices_registered,
        devices_at_once: question.devices_at_once,
        reauthenticate_s: question.reauthenticate_s,
        arrivals: arrivals(question.arrivals),
        authentications_per_s: question.steady_per_s() + question.storm_per_s(),
        storm_authentications_per_s: question.storm_per_s(),
        rekeys_per_s: question.rekeys_per_s(),
        p99_max_ms: question.p99_s * 1e3,
        processor: processor(&question.processor).to_owned(),
        replacements: whatif::replacements(&rows, question),
        daemons: shares(&rows, run),
        assumptions: assumptions(run, question),
        rows: sized,
        left_out,
        simulations: Vec::new(),
    })
}

/// The cores of every row and nothing that follows from them: for whoever asks again and again.
///
/// # Errors
/// When the run has not what the question needs.
pub fn needed(run: &Run<'_>, question: &Question) -> Result<Vec<Needed>, SizingError> {
    let (rows, _) = rows(run, question)?;
    Ok(rows.iter().map(Row::needed).collect())
}

/// The rows of which [`needed`] says nothing, each with the reason.
pub fn left_out(run: &Run<'_>, question: &Question) -> Vec<String> {
    rows(run, question).map(|(_, left_out)| left_out).unwrap_or_default()
}

fn arrivals(arrivals: Arrivals) -> String {
    match arrivals {
        Arrivals::Poisson => "poisson".to_owned(),
        Arrivals::Diurnal => "diurnal".to_owned(),
        Arrivals::Storm { devices, within_s } => format!("{devices} within {within_s} s"),
    }
}

fn processor(processor: &Processor) -> &str {
    match processor {
        Processor::AsRun => "as in the run",
        Processor::Host => "host",
        Processor::Clock { name, .. } => name,
    }
}

/// The rows that can be sized, and why others cannot.
fn rows<'a>(run: &Run<'a>, question: &'a Question) -> Result<(Vec<Row<'a>>, Vec<String>), SizingError> {
    let all = &run.summary.rows;
    if let Some(unknown) = question.methods.iter().find(|name| all.iter().all(|row| row.method != **name)) {
        let hint = format!("it has {}", listed(all.iter().map(|row| row.method.as_str())));
        return Err(SizingError::new(format!("the run has no row of `{unknown}`"), hint));
    }
    let is_wanted = |row: &&SummaryRow| question.methods.is_empty() || question.methods.contains(&row.method);
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for row in all.iter().filter(is_wanted) {
        sound::check(row)?;
        let label = label(row);
        match row.delay_ms {
            _ if !work::has_cpu(row) => {
                left_out.push(format!("{label}: it has no CPU time of a serving node"));
            }
            None => left_out.push(format!("{label}: nobody was authenticated")),
            Some(_) => {
                rows.push(Row::new(row, run, question)?);
                rows.extend(Row::of_daemons(row, run, question)?);
            }
        }
    }
    check_daemons(&rows, run)?;
    if rows.is_empty() { Err(nothing(run)) } else { Ok((rows, left_out)) }
}

/// A row as people name it.
fn label(row: &SummaryRow) -> String {
    let SummaryRow { network, topology, .. } = row;
    format!("{} over {network}, {topology}", name(row))
}

/// Its method and variant.
pub(crate) fn name(row: &SummaryRow) -> String {
    [&*row.method, &*row.variant].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn nothing(run: &Run<'_>) -> SizingError {
    let modes: Vec<&str> = run.summary.rows.iter().map(|row| row.crypto.as_str()).collect();
    match modes.first() {
        Some(&"null") => {
            let message =
                "the run was made without cryptography, so that its CPU times are of no authentication";
            SizingError::new(
                message,
                "run it with `--crypto real`, or with `--crypto table` and the costs of a machine",
            )
        }
        Some(&"captured") => {
            SizingError::new("a capture has no CPU times", "size from a run: `keytoll run` measures them")
        }
        _ => SizingError::new(
            "no row of the run has a successful authentication with CPU times",
            "`keytoll report DIR` shows what it has",
        ),
    }
}

/// Every node that was given something must be there.
fn check_nodes(rows: &[Row<'_>], question: &Question) -> Result<(), SizingError> {
    let is_there = |name: &str| rows.iter().flat_map(|row| &row.works).any(|work| work.node == name);
    let given = question.cores.keys().map(|name| ("--cores", name));
    let stores = question.stores_s.keys().map(|name| ("--store", name));
    match given.chain(stores).find(|(_, name)| !is_there(name)) {
        Some((option, name)) => {
            let message = format!("no method of the run that is sized uses the node `{name}`");
            Err(SizingError::new(message, format!("leave it out of `{option}`: it would change nothing")))
        }
        None => Ok(()),
    }
}

fn too_few(rows: &[SizedRow], question: &Question) -> SizingError {
    let row = &rows[0];
    let load = |node: &SizedNode| node.busy_cores / f64::from(node.cores);
    let busiest = row.nodes.iter().max_by(|(_, one), (_, other)| load(one).total_cmp(&load(other)));
    let (name, node) = busiest.expect("a row with CPU times has a node");
    let per_s = question.steady_per_s() + question.storm_per_s();
    let message = format!(
        "`{name}` with {} cannot keep up: {per_s:.1} authentications a second with `{}` keep {:.2} cores busy",
        counted(node.cores),
        row.method,
        node.busy_cores
    );
    let wanted = (node.busy_cores / UTILISATION_MAX).ceil();
    if wanted > CORES_MAX.into() {
        let hint = format!(
            "it would take {wanted:.0} cores, and a node has at most {CORES_MAX}: ask about fewer devices, a longer `--reauth` or a \
             shorter `--store`"
        );
        return SizingError::new(message, hint);
    }
    let needed = node.needed_cores.unwrap_or(node.cores);
    SizingError::new(
        message,
        format!("with {} it is busy at most {} % of the time", counted(needed), UTILISATION_MAX * 100.0),
    )
}

fn counted(cores: u32) -> String {
    if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }
}

/// A row about to be sized.
pub(crate) struct Row<'a> {
    pub(crate) row: &'a SummaryRow,
    pub(crate) works: Vec<Work>,
    pub(crate) question: &'a Question,
    /// The daemons that its nodes have the costs of, like `gw=strongswan`; empty without any.
    pub(crate) daemons: String,
    unloaded: Unloaded,
    /// The mean of the delay without load.
    unloaded_mean_s: f64,
    cookies: Option<Cookies>,
}

impl<'a> Row<'a> {
    fn new(row: &'a SummaryRow, run: &Run<'_>, question: &'a Question) -> Result<Self, SizingError> {
        Ok(Self::with(row, work::of_row(row, run, question)?, run, question))
    }

    /// A row with this work at its nodes.
    pub(crate) fn with(row: &'a SummaryRow, works: Vec<Work>, run: &Run<'_>, question: &'a Question) -> Self {
        let slower_s = works.iter().map(|work| work.slower_s).sum();
        let delay = row.delay_ms.as_ref().expect(HAS_DELAY);
        let cookies = run.planned.cookies.get(&row_name(row)).copied();
        let unloaded = Unloaded::of(row, slower_s).expect(HAS_DELAY);
        let (unloaded_mean_s, daemons) = (delay.mean / 1e3 + slower_s, String::new());
        Self { row, works, question, daemons, unloaded, unloaded_mean_s, cookies }
    }

    /// The cookies that the gateway asks for at so many times the load, if devices wait so long on average.
    fn cookie_load(&self, times: f64, wait_mean_s: f64) -> Option<CookieLoad> {
        let cookies = self.cookies?;
        let delay_mean_s = self.unloaded_mean_s + wait_mean_s;
        let half_open_mean = |per_s: f64| cookies.half_open_mean(times * per_s, delay_mean_s);
        // No device has two.
        let of_storm = half_open_mean(self.question.storm_per_s()).min(times * self.question.storm_devices());
        let half_open_mean = half_open_mean(self.question.steady_per_s()) + of_storm;
        let half_open_mean = half_open_mean.min(times * self.question.devices_at_once as f64);
        Some(CookieLoad {
            half_open_mean,
            asked_from_half_open: cookies.half_open,
            asked_share: cookies.asked_share(half_open_mean),
            round_trip_ms: cookies.round_trip_s * 1e3,
        })
    }

    /// Delays without waits at these nodes, with the round trip of these cookies.
    fn without_waits(&self, stations: &[Station], load: Option<&CookieLoad>) -> Unloaded {
        let unloaded = self.unloaded.shifted(stations.iter().map(|station| station.later_s).sum());
        let cookie_s = self.works.iter().map(|work| work.cookie_s).sum();
        let asked = self.cookies.zip(load);
        asked
            .map(|(cookies, load)| cookies.delayed(&unloaded, load.asked_share, cookie_s))
            .unwrap_or(unloaded)
    }

    /// The nodes at the busiest time, at so many times the load.
    pub(crate) fn stations(&self, cores: &[u32], times: f64) -> Vec<Station> {
        let stations = self.stations_asking(cores, times, 0.0);
        if self.cookies.is_none() {
            return stations;
        }
        let asked = self.waits_at(&stations, cores, times).map(|(waits, backlog_s)| {
            self.cookie_load(times, waits.mean_s() + backlog_s / 2.0).map_or(0.0, |load| load.asked_share)
        });
        self.stations_asking(cores, times, asked.unwrap_or(1.0))
    }

    /// The same if the gateway asks this share of devices for a cookie.
    fn stations_asking(&self, cores: &[u32], times: f64, asked_share: f64) -> Vec<Station> {
        let per_s = times * (self.question.steady_per_s() + self.question.storm_per_s());
        let rekeys = times * self.question.rekeys_per_s().unwrap_or(0.0);
        let of_node = |(work, &cores): (&Work, &u32)| work.station(cores, per_s, rekeys, asked_share);
        self.works.iter().zip(cores).map(of_node).collect()
    }

    /// What a storm of the question adds to each node, at so many times the load.
    pub(crate) fn flows<'s>(&'s self, cores: &'s [u32], times: f64) -> impl Iterator<Item = Flow> + 's {
        let Question { arrivals, .. } = self.question;
        let within_s = if let Arrivals::Storm { within_s, .. } = arrivals { *within_s } else { 0.0 };
        let (steady, storm) = (self.question.steady_per_s(), self.question.storm_per_s());
        let rekeys = self.question.rekeys_per_s().unwrap_or(0.0);
        let asked = self.asked_when_busy();
        self.works.iter().zip(cores).map(move |(work, &cores)| Flow {
            cores: cores.into(),
            steady_cores: work.saturated_cores(steady, rekeys, asked) * times,
            storm_cores: work.saturated_cores(storm, 0.0, asked) * times,
            within_s,
        })
    }

    /// The share of devices that a gateway asks for a cookie if its queue is long.
    pub(crate) fn asked_when_busy(&self) -> f64 {
        self.cookies.map_or(0.0, |cookies| cookies.asked_share(f64::INFINITY))
    }

    fn is_stormy(&self) -> bool {
        matches!(self.question.arrivals, Arrivals::Storm { .. })
    }

    /// The delays with these cores at so many times the load; `None` if a node does not keep up.
    fn loaded(&self, cores: &[u32], times: f64) -> Option<Loaded> {
        let stations = self.stations(cores, times);
        let (waits, backlog_s) = self.waits_at(&stations, cores, times)?;
        let cookies = self.cookie_load(times, waits.mean_s() + backlog_s / 2.0);
        let without_waits = self.without_waits(&stations, cookies.as_ref());
        Some(Loaded { without_waits, waits, backlog_s, cookies })
    }

    /// The waits at these nodes, and how long the last one of a storm waits besides; `None` if a node does not keep up.
    fn waits_at(&self, stations: &[Station], cores: &[u32], times: f64) -> Option<(Waits, f64)> {
        if self.is_stormy() {
            // A storm is over before a queue has the length that it would have in the long run.
            let calmed = stations
                .iter()
                .map(|station| station.loaded((UTILISATION_MAX / station.utilisation()).min(1.0)));
            let backlog_s = self.flows(cores, times).map(|flow| flow.wait_max_s()).fold(0.0, f64::max);
            let is_drained = self.flows(cores, times).all(|flow| flow.drained_after_s().is_finite());
            return is_drained.then(|| (Waits::at(&calmed.collect::<Vec<_>>()), backlog_s));
        }
        stations.iter().all(Station::is_stable).then(|| (Waits::at(stations), 0.0))
    }

    /// Whether 99 % are as fast as they must be.
    pub(crate) fn is_kept(&self, cores: &[u32], times: f64) -> bool {
        let Some(loaded) = self.loaded(cores, times) else { return false };
        let left_s = self.question.p99_s - (1.0 - SLOWER_MAX) * loaded.backlog_s;
        loaded.without_waits.quantile_s(1.0 - SLOWER_MAX) <= left_s
            && 1.0 - self.succeeded_share() * (1.0 - loaded.exceed(left_s)) <= SLOWER_MAX
    }

    /// Whether more cores can make it fast enough at so many times the load: without any wait it is.
    pub(crate) fn is_possible(&self, times: f64) -> bool {
        let without_waits = self.without_waits(&[], self.cookie_load(times, 0.0).as_ref());
        self.is_fast(&without_waits)
    }

    /// Whether fewer than 1 % are too slow: where it is just 1 %, because packets were lost, any wait would be one too many.
    fn is_fast(&self, delays: &Unloaded) -> bool {
        let limit_s = self.question.p99_s;
        let share = self.succeeded_share() * delays.share_within(limit_s);
        delays.quantile_s(1.0 - SLOWER_MAX) < limit_s && share > 1.0 - SLOWER_MAX + 1e-9
    }

    /// The share of the run's authentications that succeeded. Who fails is not fast.
    fn succeeded_share(&self) -> f64 {
        self.samples() as f64 / self.row.n.max(1) as f64
    }

    /// Whether it is fast enough without any load.
    fn is_fast_without_load(&self) -> bool {
        self.is_fast(&self.unloaded)
    }

    /// The least cores of each node, of those given as many as they have, at so many times the load.
    pub(crate) fn enough(&self, times: f64, given: impl Fn(&str) -> Option<u32>) -> Vec<u32> {
        let ones = vec![1; self.works.len()];
        let least = |(work, station): (&Work, &Station)| {
            let busy = if self.is_stormy() { self.steady_cores(work) * times } else { station.busy_cores };
            let least = (busy / UTILISATION_MAX).ceil().clamp(1.0, CORES_MAX.into());
            given(&work.node).unwrap_or(least as u32)
        };
        let mut cores: Vec<u32> = self.works.iter().zip(&self.stations(&ones, times)).map(least).collect();
        self.calm_down(&mut cores, times, &given);
        let unlimited =
            self.works.iter().map(|work| given(&work.node).unwrap_or(CORES_MAX)).collect::<Vec<_>>();
        if !self.is_possible(times) || !self.is_kept(&unlimited, times) {
            return self.calm(cores, times, given);
        }
        while !self.is_kept(&cores, times) {
            let free = (0..cores.len()).filter(|&place| given(&self.works[place].node).is_none());
            let Some(slowest) = self.slowest(&cores, times, free).filter(|&place| cores[place] < CORES_MAX)
            else {
                break;
            };
            // A hundredth more at a time, so that a thousand cores are found soon.
            cores[slowest] = (cores[slowest] + 1 + cores[slowest] / 100).min(CORES_MAX);
        }
        cores
    }

    /// Adds cores to nodes that are too busy: with prices that depend on the load, fewer than all of them cost more.
    fn calm_down(&self, cores: &mut [u32], times: f64, given: impl Fn(&str) -> Option<u32>) {
        let is_too_busy =
            |station: &Station| station.utilisation() > UTILISATION_MAX && station.cores < CORES_MAX;
        while !self.is_stormy() {
            let stations = self.stations(cores, times);
            let free = |place: &usize| given(&self.works[*place].node).is_none();
            let Some(place) = (0..cores.len()).filter(free).find(|&place| is_too_busy(&stations[place]))
            else {
                break;
            };
            // More cores only cost more, so that fewer than these are too few.
            let least = (stations[place].busy_cores / UTILISATION_MAX).ceil().min(CORES_MAX.into());
            cores[place] = (cores[place] + 1).max(least as u32);
        }
    }

    /// No cores help with the delay: so many that a storm leaves no queue.
    fn calm(&self, cores: Vec<u32>, times: f64, given: impl Fn(&str) -> Option<u32>) -> Vec<u32> {
        let stations = self.stations(&cores, times);
        let of_node = |((work, station), cores): ((&Work, Station), u32)| {
            let least = (station.busy_cores / UTILISATION_MAX).ceil().clamp(1.0, CORES_MAX.into());
            given(&work.node).unwrap_or_else(|| cores.max(least as u32))
        };
        self.works.iter().zip(stations).zip(cores).map(of_node).collect()
    }

    fn steady_cores(&self, work: &Work) -> f64 {
        let rekeys = self.question.rekeys_per_s().unwrap_or(0.0);
        work.saturated_cores(self.question.steady_per_s(), rekeys, self.asked_when_busy())
    }

    /// The node at which an authentication waits longest.
    fn slowest(&self, cores: &[u32], times: f64, among: impl Iterator<Item = usize>) -> Option<usize> {
        let backlogs: Vec<f64> = self.flows(cores, times).map(|flow| flow.wait_max_s()).collect();
        let stations = self.stations(cores, times);
        let wait = |place: usize| match stations[place].waits_of_all_mean_s() {
            wait if wait.is_finite() && backlogs[place] == 0.0 => wait,
            // Longer than any that keeps up, and the longer the more it lacks.
            _ => 1e6 + stations[place].utilisation() + backlogs[place],
        };
        among.max_by(|one, other| wait(*one).total_cmp(&wait(*other)))
    }

    /// The cores it needs, or has if they were given.
    pub(crate) fn cores(&self) -> Vec<u32> {
        self.enough(1.0, |node| self.question.cores.get(node).copied())
    }

    fn verdict(&self, cores: &[u32], loaded: Option<&Loaded>) -> Verdict {
        let Some(loaded) = loaded else { return Verdict::TooFewCores };
        match () {
            // A growing queue is too slow, even if the samples leave the other causes open.
            () if doubt::is_certain(Verdict::TooSlow, self.row.n, loaded.swamped(self.question.p99_s)) => {
                Verdict::TooSlow
            }
            () if !self.is_fast_without_load() => Verdict::SlowWithoutLoad,
            () if !self.is_possible(1.0) => Verdict::SlowWithCookies,
            () if !self.is_kept(cores, 1.0) => Verdict::TooSlow,
            () if self.is_overfull(loaded) => Verdict::HalfOpenFull,
            () => Verdict::Kept,
        }
    }

    /// Whether more SAs are half open than the gateway keeps.
    fn is_overfull(&self, loaded: &Loaded) -> bool {
        let loads = self.cookies.as_ref().zip(loaded.cookies.as_ref());
        loads.is_some_and(|(cookies, load)| doubt::is_overfull(load, cookies.half_open_max))
    }

    fn needed(&self) -> Needed {
        let cores = self.cores();
        let loaded = self.loaded(&cores, 1.0);
        let verdict = self.verdict(&cores, loaded.as_ref());
        let SummaryRow { method, n, .. } = self.row;
        let nodes = self.nodes(&cores, verdict);
        Needed {
            method: method.clone(),
            variant: self.variant(),
            n: *n,
            verdict,
            is_certain: self.is_certain(verdict, loaded.as_ref()),
            nodes,
        }
    }

    fn sized(&self) -> SizedRow {
        let cores = self.cores();
        let loaded = self.loaded(&cores, 1.0);
        let verdict = self.verdict(&cores, loaded.as_ref());
        let is_certain = self.is_certain(verdict, loaded.as_ref());
        let SummaryRow { method, network, topology, n, .. } = self.row;
        SizedRow {
            method: method.clone(),
            variant: self.variant(),
            network: network.clone(),
            topology: topology.clone(),
            n: *n,
            delays_count: self.samples(),
            verdict,
            is_certain,
            contradiction: None,
            nodes: self.nodes(&cores, verdict),
            unloaded_ms: percentiles(|share| self.unloaded.quantile_s(share)),
            delay_ms: loaded.as_ref().map(|loaded| percentiles(|share| loaded.quantile_s(share))),
            delay_p99_ci95_ms: loaded.as_ref().and_then(|loaded| self.p99_ci95_ms(loaded)),
            cookies: loaded.as_ref().and_then(|loaded| loaded.cookies),
            waiting_ms: loaded.as_ref().map(|loaded| percentiles(|share| loaded.waiting_s(share))),
            back_end_ms: loaded.as_ref().and_then(|_| self.back_end_s(&cores)).map(|s| s * 1e3),
            head_room_ratio: (verdict == Verdict::Kept).then(|| self.head_room(&cores)),
            keeps_up_ratio: self.keeps_up(&cores),
            site_lost: whatif::site_lost(self),
            outage: whatif::outage(self, &cores),
            storm: whatif::storm(self, &cores),
            notes: self.notes(&cores, loaded.as_ref(), is_certain),
        }
    }

    /// Whether so many samples say so. Waits are computed: only delays without them are a sample.
    fn is_certain(&self, verdict: Verdict, loaded: Option<&Loaded>) -> bool {
        let limit_s = self.question.p99_s;
        let too_slow = loaded.map_or(1.0, |loaded| match verdict {
            Verdict::TooSlow => loaded.exceed(limit_s).max(loaded.swamped(limit_s)),
            _ => 1.0 - self.succeeded_share() * loaded.without_waits.share_within(limit_s),
        });
        doubt::is_certain(verdict, self.row.n, too_slow)
    }

    /// The 95 % interval of the 99th percentile.
    fn p99_ci95_ms(&self, loaded: &Loaded) -> Option<[f64; 2]> {
        doubt::p99_ranks(self.samples()).map(|ranks| ranks.map(|share| loaded.quantile_s(share) * 1e3))
    }

    /// How many delays were measured.
    fn samples(&self) -> u64 {
        self.row.delay_ms.as_ref().map_or(0, |delay| delay.n)
    }

    fn nodes(&self, cores: &[u32], verdict: Verdict) -> keytoll_analysis::Named<SizedNode> {
        let is_enough = !matches!(verdict, Verdict::TooSlow | Verdict::TooFewCores);
        let needed = (!is_enough).then(|| self.enough(1.0, |_| None));
        let stations = self.stations(cores, 1.0);
        let of_node = |(place, (work, station)): (usize, (&Work, Station))| {
            let needed = needed.as_ref().map(|needed| needed[place]).filter(|needed| *needed > cores[place]);
            (work.node.clone(), self.node(work, &station, needed))
        };
        self.works.iter().zip(stations).enumerate().map(of_node).collect()
    }

    fn node(&self, work: &Work, station: &Station, needed_cores: Option<u32>) -> SizedNode {
        let idle = work.idle_bytes.unwrap_or(0.0) * self.question.devices_at_once as f64;
        SizedNode {
            clock_hz: work.clock_hz,
            work_per_authentication_us: work.busy_s * 1e6,
            steps_per_authentication: work.visits,
            squared_variation_ratio: work.step_square_s2 / work.step_s.powi(2) - 1.0,
            busy_cores: station.busy_cores,
            cores: station.cores,
            is_given: self.question.cores.contains_key(&work.node),
            needed_cores,
            utilisation: station.utilisation(),
            waiting_steps_share: station.waits_share(),
            wait_mean_us: station.is_stable().then(|| station.wait_mean_s() * 1e6),
            memory_bytes: work.heap_bytes.map(|heap| heap + idle),
        }
    }

    /// Computation, look-ups and waits at all nodes but the first.
    fn back_end_s(&self, cores: &[u32]) -> Option<f64> {
        let stations = self.stations(cores, 1.0);
        let of_node = |station: &Station| station.visits * station.step_s + station.waits_of_all_mean_s();
        let behind: Vec<f64> = stations.iter().skip(1).map(of_node).collect();
        let sum = behind.iter().sum::<f64>();
        (!behind.is_empty() && sum.is_finite()).then_some(sum)
    }

    /// How many times the load every node keeps up with.
    fn keeps_up(&self, cores: &[u32]) -> f64 {
        let (steady, storm) = (self.question.steady_per_s(), self.question.storm_per_s());
        let rekeys = self.question.rekeys_per_s().unwrap_or(0.0);
        let asked = self.asked_when_busy();
        let of_node = |(work, &cores): (&Work, &u32)| {
            f64::from(cores) / work.saturated_cores(steady + storm, rekeys, asked)
        };
        self.works.iter().zip(cores).map(of_node).fold(f64::INFINITY, f64::min)
    }

    /// The share of its time that the busiest node is busy.
    fn busiest(&self, cores: &[u32]) -> f64 {
        self.stations(cores, 1.0).iter().map(Station::utilisation).fold(0.0, f64::max)
    }

    /// How many times the load is served as fast as it must be.
    fn head_room(&self, cores: &[u32]) -> f64 {
        let (mut low, mut high) = (1.0, if self.is_stormy() { 1e3 } else { self.keeps_up(cores) });
        while high / low > 1.005 {
            let middle = f64::sqrt(low * high);
            if self.is_kept(cores, middle) { low = middle } else { high = middle }
        }
        low
    }

    /// A node at which the steps of an authentication are too many to be independent of each other.
    fn returning(&self, cores: &[u32]) -> Option<&str> {
        let stations = self.stations(cores, 1.0);
        let is_returning = |station: &Station| {
            station.visits > VISITS_MAX
                && station.utilisation() > RETURNING_UTILISATION_MAX
                && station.is_stable()
        };
        let nodes = self.works.iter().zip(&stations);
        nodes.filter(|(_, station)| is_returning(station)).map(|(work, _)| work.node.as_str()).next()
    }

    /// A node with several cores whose steps differ so much that two moments do not describe them: measured in the simulator at 58 % of the
    /// load of four cores, waits are 32 % longer.
    fn unequal(&self, cores: &[u32]) -> Option<&str> {
        let stations = self.stations(cores, 1.0);
        let is_unequal = |station: &Station| {
            let is_busy = station.utilisation() > RETURNING_UTILISATION_MAX && station.is_stable();
            is_busy && station.cores > 1 && station.step_square_s2 > 2.0 * station.step_s.powi(2)
        };
        let nodes = self.works.iter().zip(&stations);
        nodes.filter(|(_, station)| is_unequal(station)).map(|(work, _)| work.node.as_str()).next()
    }

    fn notes(&self, cores: &[u32], loaded: Option<&Loaded>, is_certain: bool) -> Vec<String> {
        let busiest = self.busiest(cores);
        let longest_s =
            loaded.map_or(0.0, |loaded| loaded.waits.quantile_s(1.0 - SLOWER_MAX) + loaded.backlog_s);
        let unloaded_s = [0.5, 1.0 - SLOWER_MAX + 1e-9].map(|share| self.unloaded.quantile_s(share));
        let guessed: Vec<_> =
            self.works.iter().filter(|work| !work.has_steps).map(|work| work.node.as_str()).collect();
        let notes = [
            (busiest > UTILISATION_MAX && !self.is_stormy() && loaded.is_some()).then(|| {
                format!("busy {:.0} % of the time: above 80 % waits are as uncertain as the load", busiest * 100.0)
            }),
            self.returning(cores).map(|node| {
                format!("{node} is busy more than half of the time: real waits are longer than computed, at 70 % twice as long; check with `--simulate`")
            }),
            self.unequal(cores).map(|node| {
                format!("several cores of {node} with steps as unequal as these (CV² above 1): waits may be a third longer than computed")
            }),
            loaded.and_then(|loaded| doubt::cookies(loaded.cookies.as_ref()?)),
            loaded.and_then(|loaded| doubt::too_many_half_open(loaded.cookies.as_ref()?, self.cookies?.half_open_max)),
            doubt::resending(longest_s),
            doubt::failures(self.row.n, self.samples()),
            doubt::lost_packets(self.row, unloaded_s, longest_s),
            (!guessed.is_empty()).then(|| {
                format!("the steps of {} were not measured: all of its work is taken as one", guessed.join(", "))
            }),
            doubt::too_few_samples(self.samples()),
            doubt::open(is_certain, self.samples()),
        ];
        notes.into_iter().flatten().collect()
    }
}

fn percentiles(s: impl Fn(f64) -> f64) -> Percentiles {
    let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| s(share) * 1e3);
    Percentiles { p50, p95, p99 }
}

/// The cores that are found, where others were given.
fn cores_of(question: &Question) -> &'static str {
    if question.cores.is_empty() { "Cores are" } else { "Cores that were not given are" }
}

/// What stands behind the numbers.
pub fn assumptions(run: &Run<'_>, question: &Question) -> Vec<String> {
    let slow_build = run.summary.provenance.as_ref().and_then(Provenance::slow_build);
    let table = run.summary.rows.iter().any(|row| row.crypto == "table");
    let told = [
        Some("Each input that takes a node time (a step) waits for one of its cores, first come, first served; a node is one queue in front of \
              all its cores.".to_owned()),
        Some("Steps arrive independently of each other (Poisson): many devices, whose steps are a round trip apart. P(wait) is Erlang's C, the mean wait that of M/M/c \
              times (1 + CV²)/2 of the measured steps (Allen and Cunneen) with Cosmetatos' correction for constant ones; a wait that happens is exponential.".to_owned()),
        Some(format!(
            "{} so many that no node is busy more than {} % of the time{} and 99 % of delays are kept: unloaded delay and waits are independent.",
            cores_of(question),
            UTILISATION_MAX * 100.0,
            if matches!(question.arrivals, Arrivals::Storm { .. }) { ", but for the storm," } else { "" }
        )),
        Some("Work includes what a device causes after its authentication, up to the end of its session, and the kernel's work is not in it.".to_owned()),
        Some("Memory is the heap of keytoll's own nodes: that of the start and one authentication, and an idle session for every device at the same time; stores of servers are not in it.".to_owned()),
        slow_build.filter(|_| !table).map(|build| format!("The run was measured with a {build} build, which needs more CPU time than a dist build.")),
        table.then(|| "Computation costs what a table says, and what is not in the table costs nothing.".to_owned()),
        (!run.planned.cookies.is_empty()).then(|| {
            "The number of half-open SAs at a gateway is a Poisson variable. Where it reaches the gateway's limit, a cookie takes a round trip more, and the gateway \
              the CPU time of two messages.".to_owned()
        }),
        run.planned.message.as_ref().filter(|_| table).map(|_| {
            "The price of a message depends on how busy its node is, on whether the message has waited, and on the pause before it, as the cost table says.".to_owned()
        }),
        (!run.planned.daemons.is_empty()).then(|| {
            "A daemon's work is the CPU time of all its threads and of the kernel for it, in equal parts for its responses, by how busy it is. Its ratio to the run's node \
              includes its other work (threads, sockets, the kernel) and the difference of the machines; its memory is not known.".to_owned()
        }),
        matches!(question.processor, Processor::Clock { .. }).then(|| {
            "Other processors are scaled by their clock only, and old ones come out too fast.".to_owned()
        }),
        matches!(question.arrivals, Arrivals::Storm { .. }).then(|| {
            "In a storm work flows at constant rates: what cores cannot serve waits, and drains when it is over.".to_owned()
        }),
        (question.arrivals == Arrivals::Diurnal).then(|| {
            "A day begins with nobody, and the rate rises on a straight line to twice its mean at noon, and falls again: nodes are sized for noon.".to_owned()
        }),
        question.rekey_s.map(|_| "A change of keys costs the node that faces the device what the agreement on keys cost it in the authentication.".to_owned()),
        (!question.stores_s.is_empty()).then(|| {
            "A core waits for the look-up in its server's store, one for each authentication, always as long.".to_owned()
        }),
    ];
    told.into_iter().flatten().collect()
}
