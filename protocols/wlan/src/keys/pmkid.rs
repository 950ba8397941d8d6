//! PMKIDs: names of cached PMKs. 802.11-2020 §12.7.1.3.

use keytoll_crypto_api::{Crypto, about};

use super::{KeyName, name};
use crate::MacAddr;
use crate::suite::Akm;

// 802.11-2020 §12.7.1.3: Truncate-128(HMAC-Hash(PMK, "PMK Name" ‖ AA ‖ SPA)); with Suite B, KCK instead of PMK.
/// The PMKID of a PMK; with Suite B, `key` is the KCK.
///
/// None for the AKMs whose PMKs are named by the exchange that made them (SAE, OWE) or by the hierarchy of fast transition.
pub fn pmkid(akm: Akm, key: &[u8], aa: MacAddr, spa: MacAddr, crypto: &mut dyn Crypto) -> Option<KeyName> {
    match akm {
        Akm::Dot1x | Akm::Psk | Akm::Dot1xSha256 | Akm::PskSha256 | Akm::SuiteB | Akm::SuiteB192 => {
            let parts: [&[u8]; 3] = [b"PMK Name", &aa, &spa];
            let digest = about(crypto, "PMKID", |crypto| crypto.prf(akm.derivation().prf(), key, &parts));
            Some(name(&digest))
        }
        Akm::Sae | Akm::Owe | Akm::FtDot1x | Akm::FtPsk | Akm::FtSae | Akm::FtDot1xSha384 => None,
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::{array, hex};

    /// Computed independently of this crate, in Python.
    #[test]
    fn as_a_second_reader_computed_it() {
        let pmk = hex("def43e5567e01ca6649265f19a290eeff8bd888f6c1d9cc9d10f04bd378f3cad");
        let of =
            |akm, key| pmkid(akm, key, array("c0ffd4a8dbc1"), array("00904c01c107"), &mut Real::default());
        assert_eq!(of(Akm::Psk, &pmk), Some(array("ade805ad9f579f546ee6ba6964ee4993")));
        assert_eq!(of(Akm::Dot1xSha256, &pmk), Some(array("132c701ae68d7c91cee8cee76fd7fd15")));
        assert_eq!(of(Akm::SuiteB192, &pmk[..24]), Some(array("1acf46dd11952edf21adcb052dff387d")));
        assert_eq!(of(Akm::Sae, &pmk), None);
    }
}
