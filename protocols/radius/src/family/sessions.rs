//! RADIUS sessions: requests with the same State are one conversation (RFC 2865 §5.24), a response belongs to the request
//! with its identifier (§3). Which IKE SA a session is for is told by the EAP packets that pass through the gateway, else by
//! which IKE_AUTH requests were waiting for their response each time the gateway asked.

use std::collections::{BTreeMap, BTreeSet};

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::trace::Node;
use keytoll_family::{Book, Dissected, Entry, Kind, Part, PartKind, Passed, Place};
use keytoll_net::{Addr, Host};

use super::Radius;
use crate::number::Code;
use crate::wire::{Authenticator, Packet};

/// Of more candidates than this the latest count.
const CANDIDATES_MAX: usize = 1024;

/// What is known of RADIUS sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Requests without response, by their ends and identifier.
    open: BTreeMap<(Addr, Addr, u8), Question>,
    /// Which conversation a State belongs to.
    states: BTreeMap<(Addr, Vec<u8>), usize>,
    /// Which one a session that is accounted, or a user's.
    sessions: BTreeMap<(Host, Vec<u8>), usize>,
    /// The latest of each pair of ends.
    latest: BTreeMap<(Addr, Addr), usize>,
    /// Of each conversation, whose it may be.
    candidates: BTreeMap<usize, Candidates>,
    /// What the latest request of each carried.
    said: BTreeMap<usize, Vec<Part>>,
}

#[derive(Debug)]
struct Question {
    places: Vec<Place>,
    authenticator: Authenticator,
}

/// The IKE conversations that a session may be for.
#[derive(Debug, Default)]
struct Candidates {
    certain: Option<usize>,
    possible: Option<BTreeSet<usize>>,
}

impl Candidates {
    /// Only those remain that were waiting every time; if none was, the capture lacks something and it is not held against
    /// them.
    fn narrow(&mut self, waiting: BTreeSet<usize>) {
        let narrowed = match &self.possible {
            Some(possible) => possible.intersection(&waiting).copied().collect(),
            None => waiting,
        };
        if !narrowed.is_empty() {
            self.possible = Some(narrowed);
        }
    }
}

/// What checks authenticators, if the secret is known.
pub(super) struct Check<'a> {
    pub(super) secret: Option<&'a Secret>,
    pub(super) crypto: &'a mut dyn Crypto,
}

impl Sessions {
    /// Files a packet.
    pub(super) fn file(
        &mut self,
        passed: &Passed,
        mut dissected: Dissected,
        radius: &Radius,
        repeats: Option<u64>,
        book: &mut Book,
        check: Check<'_>,
    ) {
        if radius.is_request() {
            dissected.remarks.extend(check.request(radius));
            self.request(passed, dissected, radius, repeats, book);
        } else {
            self.response(passed, dissected, radius, repeats, book, check);
        }
    }

    /// The conversation of the latest packet between two ends.
    pub(super) fn latest(&self, from: Addr, to: Addr) -> Option<usize> {
        self.latest.get(&(from, to)).copied()
    }

    fn request(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        radius: &Radius,
        repeats: Option<u64>,
        book: &mut Book,
    ) {
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let Some(conversation) = self.session(from, to, radius, book) else { return };
        let mut entry = Entry::new(passed, dissected, (Node::Gw, Node::Aaa));
        (entry.repeats, entry.unanswered) = (repeats, true);
        self.shorten(conversation, &mut entry.parts);
        let place = book.push(conversation, entry);
        book.put_carried(place, radius.eap.as_deref(), repeats);
        self.remember(from, to, conversation, radius, book);
        if radius.code == Code::ACCESS_REQUEST {
            self.narrow(conversation, radius, book);
            book.wait(Node::Aaa, conversation, to);
        }
        let authenticator = radius.authenticator;
        let question = self.open.entry((from, to, radius.identifier));
        let question = question.or_insert_with(|| Question { places: Vec::new(), authenticator });
        if question.authenticator != authenticator {
            *question = Question { places: Vec::new(), authenticator };
        }
        question.places.push(place);
    }

    /// A client tells the same about itself in every request of a session: once is enough. EAP is never left out.
    fn shorten(&mut self, conversation: usize, parts: &mut Vec<Part>) {
        let Some(before) = self.said.insert(conversation, parts.clone()) else { return };
        let count = parts.len();
        parts.retain(|part| part.kind == PartKind::Carried || !before.contains(part));
        match count - parts.len() {
            0 => {}
            same => parts.push(Part::bare(format!("{same} attributes as before"))),
        }
    }

    /// The conversation of a request: of the same request before, of its State, of its accounting session, or a new one.
    fn session(&mut self, from: Addr, to: Addr, radius: &Radius, book: &mut Book) -> Option<usize> {
        let open = self.open.get(&(from, to, radius.identifier));
        let same = open.filter(|question| question.authenticator == radius.authenticator);
        let same = same.and_then(|question| question.places.first()).map(|place| place.0);
        let by_state = || self.states.get(&(to, radius.state.clone()?)).copied();
        let by_session = || {
            let keys = [radius.session.clone(), radius.user.clone().map(String::into_bytes)];
            let is_access = radius.code == Code::ACCESS_REQUEST;
            let mut keys = keys.into_iter().flatten().filter(|_| !is_access);
            keys.find_map(|key| self.sessions.get(&(from.host(), key)).copied())
        };
        let known = same.or_else(by_state).or_else(by_session);
        known.or_else(|| book.begin(kind()))
    }

    fn remember(&mut self, from: Addr, to: Addr, conversation: usize, radius: &Radius, book: &mut Book) {
        self.latest.insert((from, to), conversation);
        for key in [radius.session.clone(), radius.user.clone().map(String::into_bytes)].into_iter().flatten()
        {
            self.sessions.insert((from.host(), key), conversation);
        }
        if let Some(user) = &radius.user {
            book.name_user(conversation, user);
        }
    }

    fn narrow(&mut self, conversation: usize, radius: &Radius, book: &Book) {
        let certain = radius.eap.as_deref().and_then(|eap| book.who_passed(eap));
        let waiting = book.waiting(Node::Gw).rev().map(|(it, _)| it).take(CANDIDATES_MAX).collect();
        let candidates = self.candidates.entry(conversation).or_default();
        candidates.certain = candidates.certain.or(certain);
        candidates.narrow(waiting);
    }

    fn response(
        &mut self,
        passed: &Passed,
        mut dissected: Dissected,
        radius: &Radius,
        repeats: Option<u64>,
        book: &mut Book,
        check: Check<'_>,
    ) {
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let question = self.open.get(&(to, from, radius.identifier));
        let first = question.and_then(|question| question.places.first()).copied();
        let known = first.map(|place| place.0);
        let Some(conversation) = known.or_else(|| book.begin(kind())) else { return };
        match question {
            Some(question) => dissected.remarks.extend(check.response(radius, &question.authenticator)),
            None => dissected.remarks.push("answers nothing that is in this capture".to_owned()),
        }
        let entry = Entry { repeats, ..Entry::new(passed, dissected, (Node::Aaa, Node::Gw)) };
        let place = book.push(conversation, entry);
        book.put_carried(place, radius.eap.as_deref(), repeats);
        if let Some(state) = &radius.state {
            self.states.insert((from, state.clone()), conversation);
        }
        // The question stays, because its answer may come again.
        let is_first = first.is_some_and(|first| book.entry(first).unanswered);
        if let Some(question) = self.open.get(&(to, from, radius.identifier)).filter(|_| is_first) {
            book.answer(&question.places, place);
        }
        book.wait_no_more(Node::Aaa, conversation);
    }

    /// Joins each session to the conversation that it is for.
    pub(super) fn join(&mut self, book: &mut Book) {
        let mut taken = BTreeSet::new();
        let candidates = std::mem::take(&mut self.candidates);
        for (conversation, candidates) in candidates {
            let possible = candidates.possible.unwrap_or_default();
            // Of several, one that has no session yet, and of these the one that began to wait last.
            let best = possible.iter().rev().find(|asker| !taken.contains(*asker)).or(possible.last());
            let asker = candidates.certain.or(best.copied());
            if let Some(asker) = asker.filter(|asker| *asker != conversation) {
                taken.insert(asker);
                book.join(conversation, asker);
            }
        }
    }
}

impl Check<'_> {
    /// What is wrong with the authenticator of a request, if the secret is known.
    fn request(self, radius: &Radius) -> Option<String> {
        let Self { secret, crypto } = self;
        let secret = secret?;
        let packet = Packet::read(&radius.bytes).ok()?;
        let verified = match radius.code {
            Code::ACCESS_REQUEST if radius.eap.is_some() => packet.verify_request(secret, crypto),
            Code::ACCOUNTING_REQUEST => packet.verify_accounting_request(secret, crypto),
            _ => Ok(()),
        };
        verified.err().map(|forged| format!("NOT AUTHENTIC under the secret given: {forged}"))
    }

    fn response(self, radius: &Radius, request: &Authenticator) -> Option<String> {
        let Self { secret, crypto } = self;
        let secret = secret?;
        let packet = Packet::read(&radius.bytes).ok()?;
        let verified = match radius.code {
            Code::ACCOUNTING_RESPONSE => packet.verify_accounting_response(request, secret, crypto),
            _ if radius.eap.is_some() => packet.verify_response(request, secret, crypto),
            _ => Ok(()),
        };
        verified.err().map(|forged| format!("NOT AUTHENTIC under the secret given: {forged}"))
    }
}

fn kind() -> Kind {
    Kind { success: "accepted", ..Kind::of("radius", "RADIUS").without_end() }
}
