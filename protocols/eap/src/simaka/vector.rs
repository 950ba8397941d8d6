//! Authentication vectors, which the subscriber database returns instead of keys. Read 3GPP TS 33.102 §6.3.2 and §6.8.1.2
//! (GSM triplets from MILENAGE), and TS 33.402 Annex A (CK′, IK′) first.

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Secret};

use super::milenage::{Challenge, Milenage, xor};
use super::sqn::Sqn;

/// A GSM triplet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triplet {
    /// The challenge.
    pub rand: [u8; 16],
    /// The answer of a card with the right key, four bytes.
    pub sres: Secret,
    /// The cipher key, eight bytes.
    pub kc: Secret,
}

/// A UMTS quintuplet. For EAP-AKA′ its keys are CK′ and IK′, already bound to the access network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quintuplet {
    /// The challenge.
    pub rand: [u8; 16],
    /// Authenticates the network: SQN ⊕ AK (6) ‖ AMF (2) ‖ MAC-A (8).
    pub autn: [u8; 16],
    /// The answer of a card with the right key, 4 to 16 bytes.
    pub xres: Secret,
    /// CK or CK′.
    pub ck: Secret,
    /// IK or IK′.
    pub ik: Secret,
}

impl Quintuplet {
    /// The vector of a challenge under a sequence number.
    pub fn generate(
        subscriber: &Milenage,
        rand: [u8; 16],
        sqn: Sqn,
        amf: [u8; 2],
        crypto: &mut dyn Crypto,
    ) -> Self {
        let challenge = subscriber.challenge(&rand, crypto);
        let macs = challenge.macs(&sqn.to_bytes(), amf, crypto);
        let response = challenge.response(crypto);
        let autn = autn(sqn, &response.ak, amf, &macs.mac_a);
        let (ck, ik) = (challenge.ck(crypto), challenge.ik(crypto));
        Self { rand, autn, xres: response.res.clone(), ck, ik }
    }

    /// The same vector with CK′ and IK′ for this access network, as an HSS returns it for EAP-AKA′.
    pub fn bound_to(self, network: &[u8], crypto: &mut dyn Crypto) -> Self {
        let (ck, ik) = prime(&self.ck, &self.ik, network, &self.autn, crypto);
        Self { ck, ik, ..self }
    }
}

impl Triplet {
    /// The triplet of a 3G subscriber for GSM.
    pub fn from_milenage(subscriber: &Milenage, rand: [u8; 16], crypto: &mut dyn Crypto) -> Self {
        let (sres, kc) = gsm(&subscriber.challenge(&rand, crypto), crypto);
        Self { rand, sres, kc }
    }
}

/// SRES and Kc of a MILENAGE challenge.
pub(super) fn gsm(challenge: &Challenge<'_>, crypto: &mut dyn Crypto) -> (Secret, Secret) {
    let response = challenge.response(crypto);
    // TS 33.102 §6.8.1.2: c2 folds RES to four bytes, c3 folds CK and IK to eight.
    let sres = folded::<4>(&[&response.res]);
    let kc = folded::<8>(&[&challenge.ck(crypto), &challenge.ik(crypto)]);
    (sres, kc)
}

/// The exclusive or of all pieces of N bytes.
fn folded<const N: usize>(parts: &[&[u8]]) -> Secret {
    let mut out = [0; N];
    parts.iter().flat_map(|part| part.chunks(N)).for_each(|piece| xor(&mut out, piece));
    Secret::new(out.to_vec())
}

fn autn(sqn: Sqn, ak: &[u8; 6], amf: [u8; 2], mac_a: &[u8; 8]) -> [u8; 16] {
    let mut autn = [0; 16];
    autn[..6].copy_from_slice(&sqn.to_bytes());
    xor(&mut autn[..6], ak);
    autn[6..8].copy_from_slice(&amf);
    autn[8..].copy_from_slice(mac_a);
    autn
}

/// CK′ and IK′, in this order.
pub(super) fn prime(
    ck: &[u8],
    ik: &[u8],
    network: &[u8],
    autn: &[u8; 16],
    crypto: &mut dyn Crypto,
) -> (Secret, Secret) {
    let key = Secret::new([ck, ik].concat());
    let network_len = u16::try_from(network.len()).unwrap_or(u16::MAX).to_be_bytes();
    // RFC 9048 §3.3: after TS 33.402 §A.2, HMAC-SHA-256 over FC = 0x20, the network's name and SQN ⊕ AK, each with its length.
    let parts = [&[0x20][..], network, &network_len, &autn[..6], &[0, 6]];
    let both = crypto.prf(Prf::HmacSha256, &key, &parts);
    let (ck, ik) = both.split_at(16);
    (Secret::from(ck), Secret::from(ik))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::{hex, real, rows};

    #[test]
    fn triplets_of_ts_55_205_come_out() {
        let crypto = &mut real();
        for row in rows(include_str!("vectors/gsm.txt")) {
            let subscriber = Milenage::with_opc(&hex(row[1]), &hex(row[3]));
            let triplet = Triplet::from_milenage(&subscriber, hex(row[2]), crypto);
            assert_eq!(triplet.sres[..], hex::<4>(row[4]), "SRES of set {}", row[0]);
            assert_eq!(triplet.kc[..], hex::<8>(row[6]), "Kc of set {}", row[0]);
        }
    }

    #[test]
    fn the_vector_of_libosmocore_comes_out() {
        let k = hex("000102030405060708090a0b0c0d0e0f");
        let subscriber = Milenage::with_opc(&k, &k);
        let vector = Quintuplet::generate(&subscriber, [0; 16], Sqn::new(0x22), [0, 0], &mut real());
        assert_eq!(vector.autn, hex("ec9320c2c2120000c8b7de2a3449f1bd"));
        assert_eq!(vector.ik[..], hex::<16>("12cb2dd3e0ec8378f6fc1d606c619f47"));
        assert_eq!(vector.ck[..], hex::<16>("7200a184d8f2c758fbdf87900ddbf275"));
        assert_eq!(vector.xres[..], hex::<8>("e9fc88ccc8a35381"));
    }

    #[test]
    fn ck_and_ik_primed_are_those_of_rfc_5448_case_1() {
        let k = hex("5122250214c33e723a5dd523fc145fc0");
        let subscriber = Milenage::with_opc(&k, &hex("981d464c7c52eb6e5036234984ad0bcf"));
        let sqn = Sqn::from(hex::<6>("16f3b3f70fc2"));
        let rand = hex("81e92b6c0ee0e12ebceba8d92a99dfa5");
        let vector = Quintuplet::generate(&subscriber, rand, sqn, [0xc3, 0xab], &mut real());
        assert_eq!(vector.autn, hex("bb52e91c747ac3ab2a5c23d15ee351d5"));
        let bound = vector.bound_to(b"WLAN", &mut real());
        assert_eq!(bound.ck[..], hex::<16>("0093962d0dd84aa5684b045c9edffa04"));
        assert_eq!(bound.ik[..], hex::<16>("ccfc230ca74fcc96c0a5d61164f5a76c"));
    }
}
