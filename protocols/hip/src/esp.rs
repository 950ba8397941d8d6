//! The pair of SAs that an association sets up: RFC 7402 §7.

use keytoll_crypto_api::algorithm::Integrity;
use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::sa::{SaKeys, SaPair};

use crate::association::Core;
use crate::event::ChildSa;
use crate::keymat::Keymat;
use crate::number::EspSuite;

// RFC 7402 §7: first both keys for what the host with the greater HIT sends, then those of the other one.
/// Draws the keys of a pair; none if the suite is not ours, or if the material is used up.
pub(crate) fn draw(
    keymat: &mut Keymat,
    suite: EspSuite,
    (inbound_spi, outbound_spi): (u32, u32),
    core: &Core,
    crypto: &mut dyn Crypto,
) -> Option<ChildSa> {
    let suite = suite.suite()?;
    let (encryption_len, integrity_len) =
        (suite.encryption.key_len(), suite.integrity.map_or(0, Integrity::key_len));
    let mut direction = || {
        let encryption: Secret = keymat.draw(encryption_len, crypto)?;
        Some(SaKeys { encryption, integrity: keymat.draw(integrity_len, crypto)? })
    };
    let (greater, lower) = (direction()?, direction()?);
    let (outbound, inbound) = if core.local > core.peer { (greater, lower) } else { (lower, greater) };
    Some(ChildSa {
        pair: SaPair { inbound_spi, outbound_spi, suite, inbound, outbound },
        local: core.local,
        remote: core.peer,
        local_at: core.route.local,
        remote_at: core.route.remote,
        is_peer_ready: true,
    })
}
