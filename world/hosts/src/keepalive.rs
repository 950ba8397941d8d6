//! NAT keepalives: a host behind a NAT that has not sent to a peer for a while sends one octet, so that the NAT keeps its
//! mapping and the peer can reach the host. Read RFC 3948 §2.3 and §4.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Deadline, Time};
use keytoll_net::Addr;

use crate::event::SessionId;

/// RFC 3948 §2.3: a single octet of ones.
const KEEPALIVE: [u8; 1] = [0xff];

fn datagram(protocol: Protocol, from: Addr, to: Addr) -> Datagram {
    Datagram { protocol, from, to, bytes: KEEPALIVE.to_vec() }
}

/// Source and destination of a session's messages and its ESP.
pub type Path = (Addr, Addr);

/// The paths on which NAT mappings must be kept alive.
#[derive(Debug)]
pub struct Keepalives {
    /// The protocol that keepalives are counted under.
    protocol: Protocol,
    after: Option<Duration>,
    now: Time,
    /// The path of each session, and the sessions of each path.
    paths: BTreeMap<SessionId, Path>,
    sessions: BTreeSet<(Path, SessionId)>,
    /// When something was last sent on each path.
    sent: BTreeMap<Path, Sent>,
    /// The paths ordered by that time, updated lazily: sending a packet must cost no more than noting it.
    order: BTreeSet<(Time, Path)>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    last: Time,
    /// Its place in the order.
    filed: Time,
}

impl Keepalives {
    /// Sends a keepalive after so much silence; `None`: never.
    pub const fn new(protocol: Protocol, after: Option<Duration>) -> Self {
        Self {
            protocol,
            after,
            now: Time::ZERO,
            paths: BTreeMap::new(),
            sessions: BTreeSet::new(),
            sent: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Whether no mapping must be kept alive.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Registers a session with its path, if a NAT mapping must be kept alive for it.
    pub fn keep(&mut self, session: SessionId, path: impl FnOnce() -> Option<Path>) {
        if self.after.is_some() {
            path().into_iter().for_each(|path| self.insert(session, path, self.now));
        }
    }

    /// Adds a session on a path on which something was last sent at `last`, unless a later time is known.
    fn insert(&mut self, session: SessionId, path: Path, last: Time) {
        if self.paths.get(&session).is_some_and(|kept| *kept != path) {
            self.forget(session);
        }
        self.paths.insert(session, path);
        self.sessions.insert((path, session));
        let sent = *self.sent.entry(path).or_insert(Sent { last, filed: last });
        self.order.insert((sent.filed, path));
    }

    /// A session is gone.
    pub fn forget(&mut self, session: SessionId) {
        let Some(path) = self.paths.remove(&session) else { return };
        self.sessions.remove(&(path, session));
        if self.sessions_of(path).next().is_none()
            && let Some(sent) = self.sent.remove(&path)
        {
            self.order.remove(&(sent.filed, path));
        }
    }

    fn sessions_of(&self, path: Path) -> impl Iterator<Item = SessionId> {
        self.sessions.range((path, SessionId(0))..=(path, SessionId(u64::MAX))).map(|(_, session)| *session)
    }

    /// Sets the current time.
    pub const fn at(&mut self, now: Time) {
        self.now = now;
    }

    // RFC 3948 §4: a keepalive is sent only if nothing else was sent to that peer for so long.
    /// Notes an outgoing datagram.
    pub fn sent(&mut self, datagram: &Datagram) {
        if let Some(sent) = self.sent.get_mut(&(datagram.from, datagram.to)) {
            sent.last = self.now;
        }
    }

    /// The keepalives that are due. A peer may have another address by now.
    pub fn due(&mut self, path_of: impl Fn(SessionId) -> Option<Path>) -> Vec<Datagram> {
        let (paths, protocol) = (self.due_now(path_of), self.protocol);
        paths.into_iter().map(|(from, to)| datagram(protocol, from, to)).collect()
    }

    fn due_now(&mut self, path_of: impl Fn(SessionId) -> Option<Path>) -> Vec<Path> {
        let asked = self.silent();
        let sessions: BTreeSet<SessionId> = asked.iter().flat_map(|path| self.sessions_of(*path)).collect();
        sessions.into_iter().for_each(|session| self.follow(session, path_of(session)));
        if asked.is_empty() { asked } else { self.silent() }
    }

    /// The paths on which nothing was sent for so long.
    fn silent(&mut self) -> Vec<Path> {
        let filed = self.filed_as_silent();
        for path in filed {
            let Some(sent) = self.sent.get_mut(&path) else { continue };
            self.order.remove(&(sent.filed, path));
            sent.filed = sent.last;
            self.order.insert((sent.filed, path));
        }
        self.filed_as_silent()
    }

    fn filed_as_silent(&self) -> Vec<Path> {
        let Some(after) = self.after else { return Vec::new() };
        let is_due = |(at, _): &&(Time, Path)| self.now.since(*at) >= after;
        self.order.iter().take_while(is_due).map(|(_, path)| *path).collect()
    }

    fn follow(&mut self, session: SessionId, path: Option<Path>) {
        let kept = self.paths.get(&session).copied();
        if kept != path {
            // Packets sent on the old path count for the new one, too.
            let last = kept.and_then(|kept| self.sent.get(&kept)).map_or(self.now, |sent| sent.last);
            self.forget(session);
            path.into_iter().for_each(|path| self.insert(session, path, last));
        }
    }

    /// When the next one is due, unless something else is sent; may be too early if something was.
    pub fn deadline(&self) -> Option<Deadline> {
        let (first, _) = self.order.first()?;
        Some(Deadline { at: *first + self.after?, why: "NAT keepalive" })
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto_api::Rng;

    use super::*;
    use keytoll_ike::IKE;

    fn path(n: u64) -> Path {
        let addr =
            |port: u64| Addr::udp(std::net::Ipv4Addr::LOCALHOST.into(), u16::try_from(port).unwrap_or(0));
        (addr(4500), addr(50_000 + n))
    }

    /// An IKEv1 SA that replaces another one is reported twice; its peer may have moved meanwhile.
    #[test]
    fn a_session_that_is_reported_twice_leaves_nothing() {
        let mut keepalives = Keepalives::new(IKE, Some(AFTER));
        keepalives.insert(SessionId(1), path(0), Time::ZERO);
        keepalives.insert(SessionId(1), path(1), Time::ZERO);
        keepalives.forget(SessionId(1));
        keepalives.at(Time::ZERO + AFTER);
        assert_eq!(keepalives.due_now(|_| None), []);
        assert!(keepalives.sessions.is_empty() && keepalives.sent.is_empty() && keepalives.order.is_empty());
    }

    /// The same without order or index.
    #[derive(Default)]
    struct Model {
        paths: BTreeMap<SessionId, Path>,
        sent: BTreeMap<Path, Time>,
    }

    impl Model {
        fn insert(&mut self, sa: SessionId, path: Path, last: Time) {
            self.forget(sa);
            self.paths.insert(sa, path);
            self.sent.entry(path).or_insert(last);
        }

        fn forget(&mut self, sa: SessionId) {
            self.paths.remove(&sa);
            self.sent.retain(|path, _| self.paths.values().any(|kept| kept == path));
        }

        fn due(&mut self, now: Time, path_of: impl Fn(SessionId) -> Option<Path>) -> Vec<Path> {
            let is_due = |at: Time| now.since(at) >= AFTER;
            let due: Vec<Path> =
                self.sent.iter().filter(|(_, at)| is_due(**at)).map(|(path, _)| *path).collect();
            let known: Vec<_> = self.paths.iter().map(|(sa, path)| (*sa, *path)).collect();
            for (sa, kept) in known.into_iter().filter(|(_, path)| due.contains(path)) {
                let path = path_of(sa);
                if path != Some(kept) {
                    let last = self.sent.get(&kept).copied().unwrap_or(now);
                    self.forget(sa);
                    path.into_iter().for_each(|path| self.insert(sa, path, last));
                }
            }
            let mut due: Vec<(Time, Path)> =
                self.sent.iter().filter(|(_, at)| is_due(**at)).map(|(path, at)| (*at, *path)).collect();
            due.sort_unstable();
            due.into_iter().map(|(_, path)| path).collect()
        }
    }

    const AFTER: Duration = Duration::from_secs(20);

    /// In any sequence of events the keepalives and their times are the same as with a linear search.
    #[test]
    fn keepalives_are_due_as_a_linear_search_finds() {
        let mut rng = Rng::named(7, "keepalives");
        let (mut keepalives, mut model) = (Keepalives::new(IKE, Some(AFTER)), Model::default());
        let mut places: BTreeMap<SessionId, Path> = BTreeMap::new();
        let (mut now, mut found, mut early) = (Time::ZERO, 0, 0);
        for _ in 0..20_000 {
            now += Duration::from_millis(rng.below(700));
            keepalives.at(now);
            let (sa, at) = (SessionId(1 + rng.below(40)), path(rng.below(30)));
            match rng.below(8) {
                0 if !model.paths.contains_key(&sa) => {
                    keepalives.insert(sa, at, now);
                    model.insert(sa, at, now);
                    places.insert(sa, at);
                }
                1 => {
                    keepalives.forget(sa);
                    model.forget(sa);
                    places.remove(&sa);
                }
                2 => places.get_mut(&sa).into_iter().for_each(|place| *place = at),
                3 => drop(places.remove(&sa)),
                4..=6 => {
                    keepalives.sent(&datagram(IKE, at.0, at.1));
                    model.sent.get_mut(&at).into_iter().for_each(|last| *last = now);
                }
                _ => {
                    let due = keepalives.due_now(|sa| places.get(&sa).copied());
                    assert_eq!(due, model.due(now, |sa| places.get(&sa).copied()));
                    for (from, to) in due {
                        found += 1;
                        keepalives.sent(&datagram(IKE, from, to));
                        model.sent.insert((from, to), now);
                    }
                }
            }
            let first = model.sent.values().min().map(|at| *at + AFTER);
            let deadline = keepalives.deadline().map(|deadline| deadline.at);
            assert!(deadline <= first && deadline.is_some() == first.is_some(), "never late");
            // A tick that is too early finds nothing and gets the right deadline.
            if deadline.is_some_and(|at| at <= now) && first > Some(now) {
                assert_eq!(keepalives.due_now(|sa| places.get(&sa).copied()), []);
                assert!(keepalives.deadline().is_some_and(|deadline| deadline.at > now));
                early += 1;
            }
            let kept = (keepalives.sessions.len(), keepalives.order.len());
            assert_eq!(kept, (model.paths.len(), model.sent.len()));
        }
        assert!(found > 1000 && early > 100, "{found} found, {early} times too early");
    }
}
