//! Which packets are one association: those between the same two HITs, from an I1 that begins anew.

use std::collections::BTreeMap;

use keytoll_engine::trace::{Fate, Node};
use keytoll_family::{
    Book, Conversation, Dissected, Entry, Ids, Judgement, Kind, Method, Opening, Outcome, Passed, Place,
};

use super::words::{Hip, notify_name};
use crate::hit::Hit;
use crate::number::{HitSuite, NotifyType, PacketType};

/// More associations at once than this are not told apart.
const OPEN_MAX: usize = 100_000;

/// The associations of a capture.
#[derive(Debug, Default)]
pub(super) struct Associations {
    /// By both HITs, the smaller one first. In opportunistic mode the responder has none in I1.
    open: BTreeMap<[Hit; 2], Open>,
}

#[derive(Debug)]
struct Open {
    conversation: usize,
    initiator: Hit,
    /// An R2 has passed: an I1 begins another one.
    is_over: bool,
    /// What was asked and not answered yet: the type and, of an UPDATE, who sent it with which Update ID.
    asked: BTreeMap<Question, Vec<Place>>,
}

impl Associations {
    pub(super) fn file(
        &mut self,
        passed: &Passed,
        mut dissected: Dissected,
        hip: &Hip,
        repeats: Option<u64>,
        book: &mut Book,
    ) {
        let is_copy = matches!(passed.fate, Some((Fate::Duplicate, _)));
        let Some(key) = self.key(hip, is_copy, book) else { return };
        let Some(open) = self.open.get_mut(&key) else { return };
        let repeats = repeats.filter(|frame| is_among(*frame, book.entries(open.conversation)));
        dissected.sent.iter_mut().for_each(|sent| sent.retransmission = repeats.is_some());
        let is_from_device = hip.sender == open.initiator;
        let ends = if is_from_device { (Node::Ue, Node::Gw) } else { (Node::Gw, Node::Ue) };
        let asks = hip.asks();
        let entry = Entry { repeats, unanswered: asks.is_some(), ..Entry::new(passed, dissected, ends) };
        let place = book.push(open.conversation, entry);
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let (device, gateway) = if is_from_device { (from, to) } else { (to, from) };
        book.meet(open.conversation, device, gateway);
        if let Some(spi) = hip.spi {
            book.expect_traffic(from.host(), spi, open.conversation);
        }
        if passed.arrives() {
            for question in hip.answers() {
                let questions = open.asked.remove(&question).unwrap_or_default();
                book.answer(&questions, place);
            }
        }
        if let Some(question) = asks {
            open.asked.entry(question).or_default().push(place);
        }
        open.is_over |= hip.packet_type == PacketType::R2;
    }

    /// The key of the association that a packet belongs to, which begins with it if there is none.
    fn key(&mut self, hip: &Hip, is_copy: bool, book: &mut Book) -> Option<[Hit; 2]> {
        let key = hip.sender.sorted(hip.receiver);
        // RFC 7401 §4.1.8: an I1 in opportunistic mode names nobody; its R1 does.
        let nameless = Hit::NULL.sorted(hip.receiver);
        if hip.packet_type == PacketType::R1
            && self.open.get(&key).is_none_or(|open| open.is_over)
            && let Some(open) = self.open.remove(&nameless)
        {
            self.open.insert(key, open);
            return Some(key);
        }
        let begins = hip.packet_type == PacketType::I1 && !is_copy;
        let goes_on = self.open.get(&key).is_some_and(|open| !(begins && open.is_over));
        if !goes_on {
            if self.open.len() >= OPEN_MAX {
                return None;
            }
            let conversation = book.begin(Kind::of("hip", "HIP"))?;
            let initiator = match hip.packet_type {
                PacketType::R1 | PacketType::R2 => hip.receiver,
                _ => hip.sender,
            };
            self.open.insert(key, Open { conversation, initiator, is_over: false, asked: BTreeMap::new() });
        }
        let open = self.open.get_mut(&key)?;
        // Of two hosts that begin at once the one whose I2 counts is the initiator.
        if hip.packet_type == PacketType::R2 && open.initiator != hip.receiver && !open.is_over {
            open.initiator = hip.receiver;
            book.turn(open.conversation);
        }
        Some(key)
    }
}

/// Whether this frame is one of the latest of a conversation: I1 and R1 between two hosts are the same octets in each of their
/// exchanges, and repeat nothing of the one before.
fn is_among(frame: u64, entries: &[Entry]) -> bool {
    const LATEST: usize = 64;
    entries.iter().rev().take(LATEST).any(|entry| entry.frame == frame)
}

type Question = (PacketType, Hit, u32);

impl Hip {
    /// The question that it asks.
    fn asks(&self) -> Option<Question> {
        match self.packet_type {
            PacketType::I1 | PacketType::I2 | PacketType::CLOSE => Some((self.packet_type, self.sender, 0)),
            PacketType::UPDATE => self.seq.map(|id| (PacketType::UPDATE, self.sender, id)),
            _ => None,
        }
    }

    /// The questions that it answers.
    fn answers(&self) -> Vec<Question> {
        let question = |packet_type| vec![(packet_type, self.receiver, 0)];
        match self.packet_type {
            PacketType::R1 => question(PacketType::I1),
            PacketType::R2 => question(PacketType::I2),
            PacketType::CLOSE_ACK => question(PacketType::CLOSE),
            PacketType::UPDATE => {
                self.acks.iter().map(|id| (PacketType::UPDATE, self.receiver, *id)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What an association came to.
pub(super) fn judge(conversation: &Conversation) -> Judgement {
    let entries = conversation.deciding();
    let has_aka = packets(entries)
        .any(|(_, entry, hip)| hip.packet_type == PacketType::R2 && hip.hides && entry.arrives());
    Judgement {
        outcome: outcome(entries, has_aka),
        method: Some(method(conversation, has_aka)),
        ids: ids(entries),
        ..Judgement::default()
    }
}

fn packets(entries: &[Entry]) -> impl DoubleEndedIterator<Item = (usize, &Entry, &Hip)> {
    let numbered = entries.iter().enumerate();
    numbered.filter_map(|(at, entry)| Some((at, entry, entry.content.of::<Hip>()?)))
}

fn outcome(entries: &[Entry], has_aka: bool) -> Outcome {
    for (at, entry, hip) in packets(entries).filter(|(_, entry, _)| entry.arrives()) {
        let ends = match hip.packet_type {
            PacketType::R2 => !has_aka,
            // The last UPDATE of AKA: it acknowledges the card's response, and asks nothing.
            PacketType::UPDATE => has_aka && hip.hides && hip.seq.is_none() && entry.ends.0 == Node::Gw,
            _ => false,
        };
        if ends {
            return Outcome::Established(at);
        }
    }
    // RFC 7401 §6.13: a NOTIFY is informational; it tells why nothing came of it.
    let is_error = |kind: &NotifyType| kind.0 < NotifyType::I2_ACKNOWLEDGEMENT.0;
    let notified = packets(entries)
        .rev()
        .find_map(|(at, entry, hip)| Some((at, entry.ends.0, hip.notifies.filter(is_error)?)));
    if let Some((at, by, kind)) = notified {
        return Outcome::Failed { by, why: notify_name(kind), at };
    }
    let unanswered = packets(entries).rev().find(|(_, entry, _)| entry.unanswered);
    unanswered.map_or(Outcome::Unknown, |(at, ..)| Outcome::Unanswered(at))
}

fn method(conversation: &Conversation, has_aka: bool) -> Method {
    let suites = packets(conversation.deciding()).filter_map(|(_, _, hip)| hip.sender.suite());
    let is_diet = suites.into_iter().any(|suite| suite == HitSuite::EcdhFold);
    let name = match (is_diet, has_aka) {
        (false, _) => "hip-bex",
        (true, false) => "hip-dex",
        (true, true) => "hip-dex-aka",
    };
    let is_known = packets(conversation.deciding()).any(|(_, _, hip)| hip.packet_type == PacketType::R2);
    Method {
        name: if is_known { name.to_owned() } else { "hip".to_owned() },
        suite: conversation.about.suite.clone().unwrap_or_default(),
        is_known,
        opening: Opening::of("hip"),
    }
}

fn ids(entries: &[Entry]) -> Ids {
    let with_hits = packets(entries).rev().find(|(_, _, hip)| hip.receiver != Hit::NULL);
    let Some((_, entry, hip)) = with_hits else { return Ids::default() };
    let (initiator, responder) =
        if entry.ends.0 == Node::Ue { (hip.sender, hip.receiver) } else { (hip.receiver, hip.sender) };
    let ids = vec![("hit_i", initiator.to_string()), ("hit_r", responder.to_string())];
    Ids { label: "HITs", ids }
}
