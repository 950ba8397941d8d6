//! What an idle SA keeps, as a row measured it.

use keytoll_lab::{Cost, Memory};
use keytoll_trace::Node;

/// The bytes that an SA adds to a whole host: the median, for the first SA makes tables that all later ones use.
pub(crate) fn sa_bytes(memory: &Memory, node: Node) -> u64 {
    let of_node = memory.costs.iter().filter_map(|cost| match cost {
        Cost::Sample(sample) if sample.node == node => sample.idle_sa_bytes,
        _ => None,
    });
    let mut bytes: Vec<u64> = of_node.collect();
    bytes.sort_unstable();
    bytes[bytes.len() / 2]
}
