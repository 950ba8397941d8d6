//! What went over each link, counted as a run counts it: messages without repetitions, packets and bytes with them, copies
//! that the network made not at all.

use keytoll_engine::trace::{Fate, Link, Protocol};
use keytoll_family::Entry;

/// What went over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Protocol messages, fragments of one counted once.
    pub messages: u64,
    /// IP packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages sent again.
    pub retransmissions: u64,
}

/// Counts by link and protocol: links in their order, the protocols of a link as they first came.
pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<((Link, Protocol), Count)> {
    let mut counts = Vec::new();
    for entry in entries.into_iter().filter(|entry| !entry.is_copy()) {
        let key = (Link::between(entry.ends.0, entry.ends.1), entry.protocol);
        let count = entry_of(&mut counts, key);
        if let Some(sent) = entry.sent.as_ref().filter(|sent| sent.fragment() <= 1) {
            count.messages += u64::from(!sent.is_retransmission());
            count.retransmissions += u64::from(sent.is_retransmission());
        }
        // What a full queue refuses is never on the wire.
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
