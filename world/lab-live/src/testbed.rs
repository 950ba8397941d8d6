//! Where the nodes of a live run are: network namespaces joined by cables for whoever may make them, else a corner of the
//! loopback; and a private directory in either case.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;

use keytoll_daemons::place::cable;
use keytoll_daemons::{Home, Place, Trouble, home};
use keytoll_lab::RunError;
use keytoll_live::{BindError, OnIp, Sockets, Streaming};
use keytoll_net::{Addr, Host};
use keytoll_rig::{Layout, LinkSpec, NodeSpec, Placement};
use keytoll_rigs as rigs;
use keytoll_scenario::Plan;
use keytoll_trace::{Link, Node};

use super::foreign;

/// Why a live run cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A foreign daemon, or a namespace.
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

impl From<LiveError> for RunError {
    fn from(error: LiveError) -> Self {
        Self::World(Box::new(error))
    }
}

/// The sockets of a node.
pub(super) fn sockets(spec: &NodeSpec) -> Result<Sockets, BindError> {
    let udp: Vec<_> = spec.datagrams.iter().filter_map(|addr| udp(*addr)).collect();
    let on_ip: Vec<_> = spec.datagrams.iter().filter_map(|addr| on_ip(*addr)).collect();
    let sockets = Sockets::bind(&udp)?.recognising(rigs::by_ports).on_ip(&on_ip)?;
    match &spec.streams {
        Some(streams) => sockets.streaming(Streaming::new(streams.protocol, streams.length), &streams.listen),
        None => Ok(sockets),
    }
}

fn udp(addr: Addr) -> Option<SocketAddr> {
    match addr {
        Addr::Udp(socket) => Some(socket.into()),
        _ => None,
    }
}

fn on_ip(addr: Addr) -> Option<OnIp> {
    let Addr::Ip { ip, protocol: number } = addr else { return None };
    let mut known = rigs::FAMILIES.iter().flat_map(|family| family.ip_protocols());
    let protocol = known.find(|(of, _)| *of == number).map(|(_, protocol)| *protocol);
    Some(OnIp { ip, number, protocol })
}

/// The place of every node.
pub(super) struct Testbed {
    pub(super) placement: Placement,
    home: Home,
    places: BTreeMap<Node, Place>,
}

impl Testbed {
    /// Builds what the plan needs: namespaces if we may, and must if a program is to run that needs one.
    pub(super) fn build(plan: &Plan) -> Result<Self, LiveError> {
        let layouts: Vec<Layout> =
            plan.rows.iter().map(|row| rigs::layout(row, &Placement::Namespaces)).collect();
        let nodes = layouts.iter().flat_map(|layout| &layout.nodes);
        if nodes.clone().any(|spec| foreign::wants_namespace(spec.maker)) {
            home::may_make_namespaces()?;
        }
        let names: BTreeSet<Node> = nodes.map(|spec| spec.node).collect();
        if home::is_root() { Self::namespaces(&names, &layouts) } else { Self::loopback(&names) }
    }

    fn namespaces(nodes: &BTreeSet<Node>, layouts: &[Layout]) -> Result<Self, LiveError> {
        let home = Home::new()?;
        let mut places = BTreeMap::new();
        for &node in nodes {
            places.insert(node, home.namespace(node.name())?);
        }
        Cables::new(&places).lay(layouts)?;
        Ok(Self { placement: Placement::Namespaces, home, places })
    }

    /// A corner of 127.0.0.0/8 for this process, and ports that nobody listens on there.
    fn loopback(nodes: &BTreeSet<Node>) -> Result<Self, LiveError> {
        let [_, _, high, low] = process::id().to_be_bytes();
        // 127.0.0.1 and its neighbours are other people's.
        let net @ [a, b] = [high | 0x80, low];
        let standard: Vec<u16> = rigs::standard_ports().into_iter().collect();
        let anywhere = SocketAddr::from(([127, a, b, 2], 0));
        let free = Sockets::bind(&vec![anywhere; standard.len()])?.locals();
        let ports = standard.into_iter().zip(free.into_iter().map(|local| local.port)).collect();
        let places = nodes.iter().map(|&node| (node, Place::Machine)).collect();
        Ok(Self { placement: Placement::Loopback { net, ports }, home: Home::new()?, places })
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

/// Cables between namespaces, and what is assigned to their ends.
struct Cables<'a> {
    places: &'a BTreeMap<Node, Place>,
    /// The devices at both ends of each link.
    devices: BTreeMap<Link, [String; 2]>,
    /// How many devices a node has.
    count: BTreeMap<Node, usize>,
    /// Commands that were carried out.
    done: BTreeSet<(Node, String)>,
}

impl<'a> Cables<'a> {
    const fn new(places: &'a BTreeMap<Node, Place>) -> Self {
        Self { places, devices: BTreeMap::new(), count: BTreeMap::new(), done: BTreeSet::new() }
    }

    /// What all rows need together: the same link has the addresses of several rows.
    fn lay(&mut self, layouts: &[Layout]) -> Result<(), Trouble> {
        for layout in layouts {
            layout.links.iter().try_for_each(|link| self.join(link))?;
            for spec in &layout.nodes {
                for inner in &spec.inner {
                    // Our own engines need no network device for inner addresses, but charon does.
                    self.assign(spec.node, "lo", *inner, if inner.is_ipv6() { 128 } else { 32 })?;
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, link: &LinkSpec) -> Result<(), Trouble> {
        let devices = self.cable(link)?;
        let [a, b] = link.ends;
        for (device, near, far) in [(&devices[0], a, b), (&devices[1], b, a)] {
            // Stations below IP need nothing but the cable.
            let (Host::Ip(own), Host::Ip(peer)) = (near.host, far.host) else { continue };
            match link.prefix_bits {
                Some(bits) => self.assign(near.node, device, own, bits)?,
                None => {
                    self.ip(near.node, format!("addr replace {own}/32 dev {device}"))?;
                    let route = format!("route add {peer}/32 dev {device} src {own}");
                    self.ip(near.node, route)?;
                }
            }
        }
        Ok(())
    }

    /// The devices of a link, which is laid when it is first wanted.
    fn cable(&mut self, link: &LinkSpec) -> Result<[String; 2], Trouble> {
        if let Some(devices) = self.devices.get(&link.link()) {
            return Ok(devices.clone());
        }
        let devices = link.ends.map(|end| {
            let count = self.count.entry(end.node).or_default();
            *count += 1;
            format!("eth{}", *count - 1)
        });
        let [a, b] = link.ends.map(|end| &self.places[&end.node]);
        cable((a, &devices[0]), (b, &devices[1]))?;
        self.devices.insert(link.link(), devices.clone());
        Ok(devices)
    }

    fn assign(
        &mut self,
        node: Node,
        device: &str,
        address: std::net::IpAddr,
        bits: u8,
    ) -> Result<(), Trouble> {
        if self.done.insert((node, format!("{address} {device}"))) {
            self.places[&node].assign(device, address, bits)?;
        }
        Ok(())
    }

    fn ip(&mut self, node: Node, arguments: String) -> Result<(), Trouble> {
        if self.done.contains(&(node, arguments.clone())) {
            return Ok(());
        }
        self.places[&node].ip(&arguments)?;
        self.done.insert((node, arguments));
        Ok(())
    }
}
