//! Suites worth naming. Any other that can be written as strongSwan writes proposals works as well.

use keytoll_crypto_api::algorithm::{Encryption, Group, Integrity, Prf, Standing};
use keytoll_crypto_api::suite::Suite;

use super::Entry;

/// The suite of the IKE SA unless the scenario says otherwise.
pub const DEFAULT_IKE: &str = "aes128gcm16-prfsha256-x25519";

/// The suite of the ISAKMP SA of IKEv1 unless the scenario says otherwise: IKEv1 has no AEAD and no X25519.
pub const DEFAULT_IKEV1: &str = "aes128-sha256-prfsha256-modp2048";

/// The suite of ESP unless the scenario says otherwise.
pub const DEFAULT_ESP: &str = "aes128gcm16";

/// Suites for the IKE SA, with who uses or asks for them.
const NAMED: &[(&str, &str)] = &[
    (DEFAULT_IKE, "keytoll's default; RFC 8247 §2.1 and §2.4"),
    ("aes128gcm16-prfsha256-ecp256", "P-256 as in RFC 6379 §3.1, Suite-B-GCM-128"),
    ("aes256gcm16-prfsha384-ecp384", "P-384 as in RFC 6379 §3.2, Suite-B-GCM-256"),
    ("aes256gcm16-prfsha512-ecp521", "the strongest of RFC 5903"),
    ("chacha20poly1305-prfsha256-x25519", "RFC 7634, RFC 8031; no AES hardware needed"),
    (DEFAULT_IKEV1, "keytoll's default for IKEv1; RFC 8247: all MUST algorithms without AEAD"),
    ("aes256-sha256-prfsha256-modp2048", "what many gateways offer by default"),
    ("aes256-sha512-prfsha512-modp4096", "RFC 3526 §5 with SHA-2"),
    ("aes128ccm8-prfsha256-ecp256", "RFC 8247 §2.1: CCM with 8 bytes for small devices"),
    ("aes128-aesxcbc-prfaesxcbc-modp2048", "RFC 4308 §2.2, VPN-B"),
    ("aes128-sha1-prfsha1-modp1024", "usual when the papers were measured (`keytoll list papers`)"),
    ("3des-sha1-prfsha1-modp1024", "RFC 4308 §2.1, VPN-A"),
    ("3des-md5-prfmd5-modp1024", "the legacy minimum; measured, never offered by default"),
];

/// The named suites as the list shows them.
pub(super) fn entries() -> Vec<Entry> {
    NAMED.iter().map(|(name, source)| entry(name, source)).collect()
}

fn entry(name: &str, source: &str) -> Entry {
    let suite = Suite::ike(name).expect("a test parses every named suite");
    Entry {
        name: name.to_owned(),
        summary: summary(&suite),
        source: source.to_owned(),
        standing: standing(&suite).mark(),
    }
}

fn summary(suite: &Suite) -> String {
    let kind = if suite.encryption.is_aead() { "AEAD" } else { "encrypt, then MAC" };
    let key_bits = suite.encryption.cipher_key_len() * 8;
    format!("IKE SA; {kind}, key {key_bits} bits")
}

/// The standing of the suite's worst algorithm.
pub fn standing(suite: &Suite) -> Standing {
    let parts = [
        Some(suite.encryption.standing()),
        suite.integrity.map(Integrity::standing),
        suite.prf.map(Prf::standing),
        suite.group.map(Group::standing),
    ];
    parts.into_iter().flatten().max().unwrap_or(Standing::Good)
}

/// Every word that can stand in a suite.
pub(crate) fn words() -> Vec<&'static str> {
    let encryptions = Encryption::ALL.iter().map(|algorithm| algorithm.name());
    let integrities = Integrity::ALL.iter().map(|algorithm| algorithm.name());
    let prfs = Prf::ALL.iter().map(|algorithm| algorithm.name());
    let groups = Group::ALL.iter().map(|algorithm| algorithm.name());
    encryptions.chain(integrities).chain(prfs).chain(groups).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_suite_is_one_and_prints_as_its_name() {
        for (name, _) in NAMED {
            assert_eq!(Suite::ike(name).unwrap().to_string(), *name);
        }
        assert!(Suite::esp(DEFAULT_ESP).is_ok());
    }

    #[test]
    fn a_suite_is_as_bad_as_its_worst_part() {
        let standing = |name| standing(&Suite::ike(name).unwrap());
        assert_eq!(standing(DEFAULT_IKE), Standing::Good);
        assert_eq!(standing("aes128-sha256-prfsha256-modp1024"), Standing::Weak);
        assert_eq!(standing("aes128-sha256-prfmd5-x25519"), Standing::Broken);
    }
}
