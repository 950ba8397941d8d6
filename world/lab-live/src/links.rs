//! The emulated links of a row in front of real sockets. Each node of ours emulates the links of its own datagrams, and of those
//! from foreign daemons; a link without effect is not emulated, and its transit time is measured.

use keytoll_live::Path;
use keytoll_rig::{End, Layout, LinkSpec};
use keytoll_sim::Direction;
use keytoll_trace::Node;

/// The links of a node that are emulated.
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

/// Whether a link has any effect.
fn is_felt(way: &Direction) -> bool {
    let ideal = Direction::default();
    *way != Direction { queue_bytes_max: way.queue_bytes_max, ..ideal }
}
