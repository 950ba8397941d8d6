//! The Encrypted payload: RFC 7296 §3.14 (CBC and a separate MAC), RFC 5282 §3 to §5 (AEAD), RFC 5930 (CTR), RFC 7383 §2.5
//! (fragments).
//!
//! Both directions work in place: [`Protection::seal`] encrypts the buffer in which the message was built,
//! [`Protection::open`] decrypts the buffer in which it was received.
//!
//! ```text
//!   header  [plain payloads]  generic header [numbers]  IV  payloads  padding  Pad Length  ICV
//!   |-- associated data (AEAD) ------------------------|    |-- encrypted -------------|
//!   |-- covered by the ICV (separate MAC) ---------------------------------------------|
//! ```

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::keys::{IkeKeys, Role};
use crate::number::PayloadType;
use crate::wire::message::patch_length;
use crate::wire::payload::{Generic, PAYLOADS_MAX, read_chain};
use crate::wire::{EncryptedFragment, Header, MessageBuilder, Payload};

/// Encrypts what one end of an IKE SA sends and decrypts what it receives.
#[derive(Debug)]
pub struct Protection {
    keys: IkeKeys,
    role: Role,
    next_iv: u64,
}

/// Why a protected message cannot be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its outside is malformed.
    #[error("{0}")]
    Malformed(#[from] DecodeError),
    /// It has no Encrypted payload.
    #[error("not encrypted")]
    NotProtected,
    /// Its integrity check value is invalid: damaged, forged, or under other keys.
    #[error("not authentic")]
    NotAuthentic,
    /// It is authentic, but its padding is longer than itself.
    #[error("padding of {0} bytes does not fit")]
    Padding(u8),
}

impl Protection {
    /// For the end `role` of the IKE SA.
    pub const fn new(keys: IkeKeys, role: Role) -> Self {
        Self { keys, role, next_iv: 0 }
    }

    /// The keys of the IKE SA.
    pub const fn keys(&self) -> &IkeKeys {
        &self.keys
    }

    /// Drops SK_pi and SK_pr, which are not needed once both sides are authenticated.
    pub(super) fn forget_auth_keys(&mut self) {
        self.keys.forget_auth();
    }

    /// Which end of the IKE SA this is.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Starts a message for [`Protection::seal`] or [`super::fragment::seal`].
    pub fn begin(&self, header: &Header) -> MessageBuilder {
        MessageBuilder::protected(header, self.encryption().iv_len())
    }

    /// Encrypts a message started with [`Protection::begin`].
    pub fn seal(&mut self, message: MessageBuilder, rng: &mut Rng, crypto: &mut dyn Crypto) -> Vec<u8> {
        let (writer, inner_from, _) = message.into_parts();
        self.finish(writer, inner_from, rng, crypto)
    }

    /// The length of a message after encryption.
    pub fn sealed_len(&self, message: &MessageBuilder) -> usize {
        let inner_from = Header::LEN + Generic::LEN + self.encryption().iv_len();
        let inner = message.len() - inner_from;
        message.len() + self.padding_len(inner) + 1 + self.tag_len()
    }

    /// Pads, encrypts and authenticates everything from `inner_from` on, which follows the only payload header and its IV.
    pub(super) fn finish(
        &mut self,
        mut w: Writer,
        inner_from: usize,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Vec<u8> {
        let padding = self.padding_len(w.len() - inner_from);
        w.zeros(padding);
        w.u8(u8::try_from(padding).expect("padding is shorter than a block"));
        let tag_from = w.len();
        w.zeros(self.tag_len());
        let payload_len =
            u16::try_from(w.len() - Header::LEN).expect("what we send fits a 16-bit payload length");
        w.patch_u16(Header::LEN + 2, payload_len);
        patch_length(&mut w);
        self.fill_iv(&mut w.as_mut_slice()[inner_from - self.encryption().iv_len()..inner_from], rng);
        self.encrypt(w.as_mut_slice(), inner_from, tag_from, crypto);
        w.finish()
    }

    fn encrypt(&self, message: &mut [u8], inner_from: usize, tag_from: usize, crypto: &mut dyn Crypto) {
        let (covered, tag) = message.split_at_mut(tag_from);
        let (head, inner) = covered.split_at_mut(inner_from);
        let (aad, iv) = head.split_at(inner_from - self.encryption().iv_len());
        let key = self.keys.encryption(self.role);
        match self.integrity() {
            None => crypto.encrypt(self.encryption(), key, iv, aad, inner, tag),
            Some(integrity) => {
                crypto.encrypt(self.encryption(), key, iv, &[], inner, &mut []);
                let mac = crypto.mac(integrity, self.keys.integrity(self.role), &[head, inner]);
                tag.copy_from_slice(&mac);
            }
        }
    }

    fn fill_iv(&mut self, iv: &mut [u8], rng: &mut Rng) {
        // RFC 7296 §3.14: the IV of CBC must be unpredictable.
        if self.encryption().block_len() > 1 {
            return rng.fill(iv);
        }
        // RFC 5282 §3.1: the IV of an AEAD must never repeat under a key, which a counter ensures. The same for CTR, RFC 5930 §2.
        iv.copy_from_slice(&self.next_iv.to_be_bytes()[..iv.len()]);
        self.next_iv += 1;
    }

    /// Checks and decrypts a received datagram (without non-ESP marker) in place.
    ///
    /// # Errors
    /// The message is malformed or not authentic.
    pub fn open<'m>(&self, message: &'m mut [u8], crypto: &mut dyn Crypto) -> Result<Opened<'m>, OpenError> {
        let envelope = Envelope::read(message)?;
        let (inner_from, tag_from) = self.divide(&envelope, message.len())?;
        self.decrypt(message, inner_from, tag_from, crypto)?;
        let message = &*message;
        // RFC 7296 §3.14: Pad Length is the last encrypted octet and counts the padding before it.
        let padding = message[tag_from - 1];
        let inner_to = (tag_from - 1)
            .checked_sub(usize::from(padding))
            .filter(|&to| to >= inner_from)
            .ok_or(OpenError::Padding(padding))?;
        Ok(Opened { envelope, message: &message[..inner_to], inner_from })
    }

    /// The offsets of the ciphertext and the ICV; there is at least a Pad Length, and whole blocks.
    fn divide(&self, envelope: &Envelope, message_len: usize) -> Result<(usize, usize), OpenError> {
        let iv_len = self.encryption().iv_len();
        let overhead = iv_len + self.tag_len();
        let body_len = message_len - envelope.body_from;
        let inner_len = body_len.saturating_sub(overhead);
        if inner_len == 0 || !inner_len.is_multiple_of(self.encryption().block_len()) {
            let (field, problem) = ("encrypted payload", Problem::Length(body_len as u64));
            return Err(DecodeError { field, offset: envelope.body_from, problem }.into());
        }
        let inner_from = envelope.body_from + iv_len;
        Ok((inner_from, inner_from + inner_len))
    }

    fn decrypt(
        &self,
        message: &mut [u8],
        inner_from: usize,
        tag_from: usize,
        crypto: &mut dyn Crypto,
    ) -> Result<(), OpenError> {
        let sender = self.role.peer();
        let (covered, tag) = message.split_at_mut(tag_from);
        let (head, inner) = covered.split_at_mut(inner_from);
        let (aad, iv) = head.split_at(inner_from - self.encryption().iv_len());
        let mut aead: (&[u8], &[u8]) = (aad, tag);
        // RFC 7296 §3.14: the integrity check comes first; a message that fails is never decrypted.
        if let Some(integrity) = self.integrity() {
            let key = self.keys.integrity(sender);
            crypto.verify_mac(integrity, key, &[head, inner], tag).map_err(|_| OpenError::NotAuthentic)?;
            aead = (&[], &[]);
        }
        let key = self.keys.encryption(sender);
        crypto.decrypt(self.encryption(), key, iv, aead.0, inner, aead.1).map_err(|_| OpenError::NotAuthentic)
    }

    pub(super) const fn encryption(&self) -> Encryption {
        self.keys.suite().encryption
    }

    const fn integrity(&self) -> Option<Integrity> {
        self.keys.suite().integrity
    }

    pub(super) fn tag_len(&self) -> usize {
        self.integrity().map_or(self.encryption().tag_len(), Integrity::tag_len)
    }

    /// The minimum padding that makes `inner` bytes and Pad Length whole blocks.
    fn padding_len(&self, inner: usize) -> usize {
        let block = self.encryption().block_len();
        (inner + 1).next_multiple_of(block) - inner - 1
    }
}

/// The unencrypted part of a protected message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The header.
    pub header: Header,
    /// Number and total, if this is a fragment.
    pub fragment: Option<(u16, u16)>,
    /// The type of the first payload inside; 0 if there is none, or in fragments after the first.
    pub first: PayloadType,
    body_from: usize,
}

/// More bytes in front of the Encrypted payload are refused: no exchange supported here has payloads there, and all of it
/// must be authenticated with the rest.
pub const CLEARTEXT_BYTES_MAX: usize = 1024;

impl Envelope {
    /// Reads the header and finds the Encrypted payload, which must be the last, after at most [`CLEARTEXT_BYTES_MAX`].
    ///
    /// # Errors
    /// The header or a payload is malformed, or the Encrypted payload is missing, not the last, or too far behind.
    pub fn read(message: &[u8]) -> Result<Self, OpenError> {
        let mut r = Reader::new(message);
        let header = Header::read(&mut r)?;
        let mut kind = header.next_payload;
        for _ in 0..PAYLOADS_MAX {
            if kind == PayloadType::NONE {
                return Err(OpenError::NotProtected);
            }
            let cleartext = r.offset() - Header::LEN;
            if cleartext > CLEARTEXT_BYTES_MAX {
                let problem = Problem::Length(cleartext as u64);
                return Err(r.error("payloads in front of the encrypted one", problem).into());
            }
            let generic = Generic::read(&mut r)?;
            let mut body = r.sub(generic.body_len, "payload body")?;
            if matches!(kind, PayloadType::SK | PayloadType::SKF) {
                // RFC 7296 §3.14: it must be the last payload in the message.
                r.end("message")?;
                let fragment = (kind == PayloadType::SKF)
                    .then(|| EncryptedFragment::read_numbers(&mut body))
                    .transpose()?;
                return Ok(Self { header, fragment, first: generic.next, body_from: body.offset() });
            }
            kind = generic.next;
        }
        Err(r.error("payload count", Problem::Length(PAYLOADS_MAX as u64 + 1)).into())
    }
}

/// A message that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened<'m> {
    /// Its unencrypted part.
    pub envelope: Envelope,
    message: &'m [u8],
    inner_from: usize,
}

impl<'m> Opened<'m> {
    /// The payloads inside; fragments have none by themselves.
    ///
    /// # Errors
    /// A payload is truncated or malformed.
    pub fn payloads(&self) -> Result<Vec<Payload<'m>>, DecodeError> {
        let mut r = Reader::new(self.message);
        r.skip(self.inner_from, "opened message")?;
        read_chain(self.envelope.first, &mut r)
    }

    /// The decrypted bytes, without padding.
    pub fn plaintext(&self) -> &'m [u8] {
        &self.message[self.inner_from..]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::number::{ExchangeType, NotifyType};
    use crate::v2::keys::Nonces;
    use crate::wire::{Flags, Nonce, Notify};
    use keytoll_crypto::Real;
    use keytoll_crypto_api::Rng;
    use keytoll_crypto_api::suite::Suite;
    use proptest::prelude::*;

    /// One of every construction: AEADs, CBC of both block sizes, CTR, no encryption.
    const SUITES: [&str; 7] = [
        "aes128gcm16-prfsha256-x25519",
        "aes256ccm8-prfsha256-x25519",
        "chacha20poly1305-prfsha256-x25519",
        "aes256-sha256-x25519",
        "3des-md5-modp1024",
        "aes128ctr-sha1-x25519",
        "null-sha512-x25519",
    ];

    pub(in crate::v2) fn ends(suite: &str) -> (Protection, Protection) {
        let suite = Suite::ike(suite).unwrap();
        let nonces = Nonces { initiator: &[1; 32], responder: &[2; 32] };
        let keys = IkeKeys::first(&mut Real::default(), &suite, &[9; 32], nonces, (3, 4));
        (Protection::new(keys.clone(), Role::Initiator), Protection::new(keys, Role::Responder))
    }

    pub(in crate::v2) fn rng() -> Rng {
        Rng::named(1, "test")
    }

    pub(in crate::v2) fn message(sender: &Protection, data: &[u8]) -> MessageBuilder {
        let mut message =
            sender.begin(&Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5));
        message.push(&Payload::Nonce(Nonce { data: &[6; 16] }));
        message.push(&Payload::Notify(Notify::new(NotifyType::COOKIE, data)));
        message
    }

    fn sealed(sender: &mut Protection, data: &[u8]) -> Vec<u8> {
        let message = message(sender, data);
        sender.seal(message, &mut rng(), &mut Real::default())
    }

    #[test]
    fn messages_altered_anywhere_are_not_decrypted() {
        for suite in SUITES {
            let (mut initiator, responder) = ends(suite);
            let bytes = sealed(&mut initiator, b"cookie");
            for at in 0..bytes.len() {
                let mut altered = bytes.clone();
                altered[at] ^= 1;
                assert!(responder.open(&mut altered, &mut Real::default()).is_err(), "{suite}, byte {at}");
            }
            assert_eq!(
                initiator.open(&mut bytes.clone(), &mut Real::default()),
                Err(OpenError::NotAuthentic)
            );
        }
    }

    #[test]
    fn messages_truncated_anywhere_are_errors() {
        for suite in SUITES {
            let (mut initiator, responder) = ends(suite);
            let bytes = sealed(&mut initiator, b"cookie");
            for cut in 0..bytes.len() {
                let mut short = bytes[..cut].to_vec();
                assert!(responder.open(&mut short, &mut Real::default()).is_err(), "{suite}, cut at {cut}");
                let mut short = corrected(&bytes[..cut]);
                assert!(
                    responder.open(&mut short, &mut Real::default()).is_err(),
                    "{suite}, corrected cut at {cut}"
                );
            }
        }
    }

    /// The same bytes with corrected length fields.
    fn corrected(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let length = u16::try_from(bytes.len()).unwrap();
        if bytes.len() >= Header::LEN + Generic::LEN {
            bytes[26..28].copy_from_slice(&length.to_be_bytes());
            bytes[30..32].copy_from_slice(&(length - 28).to_be_bytes());
        }
        bytes
    }

    #[test]
    fn an_empty_message_is_only_padding() {
        for suite in SUITES {
            let (mut initiator, responder) = ends(suite);
            let message =
                initiator.begin(&Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5));
            let mut bytes = initiator.seal(message, &mut rng(), &mut Real::default());
            let opened = responder.open(&mut bytes, &mut Real::default()).unwrap();
            assert_eq!((opened.plaintext(), opened.payloads()), (&[][..], Ok(vec![])), "{suite}");
        }
    }

    #[test]
    fn a_message_in_the_clear_is_not_protected() {
        let mut plain =
            MessageBuilder::plain(&Header::new((3, 4), ExchangeType::IKE_AUTH, Flags::INITIATOR, 1));
        plain.push(&Payload::Nonce(Nonce { data: &[6; 16] }));
        let error = ends(SUITES[0]).1.open(&mut plain.finish(), &mut Real::default()).unwrap_err();
        assert_eq!(error, OpenError::NotProtected);
    }

    /// A message with an unencrypted payload of so many bytes in front of the Encrypted one.
    fn with_cleartext(sender: &Protection, bytes: usize) -> Vec<u8> {
        let header = Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5);
        let mut message = MessageBuilder::plain(&header);
        message.append(PayloadType(200), false, |w| w.zeros(bytes - Generic::LEN));
        message.append(PayloadType::SK, false, |w| w.zeros(sender.encryption().iv_len()));
        let (sk, mut w) = (Header::LEN + bytes, message.into_writer());
        let inner_from = w.len();
        let padding = sender.padding_len(0);
        w.zeros(padding);
        w.u8(padding as u8);
        let tag_from = w.len();
        w.zeros(sender.tag_len());
        w.patch_u16(sk + 2, u16::try_from(w.len() - sk).unwrap());
        patch_length(&mut w);
        sender.encrypt(w.as_mut_slice(), inner_from, tag_from, &mut Real::default());
        w.finish()
    }

    #[test]
    fn payloads_in_front_are_authenticated_too_and_limited() {
        for suite in SUITES {
            let (initiator, responder) = ends(suite);
            let open = |bytes: &mut [u8]| responder.open(bytes, &mut Real::default()).map(drop);
            let mut bytes = with_cleartext(&initiator, CLEARTEXT_BYTES_MAX);
            bytes[40] ^= 1;
            assert_eq!(open(&mut bytes.clone()), Err(OpenError::NotAuthentic), "{suite}");
            bytes[40] ^= 1;
            assert_eq!(open(&mut bytes), Ok(()), "{suite}");
            let too_many = open(&mut with_cleartext(&initiator, CLEARTEXT_BYTES_MAX + 1)).unwrap_err();
            assert_eq!(
                too_many.to_string(),
                "payloads in front of the encrypted one at offset 1053: length 1025 does not fit",
                "{suite}"
            );
        }
    }

    #[test]
    fn payloads_without_a_body_in_front_are_limited_too() {
        let (sender, responder) = ends(SUITES[0]);
        let header = Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5);
        let mut bytes = sender.begin(&header).into_parts().0.finish()[..Header::LEN].to_vec();
        bytes[16] = 200;
        bytes.extend([200, 0, 0, 4].repeat(PAYLOADS_MAX + 1));
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[24..28].copy_from_slice(&length.to_be_bytes());
        let error = responder.open(&mut bytes, &mut Real::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("payload count at offset 284: length {} does not fit", PAYLOADS_MAX + 1)
        );
    }

    #[test]
    fn ivs_never_repeat() {
        for suite in &SUITES[..6] {
            let (mut initiator, _) = ends(suite);
            let iv_len = initiator.encryption().iv_len();
            let (mut rng, crypto) = (rng(), &mut Real::default());
            let mut ivs = std::collections::BTreeSet::new();
            for _ in 0..100 {
                let message = message(&initiator, b"cookie");
                let bytes = initiator.seal(message, &mut rng, crypto);
                assert!(ivs.insert(bytes[32..32 + iv_len].to_vec()), "{suite}");
            }
        }
    }

    #[test]
    fn padding_longer_than_the_message_is_refused_after_authentication() {
        let (mut initiator, responder) = ends("aes128gcm16-prfsha256-x25519");
        let builder = initiator.begin(&Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5));
        let (mut w, inner_from, _) = builder.into_parts();
        // Pad Length 1 before the sealer's own 0 makes no difference; the last octet counts.
        w.bytes(&[1]);
        let mut bytes = initiator.finish(w, inner_from, &mut rng(), &mut Real::default());
        let opened = responder.open(&mut bytes, &mut Real::default()).unwrap();
        assert_eq!(opened.plaintext(), [1]);
        let mut forged = bytes_with_pad_length(&initiator, 1);
        let error = responder.open(&mut forged, &mut Real::default()).unwrap_err();
        assert_eq!(error, OpenError::Padding(1));
    }

    /// An authentic message that contains only a Pad Length.
    fn bytes_with_pad_length(sender: &Protection, pad_length: u8) -> Vec<u8> {
        let builder = sender.begin(&Header::new((3, 4), ExchangeType::INFORMATIONAL, Flags::INITIATOR, 5));
        let (mut w, inner_from, _) = builder.into_parts();
        w.u8(pad_length);
        let tag_from = w.len();
        w.zeros(sender.tag_len());
        let length = u16::try_from(w.len() - Header::LEN).unwrap();
        w.patch_u16(Header::LEN + 2, length);
        patch_length(&mut w);
        sender.encrypt(w.as_mut_slice(), inner_from, tag_from, &mut Real::default());
        w.finish()
    }

    proptest! {
        #[test]
        fn what_was_sealed_opens(data in proptest::collection::vec(any::<u8>(), 0..600), suite in 0..SUITES.len()) {
            let (mut initiator, responder) = ends(SUITES[suite]);
            let expected_len = initiator.sealed_len(&message(&initiator, &data));
            let mut bytes = sealed(&mut initiator, &data);
            prop_assert_eq!(bytes.len(), expected_len);
            let opened = responder.open(&mut bytes, &mut Real::default()).unwrap();
            let expected =
                [Payload::Nonce(Nonce { data: &[6; 16] }), Payload::Notify(Notify::new(NotifyType::COOKIE, &data))];
            prop_assert_eq!(opened.payloads().unwrap(), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..120), kind in 45_u8..54) {
            let mut bytes = corrected(&[&[7; 16][..], &[kind, 0x20, 37, 0, 0, 0, 0, 0], &[0; 8], &body].concat());
            let _ = ends(SUITES[suite_of(&body)]).1.open(&mut bytes, &mut Real::default());
        }
    }

    fn suite_of(body: &[u8]) -> usize {
        body.len() % SUITES.len()
    }
}
