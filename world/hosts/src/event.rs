//! What hosts tell whoever drives them: milestones that every family has, each with what else its family knows of it.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::suite::Suite;
use keytoll_esp::selector::Selector;
use keytoll_net::Addr;

use crate::described::Details;

/// Names a session of a host: that under which a peer is authenticated, such as an IKE SA. Opaque, and another host's is
/// another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// What the sessions of a family are called where people and programs read of them.
#[derive(Debug, Clone, Copy)]
pub struct Naming {
    /// The field that names a session.
    pub field: &'static str,
    /// The field that names the session whose place another one takes.
    pub old_field: &'static str,
    /// How a session is written.
    pub text: fn(SessionId) -> String,
}

impl Naming {
    /// Of hosts that have no sessions.
    pub const NONE: Self =
        Self { field: "session", old_field: "old_session", text: |session| session.0.to_string() };
}

/// What a host tells whoever drives it.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Device: traffic can flow.
    Usable,
    /// Device: its attempt to get a session is over, though its engine has said nothing of a failure.
    GaveUp(Box<Failure>),
    /// Device: the answer to an echo request came back.
    EchoReply,
    /// Device and gateway: traffic of users has ended and was told.
    TrafficEnded,
    /// Device and gateway: a peer is authenticated.
    Established(Established),
    /// Device and gateway: a session has new keys and another name; its child SAs are under that now.
    Rekeyed {
        /// The session that is being closed.
        old: SessionId,
        /// The one that takes its place.
        new: SessionId,
    },
    /// Device and gateway: a session is gone, with all its child SAs.
    Closed {
        /// The session.
        session: SessionId,
        /// Why.
        why: Reason,
    },
    /// Device and gateway: a session did not come up.
    Failed(Box<Failure>),
    /// Device and gateway: nothing that a peer offered was acceptable. It may be anybody.
    ProposalRefused {
        /// Where the peer is.
        remote: Addr,
        /// Why, in the protocol's word.
        why: Reason,
        /// What was offered, and what would have done.
        details: Details,
    },
    /// Device and gateway: an SA for traffic is there.
    ChildUp(Child),
    /// Device and gateway: an SA for traffic has new keys.
    ChildRekeyed {
        /// SPI that the replaced one receives on.
        old: u32,
        /// The new one.
        new: Child,
    },
    /// Device and gateway: the SA for traffic that receives on this SPI is gone.
    ChildDown(u32),
    /// Device and gateway: an SA for traffic did not come up; the session stays.
    ChildFailed {
        /// The session.
        session: SessionId,
        /// Why.
        why: Reason,
    },
    /// AAA server: somebody was let in, under this name.
    Accepted(Vec<u8>),
    /// AAA server: somebody was not let in.
    Rejected {
        /// What it calls itself.
        name: Vec<u8>,
        /// Why.
        why: &'static str,
    },
    /// HSS: a question was answered.
    Answered {
        /// The IMSI's digits.
        imsi: String,
        /// How many vectors, or why none.
        outcome: Result<usize, keytoll_diameter::Refusal>,
    },
}

impl Event {
    /// Whether it says that the attempt to get a session, or an SA for traffic, came to nothing.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::GaveUp(_) | Self::Failed(_) | Self::ChildFailed { .. })
    }
}

/// A session that came up.
#[derive(Debug, PartialEq, Eq)]
pub struct Established {
    /// The session.
    pub session: SessionId,
    /// The address inside that the peer assigned.
    pub address: Option<IpAddr>,
    /// After which time the peer must authenticate again, if it was told so.
    pub authenticated_for: Option<Duration>,
    /// Who was proved, what was negotiated, and where the peer is.
    pub details: Details,
}

/// How a session did not come up.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The session, if the engine has named one.
    pub session: Option<SessionId>,
    /// Why.
    pub why: Reason,
    /// What most likely is wrong, as the rest of a sentence that begins with "most likely".
    pub likely: Option<&'static str>,
    /// With whom, as far as that is known; nothing of it is proved.
    pub peer: Option<Details>,
}

/// Why something ended or did not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The name used in traces and summaries.
    pub name: &'static str,
    /// What is for people alone, and in no trace.
    pub detail: Option<Cow<'static, str>>,
    /// Whether somebody else found it: the peer told us, or EAP, which knows more.
    pub is_hearsay: bool,
}

impl Reason {
    /// The peer did not answer.
    pub const TIMEOUT: Self = Self::new("timeout");

    /// One that we found ourselves, of which the name says all.
    pub const fn new(name: &'static str) -> Self {
        Self { name, detail: None, is_hearsay: false }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.detail.iter().try_for_each(|detail| write!(f, " ({detail})"))
    }
}

/// An SA for traffic, without its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The session that it came up under.
    pub session: SessionId,
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Algorithms.
    pub suite: Suite,
    /// Our side of the traffic, the first selector of it.
    pub local: Option<Selector>,
    /// The peer's side.
    pub remote: Option<Selector>,
    /// Whether it travels in UDP (RFC 3948).
    pub encapsulated: bool,
}
