//! The facts of a run, in virtual time.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Traffic;

/// One fact, with when, where and on behalf of which authentication it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The AAA server (EAP server).
    Aaa,
    /// The subscriber database.
    Hss,
    /// The 802.11 access point.
    Ap,
}

impl Node {
    /// Every node, in the order of the reports.
    pub const ALL: [Self; 5] = [Self::Ue, Self::Gw, Self::Aaa, Self::Hss, Self::Ap];

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Link(pub Node, pub Node);

impl Link {
    /// The link between two nodes, whichever sends.
    pub fn between(a: Node, b: Node) -> Self {
        if a <= b { Self(a, b) } else { Self(b, a) }
    }

    /// `ue-gw`, as the summary writes it.
    pub fn name(self) -> String {
        format!("{}-{}", self.0.name(), self.1.name())
    }
}

/// Which protocol a datagram belongs to; decides what the counters call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// IKE, any version, with or without the non-ESP marker.
    Ike,
    /// IPsec traffic.
    Esp,
    /// ICMP outside IPsec.
    Icmp,
    /// RADIUS.
    Radius,
    /// Diameter.
    Diameter,
    /// HIP.
    Hip,
    /// 802.11 and 802.1X.
    Wlan,
    /// EAP, whoever carries it.
    Eap,
    /// Traffic of users outside IPsec, other than ICMP.
    Ip,
}

impl Protocol {
    /// The name used in files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ike => "ike",
            Self::Esp => "esp",
            Self::Icmp => "icmp",
            Self::Radius => "radius",
            Self::Diameter => "diameter",
            Self::Hip => "hip",
            Self::Wlan => "wlan",
            Self::Eap => "eap",
            Self::Ip => "ip",
        }
    }
}

/// The payload types of a message in the order they were sent, those inside encryption included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Payloads {
    len: u8,
    kinds: [u8; Self::MAX],
}

impl Payloads {
    /// More than this many are not remembered.
    pub const MAX: usize = 15;

    /// Appends a payload type; beyond [`Self::MAX`] it is left out.
    pub fn push(&mut self, kind: u8) {
        if let Some(slot) = self.kinds.get_mut(usize::from(self.len)) {
            *slot = kind;
            self.len += 1;
        }
    }

    /// The types, in order.
    pub fn as_slice(&self) -> &[u8] {
        self.kinds.get(..usize::from(self.len)).unwrap_or(&self.kinds)
    }
}

impl std::fmt::Debug for Payloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// One protocol message leaving a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The protocol.
    pub protocol: Protocol,
    /// The protocol's own number for the exchange or message type (IKE: exchange type).
    pub kind: u8,
    /// A response (or, where the protocol knows no such thing, the answering direction).
    pub response: bool,
    /// The message id (IKE), identifier (RADIUS) or hop-by-hop id (Diameter).
    pub id: u32,
    /// Length of the message without transport and IP headers.
    pub bytes: u32,
    /// Sent before, byte for byte.
    pub retransmission: bool,
    /// One of several fragments of a message; only the first counts as the message.
    pub fragment: u16,
    /// What it carries.
    pub payloads: Payloads,
}

/// What became of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Traffic wanted an SA that was not there: the clock of the authentication starts.
    Triggered,
    /// An engine sent a message.
    Sent(Message),
    /// A link took a datagram.
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
    /// The driver lost the CPU while this sample ran: its computation times are not to be used.
    Disturbed,
    /// The authentication ended without an SA because the other side said so; a node that found the reason has `Failed`.
    Refused {
        /// What it said, a name as in `Failed`.
        why: Cow<'static, str>,
    },
    /// Traffic of users begins.
    TrafficBegan,
    /// What a node sent and got of it; it is over.
    Traffic(Box<Traffic>),
    /// What a link carried meanwhile, of users' traffic in IPsec's clothes or without.
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
    /// How often a node met something meanwhile that it could not use.
    TrafficDiscarded {
        /// The protocol.
        protocol: Protocol,
        /// Why, as in `Discarded`.
        why: Cow<'static, str>,
        /// How often.
        count: u64,
    },
    /// For how long a node was busy meanwhile, in virtual time, with traffic and all else.
    TrafficComputed {
        /// In nanoseconds.
        busy_ns: u64,
    },
}
