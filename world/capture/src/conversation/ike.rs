//! IKE SAs, their ESP and what ICMP says about them: which conversation a message belongs to, and who of its ends is who.

use std::collections::{BTreeMap, BTreeSet};

use keytoll_engine::trace::{Node, Protocol};
use keytoll_ike::number::ExchangeType;
use keytoll_net::{Addr, Host};

use super::outcome::ikev1::{Alive, Life};
use super::{Address, ESP_SHOWN, Entry, Kind, Place, Tracker};
use crate::dissect::{Content, Dissected, Ike};
use crate::packets::Passed;

const IKE_SA_INIT: u8 = ExchangeType::IKE_SA_INIT.0;
const IKE_AUTH: u8 = ExchangeType::IKE_AUTH.0;

/// What is known of IKE SAs.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By SPIi: an IKE SA, or one that replaces it.
    sas: BTreeMap<u64, Sa>,
    /// The latest conversation between two hosts.
    pairs: BTreeMap<(Host, Host), usize>,
    /// By the receiver's address and SPI.
    children: BTreeMap<(Host, u32), usize>,
    /// The gateway's addresses of a conversation.
    gateways: BTreeMap<usize, Host>,
    /// The device's ports of a conversation of which both ends have one address, as on loopback.
    device_ports: BTreeMap<usize, BTreeSet<Option<u16>>>,
    /// Conversations that wait for an IKE_AUTH response, and since when: theirs may be a RADIUS session.
    pub(super) waiting: BTreeMap<usize, u64>,
    /// Where EAP responses were seen inside IKE_AUTH.
    pub(super) eap: BTreeMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct Sa {
    conversation: usize,
    /// Which end SPIi is of: the device for the first SA, whoever rekeyed for later ones.
    initiator: Node,
    initiator_ip: Host,
    /// Its ports, which tell it apart where both ends have one address.
    initiator_ports: BTreeSet<Option<u16>>,
    /// Another exchange than IKE_SA_INIT was seen.
    begun: bool,
    /// Requests without response, by sender and message id: every transmission.
    open: BTreeMap<Exchange, Vec<Place>>,
    /// Which fragments of a response have passed.
    fragments: BTreeMap<Exchange, BTreeSet<u16>>,
}

/// Sender of the request, message id, exchange type.
type Exchange = (bool, u32, u8);

impl Sa {
    fn new(conversation: usize, initiator: Node, at: Addr, begun: bool) -> Self {
        let (open, fragments) = (BTreeMap::new(), BTreeMap::new());
        let (initiator_ip, initiator_ports) = (at.host(), BTreeSet::from([at.port()]));
        Self { conversation, initiator, initiator_ip, initiator_ports, begun, open, fragments }
    }

    /// Whether a message without a flag that says so is the initiator's.
    fn is_from_initiator(&mut self, from: Addr, to: Addr) -> bool {
        if from.host() != to.host() {
            return from.host() == self.initiator_ip;
        }
        if self.initiator_ports.contains(&to.port()) {
            return self.initiator_ports.contains(&from.port());
        }
        // RFC 3947 §4: the initiator is who moves to the port of NAT traversal first.
        if self.initiator_ports.len() < PORTS_MAX {
            self.initiator_ports.insert(from.port());
        }
        true
    }

    /// Whether a response is there, with this message if not before: it is when all its fragments are.
    fn is_complete(&mut self, exchange: Exchange, fragment: Option<(u16, u16)>) -> bool {
        let Some((number, total)) = fragment else { return true };
        let passed = self.fragments.entry(exchange).or_default();
        if total <= keytoll_ike::v2::fragment::FRAGMENTS_MAX {
            passed.insert(number);
        }
        passed.len() == usize::from(total)
    }
}

/// The two ends of a message, whoever sent it.
fn pair_of(entry: &Entry) -> (Address, Address) {
    let (from, to) = entry.addrs;
    (from.min(to), from.max(to))
}

/// Whether the latest of these ISAKMP SAs, each of which replaced the one before, is replaced by one that began then.
fn is_replaced_by(line: &[Life], newer: &Life, begins_ns: u64) -> bool {
    let has_child = line.first().and_then(|life| life.established_ns).is_some_and(|ns| ns < begins_ns);
    let asks_at_once = newer.asks_after_ns().is_some_and(|ns| ns <= AT_ONCE_NS);
    has_child
        && !asks_at_once
        && match line.iter().map(|life| life.is_alive_at(begins_ns)).max() {
            Some(Alive::Certainly) => true,
            // Somebody who has forgotten everything asks for a child once phase 1 is over, as long as anybody repeats anything.
            Some(Alive::Perhaps) => {
                newer.whole_ns.is_some() && newer.asks_after_ns().is_none_or(|ns| ns > REPEATED_NS)
            }
            Some(Alive::No) | None => false,
        }
}

/// A first quick mode later than this after phase 1 is not what the phase 1 was for: RFC 2409 §5.5 is asked for as soon as
/// both sides are proved, or repeated after some seconds.
const AT_ONCE_NS: u64 = 10_000_000_000;
/// Nobody repeats a message for longer than this: 165 s are strongSwan's, and ours.
const REPEATED_NS: u64 = 200_000_000_000;
/// More ports of one host are not remembered.
const PORTS_MAX: usize = 16;
/// More SPIs of ESP are not remembered.
const CHILDREN_MAX: usize = 65_536;
/// More EAP packets are not remembered.
const EAP_MAX: usize = 65_536;
/// A longer EAP packet is told apart by its beginning.
const EAP_KEY_BYTES: usize = 64;

/// What tells EAP packets apart.
pub(super) fn eap_key(eap: &[u8]) -> Vec<u8> {
    eap[..eap.len().min(EAP_KEY_BYTES)].to_vec()
}

impl Index {
    /// Notes whose EAP packet passes; the gateway will ask the AAA server about it.
    pub(super) fn pass_eap(&mut self, key: Vec<u8>, conversation: usize) {
        if self.eap.len() < EAP_MAX {
            self.eap.insert(key, conversation);
        }
    }

    /// The latest conversation between two hosts.
    pub(super) fn between(&self, a: Host, b: Host) -> Option<usize> {
        self.pairs.get(&(a.min(b), a.max(b))).copied()
    }

    pub(super) fn is_gateway(&self, conversation: usize, ip: Host) -> bool {
        self.gateways.get(&conversation) == Some(&ip)
    }

    /// Whether the gateway sent what went this way.
    fn is_from_gateway(&self, conversation: usize, from: Addr, to: Addr) -> bool {
        match self.device_ports.get(&conversation).filter(|_| from.host() == to.host()) {
            Some(ports) => ports.contains(&to.port()),
            None => self.is_gateway(conversation, from.host()),
        }
    }

    /// Notes which of two ports of one address is the device's.
    fn note_ports(&mut self, conversation: usize, device: Addr, gateway: Addr) {
        if device.host() == gateway.host() {
            let ports = self.device_ports.entry(conversation).or_default();
            if ports.len() < PORTS_MAX {
                ports.insert(device.port());
            }
        }
    }
}

const fn other(node: Node) -> Node {
    match node {
        Node::Ue => Node::Gw,
        _ => Node::Ue,
    }
}

impl Tracker {
    pub(super) fn add_ike(&mut self, passed: &Passed, dissected: Dissected, repeats: Option<u64>) {
        let Content::Ike(ike) = dissected.content.clone() else { return };
        let Some(from_initiator) = self.ike_sa(&ike, passed) else { return };
        let sa = &self.ike.sas[&ike.spis.0];
        let (conversation, initiator) = (sa.conversation, sa.initiator);
        let from = if from_initiator { initiator } else { other(initiator) };
        let entry = Entry { repeats, ..Entry::new(passed, dissected, (from, other(from))) };
        let place = self.push(conversation, entry);
        let words = self.put_eap(place, ike.meaning.eap.as_deref(), repeats);
        if let (Some(eap), Some(_), Node::Ue) = (&ike.meaning.eap, words, from) {
            self.ike.pass_eap(eap_key(eap), conversation);
        }
        self.follow(&ike, from_initiator, from, place, passed);
        let (a, b) = (passed.datagram.from, passed.datagram.to);
        self.ike.pairs.insert((a.host().min(b.host()), a.host().max(b.host())), conversation);
        let (device, gateway) = if from == Node::Gw { (b, a) } else { (a, b) };
        self.ike.gateways.insert(conversation, gateway.host());
        self.ike.note_ports(conversation, device, gateway);
    }

    /// Finds or begins the IKE SA of a message, and tells whether the SA's initiator sent it.
    fn ike_sa(&mut self, ike: &Ike, passed: &Passed) -> Option<bool> {
        let (spi_i, from, to) = (ike.spis.0, passed.datagram.from, passed.datagram.to);
        let is_first = match ike.major {
            2 => ike.exchange == IKE_SA_INIT && !ike.response,
            _ => ike.spis.1 == 0,
        };
        let known = self.ike.sas.get(&spi_i);
        // SPIs are drawn anew for every attempt, but a laboratory that repeats its random numbers repeats them too.
        let again = is_first && known.is_some_and(|sa| sa.begun) && !self.is_open(spi_i, ike);
        if known.is_none() || again {
            let kind = Kind::Ike { spi_i, spi_r: ike.spis.1, major: ike.major };
            let conversation = self.begin(kind)?;
            // A capture that begins in the middle shows who the initiator is by the flag, IKEv1 does not.
            let by_flag = ike.major != 2 || ike.from_initiator;
            let sa = Sa::new(conversation, Node::Ue, if by_flag { from } else { to }, false);
            self.ike.sas.insert(spi_i, sa);
        }
        let sa = self.ike.sas.get_mut(&spi_i)?;
        let from_initiator = if ike.major == 2 { ike.from_initiator } else { sa.is_from_initiator(from, to) };
        // RFC 2408 §4.1.1: whoever says something new has its answer, and will not ask again.
        sa.begun |= !is_first && ike.exchange != IKE_SA_INIT && (ike.major == 2 || from_initiator);
        if ike.spis.1 != 0
            && let Kind::Ike { spi_i: first, spi_r, .. } = &mut self.conversations[sa.conversation].kind
            && (*first, *spi_r) == (spi_i, 0)
        {
            *spi_r = ike.spis.1;
        }
        Some(from_initiator)
    }

    /// Whether a first request like this one waits for an answer: then it is another try, not another SA.
    fn is_open(&self, spi_i: u64, ike: &Ike) -> bool {
        let open = &self.ike.sas[&spi_i].open;
        open.contains_key(&(ike.from_initiator, ike.id, ike.exchange))
    }

    /// Questions and answers, and what the payloads say about other SAs.
    fn follow(&mut self, ike: &Ike, from_initiator: bool, from: Node, place: Place, passed: &Passed) {
        let arrives = self.entry_mut(place).arrives();
        let sa = self.ike.sas.get_mut(&ike.spis.0).expect("ike_sa found or made it");
        let is_auth = ike.major == 2 && ike.exchange == IKE_AUTH;
        if ike.major == 2 && !ike.response {
            sa.open.entry((from_initiator, ike.id, ike.exchange)).or_default().push(place);
            self.entry_mut(place).unanswered = true;
            if is_auth && from == Node::Ue {
                self.ike.waiting.entry(place.0).or_insert(passed.at_ns);
            }
        } else if ike.major == 2 && arrives {
            let exchange = (!from_initiator, ike.id, ike.exchange);
            if sa.is_complete(exchange, ike.fragment) {
                let questions = sa.open.remove(&exchange).unwrap_or_default();
                self.answer(&questions, place);
                if is_auth && from == Node::Gw {
                    self.ike.waiting.remove(&place.0);
                }
            }
        }
        if let Some(spi) = ike.meaning.child_spi.filter(|_| self.ike.children.len() < CHILDREN_MAX) {
            self.ike.children.insert((passed.datagram.from.host(), spi), place.0);
        }
        // RFC 7296 §2.18: the new IKE SA's initiator is who asks for it.
        if let (Some(spi), false) = (ike.meaning.new_ike_spi, ike.response) {
            let sa = Sa::new(place.0, from, passed.datagram.from, true);
            self.ike.sas.entry(spi).or_insert(sa);
        }
    }

    /// RFC 2409 §5.5: an ISAKMP SA that replaces another has a phase 1 of its own, and no child to ask for: those of the old
    /// one are still there. It belongs to the authentication that the old one was for.
    pub(super) fn join_rekeyed(&mut self) {
        let mut lines: BTreeMap<usize, Vec<Life>> = BTreeMap::new();
        let mut latest: BTreeMap<(Address, Address), usize> = BTreeMap::new();
        for number in 0..self.conversations.len() {
            let building = &self.conversations[number];
            let (Kind::Ike { major: 1, .. }, Some(first)) = (building.kind, building.entries.first()) else {
                continue;
            };
            let life = Life::of(&building.entries);
            let older = latest.get(&pair_of(first)).copied();
            let older = older.filter(|older| is_replaced_by(&lines[older], &life, first.first_ns));
            let line = older.unwrap_or(number);
            latest.extend(building.entries.iter().map(|entry| (pair_of(entry), line)));
            lines.entry(line).or_default().push(life);
            if let (Some(_), Address::Ip(from)) = (older, first.addrs.0) {
                self.join_to(line, number, from.host());
            }
        }
    }

    /// The newer SA's first message came from `initiator`, who may be the gateway.
    fn join_to(&mut self, older: usize, newer: usize, initiator: Host) {
        let is_turned = self.ike.is_gateway(older, initiator);
        let newer = &mut self.conversations[newer];
        newer.joined = Some(older);
        if is_turned {
            newer.entries.iter_mut().for_each(|entry| entry.ends = (entry.ends.1, entry.ends.0));
        }
    }

    pub(super) fn add_esp(&mut self, passed: &Passed, dissected: Dissected) {
        let Content::Esp(esp) = &dissected.content else { return };
        let (from, to) = (passed.datagram.from.host(), passed.datagram.to.host());
        let known = self.ike.children.get(&(to, esp.spi)).copied().or_else(|| self.ike.between(from, to));
        let Some(conversation) = known.or_else(|| self.begin(Kind::Esp)) else { return };
        // Without keys nobody says whose an SPI is; the SA that is there when it is first seen is there before its successors.
        if self.ike.children.len() < CHILDREN_MAX {
            self.ike.children.entry((to, esp.spi)).or_insert(conversation);
        }
        if known.is_none() {
            self.ike.pairs.insert((from.min(to), from.max(to)), conversation);
            self.ike.gateways.insert(conversation, to);
        }
        let by_gateway = self.ike.is_from_gateway(conversation, passed.datagram.from, passed.datagram.to);
        let ends = if by_gateway { (Node::Gw, Node::Ue) } else { (Node::Ue, Node::Gw) };
        let entry = Entry::new(passed, dissected, ends);
        if !self.sum_up(conversation, &entry) {
            self.push(conversation, entry);
        }
    }

    /// Adds an ESP packet to the run that it continues, if the run is long enough already.
    fn sum_up(&mut self, conversation: usize, entry: &Entry) -> bool {
        let entries = &mut self.conversations[conversation].entries;
        let run =
            entries.iter().rev().take(ESP_SHOWN + 2).take_while(|entry| entry.protocol == Protocol::ESP);
        if run.clone().count() < ESP_SHOWN {
            return false;
        }
        // One sum for each direction.
        let summed = run.clone().position(|summed| summed.more > 0 && summed.ends == entry.ends);
        match summed {
            Some(back) => {
                let place = entries.len() - 1 - back;
                let sum = &mut entries[place];
                sum.more += 1;
                sum.packets += entry.packets;
                sum.wire_bytes += entry.wire_bytes;
                sum.at_ns = entry.at_ns;
            }
            None => {
                let more = Entry { more: 1, name: "ESP".into(), ..entry.clone() };
                self.push(conversation, more);
            }
        }
        true
    }

    /// An ICMP error goes to the conversation of the packet that it quotes.
    pub(super) fn add_icmp(&mut self, passed: &Passed, dissected: Dissected) {
        let Content::Icmp(icmp) = &dissected.content else { return };
        let (from, to): (Addr, Addr) = (icmp.about_from, icmp.about_to);
        if let Some(conversation) = self.ike.between(from.host(), to.host()) {
            // It tells the sender of what it quotes; whoever sends it, in the ladder it comes from the other side.
            let told = if self.ike.is_gateway(conversation, from.host()) { Node::Gw } else { Node::Ue };
            self.push(conversation, Entry::new(passed, dissected, (other(told), told)));
        } else if let Some(conversation) = self.radius_of(from, to) {
            self.push(conversation, Entry::new(passed, dissected, (Node::Aaa, Node::Gw)));
        }
    }
}
