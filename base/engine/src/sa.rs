//! What key exchanges negotiate for ESP, whichever protocol they belong to: a pair of SAs with its keys. RFC 4301 §4.4.2.

use std::net::IpAddr;

use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, TrafficKey};
use keytoll_trace::revealed::Sealing;
use keytoll_trace::{Revealed, Trace};

/// A pair of ESP SAs with keys, one for each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaPair {
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Algorithms.
    pub suite: Suite,
    /// Keys for what we receive.
    pub inbound: SaKeys,
    /// Keys for what we send.
    pub outbound: SaKeys,
}

/// The keys of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaKeys {
    /// Encryption key with salt.
    pub encryption: Secret,
    /// Integrity key; empty with an AEAD.
    pub integrity: Secret,
}

impl SaPair {
    /// The keys as packets are processed with them: of what we receive, and of what we send.
    pub fn into_keys(self) -> (TrafficKey, TrafficKey) {
        let Suite { encryption, integrity, .. } = self.suite;
        let key = |keys: SaKeys| TrafficKey::new(encryption, integrity, keys.encryption, keys.integrity);
        (key(self.inbound), key(self.outbound))
    }

    /// Reveals the keys of both directions, between our outer address and the peer's, to a trace that wants them.
    pub fn reveal(&self, us: IpAddr, peer: IpAddr, trace: &mut dyn Trace) {
        if !trace.wants_keys() {
            return;
        }
        let ways =
            [(self.inbound_spi, peer, us, &self.inbound), (self.outbound_spi, us, peer, &self.outbound)];
        for (spi, source, destination, keys) in ways {
            let SaKeys { encryption, integrity } = keys;
            let keys =
                Sealing { encryption_key: (&**encryption).into(), integrity_key: (&**integrity).into() };
            trace.reveal(Revealed::ChildSa {
                spi,
                source,
                destination,
                algorithms: (&self.suite).into(),
                keys,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what is revealed to it.
    struct Kept(Vec<Revealed>, bool);

    impl Trace for Kept {
        fn record(&mut self, _: keytoll_trace::Fact) {}

        fn wants_keys(&self) -> bool {
            self.1
        }

        fn reveal(&mut self, revealed: Revealed) {
            self.0.push(revealed);
        }
    }

    #[test]
    fn each_direction_has_its_spi_its_ends_and_its_keys() {
        let keys = |byte| SaKeys { encryption: Secret::new(vec![byte; 20]), integrity: Secret::default() };
        let suite = Suite::esp("aes128gcm16").expect("a suite");
        let (inbound, outbound) = (keys(1), keys(2));
        let pair = SaPair { inbound_spi: 256, outbound_spi: 257, suite, inbound, outbound };
        let (us, peer): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut trace = Kept(Vec::new(), false);
        pair.reveal(us, peer, &mut trace);
        assert_eq!(trace.0, []);
        trace.1 = true;
        pair.reveal(us, peer, &mut trace);
        let told = trace.0.iter().map(|revealed| match revealed {
            Revealed::ChildSa { spi, source, destination, keys, .. } => {
                (*spi, *source, *destination, keys.encryption_key[0])
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(told.collect::<Vec<_>>(), [(256, peer, us, 1), (257, us, peer, 2)]);
        let (inbound, outbound) = pair.into_keys();
        assert_eq!((inbound.encryption_key[0], outbound.encryption_key[0]), (1, 2));
    }
}
