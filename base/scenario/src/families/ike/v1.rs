//! The suites that IKEv1 cannot negotiate, refused with a sentence each. Read RFC 2409 §4 and Appendix A, RFC 2407 §4.4 and RFC 4106 §8 first.

use keytoll_crypto_api::algorithm::{Encryption, Group, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;

use crate::catalogue::Method;
use crate::diagnostic::ScenarioError;
use crate::options::ipsec::ESP_SUITE;
use crate::options::settings::SUITE;
use crate::options::settings::{Settings, value_of};
use crate::tree::Item;

/// Refuses suites of a row that IKEv1 cannot negotiate.
pub(super) fn check(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    check_suites(&settings.suites(method), SUITE, isakmp_fit, blame)?;
    check_suites(&settings.esp_suites, ESP_SUITE, ipsec_fit, blame)
}

/// Refuses suites that IKEv1 cannot negotiate.
pub(crate) fn check_suites(
    suites: &[Suite],
    key: &str,
    fit: fn(&Suite) -> Result<(), &'static str>,
    blame: &Item,
) -> Result<(), ScenarioError> {
    suites.iter().try_for_each(|suite| {
        fit(suite).map_err(|why| {
            let message = format!("`{suite}` does not fit IKEv1: {why}");
            value_of(blame, key).spot.error(message, "this suite").hint(EXAMPLE)
        })
    })
}

const EXAMPLE: &str =
    "suites like `aes256-sha256-modp2048`, `aes128-sha1-modp1024` or `3des-md5-modp1024`; ESP may have GCM";

/// RFC 2409 Appendix A: ciphers in CBC, one hash for everything, groups with a number of RFC 2409's registry.
pub(crate) fn isakmp_fit(suite: &Suite) -> Result<(), &'static str> {
    use Encryption::{Aes128Cbc, Aes192Cbc, Aes256Cbc, TripleDesCbc};
    if !matches!(suite.encryption, TripleDesCbc | Aes128Cbc | Aes192Cbc | Aes256Cbc) {
        return Err("its messages are encrypted with CBC and nothing else");
    }
    let one_hash = match suite.integrity {
        Some(Integrity::HmacMd5_96) => Prf::HmacMd5,
        Some(Integrity::HmacSha1_96) => Prf::HmacSha1,
        Some(Integrity::HmacSha256_128) => Prf::HmacSha256,
        Some(Integrity::HmacSha384_192) => Prf::HmacSha384,
        Some(Integrity::HmacSha512_256) => Prf::HmacSha512,
        _ => return Err("its hash is one of `md5`, `sha1`, `sha256`, `sha384` and `sha512`"),
    };
    if suite.prf != Some(one_hash) {
        return Err("it negotiates one hash, and so has no other for the PRF");
    }
    group_fit(suite)
}

/// RFC 2407 §4.4.4, §4.5 and their registries: what came later came for IKEv2 only.
pub(crate) fn ipsec_fit(suite: &Suite) -> Result<(), &'static str> {
    if suite.encryption == Encryption::ChaCha20Poly1305 {
        return Err("RFC 7634 gives ChaCha20-Poly1305 a number in IKEv2 only");
    }
    if suite.integrity == Some(Integrity::AesCmac96) {
        return Err("RFC 4494 gives AES-CMAC a number in IKEv2 only");
    }
    if suite.esn {
        return Err("its attribute for extended sequence numbers (RFC 4304) is not implemented");
    }
    group_fit(suite)
}

fn group_fit(suite: &Suite) -> Result<(), &'static str> {
    match suite.group {
        Some(Group::X25519 | Group::X448) => Err("RFC 8031 gives its group a number in IKEv2 only"),
        _ => Ok(()),
    }
}
