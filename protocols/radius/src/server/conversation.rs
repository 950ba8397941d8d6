//! Unfinished conversations: which side is awaited, and until when. RFC 2865 §5.24, RFC 5080 §2.1.1.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;

use super::config::Config;
use super::duplicates::{Fingerprint, Key};
use super::event::{ConversationId, Tried};
use super::familiar::{Familiar, is_of_ip, steady};
use super::request::ReplyTo;
use super::tries::{Limits, Trier, Tries, Turn};
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

/// Waits until its Access-Reject may leave.
#[derive(Debug)]
pub(super) struct AwaitingRefusal {
    pub(super) request: AwaitingAnswer,
    pub(super) eap: Option<Vec<u8>>,
}

/// Waits until its password attempt may be answered.
#[derive(Debug)]
struct AwaitingTurn {
    request: AwaitingAnswer,
    /// The counter that it is queued at.
    trier: Trier,
}

/// A conversation at its deadline.
#[derive(Debug)]
pub(super) enum Due {
    /// Nothing came of it.
    GivenUp(GivenUp),
    /// Its Access-Reject leaves now.
    Refusal(AwaitingRefusal),
    /// Its password attempt was queued for too long.
    Late(ConversationId),
}

/// A conversation that ended without a result.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) id: ConversationId,
    /// The unanswered request, if it was the owner's turn.
    pub(super) unanswered: Option<AwaitingAnswer>,
}

impl GivenUp {
    fn of(id: ConversationId, wait: Wait) -> Self {
        let unanswered = match wait {
            Wait::Answer(request)
            | Wait::Refusal(AwaitingRefusal { request, .. })
            | Wait::Turn(AwaitingTurn { request, .. }) => Some(request),
            Wait::Request(_) => None,
        };
        Self { id, unanswered }
    }
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
    Refusal(AwaitingRefusal),
    Turn(AwaitingTurn),
}

/// The origin of a conversation.
#[derive(Debug)]
pub(super) struct Came {
    client: IpAddr,
    /// Its Calling-Station-Id.
    station: Option<Vec<u8>>,
    /// Whether it has a place of this device.
    has_place: bool,
    /// Its password attempts.
    tried: Vec<Trier>,
    at: Time,
    /// Whether it has not continued since.
    is_new: bool,
}

#[derive(Debug)]
struct Conversation {
    came: Came,
    /// When its last message came or went.
    heard: Time,
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
    /// By client and Calling-Station-Id: another client may let strangers choose theirs.
    of_station: BTreeMap<(IpAddr, Vec<u8>), BTreeSet<ConversationId>>,
    tries: Tries,
    familiar: Familiar,
    next: u64,
    count_max: usize,
    per_station_max: usize,
    queued_for: Duration,
    reject_delay: Duration,
    idle_max: Duration,
    age_max: Duration,
}

/// A conversation that has waited for its client for so long loses its place to a new one where there is no other.
const SILENCE: Duration = Duration::from_secs(1);
/// A password attempt is queued for so long, or for as long as another one counts. Its client may think meanwhile that the server is dead.
const QUEUED_FOR: Duration = Duration::from_secs(5);
/// This part of the conversations may have queued password attempts.
const QUEUED_PART: usize = 4;
/// So many of the oldest are looked at for a silent one.
const LOOKED_AT_MAX: usize = 16;

/// Why a new conversation finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The user has reached the limit of password attempts.
    User,
    /// The device has as many conversations as it may have.
    Device,
    /// There are as many as there may be.
    All,
}

impl Full {
    /// The reason in traces and logs.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::User => "too many password attempts for this user",
            Self::Device => "too many conversations of this device",
            Self::All => "too many conversations",
        }
    }
}

impl Conversations {
    pub(super) fn new(config: &Config) -> Self {
        let counts_for = config.reject_delay.max(SILENCE);
        let queued_max = config.conversations_max.div_ceil(QUEUED_PART);
        let limits = Limits { count_max: config.conversations_per_user_max, counts_for, queued_max };
        Self {
            table: BTreeMap::new(),
            by_state: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            of_client: BTreeMap::new(),
            of_station: BTreeMap::new(),
            tries: Tries::new(limits),
            familiar: Familiar::default(),
            next: 0,
            count_max: config.conversations_max,
            per_station_max: config.conversations_per_station_max,
            queued_for: QUEUED_FOR.max(counts_for),
            reject_delay: config.reject_delay,
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

    /// Whether the conversations of a device have a limit. Addresses of IP have none, because many devices share them.
    fn is_limited(&self, station: &[u8]) -> bool {
        self.per_station_max < usize::MAX && !is_of_ip(station)
    }

    /// Checks that the table has room for a new conversation of this client and this device; drops an old one if it is full.
    pub(super) fn make_room(
        &mut self,
        client: IpAddr,
        station: Option<&[u8]>,
        now: Time,
    ) -> Result<Option<GivenUp>, Full> {
        let its = station.and_then(|station| self.of_station.get(&(client, station.to_vec())));
        let (goes, full) = match its.filter(|its| its.len() >= self.per_station_max) {
            Some(its) => (self.newborn(its).or_else(|| self.silent(its, now)), Full::Device),
            None if self.is_full() => (self.dispensable(client, now), Full::All),
            None => return Ok(None),
        };
        let goes = goes.ok_or(full)?;
        Ok(self.give_up(goes))
    }

    /// Counts a password attempt of a conversation, once for each user, or queues it.
    ///
    /// # Errors
    /// The user has reached the limit, and the queue is full.
    pub(super) fn try_password(
        &mut self,
        id: ConversationId,
        tried: &Tried<'_>,
        now: Time,
    ) -> Result<Turn, Full> {
        let Some(held) = self.table.get_mut(&id) else { return Ok(Turn::Now) };
        if held.came.tried.iter().any(|trier| trier.is_user(tried.user)) {
            return Ok(Turn::Now);
        }
        let triers = Trier::of(tried, held.came.station.as_deref(), &self.familiar);
        let (trier, turn) = self.tries.admit(triers, id, now).ok_or(Full::User)?;
        held.came.tried.push(trier.clone());
        if turn == Turn::Later {
            self.queue(id, trier, now);
        }
        Ok(turn)
    }

    /// Keeps a request until its password attempt may be answered. It does not keep the place of the device: attempts for others could take
    /// all of them.
    fn queue(&mut self, id: ConversationId, trier: Trier, now: Time) {
        if let Some((request, mut came)) = self.answer(id) {
            came.has_place = false;
            self.insert(id, came, Wait::Turn(AwaitingTurn { request, trier }), now);
        }
    }

    /// The next conversation with a queued password attempt that may be answered now. At its deadline it gives its turn to another.
    pub(super) fn next_turn(&mut self, now: Time, rng: &mut Rng) -> Option<ConversationId> {
        loop {
            let id = self.tries.next_released(now, rng)?;
            let Some(Conversation { deadline, wait: Wait::Turn(turn), .. }) = self.table.get(&id) else {
                continue;
            };
            if *deadline <= now {
                self.tries.forget(&turn.trier, id);
                continue;
            }
            if let Some(Conversation { came, wait: Wait::Turn(turn), .. }) = self.remove(id) {
                self.insert(id, came, Wait::Answer(turn.request), now);
                return Some(id);
            }
        }
    }

    /// Admits the authenticated user: its attempt was right and does not count. The device becomes familiar if the attempt was for this user:
    /// a claimed name, or a method without a password, must not replace a device.
    pub(super) fn let_in(&mut self, id: ConversationId, came: &Came, user_name: &[u8]) {
        let own: Vec<_> = came.tried.iter().filter(|trier| trier.is_user(user_name)).collect();
        own.iter().for_each(|trier| self.tries.forget(trier, id));
        if let Some(station) = came.station.as_ref().filter(|_| !own.is_empty())
            && self.tries.are_limited()
        {
            self.familiar.remember(user_name.to_vec(), steady(station));
        }
    }

    /// The oldest of these that has not continued. It has cost its client one message.
    fn newborn(&self, its: &BTreeSet<ConversationId>) -> Option<ConversationId> {
        let is_newborn = |id: &&ConversationId| {
            let Conversation { came, wait, .. } = &self.table[id];
            came.is_new && matches!(wait, Wait::Request(_))
        };
        its.iter().take(LOOKED_AT_MAX).find(is_newborn).copied()
    }

    /// The oldest of these that has waited for its client for a while.
    fn silent(&self, its: &BTreeSet<ConversationId>, now: Time) -> Option<ConversationId> {
        let is_silent = |id: &&ConversationId| {
            let Conversation { heard, wait, .. } = &self.table[id];
            matches!(wait, Wait::Request(_)) && *heard + SILENCE <= now
        };
        its.iter().take(LOOKED_AT_MAX).find(is_silent).copied()
    }

    // RFC 5080 §2.2.3: under load, conversations under way have priority; those with a single request have cost nobody anything.
    /// Of the client that has most conversations the oldest that has not continued, or the oldest that is silent; the oldest at all only for
    /// a client that has less than its share, so that no client keeps others out.
    fn dispensable(&self, client: IpAddr, now: Time) -> Option<ConversationId> {
        let busiest = self.of_client.values().max_by_key(|its| its.all.len())?;
        let is_refused = |id: &&ConversationId| matches!(self.table[id].wait, Wait::Refusal(_));
        let mut unrefused = busiest.all.iter().filter(|id| !is_refused(id));
        let oldest = || unrefused.next().filter(|_| self.has_less_than_its_share(client)).copied();
        busiest.newborn.first().copied().or_else(|| self.silent(&busiest.all, now)).or_else(oldest)
    }

    fn has_less_than_its_share(&self, client: IpAddr) -> bool {
        let own = self.of_client.get(&client).map_or(0, |its| its.all.len());
        let clients = self.of_client.len() + usize::from(own == 0);
        own < self.count_max / clients
    }

    /// Starts one with its first request.
    pub(super) fn begin(
        &mut self,
        request: AwaitingAnswer,
        station: Option<&[u8]>,
        now: Time,
    ) -> ConversationId {
        let id = ConversationId(self.next);
        self.next += 1;
        let has_place = station.is_some_and(|station| self.is_limited(station));
        let (client, station) = (request.reply_to.from.ip, station.map(<[u8]>::to_vec));
        let came = Came { client, station, has_place, tried: Vec::new(), at: now, is_new: true };
        self.insert(id, came, Wait::Answer(request), now);
        id
    }

    /// The conversation that waits for a request of this client with this State. A State is valid for one request: a repeated or
    /// foreign one matches nothing.
    pub(super) fn named(&self, state: &State, client: IpAddr) -> Option<ConversationId> {
        self.by_state.get(state).copied().filter(|id| self.table[id].came.client == client)
    }

    /// Goes on with the next request of a conversation that was [`Self::named`].
    pub(super) fn resume(
        &mut self,
        id: ConversationId,
        request: AwaitingAnswer,
        now: Time,
    ) -> ConversationId {
        let Conversation { mut came, .. } =
            self.remove(id).expect("`named` gave a conversation in the table");
        came.is_new = false;
        self.insert(id, came, Wait::Answer(request), now);
        id
    }

    /// The request that waits for the owner's result; the conversation is over unless it is a challenge, or its refusal waits.
    pub(super) fn answer(&mut self, id: ConversationId) -> Option<(AwaitingAnswer, Came)> {
        if !matches!(self.table.get(&id)?.wait, Wait::Answer(_)) {
            return None;
        }
        match self.remove(id)? {
            Conversation { came, wait: Wait::Answer(request), .. } => Some((request, came)),
            Conversation { .. } => None,
        }
    }

    // RFC 2865 §5.24: the contents of a State are up to the server; 16 random bytes are unpredictable and reveal nothing.
    /// Waits for the client's next request; returns the State that it will carry.
    pub(super) fn challenge(&mut self, id: ConversationId, came: Came, now: Time, rng: &mut Rng) -> State {
        let state = State::new(&rng.bytes::<16>());
        self.insert(id, came, Wait::Request(AwaitingRequest { state: state.clone() }), now);
        state
    }

    /// Keeps a refusal until it may leave. It does not keep the place of the device: three refused strangers could take all of them.
    pub(super) fn refuse(&mut self, id: ConversationId, mut came: Came, refusal: AwaitingRefusal, now: Time) {
        came.has_place = false;
        self.insert(id, came, Wait::Refusal(refusal), now);
    }

    /// Ends one, whatever it waits for.
    pub(super) fn forget(&mut self, id: ConversationId) {
        self.remove(id);
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let first = self.deadlines.first().map(|(at, _)| *at);
        first.into_iter().chain(self.tries.deadline()).min()
    }

    /// Drops the next conversation that has timed out, or returns the next refusal to send.
    pub(super) fn due(&mut self, now: Time) -> Option<Due> {
        let (_, id) = *self.deadlines.first().filter(|(at, _)| *at <= now)?;
        Some(match self.remove(id)?.wait {
            Wait::Refusal(refusal) => Due::Refusal(refusal),
            Wait::Turn(_) => Due::Late(id),
            wait => Due::GivenUp(GivenUp::of(id, wait)),
        })
    }

    fn give_up(&mut self, id: ConversationId) -> Option<GivenUp> {
        Some(GivenUp::of(id, self.remove(id)?.wait))
    }

    fn insert(&mut self, id: ConversationId, came: Came, wait: Wait, now: Time) {
        let deadline = match &wait {
            Wait::Refusal(_) => now + self.reject_delay,
            Wait::Turn(_) => (now + self.queued_for).min(came.at + self.age_max),
            Wait::Answer(_) | Wait::Request(_) => (now + self.idle_max).min(came.at + self.age_max),
        };
        self.deadlines.insert((deadline, id));
        let its = self.of_client.entry(came.client).or_default();
        its.all.insert(id);
        if came.is_new {
            its.newborn.insert(id);
        }
        if let Some(station) = came.station.as_ref().filter(|_| came.has_place) {
            self.of_station.entry((came.client, station.clone())).or_default().insert(id);
        }
        if let Wait::Request(AwaitingRequest { state }) = &wait {
            self.by_state.insert(state.clone(), id);
        }
        self.table.insert(id, Conversation { came, heard: now, deadline, wait });
    }

    fn remove(&mut self, id: ConversationId) -> Option<Conversation> {
        let conversation = self.table.remove(&id)?;
        self.deadlines.remove(&(conversation.deadline, id));
        self.forget_of_client(conversation.came.client, id);
        let Came { client, station, .. } = &conversation.came;
        station.iter().for_each(|station| self.forget_of_station(&(*client, station.clone()), id));
        match &conversation.wait {
            Wait::Request(AwaitingRequest { state }) => drop(self.by_state.remove(state)),
            Wait::Turn(AwaitingTurn { trier, .. }) => self.tries.leave(trier, id),
            Wait::Answer(_) | Wait::Refusal(_) => {}
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

    fn forget_of_station(&mut self, station: &(IpAddr, Vec<u8>), id: ConversationId) {
        if let Some(its) = self.of_station.get_mut(station) {
            its.remove(&id);
            if its.is_empty() {
                self.of_station.remove(station);
            }
        }
    }
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
        let id = all.begin(awaiting(client), None, Time::ZERO);
        let (_, came) = all.answer(id).unwrap();
        all.challenge(id, came, Time::ZERO, &mut rng);
        all.resume(id, awaiting(client), Time::ZERO)
    }

    /// A conversation of a device with a password attempt, if there is one; whether the limit allows it.
    fn tried(all: &mut Conversations, station: &[u8], user: Option<&[u8]>) -> (ConversationId, bool) {
        let id = all.begin(awaiting(ONE), Some(station), Time::ZERO);
        let is_inside = false;
        let counted = user.map(|user| all.try_password(id, &Tried { user, is_inside }, Time::ZERO));
        (id, counted.is_none_or(|counted| counted == Ok(Turn::Now)))
    }

    fn let_in(all: &mut Conversations, station: &[u8], of: Option<&[u8]>, authenticated: &[u8]) {
        let (id, _) = tried(all, station, of);
        let (_, came) = all.answer(id).unwrap();
        all.let_in(id, &came, authenticated);
    }

    /// An EAP-AKA peer chooses its realm, and a tunnel may contain another user name than the authenticated one.
    #[test]
    fn a_device_is_familiar_to_the_user_whose_password_it_has_tried() {
        let config = Config { conversations_per_user_max: 3, ..Config::new(BTreeMap::new()) };
        let mut all = Conversations::new(&config);
        let_in(&mut all, b"card", None, b"0001@x\\alice");
        let_in(&mut all, b"tunnel", Some(b"bob"), b"alice");
        let_in(&mut all, b"domain", Some(b"LAB\\alice"), b"LAB\\alice");
        let_in(&mut all, b"192.0.2.1[4500]", Some(b"D1\\alice"), b"alice");
        (0..3).for_each(|_| {
            assert!(tried(&mut all, b"192.0.2.9", Some(b"alice")).1, "a successful attempt does not count");
        });
        for station in [&b"card"[..], b"tunnel", b"domain", b"192.0.2.2"] {
            assert!(!tried(&mut all, station, Some(b"alice")).1);
        }
        let hers = [b"alice".as_slice(), b"D1\\alice", b"alice"];
        let told = hers.map(|user| tried(&mut all, b"192.0.2.1[4501]", Some(user)).1);
        assert_eq!(told, [true, true, false], "a known device has two more attempts");
        let (id, _) = tried(&mut all, b"192.0.2.1", None);
        for _ in 0..4 {
            let again = all.try_password(id, &Tried { user: b"carol", is_inside: true }, Time::ZERO);
            assert_eq!(again, Ok(Turn::Now), "it is counted once");
        }
        while all.due(Time::MAX).is_some() {}
        assert!(all.of_station.is_empty() && all.of_client.is_empty());
        assert!(!tried(&mut all, b"192.0.2.9", Some(b"alice")).1, "tries outlive their conversations");
    }

    /// Otherwise its owner would let in a device that gets no answer.
    #[test]
    fn the_turn_of_a_conversation_at_its_age_limit_goes_to_another() {
        let config = Config { conversations_per_user_max: 1, ..Config::new(BTreeMap::new()) };
        let (mut all, mut rng) = (Conversations::new(&config), Seed::from(1).stream("test"));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let alice = Tried { user: b"alice", is_inside: true };
        let mut begin = |ms| all.begin(awaiting(ONE), None, at(ms));
        let [old, counted, young] = [0, 119_200, 119_600].map(&mut begin);
        let tried = [(counted, 119_200), (old, 119_500), (young, 119_600)];
        let told = tried.map(|(id, ms)| all.try_password(id, &alice, at(ms)));
        assert_eq!(told, [Ok(Turn::Now), Ok(Turn::Later), Ok(Turn::Later)]);
        assert_eq!(all.deadline(), Some(at(120_000)));
        assert_eq!(all.next_turn(at(120_100), &mut rng), None);
        assert_eq!(all.next_turn(at(120_200), &mut rng), Some(young), "both would have had their turn");
        assert!(matches!(all.due(at(120_200)), Some(Due::Late(id)) if id == old));
        assert_eq!(all.next_turn(at(121_300), &mut rng), None);
    }

    #[test]
    fn nobody_keeps_others_out_with_conversations_that_have_gone_on() {
        let config = Config { conversations_max: 4, ..Config::new(BTreeMap::new()) };
        let mut all = Conversations::new(&config);
        let first = gone_on(&mut all, ONE);
        for _ in 0..3 {
            gone_on(&mut all, ONE);
        }
        let room = |all: &mut Conversations, client: [u8; 4]| {
            all.make_room(client.into(), None, Time::ZERO).map(|given_up| given_up.map(|it| it.id))
        };
        assert_eq!(room(&mut all, ONE), Err(Full::All), "it has all of them");
        assert_eq!(room(&mut all, OTHER), Ok(Some(first)));
        gone_on(&mut all, OTHER);
        assert!(room(&mut all, OTHER).unwrap().is_some(), "it has one of four");
        let own = gone_on(&mut all, OTHER);
        assert_eq!(room(&mut all, OTHER), Err(Full::All), "it has its half already");
        all.forget(own);
        let newborn = all.begin(awaiting(ONE), None, Time::ZERO);
        assert_eq!(room(&mut all, OTHER), Ok(Some(newborn)), "it has cost least");
        assert_eq!((all.len(), all.of_client.len()), (3, 2));
        while all.due(Time::MAX).is_some() {}
        assert!(all.len() == 0 && all.of_client.is_empty());
    }
}
