//! A conversation as the facts of a run, so that the same metrics apply to both.
//!
//! A capture lacks computation, memory, and events at an end without a packet. The clock
//! starts with the first message, not with its trigger, and stops when the last answer passed; where the capture has the transit
//! times of packets, it stops when that answer arrived or when the first ESP packet left, whichever is later.

use std::borrow::Cow;

use keytoll_engine::trace::{Fact, Fate, Link, Node, Record};
use keytoll_family::{Conversation, Entry, Outcome};

/// The reason that a device reports when there is no answer.
const TIMEOUT: &str = "timeout";

/// The facts of a conversation as authentication number `sample`, with times after `begins_ns`.
pub fn records(conversation: &Conversation, sample: u32, begins_ns: u64) -> Vec<Record> {
    let at = |ns: u64| ns.saturating_sub(begins_ns);
    let record = |ns: u64, node, fact| Record { at_ns: at(ns), node, sample, fact };
    let Some(first) = conversation.beginning() else { return Vec::new() };
    let mut records = vec![record(first.first_ns, Node::Ue, Fact::Triggered)];
    let end = end(conversation);
    // At equal times the outcome follows the message it depends on: metrics rely on the order.
    let told_at = match conversation.judgement.outcome {
        Outcome::Unanswered(_) => conversation.entries.len().checked_sub(1),
        _ => conversation.judgement.outcome.place(),
    };
    for (place, entry) in conversation.entries.iter().enumerate() {
        if !entry.protocol.is_traffic() {
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

/// Facts about sent and carried packets.
fn facts(entry: &Entry) -> Vec<Fact> {
    let (fate, transit) = entry.fate.unwrap_or((Fate::Delivered, std::time::Duration::ZERO));
    let sent = entry.sent.as_ref().filter(|_| !entry.is_copy()).map(|sent| Fact::Sent(sent.message()));
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

/// The outcome at each end, with its time.
fn end(conversation: &Conversation) -> Vec<(u64, Node, Fact)> {
    let entries = &conversation.entries;
    let why = |why: &str| -> Cow<'static, str> { why.to_owned().into() };
    match &conversation.judgement.outcome {
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
        // After a single request the capture may have ended too early.
        Outcome::Unanswered(at) if entries[*at].repeats.is_some() => {
            vec![(gives_up_ns(conversation), Node::Ue, Fact::Failed { why: TIMEOUT.into() })]
        }
        Outcome::Unanswered(_) | Outcome::Unknown => Vec::new(),
    }
}

/// A device without an answer times out after its last message, which is all that a capture shows.
fn gives_up_ns(conversation: &Conversation) -> u64 {
    let spoken = conversation.entries.iter().rfind(|entry| entry.content.sets_up());
    spoken.map_or(0, |entry| entry.first_ns)
}

/// When a message arrives, as far as the capture shows.
fn arrives_ns(entry: &Entry) -> u64 {
    let transit = entry.fate.map_or(0, |(_, transit)| u64::try_from(transit.as_nanos()).unwrap_or(u64::MAX));
    entry.at_ns.saturating_add(transit)
}

/// When the device can use the SA. In captures with transit times, the packet that waited for the SA is sent at that moment.
fn usable_ns(conversation: &Conversation, at: usize) -> u64 {
    let answer = &conversation.entries[at];
    // RFC 2409 §5.5: the device sends the last message of quick mode, and waits for nothing.
    let is_own = answer.ends.0 == Node::Ue;
    let arrived_ns = if is_own { answer.first_ns } else { arrives_ns(answer) };
    let left_ns = answer.fate.and_then(|_| {
        let later = conversation.entries[at..].iter();
        let mut traffic = later.filter(|entry| entry.is_traffic() && entry.ends.0 == Node::Ue);
        traffic.next().map(|entry| entry.first_ns)
    });
    left_ns.map_or(arrived_ns, |left_ns| left_ns.max(arrived_ns))
}

/// When the answer to the packet that waited arrives; `None` in captures without transit times, where it is unknown what the first
/// ESP packet waited for.
fn first_packet(conversation: &Conversation) -> Option<u64> {
    let Outcome::Established(at) = conversation.judgement.outcome else { return None };
    let later = conversation.entries[at..].iter();
    let mut answers = later.filter(|entry| entry.is_traffic() && entry.ends.0 == Node::Gw);
    let answer = answers.find(|entry| matches!(entry.fate, Some((Fate::Delivered, _))))?;
    Some(arrives_ns(answer))
}
