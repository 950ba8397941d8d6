//! The side that answers. It keeps a session for every question whose tag is right, until the lifetime is over, and repeats its
//! answer when the question is repeated.

use std::collections::{BTreeMap, VecDeque};

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::{Addr, Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::Host;

use crate::names::ANSWER;
use crate::shared::{is_authentic, outgoing, sealed};
use crate::wire::{Kind, Message, NONCE_LEN, covered};
use crate::{Config, KNOCK, Session};

/// More sessions are never kept; further questions are dropped.
const SESSIONS_MAX: usize = 4096;
/// More are never kept of one host.
const OF_HOST_MAX: usize = 64;

/// What a responder tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Somebody who knows the key has asked.
    Opened(Session, Addr),
    /// The session's lifetime is over, or it was closed.
    Closed(Session),
}

/// The responder. The only command closes a session.
#[derive(Debug)]
pub struct Responder {
    config: Config,
    rng: Rng,
    sessions: BTreeMap<Key, Answered>,
    out: VecDeque<Output<Event>>,
}

/// Host and nonce of an initiator.
type Key = (Host, [u8; NONCE_LEN]);

/// A session.
#[derive(Debug)]
struct Answered {
    answer: Vec<u8>,
    until: Time,
}

impl Responder {
    /// A responder whose random stream is named `{name}/knock`.
    pub fn new(config: Config, seed: &Seed, name: &str) -> Self {
        let rng = seed.stream(&format!("{name}/knock"));
        Self { config, rng, sessions: BTreeMap::new(), out: VecDeque::new() }
    }

    /// How many sessions are open.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    fn on_datagram(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        cx.crypto.enter(ANSWER);
        match self.answer(from, bytes, cx) {
            Ok((id, answer, is_repeated)) => {
                let ends = (to, from);
                let answer = outgoing((Kind::Open, id), ends, &answer, is_repeated, cx.trace);
                self.out.push_back(Output::Datagram(answer));
            }
            Err(why) => cx.discard(KNOCK, why),
        }
    }

    /// The answer to a question, and whether it was given before; or why there is none.
    fn answer(
        &mut self,
        from: Addr,
        bytes: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<(u16, Vec<u8>, bool), &'static str> {
        let question = Message::read(bytes).map_err(|_| "not readable")?;
        if question.kind != Kind::Knock {
            return Err("no question");
        }
        let key = (from.host(), question.nonce);
        if !is_authentic(question.tag, &[question.covered], &self.config.key, cx.crypto) {
            return Err("not authentic");
        }
        if let Some(known) = self.sessions.get(&key) {
            return Ok((question.id, known.answer.clone(), true));
        }
        if !self.has_room(from.host()) {
            return Err("too many sessions");
        }
        let message = covered(Kind::Open, question.id, &self.rng.bytes());
        let answer = sealed(message, &question.nonce, &self.config.key, cx.crypto);
        let until = cx.now + self.config.lifetime;
        self.sessions.insert(key, Answered { answer: answer.clone(), until });
        self.out.push_back(Output::Event(Event::Opened(Session::of(&question.nonce), from)));
        Ok((question.id, answer, false))
    }

    fn has_room(&self, host: Host) -> bool {
        let first = (host, [0; NONCE_LEN]);
        let of_host = self.sessions.range(first..).take_while(|((of, _), _)| *of == host);
        self.sessions.len() < SESSIONS_MAX && of_host.take(OF_HOST_MAX).count() < OF_HOST_MAX
    }

    fn end(&mut self, is_over: impl Fn(&Key, &Answered) -> bool) {
        let Self { sessions, out, .. } = self;
        sessions.retain(|key, answered| {
            let is_over = is_over(key, answered);
            if is_over {
                out.push_back(Output::Event(Event::Closed(Session::of(&key.1))));
            }
            !is_over
        });
    }
}

impl Engine for Responder {
    type Command = Session;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Session>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } => self.on_datagram(from, to, bytes, cx),
            Input::Command(session) => self.end(|key, _| Session::of(&key.1) == session),
            Input::Tick => self.end(|_, answered| answered.until <= cx.now),
            // It has no streams and carries no packets, and no input leaves anything half-done.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = self.sessions.values().map(|answered| answered.until).min()?;
        Some(Deadline { at, why: "session lifetime" })
    }
}
