//! Keys that open frames of others.

use keytoll_crypto_api::{Crypto, Secret};

use crate::cipher::{Receiver, Side, key_id};
use crate::suite::Cipher;

/// Keys of one station, or of one network's groups, that are tried: frames under an earlier key may still be on their way.
const KEPT: usize = 8;
/// 802.11-2020 §12.5.2.2, §12.5.3.2: the bit of the fourth octet that every cipher but WEP sets.
const EXTENDED_IV: u8 = 0x20;

/// A key of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opener {
    pub(super) cipher: Cipher,
    pub(super) key: Secret,
    /// The key ID that its frames have; any, if that is not known.
    pub(super) key_id: Option<u8>,
}

impl Opener {
    /// What was in a body that `from` sent; none if it is under another key.
    fn open(&self, from: Side, header: &[u8], body: &[u8], crypto: &mut dyn Crypto) -> Option<Vec<u8>> {
        let key_id = key_id(body)?;
        let is_wep = matches!(self.cipher, Cipher::Wep40 | Cipher::Wep104);
        if self.key_id.is_some_and(|own| own != key_id) || is_wep == (body[3] & EXTENDED_IV != 0) {
            return None;
        }
        let mut receiver = Receiver::overhearing(self.cipher, &self.key, key_id, from).ok()?;
        let mut opened = body.to_vec();
        receiver.open(header, &mut opened, crypto).ok().map(|()| opened)
    }
}

/// The keys of a station or of a network's groups, the latest first.
#[derive(Debug, Default)]
pub(super) struct Openers(Vec<Opener>);

impl Openers {
    /// Adds a key, unless it is there already; the oldest of too many is forgotten.
    pub(super) fn add(&mut self, opener: Opener) {
        if !self.0.contains(&opener) {
            self.0.insert(0, opener);
            self.0.truncate(KEPT);
        }
    }

    /// What was in a body, by the latest key that opens it.
    pub(super) fn open(
        &self,
        from: Side,
        header: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        self.0.iter().find_map(|opener| opener.open(from, header, body, crypto))
    }

    /// The keys of a table, which say neither their key ID nor more of their cipher than their length.
    pub(super) fn of_table(wep: &[Secret], temporal: &[Secret]) -> Self {
        const WEP: [Cipher; 2] = [Cipher::Wep40, Cipher::Wep104];
        const OTHERS: [Cipher; 5] =
            [Cipher::Ccmp128, Cipher::Gcmp128, Cipher::Tkip, Cipher::Ccmp256, Cipher::Gcmp256];
        let of = |keys: &[Secret], ciphers: &[Cipher]| -> Vec<Opener> {
            let pairs = keys.iter().flat_map(|key| ciphers.iter().map(move |&cipher| (cipher, key)));
            let fitting = pairs.filter(|(cipher, key)| cipher.key_len() == key.len());
            fitting.map(|(cipher, key)| Opener { cipher, key: key.clone(), key_id: None }).collect()
        };
        Self([of(wep, &WEP), of(temporal, &OTHERS)].concat())
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::cipher::Sender;
    use crate::cipher::wep::Iv;
    use crate::frame::{Addresses, DataHeader, Header};

    const KEY: [u8; 32] = [7; 32];

    fn header() -> Vec<u8> {
        let addresses = Addresses::ToAccessPoint { bssid: [2; 6], source: [4; 6], destination: [2; 6] };
        Header::Data(DataHeader::new(addresses)).to_bytes()
    }

    fn sealed(cipher: Cipher, key_id: u8) -> Vec<u8> {
        let (mut body, key) = (b"data".to_vec(), KEY[..cipher.key_len()].into());
        let mut sender = Sender::new(cipher, &key, key_id, Side::Supplicant, Iv([0; 3])).unwrap();
        sender.seal(&header(), &mut body, &mut Real::default()).unwrap();
        body
    }

    fn open(openers: &Openers, body: &[u8]) -> Option<Vec<u8>> {
        openers.open(Side::Supplicant, &header(), body, &mut Real::default())
    }

    #[test]
    fn a_key_of_the_table_opens_whatever_its_length_fits_and_that_again() {
        let keys = [5, 13, 16, 32].map(|len| Secret::from(&KEY[..len]));
        let openers = Openers::of_table(&keys[..2], &keys[2..]);
        for cipher in Cipher::ALL.iter().copied().filter(|cipher| !cipher.protects_management()) {
            let body = sealed(cipher, 2);
            for _ in 0..2 {
                assert_eq!(open(&openers, &body).as_deref(), Some(&b"data"[..]), "{cipher:?}");
            }
        }
    }

    #[test]
    fn another_key_id_and_another_key_open_nothing() {
        let mut openers = Openers::default();
        openers.add(Opener { cipher: Cipher::Ccmp128, key: KEY[..16].into(), key_id: Some(1) });
        assert_eq!(open(&openers, &sealed(Cipher::Ccmp128, 0)), None);
        assert!(open(&openers, &sealed(Cipher::Ccmp128, 1)).is_some());
        assert_eq!(open(&openers, &sealed(Cipher::Gcmp128, 1)), None);
        assert_eq!(open(&openers, &[]), None);
    }

    #[test]
    fn the_oldest_of_too_many_keys_is_forgotten() {
        let mut openers = Openers::default();
        let key = |octet: usize| Secret::from(&[octet as u8; 16][..]);
        for octet in 0..=KEPT {
            openers.add(Opener { cipher: Cipher::Ccmp128, key: key(octet), key_id: None });
        }
        let kept = |octet| openers.0.iter().any(|opener| opener.key == key(octet));
        assert!(!kept(0) && kept(1) && kept(KEPT));
    }
}
