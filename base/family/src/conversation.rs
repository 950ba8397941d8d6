//! Conversations: messages that belong together, and their outcome.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_net::Addr;
use keytoll_trace::Node;

use crate::entry::Entry;
use crate::family::InnerMethod;

/// The kind of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// `ikev2`, for programs.
    pub name: Cow<'static, str>,
    /// `IKEv2`, for people.
    pub title: Cow<'static, str>,
    /// The label of the chosen suite: `IKE`.
    pub suite_of: &'static str,
    /// The word for a success: `established`, `accepted`.
    pub success: &'static str,
    /// Whether a complete conversation shows its outcome, so that a capture without it is incomplete.
    pub has_end: bool,
}

impl Kind {
    /// Messages that cannot be read.
    pub const UNREADABLE: Self = Self::of("unreadable", "unreadable").without_end();

    /// An authentication by this protocol, with its name for programs and for people.
    pub const fn of(name: &'static str, title: &'static str) -> Self {
        let (name, title) = (Cow::Borrowed(name), Cow::Borrowed(title));
        Self { name, title, suite_of: "", success: "established", has_end: true }
    }

    /// A conversation that is no authentication.
    #[must_use]
    pub const fn without_end(mut self) -> Self {
        self.has_end = false;
        self
    }
}

/// A conversation.
#[derive(Debug)]
pub struct Conversation {
    /// Its kind.
    pub kind: Kind,
    /// Its messages in order of time.
    pub entries: Vec<Entry>,
    /// The addresses of each role, in order of appearance.
    pub hosts: BTreeMap<Node, Vec<Addr>>,
    /// Information from its messages.
    pub about: About,
    /// The judgement of its family.
    pub judgement: Judgement,
}

impl Conversation {
    /// Takes a judgement of its family, with its word for the node that serves the device.
    pub(crate) fn take(&mut self, mut judgement: Judgement) {
        if let Some(node) = judgement.served_by {
            self.serve_by(node);
            if let Outcome::Failed { by: by @ Node::Gw, .. } = &mut judgement.outcome {
                *by = node;
            }
        }
        self.judgement = judgement;
    }

    fn serve_by(&mut self, node: Node) {
        let named = |end: &mut Node| *end = if *end == Node::Gw { node } else { *end };
        for entry in &mut self.entries {
            named(&mut entry.ends.0);
            named(&mut entry.ends.1);
        }
        let addrs = self.hosts.remove(&Node::Gw);
        self.hosts.extend(addrs.map(|addrs| (node, addrs)));
    }

    /// The message that an authentication begins with. Frames of data that were overheard before are not of it.
    pub fn beginning(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| !entry.protocol.is_traffic()).or(self.entries.first())
    }

    /// The messages that can decide the outcome. Later ones cannot: the longest authentications have a hundred messages, and the cost of
    /// a flood must remain linear.
    pub fn deciding(&self) -> &[Entry] {
        const DECIDING_MAX: usize = 10_000;
        &self.entries[..self.entries.len().min(DECIDING_MAX)]
    }
}

/// The judgement of a complete conversation by its family.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judgement {
    /// Its outcome.
    pub outcome: Outcome,
    /// Its method; `None` if it is no authentication.
    pub method: Option<Method>,
    /// Its identifiers.
    pub ids: Ids,
    /// The outcomes of each kind of exchange, where a conversation has several: `phase 1`, `quick mode`.
    pub exchanges: Vec<(&'static str, Ends)>,
    /// What became of frames that the link encrypted, if there are any.
    pub sealed: Option<Sealed>,
    /// How undecryptable messages were judged, if there were any.
    pub caution: Option<&'static str>,
    /// What stands where other conversations have the gateway, if it is no gateway.
    pub served_by: Option<Node>,
}

/// Frames of a conversation that the link encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sealed {
    /// Those that were decrypted.
    pub opened: u64,
    /// Those that were not.
    pub closed: u64,
    /// Why none was decrypted.
    pub why: Option<String>,
}

impl Sealed {
    /// `decrypted 12 of 14 frames`, and why none.
    pub fn told(&self) -> String {
        let Self { opened, closed, why } = self;
        let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("decrypted {opened} of {} frames{why}", opened + closed)
    }
}

/// The identifiers of a conversation: SPIs, cookies, host identities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ids {
    /// Their label, for people: `SPIs`.
    pub label: &'static str,
    /// Each with its name for programs: `spi_i`.
    pub ids: Vec<(&'static str, String)>,
}

/// The outcome of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Outcome {
    /// Success, with the message at this index.
    Established(usize),
    /// Somebody was not.
    Failed {
        /// The node that noticed the failure.
        by: Node,
        /// The reason, in the terms of the standard.
        why: String,
        /// The index of the decisive message.
        at: usize,
    },
    /// The last question, at this index, got no answer.
    Unanswered(usize),
    /// The capture does not show the end.
    #[default]
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

/// The outcomes of the exchanges of one kind, as far as a capture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// Complete ones.
    pub established: u32,
    /// Refused ones.
    pub refused: u32,
    /// Ones whose retransmitted request got no answer.
    pub unanswered: u32,
    /// Ones that the capture does not show, or only in undecryptable messages.
    pub unseen: u32,
}

impl Ends {
    /// Each count with its name.
    pub const fn named(self) -> [(&'static str, u32); 4] {
        [
            ("established", self.established),
            ("refused", self.refused),
            ("unanswered", self.unanswered),
            ("unseen", self.unseen),
        ]
    }
}

/// Information about a conversation from its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The chosen suite of the exchange itself.
    pub suite: Option<String>,
    /// The suite chosen for traffic.
    pub child_suite: Option<String>,
    /// The identity of the initiator; if not known, the user in requests to a server; the identity of a supplicant.
    pub user: Option<String>,
    /// The identity of the responder.
    pub gateway: Option<String>,
    /// The last inner method.
    pub inner_method: Option<Arc<InnerMethod>>,
    /// How the initiator proved itself.
    pub auth_method: Option<String>,
    /// The device's inner address.
    pub address: Option<IpAddr>,
    /// The implementations that identified themselves, by role.
    pub vendors: BTreeMap<Node, &'static str>,
    /// Whether there are undecryptable messages.
    pub sealed: bool,
}

/// The start of an authentication, which is all that is known if it ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Opening {
    /// The protocol, with its version.
    pub protocol: &'static str,
    /// The mode of the protocol, if there are several and the capture shows it.
    pub mode: Option<&'static str>,
}

impl Opening {
    /// A protocol with a single mode.
    pub const fn of(protocol: &'static str) -> Self {
        Self { protocol, mode: None }
    }
}

/// The method of an authentication, by its name in the catalogue if it has one, and the chosen suite.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// `ikev2-eap-tls`; only the protocol if the authentication ended before its method was known.
    pub name: String,
    /// The suite; empty if none was chosen.
    pub suite: String,
    /// Whether the method is known.
    pub is_known: bool,
    /// Its start.
    pub opening: Opening,
}

impl Method {
    /// Whether an authentication of unknown method may have been of this method: they start alike.
    pub fn may_become(&self, known: &Self) -> bool {
        let (own, other) = (self.opening, known.opening);
        let begins_alike = own.protocol == other.protocol && (own.mode.is_none() || own.mode == other.mode);
        !self.is_known && known.is_known && begins_alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_show_its_method_may_have_been_one_that_begins_alike() {
        let method = |is_known, mode| {
            let (name, suite, opening) = (String::new(), String::new(), Opening { protocol: "a", mode });
            Method { name, suite, is_known, opening }
        };
        let known = method(true, Some("main"));
        assert!(method(false, None).may_become(&known) && method(false, Some("main")).may_become(&known));
        assert!(!method(false, Some("other")).may_become(&known) && !known.may_become(&known));
        let other = Method { opening: Opening::of("b"), ..known.clone() };
        assert!(!method(false, None).may_become(&other));
    }
}
