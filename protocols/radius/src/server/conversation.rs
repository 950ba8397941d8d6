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

/// Those of a client, the oldest first.
#[derive(Debug, Default)]
struct OfClient {
    all: BTreeSet<ConversationId>,
    /// Those with one request so far.
    newborn: BTreeSet<ConversationId>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Conversations {
    table: BTreeMap<ConversationId, Conversation>,
    by_state: BTreeMap<State, ConversationId>,
    deadlines: BTreeSet<(Time, ConversationId)>,
    of_client: BTreeMap<IpAddr, OfClient>,
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
            of_client: BTreeMap::new(),
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

    /// Whether a client may start another one.
    pub(super) fn has_room(&self, client: IpAddr) -> bool {
        !self.is_full() || self.dispensable(client).is_some()
    }

    /// Drops a conversation if that is necessary to make room for a new one of this client.
    pub(super) fn make_room(&mut self, client: IpAddr) -> Option<GivenUp> {
        let id = self.is_full().then(|| self.dispensable(client))??;
        self.give_up(id)
    }

    // RFC 5080 §2.2.3: under load, conversations under way have priority; those with a single request have cost nobody anything.
    /// Of the client that has most conversations the oldest that has not continued; the oldest at all only for a client that has less
    /// than its share, so that nobody keeps others out.
    fn dispensable(&self, client: IpAddr) -> Option<ConversationId> {
        let busiest = self.of_client.values().max_by_key(|its| its.all.len())?;
        let oldest = busiest.all.first().filter(|_| self.has_less_than_its_share(client));
        busiest.newborn.first().or(oldest).copied()
    }

    fn has_less_than_its_share(&self, client: IpAddr) -> bool {
        let own = self.of_client.get(&client).map_or(0, |its| its.all.len());
        let clients = self.of_client.len() + usize::from(own == 0);
        own < self.count_max / clients
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
        let its = self.of_client.entry(conversation.client).or_default();
        its.all.insert(id);
        if conversation.born.is_new {
            its.newborn.insert(id);
        }
        if let Wait::Request(AwaitingRequest { state }) = &conversation.wait {
            self.by_state.insert(state.clone(), id);
        }
        self.table.insert(id, conversation);
    }

    fn remove(&mut self, id: ConversationId) -> Option<Conversation> {
        let conversation = self.table.remove(&id)?;
        self.deadlines.remove(&(conversation.deadline, id));
        self.forget_of_client(conversation.client, id);
        if let Wait::Request(AwaitingRequest { state }) = &conversation.wait {
            self.by_state.remove(state);
        }
        Some(conversation)
    }

    fn forget_of_client(&mut self, client: IpAddr, id: ConversationId) {
        if let Some(its) = self.of_client.get_mut(&client) {
            its.all.remove(&id);
            its.newborn.remove(&id);
            if its.all.is_empty() {
                self.of_client.remove(&client);
            }
        }
    }
}

/// When a conversation started, and whether it has not continued since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Born {
    at: Time,
    is_new: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Attributes;
    use keytoll_crypto_api::Seed;
    use keytoll_net::Socket;

    const ONE: [u8; 4] = [192, 0, 2, 1];
    const OTHER: [u8; 4] = [192, 0, 2, 2];

    fn awaiting(client: [u8; 4]) -> AwaitingAnswer {
        let [from, to] = [client, [192, 0, 2, 9]].map(|ip| Socket::new(IpAddr::from(ip), 1812));
        let (authenticator, user_name, proxy_states) = ([0; 16], Vec::new(), Attributes::new());
        let reply_to = ReplyTo { from, to, identifier: 0, authenticator, user_name, proxy_states };
        AwaitingAnswer { reply_to, fingerprint: Fingerprint::of_nothing() }
    }

    /// One that has continued after its first challenge.
    fn gone_on(all: &mut Conversations, client: [u8; 4]) -> ConversationId {
        let mut rng = Seed::from(1).stream("test");
        let id = all.begin(awaiting(client), Time::ZERO);
        let (_, born) = all.answer(id).unwrap();
        all.challenge(id, client.into(), born, Time::ZERO, &mut rng);
        all.resume(id, awaiting(client), Time::ZERO)
    }

    #[test]
    fn nobody_keeps_others_out_with_conversations_that_have_gone_on() {
        let config = Config { conversations_max: 4, ..Config::new(BTreeMap::new()) };
        let mut all = Conversations::new(&config);
        let first = gone_on(&mut all, ONE);
        for _ in 0..3 {
            gone_on(&mut all, ONE);
        }
        assert!(!all.has_room(ONE.into()) && all.make_room(ONE.into()).is_none(), "it has all of them");
        assert!(all.has_room(OTHER.into()));
        assert_eq!(all.make_room(OTHER.into()).map(|given_up| given_up.id), Some(first));
        gone_on(&mut all, OTHER);
        assert!(all.make_room(OTHER.into()).is_some(), "it has one of four");
        let own = gone_on(&mut all, OTHER);
        assert!(all.make_room(OTHER.into()).is_none(), "it has its half: what is under way goes on");
        all.forget(own);
        let newborn = all.begin(awaiting(ONE), Time::ZERO);
        assert_eq!(
            all.make_room(OTHER.into()).map(|given_up| given_up.id),
            Some(newborn),
            "it has cost least"
        );
        assert_eq!((all.len(), all.of_client.len()), (3, 2));
        while all.expire(Time::MAX).is_some() {}
        assert!(all.len() == 0 && all.of_client.is_empty());
    }
}
