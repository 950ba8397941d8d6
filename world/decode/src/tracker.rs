//! Assigns messages to conversations, and judges their outcomes.
//!
//! ```text
//!   Passed --Dissector--> Dissected --its family's analyser--> Book --finish--> conversations
//!                                                 finish: merges related conversations; outcomes
//! ```

use std::collections::BTreeMap;

use keytoll_capture::observe::{self, Observer};
use keytoll_engine::trace::Node;
use keytoll_family::book::ENTRIES_MAX;
use keytoll_family::{Book, Conversation, Dissected, Entry, Judgement, Passed};

use crate::dissect::Dissector;
use crate::icmp::Icmp;
use crate::tables::Keys;

/// Collects conversations.
#[derive(Debug)]
pub struct Tracker {
    dissector: Dissector,
    observer: Observer,
    book: Book,
    /// The first frame of each message, by its digest.
    originals: BTreeMap<u64, u64>,
    opened: u64,
}

impl Tracker {
    /// A tracker with these keys.
    pub fn new(keys: Keys) -> Self {
        let dissector = Dissector::new(keys);
        let families = dissector.families();
        let (observer, book) = (Observer::new(families), Book::new(families));
        Self { dissector, observer, book, originals: BTreeMap::new(), opened: 0 }
    }

    /// Takes the next datagram.
    pub fn add(&mut self, passed: &Passed) {
        if self.book.is_full() {
            return;
        }
        let is_repeat = self.observer.sent(&passed.datagram).is_some_and(|sent| sent.retransmission);
        let Some(mut dissected) = self.dissector.dissect(passed) else { return };
        if let Some(sent) = &mut dissected.sent {
            sent.retransmission = is_repeat;
        }
        let repeats = self.original(passed, is_repeat);
        self.opened += u64::from(dissected.content.is_opened());
        if dissected.content.of::<Icmp>().is_some() {
            self.add_icmp(passed, dissected);
        } else {
            self.dissector.file(passed, dissected, repeats, &mut self.book);
        }
    }

    /// Messages beyond the limit, which were not kept.
    pub const fn left_out(&self) -> u64 {
        self.book.left_out()
    }

    /// Messages that keys have opened.
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// The conversations, in order of their first messages.
    pub fn finish(self) -> Vec<Conversation> {
        let Self { mut dissector, mut book, originals, observer, .. } = self;
        drop((originals, observer));
        for analyser in dissector.analysers().iter_mut().flatten() {
            analyser.join(&mut book);
        }
        book.finish(|family, number, conversation| {
            let analyser = dissector.analyser(family);
            analyser.map_or_else(Judgement::default, |analyser| analyser.judge(number, conversation))
        })
    }

    /// The frame of the message that this one retransmits; a new one is remembered as long as by the observer.
    fn original(&mut self, passed: &Passed, is_repeat: bool) -> Option<u64> {
        if passed.datagram.protocol.is_traffic() {
            return None;
        }
        let key = observe::digest(self.dissector.families(), &passed.datagram);
        if is_repeat {
            return Some(self.originals.get(&key).copied().unwrap_or(0));
        }
        if self.originals.len() < ENTRIES_MAX {
            self.originals.insert(key, passed.frame);
        }
        None
    }

    /// An ICMP error belongs to the conversation of the packet that it quotes.
    fn add_icmp(&mut self, passed: &Passed, dissected: Dissected) {
        let Some(icmp) = dissected.content.of::<Icmp>() else { return };
        let (from, to) = (icmp.about_from, icmp.about_to);
        let known = self.book.between(from.host(), to.host()).map(|conversation| {
            // It is for the sender of the quoted packet; in the ladder it comes from the other side, whoever sent it.
            let is_gateway = self.book.is_gateway(conversation, from.host());
            (conversation, if is_gateway { (Node::Ue, Node::Gw) } else { (Node::Gw, Node::Ue) })
        });
        let mut analysers = self.dissector.analysers().iter().flatten();
        let known = known.or_else(|| analysers.find_map(|analyser| analyser.whose(from, to)));
        if let Some((conversation, ends)) = known {
            self.book.push(conversation, Entry::new(passed, dissected, ends));
        }
    }
}

#[cfg(test)]
#[path = "tracker/eapol/tests.rs"]
mod eapol_tests;
#[cfg(test)]
mod tests;
