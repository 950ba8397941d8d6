//! Encrypted messages: RFC 2409 appendix B. Everything after the header is one CBC plaintext, padded with zeros; the IV is
//! the last block of the preceding message in the same exchange.

use keytoll_crypto_api::{Crypto, Digest, about};
use keytoll_net::wire::{DecodeError, Reader};

use super::endpoint::Env;
use super::keys::{Keys, hash_1};
use super::number::{INFORMATIONAL, payload};
use super::phase1::header;
use super::sa::Core;
use super::transmission::Packet;
use super::wire::payload::{Located, read_chain};
use crate::number::{ExchangeType, PayloadType};
use crate::wire::message::patch_length;
use crate::wire::{Header, MessageBuilder};

/// The longest block of any cipher.
const BLOCK_LEN_MAX: usize = 16;

/// The IV of the next message of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iv([u8; BLOCK_LEN_MAX]);

impl Iv {
    /// RFC 2409 appendix B: the IV of phase 1, hash(g^xi | g^xr).
    pub fn first(crypto: &mut dyn Crypto, keys: &Keys, public_i: &[u8], public_r: &[u8]) -> Self {
        Self::from_bytes(&about(crypto, "IV", |crypto| crypto.hash(keys.hash(), &[public_i, public_r])))
    }

    /// RFC 2409 appendix B: the IV of an exchange under the SA, hash(last block of phase 1 | M-ID).
    pub fn of_exchange(self, crypto: &mut dyn Crypto, keys: &Keys, message_id: u32) -> Self {
        let last = self.cut(keys);
        let parts = [last, &message_id.to_be_bytes()];
        Self::from_bytes(&about(crypto, "IV", |crypto| crypto.hash(keys.hash(), &parts)))
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut iv = [0; BLOCK_LEN_MAX];
        let length = bytes.len().min(BLOCK_LEN_MAX);
        iv[..length].copy_from_slice(&bytes[..length]);
        Self(iv)
    }

    fn cut(&self, keys: &Keys) -> &[u8] {
        &self.0[..keys.suite().encryption.block_len()]
    }

    /// The last block of a ciphertext.
    pub(super) fn after(ciphertext: &[u8], keys: &Keys) -> Self {
        let block = keys.suite().encryption.block_len();
        Self::from_bytes(&ciphertext[ciphertext.len().saturating_sub(block)..])
    }
}

/// Why a message could not be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Not a whole number of blocks.
    #[error("not a whole number of blocks")]
    Length,
    /// It contains nothing, and so nothing that only a holder of the key can have sent.
    #[error("no payloads")]
    Empty,
    /// The plaintext is malformed: the wrong key, most likely.
    #[error("nonsense after decryption: {0}")]
    Nonsense(DecodeError),
}

/// Encrypts a finished message and advances `iv`.
pub fn seal(builder: MessageBuilder, keys: &Keys, iv: &mut Iv, crypto: &mut dyn Crypto) -> Vec<u8> {
    let encryption = keys.suite().encryption;
    let mut w = builder.into_writer();
    let inner = w.len() - Header::LEN;
    w.zeros(inner.next_multiple_of(encryption.block_len()) - inner);
    patch_length(&mut w);
    let data = &mut w.as_mut_slice()[Header::LEN..];
    crypto.encrypt(encryption, keys.encryption(), iv.cut(keys), &[], data, &mut []);
    *iv = Iv::after(data, keys);
    w.finish()
}

/// Which message under an ISAKMP SA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) exchange: ExchangeType,
    pub(super) response: bool,
    pub(super) id: u32,
}

/// A message under an ISAKMP SA: HASH, computed by `hash` over everything after it, then the payloads, encrypted.
pub(super) fn protected(
    core: &Core,
    kind: Kind,
    keys: &Keys,
    iv: &mut Iv,
    payloads: impl FnOnce(&mut MessageBuilder),
    hash: impl FnOnce(&mut dyn Crypto, &[u8]) -> Digest,
    env: &mut Env<'_, '_>,
) -> Packet {
    let Kind { exchange, response, id } = kind;
    let mut m = MessageBuilder::plain(&header(core, exchange, true, id));
    m.append(payload::HASH, false, |w| w.zeros(keys.prf().output_len()));
    let from = m.len();
    payloads(&mut m);
    let (front, rest) = m.as_mut_slice().split_at_mut(from);
    let digest = hash(env.cx.crypto, rest);
    front[from - digest.len()..].copy_from_slice(&digest);
    let payloads = m.payloads();
    Packet { exchange, response, id, payloads, bytes: seal(m, keys, iv, env.cx.crypto) }
}

/// An informational exchange, RFC 2409 §5.7: HDR*, HASH(1), N/D.
pub(super) fn informational(
    core: &Core,
    keys: &Keys,
    phase1: Iv,
    payloads: impl FnOnce(&mut MessageBuilder),
    env: &mut Env<'_, '_>,
) -> Packet {
    let id = env.shared.fresh_message_id();
    let mut iv = phase1.of_exchange(env.cx.crypto, keys, id);
    let kind = Kind { exchange: INFORMATIONAL, response: false, id };
    protected(core, kind, keys, &mut iv, payloads, |crypto, rest| hash_1(crypto, keys, id, rest), env)
}

/// A decrypted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    first: PayloadType,
    plaintext: Vec<u8>,
    /// The IV of the next message, if this one is accepted.
    pub next_iv: Iv,
}

impl Opened {
    /// The payloads; offsets count from the first one.
    ///
    /// # Errors
    /// The plaintext is not a chain of payloads: the wrong key, most likely.
    pub fn payloads(&self) -> Result<Vec<Located<'_>>, DecodeError> {
        read_chain(self.first, &mut Reader::new(&self.plaintext))
    }

    /// The payloads as bytes, padding included.
    pub fn plaintext(&self) -> &[u8] {
        &self.plaintext
    }
}

/// Decrypts a message whose header was read.
///
/// # Errors
/// The ciphertext is not a whole number of blocks, or contains no payloads: the wrong key, most likely.
pub fn open(
    header: &Header,
    message: &[u8],
    keys: &Keys,
    iv: Iv,
    crypto: &mut dyn Crypto,
) -> Result<Opened, OpenError> {
    let encryption = keys.suite().encryption;
    let ciphertext = message.get(Header::LEN..).unwrap_or_default();
    if ciphertext.is_empty() || !ciphertext.len().is_multiple_of(encryption.block_len()) {
        return Err(OpenError::Length);
    }
    let mut plaintext = ciphertext.to_vec();
    let done = crypto.decrypt(encryption, keys.encryption(), iv.cut(keys), &[], &mut plaintext, &[]);
    done.map_err(|_| OpenError::Length)?;
    let opened = Opened { first: header.next_payload, plaintext, next_iv: Iv::after(ciphertext, keys) };
    let payloads = opened.payloads().map_err(OpenError::Nonsense)?;
    if payloads.is_empty() { Err(OpenError::Empty) } else { Ok(opened) }
}
