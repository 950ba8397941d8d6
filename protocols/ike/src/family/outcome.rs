//! What an IKE SA came to, told from its messages: RFC 7296 §1.2, §2.16, §2.21; RFC 3748 §4.2.
//!
//! Without keys the last IKE_AUTH response tells it by the type of its first payload, which is not encrypted
//! (RFC 7296 §3.14): a response that begins with a notification refuses.

use keytoll_engine::trace::Node;
use keytoll_family::{Access, Entry, Outcome};

use super::{Ike, Inside};
use crate::number::{ExchangeType, PayloadType};

const IKE_SA_INIT: u8 = ExchangeType::IKE_SA_INIT.0;
const IKE_AUTH: u8 = ExchangeType::IKE_AUTH.0;
const INFORMATIONAL: u8 = ExchangeType::INFORMATIONAL.0;

pub(super) fn ike_of(entry: &Entry) -> Option<&Ike> {
    entry.content.of()
}

/// What an IKE SA of version 2 came to.
pub(super) fn of(entries: &[Entry]) -> Outcome {
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
            Some(_) if rejection(entries, at).is_some() => Some(rejected(entries, at)),
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
        _ if rejection(entries, at).is_some() => Some(rejected(entries, at)),
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
    let Some((next_at, entry)) = next.next() else { return answered(entries, at) };
    let Some(ike) = ike_of(entry).filter(|ike| ike.exchange == INFORMATIONAL && !ike.response) else {
        return Outcome::Established(at);
    };
    let is_alone = entry.sent.as_ref().is_some_and(|sent| sent.bytes() <= LONE_NOTIFICATION_BYTES_MAX);
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

/// So many repeated requests after the answer, and nothing else, say that the device has not accepted it.
const REPEATS_MIN: usize = 2;

/// The device says nothing new after the gateway's last answer, at this place. If it asks for that answer again and again, or last of all, the
/// answer does not satisfy it; one repeated request is that of a lost answer.
fn answered(entries: &[Entry], at: usize) -> Outcome {
    let Some(answer) = ike_of(&entries[at]) else { return Outcome::Established(at) };
    let is_same = |ike: &&Ike| (ike.id, ike.exchange) == (answer.id, answer.exchange);
    // Of a message in fragments the first counts.
    let is_whole = |ike: &&Ike| ike.fragment.is_none_or(|(number, _)| number == 1);
    let later = entries.iter().enumerate().skip(at + 1).filter(|(_, entry)| entry.repeats.is_some());
    let mut later = later.filter_map(|(place, entry)| {
        ike_of(entry).filter(is_same).filter(is_whole).map(|ike| (place, ike.response))
    });
    let mut asked = later.clone().filter(|(_, is_answer)| !is_answer);
    let is_last = later.next_back().is_some_and(|(_, is_answer)| !is_answer);
    match asked.next_back() {
        Some((last, _)) if is_last || asked.count() + 1 >= REPEATS_MIN => Outcome::Unanswered(last),
        _ => Outcome::Established(at),
    }
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
    let asked = entries[..at].iter().rfind(|entry| entry.content.access() == Some(Access::Requested))?;
    let is_accepted = entries[..at].iter().any(|entry| entry.content.access() == Some(Access::Accepted));
    (!is_accepted).then_some(asked.unanswered)
}

/// In which word the AAA server has said no before, if it has.
fn rejection(entries: &[Entry], at: usize) -> Option<&'static str> {
    entries[..at].iter().find_map(|entry| match entry.content.access() {
        Some(Access::Rejected(word)) => Some(word),
        _ => None,
    })
}

fn rejected(entries: &[Entry], at: usize) -> Outcome {
    let (by, why) = match rejection(entries, at) {
        Some(word) => (Node::Aaa, word),
        None => (Node::Gw, "EAP-Failure"),
    };
    Outcome::Failed { by, why: why.to_owned(), at }
}

/// RFC 7296 §2.21.2: the device tells the gateway that it does not believe it.
fn device_refuses(at: usize, entry: &Entry, ike: &Ike) -> Option<Outcome> {
    let error = ike.meaning.error().filter(|_| entry.ends.0 == Node::Ue)?;
    Some(Outcome::Failed { by: Node::Ue, why: error.to_string(), at })
}
