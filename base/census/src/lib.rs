//! What becomes of a population, counted while it happens, in the simulator and with real targets alike.
//!
//! ```text
//!   offered, begun, established, failed, sent, … --> Census --summary--> PopulationSummary   (`population` of a row in summary.json)
//!                                                          '--points---> Point, one a second (series.csv)
//! ```
//!
//! Delays count from the *intended* start: whoever had to wait before it could begin at all has waited, too. So a generator that
//! falls behind, or a closed door, is in the percentiles and not left out of them (no coordinated omission).
//! Nothing grows with the number of attempts; a second takes a few hundred bytes.

mod account;
mod bounded;
mod delays;
mod links;
mod loss;
mod series;
mod summary;

use std::collections::BTreeMap;
use std::time::Duration;

pub use account::{Account, Accounts};
pub use delays::Delays;
pub use links::LinkSummary;
use links::{Flow, Way};
use loss::Loss;
pub use loss::LossSummary;
pub use series::{NodePoint, Point};
use series::{Second, Usage};
pub use summary::{CookieSummary, NodeSummary, Percentiles, PopulationSummary, Repeated};

/// Nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;
/// The seconds of a week and what is under way at its end; what comes later belongs to the last of them.
const SECONDS_MAX: usize = 7 * 24 * 3600 + 3600;

/// A node of the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// How many inputs it handles at once.
    pub(crate) cores: u32,
    /// Whether devices have it or another one like it.
    pub(crate) is_one_of_several: bool,
}

/// The counts of a population. Times are from the start of the load.
#[derive(Debug, Clone, Default)]
pub struct Census {
    seconds: Vec<Second>,
    delays: Delays,
    late: Delays,
    failures: BTreeMap<String, u64>,
    nodes: BTreeMap<String, Known>,
    /// Heap of each node when the most devices were there, in bytes.
    heaps: BTreeMap<String, u64>,
    loss: Option<Loss>,
    /// The directions of links; a second has their flows in this order.
    ways: Vec<Way>,
    devices: u64,
    present: u64,
    present_max: u64,
    bytes_per_device: Option<f64>,
    /// How long the schedule is.
    span: Duration,
    last_established: Duration,
    end: Duration,
}

impl Census {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node or a link of the report, and how many inputs it handles at once.
    pub fn add_node(&mut self, name: &str, cores: u32) {
        let known = Known { cores: cores.max(1), is_one_of_several: false };
        self.nodes.insert(name.to_owned(), known);
    }

    /// One of several gateways of the report.
    pub fn add_gateway(&mut self, name: &str, cores: u32) {
        let known = Known { cores: cores.max(1), is_one_of_several: true };
        self.nodes.insert(name.to_owned(), known);
    }

    /// One direction of so many links of the report, each of this rate.
    pub fn add_link(&mut self, name: &str, count: u64, bits_per_s: Option<u64>) {
        self.ways.push(Way { name: name.to_owned(), count, bits_per_s });
    }

    /// A datagram went over a link, which has its place in the order in which links were added, or was refused by its queue.
    pub fn carried(
        &mut self,
        place: usize,
        at: Duration,
        bytes: u64,
        transit: Duration,
        refused_packets: u64,
    ) {
        let count = self.ways.len();
        let flows = &mut self.second(at).flows;
        flows.resize(count.max(flows.len()), Flow::default());
        if let Some(flow) = flows.get_mut(place) {
            flow.merge(&Flow { bytes, transit_max: transit, refused_packets });
        }
    }

    /// How long the schedule of arrivals is.
    pub fn planned(&mut self, span: Duration) {
        self.span = span;
    }

    /// An attempt is meant to begin now.
    pub fn offered(&mut self, intended: Duration) {
        self.second(intended).offered += 1;
    }

    /// A device that never was there before.
    pub fn device(&mut self) {
        self.devices += 1;
    }

    /// An attempt begins.
    pub fn begun(&mut self, intended: Duration, at: Duration) {
        self.second(at).begun += 1;
        self.late.record(at.saturating_sub(intended));
    }

    /// An attempt has succeeded.
    pub fn established(&mut self, intended: Duration, at: Duration) {
        let delay = at.saturating_sub(intended);
        self.delays.record(delay);
        self.last_established = self.last_established.max(at);
        let second = self.second(at);
        second.established += 1;
        second.delays.record(delay);
        self.present += 1;
        self.present_max = self.present_max.max(self.present);
    }

    /// An attempt has failed, with the reason under which it is counted.
    pub fn failed(&mut self, at: Duration, why: &str) {
        self.second(at).failed += 1;
        match self.failures.get_mut(why) {
            Some(count) => *count += 1,
            None => {
                self.failures.insert(why.to_owned(), 1);
            }
        }
    }

    /// What an attempt established has ended.
    pub fn left(&mut self, at: Duration) {
        self.second(at).left += 1;
        self.present = self.present.saturating_sub(1);
    }

    /// Messages were sent, so many of them again.
    pub fn sent(&mut self, at: Duration, messages: u64, again: u64) {
        let second = self.second(at);
        second.messages += messages;
        second.retransmissions += again;
    }

    /// A gateway has asked for a cookie.
    pub fn cookie_asked(&mut self, at: Duration) {
        self.second(at).cookies_asked += 1;
    }

    /// An attempt begins once more with the cookie that it was asked for.
    pub fn cookie_shown(&mut self, at: Duration) {
        self.second(at).cookies_shown += 1;
    }

    /// Packets were lost on their way, or refused by a full queue.
    pub fn lost(&mut self, at: Duration, packets: u64) {
        self.second(at).lost_packets += packets;
    }

    /// Something arrived that could not be used, at this node if it is one of the report.
    pub fn discarded(&mut self, at: Duration, node: Option<&str>) {
        let second = self.second(at);
        second.discards += 1;
        node.into_iter().for_each(|node| usage(second, node).discards += 1);
    }

    /// An attempt has succeeded at this one of several gateways.
    pub fn served(&mut self, at: Duration, gateway: &str) {
        usage(self.second(at), gateway).established += 1;
    }

    /// A gateway is lost at which so many devices are established: they are left by it, and have nothing until they are back.
    pub fn gateway_lost(&mut self, at: Duration, gateway: &str, devices: u64) {
        self.loss = Some(Loss { gateway: gateway.to_owned(), at, devices, ..Loss::default() });
    }

    /// A device whose gateway was lost is established at another one.
    pub fn back(&mut self, at: Duration) {
        if let Some(loss) = &mut self.loss {
            loss.outages.record(at.saturating_sub(loss.at));
        }
    }

    /// An input found the queue of a node full.
    pub fn refused(&mut self, node: &str, at: Duration) {
        usage(self.second(at), node).refused += 1;
    }

    /// A core of a node was busy until now.
    pub fn busy(&mut self, node: &str, until: Duration, busy: Duration) {
        let mut from = until.saturating_sub(busy);
        while from < until {
            let end = Duration::from_secs(from.as_secs() + 1).min(until);
            let usage = usage(self.second(from), node);
            usage.busy_ns += nanos(end.saturating_sub(from));
            from = end;
        }
    }

    /// The queue of a node in one second: its mean and its greatest length.
    pub fn queued(&mut self, node: &str, second: Duration, mean: f64, max: u64) {
        let usage = usage(self.second(second), node);
        (usage.queue_mean, usage.queue_max) = (mean, usage.queue_max.max(max));
    }

    /// Heap of a node when the most devices were there.
    pub fn measured_heap(&mut self, node: &str, bytes: u64) {
        self.heaps.insert(node.to_owned(), bytes);
    }

    /// Heap that a device takes in all nodes.
    pub fn measured_bytes_per_device(&mut self, bytes: f64) {
        self.bytes_per_device = Some(bytes);
    }

    /// The load has ended.
    pub fn end(&mut self, at: Duration) {
        self.end = self.end.max(at);
    }

    /// Adds what another part of the same load has counted in the same seconds.
    pub fn merge(&mut self, other: &Self) {
        let length = self.seconds.len().max(other.seconds.len());
        self.seconds.resize_with(length, Second::default);
        self.seconds.iter_mut().zip(&other.seconds).for_each(|(second, more)| second.merge(more));
        self.delays.merge(&other.delays);
        self.late.merge(&other.late);
        for (why, count) in &other.failures {
            *self.failures.entry(why.clone()).or_default() += count;
        }
        self.nodes.extend(other.nodes.iter().map(|(name, node)| (name.clone(), *node)));
        other.heaps.iter().for_each(|(node, bytes)| self.measured_heap(node, *bytes));
        if self.loss.is_none() {
            self.loss.clone_from(&other.loss);
        }
        if self.ways.is_empty() {
            self.ways.clone_from(&other.ways);
        }
        self.devices += other.devices;
        self.present += other.present;
        // At most: both may have had their most at different times.
        self.present_max += other.present_max;
        self.bytes_per_device = self.bytes_per_device.or(other.bytes_per_device);
        self.span = self.span.max(other.span);
        self.last_established = self.last_established.max(other.last_established);
        self.end(other.end);
    }

    /// Attempts that were offered and have no outcome.
    pub fn in_flight(&self) -> u64 {
        let sum = |of: fn(&Second) -> u64| self.seconds.iter().map(of).sum::<u64>();
        sum(|second| second.offered)
            .saturating_sub(sum(|second| second.established) + sum(|second| second.failed))
    }

    /// The series, one point a second from the first to the last in which anything happened.
    pub fn points(&self) -> Vec<Point> {
        series::points(&self.seconds, &self.nodes, self.end)
    }

    /// Both.
    pub fn account(&self) -> Account {
        Account { summary: self.summary(), points: self.points(), delays_us: self.delays.counts() }
    }

    /// The sums.
    pub fn summary(&self) -> PopulationSummary {
        summary::of(self)
    }

    fn second(&mut self, at: Duration) -> &mut Second {
        let place = usize::try_from(nanos(at) / SECOND_NS).unwrap_or(usize::MAX).min(SECONDS_MAX);
        if self.seconds.len() <= place {
            self.seconds.resize_with(place + 1, Second::default);
        }
        &mut self.seconds[place]
    }
}

fn usage<'a>(second: &'a mut Second, node: &str) -> &'a mut Usage {
    if !second.nodes.contains_key(node) {
        second.nodes.insert(node.to_owned(), Usage::default());
    }
    second.nodes.get_mut(node).expect("inserted just now")
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_link_is_used_as_far_as_its_rate_was() {
        let mut census = small();
        census.add_link("ue-gw", 10, Some(80_000));
        census.add_link("gw-ue", 10, None);
        census.carried(0, ms(200), 10_000, ms(30), 0);
        census.carried(0, ms(1200), 30_000, ms(70), 0);
        census.carried(1, ms(1200), 500, ms(20), 0);
        census.carried(1, ms(1300), 0, ms(0), 2);
        census.carried(7, ms(1300), 1, ms(0), 0);
        let links = census.summary().links;
        let (up, down) = (links["ue-gw"], links["gw-ue"]);
        // 800 kbit/s in all, for two seconds; the second one is busier.
        assert_eq!((up.bytes, up.utilisation, up.utilisation_max), (40_000, Some(0.2), Some(0.3)));
        assert_eq!((up.links, up.transit_max_ms, up.refused_packets), (10, 70.0, 0));
        assert_eq!((down.bytes, down.utilisation, down.refused_packets), (500, None, 2));
        let mut share = Census::new();
        share.merge(&census);
        share.merge(&census);
        assert_eq!(share.summary().links["ue-gw"].bytes, 80_000);
    }

    /// Three attempts: one late, one failed, one under way.
    fn small() -> Census {
        let mut census = Census::new();
        census.add_node("gw", 2);
        [0, 500, 900].into_iter().for_each(|at| census.offered(ms(at)));
        census.begun(ms(0), ms(100));
        census.begun(ms(500), ms(500));
        census.established(ms(0), ms(1300));
        census.failed(ms(1700), "gw: timeout");
        census.sent(ms(600), 4, 1);
        census.busy("gw", ms(1500), ms(1000));
        census.queued("gw", ms(1000), 0.5, 3);
        census.refused("gw", ms(1200));
        census.planned(ms(1000));
        census.end(ms(2000));
        census
    }

    #[test]
    fn delays_count_from_the_intended_start_and_everything_has_its_second() {
        let census = small();
        let [first, second] = &census.points()[..] else { panic!("two seconds") };
        assert_eq!((first.offered, first.begun, first.established, first.in_flight), (3, 2, 0, 3));
        assert_eq!((second.established, second.failed, second.in_flight), (1, 1, 1));
        assert_eq!((first.messages, first.retransmissions), (4, 1));
        assert_eq!((first.nodes[0].utilisation, second.nodes[0].utilisation), (0.25, 0.25));
        let summary = census.summary();
        let delay = summary.delay_ms.unwrap();
        assert!((delay.p50 - 1300.0).abs() < 2.0 && (delay.max - 1300.0).abs() < 2.0, "{delay:?}");
        assert!((summary.late_ms.unwrap().max - 100.0).abs() < 0.2);
        assert_eq!((summary.offered, summary.in_flight), (3, 1));
        assert_eq!(summary.failures.into_iter().collect::<Vec<_>>(), [("gw: timeout".to_owned(), 1)]);
        assert_eq!((summary.nodes["gw"].queue_max, summary.nodes["gw"].refused_inputs), (3, 1));
        // Three in the second of the schedule; the one that succeeded had done so after 1.3 s.
        assert_eq!((summary.offered_per_s, summary.established_per_s), (Some(3.0), Some(1.0 / 1.3)));
        let [[us, count]] = census.account().delays_us[..] else { panic!("one delay") };
        assert!(us.abs_diff(1_300_000) < 1300 && count == 1, "{us}");
    }

    #[test]
    fn what_was_interrupted_is_counted_over_what_has_passed() {
        let mut census = Census::new();
        census.add_node("gw", 1);
        [0, 200].into_iter().for_each(|at| census.offered(ms(at)));
        census.busy("gw", ms(300), ms(200));
        census.planned(ms(10_000));
        census.end(ms(400));
        let summary = census.summary();
        assert_eq!(summary.offered_per_s, Some(5.0));
        let gw = summary.nodes["gw"];
        assert_eq!((gw.utilisation, gw.utilisation_max), (0.5, 0.5), "no second is idler than all");
    }

    #[test]
    fn each_of_several_gateways_has_what_succeeded_at_it_and_what_it_discarded() {
        let mut census = small();
        ["gw-1", "gw-2"].into_iter().for_each(|name| census.add_gateway(name, 1));
        census.established(ms(900), ms(1900));
        [1300, 1900].into_iter().for_each(|at| census.served(ms(at), "gw-2"));
        census.busy("gw-2", ms(1500), ms(400));
        [Some("gw-1"), Some("gw-1"), None].into_iter().for_each(|node| census.discarded(ms(200), node));
        census.measured_heap("gw-1", 5000);
        let mut whole = Census::new();
        whole.merge(&census);
        let (summary, points) = (whole.summary(), whole.points());
        let [one, two] = ["gw-1", "gw-2"].map(|name| summary.nodes[name]);
        assert_eq!((summary.discards, one.discards, two.discards), (3, 2, 0));
        assert_eq!(
            (one.established, two.established, summary.nodes["gw"].established),
            (Some(0), Some(2), None)
        );
        assert_eq!((two.busy_ns_per_established, two.busy_s), (Some(2e8), 0.4));
        assert_eq!((one.heap_bytes, two.heap_bytes), (Some(5000), None));
        let of = |second: usize, name: &str| {
            points[second].nodes.iter().find(|node| node.node == name).cloned().unwrap()
        };
        assert_eq!(
            (of(0, "gw-1").discards, of(1, "gw-2").established, of(1, "gw").established),
            (2, Some(2), None)
        );
    }

    #[test]
    fn several_gateways_are_told_together_too() {
        let mut census = Census::new();
        ["gw-1", "gw-2"].into_iter().for_each(|name| census.add_gateway(name, 1));
        census.add_node("hss", 1);
        census.busy("gw-1", ms(1000), ms(600));
        census.queued("gw-2", ms(0), 3.0, 7);
        census.discarded(ms(1), Some("gw-1"));
        census.served(ms(1), "gw-2");
        census.end(ms(1000));
        let point = &census.points()[0];
        let all = point.node("gw").unwrap();
        assert_eq!((all.utilisation, all.queue_mean, all.queue_max), (0.3, 1.5, 7));
        assert_eq!((all.discards, all.established, point.several().count()), (1, Some(1), 2));
        assert_eq!((point.node("hss").unwrap().established, point.node("aaa")), (None, None));
    }

    #[test]
    fn cookies_are_counted_apart_from_what_was_sent() {
        let mut census = small();
        assert_eq!(census.summary().cookies, None);
        (0..3).for_each(|_| census.cookie_asked(ms(100)));
        census.cookie_shown(ms(1200));
        let mut whole = Census::new();
        whole.merge(&census);
        let cookies = whole.summary().cookies.unwrap();
        assert_eq!((cookies.messages, cookies.repeated, cookies.share_of_begun), (3, 1, 0.5));
        let points = whole.points();
        assert_eq!(
            (points[0].cookies_asked, points[1].cookies_shown, whole.summary().messages.sent),
            (3, 1, 4)
        );
    }

    #[test]
    fn an_outage_lasts_from_the_loss_until_the_device_is_back() {
        let mut census = small();
        census.gateway_lost(ms(1000), "gw-2", 3);
        [1100, 1500].into_iter().for_each(|at| census.back(ms(at)));
        let mut whole = Census::new();
        whole.merge(&census);
        let loss = whole.summary().loss.unwrap();
        assert_eq!((&*loss.gateway, loss.at_s, loss.devices, loss.devices_back), ("gw-2", 1.0, 3, 2));
        let outage = loss.outage_ms.unwrap();
        assert!((outage.min - 100.0).abs() < 0.2 && (outage.max - 500.0).abs() < 0.5, "{outage:?}");
        assert_eq!(small().summary().loss, None);
    }

    #[test]
    fn what_comes_after_the_last_second_does_not_grow_anything() {
        let mut census = Census::new();
        census.offered(Duration::from_secs(u64::MAX / 2));
        assert_eq!(census.seconds.len(), SECONDS_MAX + 1);
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole(attempts in prop::collection::vec((0..5000_u64, 0..9000_u64, 0..3_u8, any::<bool>()), 0..60)) {
            let (mut whole, mut parts) = (Census::new(), [Census::new(), Census::new()]);
            for &(at, delay, outcome, is_second) in &attempts {
                for census in [&mut whole, &mut parts[usize::from(is_second)]] {
                    census.offered(ms(at));
                    census.begun(ms(at), ms(at));
                    match outcome {
                        0 => census.established(ms(at), ms(at + delay)),
                        1 => census.failed(ms(at + delay), "timeout"),
                        _ => {}
                    }
                }
            }
            let [mut sum, other] = parts;
            sum.merge(&other);
            prop_assert_eq!(sum.points(), whole.points());
            let (sum, whole) = (sum.summary(), whole.summary());
            prop_assert_eq!(whole.offered, whole.established + whole.failed + whole.in_flight);
            prop_assert_eq!((sum.delay_ms, sum.failures, sum.in_flight), (whole.delay_ms, whole.failures, whole.in_flight));
        }
    }
}
