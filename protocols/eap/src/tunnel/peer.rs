//! A method in a TLS tunnel, on the peer: RFC 5216 §2.1.
//!
//! ```text
//!   Idle --Start--> Running --message--> Running … until Satisfied or Failed
//! ```

use std::sync::Arc;

use crate::method::{Keys, PeerMethod, PeerStep, Reason, Turn};
use crate::packet::Message;
use crate::tunnel::{Carrier, Conversation, Framing, Inner, Received, Then, Tunnels};

/// The peer of one conversation.
pub(crate) struct PeerSide<I> {
    carrier: Carrier,
    state: State<I>,
}

enum State<I> {
    /// Waits for Start.
    Idle { tunnels: Arc<dyn Tunnels>, inner: I },
    /// Waits for a message or an acknowledgement.
    Running {
        conversation: Conversation<I>,
        /// What follows when the last fragment is sent.
        then: Then,
        /// The keys, once this side is satisfied: TLS 1.3 tickets may still arrive.
        satisfied: Option<Keys>,
    },
    /// Has failed.
    Over,
}

impl<I: Inner> PeerSide<I> {
    pub(crate) fn new(version: Option<u8>, framing: Framing, tunnels: Arc<dyn Tunnels>, inner: I) -> Self {
        Self { carrier: Carrier::new(version, framing), state: State::Idle { tunnels, inner } }
    }

    fn start(&mut self, turn: &mut Turn<'_, '_>) -> PeerStep {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Idle { tunnels, inner } => match tunnels.begin(turn.cx, turn.rng) {
                Ok(tunnel) => {
                    let mut conversation = Conversation::new(tunnel, inner);
                    let hello = conversation.take_output();
                    self.send(hello, conversation, Then::Wait, None)
                }
                Err(reason) => PeerStep::Failed(None, reason),
            },
            running => {
                self.state = running;
                PeerStep::Ignore("EAP-TLS Start in the middle")
            }
        }
    }

    fn message(&mut self, message: &[u8], turn: &mut Turn<'_, '_>) -> PeerStep {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Running { mut conversation, satisfied, .. } => {
                // RFC 5216 §2.1.3: an alert is answered, if only with an empty packet, so that the server can send Failure.
                let (output, then) = conversation.take(message, turn);
                if let Then::Done(_) = then {
                    conversation.vouch(turn.identity);
                }
                self.send(output, conversation, then, satisfied)
            }
            other => {
                self.state = other;
                PeerStep::Ignore("EAP-TLS message before Start")
            }
        }
    }

    fn send(
        &mut self,
        output: Vec<u8>,
        conversation: Conversation<I>,
        then: Then,
        satisfied: Option<Keys>,
    ) -> PeerStep {
        let packet = self.carrier.load(output);
        self.state = State::Running { conversation, then, satisfied };
        self.answer(packet)
    }

    /// Sends a fragment, and with the last one performs what follows.
    fn answer(&mut self, packet: Vec<u8>) -> PeerStep {
        let State::Running { then, satisfied, .. } = &mut self.state else {
            return PeerStep::Ignore("EAP-TLS acknowledgement of nothing");
        };
        if self.carrier.has_more() {
            return PeerStep::Continue(packet);
        }
        match std::mem::take(then) {
            Then::Wait => {}
            Then::Done(keys) => *satisfied = Some(keys),
            Then::Failed(reason) => return self.fail(Some(packet), reason),
        }
        match satisfied.clone() {
            Some(keys) => PeerStep::Satisfied(packet, keys),
            None => PeerStep::Continue(packet),
        }
    }

    fn fail(&mut self, packet: Option<Vec<u8>>, reason: Reason) -> PeerStep {
        self.state = State::Over;
        PeerStep::Failed(packet, reason)
    }
}

impl<I: Inner> PeerMethod for PeerSide<I> {
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep {
        match self.carrier.take(request.data) {
            Received::Start => self.start(turn),
            Received::Next(packet) => self.answer(packet),
            Received::More(acknowledgement) => match self.state {
                State::Running { .. } => PeerStep::Continue(acknowledgement),
                _ => PeerStep::Ignore("EAP-TLS message before Start"),
            },
            Received::Whole(message) => self.message(&message, turn),
            Received::Ignore(why) => PeerStep::Ignore(why),
            Received::Failed(reason) => self.fail(None, reason),
        }
    }

    fn lacks(&self) -> Reason {
        match &self.state {
            State::Running { conversation, .. } => conversation.lacks(),
            State::Idle { .. } | State::Over => Reason::EARLY_SUCCESS,
        }
    }
}
