//! What a conversation came to, told from its messages: RFC 7296 §1.2, §2.16, §2.21; RFC 3579 §2.6; RFC 3748 §4.2.
//!
//! Without keys the last IKE_AUTH response tells it by the type of its first payload, which is not encrypted
//! (RFC 7296 §3.14): a response that begins with a notification refuses.

pub(super) mod ikev1;

use keytoll_engine::trace::Node;
use keytoll_ike::number::{ExchangeType, PayloadType};
use keytoll_radius::number::Code;

use super::{About, Entry, Kind, Proof};
use crate::dissect::eap::PacketKind;
use crate::dissect::eapol::{Body, Handshake, Key};
use crate::dissect::{Content, Ike, Inside};

/// What a conversation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Both ends were satisfied: with the message at this place.
    Established(usize),
    /// Somebody was not.
    Failed {
        /// Who found out.
        by: Node,
        /// Why, in the words of the standard.
        why: String,
        /// The message that says so.
        at: usize,
    },
    /// A question was not answered any more.
    Unanswered(usize),
    /// The capture does not show how it ended.
    Unknown,
}

impl Outcome {
    /// The message that decided.
    pub const fn place(&self) -> Option<usize> {
        match self {
            Self::Established(at) | Self::Failed { at, .. } | Self::Unanswered(at) => Some(*at),
            Self::Unknown => None,
        }
    }
}

/// What a conversation of this kind came to.
pub(super) fn of(kind: Kind, entries: &[Entry]) -> Outcome {
    let entries = &entries[..entries.len().min(DECIDING_MAX)];
    match kind {
        Kind::Ike { major: 2, .. } => ike(entries),
        Kind::Ike { spi_i, .. } => ikev1::outcome(spi_i, entries),
        Kind::Radius => radius(entries),
        Kind::Eapol => eapol(entries),
        Kind::Diameter | Kind::Esp | Kind::Unreadable => Outcome::Unknown,
    }
}

/// What comes later decides nothing: the longest authentications have a hundred messages, and a flood must not cost more
/// than it is long.
const DECIDING_MAX: usize = 10_000;

const IKE_SA_INIT: u8 = ExchangeType::IKE_SA_INIT.0;
const IKE_AUTH: u8 = ExchangeType::IKE_AUTH.0;
const INFORMATIONAL: u8 = ExchangeType::INFORMATIONAL.0;

fn ike_of(entry: &Entry) -> Option<&Ike> {
    match &entry.content {
        Content::Ike(ike) => Some(ike),
        _ => None,
    }
}

fn ike(entries: &[Entry]) -> Outcome {
    let mut last_request = None;
    for (at, entry) in entries.iter().enumerate() {
        let Some(ike) = ike_of(entry).filter(|ike| !ike.response || entry.arrives()) else { continue };
        if matches!(ike.exchange, IKE_SA_INIT | IKE_AUTH) && !ike.response && entry.unanswered {
            last_request = Some(at);
        }
        let decided = match (ike.exchange, ike.response) {
            (IKE_SA_INIT, true) => refused(entries, at, ike),
            (IKE_AUTH, true) => auth_response(entries, at, ike),
            (IKE_AUTH | INFORMATIONAL, false) => device_refuses(at, entry, ike),
            _ => None,
        };
        if let Some(outcome) = decided {
            return outcome;
        }
    }
    last_request.map_or(Outcome::Unknown, Outcome::Unanswered)
}

/// An error notification of the gateway that the device does not answer with another try.
fn refused(entries: &[Entry], at: usize, ike: &Ike) -> Option<Outcome> {
    let error = ike.meaning.error()?;
    let tries_again = entries[at + 1..].iter().filter_map(ike_of);
    let mut tries_again = tries_again.filter(|later| !later.response && later.from_initiator);
    let goes_on = tries_again.any(|later| matches!(later.exchange, IKE_SA_INIT | IKE_AUTH));
    (!goes_on).then(|| Outcome::Failed { by: Node::Gw, why: error.to_string(), at })
}

fn auth_response(entries: &[Entry], at: usize, ike: &Ike) -> Option<Outcome> {
    let meaning = &ike.meaning;
    match ike.inside {
        Inside::Opened if meaning.eap.as_deref().is_some_and(is_eap_failure) => Some(rejected(entries, at)),
        Inside::Opened if meaning.eap.is_some() => None,
        Inside::Opened => match meaning.error() {
            Some(_) if is_rejected(entries, at) => Some(rejected(entries, at)),
            Some(error) => Some(Outcome::Failed { by: Node::Gw, why: error.to_string(), at }),
            None if meaning.has_auth => Some(believed(entries, at)),
            None => None,
        },
        Inside::Plain | Inside::Fragment | Inside::NotAuthentic => None,
        Inside::Sealed => sealed_response(entries, at, ike),
    }
}

/// RFC 3748 §4.2.
fn is_eap_failure(eap: &[u8]) -> bool {
    eap.first() == Some(&4)
}

/// What a response that cannot be opened means, if it is the last one.
fn sealed_response(entries: &[Entry], at: usize, ike: &Ike) -> Option<Outcome> {
    let mut later = entries[at + 1..].iter().filter_map(ike_of);
    let is_last = !later.any(|it| it.exchange == IKE_AUTH && it.id != ike.id);
    // Only the first fragment has the type; the others decide nothing.
    let first = ike.first_inside.filter(|_| is_last)?;
    match PayloadType(first) {
        _ if is_rejected(entries, at) => Some(rejected(entries, at)),
        PayloadType::NOTIFY => {
            let why = "refused by an encrypted notification".to_owned();
            Some(Outcome::Failed { by: Node::Gw, why, at })
        }
        PayloadType::EAP => None,
        _ => match is_waiting_for_aaa(entries, at) {
            Some(true) => {
                let why = "no answer from the AAA server".to_owned();
                Some(Outcome::Failed { by: Node::Gw, why, at })
            }
            Some(false) => None,
            None => completing(entries, at, ike).map(|at| believed(entries, at)),
        },
    }
}

/// A message this short that begins with a notification holds no other: MOBIKE's and others' are longer.
const LONE_NOTIFICATION_BYTES_MAX: u32 = 112;

/// The gateway is satisfied with the message at this place. Whether the device is shows in what it sends next: RFC 7296
/// §2.21.2: it may tell in an INFORMATIONAL exchange that it is not.
fn believed(entries: &[Entry], at: usize) -> Outcome {
    let of_device = |entry: &&Entry| entry.ends.0 == Node::Ue && entry.repeats.is_none();
    let mut next = entries.iter().enumerate().skip(at + 1).filter(|(_, entry)| of_device(entry));
    let Some((next_at, entry)) = next.next() else { return Outcome::Established(at) };
    let Some(ike) = ike_of(entry).filter(|ike| ike.exchange == INFORMATIONAL && !ike.response) else {
        return Outcome::Established(at);
    };
    let is_alone = entry.sent.as_ref().is_some_and(|sent| sent.bytes <= LONE_NOTIFICATION_BYTES_MAX);
    let why = match ike.meaning.error() {
        Some(error) => error.to_string(),
        None if ike.inside == Inside::Sealed
            && ike.first_inside == Some(PayloadType::NOTIFY.0)
            && is_alone
            && next.next().is_none() =>
        {
            "refused by an encrypted notification".to_owned()
        }
        None => return Outcome::Established(at),
    };
    Outcome::Failed { by: Node::Ue, why, at: next_at }
}

/// The message that completes the response: itself, or the last of its fragments to pass.
fn completing(entries: &[Entry], at: usize, ike: &Ike) -> Option<usize> {
    if ike.fragment.is_none() {
        return Some(at);
    }
    let same = |other: &Ike| (other.id, other.exchange, other.response) == (ike.id, ike.exchange, true);
    entries.iter().position(|entry| entry.answers_after_ns.is_some() && ike_of(entry).is_some_and(same))
}

/// What the gateway heard from the AAA server before, if it asked: nothing yet, or nothing at all.
fn is_waiting_for_aaa(entries: &[Entry], at: usize) -> Option<bool> {
    let asked = entries[..at].iter().rfind(|entry| code(entry) == Some(Code::ACCESS_REQUEST))?;
    let is_accepted = entries[..at].iter().any(|entry| code(entry) == Some(Code::ACCESS_ACCEPT));
    (!is_accepted).then_some(asked.unanswered)
}

/// Whether the AAA server has said no before.
fn is_rejected(entries: &[Entry], at: usize) -> bool {
    entries[..at].iter().any(|entry| code(entry) == Some(Code::ACCESS_REJECT))
}

fn rejected(entries: &[Entry], at: usize) -> Outcome {
    let (by, why) = match is_rejected(entries, at) {
        true => (Node::Aaa, "Access-Reject"),
        false => (Node::Gw, "EAP-Failure"),
    };
    Outcome::Failed { by, why: why.to_owned(), at }
}

/// RFC 7296 §2.21.2: the device tells the gateway that it does not believe it.
fn device_refuses(at: usize, entry: &Entry, ike: &Ike) -> Option<Outcome> {
    let error = ike.meaning.error().filter(|_| entry.ends.0 == Node::Ue)?;
    Some(Outcome::Failed { by: Node::Ue, why: error.to_string(), at })
}

fn code(entry: &Entry) -> Option<Code> {
    match &entry.content {
        Content::Radius(radius) => Some(radius.code),
        _ => None,
    }
}

fn radius(entries: &[Entry]) -> Outcome {
    for (at, entry) in entries.iter().enumerate() {
        match code(entry) {
            Some(Code::ACCESS_ACCEPT) => return Outcome::Established(at),
            Some(Code::ACCESS_REJECT) => {
                return Outcome::Failed { by: Node::Aaa, why: "Access-Reject".to_owned(), at };
            }
            _ => {}
        }
    }
    let unanswered =
        entries.iter().rposition(|entry| entry.unanswered && code(entry) == Some(Code::ACCESS_REQUEST));
    unanswered.map_or(Outcome::Unknown, Outcome::Unanswered)
}

fn eapol_of(entry: &Entry) -> Option<&Body> {
    match &entry.content {
        Content::Eapol(eapol) => Some(&eapol.body),
        _ => None,
    }
}

/// EAP's end, or without EAP the last message of the 4-way handshake (IEEE 802.11-2020 §12.7.6.5); else the last message
/// tells whether somebody still waits.
fn eapol(entries: &[Entry]) -> Outcome {
    const SUCCESS: u8 = 3;
    let messages = || entries.iter().enumerate().filter_map(|(at, entry)| Some((at, eapol_of(entry)?)));
    let has_eap = messages().any(|(_, body)| matches!(body, Body::Eap(_)));
    let decided = messages().find_map(|(at, body)| match body {
        Body::Eap(eap) if is_eap_failure(eap) => Some(rejected(entries, at)),
        Body::Eap(eap) if eap.first() == Some(&SUCCESS) => Some(Outcome::Established(at)),
        Body::Key(Key { handshake: Some(Handshake::FourWay(4)), .. }) if !has_eap => {
            Some(Outcome::Established(at))
        }
        _ => None,
    });
    let last = || messages().next_back().filter(|(at, _)| entries[*at].unanswered);
    decided.or_else(|| last().map(|(at, _)| Outcome::Unanswered(at))).unwrap_or(Outcome::Unknown)
}

/// What is known of a conversation.
pub(super) fn about(entries: &[Entry]) -> About {
    let mut about = About::default();
    for entry in entries {
        match &entry.content {
            Content::Ike(ike) => about.add_ike(entry, ike),
            Content::Radius(radius) if about.user.is_none() => about.user.clone_from(&radius.user),
            Content::Eapol(eapol) if about.user.is_none() => about.user.clone_from(&eapol.user),
            _ => {}
        }
        // The method that is run last counts.
        about.eap_method = entry.eap.and_then(PacketKind::server_method).or(about.eap_method);
    }
    about
}

impl About {
    fn add_ike(&mut self, entry: &Entry, ike: &Ike) {
        let meaning = &ike.meaning;
        let is_ue = entry.ends.0 == Node::Ue;
        self.sealed |= matches!(ike.inside, Inside::Sealed | Inside::NotAuthentic);
        // What is answered is chosen; what is asked only offered. IKEv1 has no flag for it.
        if ike.response || (ike.major == 1 && entry.ends.0 == Node::Gw) {
            self.auth_method = self.auth_method.or(meaning.proof.map(Proof::Ikev1));
            self.ike_suite = self.ike_suite.take().or_else(|| meaning.ike_suite.clone());
            self.child_suite = self.child_suite.take().or_else(|| meaning.child_suite.clone());
        }
        let identity = if is_ue { &mut self.user } else { &mut self.gateway };
        if let Some(told) = &meaning.identity {
            identity.get_or_insert_with(|| told.clone());
        }
        if is_ue {
            self.auth_method = self.auth_method.or(meaning.auth.map(Proof::Ikev2));
        }
        self.address = self.address.or(meaning.address.filter(|_| ike.response));
        if let Some(vendor) = meaning.vendor {
            self.vendors.insert(entry.ends.0, vendor);
        }
    }
}
