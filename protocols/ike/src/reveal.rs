//! Reveals keys for decrypting captures ([`Trace::wants_keys`]), for both versions.

use keytoll_crypto_api::algorithm::Integrity;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::revealed::{Algorithms, Sealing};
use keytoll_engine::trace::{Revealed, Trace};

use crate::event::ChildSa;
use crate::route::Route;

impl ChildSa {
    /// Reveals the keys of both directions.
    pub(crate) fn reveal(&self, route: Route, trace: &mut dyn Trace) {
        if !trace.wants_keys() {
            return;
        }
        let (us, peer) = (route.local.ip, route.remote.ip);
        let ways =
            [(self.inbound_spi, peer, us, &self.inbound), (self.outbound_spi, us, peer, &self.outbound)];
        for (spi, source, destination, keys) in ways {
            let algorithms = algorithms(&self.suite);
            let keys = sealing(&keys.encryption, &keys.integrity);
            trace.reveal(Revealed::ChildSa { spi, source, destination, algorithms, keys });
        }
    }
}

pub(crate) fn sealing(encryption: &[u8], integrity: &[u8]) -> Sealing {
    Sealing { encryption_key: encryption.into(), integrity_key: integrity.into() }
}

pub(crate) fn algorithms(suite: &Suite) -> Algorithms {
    Algorithms { encryption: suite.encryption.name(), integrity: suite.integrity.map(Integrity::name) }
}
