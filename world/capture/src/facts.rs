//! A conversation as the facts that a run would have left of it, so that the same metrics measure both.
//!
//! What a capture cannot know is left out: computation, memory, and what happened at an end without a packet. The clock
//! starts with the first packet, not with what triggered it, and stops when the last answer passed; where the capture says
//! how long packets were under way, when it arrived, or when the first ESP packet left, whichever is later.

use std::borrow::Cow;
use std::collections::BTreeSet;

use keytoll_engine::trace::{Fact, Fate, Link, Node, Protocol, Record};

use keytoll_eap::methods::of_type;
use keytoll_eap::packet::MethodType;
use keytoll_ike::number::{AuthMethod, ExchangeType};
use keytoll_ike::v1::number::{AGGRESSIVE, AuthenticationMethod, IDENTITY_PROTECTION};

use crate::conversation::{Conversation, Entry, Kind, Outcome, Proof};
use crate::dissect::Content;
use crate::dissect::eapol::{Body, Handshake, Key};

const IKE_SA_INIT: u8 = 34;
const IKE_AUTH: u8 = 35;

/// What a device calls it when nobody answers.
const TIMEOUT: &str = "timeout";

/// How an authentication begins, which is all that is known of one that ended before it showed its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// With the mode of phase 1, if the capture shows it.
    Ikev1(Option<ExchangeType>),
    /// With IKE_SA_INIT.
    Ikev2,
    /// With an Access-Request that is for nothing else here.
    Radius,
    /// With EAPOL.
    Eapol,
}

/// The method of an authentication, by the name of the catalogue where it has one, and the suite that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// `ikev2-eap-tls`; of what did not get as far as to show it, only the protocol.
    pub name: String,
    /// The IKE suite; empty if none was chosen.
    pub suite: String,
    /// Whether it got as far as to show its method.
    pub is_known: bool,
    /// How it began.
    pub opening: Opening,
}

impl Method {
    /// Whether an authentication that did not show its method may have been one of this method: they begin alike.
    pub fn may_become(&self, known: &Self) -> bool {
        let begins_alike = match (self.opening, known.opening) {
            (Opening::Ikev1(None), Opening::Ikev1(_)) => true,
            (own, other) => own == other,
        };
        !self.is_known && known.is_known && begins_alike
    }
}

/// The method of a conversation; none of what is no authentication.
pub fn method(conversation: &Conversation) -> Option<Method> {
    let about = &conversation.about;
    let eap = about.eap_method.map(eap_name);
    let named = match conversation.kind {
        Kind::Ike { major: 1, .. } => Some(ikev1_name(conversation)),
        Kind::Ike { .. } => match (eap, about.auth_method) {
            (Some(eap), _) => Some(format!("ikev2-eap-{eap}")),
            (None, Some(Proof::Ikev2(AuthMethod::SHARED_KEY_MIC))) => Some("ikev2-psk".to_owned()),
            (None, Some(Proof::Ikev2(AuthMethod::NULL_AUTHENTICATION))) => Some("ikev2-null".to_owned()),
            (None, Some(_)) => Some("ikev2-certificate".to_owned()),
            (None, None) => sealed_method(conversation),
        },
        Kind::Radius if asks_access(conversation) => {
            Some(eap.map_or_else(|| "radius".to_owned(), |eap| format!("radius-eap-{eap}")))
        }
        Kind::Eapol if is_eapol_authentication(conversation) => {
            eap.map(|eap| format!("eapol-eap-{eap}")).or_else(|| handshake_name(conversation))
        }
        _ => return None,
    };
    let (opening, begun) = match conversation.kind {
        Kind::Ike { major: 1, .. } => (Opening::Ikev1(phase1_mode(conversation)), "ikev1"),
        Kind::Eapol => (Opening::Eapol, "eapol"),
        Kind::Radius => (Opening::Radius, "radius"),
        _ => (Opening::Ikev2, "ikev2"),
    };
    let suite = about.ike_suite.clone().unwrap_or_default();
    // Until the responder of IKEv1 has chosen, nobody knows how the two will prove themselves.
    let is_undecided = matches!(conversation.kind, Kind::Ike { major: 1, .. }) && about.auth_method.is_none();
    let is_known = named.is_some() && !is_undecided;
    Some(Method { name: named.unwrap_or_else(|| begun.to_owned()), suite, is_known, opening })
}

/// RFC 2409 §5: phase 1 begins with its mode, and the answer names the authentication method.
fn ikev1_name(conversation: &Conversation) -> String {
    let mode = match phase1_mode(conversation) {
        Some(IDENTITY_PROTECTION) => "-main",
        Some(_) => "-aggressive",
        None => "",
    };
    let proof = match conversation.about.auth_method {
        Some(Proof::Ikev1(AuthenticationMethod::PRE_SHARED_KEY)) => "-psk",
        Some(Proof::Ikev1(AuthenticationMethod::RSA_SIGNATURES)) => "-rsa",
        _ => "",
    };
    format!("ikev1{mode}{proof}")
}

/// Main or aggressive mode, whichever comes first.
fn phase1_mode(conversation: &Conversation) -> Option<ExchangeType> {
    let mut exchanges = conversation.entries.iter().filter_map(|entry| match &entry.content {
        Content::Ike(ike) => Some(ExchangeType(ike.exchange)),
        _ => None,
    });
    exchanges.find(|exchange| matches!(*exchange, IDENTITY_PROTECTION | AGGRESSIVE))
}

/// Without keys the number of IKE_AUTH exchanges tells EAP from the other methods, once there was one.
fn sealed_method(conversation: &Conversation) -> Option<String> {
    match auth_exchanges(conversation) {
        0 => None,
        1 => Some("ikev2-without-eap".to_owned()),
        _ => Some("ikev2-eap".to_owned()),
    }
}

/// What the catalogue calls the method, as far as it shows; `type-77` if it is not ours.
fn eap_name(kind: MethodType) -> String {
    let unknown = || kind.to_string().to_lowercase().replace(' ', "-");
    of_type(kind).next().map_or_else(unknown, keytoll_eap::methods::Method::name_outside)
}

fn auth_exchanges(conversation: &Conversation) -> usize {
    let responses = conversation.entries.iter().filter_map(|entry| match &entry.content {
        Content::Ike(ike) if ike.exchange == IKE_AUTH && ike.response => Some(ike.id),
        _ => None,
    });
    responses.collect::<BTreeSet<_>>().len()
}

fn asks_access(conversation: &Conversation) -> bool {
    let is_access = |entry: &Entry| match &entry.content {
        Content::Radius(radius) => radius.code == keytoll_radius::number::Code::ACCESS_REQUEST,
        _ => false,
    };
    conversation.entries.iter().any(is_access)
}

/// Whether somebody asked for something: who only leaves is not authenticated.
fn is_eapol_authentication(conversation: &Conversation) -> bool {
    let asks = |entry: &Entry| match &entry.content {
        Content::Eapol(eapol) => match &eapol.body {
            Body::Eap(_) | Body::Start => true,
            Body::Key(key) => key.handshake.is_some(),
            Body::Logoff => false,
        },
        _ => false,
    };
    conversation.entries.iter().any(asks)
}

/// Where the pairwise key was there before, the 4-way handshake alone authenticates: IEEE 802.11-2020 §12.6.10.
fn handshake_name(conversation: &Conversation) -> Option<String> {
    let is_handshake = |entry: &Entry| match &entry.content {
        Content::Eapol(eapol) => {
            matches!(&eapol.body, Body::Key(Key { handshake: Some(Handshake::FourWay(_)), .. }))
        }
        _ => false,
    };
    conversation.entries.iter().any(is_handshake).then(|| "eapol-4-way-handshake".to_owned())
}

/// The facts of a conversation as authentication number `sample`, times counted from `begins_ns`.
pub fn records(conversation: &Conversation, sample: u32, begins_ns: u64) -> Vec<Record> {
    let at = |ns: u64| ns.saturating_sub(begins_ns);
    let record = |ns: u64, node, fact| Record { at_ns: at(ns), node, sample, fact };
    let Some(first) = conversation.entries.first() else { return Vec::new() };
    let mut records = vec![record(first.first_ns, Node::Ue, Fact::Triggered)];
    let end = end(conversation);
    // Of what happens at one time the end comes after the message that it is about: metrics keep the order.
    let told_at = match conversation.outcome {
        Outcome::Unanswered(_) => conversation.entries.len().checked_sub(1),
        _ => conversation.outcome.place(),
    };
    for (place, entry) in conversation.entries.iter().enumerate() {
        if !matches!(entry.protocol, Protocol::ESP | Protocol::ICMP | Protocol::IP) {
            let facts = facts(entry).into_iter();
            records.extend(facts.map(|fact| record(entry.first_ns, entry.ends.0, fact)));
        }
        if told_at == Some(place) {
            records.extend(end.iter().map(|(ns, node, fact)| record(*ns, *node, fact.clone())));
        }
    }
    records.extend(first_packet(conversation).map(|ns| record(ns, Node::Ue, Fact::FirstPacket)));
    records
}

/// What was sent and carried.
fn facts(entry: &Entry) -> Vec<Fact> {
    let (fate, transit) = entry.fate.unwrap_or((Fate::Delivered, std::time::Duration::ZERO));
    let sent = entry.sent.as_deref().filter(|_| !entry.is_copy()).cloned().map(Fact::Sent);
    let carried = Fact::Carried {
        link: Link::between(entry.ends.0, entry.ends.1),
        protocol: entry.protocol,
        packets: u16::try_from(entry.packets).unwrap_or(u16::MAX),
        bytes: u32::try_from(entry.wire_bytes).unwrap_or(u32::MAX),
        transit_ns: u64::try_from(transit.as_nanos()).unwrap_or(u64::MAX),
        fate,
    };
    sent.into_iter().chain([carried]).collect()
}

/// What each end came to know, and when.
fn end(conversation: &Conversation) -> Vec<(u64, Node, Fact)> {
    let entries = &conversation.entries;
    let why = |why: &str| -> Cow<'static, str> { why.to_owned().into() };
    match &conversation.outcome {
        Outcome::Established(at) => {
            vec![(usable_ns(conversation, *at), Node::Ue, Fact::Usable)]
        }
        Outcome::Failed { by: Node::Ue, why: name, at } => {
            vec![(entries[*at].first_ns, Node::Ue, Fact::Failed { why: why(name) })]
        }
        Outcome::Failed { by, why: name, at } => {
            let told_ns = arrives_ns(&entries[*at]);
            vec![
                (entries[*at].first_ns, *by, Fact::Failed { why: why(name) }),
                (told_ns, Node::Ue, Fact::Refused { why: why(name) }),
            ]
        }
        // Somebody who asked once may have had no time left in the capture.
        Outcome::Unanswered(at) if entries[*at].repeats.is_some() => {
            vec![(gives_up_ns(conversation), Node::Ue, Fact::Failed { why: TIMEOUT.into() })]
        }
        Outcome::Unanswered(_) | Outcome::Unknown => Vec::new(),
    }
}

/// A device that gets no answer gives up some time after the last that was said for it, which is all a capture shows.
fn gives_up_ns(conversation: &Conversation) -> u64 {
    let spoken = conversation.entries.iter().rfind(|entry| match &entry.content {
        Content::Ike(ike) => matches!(ike.exchange, IKE_SA_INIT | IKE_AUTH),
        _ => entry.protocol != Protocol::ESP,
    });
    spoken.map_or(0, |entry| entry.first_ns)
}

/// When a message arrives, as far as the capture tells.
fn arrives_ns(entry: &Entry) -> u64 {
    let transit = entry.fate.map_or(0, |(_, transit)| u64::try_from(transit.as_nanos()).unwrap_or(u64::MAX));
    entry.at_ns.saturating_add(transit)
}

/// When the device can use the SA. In captures that say how long packets travel, the packet that waited for the SA leaves at
/// that moment.
fn usable_ns(conversation: &Conversation, at: usize) -> u64 {
    let answer = &conversation.entries[at];
    // RFC 2409 §5.5: the device says the last word of quick mode, and waits for nothing.
    let is_own = answer.ends.0 == Node::Ue;
    let arrived_ns = if is_own { answer.first_ns } else { arrives_ns(answer) };
    let left_ns = answer.fate.and_then(|_| {
        let later = conversation.entries[at..].iter();
        let mut esp = later.filter(|entry| entry.protocol == Protocol::ESP && entry.ends.0 == Node::Ue);
        esp.next().map(|entry| entry.first_ns)
    });
    left_ns.map_or(arrived_ns, |left_ns| left_ns.max(arrived_ns))
}

/// When the answer to the packet that waited arrives; none where the capture does not say how long packets travel, for then
/// nobody knows what the first ESP packet waited for.
fn first_packet(conversation: &Conversation) -> Option<u64> {
    let Outcome::Established(at) = conversation.outcome else { return None };
    let later = conversation.entries[at..].iter();
    let mut answers = later.filter(|entry| entry.protocol == Protocol::ESP && entry.ends.0 == Node::Gw);
    let answer = answers.find(|entry| matches!(entry.fate, Some((Fate::Delivered, _))))?;
    Some(arrives_ns(answer))
}
