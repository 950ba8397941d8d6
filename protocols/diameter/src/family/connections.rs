//! Diameter: an answer belongs to the request with its hop-by-hop identifier (RFC 6733 §3); a request for vectors to the
//! session of the user that it names, else to the one whose server is asking.

use std::collections::BTreeMap;

use keytoll_engine::trace::Node;
use keytoll_family::{Book, Dissected, Entry, Kind, Passed, Place};
use keytoll_net::Addr;

use super::Diameter;
use crate::number::command::CAPABILITIES_EXCHANGE;

/// What is known of Diameter.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Requests, by their ends and hop-by-hop identifier.
    open: BTreeMap<(Addr, Addr, u32), Vec<Place>>,
    /// The conversation of each connection's own messages.
    connections: BTreeMap<(Addr, Addr), usize>,
    /// Conversations of one request, the conversation that they are for, and who asks.
    for_whom: BTreeMap<usize, (usize, Node)>,
}

impl Connections {
    /// Files a message.
    pub(super) fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        diameter: &Diameter,
        repeats: Option<u64>,
        book: &mut Book,
    ) {
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let hop = diameter.header.hop_by_hop;
        if diameter.header.is_request() {
            let same = self.open.get(&(from, to, hop)).and_then(|places| places.first());
            let same = same.filter(|_| repeats.is_some()).map(|place| place.0);
            let Some(conversation) = same.or_else(|| self.conversation(from, to, diameter, book)) else {
                return;
            };
            let ends = (self.client(conversation), Node::Hss);
            let entry = Entry { repeats, unanswered: true, ..Entry::new(passed, dissected, ends) };
            let place = book.push(conversation, entry);
            let places = self.open.entry((from, to, hop)).or_default();
            if same.is_none() {
                places.clear();
            }
            places.push(place);
        } else {
            let places = self.open.get(&(to, from, hop)).map_or(&[][..], Vec::as_slice);
            let known = places.first().map(|place| place.0);
            let Some(conversation) = known.or_else(|| book.begin(kind())) else { return };
            let ends = (Node::Hss, self.client(conversation));
            let place = book.push(conversation, Entry { repeats, ..Entry::new(passed, dissected, ends) });
            // Every copy of the question is answered once, and a copy of the answer answers the first of them.
            let is_open = places.first().is_some_and(|&question| book.entry(question).unanswered);
            book.answer(if is_open { places } else { places.get(..1).unwrap_or_default() }, place);
        }
    }

    /// A conversation for a request: that of its connection, or one of its own that will join whom it is for.
    fn conversation(&mut self, from: Addr, to: Addr, diameter: &Diameter, book: &mut Book) -> Option<usize> {
        // Somebody who waits makes the server connect; what else it says to keep the connection is for nobody.
        let header = &diameter.header;
        let is_base = header.application == 0 && header.command != CAPABILITIES_EXCHANGE;
        if !is_base && let Some(whose) = for_whom(from, diameter, book) {
            let conversation = book.begin(kind())?;
            self.for_whom.insert(conversation, whose);
            return Some(conversation);
        }
        let ends = (from.min(to), from.max(to));
        if let Some(&conversation) = self.connections.get(&ends) {
            return Some(conversation);
        }
        let conversation = book.begin(kind())?;
        self.connections.insert(ends, conversation);
        Some(conversation)
    }

    /// Who asks the HSS: the AAA server, or the gateway where there is none.
    fn client(&self, conversation: usize) -> Node {
        self.for_whom.get(&conversation).map_or(Node::Aaa, |&(_, client)| client)
    }

    pub(super) fn join(&mut self, book: &mut Book) {
        for (conversation, (whose, _)) in std::mem::take(&mut self.for_whom) {
            book.join(conversation, whose);
        }
    }
}

fn kind() -> Kind {
    Kind::of("diameter", "Diameter").without_end()
}

/// More conversations that wait are not looked at.
const CANDIDATES_MAX: usize = 1024;

/// Whose vectors are asked for, and who asks: the server that somebody waits for, else the gateway.
fn for_whom(from: Addr, diameter: &Diameter, book: &Book) -> Option<(usize, Node)> {
    let wanted = diameter.user.as_deref().filter(|wanted| !wanted.is_empty());
    let is_named = |(conversation, _): &(usize, Addr)| {
        book.user(*conversation).zip(wanted).is_some_and(|(user, wanted)| user.contains(wanted))
    };
    let waiting = || book.waiting(Node::Aaa).rev().take(CANDIDATES_MAX);
    let by_name = waiting().find(is_named);
    let by_host = || waiting().find(|(_, server)| server.host() == from.host());
    let asked = by_name.or_else(by_host).or_else(|| book.waiting(Node::Aaa).next_back());
    let by_time = || book.waiting(Node::Gw).next_back().map(|(whose, _)| (whose, Node::Gw));
    asked.map(|(whose, _)| (whose, Node::Aaa)).or_else(by_time)
}
