//! How long an authentication only waited for retransmissions.
//!
//! ```text
//! sent --- in flight -- computed --- answer lost --- nothing --- nothing --- retransmitted
//!      '-- network ----'-- computation --'-- waiting for the retransmission ---'
//! ```
//!
//! Between a transmission of a message and its next retransmission the sender waits for its effect. As long as there is one
//! (a datagram that arrives is in flight, a node computes), that is network or computation; the rest is waiting, for a lost
//! packet or a peer that did not answer, until the retransmission timer expired. Overlapping waits are counted once. Messages
//! that were not retransmitted before the end, and waits without retransmissions (for a server that answers late), are not
//! counted.

use keytoll_trace::{Fact, Message, Node, Record};

use super::{Concluded, Time};
use crate::conclude::is_accounting;

/// The part of [`WAITING`](super::WAITING) that ended with a retransmission, of successful authentications.
pub const WAITING_FOR_REPEATS: Time = Time { name: "waiting for repeats", of };

fn of(concluded: &Concluded<'_>) -> Option<u64> {
    let until_ns = concluded.split.and(concluded.duration_ns)?;
    if !concluded.records.iter().any(is_retransmission) {
        return Some(0);
    }
    let from_trigger = |at_ns: u64| at_ns.saturating_sub(concluded.start_ns).min(until_ns);
    let mut told = concluded.busy.clone();
    let until_end = concluded.records.iter().take_while(|record| from_trigger(record.at_ns) < until_ns);
    let waits = repeats(until_end);
    Some(waits.map(|(sent_ns, again_ns)| told.add(from_trigger(sent_ns), from_trigger(again_ns))).sum())
}

fn is_retransmission(record: &Record) -> bool {
    matches!(&record.fact, Fact::Sent(message) if message.retransmission)
}

/// For every retransmission, when the message was sent before and when again. Accounting delays nothing.
fn repeats<'a>(records: impl Iterator<Item = &'a Record>) -> impl Iterator<Item = (u64, u64)> {
    let mut latest: Vec<(Node, &Message, u64)> = Vec::new();
    records.filter(|record| !is_accounting(record)).filter_map(move |record| {
        let Fact::Sent(message) = &record.fact else { return None };
        let is_same =
            |known: &&mut (Node, &Message, u64)| known.0 == record.node && is_repeat(message, known.1);
        let before = latest.iter_mut().rev().filter(|_| message.retransmission).find(is_same);
        let Some((.., at_ns)) = before else {
            latest.push((record.node, message, record.at_ns));
            return None;
        };
        Some((std::mem::replace(at_ns, record.at_ns), record.at_ns))
    })
}

/// Whether two messages are the same, retransmitted or not.
fn is_repeat(one: &Message, other: &Message) -> bool {
    let first = |message: &Message| Message { retransmission: false, ..message.clone() };
    first(one) == first(other)
}

#[cfg(test)]
mod tests {
    use keytoll_trace::{Fate, Link, Name, Protocol};
    use proptest::prelude::*;

    use super::*;
    use crate::times::{DELAY, WAITING};
    use crate::{Sample, measure};

    const UE_GW: Link = Link(Node::Ue, Node::Gw);

    const ONE: Name = Name::new(&"one");
    const TWO: Name = Name::new(&"two");

    fn message(name: Name, retransmission: bool) -> Message {
        Message { bytes: 200, retransmission, ..Message::new(Protocol::new(&"toy"), name) }
    }

    /// A message, and its datagram, which takes 100 ns.
    fn sends(at_ns: u64, node: Node, message: Message, fate: Fate) -> [Record; 2] {
        let protocol = message.protocol;
        let carried = Fact::Carried { link: UE_GW, protocol, packets: 1, bytes: 228, transit_ns: 100, fate };
        [Fact::Sent(message), carried].map(|fact| Record { at_ns, node, sample: 0, fact })
    }

    fn sample(between: impl IntoIterator<Item = [Record; 2]>, end_ns: u64) -> Sample {
        let at = |at_ns, fact| Record { at_ns, node: Node::Ue, sample: 0, fact };
        let records = std::iter::once(at(0, Fact::Triggered)).chain(between.into_iter().flatten());
        let samples = measure(records.chain([at(end_ns, Fact::Usable)]), []);
        samples.kept.into_iter().next().unwrap()
    }

    fn waited_ns(between: impl IntoIterator<Item = [Record; 2]>, end_ns: u64) -> u64 {
        sample(between, end_ns).times.get(&WAITING_FOR_REPEATS).unwrap()
    }

    #[test]
    fn without_a_retransmission_there_is_no_wait() {
        let request = sends(0, Node::Ue, message(ONE, false), Fate::Delivered);
        let late = sends(500, Node::Gw, message(ONE, false), Fate::Delivered);
        assert_eq!(waited_ns([request, late], 600), 0, "the gateway answers late, and nobody asks again");
    }

    #[test]
    fn a_lost_request_counts_from_its_transmission_to_its_retransmission() {
        let lost = sends(10, Node::Ue, message(ONE, false), Fate::Lost);
        let lost_again = sends(1010, Node::Ue, message(ONE, true), Fate::Lost);
        let arrives = sends(3010, Node::Ue, message(ONE, true), Fate::Delivered);
        assert_eq!(waited_ns([lost, lost_again, arrives], 3110), 3000);
    }

    #[test]
    fn datagrams_in_flight_meanwhile_are_not_waiting() {
        // The request arrives, its answer is lost: 100 ns of the 1000 were not waiting.
        let arrives = sends(0, Node::Ue, message(ONE, false), Fate::Delivered);
        let lost = sends(100, Node::Gw, Message { response: true, ..message(ONE, false) }, Fate::Lost);
        let again = sends(1000, Node::Ue, message(ONE, true), Fate::Delivered);
        let answer = sends(1100, Node::Gw, Message { response: true, ..message(ONE, true) }, Fate::Delivered);
        assert_eq!(waited_ns([arrives, lost, again, answer], 1200), 900);
    }

    #[test]
    fn overlapping_waits_count_once() {
        let both = [
            sends(0, Node::Ue, message(ONE, false), Fate::Lost),
            sends(200, Node::Gw, message(TWO, false), Fate::Lost),
        ];
        let again = [
            sends(500, Node::Gw, message(TWO, true), Fate::Delivered),
            sends(1000, Node::Ue, message(ONE, true), Fate::Delivered),
        ];
        assert_eq!(
            waited_ns(both.into_iter().chain(again), 1100),
            1000 - 100,
            "the gateway's repeat was under way"
        );
    }

    #[test]
    fn failed_authentications_have_no_such_time() {
        let lost = sends(0, Node::Ue, message(ONE, false), Fate::Lost);
        let again = sends(1000, Node::Ue, message(ONE, true), Fate::Lost);
        let failed =
            Record { at_ns: 2000, node: Node::Ue, sample: 0, fact: Fact::Failed { why: "timeout".into() } };
        let triggered = Record { at_ns: 0, node: Node::Ue, sample: 0, fact: Fact::Triggered };
        let records = std::iter::once(triggered).chain(lost).chain(again).chain([failed]);
        assert_eq!(measure(records, []).kept[0].times.get(&WAITING_FOR_REPEATS), None);
    }

    proptest! {
        #[test]
        fn it_is_a_part_of_the_waiting(
            sent in prop::collection::vec((0_u64..5000, any::<[bool; 4]>()), 0..20),
        ) {
            let sent = sent.into_iter().map(|(at_ns, [is_one, again, is_lost, is_ue])| {
                let (node, fate) = (
                    if is_ue { Node::Ue } else { Node::Gw },
                    if is_lost { Fate::Lost } else { Fate::Delivered },
                );
                sends(at_ns, node, message(if is_one { ONE } else { TWO }, again), fate)
            });
            let times = sample(sent, 4000).times;
            prop_assert!(times.get(&WAITING_FOR_REPEATS) <= times.get(&WAITING));
            prop_assert!(times.get(&WAITING) <= times.get(&DELAY));
        }
    }
}
