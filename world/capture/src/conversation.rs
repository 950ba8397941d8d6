//! Who says what to whom, and what it comes to: messages become conversations. A conversation is an IKE SA with everything
//! that belongs to it: the exchanges, the RADIUS and Diameter that the gateway asks for it, its ESP, the SAs that replace it.
//!
//! ```text
//!   Passed --Dissector--> Dissected --Tracker--> Building (per IKE SA, per RADIUS session, …)
//!                                   finish: sessions join the IKE SAs they are for; outcomes
//! ```
//!
//! One of EAPOL is an authentication of one supplicant by one authenticator, with the RADIUS that the latter asks for it.
//!
//! What belongs together is told by SPIs, State and identifiers, and between protocols by the EAP packets that pass from one
//! to the other, or, where these are encrypted, by who was waiting when.

mod diameter;
mod eapol;
mod ike;
mod outcome;
mod radius;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_eap::packet::MethodType;
use keytoll_engine::Datagram;
use keytoll_engine::trace::{Fate, Message, Node, Protocol};
use keytoll_ike::IKE;
use keytoll_ike::number::AuthMethod;
use keytoll_ike::v1::number::AuthenticationMethod;
use keytoll_net::Addr;
use keytoll_radius::RADIUS;

use crate::dissect::eap::{Flow, PacketKind, Words};
use crate::dissect::eapol::WLAN;
use crate::dissect::{Content, Dissected, Dissector, Part, PartKind};
use crate::observe::{self, Observer};
use crate::packets::{Eapol, Mac, Passed};
use crate::passage;
use crate::tables::Keys;

pub use outcome::Outcome;
pub use outcome::ikev1::{Ends, Exchanges};

/// More conversations are not told apart; what would begin another is counted.
const CONVERSATIONS_MAX: usize = 100_000;
/// More messages are not kept; they are counted.
const ENTRIES_MAX: usize = 250_000;
/// More words, or longer ones, are kept with each message that says them.
const WORDS_MAX: usize = 4096;
const WORDS_BYTES_MAX: usize = 256;
/// ESP packets in a row that are kept one by one; the others are only summed up.
const ESP_SHOWN: usize = 4;

/// Where a message came from or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// An IP address and port.
    Ip(Addr),
    /// A station of a LAN, or a group of them.
    Lan(Mac),
    /// Cooked captures keep no receiver.
    Unknown,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(addr) => addr.fmt(f),
            Self::Lan(mac) => mac.fmt(f),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl Address {
    /// Whether it is of one host.
    const fn is_individual(self) -> bool {
        match self {
            Self::Ip(_) => true,
            Self::Lan(mac) => !mac.is_group(),
            Self::Unknown => false,
        }
    }
}

/// A message in its conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When its first packet was captured, in nanoseconds.
    pub first_ns: u64,
    /// When its last one was.
    pub at_ns: u64,
    /// The frame of its last packet.
    pub frame: u64,
    /// IP packets, or frames of EAPOL.
    pub packets: u64,
    /// Their bytes, headers of IP and EAPOL included.
    pub wire_bytes: u64,
    /// The roles of its ends.
    pub ends: (Node, Node),
    /// Their addresses.
    pub addrs: (Address, Address),
    /// Its protocol.
    pub protocol: Protocol,
    /// `IKE_AUTH request 1`; the same words of many messages are kept once.
    pub name: Arc<str>,
    /// What it carries.
    pub parts: Vec<Part>,
    /// What the EAP packet in it is.
    pub eap: Option<PacketKind>,
    /// What in it says that something failed.
    pub failure: Option<String>,
    /// What else a reader should know.
    pub remarks: Vec<String>,
    /// As the records of a run would have it.
    pub sent: Option<Box<Message>>,
    /// What decides where it belongs.
    pub content: Content,
    /// The frame of the message that this one repeats.
    pub repeats: Option<u64>,
    /// Of an answer: how long after the question; its first transmission.
    pub answers_after_ns: Option<u64>,
    /// A question that nobody answered.
    pub unanswered: bool,
    /// Of a run of ESP packets: how many more there were after the ones shown.
    pub more: u64,
    /// What became of it, and how long it took, where the capture says so.
    pub fate: Option<(Fate, Duration)>,
}

impl Entry {
    fn new(passed: &Passed, dissected: Dissected, ends: (Node, Node)) -> Self {
        let Datagram { protocol, from, to, .. } = passed.datagram;
        Self {
            first_ns: passed.first_ns,
            at_ns: passed.at_ns,
            frame: passed.frame,
            packets: passed.packets.into(),
            wire_bytes: passed.wire_bytes.into(),
            fate: passed.comment.as_deref().and_then(passage::fate),
            ..Self::bare(protocol, dissected, ends, (Address::Ip(from), Address::Ip(to)))
        }
    }

    fn eapol(passed: &Eapol, dissected: Dissected, ends: (Node, Node)) -> Self {
        let addrs = (Address::Lan(passed.from), passed.to.map_or(Address::Unknown, Address::Lan));
        Self {
            first_ns: passed.at_ns,
            at_ns: passed.at_ns,
            frame: passed.frame,
            packets: 1,
            wire_bytes: passed.wire_bytes.into(),
            fate: passed.comment.as_deref().and_then(passage::fate),
            ..Self::bare(WLAN, dissected, ends, addrs)
        }
    }

    /// A message of which nothing is known of when it passed, and how.
    fn bare(protocol: Protocol, dissected: Dissected, ends: (Node, Node), addrs: (Address, Address)) -> Self {
        let Dissected { name, parts, failure, remarks, sent, content } = dissected;
        Self {
            first_ns: 0,
            at_ns: 0,
            frame: 0,
            packets: 0,
            wire_bytes: 0,
            ends,
            addrs,
            protocol,
            name: name.into(),
            parts,
            eap: None,
            failure,
            remarks,
            sent: sent.map(Box::new),
            content,
            repeats: None,
            answers_after_ns: None,
            unanswered: false,
            more: 0,
            fate: None,
        }
    }

    /// A second copy that the network made: nobody sent it.
    pub const fn is_copy(&self) -> bool {
        matches!(self.fate, Some((Fate::Duplicate, _)))
    }

    /// Whether it never arrives, as far as the capture says.
    pub const fn is_lost(&self) -> bool {
        matches!(self.fate, Some((Fate::Lost | Fate::QueueFull, _)))
    }

    /// Whether it arrives as it was sent, as far as the capture says.
    pub const fn arrives(&self) -> bool {
        passage::arrives(self.fate)
    }

    /// Gives the part that stands for an EAP packet its words.
    fn put_eap(&mut self, words: &Words) {
        self.eap = Some(words.kind);
        self.failure = self.failure.take().or_else(|| words.failure.clone());
        let line = words.line();
        match self.parts.iter_mut().find(|part| part.kind == PartKind::Eap) {
            Some(part) => part.detail = line.into(),
            None => self.parts.push(Part::eap(line)),
        }
    }
}

/// What a conversation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An IKE SA.
    Ike {
        /// SPIi of the first one.
        spi_i: u64,
        /// SPIr, if the responder has answered.
        spi_r: u64,
        /// 1 or 2.
        major: u8,
    },
    /// RADIUS without the IKE SA or the EAPOL that it is for.
    Radius,
    /// Diameter that is about no authentication here.
    Diameter,
    /// EAPOL between a supplicant and an authenticator.
    Eapol,
    /// ESP without the exchange that set it up.
    Esp,
    /// Messages that cannot be read.
    Unreadable,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What it is about.
    pub kind: Kind,
    /// Its messages in order of time.
    pub entries: Vec<Entry>,
    /// Each role's addresses, in the order they appear.
    pub hosts: BTreeMap<Node, Vec<Address>>,
    /// What is known of it.
    pub about: About,
    /// What it came to.
    pub outcome: Outcome,
    /// What became of each exchange, in IKEv1.
    pub exchanges: Option<Exchanges>,
}

/// What is known of a conversation, gathered from its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The IKE suite chosen.
    pub ike_suite: Option<String>,
    /// The ESP suite chosen.
    pub child_suite: Option<String>,
    /// Who the initiator says it is; the RADIUS user if IKE's is not known; who the supplicant says it is.
    pub user: Option<String>,
    /// Who the responder says it is.
    pub gateway: Option<String>,
    /// The EAP method that came last.
    pub eap_method: Option<MethodType>,
    /// How the initiator proved itself.
    pub auth_method: Option<Proof>,
    /// The device's inner address.
    pub address: Option<IpAddr>,
    /// Implementations that named themselves, by role.
    pub vendors: BTreeMap<Node, &'static str>,
    /// Whether protected messages could not be opened.
    pub sealed: bool,
}

/// How an end of an IKE SA proves itself: each version has numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// RFC 2409 appendix A, as both ends have agreed.
    Ikev1(AuthenticationMethod),
    /// RFC 7296 §3.8, from the AUTH payload.
    Ikev2(AuthMethod),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ikev1(method) => method.fmt(f),
            Self::Ikev2(method) => method.fmt(f),
        }
    }
}

/// A conversation being gathered.
#[derive(Debug)]
struct Building {
    kind: Kind,
    entries: Vec<Entry>,
    flow: Flow,
    /// Joined to another at the end.
    joined: Option<usize>,
}

/// Gathers conversations.
#[derive(Debug, Default)]
pub struct Tracker {
    dissector: Dissector,
    observer: Observer,
    conversations: Vec<Building>,
    entries: usize,
    ike: ike::Index,
    radius: radius::Index,
    diameter: diameter::Index,
    eapol: eapol::Index,
    /// The frame in which each message passed first, by its digest.
    originals: BTreeMap<u64, u64>,
    left_out: u64,
    opened: u64,
    /// Words that messages have in common.
    words: BTreeSet<Arc<str>>,
}

/// Where an entry is: conversation and place.
type Place = (usize, usize);

impl Tracker {
    /// One that opens what these keys open.
    pub fn new(keys: Keys) -> Self {
        Self { dissector: Dissector::new(keys), ..Self::default() }
    }

    /// Takes the next datagram.
    pub fn add(&mut self, passed: &Passed) {
        if self.is_full() {
            return;
        }
        let sent = self.observer.sent(&passed.datagram);
        let Some(mut dissected) = self.dissector.dissect(passed) else { return };
        let is_repeat = sent.is_some_and(|sent| sent.retransmission);
        if let Some(sent) = &mut dissected.sent {
            sent.retransmission = is_repeat;
        }
        let repeats = self.original(passed, is_repeat);
        self.opened += u64::from(dissected.content.is_opened());
        match &dissected.content {
            Content::Ike(_) => self.add_ike(passed, dissected, repeats),
            Content::Radius(_) => self.add_radius(passed, dissected, repeats),
            Content::Diameter(_) => self.add_diameter(passed, dissected, repeats),
            Content::Esp(_) => self.add_esp(passed, dissected),
            Content::Icmp(_) => self.add_icmp(passed, dissected),
            // EAPOL is in no datagram.
            Content::Eapol(_) | Content::Unreadable => self.add_unreadable(passed, dissected),
        }
    }

    /// Whether there is no place for another message; it is counted.
    fn is_full(&mut self) -> bool {
        let is_full = self.entries >= ENTRIES_MAX;
        self.left_out += u64::from(is_full);
        is_full
    }

    /// Messages that were not kept because there were too many.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Messages that keys have opened.
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// The conversations, in the order in which they began.
    pub fn finish(mut self) -> Vec<Conversation> {
        self.join();
        let mut joined: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
        let mut whole = Vec::new();
        for (number, building) in self.conversations.into_iter().enumerate() {
            match building.joined {
                Some(other) => joined.entry(other).or_default().extend(building.entries),
                None => whole.push((number, building)),
            }
        }
        let complete = |(number, mut building): (usize, Building)| {
            building.entries.extend(joined.remove(&number).unwrap_or_default());
            building.finish()
        };
        let mut conversations: Vec<_> = whole.into_iter().map(complete).collect();
        conversations.sort_by_key(|conversation| conversation.entries.first().map(|entry| entry.first_ns));
        conversations
    }

    /// The frame of the message that this one repeats; what is new is remembered as long as the observer does.
    fn original(&mut self, passed: &Passed, is_repeat: bool) -> Option<u64> {
        let key = observe::digest(&passed.datagram);
        if is_repeat {
            return Some(self.originals.get(&key).copied().unwrap_or(0));
        }
        if self.originals.len() < ENTRIES_MAX && passed.datagram.protocol != Protocol::ESP {
            self.originals.insert(key, passed.frame);
        }
        None
    }

    /// Begins a conversation; none if there are too many.
    fn begin(&mut self, kind: Kind) -> Option<usize> {
        if self.conversations.len() >= CONVERSATIONS_MAX {
            self.left_out += 1;
            return None;
        }
        self.conversations.push(Building { kind, entries: Vec::new(), flow: Flow::default(), joined: None });
        Some(self.conversations.len() - 1)
    }

    fn push(&mut self, conversation: usize, mut entry: Entry) -> Place {
        self.entries += 1;
        entry.parts.shrink_to_fit();
        self.share(&mut entry.name);
        for part in &mut entry.parts {
            self.share(&mut part.name);
            self.share(&mut part.detail);
        }
        let entries = &mut self.conversations[conversation].entries;
        entries.push(entry);
        (conversation, entries.len() - 1)
    }

    /// Words that were seen before are kept once.
    fn share(&mut self, words: &mut Arc<str>) {
        if let Some(known) = self.words.get(&**words) {
            *words = Arc::clone(known);
        } else if self.words.len() < WORDS_MAX && words.len() <= WORDS_BYTES_MAX {
            self.words.insert(Arc::clone(words));
        }
    }

    fn entry_mut(&mut self, (conversation, place): Place) -> &mut Entry {
        &mut self.conversations[conversation].entries[place]
    }

    /// The words of an EAP packet go into its entry; one that is repeated was put into words before.
    fn put_eap(&mut self, place: Place, eap: Option<&[u8]>, repeats: Option<u64>) -> Option<Words> {
        let words = match repeats {
            None => self.conversations[place.0].flow.take(eap?),
            Some(_) => Flow::default().take(eap?),
        };
        self.entry_mut(place).put_eap(&words);
        Some(words)
    }

    /// The answer to a question: how long it took, and that the question was answered.
    fn answer(&mut self, questions: &[Place], answer: Place) {
        let Some(&first) = questions.first().filter(|_| self.entry_mut(answer).arrives()) else { return };
        let asked_ns = self.entry_mut(first).first_ns;
        let entry = self.entry_mut(answer);
        entry.answers_after_ns = Some(entry.at_ns.saturating_sub(asked_ns));
        for &question in questions {
            self.entry_mut(question).unanswered = false;
        }
    }

    fn add_unreadable(&mut self, passed: &Passed, dissected: Dissected) {
        let ends = match passed.datagram.protocol {
            IKE => (Node::Ue, Node::Gw),
            RADIUS => (Node::Gw, Node::Aaa),
            _ => (Node::Aaa, Node::Hss),
        };
        let known = self.ike.between(passed.datagram.from.host(), passed.datagram.to.host());
        let known = known.filter(|_| passed.datagram.protocol == IKE);
        if let Some(conversation) = known.or_else(|| self.begin(Kind::Unreadable)) {
            let swap = known.is_some() && self.ike.is_gateway(conversation, passed.datagram.from.host());
            let ends = if swap { (ends.1, ends.0) } else { ends };
            self.push(conversation, Entry::new(passed, dissected, ends));
        }
    }
}

impl Building {
    fn finish(mut self) -> Conversation {
        self.entries.sort_by_key(|entry| (entry.at_ns, entry.frame));
        let about = outcome::about(&self.entries);
        let outcome = outcome::of(self.kind, &self.entries);
        let is_ikev1 = matches!(self.kind, Kind::Ike { major: 1, .. });
        let exchanges = is_ikev1.then(|| outcome::ikev1::exchanges(&self.entries));
        let mut hosts: BTreeMap<Node, Vec<Address>> = BTreeMap::new();
        for entry in &self.entries {
            for (node, addr) in [(entry.ends.0, entry.addrs.0), (entry.ends.1, entry.addrs.1)] {
                let addrs = hosts.entry(node).or_default();
                if addr.is_individual() && !addrs.contains(&addr) && addrs.len() < ADDRS_MAX {
                    addrs.push(addr);
                }
            }
        }
        Conversation { kind: self.kind, entries: self.entries, hosts, about, outcome, exchanges }
    }
}

/// More addresses of one role are not listed.
const ADDRS_MAX: usize = 16;

#[cfg(test)]
mod tests;
