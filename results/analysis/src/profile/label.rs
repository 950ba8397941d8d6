//! Labels of an authentication's messages. IKEv1's are those of paper 004: phase, side, position in the exchange.

use std::collections::BTreeMap;

use keytoll_trace::{Message, Name, Node, Protocol, StepCost, Stimulus};

/// The labels of the messages that one step received and sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Labels {
    pub(super) received: Option<String>,
    pub(super) sent: Option<String>,
}

/// The label of a step that neither received nor sent a message.
const NO_MESSAGE: &str = "no message";

impl Labels {
    /// The message to which an operation belongs: for reading the received one, if there was any, otherwise the sent one.
    pub(super) fn message(&self, reading: bool) -> String {
        let (first, second) =
            if reading { (&self.received, &self.sent) } else { (&self.sent, &self.received) };
        first.as_ref().or(second.as_ref()).map_or_else(|| NO_MESSAGE.to_owned(), Clone::clone)
    }
}

/// The labels for each step of one authentication at one node, in order.
pub(super) fn labels(steps: &[&StepCost]) -> Vec<Labels> {
    let mut count = Count::default();
    let numbered: Vec<_> = steps.iter().map(|step| count.step(step)).collect();
    let name = |numbered: &Numbered| numbered.name(&count);
    numbered
        .iter()
        .map(|(received, sent)| Labels {
            received: received.as_ref().map(name),
            sent: sent.as_ref().map(name),
        })
        .collect()
}

/// A message and its number among those of its kind, from 1.
struct Numbered {
    kind: Kind,
    message: Message,
    place: usize,
}

/// Messages that are counted together.
type Kind = (Protocol, Name, bool);

/// How many messages of each kind there were.
#[derive(Default)]
struct Count {
    /// The message ids of a kind, or in a series, where they are the same throughout an exchange, the messages.
    seen: BTreeMap<Kind, Vec<u32>>,
}

impl Count {
    /// The received message of a step, and the first one that it sent.
    fn step(&mut self, step: &StepCost) -> (Option<Numbered>, Option<Numbered>) {
        let received = match &step.stimulus {
            Stimulus::Message(message) => Some(self.number(message, of_initiator(step.node, false))),
            Stimulus::Datagram(_) | Stimulus::Own => None,
        };
        let sent = step.sent.iter().map(|message| self.number(message, of_initiator(step.node, true)));
        // All are counted, so they must not be left to a lazy iterator.
        let sent: Vec<_> = sent.collect();
        (received, sent.into_iter().next())
    }

    fn number(&mut self, message: &Message, of_initiator: bool) -> Numbered {
        let in_series = message.series.is_some();
        let answering = if in_series { !of_initiator } else { message.response };
        let kind = (message.protocol, message.name, answering);
        let seen = self.seen.entry(kind).or_default();
        let known = seen.iter().position(|&id| id == message.id);
        let place = match known {
            _ if message.retransmission => known,
            Some(place) if !in_series => Some(place),
            _ => None,
        };
        let place = place.unwrap_or_else(|| {
            seen.push(message.id);
            seen.len() - 1
        });
        Numbered { kind, message: message.clone(), place: place + 1 }
    }
}

/// In a series a message does not show its sender's role. The device is the initiator.
fn of_initiator(node: Node, sent: bool) -> bool {
    (node == Node::Ue) == sent
}

impl Numbered {
    fn name(&self, count: &Count) -> String {
        let side = if self.kind.2 { 'R' } else { 'I' };
        let name = match self.message.series {
            Some(series) => format!("{series}, {side}{}", self.place),
            None => self.plain(count),
        };
        // RFC 7383 §2.5: fragments are numbered from 1, and each is decrypted separately. The first represents the message.
        if self.message.fragment > 1 { format!("{name}, fragment {}", self.message.fragment) } else { name }
    }

    /// With its number, if there are several.
    fn plain(&self, count: &Count) -> String {
        let name = self.message.name;
        let several = count.seen.get(&self.kind).is_some_and(|seen| seen.len() > 1);
        if several { format!("{name} {}", self.place) } else { name.to_string() }
    }
}
