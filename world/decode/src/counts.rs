//! Counts of each link, by the rules of a run: messages without retransmissions, packets and bytes with them, neither with copies
//! made by the network.

use keytoll_engine::trace::{Fate, Link, Protocol};
use keytoll_family::Entry;

/// The counts of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Protocol messages; a fragmented one counts once.
    pub messages: u64,
    /// IP packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages sent again.
    pub retransmissions: u64,
}

/// Counts by link and protocol: links in their order, protocols in order of first appearance.
pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<((Link, Protocol), Count)> {
    let mut counts = Vec::new();
    for entry in entries.into_iter().filter(|entry| !entry.is_copy()) {
        let key = (Link::between(entry.ends.0, entry.ends.1), entry.protocol);
        let count = entry_of(&mut counts, key);
        if let Some(sent) = entry.sent.as_ref().filter(|sent| sent.fragment() <= 1) {
            count.messages += u64::from(!sent.is_retransmission());
            count.retransmissions += u64::from(sent.is_retransmission());
        }
        // A packet dropped by a full queue was never on the wire.
        if !matches!(entry.fate, Some((Fate::QueueFull, _))) {
            count.packets += entry.packets;
            count.bytes += entry.wire_bytes;
        }
    }
    counts.sort_by_key(|&((link, _), _)| link);
    counts
}

fn entry_of(counts: &mut Vec<((Link, Protocol), Count)>, key: (Link, Protocol)) -> &mut Count {
    let place = counts.iter().position(|&(known, _)| known == key).unwrap_or_else(|| {
        counts.push((key, Count::default()));
        counts.len() - 1
    });
    &mut counts[place].1
}
