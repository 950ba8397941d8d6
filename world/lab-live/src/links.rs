//! The row's links in front of real sockets. Each of our nodes emulates what it sends, and what it receives from a node
//! that is not ours; a link that adds nothing is not emulated, and how long it takes is measured.

use keytoll_live::Path;
use keytoll_rig::{End, Layout, LinkSpec};
use keytoll_sim::Direction;
use keytoll_trace::Node;

/// The links of a node that have something to emulate.
pub(super) fn paths(node: Node, layout: &Layout) -> Vec<Path> {
    let path = |link: &LinkSpec| link.seen_from(node).map(|[own, peer]| path(layout, link, own, peer));
    let is_felt = |path: &Path| path.outbound.is_some() || path.inbound.is_some();
    layout.links.iter().filter_map(path).filter(is_felt).collect()
}

fn path(layout: &Layout, link: &LinkSpec, own: End, peer: End) -> Path {
    let (a_to_b, b_to_a) = (link.config.a_to_b.clone(), link.config.b_to_a.clone());
    let (out, back) = if own == link.ends[0] { (a_to_b, b_to_a) } else { (b_to_a, a_to_b) };
    Path {
        remote: Some(peer.host),
        own: own.node,
        peer: peer.node,
        outbound: Some(out).filter(is_felt),
        inbound: Some(back).filter(|way| layout.is_foreign(peer.node) && is_felt(way)),
        mtu_bytes: link.config.mtu_bytes,
        protocol: link.protocol,
    }
}

/// Whether a link does anything to what it carries.
fn is_felt(way: &Direction) -> bool {
    let ideal = Direction::default();
    *way != Direction { queue_bytes_max: way.queue_bytes_max, ..ideal }
}
