//! Storage of resumable sessions: RFC 5246 §7.3 (session identifiers), RFC 8446 §2.2 (tickets), RFC 5216 §2.1.2.
//!
//! ```text
//!   handshake complete --> stored --vouch--> resumable for a day, once (TLS 1.3) or often (TLS 1.2)
//! ```
//!
//! rustls stores a session when its handshake is complete. In EAP that is too early: inside TTLS and PEAP the peer authenticates
//! only then. So a session is not resumable before [`crate::Session::vouch`] supplies an identity, and unauthenticated sessions
//! are stored separately, where they evict only each other. The certificates of a session are verified again whenever it is to
//! be resumed: they may have expired or been revoked since.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_engine::Time;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::server::StoresServerSessions;

use crate::lent::lent;
use crate::verifier::Verifier;

/// How long after its full handshake a session is resumable.
// RFC 5246 §F.1.4: at most 24 hours are suggested. RFC 8446 §4.6.1: the whole chain of resumptions has a limit.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of authenticated sessions that a server stores.
const VOUCHED_MAX: usize = 1024;

/// Maximum number of unauthenticated sessions that a server stores.
const UNPROVEN_MAX: usize = 256;

/// Maximum size of the certificates that a server stores with each session; a session with more is not stored.
const SHOWN_BYTES_MAX: usize = 16 << 10;

/// Maximum number of tickets that a client stores.
const TICKETS_MAX: usize = 8;

/// The identity that a conversation authenticated; empty until it is set.
pub(crate) type Voucher = Arc<OnceLock<Box<[u8]>>>;

/// The other side's certificates, its own first.
pub(crate) type Shown = Arc<[Vec<u8>]>;

/// An earlier session that the current one may resume.
pub(crate) struct Earlier {
    /// The identity that it authenticated.
    pub(crate) voucher: Voucher,
    /// When the certificates of the first session in the chain were presented.
    since: Time,
    /// These certificates.
    shown: Option<Shown>,
}

/// A stored session, valid from the time when it is marked as authenticated until it expires.
struct Kept<T> {
    value: T,
    voucher: Voucher,
    /// When the certificates were presented, perhaps in an earlier session.
    since: Time,
    /// These certificates, if there were any.
    shown: Option<Shown>,
}

impl<T> Kept<T> {
    /// Stores something of the current conversation.
    fn new(value: T) -> Self {
        lent(|lent| {
            let earlier = lent.notes.earlier.as_ref();
            let since = earlier.map_or(lent.now, |earlier| earlier.since);
            let shown = lent.notes.shown.clone().or_else(|| earlier?.shown.clone());
            Self { value, voucher: Arc::clone(&lent.notes.voucher), since, shown }
        })
    }

    fn shown_bytes(&self) -> usize {
        self.shown.iter().flat_map(|chain| chain.iter()).map(Vec::len).sum()
    }

    fn is_vouched(&self) -> bool {
        self.voucher.get().is_some()
    }

    // RFC 9190 §5.7: authorization is checked again when a session is resumed; certificates may have expired or been revoked since
    // they were presented.
    fn counts(&self, verifier: Option<&Verifier>) -> bool {
        let is_good = |chain: &Shown| verifier.is_some_and(|verifier| verifier.accepts(chain));
        self.is_vouched()
            && lent(|lent| lent.now) < self.since + LIFETIME
            && self.shown.as_ref().is_none_or(is_good)
    }

    /// Notes in the current conversation that it may resume this one.
    fn note(&self) {
        let (voucher, shown) = (Arc::clone(&self.voucher), self.shown.clone());
        let earlier = Earlier { voucher, since: self.since, shown };
        lent(|lent| lent.notes.earlier = Some(earlier));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sessions that a server stores.
pub(crate) struct ServerMemory {
    sessions: Mutex<Sessions>,
    /// Verifies certificates; `None` if none are requested.
    verifier: Option<Arc<Verifier>>,
}

/// A flood of handshakes must not evict authenticated sessions, so others are stored separately.
#[derive(Default)]
struct Sessions {
    /// The newest, some of which may be authenticated by now.
    unproven: SessionTable,
    /// Those that were authenticated when they had to leave the others.
    vouched: SessionTable,
}

impl Sessions {
    fn put(&mut self, name: Vec<u8>, kept: Kept<Secret>) {
        let oldest = self.unproven.put(name, kept, UNPROVEN_MAX);
        if let Some((name, kept)) = oldest.filter(|(_, kept)| kept.is_vouched()) {
            self.vouched.put(name, kept, VOUCHED_MAX);
        }
    }

    fn get(&self, name: &[u8], verifier: Option<&Verifier>) -> Option<Vec<u8>> {
        let kept = self.unproven.kept.get(name).or_else(|| self.vouched.kept.get(name));
        let kept = kept.filter(|kept| kept.counts(verifier))?;
        kept.note();
        Some(kept.value.to_vec())
    }

    fn remove(&mut self, name: &[u8]) {
        self.unproven.kept.remove(name);
        self.vouched.kept.remove(name);
    }
}

/// Sessions by the identifier that clients have, and the identifiers by age.
#[derive(Default)]
struct SessionTable {
    kept: BTreeMap<Vec<u8>, Kept<Secret>>,
    names: VecDeque<Vec<u8>>,
}

impl SessionTable {
    /// Inserts one; returns the oldest, if it must leave.
    fn put(
        &mut self,
        name: Vec<u8>,
        kept: Kept<Secret>,
        count_max: usize,
    ) -> Option<(Vec<u8>, Kept<Secret>)> {
        if self.kept.insert(name.clone(), kept).is_none() {
            self.names.push_back(name);
        }
        // Identifiers of removed sessions stay until they are the oldest.
        if self.names.len() <= count_max {
            return None;
        }
        let oldest = self.names.pop_front()?;
        self.kept.remove_entry(&oldest)
    }
}

impl ServerMemory {
    pub(crate) fn new(verifier: Option<Arc<Verifier>>) -> Self {
        Self { sessions: Mutex::default(), verifier }
    }

    pub(crate) fn forget(&self) {
        *locked(&self.sessions) = Sessions::default();
    }
}

impl StoresServerSessions for ServerMemory {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let kept = Kept::new(Secret::new(value));
        let fits = kept.shown_bytes() <= SHOWN_BYTES_MAX;
        if fits {
            locked(&self.sessions).put(key, kept);
        }
        fits
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        locked(&self.sessions).get(key, self.verifier.as_deref())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut sessions = locked(&self.sessions);
        let value = sessions.get(key, self.verifier.as_deref());
        sessions.remove(key);
        value
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl fmt::Debug for ServerMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerMemory")
    }
}

/// The tickets that a client stores; it uses one server only.
pub(crate) struct ClientMemory {
    tickets: Mutex<Tickets>,
    verifier: Option<Arc<Verifier>>,
}

#[derive(Default)]
struct Tickets {
    tls12: Option<Kept<Tls12ClientSessionValue>>,
    tls13: VecDeque<Kept<Tls13ClientSessionValue>>,
}

impl ClientMemory {
    pub(crate) fn new(verifier: Option<Arc<Verifier>>) -> Self {
        Self { tickets: Mutex::default(), verifier }
    }

    pub(crate) fn forget(&self) {
        *locked(&self.tickets) = Tickets::default();
    }
}

impl ClientSessionStore for ClientMemory {
    // The first group is always tried first: it is configured, not learned.
    fn set_kx_hint(&self, _server: ServerName<'static>, _group: NamedGroup) {}

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, value: Tls12ClientSessionValue) {
        locked(&self.tickets).tls12 = Some(Kept::new(value));
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let tickets = locked(&self.tickets);
        let kept = tickets.tls12.as_ref().filter(|kept| kept.counts(self.verifier.as_deref()))?;
        kept.note();
        Some(kept.value.clone())
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        locked(&self.tickets).tls12 = None;
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut tickets = locked(&self.tickets);
        tickets.tls13.push_back(Kept::new(value));
        if tickets.tls13.len() > TICKETS_MAX {
            tickets.tls13.pop_front();
        }
    }

    // RFC 8446 Appendix C.4: a ticket is used once.
    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut tickets = locked(&self.tickets);
        let newest = tickets.tls13.iter().rposition(|kept| kept.counts(self.verifier.as_deref()))?;
        let kept = tickets.tls13.remove(newest)?;
        kept.note();
        Some(kept.value)
    }
}

impl fmt::Debug for ClientMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientMemory")
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;
    use keytoll_engine::Ctx;
    use keytoll_engine::trace::NoTrace;

    use super::*;
    use crate::lent::{Notes, with};

    /// Runs a call of rustls within a conversation.
    fn during<T>(notes: &mut Notes, call: impl FnOnce() -> T) -> T {
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        with(&mut cx, None, notes, call)
    }

    fn remember(memory: &ServerMemory, name: usize) -> Notes {
        let mut notes = Notes::default();
        during(&mut notes, || memory.put(name.to_be_bytes().to_vec(), vec![1]));
        notes
    }

    fn is_known(memory: &ServerMemory, name: usize) -> bool {
        during(&mut Notes::default(), || memory.get(&name.to_be_bytes())).is_some()
    }

    #[test]
    fn unauthenticated_handshakes_do_not_evict_authenticated_sessions() {
        let memory = ServerMemory::new(None);
        for name in 0..10 {
            remember(&memory, name).voucher.set(b"alice"[..].into()).unwrap();
        }
        (10..5000).for_each(|name| drop(remember(&memory, name)));
        assert!((0..10).all(|name| is_known(&memory, name)));
        let sessions = locked(&memory.sessions);
        assert_eq!((sessions.unproven.kept.len(), sessions.vouched.kept.len()), (UNPROVEN_MAX, 10));
    }

    #[test]
    fn the_oldest_authenticated_session_is_evicted_and_removed_ones_are_gone() {
        let memory = ServerMemory::new(None);
        let all = UNPROVEN_MAX + VOUCHED_MAX + 1;
        for name in 0..all {
            remember(&memory, name).voucher.set(b"alice"[..].into()).unwrap();
        }
        assert!(!is_known(&memory, 0) && (1..all).all(|name| is_known(&memory, name)));
        for name in [1, all - 1] {
            let taken = during(&mut Notes::default(), || memory.take(&name.to_be_bytes()));
            assert!(taken.is_some() && !is_known(&memory, name), "{name}");
        }
    }
}
