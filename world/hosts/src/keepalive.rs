//! NAT keepalives: a host behind a NAT that has said nothing to a peer for a while sends one octet, so that the NAT does not
//! forget it and the peer can reach it. Read RFC 3948 §2.3 and §4.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Datagram, Deadline, Time, Transport};
use keytoll_ike::Endpoint;
use keytoll_ike::v2::{Event, SaId};

/// RFC 3948 §2.3: a single octet of ones.
const KEEPALIVE: [u8; 1] = [0xff];

fn datagram(from: Addr, to: Addr) -> Datagram {
    Datagram { protocol: Protocol::Ike, transport: Transport::Udp, from, to, bytes: KEEPALIVE.to_vec() }
}

/// The peers that a NAT before us must not forget.
#[derive(Debug)]
pub(crate) struct Keepalives {
    after: Option<Duration>,
    now: Time,
    /// From where to where each IKE SA sends, and its ESP.
    paths: BTreeMap<SaId, (Addr, Addr)>,
    /// When something was last sent there.
    sent: BTreeMap<(Addr, Addr), Time>,
}

impl Keepalives {
    /// One after so much silence; none: never.
    pub(crate) const fn new(after: Option<Duration>) -> Self {
        Self { after, now: Time::ZERO, paths: BTreeMap::new(), sent: BTreeMap::new() }
    }

    /// Which SAs there are follows from what IKE tells.
    pub(crate) fn heard(&mut self, event: &Event, ike: &Endpoint) {
        match event {
            Event::Established(established) => self.keep(established.sa, ike),
            Event::Rekeyed { old, new } => {
                self.forget(*old);
                self.keep(*new, ike);
            }
            Event::Closed(sa, _) => self.forget(*sa),
            _ => {}
        }
    }

    fn keep(&mut self, sa: SaId, ike: &Endpoint) {
        let path = self.after.and_then(|_| ike.path_to_keep(sa));
        if let Some(path) = path {
            self.paths.insert(sa, path);
            self.sent.entry(path).or_insert(self.now);
        }
    }

    fn forget(&mut self, sa: SaId) {
        self.paths.remove(&sa);
        let paths = &self.paths;
        self.sent.retain(|path, _| paths.values().any(|kept| kept == path));
    }

    /// What time it is.
    pub(crate) const fn at(&mut self, now: Time) {
        self.now = now;
    }

    // RFC 3948 §4: a keepalive is sent only if nothing else was sent to that peer for so long.
    /// Notes a datagram that leaves.
    pub(crate) fn sent(&mut self, datagram: &Datagram) {
        if let Some(at) = self.sent.get_mut(&(datagram.from, datagram.to)) {
            *at = self.now;
        }
    }

    /// Those that are due. A peer may be at another address by now.
    pub(crate) fn due(&mut self, ike: &Endpoint) -> Vec<Datagram> {
        let Some(after) = self.after else { return Vec::new() };
        let now = self.now;
        let is_due = |at: &Time| now.since(*at) >= after;
        if !self.sent.values().any(is_due) {
            return Vec::new();
        }
        for sa in self.paths.keys().copied().collect::<Vec<_>>() {
            self.forget_moved(sa, ike);
        }
        let due = self.sent.iter().filter(|(_, at)| is_due(at));
        due.map(|((from, to), _)| datagram(*from, *to)).collect()
    }

    fn forget_moved(&mut self, sa: SaId, ike: &Endpoint) {
        let (kept, path) = (self.paths.get(&sa).copied(), ike.path_to_keep(sa));
        if kept != path {
            // What was sent to the old place counts for the new one, too.
            let last = kept.and_then(|kept| self.sent.get(&kept).copied()).unwrap_or(self.now);
            self.forget(sa);
            if let Some(path) = path {
                self.paths.insert(sa, path);
                self.sent.entry(path).or_insert(last);
            }
        }
    }

    /// When the next one is due, unless something else is sent.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let after = self.after?;
        let first = self.sent.values().min()?;
        Some(Deadline { at: *first + after, why: "NAT keepalive" })
    }
}
