//! The row's links in front of real sockets. Each of our nodes emulates what it sends, and what it receives from a node
//! that is not ours; a link that adds nothing is not emulated, and how long it takes is measured.

use std::net::IpAddr;

use keytoll_live::Path;
use keytoll_scenario::plan::RowPlan;
use keytoll_sim::{Direction, LinkConfig};
use keytoll_trace::{Link, Node, Protocol};

use crate::build;
use crate::fault;
use crate::sites::Sites;

/// The links of a node that have something to emulate.
pub(super) fn paths(node: Node, row: &RowPlan, sites: &Sites) -> Vec<Path> {
    let neighbours: &[(Node, IpAddr)] = match node {
        Node::Ue => &[(Node::Gw, sites.gw)],
        Node::Gw => &[(Node::Ue, sites.ue), (Node::Aaa, sites.aaa)],
        Node::Aaa => &[(Node::Gw, sites.core), (Node::Hss, sites.hss)],
        _ => &[(Node::Aaa, sites.aaa)],
    };
    let nodes = row.topology.nodes(row.method);
    let path =
        |&(peer, remote): &(Node, IpAddr)| nodes.contains(&peer).then(|| path(row, node, peer, remote));
    let is_felt = |path: &Path| path.outbound.is_some() || path.inbound.is_some();
    neighbours.iter().filter_map(path).filter(is_felt).collect()
}

fn path(row: &RowPlan, own: Node, peer: Node, remote: IpAddr) -> Path {
    let link = Link::between(own, peer);
    let config = config(row, link);
    let (out, back) =
        if own == link.0 { (config.a_to_b, config.b_to_a) } else { (config.b_to_a, config.a_to_b) };
    let is_foreign = row.options.makers.of(peer).is_foreign();
    Path {
        remote: Some(remote),
        own,
        peer,
        outbound: Some(out).filter(is_felt),
        inbound: Some(back).filter(|way| is_foreign && is_felt(way)),
        mtu_bytes: config.mtu_bytes,
        protocol: protocol(link),
    }
}

fn config(row: &RowPlan, link: Link) -> LinkConfig {
    match link {
        Link(Node::Ue, _) => fault::access_link(row, build::link(&row.network, row.topology.ue_gw())),
        Link(Node::Gw, _) => fault::aaa_link(row, build::wire(row.topology.gw_aaa())),
        _ => fault::hss_link(row, build::wire(row.topology.aaa_hss())),
    }
}

const fn protocol(link: Link) -> Protocol {
    match link {
        Link(Node::Ue, _) => Protocol::Ike,
        Link(Node::Gw, _) => Protocol::Radius,
        _ => Protocol::Diameter,
    }
}

/// Whether a link does anything to what it carries.
fn is_felt(way: &Direction) -> bool {
    let ideal = Direction::default();
    *way != Direction { queue_bytes_max: way.queue_bytes_max, ..ideal }
}
