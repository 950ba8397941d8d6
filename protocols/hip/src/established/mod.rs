//! An association that is up: UPDATE with new keys and new addresses. RFC 7401 §6.11, §6.12; RFC 7402 §6.8 to §6.10; RFC 8046.
//!
//! ```text
//!   new keys        UPDATE(SEQ, ESP_INFO) ---->          new address     UPDATE(SEQ, ESP_INFO, LOCATOR_SET) ---->
//!                   <---- UPDATE(SEQ, ACK, ESP_INFO)                     <---- UPDATE(SEQ, ACK, ESP_INFO, ECHO_REQUEST_SIGNED)
//!                   UPDATE(ACK) ---->                                    UPDATE(ACK, ECHO_RESPONSE_SIGNED) ---->
//! ```
//!
//! A host has one UPDATE outstanding; what else there is to say waits for its end.

mod rekey;
mod update;

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto_api::{Crypto, KeyPair, about};
use keytoll_engine::Time;
use keytoll_net::Addr;

use crate::association::{Core, Repeat, State};
use crate::closing;
use crate::endpoint::Env;
use crate::event::{ChildSa, Event, Reason};
use crate::hit::Hit;
use crate::identity::PeerIdentity;
use crate::keymat::Keymat;
use crate::leniency::Leniency;
use crate::number::{EspSuite, GroupId, NotifyType, Rhash};
use crate::outgoing::notify;
use crate::protection::Protection;
use crate::wire::key_exchange::DiffieHellman;
use crate::{esp, phase};

use update::{Claim, Outstanding};
pub(crate) use update::{acknowledged, sequence};

/// An association that is up.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) standing: Standing,
    /// R2-SENT of RFC 7401: R2 for when I2 comes again, and until when it may.
    pub(crate) r2: Option<(Repeat, Time)>,
    /// Since when it is up.
    pub(crate) since: Time,
    /// Without traffic for so long it is closed.
    pub(crate) unused_after: Option<Duration>,
    /// In UDP, unless the configuration wants none.
    pub(crate) keepalive: Option<Keepalive>,
    /// Responder: who the peer says subscribes. RES was right, but nothing has come under the keys that KASME is bound into.
    pub(crate) claimed: Option<Vec<u8>>,
}

/// What keeps NATs between both hosts awake. RFC 9028 §4.10: both sides send it, whether there are any or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keepalive {
    after: Duration,
    /// When the last one was sent, or the association came up.
    last: Time,
}

impl Keepalive {
    pub(crate) fn of(core: &Core, env: &Env<'_, '_>) -> Option<Self> {
        let after = env.shared.config.keepalive_after.filter(|_| core.route.remote.udp_port().is_some())?;
        Some(Self { after, last: env.now() })
    }

    // RFC 9028 §4.10: unless other traffic was exchanged.
    fn at(&self, core: &Core) -> Time {
        self.last.max(core.heard) + self.after
    }
}

/// What an association that is up consists of.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) protection: Protection,
    pub(crate) peer: PeerIdentity,
    keymat: Keymat,
    /// Of a base exchange.
    agreement: Option<Box<KeyAgreement>>,
    esp_suite: EspSuite,
    inbound_spi: u32,
    outbound_spi: u32,
    /// SAs that were replaced, the first one first, and until when they receive.
    retiring: Vec<(u32, Time)>,
    next_id: u32,
    /// The Update ID that the peer is to send next, and the answer to the one before.
    peer_next_id: u32,
    last: Option<Box<Repeat>>,
    outstanding: Option<Box<Outstanding>>,
    /// The peer's part of a rekeying.
    offered: Option<Box<rekey::Offered>>,
    /// What waits to be said, one of each kind.
    tasks: VecDeque<Task>,
    /// When the SAs are to get new keys.
    rekey_at: Option<Time>,
    /// A rekeying has given no keys: the association ends, for its SAs would live on with the old ones.
    is_used_up: bool,
}

/// What is to be said in an UPDATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// We want new keys.
    Rekey,
    /// The peer wants new keys.
    AnswerRekey,
    /// We are at another address.
    Readdress(Addr),
    /// The peer says that it is at another address.
    Verify(Claim),
}

/// So many SAs that were replaced still receive: a peer that rekeys without end has no more of ours.
const RETIRING_MAX: usize = 8;

/// A key agreement of a base exchange, with what KEYMAT needs beside it.
#[derive(Debug)]
pub(crate) struct KeyAgreement {
    pub(crate) rhash: Rhash,
    /// #I ‖ #J.
    pub(crate) salt: Vec<u8>,
    pub(crate) ours: KeyPair,
    /// The peer's public value.
    pub(crate) theirs: Vec<u8>,
}

impl KeyAgreement {
    /// KEYMAT; none if the group rejects the peer's public value.
    pub(crate) fn keymat(
        &self,
        hits: [Hit; 2],
        leniency: Leniency,
        crypto: &mut dyn Crypto,
    ) -> Option<Keymat> {
        let shared =
            about(crypto, "key agreement", |crypto| crypto.agree(&self.ours.private, &self.theirs)).ok()?;
        Some(Keymat::base(self.rhash, leniency.kij(&shared), &self.salt, hits, crypto))
    }

    /// Our half, as DIFFIE_HELLMAN has it.
    pub(crate) fn exchanged(&self) -> DiffieHellman<'_> {
        exchanged(&self.ours)
    }
}

/// A public value, as DIFFIE_HELLMAN has it.
fn exchanged(ours: &KeyPair) -> DiffieHellman<'_> {
    let group = GroupId::of(ours.private.group).expect("keys are made for groups of HIP alone");
    DiffieHellman { group, public: &ours.public }
}

impl Standing {
    /// The end of an exchange: what stands, and the first pair of SAs. None if the keying material is used up.
    pub(crate) fn new(
        (protection, peer): (Protection, PeerIdentity),
        (mut keymat, agreement): (Keymat, Option<Box<KeyAgreement>>),
        (esp_suite, spis): (EspSuite, (u32, u32)),
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Option<(Self, ChildSa)> {
        let child = esp::draw(&mut keymat, esp_suite, spis, core, env.cx.crypto)?;
        let standing = Self {
            protection,
            peer,
            keymat,
            agreement,
            esp_suite,
            inbound_spi: spis.0,
            outbound_spi: spis.1,
            retiring: Vec::new(),
            next_id: 0,
            peer_next_id: 0,
            last: None,
            outstanding: None,
            offered: None,
            tasks: VecDeque::new(),
            rekey_at: rekey_at(env),
            is_used_up: false,
        };
        Some((standing, child))
    }

    /// The same after UPDATEs that AKA has used: our next Update ID, and the peer's last one with its answer.
    pub(crate) fn after(mut self, next_id: u32, last: Option<(u32, Repeat)>) -> Self {
        self.next_id = next_id;
        match last {
            Some((id, repeat)) => {
                self.peer_next_id = id.wrapping_add(1);
                self.last = Some(Box::new(repeat));
            }
            // After AUTS the gateway has used one Update ID.
            None => self.peer_next_id = next_id.saturating_sub(1).min(1),
        }
        self
    }

    /// An SA was replaced, and receives for as long as the peer may send with it.
    fn retire(&mut self, spi: u32, core: &mut Core, env: &mut Env<'_, '_>) {
        if self.retiring.len() == RETIRING_MAX {
            self.retire_first(core, env);
        }
        self.retiring.push((spi, env.now() + env.shared.config.retransmission.total()));
    }

    /// The SA that was replaced first receives no more.
    fn retire_first(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        let (spi, _) = self.retiring.remove(0);
        core.give_back(spi, env);
        env.emit(Event::ChildDown(core.id, spi));
    }

    /// All its SAs are gone.
    pub(crate) fn down(&self, core: &mut Core, env: &mut Env<'_, '_>) {
        let retiring = self.retiring.iter().map(|(spi, _)| *spi);
        for spi in retiring.chain([self.inbound_spi]) {
            env.emit(Event::ChildDown(core.id, spi));
        }
        for spi in std::mem::take(&mut core.spis) {
            env.shared.give_back(spi);
        }
    }
}

impl Established {
    /// Something is to be said.
    pub(crate) fn on_task(mut self: Box<Self>, task: Task, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        env.cx.crypto.enter(phase::UPDATE);
        let standing = &mut self.standing;
        standing.queue(task);
        standing.say_next(None, core, env);
        State::Established(self)
    }

    /// What it waits for until when.
    pub(crate) fn deadline(&self, core: &Core) -> Option<(Time, &'static str)> {
        let standing = &self.standing;
        if standing.is_used_up {
            return Some((Time::ZERO, "keys used up"));
        }
        let unused = self.unused_at(core);
        let outstanding =
            standing.outstanding.as_ref().map(|outstanding| (outstanding.retry.at(), "UPDATE again"));
        let retiring = standing.retiring.iter().map(|(_, at)| (*at, "old SA"));
        let r2 = self.r2.as_ref().map(|(_, until)| (*until, "R2 again"));
        let rekey = standing.rekey_at.map(|at| (at, "rekey"));
        let keepalive = self.keepalive.map(|keepalive| (keepalive.at(core), "keepalive"));
        retiring.chain(outstanding).chain(r2).chain(unused).chain(rekey).chain(keepalive).min()
    }

    fn unused_at(&self, core: &Core) -> Option<(Time, &'static str)> {
        self.unused_after.map(|after| (core.heard + after, "unused"))
    }

    /// Something has come under the keys of the association: whoever has them has KASME.
    pub(crate) fn prove_subscriber(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        if let Some(subscriber) = self.claimed.take() {
            env.emit(Event::SubscriberProved(core.id, subscriber));
        }
    }

    // RFC 9028 §5.3: nobody acts on it, so it is signed by nobody: a gateway would sign for every peer every few seconds.
    fn keep_awake(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let now = env.now();
        if let Some(keepalive) = self.keepalive.as_mut().filter(|keepalive| keepalive.at(core) <= now) {
            keepalive.last = now;
            notify((core.local, core.peer), NotifyType::NAT_KEEPALIVE, core.route, env);
        }
    }

    pub(crate) fn on_tick(mut self: Box<Self>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let now = env.now();
        if self.r2.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.r2 = None;
        }
        while self.standing.retiring.first().is_some_and(|(_, until)| *until <= now) {
            self.standing.retire_first(core, env);
        }
        if self.unused_at(core).is_some_and(|(at, _)| at <= now) {
            return closing::close(self, core, Reason::Unused, env);
        }
        if self.standing.is_used_up {
            return closing::close(self, core, Reason::KeysUsedUp, env);
        }
        // RFC 7401 §6.11: a peer that acknowledges nothing is gone.
        if self.standing.is_given_up(core, env) {
            return closing::close(self, core, Reason::Timeout, env);
        }
        self.keep_awake(core, env);
        if self.standing.rekey_at.take_if(|at| *at <= now).is_some() {
            return self.on_task(Task::Rekey, core, env);
        }
        State::Established(self)
    }
}

/// When SAs that are new now are to get other keys.
pub(crate) fn rekey_at(env: &Env<'_, '_>) -> Option<Time> {
    env.shared.config.rekey_after.map(|after| env.now() + after)
}
