//! CCMP and GCMP, which differ in their AEAD and their nonces. 802.11-2020 §12.5.3, §12.5.5.
//!
//!   Packet Number and Key ID(8) Encrypted Data(*) MIC(8 or 16)

use keytoll_crypto_api::algorithm::Encryption;
use keytoll_crypto_api::{Crypto, Secret, TrafficKey};

use super::header::Header;
use super::packet_number::{HEADER, Received, Sent, check_flags, flags};
use super::{BadKey, CannotSeal, Refused, strip, surround};
use crate::suite::Cipher;

/// 802.11-2020 §12.5.3.3.4: the flag of a management frame in the nonce of CCMP.
const MANAGEMENT: u8 = 0x10;
/// Length of the nonce of CCMP, the longer one.
const NONCE_MAX: usize = 13;

/// Seals under one key.
#[derive(Debug)]
pub struct Sender {
    key: TrafficKey,
    key_id: u8,
    sent: Sent,
}

/// Opens under one key.
#[derive(Debug)]
pub struct Receiver {
    key: TrafficKey,
    key_id: u8,
    pub(super) received: Received,
}

impl Sender {
    pub(super) fn new(cipher: Cipher, key: &Secret, key_id: u8) -> Result<Self, BadKey> {
        Ok(Self { key: traffic_key(cipher, key)?, key_id: key_id & 3, sent: Sent::new() })
    }

    pub(super) fn seal(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), CannotSeal> {
        let header = Header::read(header).ok_or(CannotSeal::Header)?;
        let number = self.sent.next()?;
        let len = body.len();
        surround(body, &cipher_header(number, self.key_id), self.key.encryption.tag_len());
        let (data, mic) = body[HEADER..].split_at_mut(len);
        let (nonce, nonce_len) = nonce(self.key.encryption, header, number);
        crypto.encrypt_traffic(&mut self.key, &nonce[..nonce_len], &header.aad(), data, mic);
        Ok(())
    }

    /// Goes on behind this packet number.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, last: u64) {
        self.sent.skip_to(last);
    }
}

impl Receiver {
    pub(super) fn new(cipher: Cipher, key: &Secret, key_id: u8, last: u64) -> Result<Self, BadKey> {
        Ok(Self { key: traffic_key(cipher, key)?, key_id: key_id & 3, received: Received::new(last) })
    }

    pub(super) fn open(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        let header = Header::read(header).ok_or(Refused::Header)?;
        let mic_len = self.key.encryption.tag_len();
        let len = body.len().checked_sub(HEADER + mic_len).ok_or(Refused::TooShort)?;
        check_flags(body, self.key_id)?;
        let number = packet_number(body);
        self.received.check(header, number)?;
        let (data, mic) = body[HEADER..].split_at_mut(len);
        let (nonce, nonce_len) = nonce(self.key.encryption, header, number);
        crypto
            .decrypt_traffic(&mut self.key, &nonce[..nonce_len], &header.aad(), data, mic)
            .map_err(|_| Refused::Mic)?;
        self.received.accept(header, number);
        strip(body, HEADER, mic_len);
        Ok(())
    }
}

/// The key as the trait takes it; `key` has been checked to be as long as the cipher says.
fn traffic_key(cipher: Cipher, key: &Secret) -> Result<TrafficKey, BadKey> {
    let encryption = match cipher {
        Cipher::Ccmp128 => Encryption::Aes128Ccm8,
        Cipher::Ccmp256 => Encryption::Aes256Ccm16,
        Cipher::Gcmp128 => Encryption::Aes128Gcm16,
        Cipher::Gcmp256 => Encryption::Aes256Gcm16,
        _ => return Err(BadKey { cipher, len: key.len() }),
    };
    Ok(TrafficKey::new(encryption, None, key.clone(), Secret::default()))
}

fn cipher_header(number: u64, key_id: u8) -> [u8; HEADER] {
    let [pn0, pn1, pn2, pn3, pn4, pn5, ..] = number.to_le_bytes();
    [pn0, pn1, 0, flags(key_id), pn2, pn3, pn4, pn5]
}

/// The number in a body that is long enough.
fn packet_number(body: &[u8]) -> u64 {
    u64::from_le_bytes([body[0], body[1], body[4], body[5], body[6], body[7], 0, 0])
}

// 802.11-2020 §12.5.3.3.4 and §12.5.5.3.4: A2 and the packet number, the most significant octet first; in front of them,
// with CCMP only, an octet of the TID and whether this is a management frame.
fn nonce(encryption: Encryption, header: Header<'_>, number: u64) -> ([u8; NONCE_MAX], usize) {
    let (mut nonce, from) = ([0; NONCE_MAX], usize::from(encryption.is_ccm()));
    if encryption.is_ccm() {
        nonce[0] = header.tid() | if header.is_management() { MANAGEMENT } else { 0 };
    }
    nonce[from..from + 6].copy_from_slice(&header.transmitter());
    nonce[from + 6..from + 12].copy_from_slice(&number.to_be_bytes()[2..]);
    (nonce, from + 12)
}
