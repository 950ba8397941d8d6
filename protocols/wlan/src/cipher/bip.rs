//! BIP, which protects management frames to groups: an element with a MIC at the end of the body. 802.11-2020 §12.5.4, §9.4.2.54.
//!
//!   Body(*) Element ID(1) = 76 Length(1) = 16 or 24 Key ID(2) IPN(6) MIC(8 or 16)

use keytoll_crypto_api::algorithm::{Encryption, Prf};
use keytoll_crypto_api::{Crypto, Digest, Secret, TrafficKey};

use super::header::Header;
use super::packet_number::Sent;
use super::{BadKey, CannotSeal, Refused, strip};
use crate::suite::Cipher;

/// The element's ID.
const MANAGEMENT_MIC: u8 = 76;
/// Octets of the element in front of the MIC.
const HEAD: usize = 10;

/// A key, and what it computes MICs with.
enum Key {
    Cmac128(Secret),
    Cmac256(Secret),
    Gmac(TrafficKey),
}

/// Protects what an access point sends to its group.
#[derive(Debug)]
pub struct Sender {
    key: Key,
    key_id: u16,
    sent: Sent,
}

/// Checks what a station receives as a member of a group.
#[derive(Debug)]
pub struct Receiver {
    key: Key,
    key_id: u16,
    last: u64,
}

impl Sender {
    /// Sends under an IGTK, whose key ID is 4 or 5, or a BIGTK, whose is 6 or 7.
    ///
    /// # Errors
    /// The key is none of the cipher, or the cipher not BIP.
    pub fn new(cipher: Cipher, key: &Secret, key_id: u16) -> Result<Self, BadKey> {
        Ok(Self { key: Key::new(cipher, key)?, key_id, sent: Sent::new() })
    }

    /// Appends the element to the body of a frame.
    ///
    /// # Errors
    /// The key is used up, or the header is not of a management frame.
    pub fn seal(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), CannotSeal> {
        let header = management_header(header).ok_or(CannotSeal::Header)?;
        let number = self.sent.next()?;
        let mic_len = self.key.mic_len();
        body.extend_from_slice(&[MANAGEMENT_MIC, (HEAD - 2 + mic_len) as u8]);
        body.extend_from_slice(&self.key_id.to_le_bytes());
        body.extend_from_slice(&number.to_le_bytes()[..6]);
        body.resize(body.len() + mic_len, 0);
        let mic = self.key.mic(header, number, body, crypto);
        let at = body.len() - mic_len;
        body[at..].copy_from_slice(&mic);
        Ok(())
    }

    /// Goes on behind this packet number.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, last: u64) {
        self.sent.skip_to(last);
    }
}

impl Receiver {
    /// Receives under an IGTK or BIGTK, beginning behind the packet number `last`, which came with the key.
    ///
    /// # Errors
    /// The key is none of the cipher, or the cipher not BIP.
    pub fn new(cipher: Cipher, key: &Secret, key_id: u16, last: u64) -> Result<Self, BadKey> {
        Ok(Self { key: Key::new(cipher, key)?, key_id, last })
    }

    // 802.11-2020 §12.5.4.6: the packet number must be above the last one, and the MIC right; then the element is removed.
    /// Checks the body of a frame and removes the element.
    ///
    /// # Errors
    /// Why the frame is discarded.
    pub fn open(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        let header = management_header(header).ok_or(Refused::Header)?;
        let mic_len = self.key.mic_len();
        let at = body.len().checked_sub(HEAD + mic_len).ok_or(Refused::NoManagementMic)?;
        let [id, len, key_0, key_1, pn0, pn1, pn2, pn3, pn4, pn5] = body[at..][..HEAD] else {
            unreachable!("as many octets as were asked for")
        };
        if [id, len] != [MANAGEMENT_MIC, (HEAD - 2 + mic_len) as u8] {
            return Err(Refused::NoManagementMic);
        }
        if u16::from_le_bytes([key_0, key_1]) != self.key_id {
            return Err(Refused::KeyId);
        }
        let number = u64::from_le_bytes([pn0, pn1, pn2, pn3, pn4, pn5, 0, 0]);
        if number <= self.last {
            return Err(Refused::Replayed);
        }
        self.check(header, number, body, crypto)?;
        self.last = number;
        strip(body, 0, HEAD + mic_len);
        Ok(())
    }

    /// Checks the MIC, which is zero while it is computed.
    fn check(
        &mut self,
        header: Header<'_>,
        number: u64,
        body: &mut [u8],
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        let at = body.len() - self.key.mic_len();
        let mut received = Digest::zeroed(self.key.mic_len());
        received.copy_from_slice(&body[at..]);
        body[at..].fill(0);
        if self.key.mic(header, number, body, crypto).matches(&received) { Ok(()) } else { Err(Refused::Mic) }
    }
}

fn management_header(octets: &[u8]) -> Option<Header<'_>> {
    Header::read(octets).filter(|header| header.is_management())
}

impl Key {
    fn new(cipher: Cipher, key: &Secret) -> Result<Self, BadKey> {
        BadKey::check(cipher, key)?;
        let gmac = |encryption| Self::Gmac(TrafficKey::new(encryption, None, key.clone(), Secret::default()));
        match cipher {
            Cipher::BipCmac128 => Ok(Self::Cmac128(key.clone())),
            Cipher::BipCmac256 => Ok(Self::Cmac256(key.clone())),
            Cipher::BipGmac128 => Ok(gmac(Encryption::Aes128Gmac)),
            Cipher::BipGmac256 => Ok(gmac(Encryption::Aes256Gmac)),
            _ => Err(BadKey { cipher, len: key.len() }),
        }
    }

    // 802.11-2020 §9.4.2.54: the MIC of BIP-CMAC-128 has 8 octets, the others' 16.
    const fn mic_len(&self) -> usize {
        match self {
            Self::Cmac128(_) => 8,
            Self::Cmac256(_) | Self::Gmac(_) => 16,
        }
    }

    /// The MIC over a body whose MIC is zero.
    fn mic(&mut self, header: Header<'_>, number: u64, body: &mut [u8], crypto: &mut dyn Crypto) -> Digest {
        let (mut mic, aad) = (Digest::zeroed(16), header.bip_aad());
        match self {
            Self::Cmac128(key) => mic = crypto.prf(Prf::AesCmac128, key, &[&aad, body]),
            Self::Cmac256(key) => mic.copy_from_slice(&super::cmac::aes_256_cmac(key, [&aad, body], crypto)),
            Self::Gmac(key) => crypto.encrypt_traffic(key, &nonce(header, number), &aad, body, &mut mic),
        }
        mic.truncate(self.mic_len());
        mic
    }
}

// 802.11-2020 §12.5.4.2: A2 and the packet number, the most significant octet first.
fn nonce(header: Header<'_>, number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..6].copy_from_slice(&header.transmitter());
    nonce[6..].copy_from_slice(&number.to_be_bytes()[2..]);
    nonce
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}
