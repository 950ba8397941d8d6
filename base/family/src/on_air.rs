//! Frames of a wireless LAN: what a family takes them apart into. What they carry is encrypted with keys that the frames before
//! them have agreed on, so whoever takes them apart remembers.

use keytoll_crypto_api::Crypto;
use keytoll_trace::Protocol;

use crate::passed::LinkSeal;

/// What a frame carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aired {
    /// A message of the family's own, decrypted if it could be.
    Message {
        /// Its protocol.
        protocol: Protocol,
        /// Who sends it.
        from: [u8; 6],
        /// Whom it is for.
        to: [u8; 6],
        /// The message.
        bytes: Vec<u8>,
        /// Whether it was encrypted.
        seal: LinkSeal,
    },
    /// A PDU as LANs with wires carry it.
    Pdu {
        /// What it is.
        ether_type: u16,
        /// Who sends it.
        from: [u8; 6],
        /// Whom it is for.
        to: [u8; 6],
        /// The PDU.
        pdu: Vec<u8>,
        /// Whether it was encrypted.
        seal: LinkSeal,
    },
}

/// Takes the frames of a wireless LAN apart.
pub trait OnAir {
    /// What a frame without its frame check sequence carries: data that were decrypted are a message as well as a PDU.
    ///
    /// # Errors
    /// Its kind, if it is of no interest.
    fn take(&mut self, frame: &[u8], crypto: &mut dyn Crypto) -> Result<Vec<Aired>, &'static str>;

    /// How many keys it was given.
    fn keys(&self) -> usize {
        0
    }

    /// How many frames it has decrypted.
    fn opened(&self) -> u64 {
        0
    }
}
