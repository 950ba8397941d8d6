//! Many stations at one access point for a long time, and what it takes both to change keys while data flows: counted, not measured.
//!
//! All stations join; then the meters begin again, and every station sends a datagram in each interval. Cryptography is that of the
//! plan, so that a frame under a wrong key is discarded; it takes the time of a cost table, or none.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keytoll_crypto::{Metered, Prices, Provider};
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Node, Protocol};
use keytoll_hosts::traffic::{Config, Kind};
use keytoll_hosts::{Event, Host, Order};
use keytoll_native::clock;
use keytoll_rigs::{Crowd, Seat, crowd, lasting, provider};
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_sim::{Before, Meter, NodeConfig, NodeIndex, Recorder, Stimulus, World};
use keytoll_trace::Record;
use keytoll_trace::cost_table::CostTable;

use crate::costs::prices;
use crate::row::{ECHO_BYTES, Stop};

/// Stations join one after the other.
const JOIN_EVERY: Duration = Duration::from_millis(200);
/// Length of a datagram with its IP header, and what makes it one a second.
const DATAGRAM_BYTES: usize = 100;
/// What is in the air when the sources end arrives meanwhile.
const DRAIN: Duration = Duration::from_secs(1);

/// How many stations, for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlan {
    /// The stations.
    pub stations: u16,
    /// How often keys change.
    pub periods: u32,
    /// From one change to the next, in whole seconds.
    pub period: Duration,
}

/// What happened in a cell after all stations had joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellRun {
    /// The stations that joined.
    pub joined: u16,
    /// The periods that passed: fewer than planned after an interruption.
    pub periods: u32,
    /// What was on the air.
    pub frames: Frames,
    /// The operations of the access point.
    pub access_point: Vec<Counted>,
    /// Those of all stations together.
    pub stations: Vec<Counted>,
    /// CPU time of the simulation.
    pub simulated_in: Duration,
}

/// The frames of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// Data frames that were sent.
    pub data: u64,
    /// The packets in them that the access point had in the clear.
    pub arrived: u64,
    /// EAPOL frames.
    pub eapol: u64,
    /// Management frames.
    pub management: u64,
    /// Those of all these that the air lost or damaged.
    pub lost: u64,
    /// Whatever a node discarded.
    pub discarded: u64,
}

/// A crypto operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The phase of the protocol.
    pub phase: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// The algorithm.
    pub algorithm: String,
    /// How often.
    pub count: u64,
    /// Its time by the cost table, on the machine of the table; 0 without one.
    pub ns: u64,
}

/// Runs a row of a plan in a cell; `progress` is called after each period.
///
/// # Panics
/// If the row has an EAP server outside the access point.
pub fn cell(
    (plan, row): (&Plan, &RowPlan),
    cell: CellPlan,
    costs: Option<&CostTable>,
    progress: &dyn Fn(),
    stop: &Stop,
) -> CellRun {
    let began_ns = clock::thread_cpu_ns();
    let mut built = Built::new((plan, row), cell, costs);
    let joined = built.join();
    built.begin();
    let mut periods = 0;
    while periods < cell.periods && !stop.load(Ordering::Relaxed) {
        built.pass(cell.period);
        periods += 1;
        progress();
    }
    built.pass(DRAIN);
    let [access_point, stations] = built.counted();
    let frames = built.frames;
    let simulated_in = Duration::from_nanos(clock::thread_cpu_ns() - began_ns);
    CellRun { joined, periods, frames, access_point, stations, simulated_in }
}

/// Charges the prices of a table at the clock of both sides.
#[derive(Debug)]
struct Priced {
    /// Virtual picoseconds for each one of the table's machine.
    scale: f64,
    begun_ps: u64,
}

impl Meter<Metered<Provider>> for Priced {
    fn begin(
        &mut self,
        _: NodeIndex,
        crypto: &mut Metered<Provider>,
        _: Stimulus<'_>,
        _: Before,
    ) -> Duration {
        self.begun_ps = crypto.crypto_ticks_total();
        Duration::ZERO
    }

    fn end(&mut self, _: NodeIndex, crypto: &mut Metered<Provider>, _: &[Fact]) -> Duration {
        let ps = crypto.crypto_ticks_total() - self.begun_ps;
        Duration::from_nanos((ps as f64 * self.scale / 1000.0) as u64)
    }
}

/// A cell in the simulator.
struct Built {
    world: World<Box<dyn Host>, Metered<Provider>, Priced>,
    access_point: NodeIndex,
    stations: Vec<(NodeIndex, Config)>,
    frames: Frames,
    period: Duration,
}

impl Built {
    fn new((plan, row): (&Plan, &RowPlan), cell: CellPlan, costs: Option<&CostTable>) -> Self {
        let row = lasting(row, cell.period, cell.period * cell.periods.saturating_add(3));
        let plan = Plan { rows: vec![row.clone()], ..plan.clone() };
        let seed = plan.seed_of(&row);
        let Crowd { access_point, stations, link } = crowd(&plan, &row, cell.stations, &seed);
        let profile_hz = plan.cpus.get(&Node::Ap).and_then(|profile| profile.hz);
        let core_hz = costs.map(|costs| costs.machine.core_hz);
        let scale = core_hz.zip(profile_hz).map_or(1.0, |(core_hz, hz)| core_hz / hz);
        let prices = costs.and_then(|costs| prices(costs, plan.exponents.name()).ok()).map(Arc::new);
        let crypto = || counting(&plan, prices.as_ref());
        let mut world = World::new(seed, Priced { scale, begun_ps: 0 });
        let ap_ip = access_point.ip;
        let access_point = seated(&mut world, Node::Ap, access_point, crypto());
        // What the access point decrypts leaves it by an interface, which a simulated node has not.
        world.with_host(access_point, |host| host.attach_interface());
        let mut station = |seat: Seat| {
            let config = source(row.network.mtu_bytes, cell, (seat.ip, ap_ip));
            let station = seated(&mut world, Node::Ue, seat, crypto());
            world.add_link(station, access_point, &link);
            (station, config)
        };
        let stations = stations.into_iter().map(&mut station).collect();
        Self { world, access_point, stations, frames: Frames::default(), period: cell.period }
    }

    /// Lets all stations join, until the middle of a period; how many have.
    fn join(&mut self) -> u16 {
        for ((station, _), turn) in self.stations.iter().zip(0..) {
            let at = Time::ZERO + JOIN_EVERY * turn;
            self.world.command_at(at, *station, Order::Echo { payload_bytes: ECHO_BYTES });
        }
        let patience = JOIN_EVERY * u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        let periods = patience.as_secs() / self.period.as_secs().max(1) + 1;
        let middle = Time::ZERO + self.period * u32::try_from(periods).unwrap_or(u32::MAX) + self.period / 2;
        let mut joined = 0;
        let mut frames = Frames::default();
        while let Some((_, _, event)) = self.world.run_until(middle, &mut frames) {
            joined += u16::from(event == Event::Usable);
        }
        joined
    }

    /// Begins to count, and to send: the stations one after the other in each second.
    fn begin(&mut self) {
        let nodes = self.stations.iter().map(|(station, _)| *station).chain([self.access_point]);
        nodes.for_each(|node| self.world.crypto_mut(node).reset());
        let each = Duration::from_secs(1) / u32::try_from(self.stations.len().max(1)).unwrap_or(u32::MAX);
        for ((station, config), turn) in self.stations.iter().zip(0..) {
            let order = Order::Traffic(Box::new(config.clone()));
            self.world.command_at(self.world.now() + each * turn, *station, order);
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.world.now() + time;
        while self.world.run_until(until, &mut self.frames).is_some() {}
    }

    /// The operations of the access point, and of all stations.
    fn counted(&self) -> [Vec<Counted>; 2] {
        let mut sums = [Vec::new(), Vec::new()];
        add(&mut sums[0], self.world.crypto(self.access_point));
        self.stations.iter().for_each(|(station, _)| add(&mut sums[1], self.world.crypto(*station)));
        sums
    }
}

/// A datagram a second.
fn source(mtu_bytes: u16, cell: CellPlan, (local, remote): (std::net::IpAddr, std::net::IpAddr)) -> Config {
    Config {
        kind: Kind::Constant { bits_per_s: 8 * DATAGRAM_BYTES as u64 },
        sends: true,
        duration: cell.period * cell.periods,
        packet_bytes: Some(DATAGRAM_BYTES),
        protected: true,
        local,
        remote,
        mtu_bytes: mtu_bytes.into(),
    }
}

/// The cryptography of a plan, counted and charged such prices.
fn counting(plan: &Plan, prices: Option<&Arc<Prices>>) -> Metered<Provider> {
    let mut crypto = Metered::count_only(provider(plan));
    prices.into_iter().for_each(|prices| crypto.charge(Arc::clone(prices)));
    crypto
}

fn seated(
    world: &mut World<Box<dyn Host>, Metered<Provider>, Priced>,
    name: Node,
    seat: Seat,
    crypto: Metered<Provider>,
) -> NodeIndex {
    let node = world.add_node(NodeConfig::new(name), seat.host, crypto);
    world.add_address(node, keytoll_net::Host::Mac(seat.address));
    node
}

fn add(sums: &mut Vec<Counted>, crypto: &Metered<Provider>) {
    for row in crypto.snapshot().into_iter().filter(|row| row.count > 0) {
        let (phase, operation, algorithm) = (row.phase.name(), row.operation, row.algorithm.into_owned());
        let is_same =
            |sum: &Counted| (sum.phase, sum.operation, &sum.algorithm) == (phase, operation, &algorithm);
        let place = sums.iter().position(is_same).unwrap_or(sums.len());
        if place == sums.len() {
            sums.push(Counted { phase, operation, algorithm: algorithm.clone(), count: 0, ns: 0 });
        }
        sums[place].count += row.count;
        // Picoseconds of a table; an unpriced operation has none.
        sums[place].ns += row.ticks / 1000;
    }
}

impl Recorder for Frames {
    fn record(&mut self, Record { node, fact, .. }: Record) {
        match fact {
            Fact::Carried { protocol, fate, .. } => {
                let count = match protocol {
                    Protocol::FRAMES => &mut self.data,
                    Protocol::MANAGEMENT => &mut self.management,
                    _ => &mut self.eapol,
                };
                *count += 1;
                self.lost += u64::from(fate != Fate::Delivered);
            }
            // The simulator says so of what leaves a node by an interface.
            Fact::Discarded { protocol: Protocol::IP, why } if node == Node::Ap && why == NO_INTERFACE => {
                self.arrived += 1;
            }
            Fact::Discarded { .. } => self.discarded += 1,
            _ => {}
        }
    }
}

/// Why the simulator discards what a node gives its interface.
const NO_INTERFACE: &str = "no interface";

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;

    use super::*;

    fn plan(method: &str) -> Plan {
        with_crypto(method, "null")
    }

    fn with_crypto(method: &str, crypto: &str) -> Plan {
        let text = format!(
            "title = \"t\"\nmethods = \"{method}\"\ntopologies = \"wlan\"\nnetworks = \"wlan-11b\"\nsamples = 1\n\
             crypto = \"{crypto}\"\n{}",
            if method.contains("eap") { "[options]\neap_server = \"access-point\"\n" } else { "" }
        );
        keytoll_scenario::parse("cell", &text).unwrap()
    }

    fn ran(method: &str, stations: u16, periods: u32) -> CellRun {
        let plan = plan(method);
        let cell_plan = CellPlan { stations, periods, period: Duration::from_secs(60) };
        cell((&plan, &plan.rows[0]), cell_plan, None, &|| {}, &Stop::new(false))
    }

    /// Operations by phase and name, how often.
    fn counts(counted: &[Counted]) -> Vec<(&str, &str, u64)> {
        counted.iter().map(|it| (it.phase, it.operation, it.count)).collect()
    }

    #[test]
    fn a_period_of_rrkm_costs_each_side_one_hash_and_no_frame() {
        let run = ran("rrkm", 5, 4);
        assert_eq!((run.joined, run.periods), (5, 4));
        let data = 5 * 4 * 60;
        assert_eq!(run.frames, Frames { data, arrived: data, ..Frames::default() });
        let expected = [("rekeying", "hash", 20), ("traffic", "stream", data)];
        assert_eq!([&run.access_point, &run.stations].map(|counted| counts(counted)), [&expected[..]; 2]);
    }

    /// The frames of two stations in two periods with real cryptography, after a change of the first station.
    fn frames_after(change: impl FnOnce(&mut Metered<Provider>)) -> Frames {
        let plan = with_crypto("rrkm", "real");
        let of = CellPlan { stations: 2, periods: 2, period: Duration::from_secs(60) };
        let mut built = Built::new((&plan, &plan.rows[0]), of, None);
        assert_eq!(built.join(), 2);
        change(built.world.crypto_mut(built.stations[0].0));
        built.begin();
        built.pass(of.period * of.periods + DRAIN);
        built.frames
    }

    #[test]
    fn real_frames_are_decrypted_and_frames_under_no_key_are_discarded() {
        let data = 2 * 2 * 60;
        assert_eq!(frames_after(|_| {}), Frames { data, arrived: data, ..Frames::default() });
        let unencrypted = frames_after(|crypto| *crypto = Metered::count_only(Provider::Null(Null)));
        let half = data / 2;
        assert_eq!(unencrypted, Frames { data, arrived: half, discarded: half, ..Frames::default() });
    }

    #[test]
    fn a_new_key_of_the_group_takes_two_frames_with_wpa2_and_one_with_dynamic_wep() {
        let [wpa2, wep] = ["wpa2-psk", "dot1x-eap-tls"].map(|method| ran(method, 5, 4));
        let frames = [&wpa2, &wep].map(|run| (run.frames.eapol, run.frames.lost, run.frames.discarded));
        assert_eq!(frames, [(40, 0, 0), (20, 0, 0)]);
        assert!(counts(&wpa2.stations).contains(&("group-key", "prf", 40)), "{wpa2:?}");
        assert!(counts(&wep.stations).contains(&("wep-keys", "prf", 20)), "{wep:?}");
    }

    #[test]
    fn operations_are_charged_what_a_table_says() {
        let plan = plan("rrkm");
        let price = |operation: &str, algorithm: &str| keytoll_trace::cost_table::OperationPrice {
            operation: operation.to_owned(),
            algorithm: algorithm.to_owned(),
            exponents: None,
            fixed_ns: 100.0,
            ns_per_byte: 0.0,
            n: 1,
            spread: 0.0,
        };
        let mut table = CostTable::new("0", 0, keytoll_trace::manifest::Machine::default(), "none");
        table.costs = vec![price("hash", "sha1"), price("stream", "rc4")];
        let of = CellPlan { stations: 2, periods: 3, period: Duration::from_secs(60) };
        let run = cell((&plan, &plan.rows[0]), of, Some(&table), &|| {}, &Stop::new(false));
        let hashes = run.access_point.iter().find(|it| it.operation == "hash").unwrap();
        assert_eq!((hashes.count, hashes.ns), (6, 600));
    }

    #[test]
    fn an_interruption_leaves_what_has_passed() {
        let plan = plan("rrkm");
        let of = CellPlan { stations: 1, periods: 3, period: Duration::from_secs(60) };
        let run = cell((&plan, &plan.rows[0]), of, None, &|| {}, &Stop::new(true));
        assert_eq!((run.joined, run.periods), (1, 0));
    }
}
