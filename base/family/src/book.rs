//! The conversations of a capture under construction, and the state that families share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use keytoll_net::{Addr, Host};
use keytoll_trace::Node;

use crate::conversation::{About, Conversation, Judgement, Kind};
use crate::entry::{Entry, Shape};
use crate::family::{Families, Family, Flow};
use crate::passed::Passed;
use crate::words::Dissected;

/// The limit on conversations; messages that would start another one are counted.
const CONVERSATIONS_MAX: usize = 100_000;
/// The limit on messages that are kept; further ones are counted.
pub const ENTRIES_MAX: usize = 250_000;
/// The limit on the number and length of shared texts; others are stored with each message.
const WORDS_MAX: usize = 4096;
const WORDS_BYTES_MAX: usize = 256;
/// Consecutive packets of traffic that are kept; further ones are only summed up.
const TRAFFIC_SHOWN: usize = 4;
/// The sums behind them: of each direction, decrypted or not.
const SUMS_MAX: usize = 4;
/// The limit on the ports of one host.
const PORTS_MAX: usize = 16;
/// The limit on the SPIs of traffic.
const SPIS_MAX: usize = 65_536;
/// The limit on carried packets.
const CARRIED_MAX: usize = 65_536;
/// Longer carried packets are identified by their beginning.
const CARRIED_KEY_BYTES: usize = 64;
/// The limit on the addresses of one role.
const ADDRS_MAX: usize = 16;

/// The position of an entry: conversation and index.
pub type Place = (usize, usize);

/// The conversations so far.
pub struct Book {
    conversations: Vec<Building>,
    entries: usize,
    left_out: u64,
    /// The family that starts conversations now, by its position in the list.
    owner: Option<usize>,
    /// The family whose packets others carry.
    carried: Option<&'static dyn Family>,
    /// Texts that messages share.
    words: BTreeSet<Arc<str>>,
    /// Records that messages share.
    shapes: BTreeSet<Arc<Shape>>,
    hosts: Hosts,
    /// The conversation that has set up an SA, by the receiver's address and SPI.
    spis: BTreeMap<(Host, u32), usize>,
    /// The conversation in which a carried packet passed.
    passing: BTreeMap<Vec<u8>, usize>,
    /// Conversations that wait for a role's answer, with the address of the request.
    waiting: BTreeMap<Node, BTreeMap<usize, Addr>>,
    /// The user of a conversation that waits for a server.
    users: BTreeMap<usize, String>,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Book({} conversations, {} messages)", self.conversations.len(), self.entries)
    }
}

/// A conversation being gathered.
struct Building {
    kind: Kind,
    owner: Option<usize>,
    entries: Vec<Entry>,
    flow: Option<Box<dyn Flow>>,
    /// Joined to another at the end.
    joined: Option<usize>,
}

/// The roles of hosts.
#[derive(Debug, Default)]
struct Hosts {
    /// The latest conversation between two hosts.
    pairs: BTreeMap<(Host, Host), usize>,
    /// The gateway's address of a conversation.
    gateways: BTreeMap<usize, Host>,
    /// The device's ports of a conversation whose ends have the same address, as on loopback.
    device_ports: BTreeMap<usize, BTreeSet<Option<u16>>>,
}

impl Book {
    /// An empty book, for conversations of these families.
    pub fn new(families: Families) -> Self {
        Self {
            conversations: Vec::new(),
            entries: 0,
            left_out: 0,
            owner: None,
            carried: families.iter().copied().find(|family| family.flow().is_some()),
            words: BTreeSet::new(),
            shapes: BTreeSet::new(),
            hosts: Hosts::default(),
            spis: BTreeMap::new(),
            passing: BTreeMap::new(),
            waiting: BTreeMap::new(),
            users: BTreeMap::new(),
        }
    }

    /// Sets the family, by its position in the list, that files the next message.
    pub const fn open_for(&mut self, family: usize) {
        self.owner = Some(family);
    }

    /// Whether the limit on messages is reached; if so, the message is counted.
    pub fn is_full(&mut self) -> bool {
        let is_full = self.entries >= ENTRIES_MAX;
        self.left_out += u64::from(is_full);
        is_full
    }

    /// Messages beyond the limit, which were not kept.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Starts a conversation; `None` beyond the limit.
    pub fn begin(&mut self, kind: Kind) -> Option<usize> {
        if self.conversations.len() >= CONVERSATIONS_MAX {
            self.left_out += 1;
            return None;
        }
        let owner = self.owner.filter(|_| kind != Kind::UNREADABLE);
        self.conversations.push(Building { kind, owner, entries: Vec::new(), flow: None, joined: None });
        Some(self.conversations.len() - 1)
    }

    /// How many conversations there are.
    pub const fn count(&self) -> usize {
        self.conversations.len()
    }

    /// The messages of a conversation, in order of time.
    pub fn entries(&self, conversation: usize) -> &[Entry] {
        &self.conversations[conversation].entries
    }

    /// A message.
    pub fn entry(&self, (conversation, place): Place) -> &Entry {
        &self.conversations[conversation].entries[place]
    }

    /// A message, to be changed.
    pub fn entry_mut(&mut self, (conversation, place): Place) -> &mut Entry {
        &mut self.conversations[conversation].entries[place]
    }

    /// Appends a message to a conversation.
    pub fn push(&mut self, conversation: usize, mut entry: Entry) -> Place {
        self.entries += 1;
        entry.parts.shrink_to_fit();
        self.share(&mut entry.name);
        for part in &mut entry.parts {
            self.share(&mut part.name);
            self.share(&mut part.detail);
        }
        if let Some(sent) = &mut entry.sent {
            self.share_shape(sent.shape_mut());
        }
        let entries = &mut self.conversations[conversation].entries;
        entries.push(entry);
        (conversation, entries.len() - 1)
    }

    /// Appends a packet of traffic, or adds it to the run that it continues, if that is long enough; `name` is the name of
    /// the sum.
    pub fn push_traffic(&mut self, conversation: usize, entry: Entry, name: &str) {
        let entries = &mut self.conversations[conversation].entries;
        let run = entries.iter().rev().take(TRAFFIC_SHOWN + SUMS_MAX);
        let run = run.take_while(|other| other.protocol == entry.protocol);
        if run.clone().count() < TRAFFIC_SHOWN {
            self.push(conversation, entry);
            return;
        }
        // There is one sum for each direction and name.
        let is_its = |summed: &Entry| summed.ends == entry.ends && *summed.name == *name;
        let summed = run.clone().position(|summed| summed.more > 0 && is_its(summed));
        match summed {
            Some(back) => {
                let place = entries.len() - 1 - back;
                let sum = &mut entries[place];
                sum.more += 1;
                sum.packets += entry.packets;
                sum.wire_bytes += entry.wire_bytes;
                sum.at_ns = entry.at_ns;
            }
            None => _ = self.push(conversation, Entry { more: 1, name: name.into(), ..entry }),
        }
    }

    /// Files an undecodable message in the conversation `known`, or in one of its own.
    pub fn push_unreadable(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        ends: (Node, Node),
        known: Option<usize>,
    ) {
        if let Some(conversation) = known.or_else(|| self.begin(Kind::UNREADABLE)) {
            self.push(conversation, Entry::new(passed, dissected, ends));
        }
    }

    /// Stores equal texts once.
    fn share(&mut self, words: &mut Arc<str>) {
        if let Some(known) = self.words.get(&**words) {
            *words = Arc::clone(known);
        } else if self.words.len() < WORDS_MAX && words.len() <= WORDS_BYTES_MAX {
            self.words.insert(Arc::clone(words));
        }
    }

    fn share_shape(&mut self, shape: &mut Arc<Shape>) {
        if let Some(known) = self.shapes.get(shape) {
            *shape = Arc::clone(known);
        } else if self.shapes.len() < WORDS_MAX {
            self.shapes.insert(Arc::clone(shape));
        }
    }

    /// Puts the description of a carried packet into its message; a retransmitted one was described before.
    pub fn put_carried(&mut self, place: Place, packet: Option<&[u8]>, repeats: Option<u64>) {
        let (Some(packet), Some(family)) = (packet, self.carried) else { return };
        let Some(mut fresh) = family.flow() else { return };
        let words = match repeats {
            None => self.conversations[place.0].flow.get_or_insert(fresh).take(packet),
            Some(_) => fresh.take(packet),
        };
        self.entry_mut(place).put_words(words);
    }

    /// Records an answer: its delay, and that the question was answered.
    pub fn answer(&mut self, questions: &[Place], answer: Place) {
        let Some(&first) = questions.first().filter(|_| self.entry(answer).arrives()) else { return };
        let asked_ns = self.entry(first).first_ns;
        let entry = self.entry_mut(answer);
        entry.answers_after_ns = Some(entry.at_ns.saturating_sub(asked_ns));
        for &question in questions {
            self.entry_mut(question).unanswered = false;
        }
    }

    /// Merges a conversation into another one, at the end.
    pub fn join(&mut self, conversation: usize, other: usize) {
        self.conversations[conversation].joined = Some(other);
    }

    /// Swaps the ends of a conversation's messages: the supposed device is the gateway.
    pub fn turn(&mut self, conversation: usize) {
        for entry in &mut self.conversations[conversation].entries {
            entry.ends = (entry.ends.1, entry.ends.0);
        }
    }
}

/// Roles of hosts, and conversations that wait for a server.
impl Book {
    /// A message of a conversation passes between two ends, the first of which is the device.
    pub fn meet(&mut self, conversation: usize, device: Addr, gateway: Addr) {
        self.meet_hosts(conversation, device.host(), gateway.host());
        if device.host() == gateway.host() {
            let ports = self.hosts.device_ports.entry(conversation).or_default();
            if ports.len() < PORTS_MAX {
                ports.insert(device.port());
            }
        }
    }

    /// The same without known ports.
    pub fn meet_hosts(&mut self, conversation: usize, device: Host, gateway: Host) {
        self.hosts.pairs.insert((device.min(gateway), device.max(gateway)), conversation);
        self.hosts.gateways.insert(conversation, gateway);
    }

    /// The latest conversation between two hosts.
    pub fn between(&self, a: Host, b: Host) -> Option<usize> {
        self.hosts.pairs.get(&(a.min(b), a.max(b))).copied()
    }

    /// Whether this host is the gateway of a conversation.
    pub fn is_gateway(&self, conversation: usize, host: Host) -> bool {
        self.hosts.gateways.get(&conversation) == Some(&host)
    }

    /// Whether a packet with these ends is from the gateway.
    pub fn is_from_gateway(&self, conversation: usize, from: Addr, to: Addr) -> bool {
        match self.hosts.device_ports.get(&conversation).filter(|_| from.host() == to.host()) {
            Some(ports) => ports.contains(&to.port()),
            None => self.is_gateway(conversation, from.host()),
        }
    }

    /// Announces an SA of a conversation on which this host receives under this SPI.
    pub fn expect_traffic(&mut self, receiver: Host, spi: u32, conversation: usize) {
        if self.spis.len() < SPIS_MAX {
            self.spis.insert((receiver, spi), conversation);
        }
    }

    /// The conversation of the SA on which this host receives under this SPI.
    pub fn traffic_of(&self, receiver: Host, spi: u32) -> Option<usize> {
        self.spis.get(&(receiver, spi)).copied()
    }

    /// Records the conversation of a device's carried packet, which the gateway will forward to a server.
    pub fn pass_carried(&mut self, packet: &[u8], conversation: usize) {
        if self.passing.len() < CARRIED_MAX {
            self.passing.insert(carried_key(packet).to_vec(), conversation);
        }
    }

    /// The conversation in which a carried packet passed last.
    pub fn who_passed(&self, packet: &[u8]) -> Option<usize> {
        self.passing.get(carried_key(packet)).copied()
    }

    /// A conversation waits for an answer of `role`, whose request went to this address.
    pub fn wait(&mut self, role: Node, conversation: usize, at: Addr) {
        self.waiting.entry(role).or_default().insert(conversation, at);
    }

    /// A conversation no longer waits for `role`.
    pub fn wait_no_more(&mut self, role: Node, conversation: usize) {
        if let Some(waiting) = self.waiting.get_mut(&role) {
            waiting.remove(&conversation);
        }
    }

    /// The conversations that wait for `role`, with the address of the request, oldest first.
    pub fn waiting(&self, role: Node) -> impl DoubleEndedIterator<Item = (usize, Addr)> {
        self.waiting.get(&role).into_iter().flatten().map(|(&conversation, &at)| (conversation, at))
    }

    /// Sets the user of a conversation that waits for a server.
    pub fn name_user(&mut self, conversation: usize, user: &str) {
        self.users.insert(conversation, user.to_owned());
    }

    /// The user of a conversation that waits for a server, if known.
    pub fn user(&self, conversation: usize) -> Option<&str> {
        self.users.get(&conversation).map(String::as_str)
    }
}

/// Identifies a carried packet.
fn carried_key(packet: &[u8]) -> &[u8] {
    &packet[..packet.len().min(CARRIED_KEY_BYTES)]
}

/// The end of a capture.
impl Book {
    /// The conversations, oldest first, each judged by the family with this position in the list.
    pub fn finish(mut self, judge: impl Fn(usize, usize, &Conversation) -> Judgement) -> Vec<Conversation> {
        self.shorten_joins();
        let mut joined: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
        let mut whole = Vec::new();
        for (number, building) in self.conversations.into_iter().enumerate() {
            match building.joined {
                Some(other) => joined.entry(other).or_default().extend(building.entries),
                None => whole.push((number, building)),
            }
        }
        let complete = |(number, mut building): (usize, Building)| {
            let others = joined.remove(&number).unwrap_or_default();
            building.entries.reserve_exact(others.len());
            building.entries.extend(others);
            building.entries.shrink_to_fit();
            let owner = building.owner;
            let mut conversation = building.finish();
            if let Some(owner) = owner {
                let judgement = judge(owner, number, &conversation);
                conversation.take(judgement);
            }
            conversation
        };
        let mut conversations: Vec<_> = whole.into_iter().map(complete).collect();
        conversations.sort_by_key(|conversation| conversation.entries.first().map(|entry| entry.first_ns));
        conversations
    }

    /// Resolves chains of merged conversations: each is merged into the last of its chain. A chain that leads back to itself ends
    /// where it began to repeat. Every conversation is visited twice at most, however long the chains are.
    fn shorten_joins(&mut self) {
        let mut visited = vec![false; self.conversations.len()];
        for first in 0..self.conversations.len() {
            let (mut last, mut chain) = (first, Vec::new());
            while let Some(next) = self.conversations[last].joined.filter(|_| !visited[last]) {
                visited[last] = true;
                chain.push(last);
                last = next;
            }
            // What was visited before is merged into its last one already, unless it is part of this very chain.
            let root =
                if chain.contains(&last) { last } else { self.conversations[last].joined.unwrap_or(last) };
            for link in chain {
                self.conversations[link].joined = Some(root).filter(|root| *root != link);
            }
        }
    }
}

impl Building {
    fn finish(mut self) -> Conversation {
        self.entries.sort_by_key(|entry| (entry.at_ns, entry.frame));
        let mut about = About::default();
        let mut hosts: BTreeMap<Node, Vec<Addr>> = BTreeMap::new();
        for entry in &self.entries {
            entry.content.tell(entry, &mut about);
            // The last method counts.
            about.inner_method = entry.method.clone().or(about.inner_method);
            for (node, addr) in [(entry.ends.0, Some(entry.addrs.0)), (entry.ends.1, entry.addrs.1)] {
                let addrs = hosts.entry(node).or_default();
                let addr = addr.filter(|addr| is_individual(*addr) && addrs.len() < ADDRS_MAX);
                addrs.extend(addr.filter(|addr| !addrs.contains(addr)));
            }
        }
        Conversation { kind: self.kind, entries: self.entries, hosts, about, judgement: Judgement::default() }
    }
}

// IEEE 802 §8.2.2: the first transmitted bit distinguishes groups, such as 01:80:c2:00:00:03 of 802.1X, from stations.
const fn is_individual(addr: Addr) -> bool {
    match addr {
        Addr::Mac(station) => station[0] & 1 == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each of so many conversations is merged into, with these joins.
    fn merged(count: usize, joins: impl IntoIterator<Item = (usize, usize)>) -> Vec<Option<usize>> {
        let mut book = Book::new(&[]);
        (0..count).for_each(|_| _ = book.begin(Kind::of("test", "Test")));
        joins.into_iter().for_each(|(conversation, other)| book.join(conversation, other));
        book.shorten_joins();
        book.conversations.iter().map(|conversation| conversation.joined).collect()
    }

    #[test]
    fn a_chain_of_merged_conversations_ends_in_its_last_whatever_their_order() {
        assert_eq!(merged(4, [(0, 1), (1, 3), (3, 2)]), [Some(2), Some(2), None, Some(2)]);
        assert_eq!(merged(4, [(3, 2), (2, 1), (1, 0)]), [None, Some(0), Some(0), Some(0)]);
        assert_eq!(merged(3, [(0, 2), (1, 2)]), [Some(2), Some(2), None]);
    }

    #[test]
    fn a_chain_without_an_end_keeps_one_of_its_conversations() {
        assert_eq!(merged(3, [(0, 1), (1, 0), (2, 1)]), [None, Some(0), Some(0)]);
        assert_eq!(merged(1, [(0, 0)]), [None]);
    }

    #[test]
    fn long_chains_are_shortened_in_one_pass() {
        let last = CONVERSATIONS_MAX - 1;
        let upwards = merged(CONVERSATIONS_MAX, (0..last).map(|at| (at, at + 1)));
        assert!(upwards[..last].iter().all(|joined| *joined == Some(last)));
        let downwards = merged(CONVERSATIONS_MAX, (0..last).map(|at| (at + 1, at)));
        assert!(downwards[1..].iter().all(|joined| *joined == Some(0)));
    }
}
