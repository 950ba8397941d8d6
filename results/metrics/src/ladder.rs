//! The messages of one authentication of a row, in the order of sending: what a page draws as a ladder.
//!
//! One authentication of each row is kept: the first that was established, or the first of all if none was. Its length is bounded.

use keytoll_trace::{Fact, Fate, Message, Node, Record};

use super::{Outcome, Sample};

/// Further datagrams are counted and not kept.
const HOPS_MAX: usize = 200;

/// The datagrams of an authentication until its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    /// The number of the authentication in its row.
    pub sample: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// In the order of sending.
    pub hops: Vec<Hop>,
    /// Datagrams beyond those that are kept.
    pub left_out: u64,
}

/// A datagram on a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The sender.
    pub from: Node,
    /// The other end of the link.
    pub to: Node,
    /// When it was handed to the link, from the trigger.
    pub sent_ns: u64,
    /// When it arrived, from the trigger; nothing if it did not arrive, or was damaged.
    pub arrived_ns: Option<u64>,
    /// Its message; nothing for what no engine has sent, such as acknowledgements of TCP.
    pub message: Option<Message>,
    /// Its protocol.
    pub protocol: &'static str,
    /// Its bytes on the link, headers of every fragment included.
    pub bytes: u64,
}

impl Hop {
    /// What the standard calls it, and which fragment of the message it is.
    pub fn name(&self) -> String {
        match &self.message {
            Some(Message { name, fragment: 0, .. }) => name.as_str().to_owned(),
            Some(Message { name, fragment, .. }) => format!("{}, fragment {fragment}", name.as_str()),
            None => self.protocol.to_owned(),
        }
    }

    /// Whether its message was sent before.
    pub fn is_repeated(&self) -> bool {
        self.message.as_ref().is_some_and(|message| message.retransmission)
    }
}

impl Ladder {
    /// Whether this authentication is a better example than the one that is kept.
    pub(super) fn is_wanted(kept: Option<&Self>, sample: &Sample) -> bool {
        match kept {
            None => true,
            Some(kept) => kept.outcome != Outcome::Established && sample.outcome == Outcome::Established,
        }
    }

    /// The ladder of an authentication from those of its records that belong to it; `message_of` is the place of a datagram's message.
    pub(super) fn of<'a>(
        sample: &Sample,
        records: &'a [Record],
        inside: impl Iterator<Item = usize>,
        message_of: impl Fn(usize) -> Option<&'a Message>,
    ) -> Self {
        let mut hops: Vec<Hop> = Vec::new();
        let mut left_out = 0;
        for at in inside {
            match hop(&records[at], sample.triggered_at_ns, || message_of(at).cloned()) {
                Some(hop) if hops.len() < HOPS_MAX => hops.push(hop),
                Some(_) => left_out += 1,
                None => {}
            }
        }
        hops.sort_by_key(|hop| hop.sent_ns);
        Self { sample: sample.sample, outcome: sample.outcome.clone(), hops, left_out }
    }
}

/// A datagram; copies that the network made are no hops.
fn hop(record: &Record, start_ns: u64, message: impl FnOnce() -> Option<Message>) -> Option<Hop> {
    let Fact::Carried { link, protocol, bytes, transit_ns, fate, .. } = record.fact else { return None };
    if fate == Fate::Duplicate {
        return None;
    }
    let sent_ns = record.at_ns.saturating_sub(start_ns);
    Some(Hop {
        from: record.node,
        to: if link.0 == record.node { link.1 } else { link.0 },
        sent_ns,
        arrived_ns: (fate == Fate::Delivered).then(|| sent_ns.saturating_add(transit_ns)),
        message: message(),
        protocol: protocol.name(),
        bytes: bytes.into(),
    })
}
