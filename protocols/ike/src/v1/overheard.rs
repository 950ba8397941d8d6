//! Observed ISAKMP SAs of others: with the encryption key and a capture of phase 1 their messages can be decrypted. RFC 2409
//! appendix B.
//!
//! The suite and both public values are in the clear; with the key they give the IV of phase 1, whose last block gives those of
//! all later exchanges. The HASH payloads cannot be verified, because SKEYID_a is unknown.

use std::collections::BTreeMap;

use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::suite::Suite;

use super::keys::Keys;
use super::number::AuthenticationMethod;
use super::proposal::Phase1Transform;
use super::protect::{self, Iv, OpenError, Opened};
use super::wire::{Message, Payload, SecurityAssociation};
use crate::wire::Header;

/// Maximum number of exchanges of an SA that are followed in parallel.
const EXCHANGES_MAX: usize = 1024;
/// Maximum number of messages of an exchange that advance its chain; the longest one of RFC 2409 has three.
const MESSAGES_MAX: usize = 16;

/// The known state of an observed ISAKMP SA.
#[derive(Debug, Clone, Default)]
pub struct Overheard {
    chosen: Option<(Suite, AuthenticationMethod)>,
    public_i: Option<Vec<u8>>,
    public_r: Option<Vec<u8>>,
    /// By message id; 0 is phase 1.
    exchanges: BTreeMap<u32, Chain>,
}

/// Why a message could not be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    /// Suite or public values are missing.
    #[error("phase 1 was not seen whole, and with it the IV")]
    NoPhase1,
    /// Other keys.
    #[error("the key does not have the length that the suite wants")]
    KeyLength,
    /// It decrypts under none of the possible IVs.
    #[error(transparent)]
    Message(#[from] OpenError),
}

impl Overheard {
    /// Notes a message in the clear.
    pub fn note(&mut self, message: &Message<'_>) {
        for payload in &message.payloads {
            match payload {
                Payload::SecurityAssociation(sa) => self.chosen = chosen(sa).or(self.chosen),
                Payload::KeyExchange(public) => self.note_public(public),
                _ => {}
            }
        }
    }

    /// The suite and the authentication method, once they are chosen.
    pub const fn chosen(&self) -> Option<(Suite, AuthenticationMethod)> {
        self.chosen
    }

    /// Notes a public value: the initiator's comes first, and may be retransmitted.
    fn note_public(&mut self, public: &[u8]) {
        match &self.public_i {
            None => self.public_i = Some(public.to_vec()),
            Some(first) if first == public => {}
            Some(_) => _ = self.public_r.get_or_insert_with(|| public.to_vec()),
        }
    }

    /// Decrypts a message; with `arrives` the IV advances, as it does for the receiver.
    ///
    /// # Errors
    /// The message was not encrypted with the key of the exchange, or is malformed.
    pub fn open(
        &mut self,
        (header, message): (&Header, &[u8]),
        key: &[u8],
        arrives: bool,
        crypto: &mut dyn Crypto,
    ) -> Result<Opened, NotOpened> {
        let (suite, _) = self.chosen.ok_or(NotOpened::NoPhase1)?;
        let keys = Keys::only_encryption(&suite, key).ok_or(NotOpened::KeyLength)?;
        let mut chain = self.chain(header.message_id, &keys, crypto)?;
        let (before, opened) = chain.open(header, message, &keys, crypto)?;
        if arrives {
            chain.link(before, opened.next_iv);
        }
        if self.exchanges.len() < EXCHANGES_MAX {
            self.exchanges.insert(header.message_id, chain);
        }
        Ok(opened)
    }

    /// The state of the exchange with this message id.
    fn chain(&mut self, id: u32, keys: &Keys, crypto: &mut dyn Crypto) -> Result<Chain, NotOpened> {
        if let Some(chain) = self.exchanges.remove(&id) {
            return Ok(chain);
        }
        if id == 0 {
            let (public_i, public_r) =
                self.public_i.as_ref().zip(self.public_r.as_ref()).ok_or(NotOpened::NoPhase1)?;
            return Ok(Chain::new(Iv::first(crypto, keys, public_i, public_r)));
        }
        let phase1 = self.chain(0, keys, crypto)?;
        let first = phase1.last().of_exchange(crypto, keys, id);
        self.exchanges.insert(0, phase1);
        Ok(Chain::new(first))
    }
}

/// The chosen transform; `None` while there is a choice.
fn chosen(sa: &SecurityAssociation<'_>) -> Option<(Suite, AuthenticationMethod)> {
    let mut transforms = sa.proposals().flat_map(|proposal| proposal.transforms());
    let only = transforms.next().filter(|_| transforms.next().is_none())?;
    let transform = Phase1Transform::read(&only)?;
    Some((transform.to_suite(), transform.method))
}

/// The IVs of an exchange.
#[derive(Debug, Clone)]
struct Chain {
    first: Iv,
    /// For each message the IV with which it was decrypted, and its last block.
    links: Vec<(Iv, Iv)>,
}

impl Chain {
    const fn new(first: Iv) -> Self {
        Self { first, links: Vec::new() }
    }

    fn last(&self) -> Iv {
        self.links.last().map_or(self.first, |(_, after)| *after)
    }

    /// Decrypts a new message with the current IV, or a retransmission with the IV of the original.
    fn open(
        &self,
        header: &Header,
        message: &[u8],
        keys: &Keys,
        crypto: &mut dyn Crypto,
    ) -> Result<(Iv, Opened), OpenError> {
        let with = |iv, crypto: &mut dyn Crypto| Ok((iv, protect::open(header, message, keys, iv, crypto)?));
        let after = Iv::after(message.get(Header::LEN..).unwrap_or_default(), keys);
        if let Some((before, _)) = self.links.iter().find(|(_, end)| *end == after) {
            return with(*before, crypto);
        }
        let newest = with(self.last(), crypto);
        let older = self.links.iter().rev().map(|(before, _)| *before);
        newest.or_else(|error| older.filter_map(|iv| with(iv, crypto).ok()).next().ok_or(error))
    }

    fn link(&mut self, before: Iv, after: Iv) {
        if self.links.len() < MESSAGES_MAX && !self.links.contains(&(before, after)) {
            self.links.push((before, after));
        }
    }
}
