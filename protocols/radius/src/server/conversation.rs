//! Unfinished conversations: which side is awaited, and until when. RFC 2865 §5.24, RFC 5080 §2.1.1.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;

use super::config::Config;
use super::duplicates::{Fingerprint, Key};
use super::event::ConversationId;
use super::request::ReplyTo;
use crate::wire::State;

/// Waits for the owner, whose command will be the response to this request.
#[derive(Debug)]
pub(super) struct AwaitingAnswer {
    pub(super) reply_to: ReplyTo,
    pub(super) fingerprint: Fingerprint,
}

impl AwaitingAnswer {
    pub(super) const fn key(&self) -> Key {
        let ReplyTo { from, to, identifier, .. } = self.reply_to;
        Key { from, to, identifier }
    }
}

/// A conversation that ended without a result.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) id: ConversationId,
    /// The unanswered request, if it was the owner's turn.
    pub(super) unanswered: Option<AwaitingAnswer>,
}

/// Waits for the client after a challenge; its next request will carry this State.
#[derive(Debug)]
struct AwaitingRequest {
    state: State,
}

#[derive(Debug)]
enum Wait {
    Answer(AwaitingAnswer),
    Request(AwaitingRequest),
}

#[derive(Debug)]
struct Conversation {
    client: IpAddr,
    born: Born,
    deadline: Time,
    wait: Wait,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Conversations {
    table: BTreeMap<ConversationId, Conversation>,
    by_state: BTreeMap<State, ConversationId>,
    deadlines: BTreeSet<(Time, ConversationId)>,
    /// Conversations with one request so far, the oldest first.
    newborn: BTreeSet<ConversationId>,
    next: u64,
    count_max: usize,
    idle_max: Duration,
    age_max: Duration,
}

impl Conversations {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            table: BTreeMap::new(),
            by_state: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            newborn: BTreeSet::new(),
            next: 0,
            count_max: config.conversations_max,
            idle_max: config.conversation_idle_max,
            age_max: config.conversation_age_max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.count_max
    }

    /// Whether another one may start.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full() || !self.newborn.is_empty()
    }

    // RFC 5080 §2.2.3: under load, conversations under way have priority; those with a single request have cost nobody anything.
    /// Drops the oldest conversation that has not continued, if that makes room for a new one.
    pub(super) fn make_room(&mut self) -> Option<GivenUp> {
        let oldest = *self.newborn.first().filter(|_| self.is_full())?;
        self.give_up(oldest)
    }

    /// Starts one with its first request.
    pub(super) fn begin(&mut self, request: AwaitingAnswer, now: Time) -> ConversationId {
        let id = ConversationId(self.next);
        self.next += 1;
        let client = request.reply_to.from.ip;
        let born = Born { at: now, is_new: true };
        self.insert(id, Conversation { client, born, deadline: now, wait: Wait::Answer(request) }, now);
        id
    }

    /// The conversation that waits for a request of this client with this State. A State is valid for one request: a repeated or
    /// foreign one matches nothing.
    pub(super) fn named(&self, state: &State, client: IpAddr) -> Option<ConversationId> {
        self.by_state.get(state).copied().filter(|id| self.table[id].client == client)
    }

    /// Goes on with the next request of a conversation that was [`Self::named`].
    pub(super) fn resume(
        &mut self,
        id: ConversationId,
        request: AwaitingAnswer,
        now: Time,
    ) -> ConversationId {
        let conversation = self.remove(id).expect("`named` gave a conversation in the table");
        let born = Born { is_new: false, ..conversation.born };
        self.insert(id, Conversation { born, wait: Wait::Answer(request), ..conversation }, now);
        id
    }

    /// The request that waits for the owner's result; the conversation is over unless it is a challenge.
    pub(super) fn answer(&mut self, id: ConversationId) -> Option<(AwaitingAnswer, Born)> {
        if !matches!(self.table.get(&id)?.wait, Wait::Answer(_)) {
            return None;
        }
        match self.remove(id)? {
            Conversation { born, wait: Wait::Answer(request), .. } => Some((request, born)),
            Conversation { wait: Wait::Request(_), .. } => None,
        }
    }

    // RFC 2865 §5.24: the contents of a State are up to the server; 16 random bytes are unpredictable and reveal nothing.
    /// Waits for the client's next request; returns the State that it will carry.
    pub(super) fn challenge(
        &mut self,
        id: ConversationId,
        client: IpAddr,
        born: Born,
        now: Time,
        rng: &mut Rng,
    ) -> State {
        let state = State::new(&rng.bytes::<16>());
        let wait = Wait::Request(AwaitingRequest { state: state.clone() });
        self.insert(id, Conversation { client, born, deadline: now, wait }, now);
        state
    }

    /// Ends one, whatever it waits for.
    pub(super) fn forget(&mut self, id: ConversationId) {
        self.remove(id);
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Drops the next conversation that has timed out.
    pub(super) fn expire(&mut self, now: Time) -> Option<GivenUp> {
        let (_, id) = *self.deadlines.first().filter(|(at, _)| *at <= now)?;
        self.give_up(id)
    }

    fn give_up(&mut self, id: ConversationId) -> Option<GivenUp> {
        let unanswered = match self.remove(id)?.wait {
            Wait::Answer(request) => Some(request),
            Wait::Request(_) => None,
        };
        Some(GivenUp { id, unanswered })
    }

    fn insert(&mut self, id: ConversationId, mut conversation: Conversation, now: Time) {
        conversation.deadline = (now + self.idle_max).min(conversation.born.at + self.age_max);
        self.deadlines.insert((conversation.deadline, id));
        if conversation.born.is_new {
            self.newborn.insert(id);
        }
        if let Wait::Request(AwaitingRequest { state }) = &conversation.wait {
            self.by_state.insert(state.clone(), id);
        }
        self.table.insert(id, conversation);
    }

    fn remove(&mut self, id: ConversationId) -> Option<Conversation> {
        let conversation = self.table.remove(&id)?;
        self.deadlines.remove(&(conversation.deadline, id));
        self.newborn.remove(&id);
        if let Wait::Request(AwaitingRequest { state }) = &conversation.wait {
            self.by_state.remove(state);
        }
        Some(conversation)
    }
}

/// When a conversation started, and whether it has not continued since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Born {
    at: Time,
    is_new: bool,
}
