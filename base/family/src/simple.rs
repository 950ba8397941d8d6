//! Families with requests and responses, or with alternating messages, in which each message identifies its conversation by
//! itself.

use std::collections::BTreeMap;

use keytoll_crypto_api::Crypto;
use keytoll_net::{Host, wire::DecodeError};
use keytoll_trace::{Message, Node};

use crate::book::{Book, Place};
use crate::conversation::{About, Conversation, Ids, Judgement, Kind, Method, Opening, Outcome};
use crate::entry::{Content, Entry};
use crate::family::Analyser;
use crate::passed::Passed;
use crate::words::{Dissected, Part, unreadable};

/// A family in which every message identifies its conversation by itself.
///
/// ```text
///   fn analyser(&self, _: &mut Tables) -> Option<Box<dyn Analyser>> { Some(Box::new(simple::Requests::of(&Knock))) }
/// ```
pub trait Simple: Sync {
    /// The kind of its conversations.
    fn kind(&self) -> Kind;

    /// The name of the method in the catalogue.
    fn method(&self) -> &'static str;

    /// Decodes a message.
    ///
    /// # Errors
    /// When the bytes are not a message.
    fn read(&self, bytes: &[u8]) -> Result<Said, DecodeError>;
}

/// A decoded message.
#[derive(Debug, Clone)]
pub struct Said {
    /// `I1`, `knock 7`.
    pub name: String,
    /// Its payloads, in order.
    pub parts: Vec<Part>,
    /// The part of it that reports a failure.
    pub failure: Option<String>,
    /// As a run records it.
    pub sent: Message,
    /// The roles of sender and receiver.
    pub ends: (Node, Node),
    /// Identifies a conversation between two hosts, such as a nonce or an identity; may be empty.
    pub conversation: Vec<u8>,
    /// Whether it starts a conversation, unless it is a retransmission.
    pub begins: bool,
    /// The question that it answers, by a number of the family's own.
    pub answers: Option<u32>,
    /// The question that it asks.
    pub asks: Option<u32>,
    /// The outcome of the conversation with it; the first one counts.
    pub end: Option<End>,
    /// The identity of the device.
    pub user: Option<String>,
    /// The suite that was chosen.
    pub suite: Option<String>,
    /// The chosen suite for traffic.
    pub child_suite: Option<String>,
    /// Identifiers of the conversation, for people and for programs.
    pub ids: Ids,
    /// The SPI under which its sender will receive traffic.
    pub spi: Option<u32>,
}

impl Said {
    /// A message of this name between these roles.
    pub fn new(sent: Message, ends: (Node, Node)) -> Self {
        Self {
            name: sent.name.as_str().to_owned(),
            parts: Vec::new(),
            failure: None,
            sent,
            ends,
            conversation: Vec::new(),
            begins: false,
            answers: None,
            asks: None,
            end: None,
            user: None,
            suite: None,
            child_suite: None,
            ids: Ids::default(),
            spi: None,
        }
    }
}

/// How a conversation ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Both ends are satisfied.
    Established,
    /// The sender fails: the reason, in the terms of the standard.
    Failed(String),
}

/// The content of a message of a simple family.
#[derive(Debug)]
struct Kept {
    end: Option<End>,
    user: Option<String>,
    suite: Option<String>,
    child_suite: Option<String>,
    ids: Ids,
}

impl Content for Kept {
    fn tell(&self, _: &Entry, about: &mut About) {
        about.user = about.user.take().or_else(|| self.user.clone());
        about.suite = about.suite.take().or_else(|| self.suite.clone());
        about.child_suite = about.child_suite.take().or_else(|| self.child_suite.clone());
    }
}

/// Identifies a conversation: the two hosts, and the key in its messages.
type Key = (Host, Host, Vec<u8>);

/// The analyser of a simple family.
pub struct Requests {
    family: &'static dyn Simple,
    latest: BTreeMap<Key, usize>,
    /// Outstanding questions, by conversation and number: every transmission.
    open: BTreeMap<(usize, u32), Vec<Place>>,
}

impl Requests {
    /// Follows the messages of a family.
    pub const fn of(family: &'static dyn Simple) -> Self {
        Self { family, latest: BTreeMap::new(), open: BTreeMap::new() }
    }

    fn conversation(&mut self, key: Key, begins: bool, repeats: bool, book: &mut Book) -> Option<usize> {
        let known = self.latest.get(&key).copied().filter(|_| !begins || repeats);
        let conversation = known.or_else(|| book.begin(self.family.kind()))?;
        self.latest.insert(key, conversation);
        Some(conversation)
    }
}

impl Analyser for Requests {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        let said = match self.family.read(&passed.datagram.bytes) {
            Ok(said) => said,
            Err(error) => return unreadable(&self.family.kind().title, &error),
        };
        let (name, parts, failure) = (said.name.clone(), said.parts.clone(), said.failure.clone());
        let sent = Some(said.sent.clone());
        Dissected { parts, failure, sent, ..Dissected::bare(name, Heard(said)) }
    }

    fn file(
        &mut self,
        passed: &Passed,
        mut dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        let Some(Heard(said)) = dissected.content.of().cloned() else {
            return book.push_unreadable(passed, dissected, (Node::Ue, Node::Gw), None);
        };
        let (from, to) = (passed.datagram.from, passed.datagram.to);
        let (device, gateway) = if said.ends.0 == Node::Ue { (from, to) } else { (to, from) };
        let key = (device.host(), gateway.host(), said.conversation.clone());
        let Some(conversation) = self.conversation(key, said.begins, repeats.is_some(), book) else { return };
        let (asks, answers, spi) = (said.asks, said.answers, said.spi);
        let ends = said.ends;
        let Said { end, user, suite, child_suite, ids, .. } = said;
        dissected.content = Box::new(Kept { end, user, suite, child_suite, ids });
        let unanswered = asks.is_some();
        let place =
            book.push(conversation, Entry { repeats, unanswered, ..Entry::new(passed, dissected, ends) });
        book.meet(conversation, device, gateway);
        let questions = answers.filter(|_| passed.arrives());
        if let Some(questions) = questions.and_then(|number| self.open.remove(&(conversation, number))) {
            book.answer(&questions, place);
        }
        if let Some(number) = asks {
            self.open.entry((conversation, number)).or_default().push(place);
        }
        if let Some(spi) = spi {
            book.expect_traffic(from.host(), spi, conversation);
        }
    }

    fn judge(&self, _: usize, conversation: &Conversation) -> Judgement {
        let kept = || {
            let entries = conversation.deciding().iter().enumerate();
            entries.filter_map(|(at, entry)| Some((at, entry, entry.content.of::<Kept>()?)))
        };
        let ended = kept().find_map(|(at, entry, kept)| Some((at, entry, kept.end.as_ref()?)));
        let outcome = match ended {
            Some((at, _, End::Established)) => Outcome::Established(at),
            Some((at, entry, End::Failed(why))) => Outcome::Failed { by: entry.ends.0, why: why.clone(), at },
            None => {
                let waits = kept().rfind(|(_, entry, _)| entry.unanswered);
                waits.map_or(Outcome::Unknown, |(at, ..)| Outcome::Unanswered(at))
            }
        };
        let ids = kept().map(|(_, _, kept)| &kept.ids).rfind(|ids| !ids.ids.is_empty());
        let suite = conversation.about.suite.clone().unwrap_or_default();
        let method = self.family.method();
        Judgement {
            outcome,
            method: Some(Method {
                name: method.to_owned(),
                suite,
                is_known: true,
                opening: Opening::of(method),
            }),
            ids: ids.cloned().unwrap_or_default(),
            ..Judgement::default()
        }
    }
}

/// A message between dissection and filing.
#[derive(Debug, Clone)]
struct Heard(Said);

impl Content for Heard {}
