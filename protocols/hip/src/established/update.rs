//! UPDATE: what is said, what is heard, and what is said again. RFC 7401 §5.3.5, §6.11, §6.12; RFC 8046 §3.2, §5.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_net::Addr;
use keytoll_net::wire::DecodeError;

use super::rekey::Asked;
use super::{Established, Standing, Task, exchanged};
use crate::association::{Core, Fingerprint, Repeat, State};
use crate::endpoint::Env;
use crate::event::Event;
use crate::number::{PacketType, ParameterType};
use crate::outgoing::{Due, Outgoing, Retry, Route};
use crate::phase;
use crate::protection::Doubt;
use crate::wire::esp::EspInfo;
use crate::wire::key_exchange::DiffieHellman;
use crate::wire::update::{Locator, read_ack, read_locators, read_seq, write_locators};
use crate::wire::{Builder, Packet, Parameter};

/// Octets that must come back from an address before it is believed.
const NONCE_LEN: usize = 16;
/// RFC 8046 §4.1 leaves it open how long an address counts; as long as the association that it belongs to.
const LOCATOR_LIFETIME: Duration = Duration::from_secs(0xffff_ffff);

/// An UPDATE that waits for its end.
#[derive(Debug)]
pub(super) struct Outstanding {
    id: u32,
    packet: Outgoing,
    route: Route,
    pub(super) retry: Retry,
    is_acknowledged: bool,
    matter: Matter,
}

impl Outstanding {
    /// The peer's address that it verifies.
    const fn verified(&self) -> Option<Addr> {
        match self.matter {
            Matter::Verify(claim, _) => Some(claim.at),
            Matter::Rekey(_) | Matter::Readdress(_) => None,
        }
    }
}

/// What an UPDATE of ours is about.
#[derive(Debug)]
enum Matter {
    Rekey(Asked),
    /// Our new address.
    Readdress(Addr),
    /// The peer's new address, and what must come back from there.
    Verify(Claim, [u8; NONCE_LEN]),
}

/// Where the peer says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    at: Addr,
    /// It has left the address that we know.
    has_left: bool,
}

/// The Update ID of an UPDATE that wants to be acknowledged.
pub(crate) fn sequence(packet: &Packet<'_>) -> Option<u32> {
    packet.find(ParameterType::SEQ).and_then(|seq| read_seq(seq.contents).ok())
}

/// The Update IDs that an UPDATE acknowledges.
pub(crate) fn acknowledged(packet: &Packet<'_>) -> Vec<u32> {
    packet.find(ParameterType::ACK).and_then(|ack| read_ack(ack.contents).ok()).unwrap_or_default()
}

/// An UPDATE that was understood.
struct Heard<'a> {
    seq: Option<u32>,
    acks: Vec<u32>,
    info: Option<EspInfo>,
    exchanged: Option<DiffieHellman<'a>>,
    /// Where the peer is, the address that it prefers first.
    locators: Vec<IpAddr>,
    echo_request: Option<&'a [u8]>,
    echo_response: Option<&'a [u8]>,
}

impl<'a> Heard<'a> {
    fn read(packet: &Packet<'a>) -> Result<Self, DecodeError> {
        let find = |kind| packet.find(kind).map(|parameter| parameter.contents);
        let bytes = |kind| packet.find(kind).map(Parameter::bytes);
        let mut locators =
            find(ParameterType::LOCATOR_SET).map(read_locators).transpose()?.unwrap_or_default();
        locators.sort_by_key(|locator| !locator.is_preferred);
        Ok(Self {
            seq: find(ParameterType::SEQ).map(read_seq).transpose()?,
            acks: find(ParameterType::ACK).map(read_ack).transpose()?.unwrap_or_default(),
            info: find(ParameterType::ESP_INFO).map(EspInfo::read).transpose()?,
            exchanged: find(ParameterType::DIFFIE_HELLMAN).map(DiffieHellman::read).transpose()?,
            locators: locators.iter().map(|locator| locator.address).collect(),
            echo_request: bytes(ParameterType::ECHO_REQUEST_SIGNED),
            echo_response: bytes(ParameterType::ECHO_RESPONSE_SIGNED),
        })
    }
}

/// What an UPDATE of ours answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answering<'a> {
    id: u32,
    echo: Option<&'a [u8]>,
    /// Between which addresses it came.
    route: Route,
}

impl Established {
    /// UPDATE.
    pub(crate) fn on_update(
        mut self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        route: Route,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::UPDATE);
        // RFC 7401 §6.12.1: an UPDATE that comes again, byte by byte, gets its answer again.
        let back = self.standing.way_back(route);
        if self.standing.last.as_mut().is_some_and(|last| last.answers(packet, back, env)) {
            return State::Established(self);
        }
        if let Err(doubt) = self.standing.protection.check(packet, &self.standing.peer, env.cx.crypto) {
            env.discard(doubt);
            return State::Established(self);
        }
        self.prove_subscriber(core, env);
        // RFC 7401 §4.4.3: an UPDATE ends R2-SENT. It carries no data: new keys alone do not keep an association in use.
        self.r2 = None;
        let heard = Heard::read(packet).map_err(|error| error.field);
        let done = heard.and_then(|heard| self.standing.hear(&heard, (packet, route), core, env));
        if let Err(doubt) = done {
            env.discard(doubt);
        }
        State::Established(self)
    }
}

impl Standing {
    fn hear(
        &mut self,
        heard: &Heard<'_>,
        (packet, route): (&Packet<'_>, Route),
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Doubt> {
        if let Some(outstanding) = &mut self.outstanding
            && heard.acks.contains(&outstanding.id)
        {
            outstanding.is_acknowledged = true;
        }
        // RFC 7401 §6.12: a greater Update ID is new, too: the ones between were of UPDATEs that the peer has given up.
        let is_new = heard.seq.is_some_and(|id| id.wrapping_sub(self.peer_next_id) < 1 << 31);
        if is_new {
            self.take(heard, route, core)?;
        }
        self.settle((heard.echo_response, heard.seq.is_none()), core, env);
        let Some(id) = heard.seq else {
            self.say_next(None, core, env);
            return Ok(());
        };
        if !is_new {
            return Err("UPDATE out of sequence");
        }
        self.peer_next_id = id.wrapping_add(1);
        let answering = Answering { id, echo: heard.echo_request, route };
        let answer = self.say_next(Some(answering), core, env);
        self.last = answer.map(|answer| Box::new(Repeat::new(Fingerprint::of(packet), answer)));
        Ok(())
    }

    /// Takes what a new UPDATE wants.
    fn take(&mut self, heard: &Heard<'_>, route: Route, core: &Core) -> Result<(), Doubt> {
        // What we say reaches the peer where it speaks from; but an address is verified by what is sent there alone.
        if let Some(outstanding) = self.outstanding.as_mut().filter(|ours| ours.verified().is_none()) {
            outstanding.route.remote = route.remote;
        }
        if let Some(info) = heard.info.filter(|info| info.old_spi != info.new_spi) {
            self.offer(&info, heard.exchanged.as_ref())?;
            let is_asked = matches!(&self.outstanding, Some(ours) if matches!(ours.matter, Matter::Rekey(_)));
            if !is_asked {
                self.tasks.retain(|task| *task != Task::Rekey);
                self.queue(Task::AnswerRekey);
            }
        }
        if let Some(&ip) = heard.locators.first() {
            // RFC 8046 §5.3: an address that is not one host's is none.
            if !is_of_one_host(ip) {
                return Err("locator that is not one host's");
            }
            // Where the peer has been meanwhile nobody answers any more.
            self.outstanding.take_if(|ours| ours.verified().is_some());
            // RFC 8046 §5.3: an address that is not in the set is deprecated.
            let has_left = core.route.remote.ip().is_none_or(|known| !heard.locators.contains(&known));
            self.queue(Task::Verify(Claim { at: announced(route.remote, ip), has_left }));
        }
        Ok(())
    }

    /// Where the answer to what came this way goes once more. RFC 8046 §5.4: what must come back from an address is sent to that
    /// address alone, or a peer could have it sent to where it is in truth.
    fn way_back(&self, route: Route) -> Route {
        let verified = self.outstanding.as_ref().and_then(|ours| ours.verified());
        Route { remote: verified.unwrap_or(route.remote), ..route }
    }

    /// We are at another address: what is outstanding tells of no address that we have left, and comes from the new one at once,
    /// for the answer may be on its way to the old one.
    pub(crate) fn leave(&mut self, local: Addr, env: &mut Env<'_, '_>) {
        self.outstanding.take_if(|ours| matches!(ours.matter, Matter::Readdress(_)));
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.route.local = local;
            env.transmit(outstanding.route, &outstanding.packet, true);
        }
    }

    /// Puts off what is to be said.
    pub(super) fn queue(&mut self, task: Task) {
        // Of two addresses the later one counts.
        self.tasks.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(&task));
        self.tasks.push_back(task);
    }

    /// Ends what is outstanding, if all is there. A peer that asks nothing any more has got there before us.
    fn settle(
        &mut self,
        (echo, is_peer_ready): (Option<&[u8]>, bool),
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        let Some(outstanding) = self.outstanding.take_if(|outstanding| outstanding.is_acknowledged) else {
            return;
        };
        match outstanding.matter {
            Matter::Rekey(asked) => match self.offered.take() {
                Some(offered) => self.finish_rekey((asked, *offered), is_peer_ready, core, env),
                None => {
                    let matter = Matter::Rekey(asked);
                    self.outstanding = Some(Box::new(Outstanding { matter, ..*outstanding }));
                }
            },
            Matter::Readdress(local) => env.emit(Event::Readdressed(core.id, local)),
            Matter::Verify(claim, nonce) if echo == Some(&nonce[..]) => {
                core.route.remote = claim.at;
                env.emit(Event::PeerMoved(core.id, claim.at));
            }
            Matter::Verify(..) => env.discard("address that was not verified"),
        }
    }

    /// Says what is to be said next, and answers; gives the packet that was sent.
    pub(super) fn say_next(
        &mut self,
        answering: Option<Answering<'_>>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> Option<Outgoing> {
        let task = if self.outstanding.is_none() { self.tasks.pop_front() } else { None };
        let Some(task) = task else {
            let answering = answering?;
            let packet = self.write((None, None), Some(answering), core, env);
            env.transmit(answering.route, &packet, false);
            return Some(packet);
        };
        let (matter, info) = self.matter(task, core, env);
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let packet = self.write((Some((id, &matter)), Some(info)), answering, core, env);
        let mut route = answering.map_or(core.route, |answering| answering.route);
        if let Matter::Verify(claim, _) = matter {
            route.remote = claim.at;
        }
        env.transmit(route, &packet, false);
        let retry = Retry::begin(env.now(), &env.shared.config.retransmission);
        let outstanding =
            Outstanding { id, packet: packet.clone(), route, retry, is_acknowledged: false, matter };
        self.outstanding = Some(Box::new(outstanding));
        Some(packet)
    }

    fn matter(&self, task: Task, core: &mut Core, env: &mut Env<'_, '_>) -> (Matter, EspInfo) {
        match task {
            Task::Rekey | Task::AnswerRekey => {
                let (asked, info) = self.ask(core, env);
                (Matter::Rekey(asked), info)
            }
            Task::Readdress(local) => (Matter::Readdress(local), self.esp_info()),
            Task::Verify(claim) => (Matter::Verify(claim, env.shared.rng.bytes()), self.esp_info()),
        }
    }

    /// An UPDATE. What the peer wants to have echoed is left out if there is no room for it.
    fn write(
        &self,
        said: (Option<(u32, &Matter)>, Option<EspInfo>),
        answering: Option<Answering<'_>>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Outgoing {
        let response = said.0.is_none();
        let id = said.0.map(|(id, _)| id).or(answering.map(|answering| answering.id)).unwrap_or(0);
        if let Some(packet) = self.build(said, answering, core, env).fitting(response, id) {
            return packet;
        }
        env.discard("ECHO_REQUEST_SIGNED too long to be answered");
        let without = answering.map(|answering| Answering { echo: None, ..answering });
        self.build(said, without, core, env).outgoing(response, id)
    }

    fn build(
        &self,
        (said, info): (Option<(u32, &Matter)>, Option<EspInfo>),
        answering: Option<Answering<'_>>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Builder {
        let mut builder = Builder::new(PacketType::UPDATE, core.local, core.peer);
        let matter = said.map(|(_, matter)| matter);
        if let Some(info) = info {
            builder.parameter(ParameterType::ESP_INFO, |w| info.write(w));
        }
        if let Some(Matter::Readdress(local)) = matter {
            let locators: Vec<Locator> = local.ip().into_iter().map(|ip| self.locator(ip)).collect();
            builder.parameter(ParameterType::LOCATOR_SET, |w| write_locators(w, &locators));
        }
        if let Some((id, _)) = said {
            builder.parameter(ParameterType::SEQ, |w| w.u32(id));
        }
        if let Some(answering) = answering {
            builder.parameter(ParameterType::ACK, |w| w.u32(answering.id));
        }
        if let Some(Matter::Rekey(Asked { key: Some(key), .. })) = matter {
            builder.parameter(ParameterType::DIFFIE_HELLMAN, |w| exchanged(key).write(w));
        }
        if let Some(Matter::Verify(_, nonce)) = matter {
            builder.parameter(ParameterType::ECHO_REQUEST_SIGNED, |w| w.bytes(nonce));
        }
        if let Some(echo) = answering.and_then(|answering| answering.echo) {
            builder.parameter(ParameterType::ECHO_RESPONSE_SIGNED, |w| w.bytes(echo));
        }
        self.protection.finish(&mut builder, &core.own, env.cx.crypto);
        builder
    }

    const fn locator(&self, address: IpAddr) -> Locator {
        let spi = Some(self.inbound_spi);
        Locator { traffic: 0, is_preferred: true, lifetime: LOCATOR_LIFETIME, spi, address }
    }

    /// The timer of what is outstanding: whether the peer is given up.
    pub(super) fn is_given_up(&mut self, core: &mut Core, env: &mut Env<'_, '_>) -> bool {
        let Some(outstanding) = &mut self.outstanding else { return false };
        match outstanding.retry.due(env.now(), &env.shared.config.retransmission) {
            Due::NotYet => false,
            Due::Again => {
                // RFC 7402 §6.8: acknowledged, it only waits for the peer's part.
                if !outstanding.is_acknowledged {
                    env.transmit(outstanding.route, &outstanding.packet, true);
                }
                false
            }
            // RFC 8046 §5.4: an address from which nothing comes back stays unverified. The association stands if there is
            // another one; a peer that has none is told that it ends where it says that it is.
            Due::GiveUp => match outstanding.matter {
                Matter::Verify(Claim { has_left: false, .. }, _) => {
                    self.outstanding = None;
                    self.say_next(None, core, env);
                    false
                }
                Matter::Verify(claim, _) => {
                    core.route.remote = claim.at;
                    true
                }
                Matter::Rekey(_) | Matter::Readdress(_) => true,
            },
        }
    }
}

fn is_of_one_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_multicast() || ip.is_unspecified() || is_broadcast)
}

/// Where a host is that says it is at this IP address.
// RFC 8046 §3.2.1: in UDP a host may be behind a NAT, and does not know where others see it: they see it where its UPDATE is from.
fn announced(from: Addr, ip: IpAddr) -> Addr {
    match from {
        Addr::Ip { protocol, .. } => Addr::Ip { ip, protocol },
        in_udp => in_udp,
    }
}
