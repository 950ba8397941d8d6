//! The PTK of the 4-way handshake. 802.11-2020 §12.7.1.3.

use keytoll_crypto_api::{Crypto, Secret, about};

use super::{Nonce, derive};
use crate::MacAddr;
use crate::suite::{Akm, Cipher};

/// What distinguishes one handshake from others under the same PMK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The authenticator's address, AA; with fast transition the BSSID.
    pub aa: MacAddr,
    /// The supplicant's address, SPA.
    pub spa: MacAddr,
    /// The authenticator's nonce.
    pub anonce: Nonce,
    /// The supplicant's nonce.
    pub snonce: Nonce,
}

/// A pairwise transient key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptk {
    /// The key confirmation key, for MICs of EAPOL-Key frames.
    pub kck: Secret,
    /// The key encryption key, for their key data.
    pub kek: Secret,
    /// The temporal key, [`Cipher::key_len`] bytes, for data.
    pub tk: Secret,
}

impl Ptk {
    // 802.11-2020 §12.7.1.3: PRF-Length(PMK, "Pairwise key expansion", Min(AA,SPA) ‖ Max(AA,SPA) ‖ Min(ANonce,SNonce) ‖
    // Max(ANonce,SNonce)).
    /// The key that a 4-way handshake agrees on.
    pub fn of_handshake(
        akm: Akm,
        cipher: Cipher,
        pmk: &[u8],
        exchange: &Exchange,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let Exchange { aa, spa, anonce, snonce } = exchange;
        let context = [&aa.min(spa)[..], aa.max(spa), anonce.min(snonce), anonce.max(snonce)].concat();
        Self::derived(akm, cipher, pmk, (b"Pairwise key expansion", &context), crypto)
    }

    /// Derives it as the AKM does, and cuts it.
    pub(super) fn derived(
        akm: Akm,
        cipher: Cipher,
        master: &[u8],
        (label, context): (&[u8], &[u8]),
        crypto: &mut dyn Crypto,
    ) -> Self {
        let len = akm.kck_len() + akm.kek_len() + cipher.key_len();
        let whole =
            about(crypto, "PTK", |crypto| derive(akm.derivation(), master, label, context, len, crypto));
        let (kck, rest) = whole.split_at(akm.kck_len());
        let (kek, tk) = rest.split_at(akm.kek_len());
        Self { kck: kck.into(), kek: kek.into(), tk: tk.into() }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::{array, hex};

    fn check(akm: Akm, cipher: Cipher, pmk: &str, exchange: Exchange, [kck, kek, tk]: [&str; 3]) {
        let crypto = &mut Real::default();
        let ptk = Ptk::of_handshake(akm, cipher, &hex(pmk), &exchange, crypto);
        assert_eq!([&ptk.kck[..], &ptk.kek, &ptk.tk], [&hex(kck)[..], &hex(kek), &hex(tk)], "{akm:?}");
        let swapped =
            Exchange { aa: exchange.spa, spa: exchange.aa, anonce: exchange.snonce, snonce: exchange.anonce };
        assert_eq!(Ptk::of_handshake(akm, cipher, &hex(pmk), &swapped, crypto), ptk, "both ends sort");
    }

    /// 802.11-2020 J.7.1 (TKIP: the last 16 octets are the keys of Michael).
    #[test]
    fn example_of_the_annex() {
        let exchange = Exchange {
            aa: array("a0a1a1a3a4a5"),
            spa: array("b0b1b2b3b4b5"),
            snonce: array("c0c1c2c3c4c5c6c7c8c9d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5"),
            anonce: array("e0e1e2e3e4e5e6e7e8e9f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405"),
        };
        check(
            Akm::Psk,
            Cipher::Tkip,
            "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af",
            exchange,
            [
                "379f9852d0199236b94e407ce4c00ec8",
                "47c9edc01c2c6e5b4910caddfb3e51a7",
                "b2360c79e9710fdd58bea93deaf06599db980afbc29c152855740a6ce5ae3827",
            ],
        );
    }

    /// The keys, addresses and nonces of P802.11az/D2.6 J.13, as in hostap's common_module_tests.c, without the KDK that the
    /// example derives besides, whose length is part of the KDF; computed by a second reader of §12.7.1.6.2.
    #[test]
    fn with_sha_256_and_sha_384() {
        let exchange = Exchange {
            aa: array("c0ffd4a8dbc1"),
            spa: array("00904c01c107"),
            anonce: array("be7a1ca284347b5bd67dbd2dfdb4d99f1afae0b88ba18e008718417e4b27ef5f"),
            snonce: array("404b012ffb43ed0fb43ea1f287c91f2506d21b4a92d74b5ea50c943350ce8671"),
        };
        let pmk = "def43e5567e01ca6649265f19a290eeff8bd888f6c1d9cc9d10f04bd378f3cad";
        check(
            Akm::Sae,
            Cipher::Ccmp128,
            pmk,
            exchange,
            [
                "f254ca101dee0728d7fe6501e21a4086",
                "a7b864834b655374f996fdb18e4ddd34",
                "cc5524571724253c779ce91eae883705",
            ],
        );
        check(
            Akm::SuiteB192,
            Cipher::Ccmp128,
            &format!("{pmk}{}", &pmk[..32]),
            exchange,
            [
                "78274cb9f21ca1e6e8e08c54aa9422b6524c2ab010c0d7a3",
                "e3851b0d4708ad4f21ba9b2c449284c52e1958d1ce736db77bccb4701b652b0b",
                "cfd9c5f9ab2bc2748f4b1fa811988494",
            ],
        );
    }

    /// The example itself: the 80 octets of KCK, KEK, TK and KDK.
    #[test]
    fn kdf_of_p802_11az() {
        let context = "00904c01c107c0ffd4a8dbc1404b012ffb43ed0fb43ea1f287c91f2506d21b4a92d74b5ea50c943350ce8671\
                       be7a1ca284347b5bd67dbd2dfdb4d99f1afae0b88ba18e008718417e4b27ef5f";
        let pmk = hex("def43e5567e01ca6649265f19a290eeff8bd888f6c1d9cc9d10f04bd378f3cad");
        let (label, crypto) = (b"Pairwise key expansion", &mut Real::default());
        let derived = derive(Akm::Sae.derivation(), &pmk, label, &hex(context), 80, crypto);
        let expected = "cd7b9e7555362df0b63568484a8112f599cad3588da0f1e63fd190191039bb4b9e2e9377e7532e737a1bc250fe194a03\
                        6c7fb97ceb55b01acff00f070942bdf5291feb4bee38e0365b25a250bb2ac9ff";
        assert_eq!(derived[..], hex(expected));
    }
}
