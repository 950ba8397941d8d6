//! IKEv2 messages: RFC 7296 §3.1 and §3.14, RFC 7383 §2.5. With keys the Encrypted payload is opened, fragments put together.

use keytoll_ike::number::{NotifyType, PayloadType};
use keytoll_ike::v2::fragment::Progress;
use keytoll_ike::v2::keys::Role;
use keytoll_ike::v2::protect::{Envelope, OpenError, Protection};
use keytoll_ike::wire::{Header, Message, Payload};
use keytoll_ike::{IKE, names};
use keytoll_net::wire::Reader;

use super::payloads::{Meaning, Seen, part};
use super::{Content, Dissected, Dissector, OPEN_MAX, Part, ikev1, unreadable};
use crate::observe::without_marker;
use crate::packets::Passed;
use crate::passage;

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
    /// What the payloads say, as far as they are known.
    pub meaning: Meaning,
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

impl Dissector {
    pub(super) fn ike(&mut self, passed: &Passed) -> Dissected {
        let bytes = without_marker(&passed.datagram.bytes);
        let header = if passed.cut.is_some() { lenient_header(bytes) } else { strict_header(bytes) };
        let header = match header {
            Ok(header) => header,
            Err(error) => return unreadable(IKE, &error),
        };
        let mut dissected = Dissected {
            name: name(&header),
            parts: Vec::new(),
            failure: None,
            remarks: Vec::new(),
            sent: None,
            content: Content::Unreadable,
        };
        let mut ike = ike_of(&header);
        if passed.cut.is_some() {
            // Only the header is sure to be there.
        } else if header.major() == 1 {
            self.ike1(passed, (&header, bytes), &mut ike, &mut dissected);
        } else {
            self.ike2(passed, bytes, &mut ike, &mut dissected);
        }
        dissected.content = Content::Ike(Box::new(ike));
        dissected
    }

    fn ike2(&mut self, passed: &Passed, bytes: &[u8], ike: &mut Ike, dissected: &mut Dissected) {
        let seen = Seen { from: passed.datagram.from, to: passed.datagram.to, spis: ike.spis };
        let message = match Message::read(bytes) {
            Ok(message) => message,
            Err(error) => {
                dissected.remarks.push(format!("MALFORMED: {error}"));
                return;
            }
        };
        self.describe(&message.payloads, &seen, ike, dissected);
        if let Some(payload) = message.payloads.last().filter(|payload| is_sealed(payload)) {
            ike.inside = Inside::Sealed;
            if let Payload::EncryptedFragment(part) = payload {
                ike.fragment = Some((part.number, part.total));
            }
            // What never arrives completes nothing.
            let arrives = passage::arrives(passed.comment.as_deref().and_then(passage::fate));
            if arrives || ike.fragment.is_none() {
                self.open(bytes, &seen, ike, dissected);
            } else {
                ike.inside = Inside::Fragment;
            }
        }
        dissected.failure = failure(ike);
    }

    fn describe(&mut self, payloads: &[Payload<'_>], seen: &Seen, ike: &mut Ike, dissected: &mut Dissected) {
        for payload in payloads {
            ike.meaning.add(payload);
            dissected.parts.push(part(payload, seen, self.crypto()));
        }
    }

    /// Opens the Encrypted payload, if there are keys for it.
    fn open(&mut self, bytes: &[u8], seen: &Seen, ike: &mut Ike, dissected: &mut Dissected) {
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
        match protection.open(&mut buffer, &mut self.crypto) {
            Ok(opened) if opened.envelope.fragment.is_none() => {
                ike.inside = Inside::Opened;
                match opened.payloads() {
                    Ok(payloads) => {
                        dissected.parts.pop();
                        self.describe(&payloads, seen, ike, dissected);
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
                self.reassembled(key, progress, seen, ike, dissected);
            }
            Err(error) => {
                ike.inside = Inside::NotAuthentic;
                dissected.remarks.push(not_opened(error));
            }
        }
    }

    fn reassembled(
        &mut self,
        key: FragmentKey,
        progress: Result<Progress, keytoll_ike::v2::fragment::FragmentError>,
        seen: &Seen,
        ike: &mut Ike,
        dissected: &mut Dissected,
    ) {
        match progress {
            Ok(Progress::Complete(whole)) => {
                self.fragments.remove(&key);
                ike.inside = Inside::Opened;
                match whole.payloads() {
                    Ok(payloads) => self.describe(&payloads, seen, ike, dissected),
                    Err(error) => dissected.remarks.push(format!("MALFORMED inside: {error}")),
                }
            }
            Ok(_) => {}
            Err(error) => dissected.remarks.push(error.to_string()),
        }
    }
}

fn strict_header(bytes: &[u8]) -> Result<Header, keytoll_net::wire::DecodeError> {
    Header::read(&mut Reader::new(bytes))
}

/// The header of a message of which only the beginning is there.
fn lenient_header(bytes: &[u8]) -> Result<Header, keytoll_net::wire::DecodeError> {
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
        meaning: Meaning::default(),
    }
}

fn name(header: &Header) -> String {
    let exchange = names::exchange(header.exchange);
    match header.major() {
        1 => ikev1::name(header),
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
