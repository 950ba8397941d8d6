//! A method in a TLS tunnel, on the server: RFC 5216 §2.1.
//!
//! ```text
//!   Idle --begin--> Running --message--> Running … --acknowledged--> Done --admit--> Over
//!                                                          '-------> Failed
//! ```

use std::sync::Arc;

use crate::method::{Keys, Reason, ServerMethod, ServerStep, Turn};
use crate::packet::Message;
use crate::tunnel::{Carrier, Conversation, Framing, Inner, Received, Then, Tunnels};

/// The server of one conversation.
pub(crate) struct ServerSide<I> {
    carrier: Carrier,
    state: State<I>,
    /// The identity authenticated inside the tunnel.
    identity: Option<Vec<u8>>,
    /// The user name of the password attempt inside the tunnel.
    tried: Option<Vec<u8>>,
}

enum State<I> {
    /// Not started.
    Idle { tunnels: Arc<dyn Tunnels>, inner: I },
    /// Waits for a message or an acknowledgement; `then` follows when the last fragment is acknowledged.
    Running { conversation: Conversation<I>, then: Then },
    /// The peer is authenticated, and waits for admission.
    Done { conversation: Conversation<I> },
    /// Has ended.
    Over,
}

impl<I: Inner> ServerSide<I> {
    pub(crate) fn new(version: Option<u8>, framing: Framing, tunnels: Arc<dyn Tunnels>, inner: I) -> Self {
        let state = State::Idle { tunnels, inner };
        Self { carrier: Carrier::new(version, framing), state, identity: None, tried: None }
    }

    fn message(&mut self, message: &[u8], turn: &mut Turn<'_, '_>) -> ServerStep {
        match std::mem::replace(&mut self.state, State::Over) {
            // RFC 5216 §2.1.3: the answer to an alert is ignored.
            State::Running { then: Then::Failed(reason), .. } => ServerStep::Failed(reason),
            State::Running { conversation, then: Then::Done(keys) } if message.is_empty() => {
                self.done(conversation, keys)
            }
            State::Running { mut conversation, .. } => {
                let (output, then) = conversation.take(message, turn);
                self.identity = conversation.identity().map(<[u8]>::to_vec);
                self.tried = conversation.tried().map(<[u8]>::to_vec);
                self.proceed(output, conversation, then)
            }
            State::Idle { .. } | State::Done { .. } | State::Over => {
                ServerStep::Ignore("EAP-TLS response to nothing")
            }
        }
    }

    fn done(&mut self, conversation: Conversation<I>, keys: Keys) -> ServerStep {
        self.state = State::Done { conversation };
        ServerStep::Done(keys)
    }

    fn proceed(&mut self, output: Vec<u8>, conversation: Conversation<I>, then: Then) -> ServerStep {
        match then {
            Then::Done(keys) if output.is_empty() => self.done(conversation, keys),
            Then::Failed(reason) if output.is_empty() => ServerStep::Failed(reason),
            then => {
                self.state = State::Running { conversation, then };
                ServerStep::Request(self.carrier.load(output))
            }
        }
    }

    fn fail(&mut self, reason: Reason) -> ServerStep {
        self.state = State::Over;
        ServerStep::Failed(reason)
    }
}

impl<I: Inner> ServerMethod for ServerSide<I> {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Idle { tunnels, inner } => match tunnels.begin(turn.cx, turn.rng) {
                Ok(tunnel) => {
                    let conversation = Conversation::new(tunnel, inner);
                    self.state = State::Running { conversation, then: Then::Wait };
                    ServerStep::Request(self.carrier.start())
                }
                Err(reason) => ServerStep::Failed(reason),
            },
            other => {
                self.state = other;
                ServerStep::Ignore("EAP-TLS begins twice")
            }
        }
    }

    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        match self.carrier.take(response.data) {
            Received::Start => ServerStep::Ignore("EAP-TLS Start from a peer"),
            Received::Next(packet) | Received::More(packet) => ServerStep::Request(packet),
            Received::Whole(message) => self.message(&message, turn),
            Received::Ignore(why) => ServerStep::Ignore(why),
            Received::Failed(reason) => self.fail(reason),
        }
    }

    fn identity(&self) -> Option<&[u8]> {
        self.identity.as_deref()
    }

    fn tried_inside(&self) -> Option<&[u8]> {
        self.tried.as_deref()
    }

    fn admit(&mut self, identity: &[u8]) {
        if let State::Done { conversation } = &mut self.state {
            conversation.vouch(identity);
        }
    }
}
