//! Packets that arrive, RFC 4303 §3.4.

use keytoll_engine::Crypto;
use keytoll_engine::crypto::Rejected;
use keytoll_engine::wire::{DecodeError, Reader};

use crate::replay::Window;
use crate::{HEADER_LEN, Keys};

/// The receiving half of an SA.
#[derive(Debug)]
pub struct Inbound {
    spi: u32,
    keys: Keys,
    window: Window,
}

/// A packet that was accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened {
    /// The type of the payload's first header.
    pub next_header: u8,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Why a packet was not accepted, in the words of RFC 4301 §4.4.2 and RFC 4303 §3.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// Too short or of a length the cipher cannot have made.
    #[error("malformed: {0}")]
    Malformed(DecodeError),
    /// A length that the cipher's blocks do not allow.
    #[error("ciphertext is not a multiple of the block size")]
    Blocks,
    /// Seen before or too old.
    #[error("replayed packet")]
    Replay,
    /// The integrity check value is wrong.
    #[error("integrity check failed")]
    Integrity,
    /// Authentic, but the padding is not what RFC 4303 §2.4 says.
    #[error("bad padding")]
    Padding,
}

impl Dropped {
    /// The reason as traces name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::Blocks => "esp: malformed",
            Self::Replay => "esp: replayed packet",
            Self::Integrity => "esp: integrity check failed",
            Self::Padding => "esp: bad padding",
        }
    }
}

impl Inbound {
    /// A fresh SA under the SPI we chose.
    pub fn new(spi: u32, keys: Keys) -> Self {
        Self { spi, keys, window: Window::default() }
    }

    /// The SPI we chose.
    pub const fn spi(&self) -> u32 {
        self.spi
    }

    /// Opens a packet whose SPI led to this SA.
    pub fn open(&mut self, packet: &[u8], crypto: &mut dyn Crypto) -> Result<Opened, Dropped> {
        let sequence = self.sequence(packet).map_err(Dropped::Malformed)?;
        // RFC 4303 §3.4.3: the window is looked at first, because it costs nothing.
        if !self.window.accepts(sequence) {
            return Err(Dropped::Replay);
        }
        let body = self.decrypt(packet, crypto)?;
        self.window.mark(sequence);
        Self::unpad(body)
    }

    fn sequence(&self, packet: &[u8]) -> Result<u32, DecodeError> {
        let mut r = Reader::new(packet);
        r.skip(4, "SPI")?;
        let sequence = r.u32("Sequence Number")?;
        r.skip(self.keys.encryption.iv_len(), "IV")?;
        r.skip(2 + self.keys.icv_len(), "Pad Length, Next Header, ICV")?;
        Ok(sequence)
    }

    fn decrypt(&self, packet: &[u8], crypto: &mut dyn Crypto) -> Result<Vec<u8>, Dropped> {
        let Keys { encryption, integrity, encryption_key, integrity_key } = &self.keys;
        let (text, icv) = packet.split_at(packet.len() - self.keys.icv_len());
        let (head, ciphertext) = text.split_at(HEADER_LEN + encryption.iv_len());
        if ciphertext.len() % encryption.block_len() != 0 {
            return Err(Dropped::Blocks);
        }
        let (aad, iv) = head.split_at(HEADER_LEN);
        let mut body = ciphertext.to_vec();
        let refused = |Rejected| Dropped::Integrity;
        if let Some(integrity) = integrity {
            crypto.verify_mac(*integrity, integrity_key, &[text], icv).map_err(refused)?;
            crypto.decrypt(*encryption, encryption_key, iv, &[], &mut body, &[]).map_err(refused)?;
        } else {
            crypto.decrypt(*encryption, encryption_key, iv, aad, &mut body, icv).map_err(refused)?;
        }
        Ok(body)
    }

    fn unpad(mut body: Vec<u8>) -> Result<Opened, Dropped> {
        let next_header = body.pop().ok_or(Dropped::Padding)?;
        let padding = usize::from(body.pop().ok_or(Dropped::Padding)?);
        let length = body.len().checked_sub(padding).ok_or(Dropped::Padding)?;
        // RFC 4303 §2.4: the receiver SHOULD inspect the padding.
        if !body[length..].iter().copied().eq((1..).take(padding)) {
            return Err(Dropped::Padding);
        }
        body.truncate(length);
        Ok(Opened { next_header, payload: body })
    }
}
