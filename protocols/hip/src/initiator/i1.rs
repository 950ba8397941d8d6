//! I1, and the wait for R1. RFC 7401 §5.3.1, §6.6, §6.8.

use crate::association::{Association, Core, State, Wait};
use crate::config::Initiator;
use crate::endpoint::Env;
use crate::event::AssociationId;
use crate::hit::Hit;
use crate::initiator::{Refusal, r1};
use crate::number::PacketType;
use crate::offers;
use crate::outgoing::Route;
use crate::phase;
use crate::wire::{Builder, Packet};

/// The wait for R1.
#[derive(Debug)]
pub(crate) struct I1Sent {
    pub(crate) wait: Wait,
}

/// Begins an association.
pub(crate) fn start(
    (id, who): (AssociationId, Initiator),
    peer: Hit,
    route: Route,
    env: &mut Env<'_, '_>,
) -> Box<Association> {
    env.cx.crypto.enter(phase::R1);
    let heard = env.now();
    let Initiator { own, subscriber } = who;
    let local = own.hit();
    let groups = offers::groups(&own, &env.shared.config);
    let core = Core {
        id,
        own,
        subscriber,
        local,
        peer,
        is_opportunistic: peer == Hit::NULL,
        initiator: true,
        route,
        spis: Vec::new(),
        heard,
    };
    let mut builder = Builder::new(PacketType::I1, local, peer);
    offers::push_groups(&mut builder, &groups);
    let wait = Wait::send(builder.outgoing(false, 0), route, env);
    Association::new(core, State::I1Sent(Box::new(I1Sent { wait })))
}

impl I1Sent {
    /// R1: solves its puzzle and sends I2.
    pub(crate) fn on_r1(
        mut self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        match r1::answer(core, packet, env) {
            Ok(next) => State::I2Sent(Box::new(next)),
            Err((refusal, is_proved)) => match refusal {
                Refusal::Fail(reason) if is_proved => core.fails(reason, env),
                Refusal::Fail(reason) => {
                    self.wait.doubt = Some(reason);
                    env.discard(reason.name());
                    State::I1Sent(self)
                }
                Refusal::Discard(why) => {
                    env.discard(why);
                    State::I1Sent(self)
                }
            },
        }
    }
}
