//! Merges the logs of all processes into the records of a row, authentication by authentication in order of time. The transit time
//! of a datagram is the difference between the logs of both ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::iter::Peekable;
use std::path::Path;

use keytoll_trace::file::{ReadError, Reader};
use keytoll_trace::{Fact, Name, Record};

use super::line::{Line, What};

/// The log of one process, by authentication.
pub(super) struct Notes {
    lines: Peekable<Box<dyn Iterator<Item = Result<Line, ReadError>>>>,
}

impl Notes {
    /// Those in a file.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let lines: Box<dyn Iterator<Item = _>> = Box::new(Reader::new(BufReader::new(File::open(path)?))?);
        Ok(Self { lines: lines.peekable() })
    }

    /// Those in memory.
    pub(super) fn of(lines: Vec<Line>) -> Self {
        let lines: Box<dyn Iterator<Item = _>> = Box::new(lines.into_iter().map(Ok));
        Self { lines: lines.peekable() }
    }

    /// Appends the lines of an authentication.
    fn take(&mut self, sample: u32, into: &mut Vec<Line>) -> Result<(), ReadError> {
        while let Some(line) =
            self.lines.next_if(|line| line.as_ref().map_or(true, |line| line.sample <= sample))
        {
            into.push(line?);
        }
        Ok(())
    }
}

/// The records of one authentication.
pub(super) fn sample(notes: &mut [Notes], sample: u32) -> Result<Vec<Record>, ReadError> {
    let mut lines = Vec::new();
    notes.iter_mut().try_for_each(|notes| notes.take(sample, &mut lines))?;
    // The lines of one process are in order, and the sort is stable.
    lines.sort_by_key(|line| line.at_ns);
    Ok(records(lines))
}

fn records(lines: Vec<Line>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::with_capacity(lines.len());
    let mut under_way: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for Line { sample, at_ns, node, what } in lines {
        match what {
            What::Fact(fact) => records.push(Record { at_ns, node, sample, fact }),
            What::Sent(digest, fact) => {
                under_way.entry(digest).or_default().push(records.len());
                records.push(Record { at_ns, node, sample, fact });
            }
            What::Received(digest) => {
                let Some(waiting) = under_way.get_mut(&digest).filter(|waiting| !waiting.is_empty()) else {
                    continue;
                };
                let sent = &mut records[waiting.remove(0)];
                if let Fact::Carried { transit_ns, .. } = &mut sent.fact {
                    *transit_ns = at_ns.saturating_sub(sent.at_ns);
                }
            }
        }
    }
    records
}

/// A foreign device may report its SA before it has sent the last message of the negotiation, which has this name. The SA is usable
/// when that message is sent.
pub(super) fn usable_after(name: Name, records: &mut [Record]) {
    let Some(told) = records.iter().position(|record| record.fact == Fact::Usable) else { return };
    let device = records[told].node;
    let is_last = |record: &Record| {
        record.node == device && matches!(&record.fact, Fact::Sent(message) if message.name == name)
    };
    if let Some(sent) = records.iter().rposition(is_last).filter(|&sent| sent > told) {
        records[told].at_ns = records[sent].at_ns;
        // After the message and its packets, which have the same time.
        let same_moment = records[sent..].iter().take_while(|record| record.at_ns == records[sent].at_ns);
        let end = sent + same_moment.count();
        records[told..end].rotate_left(1);
    }
}

#[cfg(test)]
mod tests {
    use keytoll_ike::IKE;
    use keytoll_ike::names::message_name;
    use keytoll_ike::v1::number::{INFORMATIONAL, QUICK_MODE};
    use keytoll_trace::{Fate, Link, Message, Node};

    use super::*;

    fn line(sample: u32, at_ns: u64, node: Node, what: What) -> Line {
        Line { sample, at_ns, node, what }
    }

    fn carried(transit_ns: u64) -> Fact {
        let (link, fate) = (Link(Node::Ue, Node::Gw), Fate::Delivered);
        Fact::Carried { link, protocol: IKE, packets: 1, bytes: 100, transit_ns, fate }
    }

    #[test]
    fn what_arrived_was_under_way_in_between() {
        let ue = vec![
            line(0, 10, Node::Ue, What::Fact(Fact::Triggered)),
            line(0, 20, Node::Ue, What::Sent(7, carried(0))),
            line(0, 90, Node::Ue, What::Sent(7, carried(0))),
            line(1, 300, Node::Ue, What::Fact(Fact::Triggered)),
        ];
        let gw = vec![line(0, 25, Node::Gw, What::Received(7)), line(0, 99, Node::Gw, What::Received(7))];
        let mut notes = [Notes::of(gw), Notes::of(ue)];
        let facts = |notes: &mut [Notes], n| {
            sample(notes, n)
                .unwrap()
                .into_iter()
                .map(|record| (record.at_ns, record.fact))
                .collect::<Vec<_>>()
        };
        assert_eq!(facts(&mut notes, 0), [(10, Fact::Triggered), (20, carried(5)), (90, carried(9))]);
        assert_eq!(facts(&mut notes, 1), [(300, Fact::Triggered)]);
        assert_eq!(facts(&mut notes, 2), []);
    }

    #[test]
    fn an_sa_told_of_early_is_usable_when_the_last_message_is_sent() {
        let record = |at_ns, node, fact| Record { at_ns, node, sample: 0, fact };
        let quick_mode = message_name(QUICK_MODE, false);
        let sent = |exchange| Fact::Sent(Message::new(IKE, message_name(exchange, false)));
        let told = |last_ns| {
            vec![
                record(5, Node::Ue, sent(QUICK_MODE)),
                record(10, Node::Ue, Fact::Usable),
                record(last_ns, Node::Ue, sent(QUICK_MODE)),
                record(last_ns, Node::Ue, carried(1)),
                record(90, Node::Ue, sent(INFORMATIONAL)),
            ]
        };
        let mut records = told(12);
        usable_after(quick_mode, &mut records);
        let order: Vec<_> =
            records.iter().map(|record| (record.at_ns, record.fact == Fact::Usable)).collect();
        assert_eq!(order, [(5, false), (12, false), (12, false), (12, true), (90, false)]);
        // Earlier messages are no reason to wait.
        let mut early = told(12);
        early.remove(2);
        let before = early.clone();
        usable_after(quick_mode, &mut early);
        assert_eq!(early, before);
    }
}
