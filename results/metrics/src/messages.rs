//! The kinds of messages of a row, in the order in which they first appeared.

use keytoll_trace::{Link, Message, Node, Part};

/// Further kinds are not distinguished: a row under attack or heavy loss could create new ones endlessly.
const KINDS_MAX: usize = 512;

/// Messages of one name with the same parts, from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageKind {
    /// Part of the authentication or not; accounting is not.
    pub part: Part,
    /// The sender.
    pub from: Node,
    /// The other end of the link; `None` if it never reached one.
    pub to: Option<Node>,
    /// The first such message.
    pub example: Message,
    /// The number sent, without retransmissions.
    pub count: u64,
    /// How many of them were sent again.
    pub retransmissions: u64,
    /// Their bytes without transport and IP headers; the fragments of a message are added up.
    pub bytes: u64,
}

impl MessageKind {
    /// `IKE_SA_INIT request`.
    pub fn name(&self) -> &'static str {
        self.example.name.as_str()
    }

    /// `SA KE Nonce`.
    pub fn payloads(&self) -> String {
        self.example.parts.to_string()
    }

    /// Mean length of a message in bytes.
    pub fn bytes_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.bytes as f64 / self.count as f64)
    }

    fn is(&self, part: Part, from: Node, to: Option<Node>, message: &Message) -> bool {
        self.part == part && self.from == from && self.to == to && are_alike(&self.example, message)
    }
}

/// Whether two messages have the same name and parts.
fn are_alike(one: &Message, other: &Message) -> bool {
    one.response == other.response
        && one.name == other.name
        && one.protocol == other.protocol
        && one.parts == other.parts
}

/// The kinds of messages of a row.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    kinds: Vec<MessageKind>,
    left_out: u64,
}

impl Messages {
    /// The kinds, in order of first appearance.
    pub fn kinds(&self) -> &[MessageKind] {
        &self.kinds
    }

    /// Messages of kinds beyond the maximum number.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn add(&mut self, from: Node, link: Option<Link>, message: &Message, part: Part) {
        let to = link.map(|link| if link.0 == from { link.1 } else { link.0 });
        let found = match message.fragment {
            0 | 1 => self.find_or_open(part, from, to, message),
            _ => self.whole_of(from, message),
        };
        match found {
            Some(kind) => count(kind, message),
            None => self.left_out += 1,
        }
    }

    fn find_or_open(
        &mut self,
        part: Part,
        from: Node,
        to: Option<Node>,
        message: &Message,
    ) -> Option<&mut MessageKind> {
        let known = self.kinds.iter().position(|kind| kind.is(part, from, to, message));
        if known.is_none() && self.kinds.len() < KINDS_MAX {
            let example = message.clone();
            self.kinds.push(MessageKind { part, from, to, example, count: 0, retransmissions: 0, bytes: 0 });
            return self.kinds.last_mut();
        }
        known.map(|place| &mut self.kinds[place])
    }

    /// The kind of the message to which this later fragment belongs: only the first fragment names its payloads.
    fn whole_of(&mut self, from: Node, fragment: &Message) -> Option<&mut MessageKind> {
        let alike = |kind: &&mut MessageKind| {
            let whole = &kind.example;
            kind.from == from
                && (whole.protocol, whole.name, whole.response)
                    == (fragment.protocol, fragment.name, fragment.response)
                && whole.fragment == 1
        };
        self.kinds.iter_mut().rev().find(alike)
    }
}

fn count(kind: &mut MessageKind, message: &Message) {
    let first = u64::from(message.fragment <= 1);
    if message.retransmission {
        kind.retransmissions += first;
    } else {
        kind.count += first;
        kind.bytes += u64::from(message.bytes);
    }
}
