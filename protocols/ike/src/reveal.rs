//! Reveals keys for decrypting captures ([`Trace::wants_keys`]), for both versions.

use keytoll_engine::trace::Trace;
use keytoll_engine::trace::revealed::Sealing;

use crate::event::ChildSa;
use crate::route::Route;

impl ChildSa {
    /// Reveals the keys of both directions.
    pub(crate) fn reveal(&self, route: Route, trace: &mut dyn Trace) {
        self.pair.reveal(route.local.ip, route.remote.ip, trace);
    }
}

pub(crate) fn sealing(encryption: &[u8], integrity: &[u8]) -> Sealing {
    Sealing { encryption_key: encryption.into(), integrity_key: integrity.into() }
}
