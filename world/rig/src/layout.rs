//! The layout of a row: its nodes, the links between them, where each listens, and what an authentication is to achieve.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_engine::trace::{Link, Node, Protocol};
use keytoll_net::wire::DecodeError;
use keytoll_net::{Addr, Host};
use keytoll_scenario::plan::Maker;
use keytoll_sim::LinkConfig;

/// The nodes of a row and what joins them.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Every node, in the order in which they are built and told of.
    pub nodes: Vec<NodeSpec>,
    /// Every link.
    pub links: Vec<LinkSpec>,
    /// The node that begins an authentication.
    pub initiator: Node,
    /// What it achieves if it succeeds.
    pub goal: Goal,
    /// Between whom users send.
    pub users: Users,
    /// How long the end of an SA takes at most on real links: its answer, or the way of a message that nobody answers.
    pub closing_max: Duration,
}

/// What ends an authentication that succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The initiator has an SA.
    Sa,
    /// An echo request of the initiator was answered through its SA.
    Echo,
}

/// A node.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Its name.
    pub node: Node,
    /// Whose program it is.
    pub maker: Maker,
    /// Whether an authentication leaves an SA in it.
    pub holds_sas: bool,
    /// Addresses that it has besides those of its links.
    pub inner: Vec<IpAddr>,
    /// Where it takes datagrams: at ports of UDP, or directly on IP.
    pub datagrams: Vec<Addr>,
    /// How it speaks over TCP, if it does.
    pub streams: Option<Streams>,
}

/// A protocol over TCP.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Which.
    pub protocol: Protocol,
    /// How long a message is that begins with these bytes.
    pub length: fn([u8; 4]) -> Result<usize, DecodeError>,
    /// Where it takes connections.
    pub listen: Vec<SocketAddr>,
}

/// A link.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// Both ends, in the order of the link's name.
    pub ends: [End; 2],
    /// What happens on it, from the first end to the second and back.
    pub config: LinkConfig,
    /// What it carries, where a packet does not tell.
    pub protocol: Protocol,
    /// The length of the prefix that the addresses of both ends have in common; none: each end only knows the way to the
    /// other one.
    pub prefix_bits: Option<u8>,
}

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The node.
    pub node: Node,
    /// Its address on the link: that of an IP host or of a station below IP.
    pub host: Host,
}

/// Between whom users send.
#[derive(Debug, Clone, Copy)]
pub struct Users {
    /// The two nodes, the initiator first.
    pub nodes: [Node; 2],
    /// Their addresses outside of SAs.
    pub outer: [IpAddr; 2],
    /// Whom the initiator reaches through its SA.
    pub target: IpAddr,
}

impl Layout {
    /// The node of that name.
    pub fn node(&self, node: Node) -> Option<&NodeSpec> {
        self.nodes.iter().find(|spec| spec.node == node)
    }

    /// The link between two nodes.
    pub fn link(&self, link: Link) -> Option<&LinkSpec> {
        self.links.iter().find(|spec| spec.link() == link)
    }

    /// Whose address it is.
    pub fn owner(&self, host: Host) -> Option<Node> {
        let mut ends = self.links.iter().flat_map(|link| link.ends);
        ends.find(|end| end.host == host).map(|end| end.node)
    }

    /// Whether a program at this node is not ours.
    pub fn is_foreign(&self, node: Node) -> bool {
        self.node(node).is_some_and(|spec| spec.maker.is_foreign())
    }

    /// Whether an authentication leaves an SA in a node.
    pub fn holds_sas(&self, node: Node) -> bool {
        self.node(node).is_some_and(|spec| spec.holds_sas)
    }

    /// Whether some nodes connect to others before the first authentication.
    pub fn has_connections(&self) -> bool {
        self.nodes.iter().any(|node| node.streams.as_ref().is_some_and(|streams| !streams.listen.is_empty()))
    }
}

impl End {
    /// An end with an IP address.
    pub const fn ip(node: Node, ip: IpAddr) -> Self {
        Self { node, host: Host::Ip(ip) }
    }
}

impl LinkSpec {
    /// Its name.
    pub fn link(&self) -> Link {
        Link::between(self.ends[0].node, self.ends[1].node)
    }

    /// Our end and the peer's, if a node is at one.
    pub fn seen_from(&self, node: Node) -> Option<[End; 2]> {
        let [a, b] = self.ends;
        match (a.node == node, b.node == node) {
            (true, _) => Some([a, b]),
            (_, true) => Some([b, a]),
            _ => None,
        }
    }
}
