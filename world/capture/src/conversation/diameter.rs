//! Diameter: an answer belongs to the request with its hop-by-hop identifier (RFC 6733 §3); a request for vectors to the
//! session of the user that it names, else to the one whose server is asking.

use std::collections::BTreeMap;

use keytoll_diameter::number::command::CAPABILITIES_EXCHANGE;
use keytoll_engine::trace::Node;
use keytoll_net::Addr;

use super::{Entry, Kind, Place, Tracker};
use crate::dissect::{Content, Diameter, Dissected};
use crate::packets::Passed;

/// What is known of Diameter.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Requests, by their ends and hop-by-hop identifier.
    open: BTreeMap<(Addr, Addr, u32), Vec<Place>>,
    /// The conversation of each connection's own messages.
    connections: BTreeMap<(Addr, Addr), usize>,
    /// Conversations of one request, and the session or IKE SA that they are for.
    for_whom: BTreeMap<usize, usize>,
}

impl Tracker {
    pub(super) fn add_diameter(&mut self, passed: &Passed, dissected: Dissected, repeats: Option<u64>) {
        let Content::Diameter(diameter) = dissected.content.clone() else { return };
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let hop = diameter.header.hop_by_hop;
        if diameter.header.is_request() {
            let same = self.diameter.open.get(&(from, to, hop)).and_then(|places| places.first());
            let same = same.filter(|_| repeats.is_some()).map(|place| place.0);
            let Some(conversation) = same.or_else(|| self.diameter_conversation(from, to, &diameter)) else {
                return;
            };
            let ends = (self.diameter_client(conversation), Node::Hss);
            let entry = Entry { repeats, unanswered: true, ..Entry::new(passed, dissected, ends) };
            let place = self.push(conversation, entry);
            let places = self.diameter.open.entry((from, to, hop)).or_default();
            if same.is_none() {
                places.clear();
            }
            places.push(place);
        } else {
            let places = self.diameter.open.get(&(to, from, hop)).cloned().unwrap_or_default();
            let known = places.first().map(|place| place.0);
            let Some(conversation) = known.or_else(|| self.begin(Kind::Diameter)) else { return };
            let ends = (Node::Hss, self.diameter_client(conversation));
            let place = self.push(conversation, Entry { repeats, ..Entry::new(passed, dissected, ends) });
            self.answer(&places, place);
        }
    }

    /// A conversation for a request: that of its connection, or one of its own that will join whom it is for.
    fn diameter_conversation(&mut self, from: Addr, to: Addr, diameter: &Diameter) -> Option<usize> {
        // Somebody who waits makes the server connect; what else it says to keep the connection is for nobody.
        let header = &diameter.header;
        let is_base = header.application == 0 && header.command != CAPABILITIES_EXCHANGE;
        if !is_base && let Some(whose) = self.diameter_for(from, diameter) {
            let conversation = self.begin(Kind::Diameter)?;
            self.diameter.for_whom.insert(conversation, whose);
            return Some(conversation);
        }
        let ends = (from.min(to), from.max(to));
        if let Some(&conversation) = self.diameter.connections.get(&ends) {
            return Some(conversation);
        }
        let conversation = self.begin(Kind::Diameter)?;
        self.diameter.connections.insert(ends, conversation);
        Some(conversation)
    }

    /// Whose vectors are asked for.
    fn diameter_for(&self, from: Addr, diameter: &Diameter) -> Option<usize> {
        let waiting = &self.radius.waiting;
        let named = |conversation: &&usize| {
            let user = self.radius.users.get(*conversation);
            let wanted = diameter.user.as_deref().filter(|wanted| !wanted.is_empty());
            user.zip(wanted).is_some_and(|(user, wanted)| user.contains(wanted))
        };
        let by_name = waiting.keys().rev().find(named);
        let by_host =
            || waiting.iter().rev().find(|(_, server)| server.host() == from.host()).map(|(it, _)| it);
        let by_time = || self.ike.waiting.keys().next_back().filter(|_| waiting.is_empty());
        by_name.or_else(by_host).or_else(|| waiting.keys().next_back()).or_else(by_time).copied()
    }

    /// Who asks the HSS: the AAA server, or the gateway where there is no RADIUS.
    fn diameter_client(&self, conversation: usize) -> Node {
        let whose = self.diameter.for_whom.get(&conversation);
        let is_ike = |whose: &&usize| matches!(self.conversations[**whose].kind, Kind::Ike { .. });
        if whose.filter(is_ike).is_some() { Node::Gw } else { Node::Aaa }
    }

    pub(super) fn join_diameter(&mut self) {
        for (conversation, whose) in std::mem::take(&mut self.diameter.for_whom) {
            self.conversations[conversation].joined = Some(whose);
        }
    }
}
