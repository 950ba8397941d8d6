//! What an ISAKMP SA came to: RFC 2409 §5.1, §5.4, §5.5; RFC 2408 §3.14, §3.15.
//!
//! Phase 1 and each quick mode are told by whose turn it is. Whoever says something else when it is its turn refuses; without
//! keys only that can be seen, not why. Messages come again, and what is lost on its way is no turn.

use std::collections::{BTreeMap, BTreeSet};

use keytoll_engine::trace::Node;
use keytoll_family::{Ends, Entry, Outcome};

use super::outcome::ike_of;
use super::{Deleted, Ike, Inside};
use crate::number::NotifyType;

const IDENTITY_PROTECTION: u8 = 2;
const AGGRESSIVE: u8 = 4;
const INFORMATIONAL: u8 = 5;
const QUICK_MODE: u8 = 32;

/// RFC 2409 §5.1 and §5.4: main mode has two messages in each of three steps, aggressive mode three in all.
const MAIN_MODE_MESSAGES: usize = 6;
const AGGRESSIVE_MODE_MESSAGES: usize = 3;
/// RFC 2409 §5.5.
const QUICK_MODE_MESSAGES: usize = 3;

/// Who refuses what it has been told does so without waiting for more.
const PROMPT_NS: u64 = 1_000_000_000;
/// More SPIs of an SA's children are not remembered.
const SPIS_MAX: usize = 4096;

pub(super) const SEALED: &str = "refused or ended by an encrypted message";
const DELETED: &str = "the IKE SA was deleted before there was a child";

/// What became of the exchanges of IKEv1 in a conversation, those of SAs that replace the first one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exchanges {
    /// ISAKMP SAs.
    pub(super) phase1: Ends,
    /// IPsec SAs, a pair each.
    pub(super) quick_mode: Ends,
}

/// What the ISAKMP SA with this cookie of its initiator came to.
pub(super) fn outcome(cookie: u64, entries: &[Entry]) -> Outcome {
    let mut sa = Seen::default();
    for (at, entry) in entries.iter().enumerate() {
        let decided = match (ike_of(entry), entry.content.spi()) {
            (Some(ike), _) if ike.spis.0 == cookie => sa.take(at, entry, ike),
            (_, Some(spi)) => sa.traffic(at, entry, spi),
            _ => None,
        };
        if let Some(at) = decided {
            return Outcome::Established(at);
        }
    }
    sa.end()
}

/// What became of every exchange.
pub(super) fn exchanges(entries: &[Entry]) -> Exchanges {
    let (mut sas, mut latest) = (BTreeMap::<u64, Seen>::new(), None);
    for (at, entry) in entries.iter().enumerate() {
        match (ike_of(entry), entry.content.spi()) {
            (Some(ike), _) if ike.major == 1 => {
                sas.entry(ike.spis.0).or_default().take(at, entry, ike);
                latest = Some(ike.spis.0);
            }
            (_, Some(spi)) => {
                let sa = latest.and_then(|cookie| sas.get_mut(&cookie));
                sa.map(|sa| sa.traffic(at, entry, spi));
            }
            _ => {}
        }
    }
    let mut exchanges = Exchanges::default();
    sas.values().for_each(|sa| sa.count(entries, &mut exchanges));
    exchanges
}

/// When an ISAKMP SA lived, as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Phase 1 was whole.
    pub(super) whole_ns: Option<u64>,
    /// A child was asked for first.
    pub(super) first_quick_mode_ns: Option<u64>,
    /// There was a child.
    pub(super) established_ns: Option<u64>,
    /// Somebody deleted the SA, or said the last that was said without an answer.
    pub(super) closed_ns: Option<u64>,
    /// The last packet of it or its children.
    pub(super) last_ns: u64,
}

impl Life {
    /// ESP that was on its way when its SA was deleted comes no later.
    const SLACK_NS: u64 = 1_000_000_000;

    pub(super) fn of(entries: &[Entry]) -> Self {
        let (mut life, mut sa, mut tail) = (Self::default(), Seen::default(), Tail::default());
        let mut deleted_ns = None;
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.is_copy()) {
            life.last_ns = entry.at_ns;
            let established = match (ike_of(entry), entry.content.spi()) {
                (Some(ike), _) => sa.take(at, entry, ike),
                (_, Some(spi)) => sa.traffic(at, entry, spi),
                _ => None,
            };
            if established.is_some() {
                life.established_ns.get_or_insert(entry.at_ns);
            }
            let Some(ike) = ike_of(entry) else { continue };
            if ike.exchange == QUICK_MODE && life.whole_ns.is_some() {
                life.first_quick_mode_ns.get_or_insert(entry.first_ns);
            }
            if sa.phase1.as_ref().is_some_and(Turns::is_whole) {
                life.whole_ns.get_or_insert(entry.at_ns);
            }
            tail.take(entry, ike);
            if deletes(ike) {
                deleted_ns.get_or_insert(entry.first_ns);
            }
        }
        let ended_ns = tail.ended_ns().filter(|ns| ns.saturating_add(Self::SLACK_NS) >= life.last_ns);
        life.closed_ns = deleted_ns.or(ended_ns);
        life
    }

    /// How long after phase 1 the first child was asked for; none if none was.
    pub(super) fn asks_after_ns(&self) -> Option<u64> {
        Some(self.first_quick_mode_ns?.saturating_sub(self.whole_ns?))
    }

    /// Whether it was there at this time: what comes of it later shows that it was.
    pub(super) fn is_alive_at(&self, ns: u64) -> Alive {
        match self.established_ns.or(self.whole_ns) {
            Some(since_ns) if since_ns < ns && self.closed_ns.is_none_or(|closed_ns| closed_ns >= ns) => {
                if self.last_ns > ns {
                    Alive::Certainly
                } else {
                    Alive::Perhaps
                }
            }
            _ => Alive::No,
        }
    }
}

/// Whether an SA was there at a certain time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alive {
    No,
    Perhaps,
    Certainly,
}

/// Whether a message ends its ISAKMP SA, as far as it can be read.
fn deletes(ike: &Ike) -> bool {
    ike.meaning.deletes.contains(&Deleted::IkeSa)
}

/// The messages that an SA ends with. Nobody answers a DELETE (RFC 2408 §5.15); R-U-THERE has an answer (RFC 3706 §5.3).
#[derive(Debug, Default)]
struct Tail {
    /// Who sent the last messages, how many, and when the last of them.
    last: Option<(Node, u32, u64)>,
    /// They come after an informational message of the other side.
    answers: bool,
}

impl Tail {
    fn take(&mut self, entry: &Entry, ike: &Ike) {
        if ike.exchange != INFORMATIONAL {
            *self = Self::default();
            return;
        }
        let by = entry.ends.0;
        self.last = match self.last {
            Some((same, count, _)) if same == by => Some((by, count + 1, entry.at_ns)),
            before => {
                self.answers = before.is_some();
                Some((by, 1, entry.at_ns))
            }
        };
    }

    fn ended_ns(&self) -> Option<u64> {
        self.last.filter(|(_, count, _)| *count > u32::from(self.answers)).map(|(.., at_ns)| at_ns)
    }
}

/// Somebody said no.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    by: Node,
    why: Why,
    at: usize,
}

/// In which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Error(NotifyType),
    Deleted,
    Sealed,
}

impl Refusal {
    fn outcome(self) -> Outcome {
        let why = match self.why {
            Why::Error(error) => error.to_string(),
            Why::Deleted => DELETED.to_owned(),
            Why::Sealed => SEALED.to_owned(),
        };
        Outcome::Failed { by: self.by, why, at: self.at }
    }
}

/// An ISAKMP SA as far as it was seen.
#[derive(Default)]
struct Seen {
    phase1: Option<Turns>,
    quick: BTreeMap<u32, Turns>,
    /// The exchange that was last heard of: phase 1 has no message id.
    current: Option<u32>,
    refused: Option<Refusal>,
    /// Who has asked for a child, or answered who did: both have come through phase 1.
    believers: BTreeSet<Node>,
    /// What ESP has used.
    spis: BTreeSet<u32>,
}

impl Seen {
    /// Takes a message of the SA; gives the place of the message with which there is a child, once there is.
    fn take(&mut self, at: usize, entry: &Entry, ike: &Ike) -> Option<usize> {
        match ike.exchange {
            IDENTITY_PROTECTION => self.phase1(MAIN_MODE_MESSAGES, at, entry),
            AGGRESSIVE => self.phase1(AGGRESSIVE_MODE_MESSAGES, at, entry),
            QUICK_MODE => return self.quick_mode(at, entry, ike),
            INFORMATIONAL if entry.repeats.is_none() => {
                let ends_child = ike.meaning.deletes.iter().any(|what| matches!(what, Deleted::Child(_)));
                if let Some(turns) = self.owed_by(entry.ends.0).filter(|_| ends_child) {
                    // Nobody deletes what it does not have.
                    turns.count += 1;
                    return turns.last[1];
                }
                if entry.arrives() {
                    self.informational(at, entry, ike);
                }
            }
            _ => {}
        }
        None
    }

    /// Takes a packet of a child. Who sends the first one on a new SPI has the child, though the message that says so may not
    /// have passed here.
    fn traffic(&mut self, at: usize, entry: &Entry, spi: u32) -> Option<usize> {
        let is_new = self.spis.len() < SPIS_MAX && self.spis.insert(spi);
        let is_of = |turns: &&mut Turns| turns.child_spi.map_or(is_new, |child_spi| child_spi == spi);
        let turns = self.owed_by(entry.ends.0).filter(is_of)?;
        turns.count += 1;
        Some(at)
    }

    /// The quick mode that only lacks the last message, which this side is to say.
    fn owed_by(&mut self, side: Node) -> Option<&mut Turns> {
        let turns = self.quick.get_mut(&self.current?)?;
        let is_owed = turns.count + 1 == turns.wanted && turns.next() == Some(side);
        is_owed.then_some(turns)
    }

    fn phase1(&mut self, messages: usize, at: usize, entry: &Entry) {
        self.current.get_or_insert(0);
        if self.phase1.get_or_insert_with(|| Turns::new(messages)).take(at, entry) {
            self.go_on();
        }
    }

    fn quick_mode(&mut self, at: usize, entry: &Entry, ike: &Ike) -> Option<usize> {
        self.believers.insert(entry.ends.0);
        if self.current != Some(ike.id) && !self.quick.contains_key(&ike.id) {
            // Another try.
            (self.current, self.refused) = (Some(ike.id), None);
        }
        let turns = self.quick.entry(ike.id).or_insert_with(|| Turns::new(QUICK_MODE_MESSAGES));
        let has_gone_on = turns.take(at, entry);
        turns.child_spi = ike.meaning.child_spi.or(turns.child_spi);
        let is_whole = has_gone_on && turns.is_whole();
        if has_gone_on {
            self.go_on();
        }
        is_whole.then_some(at)
    }

    /// Who goes on has refused nothing with what could not be read before.
    fn go_on(&mut self) {
        self.refused.take_if(|refusal| refusal.why == Why::Sealed);
    }

    fn informational(&mut self, at: usize, entry: &Entry, ike: &Ike) {
        let by = entry.ends.0;
        let is_its_turn = self.pending().is_some_and(|turns| turns.is_left_by(entry));
        let why = match ike.meaning.error() {
            Some(error) => Why::Error(error),
            None if deletes(ike) => Why::Deleted,
            None if matches!(ike.inside, Inside::Sealed | Inside::NotAuthentic) && is_its_turn => Why::Sealed,
            None => return,
        };
        self.refused.get_or_insert(Refusal { by, why, at });
        if matches!(why, Why::Error(error) if !is_about_proof(error)) && ike.inside == Inside::Opened {
            // What it does not want is the child.
            self.believers.insert(by);
        }
        if let Some(turns) = self.refused_exchange(entry, ike, why) {
            turns.refused.get_or_insert(why);
        }
    }

    /// The exchange that is refused.
    fn refused_exchange(&mut self, entry: &Entry, ike: &Ike, why: Why) -> Option<&mut Turns> {
        if self.phase1.as_ref().is_some_and(Turns::is_refused) {
            return None;
        }
        // RFC 2409 §5.4: the last message of aggressive mode proves its initiator, and only a refusal answers it.
        if !self.believers.contains(&entry.ends.0) && self.is_about_proof(entry, ike, why) {
            return self.phase1.as_mut();
        }
        let current = match self.current? {
            0 => self.phase1.as_mut(),
            id => self.quick.get_mut(&id),
        };
        current.filter(|turns| !turns.is_whole())
    }

    /// Whether a side that has answered to nothing under the SA does not believe in it. strongSwan's responder deletes an SA
    /// whose initiator it does not believe; libreswan's does not use its keys.
    fn is_about_proof(&self, entry: &Entry, ike: &Ike, why: Why) -> bool {
        let is_at_once = || self.phase1.as_ref().is_some_and(|phase1| phase1.is_left_by_told(entry));
        match why {
            Why::Error(error) => is_about_proof(error) || (ike.inside == Inside::Plain && is_at_once()),
            Why::Deleted => self.current != Some(0) && is_at_once(),
            Why::Sealed => false,
        }
    }

    /// The exchange that was last heard of, if it is not over.
    fn pending(&self) -> Option<&Turns> {
        let turns = match self.current? {
            0 => self.phase1.as_ref(),
            id => self.quick.get(&id),
        };
        turns.filter(|turns| !turns.is_over())
    }

    fn end(self) -> Outcome {
        let refused = self.refused.map(Refusal::outcome);
        let unanswered = || self.pending()?.unanswered().map(Outcome::Unanswered);
        refused.or_else(unanswered).unwrap_or(Outcome::Unknown)
    }

    fn count(&self, entries: &[Entry], exchanges: &mut Exchanges) {
        for turns in self.quick.values() {
            turns.count(entries, &mut exchanges.quick_mode);
        }
        let Some(phase1) = &self.phase1 else { return };
        // What was refused under an SA that its responder may not have believed in is a secret of the two.
        let is_doubted = self.quick.values().any(|turns| turns.refused == Some(Why::Sealed));
        if phase1.is_whole() && is_doubted && self.believers.len() < 2 {
            exchanges.phase1.unseen += 1;
        } else {
            phase1.count(entries, &mut exchanges.phase1);
        }
    }
}

/// RFC 2408 §3.14.1: errors that somebody finds in what should prove the other's identity, or in what was encrypted by
/// somebody who does not have the key.
const fn is_about_proof(error: NotifyType) -> bool {
    matches!(
        error,
        NotifyType::PAYLOAD_MALFORMED
            | NotifyType::INVALID_CERT_ENCODING
            | NotifyType::INVALID_CERTIFICATE
            | NotifyType::CERT_TYPE_UNSUPPORTED
            | NotifyType::INVALID_CERT_AUTHORITY
            | NotifyType::INVALID_HASH_INFORMATION
            | NotifyType::AUTHENTICATION_FAILED
            | NotifyType::INVALID_SIGNATURE
    )
}

/// An exchange in which both sides take turns.
struct Turns {
    wanted: usize,
    /// Who began, and who did not.
    sides: Option<[Node; 2]>,
    count: usize,
    /// Frames of the messages counted: they may come again.
    frames: BTreeSet<u64>,
    /// When the latest of them passed.
    said_ns: u64,
    /// What the latest of them that says so will receive on.
    child_spi: Option<u32>,
    /// The last transmission of each side.
    last: [Option<usize>; 2],
    /// The latest message has arrived, as far as the capture says what arrives.
    is_heard: bool,
    /// Since the latest message was said the other side has asked for it again.
    asks_again: bool,
    refused: Option<Why>,
}

impl Turns {
    const fn new(wanted: usize) -> Self {
        Self {
            wanted,
            sides: None,
            count: 0,
            frames: BTreeSet::new(),
            said_ns: 0,
            child_spi: None,
            last: [None; 2],
            is_heard: false,
            asks_again: false,
            refused: None,
        }
    }

    const fn is_whole(&self) -> bool {
        self.count >= self.wanted
    }

    /// Somebody said no so that it can be read.
    const fn is_refused(&self) -> bool {
        matches!(self.refused, Some(Why::Error(_) | Why::Deleted))
    }

    /// Whether nobody waits for anything.
    const fn is_over(&self) -> bool {
        self.is_whole() && !self.asks_again
    }

    fn next(&self) -> Option<Node> {
        self.sides.filter(|_| !self.is_whole()).map(|sides| sides[self.count % 2])
    }

    /// Whether this message takes the exchange further.
    fn take(&mut self, at: usize, entry: &Entry) -> bool {
        let sides = *self.sides.get_or_insert([entry.ends.0, entry.ends.1]);
        let side = usize::from(entry.ends.0 != sides[0]);
        if !entry.is_copy() {
            self.last[side] = Some(at);
        }
        let is_known = entry.repeats.is_some_and(|frame| self.frames.contains(&frame));
        if is_known {
            self.said_again(side, entry);
        }
        let is_turn = !self.is_whole() && side == self.count % 2;
        if is_known || !is_turn || !self.is_said(entry) {
            return false;
        }
        self.frames.insert(entry.repeats.unwrap_or(entry.frame));
        self.count += 1;
        self.said_ns = entry.first_ns;
        self.is_heard = entry.fate.is_some() && entry.arrives();
        self.asks_again = false;
        self.refused.take_if(|why| *why == Why::Sealed);
        true
    }

    /// Who has the latest message does not repeat its own.
    fn said_again(&mut self, side: usize, entry: &Entry) {
        let is_latest = side != self.count % 2;
        self.is_heard |= is_latest && entry.fate.is_some() && entry.arrives();
        self.asks_again = !self.is_heard && (!is_latest || !entry.arrives());
    }

    /// Whether it is this one's turn, who says something else. The last message of an exchange may have been said and lost
    /// before it came here, unless the capture says what is lost: nobody knows what comes after that.
    fn is_left_by(&self, entry: &Entry) -> bool {
        let is_last = self.count + 1 == self.wanted;
        let is_prompt = entry.first_ns.saturating_sub(self.said_ns) <= PROMPT_NS;
        self.next() == Some(entry.ends.0) && (!is_last || is_prompt || entry.fate.is_some())
    }

    /// Whether this one, who was told the last of aggressive mode, answers it at once.
    fn is_left_by_told(&self, entry: &Entry) -> bool {
        let is_told = self.sides.is_some_and(|sides| sides[1] == entry.ends.0);
        let is_prompt = entry.first_ns.saturating_sub(self.said_ns) <= PROMPT_NS;
        self.wanted == AGGRESSIVE_MODE_MESSAGES && self.is_whole() && is_told && is_prompt
    }

    /// Whether a message counts: it arrives, or the device has what it wants, and says the last that there is to say.
    fn is_said(&self, entry: &Entry) -> bool {
        entry.arrives() || (self.count + 1 == self.wanted && entry.ends.0 == Node::Ue)
    }

    /// The last transmission of who waits for an answer.
    fn unanswered(&self) -> Option<usize> {
        let latest = if self.count == 0 { 0 } else { (self.count - 1) % 2 };
        self.last[if self.asks_again { 1 - latest } else { latest }]
    }

    fn count(&self, entries: &[Entry], ends: &mut Ends) {
        let is_repeated = |at: usize| entries[at].repeats.is_some();
        let end = match self.refused {
            Some(Why::Sealed) => &mut ends.unseen,
            Some(_) => &mut ends.refused,
            None if self.is_over() => &mut ends.established,
            None if self.unanswered().is_some_and(is_repeated) => &mut ends.unanswered,
            None => &mut ends.unseen,
        };
        *end += 1;
    }
}
