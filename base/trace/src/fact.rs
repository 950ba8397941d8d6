//! The facts of a run, in virtual time.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Traffic;
use crate::name::{Name, Parts, Protocol};

/// One fact, with when, where and on behalf of which authentication it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Virtual time since the start of the run, in nanoseconds.
    pub at_ns: u64,
    /// The node at which it happened.
    pub node: Node,
    /// The authentication it belongs to, counted from 0 in its row.
    pub sample: u32,
    /// What happened.
    pub fact: Fact,
}

/// The nodes of every topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Node {
    /// The device that wants access.
    Ue,
    /// The gateway (IKE responder, RADIUS client).
    Gw,
    /// The 802.11 access point.
    Ap,
    /// The AAA server (EAP server).
    Aaa,
    /// The subscriber database.
    Hss,
}

impl Node {
    /// Every node, in the order of the reports.
    pub const ALL: [Self; 5] = [Self::Ue, Self::Gw, Self::Ap, Self::Aaa, Self::Hss];
    /// Those that a device has its traffic with.
    pub const SERVING: [Self; 2] = [Self::Gw, Self::Ap];

    /// The name used in files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ue => "ue",
            Self::Gw => "gw",
            Self::Aaa => "aaa",
            Self::Hss => "hss",
            Self::Ap => "ap",
        }
    }
}

/// The two ends of a link, the end nearer to the device first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub Node, pub Node);

impl Link {
    /// The link between two nodes, whichever sends.
    pub fn between(a: Node, b: Node) -> Self {
        if a <= b { Self(a, b) } else { Self(b, a) }
    }

    /// Every link that there can be.
    pub fn all() -> impl Iterator<Item = Self> {
        Node::ALL
            .into_iter()
            .flat_map(|a| Node::ALL.into_iter().filter(move |b| a < *b).map(move |b| Self(a, b)))
    }

    /// `ue-gw`, as the summary writes it.
    pub fn name(self) -> String {
        format!("{}-{}", self.0.name(), self.1.name())
    }
}

/// One protocol message leaving a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The protocol.
    pub protocol: Protocol,
    /// What people call it, `IKE_SA_INIT request`, `Access-Challenge`, `MAR`: messages of one name are of one kind.
    pub name: Name,
    /// Where the name does not tell the messages of an exchange apart, nor who sends them: the series in which they are
    /// counted, as `P1` for those of IKEv1's phase 1.
    pub series: Option<Name>,
    /// A response (or, where the protocol knows no such thing, the answering direction).
    pub response: bool,
    /// It reports how much was used (RFC 2866): no authentication waits for it, and it is no part of one.
    pub accounting: bool,
    /// The message id (IKE), identifier (RADIUS) or hop-by-hop id (Diameter).
    pub id: u32,
    /// Length of the message without transport and IP headers.
    pub bytes: u32,
    /// Sent before, byte for byte.
    pub retransmission: bool,
    /// One of several fragments of a message; only the first counts as the message.
    pub fragment: u16,
    /// What it carries.
    pub parts: Parts,
}

impl Message {
    /// A request of this name, sent once in one piece; the rest is zero or empty.
    pub fn new(protocol: Protocol, name: Name) -> Self {
        Self {
            protocol,
            name,
            series: None,
            response: false,
            accounting: false,
            id: 0,
            bytes: 0,
            retransmission: false,
            fragment: 0,
            parts: Parts::default(),
        }
    }
}

/// What became of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Delivered,
    /// The link lost it.
    Lost,
    /// The sender's queue was full.
    QueueFull,
    /// It arrives with a flipped bit.
    Corrupted,
    /// A second copy of a packet already delivered.
    Duplicate,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// Traffic wanted an SA that was not there: the clock of the authentication starts.
    Triggered,
    /// An engine has sent a message.
    Sent(Message),
    /// A link has taken a datagram.
    Carried {
        /// The link.
        link: Link,
        /// The datagram's protocol.
        protocol: Protocol,
        /// IP packets, more than one if it was fragmented.
        packets: u16,
        /// Bytes on the wire, IP headers of every fragment included.
        bytes: u32,
        /// From being handed to the link until arrival: queueing, serialisation, propagation.
        transit_ns: u64,
        /// What became of it.
        fate: Fate,
    },
    /// A node was busy computing until now (only where computation is charged to virtual time).
    Computed {
        /// For how long, in virtual time.
        busy_ns: u64,
    },
    /// Something arrived that cannot be used.
    Discarded {
        /// The protocol.
        protocol: Protocol,
        /// Why, in the words of the standard where it has some.
        why: Cow<'static, str>,
    },
    /// The initiator has a usable SA: the clock of the authentication stops.
    Usable,
    /// The echo that triggered the SA came back through it.
    FirstPacket,
    /// An SA was replaced by a new one without authentication.
    Rekeyed {
        /// `ike` or `child`.
        what: Cow<'static, str>,
    },
    /// An SA ended in good order.
    Closed {
        /// Why: `deleted`, `lifetime`, `replaced`.
        why: Cow<'static, str>,
    },
    /// The authentication ended without an SA, for a reason that this node found.
    Failed {
        /// A name analysis groups by: `AUTHENTICATION_FAILED`, `timeout`, …
        why: Cow<'static, str>,
    },
    /// The process lost the CPU during this authentication: its computation times are not to be used.
    Disturbed,
    /// The authentication ended without an SA because the other side said so; a node that found the reason has `Failed`.
    Refused {
        /// What it said, a name as in `Failed`.
        why: Cow<'static, str>,
    },
    /// The node is at another address, and begins to announce it to its peer.
    Moved,
    /// The peer's new address was verified: what is sent to the peer goes there.
    MoveVerified,
    /// The first packet of an SA has arrived at the node's new address.
    Reached {
        /// So many of its packets have come to the address before, where the node was no more.
        missed_packets: u64,
    },
    /// The traffic of users begins.
    TrafficBegan,
    /// The traffic of users has ended: what this node sent and received of it.
    Traffic(Box<Traffic>),
    /// What a link carried of the traffic of users, protected by IPsec or not, from its beginning to its end.
    TrafficCarried {
        /// The link.
        link: Link,
        /// IP packets after fragmentation, those lost included; not those that a full queue refused.
        packets: u64,
        /// Their bytes on the wire, IP headers of every fragment included.
        bytes: u64,
        /// Those lost or damaged, and those that a full queue refused.
        lost_packets: u64,
        /// Bytes of those that a full queue refused.
        refused_bytes: u64,
    },
    /// How often, while there was traffic of users, something arrived that cannot be used.
    TrafficDiscarded {
        /// The protocol.
        protocol: Protocol,
        /// Why, as in `Discarded`.
        why: Cow<'static, str>,
        /// How often.
        count: u64,
    },
    /// For how long the node was busy while there was traffic of users, with that and everything else, in virtual time.
    TrafficComputed {
        /// In nanoseconds.
        busy_ns: u64,
    },
}
