//! What an ISAKMP SA came to: RFC 2409 §5.1, §5.4, §5.5; RFC 2408 §3.14, §3.15.
//!
//! Phase 1 and each quick mode are told by whose turn it is. Whoever says something else when it is its turn refuses; without
//! keys only that can be seen, not why.

use std::collections::{BTreeMap, BTreeSet};

use keytoll_engine::trace::Node;

use super::{Entry, Ike, Inside, Outcome, ike_of};

const IDENTITY_PROTECTION: u8 = 2;
const AGGRESSIVE: u8 = 4;
const INFORMATIONAL: u8 = 5;
const QUICK_MODE: u8 = 32;

/// RFC 2409 §5.5.
const QUICK_MODE_MESSAGES: usize = 3;

pub(in crate::conversation) const SEALED: &str = "refused or ended by an encrypted message";
const DELETED: &str = "the IKE SA was deleted before there was a child";

pub(super) fn outcome(entries: &[Entry]) -> Outcome {
    let mut sa = Seen::default();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(outcome) = ike_of(entry).and_then(|ike| sa.take(at, entry, ike)) {
            return outcome;
        }
    }
    sa.end()
}

/// Whether phase 1 is whole, and how long after it the first child was asked for; none if none was.
pub(in crate::conversation) fn first_quick_mode_ns(entries: &[Entry]) -> Option<Option<u64>> {
    let mut sa = Seen::default();
    let mut whole_ns = None;
    for (at, entry) in entries.iter().enumerate() {
        let Some(ike) = ike_of(entry) else { continue };
        if let (Some(whole_ns), QUICK_MODE) = (whole_ns, ike.exchange) {
            return Some(Some(entry.first_ns.saturating_sub(whole_ns)));
        }
        sa.take(at, entry, ike);
        if whole_ns.is_none() && sa.phase1.as_ref().is_some_and(Turns::is_whole) {
            whole_ns = Some(entry.at_ns);
        }
    }
    whole_ns.map(|_| None)
}

/// An ISAKMP SA as far as it was seen.
#[derive(Default)]
struct Seen {
    phase1: Option<Turns>,
    quick: BTreeMap<u32, Turns>,
    /// The exchange that was last heard of: phase 1 has no message id.
    current: Option<u32>,
    refused: Option<Outcome>,
}

impl Seen {
    fn take(&mut self, at: usize, entry: &Entry, ike: &Ike) -> Option<Outcome> {
        match ike.exchange {
            IDENTITY_PROTECTION | AGGRESSIVE => {
                let wanted = if ike.exchange == AGGRESSIVE { 3 } else { 6 };
                self.phase1.get_or_insert_with(|| Turns::new(wanted)).take(at, entry);
                self.current.get_or_insert(0);
                None
            }
            QUICK_MODE => self.quick_mode(at, entry, ike),
            INFORMATIONAL if entry.arrives() && entry.repeats.is_none() => {
                self.informational(at, entry, ike);
                None
            }
            _ => None,
        }
    }

    fn quick_mode(&mut self, at: usize, entry: &Entry, ike: &Ike) -> Option<Outcome> {
        let is_new = !self.quick.contains_key(&ike.id);
        let turns = self.quick.entry(ike.id).or_insert_with(|| Turns::new(QUICK_MODE_MESSAGES));
        let is_whole = turns.take(at, entry);
        if is_new {
            // Another try.
            (self.current, self.refused) = (Some(ike.id), None);
        }
        is_whole.then_some(Outcome::Established(at))
    }

    fn informational(&mut self, at: usize, entry: &Entry, ike: &Ike) {
        let by = entry.ends.0;
        let is_its_turn = self.pending().is_some_and(|turns| turns.next() == Some(by));
        let why = match ike.meaning.error() {
            Some(error) => error.to_string(),
            None if ike.meaning.deletes.iter().any(|what| what == "IKE SA") => DELETED.to_owned(),
            None if matches!(ike.inside, Inside::Sealed | Inside::NotAuthentic) && is_its_turn => {
                SEALED.to_owned()
            }
            None => return,
        };
        self.refused.get_or_insert(Outcome::Failed { by, why, at });
    }

    /// The exchange that was last heard of, if it is not over.
    fn pending(&self) -> Option<&Turns> {
        let turns = match self.current? {
            0 => self.phase1.as_ref(),
            id => self.quick.get(&id),
        };
        turns.filter(|turns| !turns.is_whole())
    }

    fn end(mut self) -> Outcome {
        let refused = self.refused.take();
        let unanswered = || self.pending()?.last.map(Outcome::Unanswered);
        refused.or_else(unanswered).unwrap_or(Outcome::Unknown)
    }
}

/// An exchange in which both sides take turns.
struct Turns {
    wanted: usize,
    /// Who began, and who did not.
    sides: Option<[Node; 2]>,
    count: usize,
    /// Frames of the messages counted: they may come again.
    frames: BTreeSet<u64>,
    /// The last transmission of the latest message.
    last: Option<usize>,
}

impl Turns {
    const fn new(wanted: usize) -> Self {
        Self { wanted, sides: None, count: 0, frames: BTreeSet::new(), last: None }
    }

    const fn is_whole(&self) -> bool {
        self.count >= self.wanted
    }

    fn next(&self) -> Option<Node> {
        self.sides.map(|sides| sides[self.count % 2])
    }

    /// Whether this message ends the exchange.
    fn take(&mut self, at: usize, entry: &Entry) -> bool {
        let sides = *self.sides.get_or_insert([entry.ends.0, entry.ends.1]);
        let is_known = entry.repeats.is_some_and(|frame| self.frames.contains(&frame));
        let is_turn = !self.is_whole() && entry.ends.0 == sides[self.count % 2];
        if is_known || !is_turn || !entry.arrives() {
            if is_known && !is_turn {
                self.last = Some(at);
            }
            return false;
        }
        self.frames.insert(entry.repeats.unwrap_or(entry.frame));
        (self.count, self.last) = (self.count + 1, Some(at));
        self.is_whole()
    }
}
