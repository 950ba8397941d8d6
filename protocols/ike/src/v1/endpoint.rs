//! All ISAKMP SAs of a host: routes messages by cookies, guards the door against floods, keeps the timers.
//! Read RFC 2408 §3.1, §5.2 first.

use std::collections::VecDeque;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Rng};

use crate::config::Config;
use crate::event::{Command, Event, SaId};

/// An IKEv1 endpoint, initiator and responder at once.
#[derive(Debug)]
pub struct Endpoint {
    out: VecDeque<Output<Event>>,
}

impl Endpoint {
    /// An endpoint that draws everything random from `rng`.
    pub fn new(_config: Config, _rng: Rng) -> Self {
        Self { out: VecDeque::new() }
    }

    /// Whether an ISAKMP SA is this endpoint's, half-open and closing ones included.
    pub fn holds(&self, _sa: SaId) -> bool {
        false
    }

    /// How many ISAKMP SAs it holds, half-open and closing ones included.
    pub fn sa_count(&self) -> usize {
        0
    }

    /// How many ISAKMP SAs are being closed.
    pub const fn closing_count(&self) -> usize {
        0
    }

    /// How many half-open SAs it holds as responder.
    pub const fn half_open_count(&self) -> usize {
        0
    }
}

impl Engine for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, _input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        cx.discard(Protocol::Ike, "no IKEv1 yet");
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
