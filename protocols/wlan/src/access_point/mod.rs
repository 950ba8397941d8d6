//! The access point: answers probes, authenticates and associates stations, agrees keys with each, and carries their packets.
//! Read 802.11-2020 §11.3 and §12.6 first; the station's side is in [`crate::station`].
//!
//! The EAP server, or the RADIUS client in front of it, is outside: [`Event::Eap`] and [`Command::Eap`] carry EAP. What a
//! station sends in data frames is [`Event::Packet`]; [`AccessPoint::send`] carries packets to a station.
//!
//! Expiring can fill three tables: of stations that have a challenge to answer, of those that are only authenticated, and of those
//! that have no keys yet. All have a limit and a short life, and an address has one place in each. In a full table the oldest makes room, so that who goes on at once
//! gets in while others flood.

mod admission;
mod challenging;
mod group;
mod member;
mod mobility;
mod rounds;
mod securing;
mod table;
mod told;

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto_api::{Phase, Rng, Secret, Seed};
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output};

use crate::MacAddr;
use crate::bss::{self, Air, BROADCAST, Credential, Heard, Security, Ssid, discard, packet_of, protected};
use crate::dot1x::{self, AuthenticatorConfig, Eap, WepConfig};
use crate::frame::header::{Addresses, DataHeader, Header, ManagementHeader};
use crate::frame::management::subtype;
use crate::frame::{Flags, Frame, Management, ReasonCode};
use crate::handshake::PmksaCache;
use crate::keys::PmkR1;
use crate::sae::{Password, Sae};
use crate::shared_key::Answered;
use crate::transition::{Domain, Pull};
use crate::{rrkm, shared_key};
pub use admission::BEACON_INTERVAL_TU;
use challenging::Challenged;
use group::Group;
use mobility::Mobility;
use rounds::Rounds;
use table::{Expiring, Members};
use told::Told;

/// Data frames.
const DATA: Phase = Phase::TRAFFIC;
/// From probing to association.
const ADMIT: Phase = Phase::new(10, "association");

/// What an access point demands and how many it admits.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its address, which is the BSSID.
    pub address: MacAddr,
    /// The name of its network.
    pub ssid: Ssid,
    /// What it demands of stations.
    pub security: Security,
    /// The PMK that it shares with all stations; none where EAP or SAE makes one for each, and where there are no keys.
    pub pmk: Option<Secret>,
    /// The password of SAE.
    pub password: Option<Password>,
    /// The WEP key that all share, of shared key authentication and of data frames.
    pub shared_key: Option<shared_key::Config>,
    /// The stations' own keys of RRKM, and how often keys change.
    pub rrkm: Option<rrkm::AccessPointConfig>,
    /// The mobility domain, under an AKM with fast transition.
    pub domain: Option<Domain>,
    /// Of how many stations it keeps the PMK for the next association, which then needs neither EAP nor SAE.
    pub pmksas_max: usize,
    /// How many stations it admits; 802.11-2020 §9.4.1.8 has numbers for 2007.
    pub members_max: usize,
    /// How many others there may be that are authenticated only, and how many without keys yet.
    pub strangers_max: usize,
    /// How long a station whose EAP has failed is not judged again (quietPeriod of 802.1X), whether or not it associates anew. It slows
    /// down who guesses passwords under one address and hears the verdict; who sends under the address of another can have that held.
    pub quiet_period: Duration,
}

impl Config {
    /// As many stations as there are numbers for, and 512 others.
    pub const fn new(address: MacAddr, ssid: Ssid, security: Security, pmk: Option<Secret>) -> Self {
        let (members_max, strangers_max, pmksas_max) = (2007, 512, 0);
        let (password, shared_key, rrkm, domain) = (None, None, None, None);
        // IEEE 802.1X-2004 §8.2.4.1.2.
        let quiet_period = Duration::from_secs(60);
        Self {
            address,
            ssid,
            security,
            pmk,
            password,
            shared_key,
            rrkm,
            domain,
            pmksas_max,
            members_max,
            strangers_max,
            quiet_period,
        }
    }
}

/// What may be asked of an access point.
#[derive(Debug)]
pub enum Command {
    /// What the EAP server makes of a station's last packet.
    Eap(MacAddr, Eap),
    /// A station has to leave.
    Disconnect(MacAddr),
    /// A station has moved to another access point: it is forgotten without a word, as if it had left by itself.
    Forget(MacAddr),
    /// What the holder of a PMK-R0 has answered to [`ToOthers::Pull`].
    PmkR1(Pull, Option<PmkR1>),
    /// The keys of the group change.
    ChangeGroupKeys,
}

/// What an access point tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A station is to be authenticated: the EAP server begins, and forgets a conversation that it may have with it.
    EapStart(MacAddr),
    /// A packet of a station for the EAP server.
    Eap(MacAddr, Vec<u8>),
    /// A station is a member of the network.
    Joined(MacAddr),
    /// A station is a member no more, or did not become one.
    Ended(MacAddr, Ended),
    /// An IP packet of a station.
    Packet(MacAddr, Vec<u8>),
}

/// What an access point has to say to others of its network, over the distribution system: how, the standard leaves open, and where
/// there is no other nobody needs to listen.
#[derive(Debug, PartialEq, Eq)]
pub enum ToOthers {
    /// A station has come from this other access point, which is to forget it ([`Command::Forget`]).
    CameFrom(MacAddr, MacAddr),
    /// A station wants to come from another access point of the mobility domain, whose holder is to be asked for the PMK-R1
    /// ([`AccessPoint::pmk_r1`]); [`Command::PmkR1`] answers.
    Pull(Pull),
}

/// Why a station is no member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It has left, for this reason code.
    #[error("station has left for reason {0}")]
    Left(u16),
    /// It has associated anew.
    #[error("associated anew")]
    Anew,
    /// Others took its place before it had keys.
    #[error("displaced")]
    Displaced,
    /// Its authentication by a challenge has failed.
    #[error("authentication: {0}")]
    Authentication(shared_key::Failure),
    /// SAE has failed.
    #[error("SAE: {0}")]
    Sae(crate::sae::Failure),
    /// So many keys of RRKM were missed that it has to authenticate again.
    #[error("{0}")]
    MissedEpochs(rrkm::MissedTooMany),
    /// Its authentication has failed.
    #[error("{0}")]
    Dot1x(#[from] dot1x::Ended),
    /// The handshake has failed.
    #[error("{0}")]
    Handshake(#[from] crate::handshake::Reason),
    /// EAP made no key, or a short one.
    #[error("EAP without a key")]
    NoKey,
    /// The owner has asked for it.
    #[error("disconnected")]
    Asked,
}

/// The reason with which a station that moves leaves.
const MOVED: Ended = Ended::Left(ReasonCode::LEAVING_NETWORK_DISASSOC.0);

/// How long the EAP server may take: somewhat less than the half minute for which a supplicant waits (authPeriod), so that it is the
/// access point that says who is silent, and no EAPOL-Start comes between.
const SERVER_PERIOD: Duration = Duration::from_secs(25);

/// How long a station may take from a challenge to its answer, and from authentication to association.
const STRANGER_LIFE: Duration = Duration::from_secs(5);

/// An access point.
#[derive(Debug)]
pub struct AccessPoint {
    config: Config,
    air: Air,
    rng: Rng,
    /// Stations that have a challenge to answer.
    challenged: Expiring<Challenged>,
    /// Stations that have authenticated and not associated.
    authenticated: Expiring<Authenticated>,
    members: Members,
    told: Told,
    group: Group,
    rounds: Option<Rounds>,
    dot1x: Option<dot1x::Authenticator>,
    sae: Option<Sae>,
    pmksas: PmksaCache,
    mobility: Option<Mobility>,
    to_others: VecDeque<ToOthers>,
    out: VecDeque<Output<Event>>,
}

/// A station that has authenticated and not associated.
#[derive(Debug)]
struct Authenticated {
    credential: Credential,
    /// What it was told, if it answered a challenge.
    answered: Option<Answered>,
}

impl AccessPoint {
    /// An access point whose random stream is named `{name}/wlan`.
    pub fn new(config: Config, seed: &Seed, name: &str) -> Self {
        let mut rng = seed.stream(&format!("{name}/wlan"));
        let wep = config.security.dynamic_wep().map(|cipher| WepConfig { cipher, change_after: None });
        let ports = AuthenticatorConfig {
            stations_max: config.members_max,
            strangers_max: config.strangers_max,
            quiet_period: config.quiet_period,
            server_period: SERVER_PERIOD,
            wep,
            ..AuthenticatorConfig::default()
        };
        let dot1x = config
            .security
            .has_eap()
            .then(|| dot1x::Authenticator::new(ports, seed.stream(&format!("{name}/dot1x"))));
        let password = config.password.clone().filter(|_| config.security.has_sae());
        let sae = password
            .map(|password| bss::sae(config.address, true, password, seed.stream(&format!("{name}/sae"))));
        let domain = config.domain.clone().filter(|_| config.security.has_fast_transition());
        let mobility = domain.map(|domain| Mobility::new(domain, config.members_max, config.strangers_max));
        let (strangers_max, pmksas) = (config.strangers_max, PmksaCache::new(config.pmksas_max));
        Self {
            air: Air::new(config.address),
            group: Group::new(&config, &mut rng),
            rounds: rounds(&config, &mut rng),
            config,
            rng,
            challenged: Expiring::new(strangers_max, STRANGER_LIFE),
            authenticated: Expiring::new(strangers_max, STRANGER_LIFE),
            members: Members::default(),
            told: Told::new(),
            dot1x,
            sae,
            pmksas,
            mobility,
            to_others: VecDeque::new(),
            out: VecDeque::new(),
        }
    }

    /// The next that it has to say to other access points; what nobody takes is forgotten in time.
    pub fn poll_to_others(&mut self) -> Option<ToOthers> {
        self.to_others.pop_front()
    }

    fn tell_others(&mut self, what: ToOthers) {
        if self.to_others.len() >= self.config.strangers_max {
            self.to_others.pop_front();
        }
        self.to_others.push_back(what);
    }

    /// How many stations are members.
    pub fn member_count(&self) -> usize {
        self.members.len() - self.members.keyless_count()
    }

    /// How many stations it knows that are no members.
    pub fn stranger_count(&self) -> usize {
        let transits = self.mobility.as_ref().map_or(0, Mobility::transit_count);
        self.challenged.len() + self.authenticated.len() + self.members.keyless_count() + transits
    }

    /// Whether a station is a member.
    pub fn is_member(&self, station: MacAddr) -> bool {
        self.members.get(station).is_some_and(|member| member.link.is_member)
    }

    /// A packet in a frame to a station; none if it is no member, or the packet is none.
    pub fn send(&mut self, station: MacAddr, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.follow_epochs(cx);
        cx.crypto.enter(DATA);
        let body = packet_of(packet)?;
        let member = self.members.get_mut(station).filter(|member| member.link.is_member)?;
        member.link.send(body, Protocol::FRAMES, &mut self.air, cx)
    }

    /// A packet in a frame to all stations; none if there is no key of the group where there has to be one.
    pub fn send_to_all(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.follow_epochs(cx);
        cx.crypto.enter(DATA);
        let mut body = packet_of(packet)?;
        let bssid = self.air.own;
        let addresses = Addresses::FromAccessPoint { destination: BROADCAST, bssid, source: bssid };
        let mut header = self.air.data(addresses);
        match &mut self.rounds {
            Some(rounds) => {
                header.flags = protected(header.flags);
                rounds.seal(&mut body, cx);
            }
            None => self.group.seal(&mut header, &mut body, cx.crypto)?,
        }
        Some(self.air.frame(Header::Data(header), &body, Protocol::FRAMES))
    }

    fn on_frame(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) {
        let Ok(frame) = Frame::read(bytes) else {
            return cx.discard(Protocol::MANAGEMENT, "not a frame");
        };
        match frame.header {
            Header::Management(header) => self.on_management(header, frame.body, cx),
            Header::Data(header) => self.on_data(header, frame.body, cx),
            Header::Control(_) => {}
        }
    }

    fn on_data(&mut self, header: DataHeader, body: &[u8], cx: &mut Ctx<'_>) {
        let Addresses::ToAccessPoint { bssid, source, .. } = header.addresses else {
            return cx.discard(Protocol::FRAMES, "not to an access point");
        };
        if bssid != self.air.own || header.is_null() {
            return;
        }
        // Whoever is not associated is told so: in everybody's name all would be.
        if !self.is_sender(source) {
            return cx.discard(Protocol::FRAMES, "sent by a group or by ourselves");
        }
        let Some(member) = self.members.get_mut(source) else {
            // 802.11-2020 §11.3.5.8: a station that is not associated is told so.
            self.deauthenticate(source, ReasonCode::INVALID_CLASS3_FRAME, cx);
            return cx.discard(Protocol::FRAMES, "data without an association");
        };
        cx.crypto.enter(DATA);
        match member.link.heard(&Header::Data(header), false, body, cx) {
            Ok(Heard::Eapol(pdu)) => self.on_eapol(source, &pdu, cx),
            Ok(Heard::Packet(packet)) => {
                self.out.push_back(Output::Event(Event::Packet(source, packet)));
            }
            Err(why) => discard(Protocol::FRAMES, &why, cx),
        }
    }

    // 802.11-2020 §9.2.2: no group sends anything.
    /// Whether a station may have this address.
    fn is_sender(&self, address: MacAddr) -> bool {
        address[0] & 1 == 0 && address != self.air.own
    }

    fn on_management(&mut self, header: ManagementHeader, body: &[u8], cx: &mut Ctx<'_>) {
        cx.crypto.enter(ADMIT);
        self.forget_strangers(cx);
        let station = header.source;
        if !self.is_sender(station) {
            return cx.discard(Protocol::MANAGEMENT, "sent by a group or by ourselves");
        }
        if !self.air.is_for_access_point(&header) {
            return cx.discard(Protocol::MANAGEMENT, "for another access point");
        }
        // Authentication frames are not among those that keys protect.
        if header.subtype == subtype::AUTHENTICATION && self.config.security.has_challenge() {
            return self.on_challenging(station, header.flags.has(Flags::PROTECTED), body, cx);
        }
        let opened;
        let body = match self.members.get_mut(station) {
            Some(member) => match member.link.open_management(&header, body, cx) {
                Ok(body) => {
                    opened = body;
                    &opened[..]
                }
                Err(why) => return discard(Protocol::MANAGEMENT, &why, cx),
            },
            None if header.flags.has(Flags::PROTECTED) => {
                return cx.discard(Protocol::MANAGEMENT, "protected without a key");
            }
            None => body,
        };
        match Management::read(header.subtype, body) {
            Ok(body) => self.admit(station, &body, cx),
            Err(why) => discard(Protocol::MANAGEMENT, &why, cx),
        }
    }

    /// Sends a deauthentication in the clear, to a station without keys, unless many were sent just now.
    fn deauthenticate(&mut self, station: MacAddr, reason: ReasonCode, cx: &mut Ctx<'_>) {
        if !self.told.allows(station, cx.now) {
            return;
        }
        let body = Management::Deauthentication(crate::frame::management::Farewell::new(reason));
        let frame = self.air.manage((station, self.air.own), &body, false, cx.trace);
        self.out.push_back(Output::Datagram(frame));
    }

    /// Those whose time is over. A frame may come before the tick that is due.
    fn forget_strangers(&mut self, cx: &mut Ctx<'_>) {
        while self.authenticated.pop_over(cx.now).is_some() {}
        while let Some((station, _)) = self.challenged.pop_over(cx.now) {
            self.fail(station, shared_key::Failure::Timeout, cx);
        }
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.forget_strangers(cx);
        self.mobility.iter_mut().for_each(|mobility| mobility.expire(cx.now));
        if let Some(sae) = &mut self.sae {
            let outputs = sae.tick(cx);
            self.on_sae(outputs, cx);
        }
        self.tick_securing(cx);
    }
}

impl Engine for AccessPoint {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        self.follow_epochs(cx);
        match input {
            Input::Datagram { to: Addr::Mac(_), bytes, .. } => self.on_frame(bytes, cx),
            Input::Command(Command::Eap(station, eap)) => self.on_eap(station, eap, cx),
            Input::Command(Command::Disconnect(station)) => self.disconnect(station, cx),
            Input::Command(Command::Forget(station)) => self.forget(station),
            Input::Command(Command::PmkR1(pull, key)) => self.on_pulled(&pull, key, cx),
            Input::Command(Command::ChangeGroupKeys) => self.change_group_keys(cx),
            Input::Tick => self.tick(cx),
            // Packets are for a station, which `send` is told of. No input leaves anything half-done but the station that it is
            // of, whose handshake or EAP conversation ends by its own deadline.
            Input::Inner(_) | Input::Recover => {}
            // It has neither streams nor other datagrams than frames.
            Input::Datagram { .. } | Input::Secured { .. } | Input::Lost { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let of_authenticated = self.authenticated.ends_at();
        let of_authenticated =
            of_authenticated.map(|at| Deadline { at, why: "association of an authenticated station" });
        let of_challenged = self.challenged.ends_at().map(|at| Deadline { at, why: "answer to a challenge" });
        let of_ports = self.dot1x.as_ref().and_then(dot1x::Authenticator::deadline);
        let of_sae = self.sae.as_ref().and_then(Sae::deadline);
        let of_keys = self.next_key_at().map(|at| Deadline { at, why: "next key" });
        let of_transits = self.mobility.as_ref().and_then(Mobility::ends_at);
        let of_transits = of_transits.map(|at| Deadline { at, why: "reassociation" });
        let of_members = self.members.deadline();
        [of_transits, of_authenticated, of_challenged, of_ports, of_sae, of_keys, of_members]
            .into_iter()
            .flatten()
            .min()
    }
}

/// The cell of RRKM, in a network that has it.
fn rounds(config: &Config, rng: &mut Rng) -> Option<Rounds> {
    let Security::Rrkm(cipher) = config.security else { return None };
    Some(Rounds::new(config.rrkm.clone()?, cipher, rng))
}
