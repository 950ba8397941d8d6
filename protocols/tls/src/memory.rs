//! What is remembered of conversations so that later ones can continue them: RFC 5246 §7.3 (session identifiers),
//! RFC 8446 §2.2 (tickets), RFC 5216 §2.1.2.
//!
//! ```text
//!   handshake over --> remembered --somebody vouches--> can be continued, once (TLS 1.3) or often (TLS 1.2)
//! ```
//!
//! rustls remembers a conversation when its handshake is over. In EAP that is too early: inside TTLS and PEAP the peer
//! proves itself only then. So nothing counts before [`crate::Session::vouch`] says for whom.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use keytoll_engine::crypto::Secret;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::server::StoresServerSessions;

use crate::lent::lent;

/// Conversations a server remembers at most.
const SERVER_MAX: usize = 1024;

/// Tickets a client remembers at most.
const TICKETS_MAX: usize = 8;

/// Whom a conversation authenticated; empty until somebody says so.
pub(crate) type Voucher = Arc<OnceLock<Box<[u8]>>>;

/// Something that counts once it is vouched for.
struct Kept<T> {
    value: T,
    voucher: Voucher,
}

impl<T> Kept<T> {
    /// Keeps something of the conversation that is running.
    fn new(value: T) -> Self {
        Self { value, voucher: lent(|lent| Arc::clone(&lent.notes.voucher)) }
    }

    fn counts(&self) -> bool {
        self.voucher.get().is_some()
    }
}

/// Tells the conversation that is running which earlier one it may continue.
fn note_earlier(voucher: &Voucher) {
    lent(|lent| lent.notes.earlier = Some(Arc::clone(voucher)));
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a server remembers.
#[derive(Default)]
pub(crate) struct ServerMemory(Mutex<Shelf>);

/// Conversations by the name that clients know them by, and the names by age.
#[derive(Default)]
struct Shelf {
    kept: BTreeMap<Vec<u8>, Kept<Secret>>,
    names: VecDeque<Vec<u8>>,
}

impl Shelf {
    fn put(&mut self, name: Vec<u8>, kept: Kept<Secret>) {
        if self.kept.insert(name.clone(), kept).is_none() {
            self.names.push_back(name);
        }
        // Names of what was taken stay until they are the oldest.
        while self.names.len() > SERVER_MAX {
            self.names.pop_front().map(|oldest| self.kept.remove(&oldest));
        }
    }

    fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        let kept = self.kept.get(name).filter(|kept| kept.counts())?;
        note_earlier(&kept.voucher);
        Some(kept.value.to_vec())
    }
}

impl ServerMemory {
    pub(crate) fn forget(&self) {
        *locked(&self.0) = Shelf::default();
    }
}

impl StoresServerSessions for ServerMemory {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        locked(&self.0).put(key, Kept::new(Secret::new(value)));
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        locked(&self.0).get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut shelf = locked(&self.0);
        let value = shelf.get(key);
        shelf.kept.remove(key);
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

/// What a client remembers; it speaks with one server only.
#[derive(Default)]
pub(crate) struct ClientMemory(Mutex<Tickets>);

#[derive(Default)]
struct Tickets {
    tls12: Option<Kept<Tls12ClientSessionValue>>,
    tls13: VecDeque<Kept<Tls13ClientSessionValue>>,
}

impl ClientMemory {
    pub(crate) fn forget(&self) {
        *locked(&self.0) = Tickets::default();
    }
}

impl ClientSessionStore for ClientMemory {
    // The first group is always the one to try: it is configured, not learned.
    fn set_kx_hint(&self, _server: ServerName<'static>, _group: NamedGroup) {}

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, value: Tls12ClientSessionValue) {
        locked(&self.0).tls12 = Some(Kept::new(value));
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let tickets = locked(&self.0);
        let kept = tickets.tls12.as_ref().filter(|kept| kept.counts())?;
        note_earlier(&kept.voucher);
        Some(kept.value.clone())
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        locked(&self.0).tls12 = None;
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut tickets = locked(&self.0);
        tickets.tls13.push_back(Kept::new(value));
        if tickets.tls13.len() > TICKETS_MAX {
            tickets.tls13.pop_front();
        }
    }

    // RFC 8446 Appendix C.4: a ticket is used once.
    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut tickets = locked(&self.0);
        let newest = tickets.tls13.iter().rposition(Kept::counts)?;
        let kept = tickets.tls13.remove(newest)?;
        note_earlier(&kept.voucher);
        Some(kept.value)
    }
}

impl fmt::Debug for ClientMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientMemory")
    }
}
