//! IKEv2 messages: RFC 7296 §3.1 and §3.14, RFC 7383 §2.5. With keys the Encrypted payload is opened, fragments put together.

use std::sync::Arc;

use keytoll_crypto_api::Crypto;
use keytoll_family::{Dissected, Part, Passed, Unreadable, unreadable};
use keytoll_net::wire::{DecodeError, Reader};

use super::analyser::{IkeAnalyser, OPEN_MAX};
use super::payloads::{Meaning, Seen, part};
use super::{v1, without_marker};
use crate::names;
use crate::number::{NotifyType, PayloadType};
use crate::v2::fragment::{FragmentError, Progress};
use crate::v2::keys::Role;
use crate::v2::protect::{Envelope, OpenError, Protection};
use crate::wire::{Header, Message, Payload};

/// An IKE message as its conversation sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ike {
    /// SPIi and SPIr.
    pub spis: (u64, u64),
    /// 1 or 2.
    pub major: u8,
    /// The exchange type.
    pub exchange: u8,
    /// Sent by who began the IKE SA.
    pub from_initiator: bool,
    /// A response.
    pub response: bool,
    /// The message id.
    pub id: u32,
    /// Number and total, if it is a fragment.
    pub fragment: Option<(u16, u16)>,
    /// The type of the first payload inside the Encrypted payload, which is not encrypted (RFC 7296 §3.14).
    pub first_inside: Option<u8>,
    /// Whether what is inside is known.
    pub inside: Inside,
    /// What the payloads say, as far as they are known; of all messages that say nothing the same.
    pub meaning: Arc<Meaning>,
}

/// What is known of what a message protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// There is no Encrypted payload.
    Plain,
    /// There are no keys for it.
    Sealed,
    /// It was opened.
    Opened,
    /// It is a fragment of something that is not yet whole.
    Fragment,
    /// There are keys, and they do not open it.
    NotAuthentic,
}

/// Which message the fragments are of: SPIs, sender, response, message id.
pub(super) type FragmentKey = ((u64, u64), bool, bool, u32);

impl IkeAnalyser {
    pub(super) fn put_into_words(&mut self, passed: &Passed, crypto: &mut dyn Crypto) -> Dissected {
        let bytes = without_marker(&passed.datagram.bytes);
        let header = if passed.cut.is_some() { lenient_header(bytes) } else { strict_header(bytes) };
        let header = match header {
            Ok(header) => header,
            Err(error) => return unreadable("IKE", &error),
        };
        let mut ike = ike_of(&header);
        let mut dissected = Dissected::bare(name(&header), Unreadable);
        if passed.cut.is_some() {
            // Only the header is sure to be there.
        } else if header.major() == 1 {
            self.ike1(passed, (&header, bytes), &mut ike, &mut dissected, crypto);
        } else {
            self.ike2(passed, bytes, &mut ike, &mut dissected, crypto);
        }
        dissected.content = Box::new(ike);
        dissected
    }

    fn ike2(
        &mut self,
        passed: &Passed,
        bytes: &[u8],
        ike: &mut Ike,
        dissected: &mut Dissected,
        crypto: &mut dyn Crypto,
    ) {
        let seen = Seen { from: passed.datagram.from, to: passed.datagram.to, spis: ike.spis };
        let message = match Message::read(bytes) {
            Ok(message) => message,
            Err(error) => {
                dissected.remarks.push(format!("MALFORMED: {error}"));
                return;
            }
        };
        describe(&message.payloads, &seen, ike, dissected, crypto);
        if let Some(payload) = message.payloads.last().filter(|payload| is_sealed(payload)) {
            ike.inside = Inside::Sealed;
            if let Payload::EncryptedFragment(part) = payload {
                ike.fragment = Some((part.number, part.total));
            }
            // What never arrives completes nothing.
            if passed.arrives() || ike.fragment.is_none() {
                self.open(bytes, &seen, ike, dissected, crypto);
            } else {
                ike.inside = Inside::Fragment;
            }
        }
        dissected.failure = failure(ike);
    }

    /// Opens the Encrypted payload, if there are keys for it.
    fn open(
        &mut self,
        bytes: &[u8],
        seen: &Seen,
        ike: &mut Ike,
        dissected: &mut Dissected,
        crypto: &mut dyn Crypto,
    ) {
        let Ok(envelope) = Envelope::read(bytes) else { return };
        ike.first_inside = Some(envelope.first.0).filter(|first| *first != PayloadType::NONE.0);
        let Some(keys) = self.keys.ike(ike.spis).cloned() else {
            dissected.parts.pop();
            dissected.parts.push(sealed_part(ike, bytes.len()));
            return;
        };
        let receiver = if ike.from_initiator { Role::Responder } else { Role::Initiator };
        let protection = Protection::new(keys, receiver);
        let mut buffer = bytes.to_vec();
        match protection.open(&mut buffer, crypto) {
            Ok(opened) if opened.envelope.fragment.is_none() => {
                ike.inside = Inside::Opened;
                match opened.payloads() {
                    Ok(payloads) => {
                        dissected.parts.pop();
                        describe(&payloads, seen, ike, dissected, crypto);
                    }
                    Err(error) => dissected.remarks.push(format!("MALFORMED inside: {error}")),
                }
            }
            Ok(opened) => {
                ike.inside = Inside::Fragment;
                let key = (ike.spis, ike.from_initiator, ike.response, ike.id);
                if self.fragments.len() >= OPEN_MAX {
                    self.fragments.pop_first();
                }
                let progress = self.fragments.entry(key).or_default().add(&opened);
                self.reassembled((key, progress), seen, ike, dissected, crypto);
            }
            Err(error) => {
                ike.inside = Inside::NotAuthentic;
                dissected.remarks.push(not_opened(error));
            }
        }
    }

    fn reassembled(
        &mut self,
        (key, progress): (FragmentKey, Result<Progress, FragmentError>),
        seen: &Seen,
        ike: &mut Ike,
        dissected: &mut Dissected,
        crypto: &mut dyn Crypto,
    ) {
        match progress {
            Ok(Progress::Complete(whole)) => {
                self.fragments.remove(&key);
                ike.inside = Inside::Opened;
                match whole.payloads() {
                    Ok(payloads) => describe(&payloads, seen, ike, dissected, crypto),
                    Err(error) => dissected.remarks.push(format!("MALFORMED inside: {error}")),
                }
            }
            Ok(_) => {}
            Err(error) => dissected.remarks.push(error.to_string()),
        }
    }
}

fn describe(
    payloads: &[Payload<'_>],
    seen: &Seen,
    ike: &mut Ike,
    dissected: &mut Dissected,
    crypto: &mut dyn Crypto,
) {
    for payload in payloads {
        Arc::make_mut(&mut ike.meaning).add(payload);
        dissected.parts.push(part(payload, seen, crypto));
    }
}

fn strict_header(bytes: &[u8]) -> Result<Header, DecodeError> {
    Header::read(&mut Reader::new(bytes))
}

/// The header of a message of which only the beginning is there.
fn lenient_header(bytes: &[u8]) -> Result<Header, DecodeError> {
    let Some(start) = bytes.first_chunk::<{ Header::LEN }>() else { return strict_header(bytes) };
    let mut start = *start;
    start[24..].copy_from_slice(&(Header::LEN as u32).to_be_bytes());
    Header::read(&mut Reader::new(&start))
}

fn ike_of(header: &Header) -> Ike {
    Ike {
        spis: (header.initiator_spi, header.responder_spi),
        major: header.major(),
        exchange: header.exchange.0,
        from_initiator: header.flags.is_from_initiator(),
        response: header.flags.is_response(),
        id: header.message_id,
        fragment: None,
        first_inside: None,
        inside: Inside::Plain,
        meaning: Arc::default(),
    }
}

fn name(header: &Header) -> String {
    let exchange = names::exchange(header.exchange);
    match header.major() {
        1 => v1::name(header),
        2 => {
            let direction = if header.flags.is_response() { "response" } else { "request" };
            format!("{exchange} {direction} {}", header.message_id)
        }
        other => format!("IKE version {other}"),
    }
}

const fn is_sealed(payload: &Payload<'_>) -> bool {
    matches!(payload, Payload::Encrypted(_) | Payload::EncryptedFragment(_))
}

/// What can be said of an Encrypted payload without keys.
fn sealed_part(ike: &Ike, bytes: usize) -> Part {
    let first = ike
        .first_inside
        .map(|first| format!(", first {}", names::payload(PayloadType(first))))
        .unwrap_or_default();
    match ike.fragment {
        Some((number, total)) => Part::new("SKF", format!("{number} of {total}, encrypted{first}")),
        None if bytes == 0 => Part::bare("SK"),
        None => Part::new("SK", format!("encrypted{first}")),
    }
}

fn not_opened(error: OpenError) -> String {
    match error {
        OpenError::NotAuthentic => {
            "NOT AUTHENTIC under the keys given: damaged, forged, or other keys".to_owned()
        }
        other => format!("MALFORMED: {other}"),
    }
}

/// RFC 7296 §1.2: INVALID_KE_PAYLOAD asks for another group, nothing has failed.
fn failure(ike: &Ike) -> Option<String> {
    let error = ike.meaning.error().filter(|error| *error != NotifyType::INVALID_KE_PAYLOAD)?;
    Some(error.to_string())
}
