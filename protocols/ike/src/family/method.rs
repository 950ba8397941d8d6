//! What is said of an IKE SA once all of it has passed: its method by the name of the catalogue, and what it came to.

use std::collections::BTreeSet;
use std::fmt;

use keytoll_engine::trace::Node;
use keytoll_family::{About, Content, Conversation, Entry, Ids, Judgement, Method, Opening};

use super::outcome::{self, ike_of};
use super::sas::First;
use super::{Ike, Inside, exchanges};
use crate::number::{AuthMethod, ExchangeType};
use crate::v1::number::{AGGRESSIVE, AuthenticationMethod, IDENTITY_PROTECTION};

/// How an end of an IKE SA proves itself: each version has numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// RFC 2409 appendix A, as both ends have agreed.
    Ikev1(AuthenticationMethod),
    /// RFC 7296 §3.8, from the AUTH payload.
    Ikev2(AuthMethod),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ikev1(method) => method.fmt(f),
            Self::Ikev2(method) => method.fmt(f),
        }
    }
}

impl Content for Ike {
    fn is_opened(&self) -> bool {
        self.inside == Inside::Opened
    }

    fn sets_up(&self) -> bool {
        matches!(ExchangeType(self.exchange), ExchangeType::IKE_SA_INIT | ExchangeType::IKE_AUTH)
    }

    fn tell(&self, entry: &Entry, about: &mut About) {
        let meaning = &self.meaning;
        let is_ue = entry.ends.0 == Node::Ue;
        about.sealed |= matches!(self.inside, Inside::Sealed | Inside::NotAuthentic);
        if self.is_answer(entry) {
            about.suite = about.suite.take().or_else(|| meaning.ike_suite.clone());
            about.child_suite = about.child_suite.take().or_else(|| meaning.child_suite.clone());
        }
        about.auth_method = about.auth_method.take().or_else(|| Some(self.proof(entry)?.to_string()));
        let identity = if is_ue { &mut about.user } else { &mut about.gateway };
        if let Some(told) = &meaning.identity {
            identity.get_or_insert_with(|| told.clone());
        }
        about.address = about.address.or(meaning.address.filter(|_| self.response));
        if let Some(vendor) = meaning.vendor {
            about.vendors.insert(entry.ends.0, vendor);
        }
    }
}

impl Ike {
    /// What is answered is chosen; what is asked only offered. IKEv1 has no flag for it.
    fn is_answer(&self, entry: &Entry) -> bool {
        self.response || (self.major == 1 && entry.ends.0 == Node::Gw)
    }

    /// How the device proves itself, as far as this message says so.
    fn proof(&self, entry: &Entry) -> Option<Proof> {
        let chosen = self.meaning.proof.filter(|_| self.is_answer(entry)).map(Proof::Ikev1);
        chosen.or(self.meaning.auth.filter(|_| entry.ends.0 == Node::Ue).map(Proof::Ikev2))
    }
}

/// What is said of a conversation that begins with this IKE SA.
pub(super) fn judge(first: First, conversation: &Conversation) -> Judgement {
    let (outcome, exchanges) = match first.major {
        1 => {
            let exchanges = exchanges::exchanges(&conversation.entries);
            let named = vec![("phase 1", exchanges.phase1), ("quick mode", exchanges.quick_mode)];
            (exchanges::outcome(first.spi_i, conversation.deciding()), named)
        }
        // Whatever says that it is of another version.
        2 => (outcome::of(conversation.deciding()), Vec::new()),
        _ => (exchanges::outcome(first.spi_i, conversation.deciding()), Vec::new()),
    };
    let spis =
        [("spi_i", first.spi_i), ("spi_r", first.spi_r)].map(|(name, spi)| (name, format!("{spi:016x}")));
    Judgement {
        outcome,
        method: Some(method(first.major, conversation)),
        ids: Ids { label: "SPIs", ids: spis.into() },
        exchanges,
        caution: caution(first.major).filter(|_| conversation.about.sealed),
        sealed: None,
        served_by: None,
    }
}

/// How what cannot be opened is judged.
const fn caution(major: u8) -> Option<&'static str> {
    match major {
        1 => Some(
            "authentications without keys are taken to have succeeded if quick mode has all its messages; that somebody refuses is \
             told by whose turn it was",
        ),
        2 => Some(
            "authentications without keys are taken to have succeeded if their last IKE_AUTH response does not begin with a \
             notification",
        ),
        _ => None,
    }
}

/// The method of a conversation.
fn method(major: u8, conversation: &Conversation) -> Method {
    let proof = conversation.entries.iter().find_map(|entry| ike_of(entry)?.proof(entry));
    let suite = conversation.about.suite.clone().unwrap_or_default();
    if major == 1 {
        let (name, opening) = (v1_name(conversation, proof), v1_opening(conversation));
        // Until the responder has chosen, nobody knows how the two will prove themselves.
        return Method { name, suite, is_known: proof.is_some(), opening };
    }
    let named = v2_name(conversation, proof);
    let is_known = named.is_some();
    let name = named.unwrap_or_else(|| "ikev2".to_owned());
    Method { name, suite, is_known, opening: Opening::of("ikev2") }
}

fn v2_name(conversation: &Conversation, proof: Option<Proof>) -> Option<String> {
    match (&conversation.about.inner_method, proof) {
        (Some(eap), _) => Some(format!("ikev2-eap-{}", eap.name)),
        (None, Some(Proof::Ikev2(AuthMethod::SHARED_KEY_MIC))) => Some("ikev2-psk".to_owned()),
        (None, Some(Proof::Ikev2(AuthMethod::NULL_AUTHENTICATION))) => Some("ikev2-null".to_owned()),
        (None, Some(_)) => Some("ikev2-certificate".to_owned()),
        (None, None) => sealed_method(conversation),
    }
}

/// RFC 2409 §5: phase 1 begins with its mode, and the answer names the authentication method.
fn v1_name(conversation: &Conversation, proof: Option<Proof>) -> String {
    let mode = match phase1_mode(conversation) {
        Some(IDENTITY_PROTECTION) => "-main",
        Some(_) => "-aggressive",
        None => "",
    };
    let proof = match proof {
        Some(Proof::Ikev1(AuthenticationMethod::PRE_SHARED_KEY)) => "-psk",
        Some(Proof::Ikev1(AuthenticationMethod::RSA_SIGNATURES)) => "-rsa",
        _ => "",
    };
    format!("ikev1{mode}{proof}")
}

fn v1_opening(conversation: &Conversation) -> Opening {
    let mode = phase1_mode(conversation).map(|mode| if mode == AGGRESSIVE { "aggressive" } else { "main" });
    Opening { protocol: "ikev1", mode }
}

/// Main or aggressive mode, whichever comes first.
fn phase1_mode(conversation: &Conversation) -> Option<ExchangeType> {
    let mut exchanges = conversation.entries.iter().filter_map(ike_of).map(|ike| ExchangeType(ike.exchange));
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

fn auth_exchanges(conversation: &Conversation) -> usize {
    let responses = conversation.entries.iter().filter_map(ike_of);
    let responses =
        responses.filter(|ike| ike.response && ExchangeType(ike.exchange) == ExchangeType::IKE_AUTH);
    responses.map(|ike| ike.id).collect::<BTreeSet<_>>().len()
}
