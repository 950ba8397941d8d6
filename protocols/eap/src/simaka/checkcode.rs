//! AT_CHECKCODE: both sides authenticate the identity messages they have seen. Read RFC 4187 §10.13 first.

use keytoll_crypto_api::{Crypto, Secret};

use super::flavour::Flavour;
use super::message::{Attributes, Fault};

/// The AKA-Identity packets of a conversation, in the order they were sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript(Vec<u8>);

impl Transcript {
    pub(super) fn push(&mut self, packet: &[u8]) {
        self.0.extend_from_slice(packet);
    }

    /// The value of AT_CHECKCODE: empty if there were no identity messages.
    pub(super) fn checkcode(&self, flavour: Flavour, crypto: &mut dyn Crypto) -> Vec<u8> {
        if self.0.is_empty() {
            return Vec::new();
        }
        crypto.hash(flavour.checkcode(), &[&self.0]).to_vec()
    }

    /// Verifies the other side's AT_CHECKCODE, if it sent one.
    pub(super) fn verify(
        &self,
        flavour: Flavour,
        attributes: &Attributes<'_>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Fault> {
        let Some(theirs) = attributes.checkcode() else { return Ok(()) };
        let ours = Secret::new(self.checkcode(flavour, crypto));
        (ours == Secret::from(theirs)).then_some(()).ok_or(Fault::Contradiction("AT_CHECKCODE"))
    }
}
