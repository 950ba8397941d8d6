//! The keys of a conversation. Read RFC 4186 §7, RFC 4187 §7, RFC 9048 §3.3 first.
//!
//! ```text
//!   EAP-SIM    MK = SHA1(identity | n × Kc | NONCE_MT | versions | selected)   PRF(MK)  = K_encr K_aut MSK EMSK
//!   EAP-AKA    MK = SHA1(identity | IK | CK)                                   PRF(MK)  = K_encr K_aut MSK EMSK
//!   EAP-AKA′   PRF′(IK′ | CK′, "EAP-AKA'" | identity)                          = K_encr K_aut K_re MSK EMSK
//!   again      XKEY′ = SHA1(identity | counter | NONCE_S | MK)                 PRF(XKEY′) = MSK EMSK
//!              PRF′(K_re, "EAP-AKA' re-auth" | identity | counter | NONCE_S)   = MSK EMSK
//! ```

use keytoll_crypto_api::algorithm::{Hash, Prf};
use keytoll_crypto_api::{Crypto, Digest, Secret};
use zeroize::Zeroizing;

use super::flavour::Flavour;
use crate::fips186;

const K_ENCR_BYTES: usize = 16;
const SESSION_BYTES: usize = 64;

/// The keys that protect a conversation's messages and its later fast re-authentications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The method.
    pub flavour: Flavour,
    /// K_encr, 16 bytes.
    pub k_encr: Secret,
    /// K_aut, [`Flavour::k_aut_len`] bytes.
    pub k_aut: Secret,
    /// The key from which new session keys are derived: MK (20 bytes), or K_re (32) of EAP-AKA′.
    root: Secret,
}

/// The exported keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Master session key, 64 bytes.
    pub msk: Secret,
    /// Extended master session key, 64 bytes.
    pub emsk: Secret,
}

/// The input of EAP-SIM's master key.
#[derive(Debug, Clone, Copy)]
pub struct SimInputs<'a> {
    /// The identity last sent, exactly as sent.
    pub identity: &'a [u8],
    /// The cipher keys in the order of their challenges.
    pub kcs: &'a [Secret],
    /// The peer's nonce.
    pub nonce_mt: &'a [u8; 16],
    /// The versions in AT_VERSION_LIST.
    pub versions: &'a [u8],
    /// The version in AT_SELECTED_VERSION.
    pub selected: u16,
}

impl Keys {
    /// The keys of an EAP-SIM full authentication.
    pub fn sim(inputs: &SimInputs<'_>, crypto: &mut dyn Crypto) -> (Self, Session) {
        let selected = inputs.selected.to_be_bytes();
        let kcs = Zeroizing::new(inputs.kcs.iter().flat_map(|kc| kc.iter().copied()).collect::<Vec<u8>>());
        let parts = [inputs.identity, &kcs, inputs.nonce_mt, inputs.versions, &selected];
        let mk = crypto.hash(Hash::Sha1, &parts);
        Self::from_mk(Flavour::Sim, &mk, crypto)
    }

    /// The keys of an EAP-AKA full authentication.
    pub fn aka(identity: &[u8], ck: &[u8], ik: &[u8], crypto: &mut dyn Crypto) -> (Self, Session) {
        let mk = crypto.hash(Hash::Sha1, &[identity, ik, ck]);
        Self::from_mk(Flavour::Aka, &mk, crypto)
    }

    /// The keys of an EAP-AKA′ full authentication, from CK′ and IK′.
    pub fn aka_prime(identity: &[u8], ck: &[u8], ik: &[u8], crypto: &mut dyn Crypto) -> (Self, Session) {
        let key = Secret::new([ik, ck].concat());
        let mut cut = Cut(prf_prime(&key, &[b"EAP-AKA'", identity], 208, crypto));
        let (k_encr, k_aut, root) = (cut.next(K_ENCR_BYTES), cut.next(32), cut.next(32));
        (Self { flavour: Flavour::AkaPrime, k_encr, k_aut, root }, cut.session())
    }

    /// The session keys of a fast re-authentication; the others stay.
    pub fn reauthenticated(
        &self,
        identity: &[u8],
        counter: u16,
        nonce_s: &[u8; 16],
        crypto: &mut dyn Crypto,
    ) -> Session {
        let counter = counter.to_be_bytes();
        let mut cut = if self.flavour == Flavour::AkaPrime {
            let parts = [&b"EAP-AKA' re-auth"[..], identity, &counter, nonce_s];
            Cut(prf_prime(&self.root, &parts, 2 * SESSION_BYTES, crypto))
        } else {
            let xkey = crypto.hash(Hash::Sha1, &[identity, &counter, nonce_s, &self.root]);
            Cut(prf(&xkey, 2 * SESSION_BYTES, crypto))
        };
        cut.session()
    }

    fn from_mk(flavour: Flavour, mk: &Digest, crypto: &mut dyn Crypto) -> (Self, Session) {
        let mut cut = Cut(prf(mk, K_ENCR_BYTES + flavour.k_aut_len() + 2 * SESSION_BYTES, crypto));
        let (k_encr, k_aut) = (cut.next(K_ENCR_BYTES), cut.next(flavour.k_aut_len()));
        (Self { flavour, k_encr, k_aut, root: Secret::from(&mk[..]) }, cut.session())
    }
}

/// Keying material, from which keys are taken in sequence.
struct Cut(Zeroizing<Vec<u8>>);

impl Cut {
    fn next(&mut self, len: usize) -> Secret {
        let rest = Zeroizing::new(self.0.split_off(len));
        Secret::new(std::mem::take(&mut *std::mem::replace(&mut self.0, rest)))
    }

    fn session(&mut self) -> Session {
        Session { msk: self.next(SESSION_BYTES), emsk: self.next(SESSION_BYTES) }
    }
}

/// RFC 4186 Appendix B: FIPS 186-2 change notice 1, seeded with a SHA-1 digest.
fn prf(seed: &Digest, len: usize, crypto: &mut dyn Crypto) -> Zeroizing<Vec<u8>> {
    let seed: &[u8; 20] = seed[..].try_into().expect("SHA-1 gives 20 bytes");
    let mut out = Zeroizing::new(vec![0; len]);
    fips186::prf(crypto, seed, &mut out);
    out
}

/// RFC 9048 §3.4.1: Tᵢ = HMAC-SHA-256(key, Tᵢ₋₁ | parts | i).
fn prf_prime(key: &[u8], parts: &[&[u8]], len: usize, crypto: &mut dyn Crypto) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(len.next_multiple_of(32)));
    let mut last = Digest::zeroed(0);
    for round in 1..=u8::MAX {
        let round = [round];
        let mut input = vec![&last[..]];
        input.extend_from_slice(parts);
        input.push(&round);
        last = crypto.prf(Prf::HmacSha256, key, &input);
        out.extend_from_slice(&last);
        if out.len() >= len {
            break;
        }
    }
    out.truncate(len);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::{bytes, hex, real};

    fn starts(secret: &Secret, with: &str) {
        assert_eq!(secret[..with.len() / 2], bytes(with), "of {secret:?}");
    }

    #[test]
    fn eap_sim_keys_are_those_of_rfc_4186_appendix_a() {
        let crypto = &mut real();
        let kcs = [0xa0, 0xb0, 0xc0].map(|first: u8| Secret::new((first..first + 8).collect()));
        let nonce_mt = hex("0123456789abcdeffedcba9876543210");
        let identity = b"1244070100000001@eapsim.foo";
        let inputs = SimInputs { identity, kcs: &kcs, nonce_mt: &nonce_mt, versions: &[0, 1], selected: 1 };
        let (keys, session) = Keys::sim(&inputs, crypto);
        starts(&keys.root, "e576d5ca332e9930018bf1baee2763c795b3c712");
        starts(&keys.k_encr, "536e5ebc4465582aa6a8ec9986ebb620");
        starts(&keys.k_aut, "25af1942efcbf4bc72b3943421f2a974");
        starts(
            &session.msk,
            "39d45aeaf4e30601983e972b6cfd46d1c363773365690d09cd44976b525f47d3a60a985e955c53b090b2e4b73719196a402542968fd14a888f46b9a7886e4488",
        );
        starts(
            &session.emsk,
            "5949eab0fff69d52315c6c634fd14a7f0d52023d56f79698fa6596abeed4f93fbb48eb534d985414ceed0d9a8ed33c387c9dfdab92ffbdf240fcecf65a2c93b9",
        );

        let identity = b"Y24fNSrz8BP274jOJaF17WfxI8YO7QX00pMXk9XMMVOw7broaNhTczuFq53aEpOkk3L0dm@eapsim.foo";
        let again = keys.reauthenticated(identity, 1, &nonce_mt, crypto);
        starts(
            &again.msk,
            "6263f614973895e1335f7e30cff028ee2176f519002c9abe732fe0ef00cf167c756d9e4ced6d5ed640eb3fe38565ca076e7fb8a817cfe8d9adbce441d47c4f5e",
        );
        starts(
            &again.emsk,
            "3d8ff7863a630b2b06e2cf209684c13f6b82f992f2b06f1b54bf51ef237f2a401ef5e0d7e098a34c533eaebf34578854b77215262 0a777f0e0340884a294fb73".replace(' ', "").as_str(),
        );
    }

    const CK: &str = "5349fbe098649f948f5d2e973a81c00f";
    const IK: &str = "9744871ad32bf9bbd1dd5ce54e3e2e5a";

    #[test]
    fn eap_aka_keys_are_those_of_freeradius() {
        let (keys, session) = Keys::aka(b"0555444333222111", &bytes(CK), &bytes(IK), &mut real());
        starts(&keys.root, "f5f57b91e7e9f17d5a78386d40c2cead45a160bb");
        starts(&keys.k_encr, "18e8b20bcda70486fd5959586a9e7c3d");
        starts(&keys.k_aut, "18c044070e5e642a2643876ff7a83812");
        starts(
            &session.msk,
            "352ffaef2df120cb22410b9c0b70623cb5a35bc9fcd6bca0fc337b48b17630890a03375cfd1e64cbd6bf8304374dd2e139d64ed1a6d618ffefb08c26a6bb3585",
        );
        starts(&session.emsk, "9e0659ae03977dcbb1d64d2405e11082a91adb9ac7f7bd0b74a61ec0e980b36f");
    }

    #[test]
    fn eap_aka_prime_keys_are_those_of_rfc_5448_case_1() {
        let ck = bytes("0093962d0dd84aa5684b045c9edffa04");
        let ik = bytes("ccfc230ca74fcc96c0a5d61164f5a76c");
        let (keys, session) = Keys::aka_prime(b"0555444333222111", &ck, &ik, &mut real());
        starts(&keys.k_encr, "766fa0a6c317174b812d52fbcd11a179");
        starts(&keys.k_aut, "0842ea722ff6835bfa2032499fc3ec23c2f0e388b4f07543ffc677f1696d71ea");
        starts(&keys.root, "cf83aa8bc7e0aced892acc98e76a9b2095b558c7795c7094715cb3393aa7d17a");
        starts(
            &session.msk,
            "67c42d9aa56c1b79e295e3459fc3d187d42be0bf818d3070e362c5e967a4d544e8ecfe19358ab3039aff03b7c930588c055babee58a02650b067ec4e9347c75a",
        );
        starts(&session.emsk, "f861703cd775590e16c7679ea3874ada866311de290764d760cf76df647ea01c");
    }

    #[test]
    fn eap_aka_prime_again_as_freeradius_derives_it() {
        let root = Secret::new(bytes("cf83aa8bc7e0aced892acc98e76a9b2095b558c7795c7094715cb3393aa7d17a"));
        let none = Secret::default();
        let keys = Keys { flavour: Flavour::AkaPrime, k_encr: none.clone(), k_aut: none, root };
        let nonce_s = hex("0123456789abcdeffedcba9876543210");
        let session = keys.reauthenticated(b"5555444333222111", 1, &nonce_s, &mut real());
        starts(&session.msk, "28f2b93a8edc4a01b69d378ba68a77bb016c0febb760db985799649900006f97");
        starts(&session.emsk, "b905a2f467e0eb9afba459a7d8a7c877d5fa2e5ed377f8c52fa486adf5155eb7");
    }
}
