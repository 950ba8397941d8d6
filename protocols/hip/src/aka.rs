//! The diet exchange with AKA: a subscription is proved inside it, and its key is bound into the keys of the SAs.
//!
//! No text of this protocol is published. What stands here is a reconstruction from what its authors measured: six packets
//! between device and gateway, one round trip between gateway and HSS, no AAA server, the same SAs as of a diet exchange, and
//! keys that depend on both. AKA is TS 33.102 §6.3; with EPS AKA (TS 33.401 §6.1) the key is KASME, with UMTS AKA CK ‖ IK.
//!
//! ```text
//!   device                                        gateway                           HSS
//!     |-- I1      DH_GROUP_LIST ------------------->|                                |
//!     |<- R1      PUZZLE, HIP_CIPHER, HOST_ID, … ---|                                |
//!     |-- I2      SOLUTION, ENCRYPTED_KEY(x), ----->|                                |
//!     |           ENCRYPTED{AKA_ID}, HIP_MAC        |-- subscriber ----------------->|
//!     |                                             |<- RAND, AUTN, XRES, KASME -----|
//!     |<- R2      ENCRYPTED{AKA_CHALLENGE}, --------|
//!     |           ENCRYPTED_KEY(y), HIP_MAC         |
//!     |-- UPDATE  SEQ, ENCRYPTED{AKA_RESPONSE}, --->|
//!     |           HIP_MAC                           |
//!     |<- UPDATE  ACK, ENCRYPTED{AKA_RESULT}, ------|   HIP_MAC under the new keys
//! ```
//!
//! * The keys of the SAs, and those of HIP from the last packet on, come of CKDF over Kij, I_NONCE, x, y and KASME: so the last
//!   packet proves to the device that the gateway has KASME.
//! * RES proves to the gateway that a card was asked, not that it is the device's: somebody may have passed the challenge on. The
//!   first packet of the device under the new keys, of ESP or of HIP, proves that it has KASME, and who subscribes.
//! * AUTS in AKA_RESPONSE has the gateway ask the HSS once more; an UPDATE with SEQ, ACK and the new challenge answers it, and
//!   the response to that is the last.
//! * A device that does not believe the network, a wrong RES, and an HSS without a vector end the exchange with a NOTIFY of
//!   AUTHENTICATION_FAILED under the keys of the exchange.

use std::fmt;

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::Time;

use crate::association::{Core, Fingerprint, Repeat, State, Wait, up};
use crate::diet_keys::{DietKeys, KEY_LEN};
use crate::endpoint::Env;
use crate::established::{Standing, acknowledged, sequence};
use crate::event::{Answer, Event, Reason, Refused, Vector};
use crate::initiator::i2::Proved;
use crate::keymat::{HipKeys, Keymat};
use crate::number::{Cipher, NotifyType, PacketType, ParameterType};
use crate::outgoing::{Outgoing, Route};
use crate::phase;
use crate::protection::{Doubt, Protection};
use crate::responder::diet::write_r2;
use crate::wire::aka::{BELIEVED, Challenge, Response, read_result};
use crate::wire::encrypted::only_parameter;
use crate::wire::update::Notification;
use crate::wire::{Builder, Packet};

/// What both sides of a diet exchange have put into its keys.
pub(crate) struct Pair {
    pub(crate) keys: DietKeys,
    pub(crate) ours: [u8; KEY_LEN],
    pub(crate) theirs: [u8; KEY_LEN],
}

/// Without what is in it: with the prototype's text these octets are the keys.
impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    /// The keying material of the Pair-wise Key SA.
    pub(crate) fn keymat(&self, core: &Core, aka: &[u8], crypto: &mut dyn Crypto) -> Keymat {
        self.keys.pairwise((core.local, &self.ours), (core.peer, &self.theirs), aka, crypto)
    }
}

/// Keys that are bound to a subscription: HIP's own are drawn before those of the SAs.
fn bind(
    pair: &Pair,
    key: &[u8],
    protection: &Protection,
    core: &Core,
    crypto: &mut dyn Crypto,
) -> Option<(Protection, Keymat)> {
    let mut keymat = pair.keymat(core, key, crypto);
    let lengths = HipKeys::lengths(Cipher::Aes128Ctr, protection.exchange.mac());
    let keys = HipKeys::draw(&mut keymat, lengths, core.local, core.peer, crypto)?;
    Some((protection.under(keys), keymat))
}

/// Adds AKA_CHALLENGE.
pub(crate) fn push_challenge(
    builder: &mut Builder,
    challenge: &Challenge,
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Option<()> {
    let contents = [challenge.rand, challenge.autn].concat();
    let hidden = (ParameterType::AKA_CHALLENGE, &contents[..]);
    protection.push_encrypted(builder, hidden, &mut env.shared.rng, env.cx.crypto)
}

/// The challenge in R2, or in an UPDATE after AUTS.
pub(crate) fn open_challenge(
    packet: &Packet<'_>,
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Result<Challenge, Doubt> {
    let plain = protection.open(packet, env.cx.crypto).map_err(|_| "ENCRYPTION_FAILED")?;
    let inner = only_parameter(&plain, ParameterType::AKA_CHALLENGE).map_err(|error| error.field)?;
    Challenge::read(inner.contents).map_err(|error| error.field)
}

/// Initiator: the card is asked.
#[derive(Debug)]
pub(crate) struct AwaitsCard {
    proved: Proved,
    pair: Pair,
    /// The Update ID of our response, and that of the gateway's challenge, if it came in an UPDATE.
    ids: (u32, Option<u32>),
    pub(crate) until: Time,
}

impl AwaitsCard {
    pub(crate) fn begin(
        proved: Proved,
        pair: Pair,
        challenge: Challenge,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        Self::ask((proved, pair), (0, None), challenge, core, env)
    }

    fn ask(
        (proved, pair): (Proved, Pair),
        ids: (u32, Option<u32>),
        challenge: Challenge,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.emit(Event::Challenged(core.id, challenge));
        let until = env.now() + env.shared.config.limits.unproved_lifetime;
        State::AwaitsCard(Box::new(Self { proved, pair, ids, until }))
    }

    /// Sends what the card says.
    pub(crate) fn on_answer(
        mut self: Box<Self>,
        core: &mut Core,
        answer: Answer,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AKA);
        let Some(packet) = self.write(&answer.response, core, env) else {
            return core.fails(Reason::Internal, env);
        };
        if answer.response == Response::Reject {
            env.transmit_once(core.route, packet);
            return core.fails(Reason::AkaFailed, env);
        }
        let wait = Wait::send(packet, core.route, env);
        let Self { proved, pair, ids, .. } = *self;
        let is_synchronising = matches!(answer.response, Response::Auts(_));
        let key = answer.key;
        State::ResponseSent(Box::new(ResponseSent { wait, proved, pair, id: ids.0, key, is_synchronising }))
    }

    fn write(&mut self, response: &Response, core: &Core, env: &mut Env<'_, '_>) -> Option<Outgoing> {
        let mut builder = Builder::new(PacketType::UPDATE, core.local, core.peer);
        builder.parameter(ParameterType::SEQ, |w| w.u32(self.ids.0));
        if let Some(id) = self.ids.1 {
            builder.parameter(ParameterType::ACK, |w| w.u32(id));
        }
        let mut contents = keytoll_net::wire::Writer::default();
        response.write(&mut contents);
        let hidden = (ParameterType::AKA_RESPONSE, contents.as_slice());
        let protection = &mut self.proved.protection;
        protection.push_encrypted(&mut builder, hidden, &mut env.shared.rng, env.cx.crypto)?;
        protection.finish(&mut builder, &core.own, env.cx.crypto);
        builder.fitting(false, self.ids.0)
    }
}

/// Initiator: the response is sent.
#[derive(Debug)]
pub(crate) struct ResponseSent {
    pub(crate) wait: Wait,
    pub(crate) proved: Proved,
    pair: Pair,
    /// Its Update ID.
    id: u32,
    key: Secret,
    is_synchronising: bool,
}

impl ResponseSent {
    /// AKA_RESULT, or another challenge after AUTS.
    pub(crate) fn on_update(
        self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AKA);
        if !acknowledged(packet).contains(&self.id) {
            env.discard("UPDATE that acknowledges nothing");
            return State::ResponseSent(self);
        }
        if self.is_synchronising {
            self.on_challenge(core, packet, env)
        } else {
            self.on_result(core, packet, env)
        }
    }

    fn on_challenge(
        mut self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        let checked = self.proved.protection.check(packet, &self.proved.peer, env.cx.crypto);
        let their_id = match (checked, sequence(packet)) {
            (Ok(()), Some(id)) => id,
            (Err(doubt), _) => {
                env.discard(doubt);
                return State::ResponseSent(self);
            }
            (Ok(()), None) => {
                env.discard("no SEQ");
                return State::ResponseSent(self);
            }
        };
        let Ok(challenge) = open_challenge(packet, &mut self.proved.protection, env) else {
            return core.fails(Reason::AkaFailed, env);
        };
        let ids = (self.id.wrapping_add(1), Some(their_id));
        AwaitsCard::ask((self.proved, self.pair), ids, challenge, core, env)
    }

    fn on_result(self: Box<Self>, core: &mut Core, packet: &Packet<'_>, env: &mut Env<'_, '_>) -> State {
        let bound = bind(&self.pair, &self.key, &self.proved.protection, core, env.cx.crypto);
        let Some((mut protection, keymat)) = bound else { return core.fails(Reason::Internal, env) };
        // The MAC is under keys that only somebody with KASME has.
        if let Err(doubt) = protection.check(packet, &self.proved.peer, env.cx.crypto) {
            env.discard(doubt);
            return State::ResponseSent(self);
        }
        let is_believed = protection.open(packet, env.cx.crypto).is_ok_and(|plain| {
            only_parameter(&plain, ParameterType::AKA_RESULT)
                .and_then(|result| read_result(result.contents))
                .is_ok()
        });
        if !is_believed {
            return core.fails(Reason::AkaFailed, env);
        }
        let Proved { peer, spis, esp_suite, .. } = self.proved;
        let next_id = self.id.wrapping_add(1);
        let standing = Standing::new((protection, peer), (keymat, None), (esp_suite, spis), core, env);
        match standing {
            Some((standing, child)) => up(core, (standing.after(next_id, None), child), (None, None), env),
            None => core.fails(Reason::Internal, env),
        }
    }
}

/// Responder: the HSS is asked.
#[derive(Debug)]
pub(crate) struct AwaitsVector {
    proved: Proved,
    pair: Pair,
    subscriber: Vec<u8>,
    asked: Asked,
    pub(crate) until: Time,
}

/// What the vector is for.
#[derive(Debug)]
enum Asked {
    /// The I2 that R2 will answer.
    ByI2(Fingerprint),
    /// An UPDATE with AUTS, and its Update ID.
    ByAuts(Fingerprint, u32),
}

impl AwaitsVector {
    pub(crate) fn begin(
        proved: Proved,
        pair: Pair,
        (to, subscriber): (Fingerprint, Vec<u8>),
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let until = env.now() + env.shared.config.limits.unproved_lifetime;
        Self { proved, pair, subscriber, asked: Asked::ByI2(to), until }.ask(None, core, env)
    }

    fn ask(self, resynchronise: Option<([u8; 16], [u8; 14])>, core: &Core, env: &mut Env<'_, '_>) -> State {
        let subscriber = self.subscriber.clone();
        env.emit(Event::VectorWanted { association: core.id, subscriber, resynchronise });
        State::AwaitsVector(Box::new(self))
    }

    /// Whether this is the I2 that it came of.
    pub(crate) fn came_of(&self, packet: &Packet<'_>) -> bool {
        matches!(self.asked, Asked::ByI2(to) if to == Fingerprint::of(packet))
    }

    /// The initiator learns that it was all for nothing.
    pub(crate) fn give_up(&self, core: &Core, reason: Reason, env: &mut Env<'_, '_>) -> State {
        refuse(&self.proved.protection, core, env);
        core.fails(reason, env)
    }

    /// Sends the challenge.
    pub(crate) fn on_vector(
        mut self: Box<Self>,
        core: &mut Core,
        vector: Result<Box<Vector>, Refused>,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::R2);
        let Ok(vector) = vector else { return self.give_up(core, Reason::NoVector, env) };
        let Some((to, answer)) = self.challenge(&vector, core, env) else {
            return core.fails(Reason::Internal, env);
        };
        env.transmit(core.route, &answer, false);
        let is_second = matches!(self.asked, Asked::ByAuts(..));
        let Self { proved, pair, subscriber, until, .. } = *self;
        let repeat = Repeat::new(to, answer);
        State::AwaitsResponse(Box::new(AwaitsResponse {
            proved,
            pair,
            subscriber,
            vector,
            repeat,
            is_second,
            until,
        }))
    }

    fn challenge(
        &mut self,
        vector: &Vector,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Option<(Fingerprint, Outgoing)> {
        match self.asked {
            Asked::ByI2(to) => {
                let r2 = write_r2(&mut self.proved, &self.pair, Some(&vector.challenge), core, env)?;
                Some((to, r2))
            }
            Asked::ByAuts(to, id) => {
                let mut builder = Builder::new(PacketType::UPDATE, core.local, core.peer);
                builder.parameter(ParameterType::SEQ, |w| w.u32(0));
                builder.parameter(ParameterType::ACK, |w| w.u32(id));
                push_challenge(&mut builder, &vector.challenge, &mut self.proved.protection, env)?;
                self.proved.protection.finish(&mut builder, &core.own, env.cx.crypto);
                Some((to, builder.fitting(false, 0)?))
            }
        }
    }
}

/// Tells a peer, under the keys of the exchange, that it is not believed.
fn refuse(protection: &Protection, core: &Core, env: &mut Env<'_, '_>) {
    let mut builder = Builder::new(PacketType::NOTIFY, core.local, core.peer);
    let notification = Notification { kind: NotifyType::AUTHENTICATION_FAILED, data: &[] };
    builder.parameter(ParameterType::NOTIFICATION, |w| notification.write(w));
    protection.finish(&mut builder, &core.own, env.cx.crypto);
    env.transmit_once(core.route, builder.outgoing(true, 0));
}

/// Responder: the challenge is sent.
#[derive(Debug)]
pub(crate) struct AwaitsResponse {
    proved: Proved,
    pair: Pair,
    subscriber: Vec<u8>,
    vector: Box<Vector>,
    /// What was sent last, and to which packet.
    pub(crate) repeat: Repeat,
    /// It is the challenge after AUTS, and there is no third one.
    is_second: bool,
    pub(crate) until: Time,
}

impl AwaitsResponse {
    /// AKA_RESPONSE.
    pub(crate) fn on_update(
        mut self: Box<Self>,
        core: &mut Core,
        (packet, route): (&Packet<'_>, Route),
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AKA);
        if self.repeat.answers(packet, route, env) {
            return State::AwaitsResponse(self);
        }
        let (id, response) = match self.read(packet, env) {
            Ok(read) => read,
            Err(doubt) => {
                env.discard(doubt);
                return State::AwaitsResponse(self);
            }
        };
        match response {
            Response::Res(res) if Secret::from(&res[..]) == self.vector.expected => {
                self.believe((packet, id), core, env)
            }
            Response::Auts(auts) if !self.is_second => {
                let resynchronise = Some((self.vector.challenge.rand, auts));
                let asked = Asked::ByAuts(Fingerprint::of(packet), id);
                let Self { proved, pair, subscriber, until, .. } = *self;
                AwaitsVector { proved, pair, subscriber, asked, until }.ask(resynchronise, core, env)
            }
            Response::Res(_) | Response::Auts(_) => {
                refuse(&self.proved.protection, core, env);
                core.fails(Reason::AkaFailed, env)
            }
            Response::Reject => core.fails(Reason::AkaFailed, env),
        }
    }

    fn read(&mut self, packet: &Packet<'_>, env: &mut Env<'_, '_>) -> Result<(u32, Response), Doubt> {
        let id = sequence(packet).ok_or("no SEQ")?;
        self.proved.protection.check(packet, &self.proved.peer, env.cx.crypto)?;
        let plain = self.proved.protection.open(packet, env.cx.crypto).map_err(|_| "ENCRYPTION_FAILED")?;
        let inner = only_parameter(&plain, ParameterType::AKA_RESPONSE).map_err(|error| error.field)?;
        Ok((id, Response::read(inner.contents).map_err(|error| error.field)?))
    }

    /// RES is right: the last packet, under the new keys, and the SAs.
    fn believe(self, (packet, id): (&Packet<'_>, u32), core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let bound = bind(&self.pair, &self.vector.key, &self.proved.protection, core, env.cx.crypto);
        let Some((mut protection, keymat)) = bound else { return core.fails(Reason::Internal, env) };
        let Some(result) = write_result(id, &mut protection, core, env) else {
            return core.fails(Reason::Internal, env);
        };
        env.transmit(core.route, &result, false);
        let Proved { peer, spis, esp_suite, .. } = self.proved;
        let own_next = u32::from(self.is_second);
        let repeat = Repeat::new(Fingerprint::of(packet), result);
        let standing = Standing::new((protection, peer), (keymat, None), (esp_suite, spis), core, env);
        match standing {
            Some((standing, child)) => {
                let standing = standing.after(own_next, Some((id, repeat)));
                up(core, (standing, child), (None, Some(self.subscriber)), env)
            }
            None => core.fails(Reason::Internal, env),
        }
    }
}

fn write_result(
    id: u32,
    protection: &mut Protection,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Option<Outgoing> {
    let mut builder = Builder::new(PacketType::UPDATE, core.local, core.peer);
    builder.parameter(ParameterType::ACK, |w| w.u32(id));
    let hidden = (ParameterType::AKA_RESULT, &[BELIEVED][..]);
    protection.push_encrypted(&mut builder, hidden, &mut env.shared.rng, env.cx.crypto)?;
    protection.finish(&mut builder, &core.own, env.cx.crypto);
    builder.fitting(true, id)
}
