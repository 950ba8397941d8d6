//! Keys for whoever wants to read a capture ([`keytoll_engine::trace::Trace::wants_keys`]).

use keytoll_crypto_api::algorithm::Integrity;
use keytoll_engine::trace::revealed::{Algorithms, Sealing};
use keytoll_engine::trace::{Revealed, Trace};

use crate::event::ChildSa;

impl ChildSa {
    /// Tells the keys of both directions.
    pub(crate) fn reveal(&self, trace: &mut dyn Trace) {
        let (Some(us), Some(peer)) = (self.local_at.ip(), self.remote_at.ip()) else { return };
        if !trace.wants_keys() {
            return;
        }
        let ways =
            [(self.inbound_spi, peer, us, &self.inbound), (self.outbound_spi, us, peer, &self.outbound)];
        for (spi, source, destination, keys) in ways {
            let algorithms = Algorithms {
                encryption: self.suite.encryption.name(),
                integrity: self.suite.integrity.map(Integrity::name),
            };
            let encryption_key = (&*keys.encryption).into();
            let keys = Sealing { encryption_key, integrity_key: (&*keys.integrity).into() };
            trace.reveal(Revealed::ChildSa { spi, source, destination, algorithms, keys });
        }
    }
}
