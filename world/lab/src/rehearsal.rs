//! Estimates a run before it starts: each row authenticates once or twice without cryptography, which takes a fraction of a
//! millisecond. This shows the size of the traces and the driver's time; the time of cryptography is taken from a table that was
//! measured once, on the machine named in it.

mod memory;
mod population;

use std::cell::Cell;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Prices;
use keytoll_crypto_api::suite::Suite;
use keytoll_native::clock;
use keytoll_rigs::Credentials;
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{CryptoMode, Options, Plan, RowPlan, Traffic, WorldKind};
use keytoll_sim::Recorder;
use keytoll_trace::cost_table::CostTable;
use keytoll_trace::{Cost, Record};
use nix::sys::statvfs::statvfs;

use crate::costs::{Costs, prices};
use crate::keeper::{Discard, Files, Keeper};
use crate::row::{Row, Stop};
use crate::run::{RunError, priced as all_priced};

pub use memory::{Room, rehearse_memory};

/// The output of `keytoll crypto --calibrate` on the machine named in it.
pub(crate) const REFERENCE: &str = include_str!("rehearsal/reference.json");

/// The time limit of an estimate; the remaining rows are assumed to be like the others.
const LONGEST: Duration = Duration::from_millis(400);

/// Authentications per row: the first one has cold caches.
const SAMPLES: u32 = 2;

/// The estimated work of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Authentications in all.
    pub authentications: u64,
    /// Mean time of one authentication on this thread, with cryptography.
    pub each: Duration,
    /// Mean length of one authentication in the traces, in bytes.
    pub each_bytes: u64,
    /// How many rows were rehearsed.
    pub rehearsed: usize,
    /// The machine of the cost table; `None` without cryptography.
    pub machine: Option<String>,
    /// Whether there is user traffic, which is not included.
    pub has_traffic: bool,
    /// Whether it is of populations, in which devices may have to wait for each other.
    pub of_population: bool,
}

impl Work {
    /// The total time on so many threads.
    pub fn time(&self, threads: usize) -> Duration {
        let nanos = self.each.as_nanos().saturating_mul(self.authentications.into()) / threads.max(1) as u128;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Bytes of all traces.
    pub fn bytes(&self) -> u64 {
        self.each_bytes.saturating_mul(self.authentications)
    }
}

/// Estimates a plan. `None` in the live world, which runs on the real clock.
pub fn rehearse(plan: &Plan) -> Option<Work> {
    if plan.world == WorldKind::Live {
        return None;
    }
    let machine = plan.crypto.computes().then(|| reference(plan.exponents.name()));
    let rehearsal = Rehearsal::new(plan);
    let begun_ns = clock::monotonic_ns();
    let (mut nanos, mut bytes, mut rehearsed) = (0, 0, 0);
    for row in &rehearsal.plan.rows {
        let took = rehearsal.rehearse(row, machine.as_ref().map(|(prices, _)| prices));
        let driver_ns = if plan.population.is_some() { 0 } else { took.driver_ns };
        nanos += driver_ns + took.charged_ns;
        (bytes, rehearsed) = (bytes + took.bytes, rehearsed + 1);
        if clock::monotonic_ns() - begun_ns > LONGEST.as_nanos() as u64 {
            break;
        }
    }
    let samples = rehearsed * u64::from(SAMPLES);
    let in_a_crowd =
        plan.population.as_ref().map_or(Some(Duration::ZERO), |of| population::each(plan, of))?;
    Some(Work {
        authentications: attempts(plan),
        each: in_a_crowd + Duration::from_nanos(nanos.checked_div(samples)?),
        each_bytes: bytes / samples,
        rehearsed: rehearsed as usize,
        machine: machine.map(|(_, machine)| machine),
        of_population: plan.population.is_some(),
        has_traffic: plan.rows.iter().any(|row| row.options.traffic.kind.is_some()),
    })
}

/// All authentications of a plan; of a population about as many as devices will begin.
fn attempts(plan: &Plan) -> u64 {
    let each = plan.population.as_ref().map_or(1.0, |population| population::attempts_each(plan, population));
    (plan.authentications() as f64 * each) as u64
}

/// Refuses a cost table that lacks an operation of a row.
pub(crate) fn priced(plan: &Plan, costs: &Costs) -> Result<(), RunError> {
    let rehearsal = Rehearsal::new(plan);
    let mut known: Vec<&RowPlan> = Vec::new();
    for row in &rehearsal.plan.rows {
        if known.iter().any(|known| computed(known) == computed(row)) {
            continue;
        }
        known.push(row);
        let mut built = rehearsal.row(row);
        built.charge_costs(costs, row);
        built.run(&mut Discard, &|| (), &Stop::new(false));
        all_priced(costs, row, &built)?;
    }
    Ok(())
}

/// The parameters that determine the operations: not the link.
fn computed(row: &RowPlan) -> (&Method, &[Suite], &[Suite], &Options) {
    (row.method, &row.suites, &row.esp_suites, &row.options)
}

/// The free space on the disk of a path that need not exist yet.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|path| fs::metadata(path).is_ok())?;
    let disk = statvfs(there).ok()?;
    #[allow(clippy::useless_conversion, reason = "the type depends on the machine")]
    let blocks = u64::from(disk.blocks_available());
    Some(blocks.saturating_mul(disk.fragment_size()))
}

fn reference(exponents: &str) -> (Arc<Prices>, String) {
    let table = CostTable::read(REFERENCE.as_bytes()).expect("a test reads it");
    let prices = prices(&table, exponents).expect("a test reads it");
    (Arc::new(prices), format!("{}, {}", table.machine.cpu, table.measured))
}

/// A plan without cryptography and user traffic, and its credentials.
struct Rehearsal {
    plan: Plan,
    credentials: Credentials,
}

/// The cost of a rehearsal.
struct Took {
    /// The driver, on this machine.
    driver_ns: u64,
    /// The time that the cryptography of all nodes would have taken.
    charged_ns: u64,
    bytes: u64,
}

impl Rehearsal {
    fn new(plan: &Plan) -> Self {
        let mut plan = Plan { crypto: CryptoMode::Table, samples: SAMPLES, population: None, ..plan.clone() };
        plan.rows.iter_mut().for_each(|row| row.options.traffic = Traffic::default());
        let credentials = Credentials::prepare(&plan);
        Self { plan, credentials }
    }

    fn row(&self, row: &RowPlan) -> Row {
        Row::new(&self.plan, row, &self.credentials, clock::ticks_hz())
    }

    fn rehearse(&self, row: &RowPlan, prices: Option<&Arc<Prices>>) -> Took {
        let mut built = self.row(row);
        built.charge(prices.unwrap_or(&Arc::new(Prices::flat(0.0))));
        let counted = [Counted::default(), Counted::default()];
        let files = Files::new(counted[0].clone(), counted[1].clone()).expect("counting cannot fail");
        let mut keeper = Rehearsed { files, cpu_ns: 0 };
        let begun_ns = clock::thread_cpu_ns();
        built.run(&mut keeper, &|| (), &Stop::new(false));
        let driver_ns = clock::thread_cpu_ns() - begun_ns;
        keeper.files.finish().expect("counting cannot fail");
        let bytes = counted.iter().map(|counted| counted.0.get()).sum();
        Took { driver_ns, charged_ns: keeper.cpu_ns, bytes }
    }
}

/// Keeps no records, only their sums.
struct Rehearsed {
    files: Files<Counted>,
    /// The charged time of the nodes.
    cpu_ns: u64,
}

impl Recorder for Rehearsed {
    fn record(&mut self, record: Record) {
        self.files.record(record);
    }
}

impl Keeper for Rehearsed {
    fn cost(&mut self, cost: Cost) {
        if let Cost::Sample(sample) = &cost {
            self.cpu_ns += sample.cpu_ns;
        }
        self.files.cost(cost);
    }
}

/// Counts the bytes written.
#[derive(Debug, Clone, Default)]
struct Counted(Rc<Cell<u64>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use keytoll_scenario::{Overrides, Source};

    use super::*;

    fn plan(changes: &[&str]) -> Plan {
        Source::builtin("quickstart").unwrap().plan(&Overrides::parse(changes).unwrap()).unwrap()
    }

    /// The charged time of each authentication of a plan with one row.
    fn charged(method: &str, crypto: &str) -> Duration {
        let changes =
            [format!("methods={method}"), "networks=loopback".to_owned(), format!("crypto={crypto}")];
        let plan = plan(&changes.each_ref().map(String::as_str));
        let work = rehearse(&plan).unwrap();
        assert_eq!((work.authentications, work.rehearsed), (30, 1));
        assert!(work.each_bytes > 500, "{work:?}");
        assert_eq!(work.machine.is_some(), crypto == "real");
        let prices = plan.crypto.computes().then(|| reference("short").0);
        let took = Rehearsal::new(&plan).rehearse(&plan.rows[0], prices.as_ref());
        let charged = Duration::from_nanos(took.charged_ns / u64::from(SAMPLES));
        assert!(work.each > charged, "{work:?} has {charged:?} in it");
        charged
    }

    #[test]
    fn cryptography_that_takes_longer_is_estimated_longer() {
        let [rsa1024, rsa4096] = ["ikev2-rsa1024", "ikev2-rsa4096"].map(|method| charged(method, "real"));
        // Two signatures of 2 ms each.
        assert!(rsa4096 > rsa1024 + Duration::from_millis(2), "{rsa1024:?} {rsa4096:?}");
        assert_eq!(charged("ikev2-rsa4096", "null"), Duration::ZERO);
    }

    #[test]
    fn every_method_and_suite_has_its_price_in_the_reference() {
        for scenario in ["quickstart", "ikev1", "suites", "eap"] {
            let plan = Source::builtin(scenario).unwrap().plan(&Overrides::default()).unwrap();
            let rehearsal = Rehearsal::new(&plan);
            for row in &rehearsal.plan.rows {
                let mut built = rehearsal.row(row);
                built.charge(&reference("short").0);
                built.run(&mut Discard, &|| (), &Stop::new(false));
                assert_eq!(built.unpriced(), None, "{scenario}: {}", row.method.name());
            }
        }
    }

    #[test]
    fn the_total_is_the_sum_of_all_authentications() {
        let work =
            Work { authentications: 1000, each: Duration::from_millis(3), each_bytes: 7, ..Work::default() };
        assert_eq!(
            (work.time(1), work.time(2), work.bytes()),
            (Duration::from_secs(3), Duration::from_millis(1500), 7000)
        );
        let endless = Work { authentications: u64::MAX, ..work };
        assert_eq!((endless.time(1), endless.bytes()), (Duration::from_nanos(u64::MAX), u64::MAX));
    }

    #[test]
    fn a_missing_directory_has_the_free_space_of_its_parent() {
        let room = |path: &str| free_bytes(Path::new(path)).map(|bytes| bytes >> 30);
        assert!(room(".").is_some() && room("no/such/place") == room("."));
    }
}
