//! ESP as RFC 4303 defines it: one SA pair seals what leaves and opens what arrives.
//!
//! * [`Outbound`] numbers, pads, encrypts and authenticates a packet.
//! * [`Inbound`] checks, decrypts and refuses replays ([`replay`]).
//!
//! The caller decides what goes into an SA (selectors, policies) and what carries the packet (IP or UDP 4500).

mod inbound;
mod outbound;
pub mod replay;

use keytoll_engine::algorithm::{Encryption, Integrity};
use keytoll_engine::crypto::Secret;

pub use inbound::{Dropped, Inbound, Opened};
pub use outbound::{Outbound, SequenceExhausted};

/// RFC 4303 §2: SPI(4) Sequence Number(4) come first.
const HEADER_LEN: usize = 8;

/// The algorithms and keys of one direction of an SA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Encryption.
    pub encryption: Encryption,
    /// Integrity; none with an AEAD.
    pub integrity: Option<Integrity>,
    /// [`Encryption::key_len`] bytes, salt last.
    pub encryption_key: Secret,
    /// [`Integrity::key_len`] bytes, or none.
    pub integrity_key: Secret,
}

impl Keys {
    /// Length of the integrity check value at the end of every packet.
    pub fn icv_len(&self) -> usize {
        self.integrity.map_or(self.encryption.tag_len(), Integrity::tag_len)
    }

    /// RFC 4303 §2.4: ciphertext ends on a multiple of 4, and of the cipher's block.
    const fn alignment(&self) -> usize {
        let block = self.encryption.block_len();
        if block > 4 { block } else { 4 }
    }
}

#[cfg(test)]
mod tests;
