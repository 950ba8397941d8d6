//! Evaluates the records of one authentication, once they are complete.
//!
//! The authentication starts with `Triggered` and ends with the device's `Usable`, `Failed` or `Refused`, whichever is first.
//! Datagrams passed to a link until then belong to it, even if they arrive later; what is sent afterwards (deletes, liveness,
//! rekeying) is counted separately. So is RADIUS accounting (RFC 2866) at any time: the gateway reports the session's start
//! when it is done, which may be before or after the device is.

use std::collections::BTreeMap;

use keytoll_trace::{Fact, Fate, Link, Message, Node, Part, Protocol, Record};

use super::cover::Cover;
use super::ladder::Ladder;
use super::profiler::profile;
use super::times::{Concluded, Times};
use super::{LinkCount, Outcome, Sample, Split, Tally};

/// The link that each protocol was seen to use from each node.
#[derive(Debug, Default)]
pub(super) struct Routes(BTreeMap<(Protocol, Node), Link>);

impl Routes {
    /// Remembers the first link that a protocol uses at each of the link's ends.
    pub(super) fn learn(&mut self, fact: &Fact) {
        if let Fact::Carried { link, protocol, .. } = *fact {
            self.0.entry((protocol, link.0)).or_insert(link);
            self.0.entry((protocol, link.1)).or_insert(link);
        }
    }

    fn usual(&self, node: Node, protocol: Protocol) -> Option<Link> {
        self.0.get(&(protocol, node)).copied()
    }
}

/// Measures one authentication from its records in chronological order. `None` without a trigger: then it is a remainder of
/// another one. Message kinds and reasons of discards go to the tally at once.
pub(super) fn conclude(
    number: u32,
    records: &[Record],
    routes: &Routes,
    tally: &mut Tally,
) -> Option<Sample> {
    let Some(span) = Span::of(records) else {
        tally.without_trigger += u64::from(!records.is_empty());
        return None;
    };
    let pairs = pairs(records);
    let (mut sample, busy) = span.sample(number, records, &pairs);
    tally.steps.authentications += u64::from(!sample.disturbed);
    for at in 0..records.len() {
        let inside = span.holds(records, sent_at(records, &pairs, at));
        match &records[at].fact {
            Fact::Sent(message) => {
                let node = records[at].node;
                let link = link_at(records, pairs[at]).or_else(|| routes.usual(node, message.protocol));
                let part = if inside { Part::Authentication } else { Part::After };
                tally.messages.add(node, link, message, part);
                counter(&mut sample, inside, link).add(&of_message(message));
            }
            Fact::Carried { link, packets, bytes, fate, .. } => {
                let packets = of_packets(*packets, *bytes, *fate);
                counter(&mut sample, inside, Some(*link)).add(&packets);
                if inside {
                    *tally.bytes_from.entry((*link, records[at].node)).or_default() += packets.bytes;
                }
            }
            Fact::Discarded { protocol, why } => {
                sample.discards += 1;
                *tally.discards.entry((*protocol, why.to_string())).or_default() += 1;
            }
            Fact::Computed { busy_ns } if inside && !sample.disturbed => {
                tally.steps.add(records[at].node, *busy_ns);
            }
            _ => {}
        }
    }
    for count in sample.links.values() {
        sample.total.add(count);
    }
    sample.times = Concluded {
        records,
        start_ns: span.start_ns,
        duration_ns: span.duration_ns(),
        outcome: &sample.outcome,
        split: sample.split.as_ref(),
        busy,
        total: sample.total,
    }
    .times();
    if Ladder::is_wanted(tally.ladder.as_ref(), &sample) {
        tally.ladder = Some(span.ladder(&sample, records, &pairs));
    }
    Some(sample)
}

/// For each message its datagram and for each datagram its message, by index of the records. A node passes its datagrams to the
/// links in the order in which it sent the messages, but may have reached its outcome in between: the pair shows that such a
/// datagram is still part of the authentication.
fn pairs(records: &[Record]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; records.len()];
    let mut sent: Vec<(Node, Protocol, usize)> = Vec::new();
    for (at, record) in records.iter().enumerate() {
        match record.fact {
            Fact::Sent(ref message) => {
                // Messages that were sent earlier and have not reached a link never will.
                sent.retain(|&(node, _, earlier)| {
                    node != record.node || records[earlier].at_ns == record.at_ns
                });
                sent.push((record.node, message.protocol, at));
            }
            Fact::Carried { protocol, fate, .. } if fate != Fate::Duplicate => {
                let is_its = |&(node, of, _): &(Node, Protocol, usize)| (node, of) == (record.node, protocol);
                let Some(place) = sent.iter().position(is_its) else { continue };
                let (_, _, message) = sent.remove(place);
                (pairs[at], pairs[message]) = (Some(message), Some(at));
            }
            _ => {}
        }
    }
    pairs
}

/// The index that determines when a record was caused: for a datagram that of its message.
fn sent_at(records: &[Record], pairs: &[Option<usize>], at: usize) -> usize {
    match records[at].fact {
        Fact::Carried { .. } => pairs[at].unwrap_or(at),
        _ => at,
    }
}

fn link_at(records: &[Record], place: Option<usize>) -> Option<Link> {
    match records[place?].fact {
        Fact::Carried { link, .. } => Some(link),
        _ => None,
    }
}

/// From the trigger to the outcome.
struct Span {
    start_ns: u64,
    /// Index in the records and time of the outcome.
    end: Option<(usize, u64)>,
    outcome: Outcome,
}

impl Span {
    fn of(records: &[Record]) -> Option<Self> {
        let start_ns = records.iter().find(|record| matches!(record.fact, Fact::Triggered))?.at_ns;
        let end = records.iter().position(is_end);
        let outcome = match end.map(|place| (&records[place], &records[..place])) {
            Some((Record { fact: Fact::Usable, .. }, _)) => Outcome::Established,
            // The device was told of a failure that another node had detected before.
            Some((told @ Record { fact: Fact::Refused { .. }, .. }, before)) => {
                first_found(before).or_else(|| failure(told)).unwrap_or(Outcome::Unfinished)
            }
            Some((found, _)) => failure(found).unwrap_or(Outcome::Unfinished),
            // The device did not record an outcome; if another node gave up, that is the reason.
            None => first_found(records).unwrap_or(Outcome::Unfinished),
        };
        Some(Self { start_ns, end: end.map(|place| (place, records[place].at_ns)), outcome })
    }

    /// Whether the record at this index is part of the authentication.
    fn holds(&self, records: &[Record], place: usize) -> bool {
        let timely = records[place].at_ns >= self.start_ns && self.end.is_none_or(|(end, _)| place < end);
        timely && !is_accounting(&records[place])
    }

    /// The messages of the authentication.
    fn ladder(&self, sample: &Sample, records: &[Record], pairs: &[Option<usize>]) -> Ladder {
        let inside = (0..records.len()).filter(|&at| self.holds(records, sent_at(records, pairs, at)));
        let message_of = |at: usize| match &records[pairs[at]?].fact {
            Fact::Sent(message) => Some(message),
            _ => None,
        };
        Ladder::of(sample, records, inside, message_of)
    }

    /// How long it took, if the device recorded an outcome.
    fn duration_ns(&self) -> Option<u64> {
        Some(self.end?.1.saturating_sub(self.start_ns))
    }

    /// The part of the sample that does not depend on message counts, and when something was done within the delay.
    fn sample(&self, number: u32, records: &[Record], pairs: &[Option<usize>]) -> (Sample, Cover) {
        let delay_ns = self.duration_ns().filter(|_| self.outcome == Outcome::Established);
        let split = delay_ns.map(|delay_ns| split(records, pairs, self.start_ns, delay_ns));
        let (split, busy) = split.unzip();
        let sample = Sample {
            sample: number,
            triggered_at_ns: self.start_ns,
            outcome: self.outcome.clone(),
            times: Times::default(),
            split,
            links: BTreeMap::new(),
            total: LinkCount::default(),
            after: LinkCount::default(),
            discards: 0,
            charged: records.iter().any(|record| matches!(record.fact, Fact::Computed { .. })),
            disturbed: records.iter().any(|record| matches!(record.fact, Fact::Disturbed)),
            nodes: BTreeMap::new(),
            profiles: profile(number, records),
            traffic: None,
            moved: None,
            block: None,
        };
        (sample, busy.unwrap_or_default())
    }
}

/// Whether it is an accounting message.
pub(super) fn is_accounting(record: &Record) -> bool {
    matches!(record.fact, Fact::Sent(Message { accounting: true, .. }))
}

/// Whether it is the device's outcome.
pub(super) fn is_end(record: &Record) -> bool {
    record.node == Node::Ue
        && matches!(record.fact, Fact::Usable | Fact::Failed { .. } | Fact::Refused { .. })
}

/// The failure that a node recorded, with the node.
fn failure(record: &Record) -> Option<Outcome> {
    match &record.fact {
        Fact::Failed { why } | Fact::Refused { why } => {
            Some(Outcome::Failed { why: format!("{}: {why}", record.node.name()) })
        }
        _ => None,
    }
}

/// The first failure that a node detected.
fn first_found(records: &[Record]) -> Option<Outcome> {
    records.iter().find(|record| matches!(record.fact, Fact::Failed { .. })).and_then(failure)
}

/// Divides the delay. Time with a datagram in flight counts as network, whatever is computed meanwhile, because that computation
/// delays nothing. In a lock-step exchange nothing overlaps, and the parts are plain sums. Accounting delays nothing. Also
/// returns when a datagram was in flight or a node computed.
fn split(records: &[Record], pairs: &[Option<usize>], start_ns: u64, delay_ns: u64) -> (Split, Cover) {
    let clip = |at_ns: u64| at_ns.saturating_sub(start_ns).min(delay_ns);
    let mut cover = Cover::default();
    let mut split = Split::default();
    for (at, record) in records.iter().enumerate() {
        if is_accounting(&records[sent_at(records, pairs, at)]) {
            continue;
        }
        if let Fact::Carried { transit_ns, fate: Fate::Delivered, .. } = record.fact {
            split.network_ns += cover.add(clip(record.at_ns), clip(record.at_ns.saturating_add(transit_ns)));
        }
    }
    for record in records {
        if let Fact::Computed { busy_ns } = record.fact {
            let new = cover.add(clip(record.at_ns.saturating_sub(busy_ns)), clip(record.at_ns));
            *split.computation_ns.entry(record.node).or_default() += new;
        }
    }
    split.waiting_ns = delay_ns - split.network_ns - split.computation_total_ns();
    (split, cover)
}

/// The counter of a message: that of the link if it is part of the authentication. A message that never reached a link (no
/// route, too long) was not sent over any.
fn counter(sample: &mut Sample, inside: bool, link: Option<Link>) -> &mut LinkCount {
    match link {
        Some(link) if inside => sample.links.entry(link).or_default(),
        _ => &mut sample.after,
    }
}

pub(super) fn of_message(message: &Message) -> LinkCount {
    let first = u64::from(message.fragment <= 1);
    match message.retransmission {
        true => LinkCount { retransmissions: first, ..LinkCount::default() },
        false => LinkCount { messages: first, ..LinkCount::default() },
    }
}

pub(super) fn of_packets(packets: u16, bytes: u32, fate: Fate) -> LinkCount {
    let sent = LinkCount { packets: packets.into(), bytes: bytes.into(), ..LinkCount::default() };
    match fate {
        Fate::Delivered => sent,
        Fate::Lost | Fate::Corrupted => LinkCount { lost_packets: packets.into(), ..sent },
        Fate::QueueFull => LinkCount { lost_packets: packets.into(), ..LinkCount::default() },
        Fate::Duplicate => LinkCount::default(),
    }
}
