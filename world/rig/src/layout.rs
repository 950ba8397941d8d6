//! The layout of a row: its nodes, the links between them, their listening sockets, and the goal of an authentication.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_engine::trace::{Link, Node, Protocol};
use keytoll_net::wire::DecodeError;
use keytoll_net::{Addr, Host};
use keytoll_scenario::plan::Maker;
use keytoll_sim::LinkConfig;

/// The nodes and links of a row.
#[derive(Debug, Clone)]
pub struct Layout {
    /// All nodes, in the order in which they are built and reported.
    pub nodes: Vec<NodeSpec>,
    /// Every link.
    pub links: Vec<LinkSpec>,
    /// The node that initiates an authentication.
    pub initiator: Node,
    /// Its goal.
    pub goal: Goal,
    /// The ends of user traffic.
    pub users: Users,
    /// The longest time that the teardown of an SA takes on real links: the answer to a DELETE, or its transit if there is none.
    pub closing_max: Duration,
}

/// The event that ends a successful authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The initiator has an SA.
    Sa,
    /// The reply to an echo request of the initiator through its SA.
    Echo,
}

/// A node.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Its name.
    pub node: Node,
    /// The maker of its program.
    pub maker: Maker,
    /// Whether an authentication establishes an SA in it.
    pub holds_sas: bool,
    /// Addresses besides those of its links.
    pub inner: Vec<IpAddr>,
    /// Where it receives datagrams: UDP ports, or IP protocols.
    pub datagrams: Vec<Addr>,
    /// Its TCP streams, if it has any.
    pub streams: Option<Streams>,
}

/// A protocol over TCP.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Which.
    pub protocol: Protocol,
    /// The length of a message that starts with these bytes.
    pub length: fn([u8; 4]) -> Result<usize, DecodeError>,
    /// Its listening sockets.
    pub listen: Vec<SocketAddr>,
}

/// A link.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// Both ends, in the order of the link's name.
    pub ends: [End; 2],
    /// Its parameters, from the first end to the second and back.
    pub config: LinkConfig,
    /// The protocol on it, where packets do not show it.
    pub protocol: Protocol,
    /// The length of the prefix that the addresses of both ends share; `None`: each end only has a route to the other one.
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

/// The ends of user traffic.
#[derive(Debug, Clone, Copy)]
pub struct Users {
    /// The two nodes, the initiator first.
    pub nodes: [Node; 2],
    /// Their addresses outside of SAs.
    pub outer: [IpAddr; 2],
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

    /// The node with this address.
    pub fn owner(&self, host: Host) -> Option<Node> {
        let mut ends = self.links.iter().flat_map(|link| link.ends);
        ends.find(|end| end.host == host).map(|end| end.node)
    }

    /// Whether a node runs a foreign daemon.
    pub fn is_foreign(&self, node: Node) -> bool {
        self.node(node).is_some_and(|spec| spec.maker.is_foreign())
    }

    /// Whether an authentication establishes an SA in a node.
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

    /// Our end and the peer's, if the node is one of them.
    pub fn seen_from(&self, node: Node) -> Option<[End; 2]> {
        let [a, b] = self.ends;
        match (a.node == node, b.node == node) {
            (true, _) => Some([a, b]),
            (_, true) => Some([b, a]),
            _ => None,
        }
    }
}
