//! Whole messages: read into borrowed payloads, built in one buffer. RFC 7296 §2.5, §3.1, §3.2.
//!
//! A [`MessageBuilder`] writes header and payloads one after the other and fills in the next-payload fields as it goes. For a
//! protected message it first reserves room for the headers and the IV of the Encrypted payload, so that `v2::protect`
//! encrypts in place:
//!
//! ```text
//!   header  payload  payload …                              plain
//!   header  generic header of SK  IV  payload  payload …    protected, before padding and integrity check value
//! ```

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::payload::{Generic, Payload, Unknown, read_chain};
use super::{
    Configuration, ConfigurationAttribute, Header, Proposal, SecurityAssociation, TrafficSelector,
    TrafficSelectors,
};
use crate::names::PayloadTypes;
use crate::number::{ConfigurationType, PayloadType};

/// A decoded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    /// The payloads, in order.
    pub payloads: Vec<Payload<'a>>,
}

impl<'a> Message<'a> {
    /// Reads a whole datagram (without non-ESP marker).
    ///
    /// # Errors
    /// The header or a payload is truncated or malformed.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let header = Header::read(&mut r)?;
        if header.major() != 2 {
            return Err(DecodeError {
                field: "major version",
                offset: 17,
                problem: Problem::Value(header.major().into()),
            });
        }
        let payloads = read_chain(header.next_payload, &mut r)?;
        Ok(Self { header, payloads })
    }

    /// Writes it again.
    pub fn write(&self) -> Vec<u8> {
        let mut builder = MessageBuilder::plain(&self.header);
        self.payloads.iter().for_each(|payload| builder.push(payload));
        builder.finish()
    }

    /// The first unknown payload with the critical bit.
    pub fn unknown_critical(&self) -> Option<PayloadType> {
        unknown_critical(&self.payloads)
    }
}

/// RFC 7296 §2.5: the first payload with the critical bit and an unknown type.
pub fn unknown_critical(payloads: &[Payload<'_>]) -> Option<PayloadType> {
    payloads.iter().find_map(|payload| match payload {
        Payload::Unknown(Unknown { kind, critical: true, .. }) => Some(*kind),
        _ => None,
    })
}

/// A message being built.
#[derive(Debug)]
pub struct MessageBuilder {
    writer: Writer,
    /// Offset of the field for the type of the next payload.
    next_at: usize,
    /// Offset of the payloads to be encrypted; `None` in an unencrypted message.
    inner_from: Option<usize>,
    kinds: PayloadTypes,
}

/// Initial capacity: enough for a message without certificates.
const CAPACITY: usize = 512;
/// Offset of the next-payload field in the header.
const NEXT_AT: usize = 16;
/// Offset of the length field in the header.
const LENGTH_AT: usize = 24;

impl MessageBuilder {
    /// Starts an unencrypted message.
    pub fn plain(header: &Header) -> Self {
        let mut writer = Writer::with_capacity(CAPACITY);
        header.write(&mut writer);
        Self { writer, next_at: NEXT_AT, inner_from: None, kinds: PayloadTypes::default() }
    }

    /// Starts a message whose payloads go into an Encrypted payload with an IV of `iv_len` bytes.
    pub fn protected(header: &Header, iv_len: usize) -> Self {
        let mut builder = Self::plain(header);
        builder.begin(PayloadType::SK, false);
        builder.writer.zeros(iv_len);
        builder.inner_from = Some(builder.writer.len());
        builder
    }

    /// Appends a payload.
    pub fn push(&mut self, payload: &Payload<'_>) {
        let critical = matches!(payload, Payload::Unknown(Unknown { critical: true, .. }));
        let next = payload.first_inside();
        self.append(payload.kind(), critical, |w| payload.write_body(w));
        if let Some(next) = next {
            self.writer.patch_u8(self.next_at, next.0);
        }
    }

    /// Appends an SA payload of our own proposals. Panics for attributes that were not understood, which is a bug in the caller.
    pub fn security_association(&mut self, proposals: &[Proposal]) {
        self.append(PayloadType::SA, false, |w| SecurityAssociation::write_proposals(proposals, w));
    }

    /// Appends TSi and TSr payloads.
    pub fn traffic_selectors(&mut self, initiator: &[TrafficSelector], responder: &[TrafficSelector]) {
        self.append(PayloadType::TS_I, false, |w| TrafficSelectors::write_selectors(initiator, w));
        self.append(PayloadType::TS_R, false, |w| TrafficSelectors::write_selectors(responder, w));
    }

    /// Appends a Configuration payload.
    pub fn configuration(&mut self, kind: ConfigurationType, attributes: &[ConfigurationAttribute<'_>]) {
        self.append(PayloadType::CP, false, |w| Configuration::write_attributes(kind, attributes, w));
    }

    /// The payload types so far, including those to be encrypted.
    pub const fn payloads(&self) -> PayloadTypes {
        self.kinds
    }

    /// Bytes so far.
    pub const fn len(&self) -> usize {
        self.writer.len()
    }

    /// Whether there is no payload yet.
    pub fn is_empty(&self) -> bool {
        self.writer.len() == self.inner_from.unwrap_or(Header::LEN)
    }

    /// The finished plain message.
    pub fn finish(mut self) -> Vec<u8> {
        patch_length(&mut self.writer);
        self.writer.finish()
    }

    /// The bytes written so far, to fill in fields that depend on them.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        self.writer.as_mut_slice()
    }

    /// The bytes written so far; the length in the header is not filled in yet.
    pub(crate) fn into_writer(self) -> Writer {
        self.writer
    }

    /// The bytes written, the offset of the payloads to encrypt, and the payload types.
    pub(crate) fn into_parts(self) -> (Writer, usize, PayloadTypes) {
        let inner_from = self.inner_from.expect("only messages begun as protected are sealed");
        (self.writer, inner_from, self.kinds)
    }

    /// Appends a payload whose body is written by `body`.
    pub(crate) fn append(&mut self, kind: PayloadType, critical: bool, body: impl FnOnce(&mut Writer)) {
        let start = self.begin(kind, critical);
        body(&mut self.writer);
        let length =
            u16::try_from(self.writer.len() - start).expect("what we send fits a 16-bit payload length");
        self.writer.patch_u16(start + 2, length);
    }

    /// Writes a generic header and links it to the previous one; returns its offset.
    fn begin(&mut self, kind: PayloadType, critical: bool) -> usize {
        let start = self.writer.len();
        self.writer.bytes(&[0, if critical { Generic::CRITICAL } else { 0 }, 0, 0]);
        self.writer.patch_u8(self.next_at, kind.0);
        self.next_at = start;
        self.kinds.push(kind);
        start
    }
}

/// Writes the length of the whole message into its header.
pub(crate) fn patch_length(w: &mut Writer) {
    w.patch_u32(LENGTH_AT, u32::try_from(w.len()).expect("messages fit UDP datagrams"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{ExchangeType, NotifyType};
    use crate::wire::{Encrypted, Flags, KeyExchange, Nonce, Notify};
    use keytoll_crypto_api::algorithm::Group;
    use proptest::prelude::*;

    fn header() -> Header {
        Header::new((1, 2), ExchangeType::IKE_SA_INIT, Flags::new(true, false), 3)
    }

    fn sample() -> Vec<u8> {
        let mut builder = MessageBuilder::plain(&header());
        builder.push(&Payload::KeyExchange(KeyExchange::new(Group::X25519, &[5; 32])));
        builder.push(&Payload::Nonce(Nonce { data: &[6; 32] }));
        builder.push(&Payload::Notify(Notify::new(NotifyType::COOKIE, &[7; 8])));
        builder.finish()
    }

    #[test]
    fn payloads_are_chained_and_lengths_patched() {
        let bytes = sample();
        let message = Message::read(&bytes).unwrap();
        assert_eq!(message.header.next_payload, PayloadType::KE);
        assert_eq!(message.header.length, 28 + 40 + 36 + 16);
        let kinds: Vec<_> = message.payloads.iter().map(Payload::kind).collect();
        assert_eq!(kinds, [PayloadType::KE, PayloadType::NONCE, PayloadType::NOTIFY]);
        assert_eq!(message.write(), bytes);
    }

    #[test]
    fn a_message_truncated_anywhere_is_an_error() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let mut short = bytes[..cut].to_vec();
            assert!(Message::read(&short).is_err(), "cut at {cut}");
            if cut >= Header::LEN {
                short[LENGTH_AT..Header::LEN].copy_from_slice(&u32::try_from(cut).unwrap().to_be_bytes());
                assert!(Message::read(&short).is_err(), "cut at {cut}, length corrected");
            }
        }
    }

    #[test]
    fn another_major_version_is_refused() {
        let mut bytes = sample();
        bytes[17] = 0x10;
        assert_eq!(
            Message::read(&bytes).unwrap_err().to_string(),
            "major version at offset 17: value 1 is not allowed"
        );
    }

    #[test]
    fn the_type_of_the_first_payload_inside_sk_survives() {
        let mut builder = MessageBuilder::plain(&header());
        builder.push(&Payload::Encrypted(Encrypted { first: PayloadType::ID_I, body: &[1, 2, 3] }));
        let bytes = builder.finish();
        let message = Message::read(&bytes).unwrap();
        assert_eq!(
            message.payloads,
            [Payload::Encrypted(Encrypted { first: PayloadType::ID_I, body: &[1, 2, 3] })]
        );
        assert_eq!(message.write(), bytes);
    }

    #[test]
    fn a_protected_message_knows_which_payloads_it_encrypts() {
        let mut builder = MessageBuilder::protected(&header(), 8);
        assert!(builder.is_empty());
        builder.push(&Payload::Nonce(Nonce { data: &[6; 16] }));
        assert_eq!(builder.payloads().parts().to_string(), "SK Nonce");
        let (writer, inner_from, _) = builder.into_parts();
        assert_eq!((inner_from, writer.as_slice()[28]), (40, 40));
    }

    #[test]
    fn the_first_unknown_critical_payload_is_found() {
        let unknown =
            |kind, critical| Payload::Unknown(Unknown { kind: PayloadType(kind), critical, body: &[] });
        let mut builder = MessageBuilder::plain(&header());
        [unknown(100, false), unknown(101, true), unknown(102, true)]
            .iter()
            .for_each(|one| builder.push(one));
        let bytes = builder.finish();
        assert_eq!(Message::read(&bytes).unwrap().unknown_critical(), Some(PayloadType(101)));
    }

    proptest! {
        #[test]
        fn damaged_messages_are_read_or_refused_but_never_panic(at in 0..120_usize, value: u8) {
            let mut bytes = sample();
            bytes[at] = value;
            if let Ok(message) = Message::read(&bytes) {
                let again = message.write();
                prop_assert_eq!(Message::read(&again), Ok(message));
            }
        }
    }
}
