//! The station: finds its network, authenticates, associates, has its keys agreed on, and moves to other access points. Read
//! 802.11-2020 §11.3 (authentication and association) and §12.6 (robust security network associations) first.
//!
//! EAP is outside: [`Event::Eap`] and [`Command::Eap`] carry it. IP packets are [`Input::Inner`] and [`Output::Inner`].

mod challenged;
mod joining;
mod proving;
mod roaming;
mod securing;

use std::collections::VecDeque;

use keytoll_crypto_api::{Phase, Rng, Secret, Seed};
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Ctx, Deadline, Engine, Input, Output, Time};

use crate::MacAddr;
use crate::bss::{Air, Credential, Heard, Security, Ssid, discard, packet_of};
use crate::dot1x::Eap;
use crate::frame::header::{Addresses, Header};
use crate::frame::management::{Action, Farewell, subtype};
use crate::frame::{
    AuthenticationAlgorithm, Flags, Frame, Management, ManagementHeader, ReasonCode, StatusCode,
};
use crate::handshake::PmksaCache;
use crate::sae::Password;
use crate::transition::station::Membership;
use crate::{rrkm, shared_key};
use challenged::{AwaitingChallenge, AwaitingResult};
use joining::{Associating, Authenticated, Authenticating, Found, Probing};
use proving::Proving;
use roaming::{Reassociating, Transiting};
use securing::Secured;

/// Data frames.
const DATA: Phase = Phase::TRAFFIC;
/// From probing to association.
const JOIN: Phase = Phase::new(10, "association");

/// In how many beacons a station that sleeps looks for frames. Ours do not sleep.
const LISTEN_INTERVAL: u16 = 10;

/// What a station knows before it joins.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its address.
    pub address: MacAddr,
    /// The name of its network.
    pub ssid: Ssid,
    /// What it demands of its network.
    pub security: Security,
    /// The PMK that it shares with the network; none where EAP or SAE makes one, and where there are no keys.
    pub pmk: Option<Secret>,
    /// The password of SAE.
    pub password: Option<Password>,
    /// The WEP key that all share, of shared key authentication and of data frames.
    pub shared_key: Option<shared_key::Config>,
    /// Its own key of RRKM.
    pub rrkm: Option<rrkm::StationConfig>,
    /// Of how many access points it keeps the PMK for the next association, which then needs neither EAP nor SAE.
    pub pmksas_max: usize,
}

impl Config {
    /// A station that has a PMK or nothing.
    pub const fn new(address: MacAddr, ssid: Ssid, security: Security, pmk: Option<Secret>) -> Self {
        let (password, shared_key, rrkm, pmksas_max) = (None, None, None, 0);
        Self { address, ssid, security, pmk, password, shared_key, rrkm, pmksas_max }
    }
}

/// What may be asked of a station.
#[derive(Debug)]
pub enum Command {
    /// Join the network, unless it has joined it or tries to.
    Join,
    /// Move to another access point of the network, as a member. Until it has joined there ([`Event::Joined`] again), nothing is
    /// carried; if that fails, it is a member no more.
    Roam(MacAddr),
    /// Leave the network.
    Leave,
    /// What the EAP peer makes of the last packet.
    Eap(Eap),
}

/// What a station tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The EAP peer begins, and forgets a conversation that it may have.
    EapStart,
    /// A packet for the EAP peer.
    Eap(Vec<u8>),
    /// It is a member of the network of this access point: packets are carried.
    Joined(MacAddr),
    /// It did not become a member.
    Failed(Failure),
    /// It is a member no more.
    Left(Failure),
}

/// Why a station is no member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody has answered.
    #[error("timeout")]
    Timeout,
    /// The network protects in another way.
    #[error("no suite in common")]
    NoCommonSuite,
    /// The access point refused, with this status code.
    #[error("refused with status {0}")]
    Refused(u16),
    /// The access point has ended it, with this reason code.
    #[error("deauthenticated for reason {0}")]
    Ended(u16),
    /// SAE has failed.
    #[error("SAE: {0}")]
    Sae(crate::sae::Failure),
    /// An authentication by a challenge has failed.
    #[error("authentication: {0}")]
    Authentication(shared_key::Failure),
    /// So many keys of RRKM were missed that it has to authenticate again.
    #[error("{0}")]
    MissedEpochs(rrkm::MissedTooMany),
    /// EAP has failed.
    #[error("EAP failed")]
    EapFailed,
    /// EAP made no key, or a short one; or there is none to begin with.
    #[error("no key")]
    NoKey,
    /// The handshake has failed.
    #[error("{0}")]
    Handshake(crate::handshake::Reason),
    /// The owner has asked for it.
    #[error("left")]
    Asked,
}

/// A station.
#[derive(Debug)]
pub struct Station {
    config: Config,
    air: Air,
    rng: Rng,
    pmksas: PmksaCache,
    /// In the mobility domain of its network.
    membership: Option<Membership>,
    state: State,
    out: VecDeque<Output<Event>>,
}

/// What it waits for.
#[derive(Debug)]
enum State {
    Idle,
    Probing(Probing),
    Authenticating(Authenticating),
    Proving(Box<Proving>),
    Challenged(Box<AwaitingChallenge>),
    Answered(Box<AwaitingResult>),
    Associating(Associating),
    Transiting(Box<Transiting>),
    Reassociating(Box<Reassociating>),
    /// Associated; a member once the keys are there.
    Associated(Box<Secured>),
}

impl Station {
    /// A station whose random stream is named `{name}/wlan`.
    pub fn new(config: Config, seed: &Seed, name: &str) -> Self {
        let rng = seed.stream(&format!("{name}/wlan"));
        let air = Air::new(config.address);
        let pmksas = PmksaCache::new(config.pmksas_max);
        let (membership, state, out) = (None, State::Idle, VecDeque::new());
        Self { config, air, rng, pmksas, membership, state, out }
    }

    /// Whether it is a member of its network.
    pub fn is_member(&self) -> bool {
        matches!(&self.state, State::Associated(secured) if secured.link.is_member)
    }

    /// Whether it is a member or tries to become one.
    pub const fn is_busy(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// It authenticates anew next time, whatever PMKs it has kept.
    pub fn forget_pmksas(&mut self) {
        self.pmksas = PmksaCache::new(self.config.pmksas_max);
    }

    /// A packet in a frame to the access point, which passes it on; none if it is no member, or the packet is none.
    pub fn send(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Option<keytoll_engine::Datagram> {
        self.follow_epochs(cx);
        let State::Associated(secured) = &mut self.state else { return None };
        if !secured.link.is_member {
            return None;
        }
        cx.crypto.enter(DATA);
        let body = packet_of(packet)?;
        secured.link.send(body, Protocol::FRAMES, &mut self.air, cx)
    }

    fn join(&mut self, cx: &mut Ctx<'_>) {
        if self.is_busy() {
            return;
        }
        cx.crypto.enter(JOIN);
        let probing = Probing::begin(&self.config, None, (&mut self.air, &mut self.out), cx);
        self.state = State::Probing(probing);
    }

    fn leave(&mut self, cx: &mut Ctx<'_>) {
        let was_member = self.was_member();
        self.membership = None;
        if let State::Associated(mut secured) = std::mem::replace(&mut self.state, State::Idle) {
            let reason = ReasonCode::LEAVING_NETWORK_DEAUTH;
            self.out.extend(secured.farewell(reason, &mut self.air, cx).map(Output::Datagram));
        }
        if was_member {
            self.out.push_back(Output::Event(Event::Left(Failure::Asked)));
        }
    }

    fn on_frame(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) {
        let Ok(frame) = Frame::read(bytes) else {
            return cx.discard(Protocol::MANAGEMENT, "not a frame");
        };
        match frame.header {
            Header::Management(header) => self.on_management(header, frame.body, cx),
            Header::Data(header) => {
                let Addresses::FromAccessPoint { destination, bssid, .. } = header.addresses else {
                    return cx.discard(Protocol::FRAMES, "not from an access point");
                };
                let State::Associated(secured) = &mut self.state else {
                    return cx.discard(Protocol::FRAMES, "data without an association");
                };
                if bssid != secured.link.peer {
                    return cx.discard(Protocol::FRAMES, "data of another access point");
                }
                cx.crypto.enter(DATA);
                let is_to_group = destination[0] & 1 == 1;
                match secured.link.heard(&Header::Data(header), is_to_group, frame.body, cx) {
                    Ok(Heard::Eapol(pdu)) => self.on_eapol(&pdu, cx),
                    Ok(Heard::Packet(packet)) => self.out.push_back(Output::Inner(packet)),
                    Err(why) => discard(Protocol::FRAMES, &why, cx),
                }
            }
            Header::Control(_) => {}
        }
    }

    fn on_management(&mut self, header: ManagementHeader, body: &[u8], cx: &mut Ctx<'_>) {
        cx.crypto.enter(JOIN);
        if !self.air.is_for_station(&header) {
            return cx.discard(Protocol::MANAGEMENT, "for another station, or of no access point");
        }
        if self.waits_for_challenge() && header.subtype == subtype::AUTHENTICATION && self.is_ours(&header) {
            return self.on_challenged(body, cx);
        }
        let opened;
        let body = match &mut self.state {
            State::Associated(secured) if header.source == secured.link.peer => {
                match secured.link.open_management(&header, body, cx) {
                    Ok(body) => {
                        opened = body;
                        &opened[..]
                    }
                    Err(why) => return discard(Protocol::MANAGEMENT, &why, cx),
                }
            }
            _ if header.flags.has(Flags::PROTECTED) => {
                return cx.discard(Protocol::MANAGEMENT, "protected without a key");
            }
            _ => body,
        };
        let Ok(body) = Management::read(header.subtype, body) else {
            return cx.discard(Protocol::MANAGEMENT, "unreadable");
        };
        match body {
            Management::Deauthentication(farewell) | Management::Disassociation(farewell) => {
                self.on_farewell(header, &farewell, cx);
            }
            Management::Action(Action::SaQuery(query)) if !query.is_response => {
                let State::Associated(secured) = &mut self.state else { return };
                let frame = secured.answer(&query, &mut self.air, cx);
                self.out.extend(frame.map(Output::Datagram));
            }
            body => self.on_answer(header, &body, cx),
        }
    }

    fn on_farewell(&mut self, header: ManagementHeader, farewell: &Farewell<'_>, cx: &mut Ctx<'_>) {
        if self.bssid() != Some(header.source) {
            return cx.discard(Protocol::MANAGEMENT, "farewell of another access point");
        }
        self.end(Failure::Ended(farewell.reason.0));
    }

    /// The access point that it has to do with.
    const fn bssid(&self) -> Option<MacAddr> {
        match &self.state {
            State::Idle | State::Probing(_) => None,
            State::Authenticating(wait) => Some(wait.authenticated.found.bssid),
            State::Proving(wait) => Some(wait.found.bssid),
            State::Challenged(wait) => Some(wait.found.bssid),
            State::Answered(wait) => Some(wait.found.bssid),
            State::Associating(wait) => Some(wait.authenticated.found.bssid),
            State::Transiting(wait) => Some(wait.found.bssid),
            State::Reassociating(wait) => Some(wait.found.bssid),
            State::Associated(secured) => Some(secured.link.peer),
        }
    }

    /// Whether it is a member, or was until it began to roam.
    fn was_member(&self) -> bool {
        let from = match &self.state {
            State::Probing(wait) => wait.roam.map(|roam| roam.from),
            State::Authenticating(wait) => wait.authenticated.found.from,
            State::Proving(wait) => wait.found.from,
            State::Challenged(wait) => wait.found.from,
            State::Answered(wait) => wait.found.from,
            State::Associating(wait) => wait.authenticated.found.from,
            State::Transiting(wait) => wait.found.from,
            State::Reassociating(wait) => wait.found.from,
            State::Associated(secured) => secured.from,
            State::Idle => None,
        };
        from.is_some() || self.is_member()
    }

    /// Whether the access point that it has to do with has sent it in the clear.
    fn is_ours(&self, header: &ManagementHeader) -> bool {
        self.bssid() == Some(header.source) && !header.flags.has(Flags::PROTECTED)
    }

    const fn waits_for_challenge(&self) -> bool {
        matches!(self.state, State::Challenged(_) | State::Answered(_))
    }

    /// It is over, for this reason.
    fn end(&mut self, why: Failure) {
        let was_member = self.was_member();
        self.membership = None;
        if let State::Associated(secured) = std::mem::replace(&mut self.state, State::Idle)
            && !was_member
        {
            // Its PMK may be the reason.
            self.pmksas.remove(secured.link.peer);
        }
        let event = if was_member { Event::Left(why) } else { Event::Failed(why) };
        self.out.push_back(Output::Event(event));
    }

    /// A frame that may be what it waits for.
    fn on_answer(&mut self, header: ManagementHeader, body: &Management<'_>, cx: &mut Ctx<'_>) {
        let is_of_ours = self.bssid() == Some(header.source);
        let taken = match (&mut self.state, body) {
            (State::Probing(wait), Management::Beacon(beacon)) => {
                joining::on_beacon(&self.config, wait.roam, header, beacon)
                    .map(|found| found.map(|found| self.authenticate(found, cx)))
            }
            (_, Management::Beacon(beacon)) => return self.on_timer(header.source, beacon.timestamp_us, cx),
            (State::Proving(wait), Management::Authentication(frame))
                if is_of_ours && frame.algorithm == AuthenticationAlgorithm::SAE =>
            {
                let outputs = wait.on_frame(frame, cx);
                return self.on_sae(outputs, cx);
            }
            (State::Authenticating(wait), Management::Authentication(answer)) if is_of_ours => {
                wait.on_answer(answer).map(|done| done.map(|done| self.associate(done, cx)))
            }
            (State::Associating(wait), Management::AssociationResponse(answer)) if is_of_ours => {
                if wait.comes_back(answer, cx.now) {
                    return;
                }
                let secured = wait.on_answer(&self.config, answer, &mut self.rng, cx);
                secured.map(|done| done.map(|secured| self.begin_securing(secured)))
            }
            (State::Transiting(wait), Management::Authentication(answer)) if is_of_ours => {
                let air = (&mut self.air, &mut self.out);
                let next = wait.on_answer(&self.config, answer, air, cx);
                next.map(|next| next.map(|next| self.state = State::Reassociating(Box::new(next))))
            }
            (State::Reassociating(wait), Management::AssociationResponse(answer)) if is_of_ours => {
                wait.on_answer(answer, cx).map(|agreed| agreed.map(|agreed| self.moved(agreed, cx)))
            }
            _ => Ok(None),
        };
        match taken {
            Ok(Some(())) => {}
            Ok(None) => cx.discard(Protocol::MANAGEMENT, "nobody waits for it"),
            Err(why) => self.refused(why, cx),
        }
    }

    /// It has found its network, and authenticates as that demands.
    fn authenticate(&mut self, found: Found, cx: &mut Ctx<'_>) {
        if let Some(membership) = self.membership(&found) {
            return self.transit(found, membership, cx);
        }
        let credential = self.credential(&found, cx.now);
        if self.config.security.has_sae() && credential.cached().is_none() {
            return self.prove(found, cx);
        }
        let (config, air, out) = (&self.config, &mut self.air, &mut self.out);
        if !config.security.has_challenge() {
            let authenticated = Authenticated { found, credential };
            self.state = State::Authenticating(Authenticating::begin(authenticated, air, out, cx));
            return;
        }
        match AwaitingChallenge::begin(config, found, (air, out), cx) {
            Ok(wait) => self.state = State::Challenged(Box::new(wait)),
            Err(why) => self.end(why),
        }
    }

    // 802.11-2020 §12.6.10.3: a station that has a PMKSA authenticates as in an open system.
    /// What it has of this access point already.
    fn credential(&self, found: &Found, now: Time) -> Credential {
        let akm = self.config.security.rsn().map(|rsn| rsn.akm);
        let cached = akm.and_then(|akm| self.pmksas.of_peer(found.bssid, akm, now));
        cached.map_or(Credential::None, |pmksa| Credential::Cached(pmksa.pmk.clone(), pmksa.pmkid))
    }

    /// The access point refuses to associate it. If it has forgotten a PMK that we have not, we authenticate anew.
    fn refused(&mut self, why: Failure, cx: &mut Ctx<'_>) {
        if matches!(self.state, State::Transiting(_)) {
            return self.associate_instead(cx);
        }
        if let (State::Associating(wait), Failure::Refused(status)) = (&self.state, why)
            && StatusCode(status) == StatusCode::INVALID_PMKID
            && wait.authenticated.credential.cached().is_some()
        {
            let found = wait.authenticated.found.clone();
            self.pmksas.remove(found.bssid);
            return self.authenticate(found, cx);
        }
        self.end(why);
    }

    /// The body of an authentication frame with a challenge, or with what came of our answer.
    fn on_challenged(&mut self, body: &[u8], cx: &mut Ctx<'_>) {
        let (config, air) = (&self.config, (&mut self.air, &mut self.out));
        let done = match &self.state {
            State::Challenged(wait) => wait.on_challenge(body, &mut self.rng, air, cx).map(|next| {
                next.into_iter().for_each(|next| self.state = State::Answered(Box::new(next)));
            }),
            State::Answered(wait) => wait.on_result(config, body, air, cx).map(|done| {
                done.into_iter().for_each(|done| self.associate(done, cx));
            }),
            _ => return,
        };
        if let Err(why) = done {
            self.end(why);
        }
    }

    /// The access point has authenticated it.
    fn associate(&mut self, authenticated: Authenticated, cx: &mut Ctx<'_>) {
        let air = (&mut self.air, &mut self.out);
        self.state = State::Associating(Associating::begin(&self.config, authenticated, air, cx));
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        if self.deadline().is_none_or(|deadline| deadline.at > cx.now) {
            return;
        }
        cx.crypto.enter(JOIN);
        let (config, air, out) = (&self.config, &mut self.air, &mut self.out);
        let is_alive = match &mut self.state {
            State::Idle => true,
            State::Probing(wait) => wait.again(config, air, out, cx),
            State::Authenticating(wait) => wait.again(air, out, cx),
            State::Proving(wait) => {
                let outputs = wait.sae.tick(cx);
                return self.on_sae(outputs, cx);
            }
            State::Challenged(wait) => wait.again(air, out, cx),
            State::Answered(wait) => wait.again(air, out, cx),
            State::Associating(wait) => wait.again(config, air, out, cx),
            State::Transiting(wait) => wait.again(air, out, cx),
            State::Reassociating(wait) => wait.again(config, air, out, cx),
            State::Associated(_) => return self.tick_securing(cx),
        };
        if !is_alive {
            self.end(Failure::Timeout);
        }
    }
}

impl Engine for Station {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        self.follow_epochs(cx);
        match input {
            Input::Datagram { to: Addr::Mac(_), bytes, .. } => self.on_frame(bytes, cx),
            Input::Inner(packet) => match self.send(packet, cx) {
                Some(frame) => self.out.push_back(Output::Datagram(frame)),
                None => cx.discard(Protocol::FRAMES, "no association for it"),
            },
            Input::Command(Command::Join) => self.join(cx),
            Input::Command(Command::Roam(to)) => self.roam(to, cx),
            Input::Command(Command::Leave) => self.leave(cx),
            Input::Command(Command::Eap(eap)) => self.on_eap(eap, cx),
            Input::Tick => self.tick(cx),
            // The one association may be half-done.
            Input::Recover => {
                if self.is_busy() {
                    self.end(Failure::Timeout);
                }
            }
            // It has neither streams nor other datagrams than frames.
            Input::Datagram { .. } | Input::Secured { .. } | Input::Lost { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let (at, why) = match &self.state {
            State::Idle => return None,
            State::Probing(wait) => (wait.attempt.again_at, "probe response"),
            State::Authenticating(wait) => (wait.attempt.again_at, "authentication"),
            State::Proving(wait) => return wait.sae.deadline(),
            State::Challenged(wait) => (wait.attempt.again_at, "challenge"),
            State::Answered(wait) => (wait.attempt.again_at, "result of the authentication"),
            State::Associating(wait) => (wait.attempt.again_at, "association response"),
            State::Transiting(wait) => (wait.attempt.again_at, "answer of the fast transition"),
            State::Reassociating(wait) => (wait.attempt.again_at, "reassociation response"),
            State::Associated(secured) => return secured.deadline(),
        };
        Some(Deadline { at, why })
    }
}
