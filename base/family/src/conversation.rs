//! Conversations: what belongs together, and what it came to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_net::Addr;
use keytoll_trace::Node;

use crate::entry::Entry;
use crate::family::InnerMethod;

/// What a conversation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// `ikev2`, for programs.
    pub name: Cow<'static, str>,
    /// `IKEv2`, for people.
    pub title: Cow<'static, str>,
    /// What stands before the suite that was chosen: `IKE`.
    pub suite_of: &'static str,
    /// What people say of one that succeeded: `established`, `accepted`.
    pub success: &'static str,
    /// Whether one that is whole says what it came to, so that a capture without that lacks something.
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

    /// What belongs to no authentication.
    #[must_use]
    pub const fn without_end(mut self) -> Self {
        self.has_end = false;
        self
    }
}

/// A conversation.
#[derive(Debug)]
pub struct Conversation {
    /// What it is about.
    pub kind: Kind,
    /// Its messages in order of time.
    pub entries: Vec<Entry>,
    /// Each role's addresses, in the order they appear.
    pub hosts: BTreeMap<Node, Vec<Addr>>,
    /// What is known of it.
    pub about: About,
    /// What its family says of it.
    pub judgement: Judgement,
}

impl Conversation {
    /// The messages that can decide. What comes later decides nothing: the longest authentications have a hundred messages, and
    /// a flood must not cost more than it is long.
    pub fn deciding(&self) -> &[Entry] {
        const DECIDING_MAX: usize = 10_000;
        &self.entries[..self.entries.len().min(DECIDING_MAX)]
    }
}

/// What a family says of a conversation once it is whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judgement {
    /// What it came to.
    pub outcome: Outcome,
    /// Its method; none of what is no authentication.
    pub method: Option<Method>,
    /// What tells it from others.
    pub ids: Ids,
    /// What became of each kind of exchange, where a conversation has several: `phase 1`, `quick mode`.
    pub exchanges: Vec<(&'static str, Ends)>,
    /// How what could not be opened was judged, if that was so.
    pub caution: Option<&'static str>,
}

/// What tells a conversation from others: SPIs, cookies, host identities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ids {
    /// What they are, for people: `SPIs`.
    pub label: &'static str,
    /// Each with its name for programs: `spi_i`.
    pub ids: Vec<(&'static str, String)>,
}

/// What a conversation came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

/// What became of the exchanges of one kind, as far as a capture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// All of its messages were said.
    pub established: u32,
    /// Somebody said no.
    pub refused: u32,
    /// Somebody asked again, and nobody answered.
    pub unanswered: u32,
    /// The capture does not show it, or only by messages that could not be opened.
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

/// What is known of a conversation, gathered from its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The suite chosen for the exchange itself.
    pub suite: Option<String>,
    /// The suite chosen for traffic.
    pub child_suite: Option<String>,
    /// Who the initiator says it is; the user that a server is asked about if that is not known; who the supplicant says it is.
    pub user: Option<String>,
    /// Who the responder says it is.
    pub gateway: Option<String>,
    /// The inner method that came last.
    pub inner_method: Option<Arc<InnerMethod>>,
    /// How the initiator proved itself.
    pub auth_method: Option<String>,
    /// The device's inner address.
    pub address: Option<IpAddr>,
    /// Implementations that named themselves, by role.
    pub vendors: BTreeMap<Node, &'static str>,
    /// Whether protected messages could not be opened.
    pub sealed: bool,
}

/// How an authentication begins, which is all that is known of one that ended before it showed its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Opening {
    /// The protocol, with its version.
    pub protocol: &'static str,
    /// In which of the protocol's ways, if there are several and the capture shows it.
    pub mode: Option<&'static str>,
}

impl Opening {
    /// In the only way.
    pub const fn of(protocol: &'static str) -> Self {
        Self { protocol, mode: None }
    }
}

/// The method of an authentication, by the name of the catalogue where it has one, and the suite that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// `ikev2-eap-tls`; of what did not get as far as to show it, only the protocol.
    pub name: String,
    /// The suite; empty if none was chosen.
    pub suite: String,
    /// Whether it got as far as to show its method.
    pub is_known: bool,
    /// How it began.
    pub opening: Opening,
}

impl Method {
    /// Whether an authentication that did not show its method may have been one of this method: they begin alike.
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
