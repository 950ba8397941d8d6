//! Cryptobinding of PEAPv0: proof that the tunnel and the inner method end at the same two parties, and keys derived from
//! both. Read \[MS-PEAP\] §2.2.8.1.1, §3.1.5.5 and §3.1.5.7 first.
//!
//! ```text
//!   TK (tunnel) --PRF+ with ISK (inner method)--> IPMK --PRF+--> CSK, the first 64 bytes of which are the MSK
//!                                             '--> CMK --HMAC over the TLV--> Compound MAC
//! ```
//!
//! Outer TLVs, which Windows may append to Start, are not covered: other implementations do not send them.

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Digest, Secret};
use zeroize::Zeroizing;

use crate::packet::MethodType;
use crate::tunnel::extensions::HEADER_LEN;

/// Bytes of a Cryptobinding TLV, its header included.
pub(crate) const BINDING_LEN: usize = 60;

/// Bytes of a nonce.
const NONCE_LEN: usize = 32;
/// Bytes of the Compound MAC, the last ones.
const MAC_LEN: usize = 20;
/// Bytes of IPMK.
const IPMK_LEN: usize = 40;
/// Bytes of TK: as long as IPMK and CMK.
const TUNNEL_KEY_LEN: usize = 60;
/// Bytes of ISK.
const INNER_KEY_LEN: usize = 32;
/// Bytes of CSK.
const SESSION_KEY_LEN: usize = 128;

/// \[MS-PEAP\] §3.1.5.5.2.2: the label of IPMK and CMK.
const COMPOUND: &[u8] = b"Inner Methods Compound Keys";
/// \[MS-PEAP\] §3.1.5.7: the label of CSK, with a zero at its end.
const SESSION: &[u8] = b"Session Key Generating Function\0";

/// Which side proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subtype {
    /// The server.
    Request = 0,
    /// The peer.
    Response = 1,
}

/// A whole Cryptobinding TLV. \[MS-PEAP\] §2.2.8.1.1:  TLV header(4) Reserved(1) Version(1) RecvVersion(1) SubType(1)
/// Nonce(32) Compound_MAC(20)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CryptoBinding([u8; BINDING_LEN]);

impl From<[u8; BINDING_LEN]> for CryptoBinding {
    fn from(bytes: [u8; BINDING_LEN]) -> Self {
        Self(bytes)
    }
}

impl CryptoBinding {
    /// The TLV by which one side proves that it has the keys.
    pub(crate) fn new(
        subtype: Subtype,
        nonce: &[u8; NONCE_LEN],
        keys: &BindingKeys,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let mut bytes = [0; BINDING_LEN];
        bytes[..HEADER_LEN].copy_from_slice(&[0, 12, 0, 56]);
        bytes[SUBTYPE_AT] = subtype as u8;
        bytes[BINDING_LEN - MAC_LEN - NONCE_LEN..][..NONCE_LEN].copy_from_slice(nonce);
        let mac = Self(bytes).compound_mac(keys, crypto);
        bytes[BINDING_LEN - MAC_LEN..].copy_from_slice(&mac);
        Self(bytes)
    }

    /// Whether the sender with this subtype has the keys. Version 0 is the only one.
    pub(crate) fn proves(&self, subtype: Subtype, keys: &BindingKeys, crypto: &mut dyn Crypto) -> bool {
        let is_apt = self.0[VERSION_AT] == 0 && self.0[SUBTYPE_AT] == subtype as u8;
        is_apt && self.compound_mac(keys, crypto).matches(&self.0[BINDING_LEN - MAC_LEN..])
    }

    // [MS-PEAP] §3.1.5.5.1: HMAC over the TLV with zeros for the MAC, and PEAP's EAP type.
    fn compound_mac(&self, keys: &BindingKeys, crypto: &mut dyn Crypto) -> Digest {
        let covered = &self.0[..BINDING_LEN - MAC_LEN];
        crypto.prf(Prf::HmacSha1, &keys.mac, &[covered, &[0; MAC_LEN], &[MethodType::PEAP.0]])
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

const VERSION_AT: usize = 5;
const SUBTYPE_AT: usize = 7;

/// IPMK and CMK.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BindingKeys {
    intermediate: Secret,
    mac: Secret,
}

impl BindingKeys {
    /// \[MS-PEAP\] §3.1.5.5.2.2: from the tunnel's key material and the inner method's MSK; zeros for a method without.
    pub(crate) fn new(material: &[u8], inner_msk: Option<&[u8]>, crypto: &mut dyn Crypto) -> Self {
        let mut inner_key = Zeroizing::new([0; INNER_KEY_LEN]);
        // RFC 5216 §2.3: the server's receive key and its send key come first in the MSK.
        let msk = inner_msk.unwrap_or_default();
        let len = msk.len().min(INNER_KEY_LEN);
        inner_key[..len].copy_from_slice(&msk[..len]);
        let temporary = &material[..IPMK_LEN];
        Self::split(&prf_plus(temporary, &[COMPOUND, &*inner_key], TUNNEL_KEY_LEN, crypto))
    }

    /// \[MS-PEAP\] §3.1.5.5.2.2: in a resumed tunnel without an inner method TK itself is split.
    pub(crate) fn resumed(material: &[u8]) -> Self {
        Self::split(&material[..TUNNEL_KEY_LEN])
    }

    fn split(both: &[u8]) -> Self {
        let (intermediate, mac) = both.split_at(IPMK_LEN);
        Self { intermediate: intermediate.into(), mac: mac.into() }
    }

    /// \[MS-PEAP\] §3.1.5.7: the MSK is the first half of CSK; the other half is reserved.
    pub(crate) fn msk(&self, crypto: &mut dyn Crypto) -> Secret {
        let session = prf_plus(&self.intermediate, &[SESSION], SESSION_KEY_LEN, crypto);
        Secret::from(&session[..SESSION_KEY_LEN / 2])
    }
}

/// \[MS-PEAP\] §3.1.5.5.2.2: PRF+ of RFC 4306 §2.13, but each counter is followed by two zeros.
fn prf_plus(key: &[u8], seed: &[&[u8]], len: usize, crypto: &mut dyn Crypto) -> Zeroizing<Vec<u8>> {
    let mut output = Zeroizing::new(Vec::with_capacity(len.next_multiple_of(MAC_LEN)));
    let mut last = Digest::zeroed(0);
    for counter in 1.. {
        let end: &[u8] = &[counter, 0, 0];
        let parts: Vec<&[u8]> = [&*last].into_iter().chain(seed.iter().copied()).chain([end]).collect();
        last = crypto.prf(Prf::HmacSha1, key, &parts);
        output.extend_from_slice(&last);
        if output.len() >= len {
            break;
        }
    }
    output.truncate(len);
    output
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::testing::hex;

    /// \[MS-PEAP\] §4.4.1.3.2.3: T1 to T3 of the example, so that both keys are there as TK is in a resumed tunnel.
    fn published() -> BindingKeys {
        BindingKeys::resumed(&hex(
            "3A911C255473E83E9A0CC333AE1F8A35CDC74163 E7F60F6C65EF71C26442AAACA2B6F1EB4F25ECA3
             3355353B6920D074C782E475DFB0999D4DB467EB",
        ))
    }

    fn tlv(bytes: &str) -> CryptoBinding {
        CryptoBinding::from(<[u8; BINDING_LEN]>::try_from(hex(bytes)).unwrap())
    }

    /// \[MS-PEAP\] §4.4.1.3.2.3.
    const REQUEST: &str = "000C003800000000 BDA7A599FA816521AD3064C2BDDBD16EAA949E7D98A8D7943147CF425D85DA7B
        0CBF105E91755748224FBB83000626911CFB1B0F";
    /// \[MS-PEAP\] §4.4.2.3.2.3.
    const RESPONSE: &str = "000C003800000001 6C6BA38784237457CCC90B1A908CBDF4711B69994D0CFE8D3DB44ECBCDAD37E9
        42E086071D1C8B8C8E458F7021F06A6EAB16B646";

    #[test]
    fn the_tlvs_of_ms_peap_prove_both_sides() {
        let (keys, crypto) = (published(), &mut Real::default());
        assert!(tlv(REQUEST).proves(Subtype::Request, &keys, crypto));
        assert!(tlv(RESPONSE).proves(Subtype::Response, &keys, crypto));
        let nonce = |text: &str| <[u8; NONCE_LEN]>::try_from(&hex(text)[8..40]).unwrap();
        let made = CryptoBinding::new(Subtype::Request, &nonce(REQUEST), &keys, crypto);
        assert_eq!(made, tlv(REQUEST));
        let made = CryptoBinding::new(Subtype::Response, &nonce(RESPONSE), &keys, crypto);
        assert_eq!(made, tlv(RESPONSE));
    }

    #[test]
    fn one_bit_changed_or_the_other_side_s_proves_nothing() {
        let (keys, crypto) = (published(), &mut Real::default());
        for bit in 0..8 * BINDING_LEN {
            let mut changed = tlv(REQUEST);
            changed.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!changed.proves(Subtype::Request, &keys, crypto), "{bit}");
        }
        assert!(!tlv(REQUEST).proves(Subtype::Response, &keys, crypto));
        assert!(!tlv(RESPONSE).proves(Subtype::Request, &keys, crypto));
        let others = BindingKeys::resumed(&[7; TUNNEL_KEY_LEN]);
        assert!(!tlv(REQUEST).proves(Subtype::Request, &others, crypto));
    }

    /// \[MS-PEAP\] §4.4, the example's MPPE keys: T1 to T4, the server's receive key and its send key.
    #[test]
    fn the_session_key_of_ms_peap_comes_out() {
        let expected =
            hex("6A02D782201BC7138BF8EFF733B496970D7CAB30 0AC9577278E1DDD5AEF766971752D4E584A1C895
             039B4D05E3BC9A8484DDC2AA6E2CE162765C4068 BFF65A45");
        assert_eq!(*published().msk(&mut Real::default()), expected);
    }

    /// No document prints TK and ISK of an example; this one was computed independently from the formulas, with Python's hmac.
    #[test]
    fn keys_depend_on_tunnel_and_inner_method() {
        let crypto = &mut Real::default();
        let material: Vec<u8> = (0..128).collect();
        let msk: Vec<u8> = (128..192).collect();
        let expected = BindingKeys::resumed(&hex(
            "d09f95bdc82242ef082b01f379ec2eb46d49f01f 84b975865dfa0b65faf67b052dabc6c496f8a9b3 8adb63fcbe7efe4b3ce82a8a53aab6bac090a9df",
        ));
        assert_eq!(BindingKeys::new(&material, Some(&msk), crypto), expected);
        assert_ne!(BindingKeys::new(&material, None, crypto), expected);
        assert_ne!(BindingKeys::new(&msk, Some(&msk), crypto), expected);
        let zeros = [0; INNER_KEY_LEN];
        assert_eq!(
            BindingKeys::new(&material, None, crypto),
            BindingKeys::new(&material, Some(&zeros), crypto)
        );
    }
}
