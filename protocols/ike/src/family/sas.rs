//! IKE SAs: which conversation a message belongs to, and who of its ends is who.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keytoll_engine::trace::Node;
use keytoll_family::{Book, Dissected, Entry, Kind, Passed, Place};
use keytoll_net::{Addr, Host};

use super::exchanges::{Alive, Life};
use super::{Ike, Meaning};
use crate::number::ExchangeType;
use crate::v2::fragment::FRAGMENTS_MAX;

const IKE_SA_INIT: u8 = ExchangeType::IKE_SA_INIT.0;
const IKE_AUTH: u8 = ExchangeType::IKE_AUTH.0;

/// What is known of IKE SAs.
#[derive(Debug, Default)]
pub(super) struct Sas {
    /// By SPIi: an IKE SA, or one that replaces it.
    sas: BTreeMap<u64, Sa>,
    /// The first IKE SA of each conversation.
    begun: BTreeMap<usize, First>,
    /// What messages that say nothing have in common.
    nothing: Arc<Meaning>,
}

/// The IKE SA that a conversation begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    pub(super) spi_i: u64,
    /// SPIr, if the responder has answered.
    pub(super) spi_r: u64,
    /// 1 or 2.
    pub(super) major: u8,
}

impl First {
    fn kind(self) -> Kind {
        let known = match self.major {
            1 => Kind::of("ikev1", "IKEv1"),
            2 => Kind::of("ikev2", "IKEv2"),
            other => Kind {
                name: format!("ikev{other}").into(),
                title: format!("IKEv{other}").into(),
                ..Kind::of("", "")
            },
        };
        Kind { suite_of: "IKE", ..known }
    }
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
        if total <= FRAGMENTS_MAX {
            passed.insert(number);
        }
        passed.len() == usize::from(total)
    }
}

/// The two ends of a message, whoever sent it.
fn pair_of(entry: &Entry) -> (Addr, Option<Addr>) {
    match entry.addrs {
        (from, Some(to)) => (from.min(to), Some(from.max(to))),
        alone => alone,
    }
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
const fn other(node: Node) -> Node {
    match node {
        Node::Ue => Node::Gw,
        _ => Node::Ue,
    }
}

impl Sas {
    /// The IKE SA that a conversation begins with.
    pub(super) fn begun(&self, conversation: usize) -> Option<First> {
        self.begun.get(&conversation).copied()
    }

    /// Files a message.
    pub(super) fn file(
        &mut self,
        passed: &Passed,
        mut dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
    ) {
        let Some(ike) = dissected.content.of::<Ike>().cloned() else { return };
        let Some(from_initiator) = self.sa(&ike, passed, book) else { return };
        let sa = &self.sas[&ike.spis.0];
        let (conversation, initiator) = (sa.conversation, sa.initiator);
        let from = if from_initiator { initiator } else { other(initiator) };
        dissected.content = Box::new(self.kept(&ike));
        let entry = Entry { repeats, ..Entry::new(passed, dissected, (from, other(from))) };
        let place = book.push(conversation, entry);
        book.put_carried(place, ike.meaning.eap.as_deref(), repeats);
        if let (Some(eap), Node::Ue) = (&ike.meaning.eap, from) {
            book.pass_carried(eap, conversation);
        }
        self.follow(&ike, (from_initiator, from), place, passed, book);
        let (a, b) = (passed.datagram.from, passed.datagram.to);
        let (device, gateway) = if from == Node::Gw { (b, a) } else { (a, b) };
        book.meet(conversation, device, gateway);
    }

    /// What is kept of a message.
    fn kept(&self, ike: &Ike) -> Ike {
        let mut kept = ike.clone();
        Arc::make_mut(&mut kept.meaning).shrink();
        if kept.meaning == self.nothing {
            kept.meaning = Arc::clone(&self.nothing);
        }
        kept
    }

    /// Finds or begins the IKE SA of a message, and tells whether the SA's initiator sent it.
    fn sa(&mut self, ike: &Ike, passed: &Passed, book: &mut Book) -> Option<bool> {
        let (spi_i, from, to) = (ike.spis.0, passed.datagram.from, passed.datagram.to);
        let is_first = match ike.major {
            2 => ike.exchange == IKE_SA_INIT && !ike.response,
            _ => ike.spis.1 == 0,
        };
        let known = self.sas.get(&spi_i);
        // SPIs are drawn anew for every attempt, but a laboratory that repeats its random numbers repeats them too.
        let again = is_first && known.is_some_and(|sa| sa.begun) && !self.is_open(spi_i, ike);
        if known.is_none() || again {
            let first = First { spi_i, spi_r: ike.spis.1, major: ike.major };
            let conversation = book.begin(first.kind())?;
            self.begun.insert(conversation, first);
            // A capture that begins in the middle shows who the initiator is by the flag, IKEv1 does not.
            let by_flag = ike.major != 2 || ike.from_initiator;
            let sa = Sa::new(conversation, Node::Ue, if by_flag { from } else { to }, false);
            self.sas.insert(spi_i, sa);
        }
        let sa = self.sas.get_mut(&spi_i)?;
        let from_initiator = if ike.major == 2 { ike.from_initiator } else { sa.is_from_initiator(from, to) };
        // RFC 2408 §4.1.1: whoever says something new has its answer, and will not ask again.
        sa.begun |= !is_first && ike.exchange != IKE_SA_INIT && (ike.major == 2 || from_initiator);
        if ike.spis.1 != 0
            && let Some(first) = self.begun.get_mut(&sa.conversation)
            && (first.spi_i, first.spi_r) == (spi_i, 0)
        {
            first.spi_r = ike.spis.1;
        }
        Some(from_initiator)
    }

    /// Whether a first request like this one waits for an answer: then it is another try, not another SA.
    fn is_open(&self, spi_i: u64, ike: &Ike) -> bool {
        let open = &self.sas[&spi_i].open;
        open.contains_key(&(ike.from_initiator, ike.id, ike.exchange))
    }

    /// Questions and answers, and what the payloads say about other SAs.
    fn follow(
        &mut self,
        ike: &Ike,
        (from_initiator, from): (bool, Node),
        place: Place,
        passed: &Passed,
        book: &mut Book,
    ) {
        let arrives = passed.arrives();
        let sa = self.sas.get_mut(&ike.spis.0).expect("it was found or made before");
        let is_auth = ike.major == 2 && ike.exchange == IKE_AUTH;
        if ike.major == 2 && !ike.response {
            sa.open.entry((from_initiator, ike.id, ike.exchange)).or_default().push(place);
            book.entry_mut(place).unanswered = true;
            if is_auth && from == Node::Ue {
                book.wait(Node::Gw, place.0, passed.datagram.to);
            }
        } else if ike.major == 2 && arrives {
            let exchange = (!from_initiator, ike.id, ike.exchange);
            if sa.is_complete(exchange, ike.fragment) {
                let questions = sa.open.remove(&exchange).unwrap_or_default();
                book.answer(&questions, place);
                if is_auth && from == Node::Gw {
                    book.wait_no_more(Node::Gw, place.0);
                }
            }
        }
        if let Some(spi) = ike.meaning.child_spi {
            book.expect_traffic(passed.datagram.from.host(), spi, place.0);
        }
        // RFC 7296 §2.18: the new IKE SA's initiator is who asks for it.
        if let (Some(spi), false) = (ike.meaning.new_ike_spi, ike.response) {
            let sa = Sa::new(place.0, from, passed.datagram.from, true);
            self.sas.entry(spi).or_insert(sa);
        }
    }

    /// RFC 2409 §5.5: an ISAKMP SA that replaces another has a phase 1 of its own, and no child to ask for: those of the old
    /// one are still there. It belongs to the authentication that the old one was for.
    pub(super) fn join_rekeyed(&self, book: &mut Book) {
        let mut lines: BTreeMap<usize, Vec<Life>> = BTreeMap::new();
        let mut latest: BTreeMap<(Addr, Option<Addr>), usize> = BTreeMap::new();
        for (&number, _) in self.begun.iter().filter(|(_, first)| first.major == 1) {
            let entries = book.entries(number);
            let Some(first) = entries.first() else { continue };
            let life = Life::of(entries);
            let older = latest.get(&pair_of(first)).copied();
            let older = older.filter(|older| is_replaced_by(&lines[older], &life, first.first_ns));
            let line = older.unwrap_or(number);
            latest.extend(entries.iter().map(|entry| (pair_of(entry), line)));
            lines.entry(line).or_default().push(life);
            if older.is_some() {
                let initiator = first.addrs.0.host();
                join_to(book, line, number, initiator);
            }
        }
    }
}

/// The newer SA's first message came from `initiator`, who may be the gateway.
fn join_to(book: &mut Book, older: usize, newer: usize, initiator: Host) {
    book.join(newer, older);
    if book.is_gateway(older, initiator) {
        book.turn(newer);
    }
}
