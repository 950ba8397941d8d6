//! Where the nodes of a live run are: network namespaces joined by cables for whoever may make them, else a corner of the
//! loopback; and a private directory in either case.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process;

use keytoll_daemons::place::cable;
use keytoll_daemons::{Home, Place, Trouble, home};
use keytoll_live::{BindError, Sockets, Streaming};
use keytoll_scenario::Plan;
use keytoll_scenario::plan::{Maker, Options, RowPlan};
use keytoll_trace::{Node, Protocol};
use serde::{Deserialize, Serialize};

use crate::eap;
use crate::sites::{Ports, Sites};

/// Why a live run cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Somebody else's program, or a namespace.
    #[error(transparent)]
    Program(#[from] Trouble),
    /// An address.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Our own process of a node.
    #[error("the process of node {node}: {why}")]
    Node {
        /// Which.
        node: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Notes that cannot be read or written.
    #[error("the notes of a live run: {0}")]
    Notes(String),
}

/// Which addresses nodes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ground {
    /// The laboratory's.
    Namespaces,
    /// 127.a.b.x.
    Loopback { net: [u8; 2], ports: Ports },
}

impl Ground {
    /// Who is where in a row.
    pub(super) fn sites(self, options: &Options) -> Sites {
        match self {
            Self::Namespaces => Sites { encapsulated: true, ..Sites::lab(options) },
            Self::Loopback { net, ports } => Sites::loopback(net, ports),
        }
    }
}

/// The sockets of a node.
pub(super) fn sockets(node: Node, row: &RowPlan, sites: &Sites) -> Result<Sockets, BindError> {
    let at = |ip: IpAddr| move |port: u16| SocketAddr::new(ip, port);
    let ports = sites.ports;
    let ike = [ports.ike, ports.nat];
    let diameter = Streaming::new(Protocol::Diameter, keytoll_diameter::wire::message::length);
    if node == Node::Hss {
        return Sockets::bind(&[])?.streaming(diameter, &[SocketAddr::new(sites.hss, ports.diameter)]);
    }
    let addresses: Vec<SocketAddr> = match node {
        Node::Gw if row.method.eap().is_some() => {
            ike.map(at(sites.gw)).into_iter().chain(eap::RADIUS_CLIENT_PORTS.map(at(sites.core))).collect()
        }
        Node::Gw => ike.map(at(sites.gw)).to_vec(),
        Node::Aaa => [ports.radius, ports.accounting].map(at(sites.aaa)).to_vec(),
        _ => ike.map(at(sites.ue)).to_vec(),
    };
    let sockets = Sockets::bind(&addresses)?;
    if node == Node::Aaa { sockets.streaming(diameter, &[]) } else { Ok(sockets) }
}

/// The place of every node.
pub(super) struct Stage {
    pub(super) ground: Ground,
    home: Home,
    places: BTreeMap<Node, Place>,
}

impl Stage {
    /// Builds what the plan needs: namespaces if we may, and must if a program is to run that needs one.
    pub(super) fn build(plan: &Plan) -> Result<Self, LiveError> {
        let wants_namespaces = plan.rows.iter().any(|row| {
            let makers = row.options.makers;
            // hostapd answers from whichever address the system chooses: on the loopback that is not the one asked.
            makers.ue.is_foreign() || makers.gw.is_foreign() || makers.aaa == Maker::Hostapd
        });
        if wants_namespaces {
            home::may_make_namespaces()?;
        }
        if home::is_root() { Self::namespaces() } else { Self::loopback() }
    }

    fn namespaces() -> Result<Self, LiveError> {
        let home = Home::new()?;
        let mut places = BTreeMap::new();
        for node in NODES {
            places.insert(node, home.namespace(node.name())?);
        }
        let stage = Self { ground: Ground::Namespaces, home, places };
        stage.join()?;
        Ok(stage)
    }

    /// Device and gateway by a cable of both IP versions, the others by wires that only lead to the next one.
    fn join(&self) -> Result<(), LiveError> {
        let [ue, gw, aaa, hss] = NODES.map(|node| &self.places[&node]);
        cable((ue, "eth0"), (gw, "eth0"))?;
        for ipv6 in [false, true] {
            let sites = Sites::lab(&Options { ipv6, ..Options::default() });
            let (net, host) = if ipv6 { (64, 128) } else { (24, 32) };
            ue.assign("eth0", sites.ue, net)?;
            gw.assign("eth0", sites.gw, net)?;
            // Our own engines need no network device for inner addresses, but charon does.
            gw.assign("lo", sites.inner, host)?;
            ue.assign("lo", sites.brought, host)?;
        }
        let sites = Sites::lab(&Options::default());
        wire((gw, "eth1", sites.core), (aaa, "eth0", sites.aaa))?;
        wire((aaa, "eth1", sites.aaa), (hss, "eth0", sites.hss))
    }

    /// A corner of 127.0.0.0/8 for this process, and ports that nobody listens on there.
    fn loopback() -> Result<Self, LiveError> {
        let [_, _, high, low] = process::id().to_be_bytes();
        // 127.0.0.1 and its neighbours are other people's.
        let net = [high | 0x80, low];
        let sites = Sites::loopback(net, Ports::STANDARD);
        let mut free = Sockets::bind(&[SocketAddr::new(sites.gw, 0); 5])?.locals().into_iter();
        let mut port = || free.next().expect("five were bound").port;
        let ports = Ports { ike: port(), nat: port(), radius: port(), accounting: port(), diameter: port() };
        let places = NODES.map(|node| (node, Place::Machine)).into();
        Ok(Self { ground: Ground::Loopback { net, ports }, home: Home::new()?, places })
    }

    /// Whether the nodes are on the machine's own loopback.
    pub(super) fn is_loopback(&self) -> bool {
        matches!(self.ground, Ground::Loopback { .. })
    }

    /// Where a node's programs run.
    pub(super) fn place(&self, node: Node) -> &Place {
        &self.places[&node]
    }

    /// A private directory of a node.
    pub(super) fn folder(&self, node: Node) -> Result<PathBuf, LiveError> {
        Ok(self.home.folder(node.name())?)
    }
}

/// The nodes that can be on stage.
pub(super) const NODES: [Node; 4] = [Node::Ue, Node::Gw, Node::Aaa, Node::Hss];

/// A cable with one address at each end.
fn wire(a: (&Place, &str, IpAddr), b: (&Place, &str, IpAddr)) -> Result<(), LiveError> {
    cable((a.0, a.1), (b.0, b.1))?;
    for (near, far) in [(a, b), (b, a)] {
        near.0.ip(&format!("addr replace {}/32 dev {}", near.2, near.1))?;
        near.0.ip(&format!("route add {}/32 dev {} src {}", far.2, near.1, near.2))?;
    }
    Ok(())
}
