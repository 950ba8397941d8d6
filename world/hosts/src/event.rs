//! Events of hosts: milestones that all families share, each with details of its family.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::suite::Suite;
use keytoll_esp::selector::Selector;
use keytoll_net::Addr;

use crate::described::Details;

/// Identifies a session of a host: the association under which a peer is authenticated, such as an IKE SA. Opaque, and valid
/// within its host only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// What a family calls its sessions in output.
#[derive(Debug, Clone, Copy)]
pub struct Naming {
    /// The field that names a session.
    pub field: &'static str,
    /// The field that names the replaced session.
    pub old_field: &'static str,
    /// How a session is written.
    pub text: fn(SessionId) -> String,
}

impl Naming {
    /// Of hosts that have no sessions.
    pub const NONE: Self =
        Self { field: "session", old_field: "old_session", text: |session| session.0.to_string() };
}

/// An event that a host reports to its driver.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Device: traffic can flow.
    Usable,
    /// Device: gave up a set-up attempt of which its engine reported no failure.
    GaveUp(Box<Failure>),
    /// Device: received the reply to an echo request.
    EchoReply,
    /// Device and gateway: user traffic has ended and its counters are recorded.
    TrafficEnded,
    /// Device and gateway: a peer is authenticated.
    Established(Established),
    /// Gateway: who subscribes at the other end of a session whose peer is authenticated otherwise; proved, not claimed.
    SubscriberProved {
        /// The session.
        session: SessionId,
        /// The subscriber's name.
        subscriber: Vec<u8>,
    },
    /// Device and gateway: a session was rekeyed and has another id, which now owns its child SAs.
    Rekeyed {
        /// The session that is being closed.
        old: SessionId,
        /// Its new id.
        new: SessionId,
    },
    /// Device and gateway: a session was closed, with all its child SAs.
    Closed {
        /// The session.
        session: SessionId,
        /// Why.
        why: Reason,
    },
    /// Device and gateway: a session could not be set up.
    Failed(Box<Failure>),
    /// Device and gateway: no proposal of a peer was acceptable. The peer is not authenticated.
    ProposalRefused {
        /// The peer's address.
        remote: Addr,
        /// Why, in the protocol's word.
        why: Reason,
        /// What was offered, and what would have been accepted.
        details: Details,
    },
    /// Device and gateway: a traffic SA was installed.
    ChildUp(Child),
    /// Device and gateway: a traffic SA was rekeyed.
    ChildRekeyed {
        /// The inbound SPI of the replaced one.
        old: u32,
        /// The new one.
        new: Child,
    },
    /// Device and gateway: the traffic SA with this inbound SPI was removed.
    ChildDown(u32),
    /// Device and gateway: a traffic SA could not be set up; the session remains.
    ChildFailed {
        /// The session.
        session: SessionId,
        /// Why.
        why: Reason,
    },
    /// AAA server: accepted a user, under this name.
    Accepted(Vec<u8>),
    /// AAA server: rejected a user.
    Rejected {
        /// The name that it claims.
        name: Vec<u8>,
        /// The RADIUS client that asked; unknown after an internal error.
        client: Option<IpAddr>,
        /// Why.
        why: &'static str,
    },
    /// AAA server: got a request that no client with a secret has sent.
    ClientRefused {
        /// Where it came from.
        client: IpAddr,
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
    /// Whether it reports that the set-up of a session or traffic SA failed.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::GaveUp(_) | Self::Failed(_) | Self::ChildFailed { .. })
    }
}

/// A session that was established.
#[derive(Debug, PartialEq, Eq)]
pub struct Established {
    /// The session.
    pub session: SessionId,
    /// The inner address that the peer assigned.
    pub address: Option<IpAddr>,
    /// The time after which the peer must reauthenticate, if it was told so.
    pub authenticated_for: Option<Duration>,
    /// The authenticated peer, its address, and what was negotiated.
    pub details: Details,
}

/// A failed session.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The session, if the engine has created one.
    pub session: Option<SessionId>,
    /// Why.
    pub why: Reason,
    /// The most likely cause, as the rest of a sentence that starts with "most likely".
    pub likely: Option<&'static str>,
    /// The peer, as far as it is known; not authenticated.
    pub peer: Option<Details>,
}

/// Why something ended or failed to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The name used in traces and summaries.
    pub name: &'static str,
    /// Details for people, which are not in traces.
    pub detail: Option<Cow<'static, str>>,
    /// Whether it was reported by the peer or by EAP, which knows more.
    pub is_hearsay: bool,
}

impl Reason {
    /// The peer did not answer.
    pub const TIMEOUT: Self = Self::new("timeout");

    /// A reason found locally and without details.
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

/// A traffic SA, without its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The session that it was set up under.
    pub session: SessionId,
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Algorithms.
    pub suite: Suite,
    /// The first selector of our side of the traffic.
    pub local: Option<Selector>,
    /// The peer's side.
    pub remote: Option<Selector>,
    /// Whether it uses UDP encapsulation (RFC 3948).
    pub encapsulated: bool,
}
