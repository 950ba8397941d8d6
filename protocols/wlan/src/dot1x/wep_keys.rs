//! The keys of dynamic WEP: EAPOL-Key frames with the RC4 key descriptor, signed and encrypted under the MSK of EAP. Read
//! IEEE 802.1X-2004 §7.6 and RFC 3580 §3.16 first.
//!
//! ```text
//!   MSK = MS-MPPE-Recv-Key(32) ‖ MS-MPPE-Send-Key(32), as the authenticator calls them
//!   signature = HMAC-MD5(Send-Key, EAPOL PDU with a signature of zeros)
//!   key       = RC4(Key IV ‖ Recv-Key, WEP key)
//! ```

use keytoll_crypto_api::algorithm::{Prf, StreamCipher};
use keytoll_crypto_api::{Crypto, Digest, Phase, Rng, Secret, about};
use keytoll_engine::Time;

use super::Refused;
use crate::eapol::{Rc4Key, Signed};
use crate::suite::Cipher;

/// Sending, receiving and changing the keys of dynamic WEP.
const WEP_KEYS: Phase = Phase::new(50, "wep-keys");

/// Half of an MSK.
const HALF: usize = 32;
/// WEP's default keys have the indexes 0 to 3.
pub const INDEX_COUNT: u8 = 4;

/// A WEP key, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WepKey {
    /// Whether it protects the frames of one station instead of the group's.
    pub unicast: bool,
    /// Its index, at most 3.
    pub index: u8,
    /// The key, of 5 or 13 octets.
    pub key: Secret,
}

/// The two keys that protect EAPOL-Key frames between a station and its authenticator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionKeys {
    encryption: Secret,
    signature: Secret,
}

impl SessionKeys {
    /// Those in an MSK; none if it is too short.
    // RFC 3580 §3.16: MS-MPPE-Recv-Key encrypts, MS-MPPE-Send-Key signs.
    pub(super) fn new(msk: &[u8]) -> Option<Self> {
        let (encryption, rest) = msk.split_at_checked(HALF)?;
        let signature = rest.get(..HALF)?;
        Some(Self { encryption: encryption.into(), signature: signature.into() })
    }

    fn signature(&self, covered: &[u8], crypto: &mut dyn Crypto) -> Digest {
        about(crypto, "EAPOL-Key signature", |crypto| crypto.prf(Prf::HmacMd5, &self.signature, &[covered]))
    }

    fn verify(&self, signed: &Signed<'_>, crypto: &mut dyn Crypto) -> Result<(), Refused> {
        let right = self.signature(&signed.covered(), crypto).matches(signed.mic());
        if right { Ok(()) } else { Err(Refused::Signature) }
    }

    /// Encrypts or decrypts a key.
    fn crypt(&self, iv: &[u8; 16], key: &[u8], crypto: &mut dyn Crypto) -> Secret {
        let rc4_key = Secret::new([iv, &self.encryption[..]].concat());
        let mut key = key.to_vec();
        about(crypto, "WEP key", |crypto| crypto.stream(StreamCipher::Rc4, &rc4_key, &mut key));
        Secret::new(key)
    }
}

/// The authenticator's side: what makes frames of keys. One for all stations, for they share the group's key.
#[derive(Debug)]
pub(super) struct KeySender {
    cipher: Cipher,
    /// The group's key.
    group: WepKey,
    /// Of the last frame.
    replay_counter: u64,
    rng: Rng,
}

impl KeySender {
    /// With a new key of the group.
    pub(super) fn new(cipher: Cipher, mut rng: Rng) -> Self {
        let group = WepKey { unicast: false, index: 1, key: random(cipher, &mut rng) };
        Self { cipher, group, replay_counter: 0, rng }
    }

    /// The group's key.
    pub(super) const fn group(&self) -> &WepKey {
        &self.group
    }

    /// A new key of the group, at another index than the last, which stations may still send with.
    // The unicast key has index 0, so the group's alternates between 1 and 2.
    pub(super) fn change_group(&mut self) {
        let index = if self.group.index == 1 { 2 } else { 1 };
        self.group = WepKey { unicast: false, index, key: random(self.cipher, &mut self.rng) };
    }

    /// A new key for one station.
    pub(super) fn unicast(&mut self) -> WepKey {
        WepKey { unicast: true, index: 0, key: random(self.cipher, &mut self.rng) }
    }

    /// The PDU that brings a station a key.
    pub(super) fn seal(
        &mut self,
        key: &WepKey,
        session: &SessionKeys,
        version: u8,
        now: Time,
        crypto: &mut dyn Crypto,
    ) -> Vec<u8> {
        crypto.enter(WEP_KEYS);
        let iv = self.rng.bytes();
        let sealed = session.crypt(&iv, &key.key, crypto);
        let frame = Rc4Key {
            key_len: self.cipher.key_len() as u16,
            replay_counter: self.next_counter(now),
            iv,
            unicast: key.unicast,
            index: key.index,
            key: &sealed,
        };
        let unsigned = frame.write(version);
        let signature = session.signature(unsigned.covered(), crypto);
        unsigned.signed(&signature)
    }

    // IEEE 802.1X-2004 §7.6.4: an NTP time or another value that grows. Time stands still in between in a simulation.
    fn next_counter(&mut self, now: Time) -> u64 {
        self.replay_counter = ntp(now).max(self.replay_counter + 1);
        self.replay_counter
    }
}

fn random(cipher: Cipher, rng: &mut Rng) -> Secret {
    let mut key = vec![0; cipher.key_len()];
    rng.fill(&mut key);
    Secret::new(key)
}

/// RFC 5905 §6: seconds and a fraction of 32 bits.
fn ntp(now: Time) -> u64 {
    const NANOSECONDS: u64 = 1_000_000_000;
    let ns = now.as_nanos();
    let fraction = ((ns % NANOSECONDS) << 32) / NANOSECONDS;
    (ns / NANOSECONDS) << 32 | fraction
}

/// The supplicant's side: what verifies frames and finds the keys in them.
#[derive(Debug)]
pub(super) struct KeyReceiver {
    session: SessionKeys,
    /// Of the last frame with a right signature.
    replay_counter: Option<u64>,
}

impl KeyReceiver {
    pub(super) const fn new(session: SessionKeys) -> Self {
        Self { session, replay_counter: None }
    }

    /// Opens a frame.
    pub(super) fn open(&mut self, pdu: &[u8], crypto: &mut dyn Crypto) -> Result<WepKey, Refused> {
        crypto.enter(WEP_KEYS);
        let (frame, signed) = Rc4Key::read(pdu)?;
        if self.replay_counter.is_some_and(|last| frame.replay_counter <= last) {
            return Err(Refused::Replayed);
        }
        self.session.verify(&signed, crypto)?;
        self.replay_counter = Some(frame.replay_counter);
        let len = usize::from(frame.key_len);
        let is_wep = [Cipher::Wep40, Cipher::Wep104].map(Cipher::key_len).contains(&len);
        if !is_wep || frame.index >= INDEX_COUNT {
            return Err(Refused::NoWepKey);
        }
        Ok(WepKey { unicast: frame.unicast, index: frame.index, key: self.key(&frame, len, crypto) })
    }

    // IEEE 802.1X-2004 §7.6.9: without a key in the frame it is the beginning of the supplicant's MS-MPPE-Send-Key, which is the
    // first half of the MSK.
    fn key(&self, frame: &Rc4Key<'_>, len: usize, crypto: &mut dyn Crypto) -> Secret {
        match frame.key {
            [] => self.session.encryption[..len].into(),
            sealed => self.session.crypt(&frame.iv, sealed, crypto),
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    fn session() -> SessionKeys {
        let msk: Vec<u8> = (0..64).collect();
        SessionKeys::new(&msk).unwrap()
    }

    fn real() -> Real {
        Real::default()
    }

    #[test]
    fn keys_arrive_once_and_signed() {
        let mut crypto = real();
        for cipher in [Cipher::Wep40, Cipher::Wep104] {
            let mut sender = KeySender::new(cipher, Rng::named(1, "ap/wep"));
            let mut receiver = KeyReceiver::new(session());
            let group = sender.group().clone();
            let unicast = sender.unicast();
            for key in [group, unicast] {
                let frame = sender.seal(&key, &session(), 1, Time::ZERO, &mut crypto);
                assert_eq!(frame.len(), 48 + cipher.key_len());
                for at in 0..frame.len() {
                    let mut wrong = frame.clone();
                    wrong[at] ^= 1;
                    // The version does not matter, but is signed; and a lower counter is old.
                    assert!(receiver.open(&wrong, &mut crypto).is_err(), "bit 0 of octet {at}");
                }
                assert_eq!(receiver.open(&frame, &mut crypto), Ok(key));
                assert_eq!(receiver.open(&frame, &mut crypto), Err(Refused::Replayed));
            }
        }
    }

    #[test]
    fn a_frame_without_a_key_names_the_beginning_of_the_session_key() {
        let mut crypto = real();
        let frame =
            Rc4Key { key_len: 5, replay_counter: 1, iv: [7; 16], unicast: true, index: 0, key: &[] }.write(1);
        let signature = session().signature(frame.covered(), &mut crypto);
        let key = KeyReceiver::new(session()).open(&frame.signed(&signature), &mut crypto).unwrap();
        assert_eq!(key.key[..], [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_is_no_key_of_wep_is_refused() {
        let mut crypto = real();
        for (key_len, index) in [(16, 0), (5, 4), (0, 0)] {
            let key = vec![0; key_len.into()];
            let frame = Rc4Key { key_len, replay_counter: 1, iv: [7; 16], unicast: true, index, key: &key };
            let frame = frame.write(1);
            let signature = session().signature(frame.covered(), &mut crypto);
            let opened = KeyReceiver::new(session()).open(&frame.signed(&signature), &mut crypto);
            assert_eq!(opened, Err(Refused::NoWepKey));
        }
        assert_eq!(SessionKeys::new(&[0; 63]), None);
    }

    #[test]
    fn counters_are_times_and_grow_even_if_time_stands_still() {
        let mut sender = KeySender::new(Cipher::Wep40, Rng::named(1, "ap/wep"));
        let half = Time::ZERO + std::time::Duration::from_millis(1500);
        assert_eq!(sender.next_counter(half), 0x1_8000_0000);
        assert_eq!(sender.next_counter(half), 0x1_8000_0001);
        assert_eq!(sender.next_counter(Time::ZERO), 0x1_8000_0002);
    }

    #[test]
    fn the_group_changes_its_key_and_its_index() {
        let mut sender = KeySender::new(Cipher::Wep40, Rng::named(1, "ap/wep"));
        let first = sender.group().clone();
        sender.change_group();
        assert_eq!((first.index, sender.group().index), (1, 2));
        assert!(first.key != sender.group().key);
        sender.change_group();
        assert_eq!(sender.group().index, 1);
    }
}
