//! CLOSE and CLOSE_ACK. RFC 7401 §5.3.7, §5.3.8, §6.14, §6.15.

use keytoll_engine::Time;

use crate::association::{Core, Fingerprint, Repeat, State, Wait};
use crate::endpoint::Env;
use crate::established::Established;
use crate::event::{Event, Reason};
use crate::identity::PeerIdentity;
use crate::number::{PacketType, ParameterType};
use crate::outgoing::Outgoing;
use crate::phase;
use crate::protection::Protection;
use crate::wire::{Builder, Packet, Parameter};

/// Octets of what CLOSE_ACK must echo.
const NONCE_LEN: usize = 16;

/// CLOSE is sent.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) wait: Wait,
    protection: Protection,
    peer: PeerIdentity,
    nonce: [u8; NONCE_LEN],
}

/// CLOSE_ACK is sent, and is sent again if CLOSE comes again.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) repeat: Repeat,
    pub(crate) until: Time,
}

/// Sends CLOSE; for the owner the association is gone.
pub(crate) fn close(sa: Box<Established>, core: &mut Core, reason: Reason, env: &mut Env<'_, '_>) -> State {
    env.cx.crypto.enter(phase::CLOSE);
    let standing = sa.standing;
    standing.down(core, env);
    env.emit(Event::Closed(core.id, reason));
    let nonce = env.shared.rng.bytes();
    let mut builder = Builder::new(PacketType::CLOSE, core.local, core.peer);
    builder.parameter(ParameterType::ECHO_REQUEST_SIGNED, |w| w.bytes(&nonce));
    standing.protection.finish(&mut builder, &core.own, env.cx.crypto);
    let wait = Wait::send(builder.outgoing(false, 0), core.route, env);
    State::Closing(Box::new(Closing { wait, protection: standing.protection, peer: standing.peer, nonce }))
}

/// The answer to a CLOSE, if it is the peer's.
fn acknowledge(
    (protection, peer): (&Protection, &PeerIdentity),
    core: &Core,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Option<Outgoing> {
    env.cx.crypto.enter(phase::CLOSE);
    if let Err(doubt) = protection.check(packet, peer, env.cx.crypto) {
        env.discard(doubt);
        return None;
    }
    let Some(nonce) = packet.find(ParameterType::ECHO_REQUEST_SIGNED) else {
        env.discard("CLOSE without ECHO_REQUEST_SIGNED");
        return None;
    };
    let mut builder = Builder::new(PacketType::CLOSE_ACK, core.local, core.peer);
    builder.parameter(ParameterType::ECHO_RESPONSE_SIGNED, |w| w.bytes(nonce.bytes()));
    protection.finish(&mut builder, &core.own, env.cx.crypto);
    let Some(answer) = builder.fitting(true, 0) else {
        env.discard("ECHO_REQUEST_SIGNED too long to be answered");
        return None;
    };
    env.transmit(core.route, &answer, false);
    Some(answer)
}

fn closed(packet: &Packet<'_>, answer: Outgoing, env: &Env<'_, '_>) -> State {
    let until = env.now() + env.shared.config.retransmission.total();
    State::Closed(Box::new(Closed { repeat: Repeat::new(Fingerprint::of(packet), answer), until }))
}

impl Established {
    /// CLOSE of the peer.
    pub(crate) fn on_close_packet(
        mut self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        let keys = (&self.standing.protection, &self.standing.peer);
        let Some(answer) = acknowledge(keys, core, packet, env) else { return State::Established(self) };
        self.prove_subscriber(core, env);
        self.standing.down(core, env);
        env.emit(Event::Closed(core.id, Reason::Closed));
        closed(packet, answer, env)
    }
}

impl Closing {
    // RFC 7401 §6.14: two CLOSEs that cross are both answered.
    /// CLOSE of the peer.
    pub(crate) fn on_close(
        self: Box<Self>,
        core: &Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        match acknowledge((&self.protection, &self.peer), core, packet, env) {
            Some(answer) => {
                env.emit(Event::CloseEnded(core.id, None));
                closed(packet, answer, env)
            }
            None => State::Closing(self),
        }
    }

    /// CLOSE_ACK: it is over.
    pub(crate) fn on_close_ack(
        self: Box<Self>,
        core: &Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::CLOSE);
        let echo = packet.find(ParameterType::ECHO_RESPONSE_SIGNED).map(Parameter::bytes);
        if echo != Some(&self.nonce[..]) {
            env.discard("CLOSE_ACK of another CLOSE");
            return State::Closing(self);
        }
        match self.protection.check(packet, &self.peer, env.cx.crypto) {
            Ok(()) => {
                env.emit(Event::CloseEnded(core.id, None));
                State::Gone
            }
            Err(doubt) => {
                env.discard(doubt);
                State::Closing(self)
            }
        }
    }
}
