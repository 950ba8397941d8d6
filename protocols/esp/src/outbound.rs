//! Packets on their way out, RFC 4303 §3.3.

use keytoll_engine::{Crypto, Rng};

use crate::{HEADER_LEN, Keys};

/// The sending half of an SA.
#[derive(Debug)]
pub struct Outbound {
    spi: u32,
    keys: Keys,
    pub(crate) sequence: u32,
}

/// The sequence number would repeat: RFC 4303 §3.3.3 forbids sending, the SA must be rekeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sequence number is exhausted")]
pub struct SequenceExhausted;

impl Outbound {
    /// A fresh SA towards the peer that chose `spi`.
    pub const fn new(spi: u32, keys: Keys) -> Self {
        Self { spi, keys, sequence: 0 }
    }

    /// The SPI the peer chose.
    pub const fn spi(&self) -> u32 {
        self.spi
    }

    /// Seals a payload that begins with a header of type `next_header`.
    pub fn seal(
        &mut self,
        next_header: u8,
        payload: &[u8],
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Result<Vec<u8>, SequenceExhausted> {
        self.sequence = self.sequence.checked_add(1).ok_or(SequenceExhausted)?;
        let mut packet = self.frame(next_header, payload, rng);
        self.protect(&mut packet, crypto);
        Ok(packet)
    }

    /// Layout: SPI(4) Sequence(4) IV(*) Payload(*) Padding(*) PadLength(1) NextHeader(1) ICV(*), nothing encrypted yet.
    fn frame(&self, next_header: u8, payload: &[u8], rng: &mut Rng) -> Vec<u8> {
        let iv_len = self.keys.encryption.iv_len();
        let padding = self.keys.alignment() - 1 - (payload.len() + 1) % self.keys.alignment();
        let length = HEADER_LEN + iv_len + payload.len() + padding + 2 + self.keys.icv_len();
        let mut packet = Vec::with_capacity(length);
        packet.extend_from_slice(&self.spi.to_be_bytes());
        packet.extend_from_slice(&self.sequence.to_be_bytes());
        self.push_iv(&mut packet, rng);
        packet.extend_from_slice(payload);
        // RFC 4303 §2.4: the padding counts 1, 2, 3, …
        packet.extend((1..).take(padding));
        packet.push(u8::try_from(padding).expect("padding is shorter than a cipher block"));
        packet.push(next_header);
        packet.resize(length, 0);
        packet
    }

    /// CBC wants an unpredictable IV (RFC 3602 §3); counter modes only a fresh one (RFC 4106 §3.1): the sequence number.
    fn push_iv(&self, packet: &mut Vec<u8>, rng: &mut Rng) {
        let iv_len = self.keys.encryption.iv_len();
        if self.keys.encryption.block_len() > 1 {
            let start = packet.len();
            packet.resize(start + iv_len, 0);
            rng.fill(&mut packet[start..]);
        } else if iv_len == 8 {
            packet.extend_from_slice(&u64::from(self.sequence).to_be_bytes());
        }
    }

    fn protect(&self, packet: &mut [u8], crypto: &mut dyn Crypto) {
        let Keys { encryption, integrity, encryption_key, integrity_key } = &self.keys;
        let text_at = HEADER_LEN + encryption.iv_len();
        let (text, icv) = packet.split_at_mut(packet.len() - self.keys.icv_len());
        let (head, body) = text.split_at_mut(text_at);
        let (aad, iv) = head.split_at(HEADER_LEN);
        if let Some(integrity) = integrity {
            crypto.encrypt(*encryption, encryption_key, iv, &[], body, &mut []);
            icv.copy_from_slice(&crypto.mac(*integrity, integrity_key, &[text]));
        } else {
            crypto.encrypt(*encryption, encryption_key, iv, aad, body, icv);
        }
    }
}
