//! The side that asks. It repeats its question until it is answered or has asked often enough.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::{Addr, Ctx, Deadline, Engine, Input, Output, Time};

use crate::names::ASK;
use crate::shared::{is_authentic, outgoing, sealed};
use crate::wire::{Kind, Message, NONCE_LEN, covered};
use crate::{Config, KNOCK, Session};

/// How long the first question waits for its answer; each further one waits twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// So often a question is sent.
const TRIES: u32 = 4;

/// What may be asked of an initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Open a session, unless one is open or being opened.
    Open {
        /// Our address.
        local: Addr,
        /// The responder's.
        peer: Addr,
    },
    /// Close the session.
    Close,
}

/// What an initiator tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The responder has answered.
    Opened(Session),
    /// Nobody has.
    TimedOut,
    /// The session's lifetime is over, or it was closed.
    Closed(Session),
}

/// The initiator.
#[derive(Debug)]
pub struct Initiator {
    config: Config,
    rng: Rng,
    next_id: u16,
    state: State,
    out: VecDeque<Output<Event>>,
}

/// What it waits for.
#[derive(Debug)]
enum State {
    Idle,
    AwaitingOpen(AwaitingOpen),
    Open(Opened),
}

/// Waits for OPEN.
#[derive(Debug)]
struct AwaitingOpen {
    id: u16,
    nonce: [u8; NONCE_LEN],
    ends: (Addr, Addr),
    /// The question.
    sent: Vec<u8>,
    times_sent: u32,
    again_at: Time,
}

/// Waits for the end of a session.
#[derive(Debug, Clone, Copy)]
struct Opened {
    session: Session,
    until: Time,
}

impl Initiator {
    /// An initiator whose random stream is named `{name}/knock`.
    pub fn new(config: Config, seed: &Seed, name: &str) -> Self {
        let rng = seed.stream(&format!("{name}/knock"));
        Self { config, rng, next_id: 0, state: State::Idle, out: VecDeque::new() }
    }

    /// How many sessions it has, open or being opened.
    pub const fn session_count(&self) -> usize {
        match self.state {
            State::Idle => 0,
            State::AwaitingOpen(_) | State::Open(_) => 1,
        }
    }

    fn open(&mut self, local: Addr, peer: Addr, cx: &mut Ctx<'_>) {
        if self.session_count() > 0 {
            return;
        }
        cx.crypto.enter(ASK);
        let (id, nonce) = (self.next_id, self.rng.bytes());
        self.next_id = id.wrapping_add(1);
        let sent = sealed(covered(Kind::Knock, id, &nonce), &[], &self.config.key, cx.crypto);
        let ends = (local, peer);
        self.out.push_back(Output::Datagram(outgoing((Kind::Knock, id), ends, &sent, false, cx.trace)));
        let again_at = cx.now + FIRST_WAIT;
        self.state = State::AwaitingOpen(AwaitingOpen { id, nonce, ends, sent, times_sent: 1, again_at });
    }

    fn on_datagram(&mut self, from: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        cx.crypto.enter(ASK);
        let State::AwaitingOpen(wait) = &self.state else {
            return cx.discard(KNOCK, "answers no question of ours");
        };
        match wait.on_message(from, bytes, &self.config, cx) {
            Ok(opened) => {
                self.state = State::Open(opened);
                self.out.push_back(Output::Event(Event::Opened(opened.session)));
            }
            Err(why) => cx.discard(KNOCK, why),
        }
    }

    fn close(&mut self) {
        if let State::Open(Opened { session, .. }) = self.state {
            self.out.push_back(Output::Event(Event::Closed(session)));
        }
        self.state = State::Idle;
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        match &mut self.state {
            State::AwaitingOpen(wait) if wait.again_at <= cx.now => {
                if wait.times_sent >= TRIES {
                    self.state = State::Idle;
                    return self.out.push_back(Output::Event(Event::TimedOut));
                }
                self.out.push_back(Output::Datagram(wait.again(cx)));
            }
            State::Open(opened) if opened.until <= cx.now => self.close(),
            _ => {}
        }
    }
}

impl AwaitingOpen {
    /// The session that an answer opens, or why it opens none.
    fn on_message(
        &self,
        from: Addr,
        bytes: &[u8],
        config: &Config,
        cx: &mut Ctx<'_>,
    ) -> Result<Opened, &'static str> {
        let message = Message::read(bytes).map_err(|_| "not readable")?;
        if from != self.ends.1 || message.kind != Kind::Open || message.id != self.id {
            return Err("answers no question of ours");
        }
        if !is_authentic(message.tag, &[message.covered, &self.nonce], &config.key, cx.crypto) {
            return Err("not authentic");
        }
        Ok(Opened { session: Session::of(&self.nonce), until: cx.now + config.lifetime })
    }

    fn again(&mut self, cx: &mut Ctx<'_>) -> keytoll_engine::Datagram {
        self.again_at = cx.now + FIRST_WAIT * 2_u32.pow(self.times_sent);
        self.times_sent += 1;
        outgoing((Kind::Knock, self.id), self.ends, &self.sent, true, cx.trace)
    }
}

impl Engine for Initiator {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, bytes, .. } => self.on_datagram(from, bytes, cx),
            Input::Command(Command::Open { local, peer }) => self.open(local, peer, cx),
            Input::Command(Command::Close) => self.close(),
            Input::Tick => self.tick(cx),
            // It has no streams and carries no packets, and no input leaves anything half-done.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        match &self.state {
            State::Idle => None,
            State::AwaitingOpen(wait) => Some(Deadline { at: wait.again_at, why: "knock retransmission" }),
            State::Open(opened) => Some(Deadline { at: opened.until, why: "session lifetime" }),
        }
    }
}
