//! User traffic after an authentication: both stations start, the links drain, both report their counters.
//!
//! A fact for every packet would fill disks, so the packets on links, the computation of nodes and the discards are summed up here.
//! All other facts, such as a rekeying, are recorded as usual.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Link, Node, Protocol, Revealed};
use keytoll_hosts::traffic::{Config, Kind};
use keytoll_rig::Users;
use keytoll_scenario::plan::{RowPlan, TrafficKind};
use keytoll_sim::{Passing, Recorder};
use keytoll_trace::Record;

/// After the sources stop, packets may take this many times [`QUIET`] to arrive.
pub(crate) const DRAIN_MAX: u32 = 600;

/// The traffic of a row.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    kind: Kind,
    /// The device's and the gateway's.
    sends: [bool; 2],
    pub(crate) duration: Duration,
    packet_bytes: Option<usize>,
    protected: bool,
    /// Outside the SAs: the outer addresses.
    outer: [IpAddr; 2],
    mtu_bytes: usize,
}

impl Traffic {
    /// The traffic of the plan, if any.
    pub(crate) fn of(row: &RowPlan, users: Users) -> Option<Self> {
        let plan = row.options.traffic;
        let kind = match plan.kind? {
            TrafficKind::Echo => Kind::Echo { interval: plan.interval },
            TrafficKind::Constant => Kind::Constant { bits_per_s: plan.rate_bits_per_s },
            TrafficKind::Bulk => Kind::Bulk { window_bytes: plan.window_bytes.into() },
        };
        Some(Self {
            kind,
            sends: [plan.direction.is_up(), plan.direction.is_down()],
            duration: plan.duration,
            packet_bytes: plan.packet_bytes.map(usize::from),
            protected: plan.protected,
            outer: users.outer,
            mtu_bytes: row.network.mtu_bytes.into(),
        })
    }

    /// The stations of the device and of the gateway, whose addresses inside SAs these are.
    pub(crate) fn stations(&self, inside: [IpAddr; 2]) -> [Config; 2] {
        let [local, remote] = if self.protected { inside } else { self.outer };
        let station = |sends, local, remote| Config {
            kind: self.kind,
            sends,
            duration: self.duration,
            packet_bytes: self.packet_bytes,
            protected: self.protected,
            local,
            remote,
            mtu_bytes: self.mtu_bytes,
        };
        [station(self.sends[0], local, remote), station(self.sends[1], remote, local)]
    }
}

/// A recorder that drops facts about single packets.
pub(crate) struct Sieve<'a> {
    recorder: &'a mut dyn Recorder,
    links: BTreeMap<Link, Carried>,
    busy_ns: BTreeMap<Node, u64>,
    discarded: BTreeMap<(Node, Protocol, Cow<'static, str>), u64>,
    /// When the last packet on a link arrives.
    arrives: Time,
}

/// The totals of a link.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    packets: u64,
    bytes: u64,
    lost_packets: u64,
    refused_bytes: u64,
}

impl<'a> Sieve<'a> {
    pub(crate) fn new(recorder: &'a mut dyn Recorder) -> Self {
        let (links, busy_ns, discarded) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { recorder, links, busy_ns, discarded, arrives: Time::ZERO }
    }

    /// When the last user packet on a link arrives.
    pub(crate) const fn arrives(&self) -> Time {
        self.arrives
    }

    /// Records the totals.
    pub(crate) fn finish(self, now: Time, sample: u32) {
        let Self { recorder, links, busy_ns, discarded, .. } = self;
        let mut tell = |node, fact| recorder.record(Record { at_ns: now.as_nanos(), node, sample, fact });
        for (link, Carried { packets, bytes, lost_packets, refused_bytes }) in links {
            tell(link.0, Fact::TrafficCarried { link, packets, bytes, lost_packets, refused_bytes });
        }
        for (node, busy_ns) in busy_ns {
            tell(node, Fact::TrafficComputed { busy_ns });
        }
        for ((node, protocol, why), count) in discarded {
            tell(node, Fact::TrafficDiscarded { protocol, why, count });
        }
    }

    fn carried(&mut self, link: Link, (packets, bytes): (u16, u32), arrives: Time, fate: Fate) {
        let sum = self.links.entry(link).or_default();
        match fate {
            Fate::Duplicate => {}
            Fate::QueueFull => sum.refused_bytes += u64::from(bytes),
            Fate::Delivered | Fate::Lost | Fate::Corrupted => {
                sum.packets += u64::from(packets);
                sum.bytes += u64::from(bytes);
            }
        }
        if matches!(fate, Fate::QueueFull | Fate::Lost | Fate::Corrupted) {
            sum.lost_packets += u64::from(packets);
        }
        self.arrives = self.arrives.max(arrives);
    }
}

impl Recorder for Sieve<'_> {
    fn record(&mut self, record: Record) {
        match record.fact {
            Fact::Carried { link, protocol, packets, bytes, transit_ns, fate } if protocol.is_traffic() => {
                let arrives = Time::from_nanos(record.at_ns.saturating_add(transit_ns));
                self.carried(link, (packets, bytes), arrives, fate);
            }
            Fact::Computed { busy_ns } => *self.busy_ns.entry(record.node).or_default() += busy_ns,
            Fact::Discarded { protocol, why } => {
                *self.discarded.entry((record.node, protocol, why)).or_default() += 1;
            }
            _ => self.recorder.record(record),
        }
    }

    fn captures(&self, sample: u32) -> bool {
        self.recorder.captures(sample)
    }

    fn pass(&mut self, passing: &Passing<'_>) {
        self.recorder.pass(passing);
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.recorder.reveal(revealed);
    }
}
