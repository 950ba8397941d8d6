//! The ladders of a capture as a page, of the same kind as those of a run.

use keytoll_decode::decode::Decoded;
use keytoll_decode::{Conversation, ladder};
use keytoll_family::Entry;
use keytoll_report::page::{Block, Hop, Ladder, Page, Section};
use keytoll_trace::{Fate, Node};

/// Longer conversations are cut off: nobody reads on, and traffic has no end.
const HOPS_MAX: usize = 400;

/// The page of some conversations, with their numbers.
pub(super) fn page(name: &str, decoded: &Decoded, chosen: &[(usize, &Conversation)]) -> Page {
    let frames = format!("{} in {} conversations", decoded.frames, decoded.conversations.len());
    Page {
        title: name.to_owned(),
        verdict: vec![super::sentence(decoded)],
        facts: vec![("capture".to_owned(), name.to_owned()), ("frames".to_owned(), frames)],
        warnings: decoded
            .error
            .iter()
            .map(|error| format!("The file was not read to its end: {error}."))
            .collect(),
        sections: chosen.iter().map(|&(number, conversation)| section(number, conversation)).collect(),
    }
}

fn section(number: usize, conversation: &Conversation) -> Section {
    Section {
        id: format!("conversation-{number}"),
        title: format!("{number}: {}", ladder::title(conversation)),
        blocks: vec![Block::Ladder(of(number, conversation))],
        sections: Vec::new(),
    }
}

fn of(number: usize, conversation: &Conversation) -> Ladder {
    let entries: Vec<&Entry> = conversation.entries.iter().filter(|entry| !is_copy(entry)).collect();
    let is_there = |node: &Node| entries.iter().any(|entry| entry.ends.0 == *node || entry.ends.1 == *node);
    let nodes: Vec<Node> = Node::ALL.into_iter().filter(is_there).collect();
    let start_ns = entries.first().map_or(0, |entry| entry.first_ns);
    let left_out = match entries.len().saturating_sub(HOPS_MAX) {
        0 => String::new(),
        more => format!(" {more} more messages are not drawn."),
    };
    Ladder {
        id: format!("ladder-{number}"),
        title: format!("Messages of conversation {number}"),
        nodes: nodes.iter().map(|node| node.name().to_owned()).collect(),
        hops: entries.iter().take(HOPS_MAX).map(|entry| hop(entry, start_ns, &nodes)).collect(),
        note: format!(
            "Times are those of the capture, from the first packet on; bytes have their IP headers.{left_out}"
        ),
    }
}

/// Copies that the network made are no messages.
fn is_copy(entry: &Entry) -> bool {
    matches!(entry.fate, Some((Fate::Duplicate, _)))
}

/// A message; where the capture does not say how long it was under way, it arrives at once.
fn hop(entry: &Entry, start_ns: u64, nodes: &[Node]) -> Hop {
    let place = |node: Node| nodes.iter().position(|known| *known == node).unwrap_or_default();
    let sent_ms = entry.first_ns.saturating_sub(start_ns) as f64 / 1e6;
    let arrived_ms = match entry.fate {
        None => Some(sent_ms),
        Some((Fate::Delivered, transit)) => Some(sent_ms + transit.as_secs_f64() * 1e3),
        Some(_) => None,
    };
    let more = if entry.more > 0 { format!(", and {} more", entry.more) } else { String::new() };
    Hop {
        from: place(entry.ends.0),
        to: place(entry.ends.1),
        sent_ms,
        arrived_ms,
        label: format!("{}{more}", entry.name),
        bytes: entry.wire_bytes,
        is_repeated: entry.repeats.is_some(),
    }
}
