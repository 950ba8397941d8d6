//! WEP, which protects nothing any more: RC4 under IV and key, and a CRC-32. 802.11-2020 §12.3.2.
//!
//!   IV(3) Reserved(6 bits) Key ID(2 bits) Encrypted: Data(*) ICV(4)

use keytoll_crypto_api::algorithm::StreamCipher;
use keytoll_crypto_api::{Crypto, Rng, Secret};

use super::{BadKey, Refused, strip, surround};
use crate::suite::Cipher;

/// Octets in front of what is encrypted.
pub const HEADER: usize = 4;
/// Octets of the ICV.
pub const ICV: usize = 4;
/// The longest key: 104 bits.
const KEY_MAX: usize = 13;

/// A key of WEP-40 or WEP-104.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WepKey(Secret);

impl WepKey {
    /// A key of 5 or 13 octets; none of another length.
    pub fn new(octets: &[u8]) -> Option<Self> {
        [Cipher::Wep40, Cipher::Wep104]
            .iter()
            .any(|cipher| cipher.key_len() == octets.len())
            .then(|| Self(octets.into()))
    }

    /// The key of this cipher.
    pub(super) fn of(cipher: Cipher, octets: &[u8]) -> Result<Self, BadKey> {
        Self::new(octets).ok_or(BadKey { cipher, len: octets.len() })
    }
}

impl std::ops::Deref for WepKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The initialization vector of one MPDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iv(pub [u8; 3]);

impl Iv {
    /// A random one that is not weak.
    pub fn random(rng: &mut Rng) -> Self {
        Self(rng.bytes()).strong()
    }

    // S. Fluhrer, I. Mantin, A. Shamir, "Weaknesses in the key scheduling algorithm of RC4" (SAC 2001), §7.1: (A + 3, N − 1, X)
    // for the key octet A, which each such IV tells something of.
    /// Whether it leads to the key: for the longest one, so that it does not depend on the key.
    pub const fn is_weak(self) -> bool {
        let [first, second, _] = self.0;
        second == 0xff && first >= 3 && first < 3 + KEY_MAX as u8
    }

    /// The one for the next MPDU: a counter, which has weak ones left out.
    #[must_use]
    pub fn next(self) -> Self {
        let [low, middle, high] = self.0;
        let [low, middle, high, _] = u32::from_le_bytes([low, middle, high, 0]).wrapping_add(1).to_le_bytes();
        Self([low, middle, high]).strong()
    }

    /// Itself, or the next one that is not weak.
    fn strong(self) -> Self {
        if self.is_weak() { self.next() } else { self }
    }
}

/// Sends under one key.
#[derive(Debug)]
pub struct Sender {
    key: WepKey,
    key_id: u8,
    next: Iv,
}

/// Receives under one key.
#[derive(Debug)]
pub struct Receiver {
    key: WepKey,
    key_id: u8,
    weak_ivs: u64,
}

impl Sender {
    /// Sends under a key, beginning with this IV or the next one that is not weak.
    pub fn new(key: WepKey, key_id: u8, first: Iv) -> Self {
        Self { key, key_id: key_id & 3, next: first.strong() }
    }

    /// Encrypts the body of an MPDU.
    pub fn seal(&mut self, body: &mut Vec<u8>, crypto: &mut dyn Crypto) {
        seal(&self.key, self.next, self.key_id, body, crypto);
        self.next = self.next.next();
    }
}

impl Receiver {
    /// Receives under a key.
    pub const fn new(key: WepKey, key_id: u8) -> Self {
        Self { key, key_id: key_id & 3, weak_ivs: 0 }
    }

    /// How many MPDUs came with an IV that leads to the key.
    pub const fn weak_ivs(&self) -> u64 {
        self.weak_ivs
    }

    /// Decrypts and checks the body of an MPDU.
    ///
    /// # Errors
    /// It is too short, of another key, or the ICV is wrong.
    pub fn open(&mut self, body: &mut Vec<u8>, crypto: &mut dyn Crypto) -> Result<(), Refused> {
        let iv = open_under(&self.key, self.key_id, body, crypto)?;
        self.weak_ivs += u64::from(iv.is_weak());
        Ok(())
    }
}

/// Encrypts the body of an MPDU under this IV and key.
pub fn seal(key: &WepKey, iv: Iv, key_id: u8, body: &mut Vec<u8>, crypto: &mut dyn Crypto) {
    let [first, second, third] = iv.0;
    body.extend_from_slice(&icv(body));
    surround(body, &[first, second, third, key_id << 6], 0);
    apply(key, iv, &mut body[HEADER..], crypto);
}

/// Decrypts and checks the body of an MPDU under the key with this ID, and gives the IV.
///
/// # Errors
/// It is too short, of another key, or the ICV is wrong.
pub fn open_under(
    key: &WepKey,
    key_id: u8,
    body: &mut Vec<u8>,
    crypto: &mut dyn Crypto,
) -> Result<Iv, Refused> {
    if super::key_id(body).ok_or(Refused::TooShort)? != key_id {
        return Err(Refused::KeyId);
    }
    open(key, body, crypto)
}

/// Decrypts and checks the body of an MPDU under this key, whatever its key ID, and gives the IV.
///
/// # Errors
/// It is too short, or the ICV is wrong.
pub fn open(key: &WepKey, body: &mut Vec<u8>, crypto: &mut dyn Crypto) -> Result<Iv, Refused> {
    if body.len() < HEADER + ICV {
        return Err(Refused::TooShort);
    }
    // 802.11-2020 §12.5.2.2: the Ext IV bit of TKIP and CCMP is 0 with WEP.
    if body[3] & 0x20 != 0 {
        return Err(Refused::ExtendedIv);
    }
    let iv = Iv([body[0], body[1], body[2]]);
    apply(key, iv, &mut body[HEADER..], crypto);
    check_icv(&body[HEADER..])?;
    strip(body, HEADER, ICV);
    Ok(iv)
}

// 802.11-2020 §12.3.2.3: the ICV is the CRC-32 of the data, whose least significant octet is sent first.
pub(super) fn icv(data: &[u8]) -> [u8; ICV] {
    crc32fast::hash(data).to_le_bytes()
}

/// Checks the ICV at the end of decrypted data, which are long enough.
pub(super) fn check_icv(data: &[u8]) -> Result<(), Refused> {
    let (data, received) = data.split_at(data.len() - ICV);
    if icv(data) == received { Ok(()) } else { Err(Refused::Icv) }
}

// 802.11-2020 §12.3.2.1: the seed of RC4 is the IV, then the key.
fn apply(key: &WepKey, iv: Iv, data: &mut [u8], crypto: &mut dyn Crypto) {
    let mut seed = [0; 3 + KEY_MAX];
    let len = 3 + key.len();
    seed[..3].copy_from_slice(&iv.0);
    seed[3..len].copy_from_slice(key);
    crypto.stream(StreamCipher::Rc4, &seed[..len], data);
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    #[test]
    fn senders_skip_weak_ivs() {
        let mut iv = Iv([0, 0xff, 7]);
        let mut first = Vec::new();
        for _ in 0..5 {
            first.push(iv.0[0]);
            iv = iv.next();
        }
        assert_eq!(first, [0, 1, 2, 16, 17], "3 to 15 are those of the 13 octets of a key");
        assert_eq!(Iv([0xff; 3]).next(), Iv([0; 3]));
        assert!((0..2000).all(|n| !Iv::random(&mut Rng::named(n, "iv")).is_weak()));
    }

    #[test]
    fn receivers_count_weak_ivs() {
        let (crypto, key) = (&mut Real::default(), WepKey::new(b"12345").unwrap());
        let mut receiver = Receiver::new(key.clone(), 1);
        for iv in [Iv([3, 0xff, 9]), Iv([2, 0xff, 9]), Iv([15, 0xff, 0])] {
            let mut body = b"data".to_vec();
            seal(&key, iv, 1, &mut body, crypto);
            receiver.open(&mut body, crypto).unwrap();
        }
        assert_eq!(receiver.weak_ivs(), 2);
    }

    #[test]
    fn keys_have_5_or_13_octets() {
        let lengths: Vec<usize> = (0..20).filter(|&len| WepKey::new(&vec![1; len]).is_some()).collect();
        assert_eq!(lengths, [5, 13]);
    }
}
