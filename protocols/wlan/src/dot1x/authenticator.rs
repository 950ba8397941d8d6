//! The authenticator's PAE: a port for each station. Read IEEE 802.1X-2020 §8.9, IEEE 802.1X-2004 §8.2.4 and §8.2.8 first.
//!
//! ```text
//!   (station appears, EAPOL-Start) --> AwaitingServer --request--> AwaitingResponse --response--> AwaitingServer
//!                                        |       '--Success--> authorized --reauthPeriod, EAPOL-Start--> AwaitingServer
//!                                        '--Failure--> Held --quietPeriod--> forgotten
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::{Ctx, Deadline, Time};

use super::eap::Header;
use super::port::{AwaitingResponse, AwaitingServer, Due, Port, Retransmission, Session, Wait};
use super::wep_keys::{KeySender, SessionKeys};
use super::{EAP, Eap, Ended, Refused, WepKey};
use crate::MacAddr;
use crate::eapol::pdu::VERSION_2004;
use crate::eapol::{PacketType, Pdu};
use crate::suite::Cipher;

/// How an authenticator treats stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticatorConfig {
    /// The protocol version of its PDUs.
    pub version: u8,
    /// How it repeats EAP requests.
    pub retransmission: Retransmission,
    /// How long the EAP server may take (serverTimeout).
    pub server_period: Duration,
    /// How long a station is not answered after a failure (quietPeriod).
    pub quiet_period: Duration,
    /// How long a conversation runs at least before an EAPOL-Start begins it anew.
    pub restart_pause: Duration,
    /// How long a station is authorized before it authenticates again (reAuthPeriod).
    pub reauthenticate_after: Option<Duration>,
    /// How many authorized stations there may be.
    pub stations_max: usize,
    /// How many others there may be: under authentication, or held after a failure.
    pub strangers_max: usize,
    /// The keys of dynamic WEP, if it gives any.
    pub wep: Option<WepConfig>,
}

/// Dynamic WEP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WepConfig {
    /// WEP-40 or WEP-104.
    pub cipher: Cipher,
    /// How long a station has a key before it gets a new one.
    pub change_after: Option<Duration>,
}

/// IEEE 802.1X-2004 §8.2.4.1.2, §8.2.9.1.2; without reauthentication, which §8.2.8 leaves to the administrator.
impl Default for AuthenticatorConfig {
    fn default() -> Self {
        Self {
            version: VERSION_2004,
            retransmission: Retransmission::default(),
            server_period: Duration::from_secs(30),
            quiet_period: Duration::from_secs(60),
            restart_pause: Duration::from_secs(1),
            reauthenticate_after: None,
            stations_max: 4096,
            strangers_max: 1024,
            wep: None,
        }
    }
}

/// What an authenticator does and reports; each concerns a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthenticatorOutput {
    /// Send it this PDU.
    Send(MacAddr, Vec<u8>),
    /// It is to be authenticated: the EAP server begins, and forgets a conversation with it that it may have.
    EapStart(MacAddr),
    /// Its response, for the EAP server.
    Eap(MacAddr, Vec<u8>),
    /// Its port is authorized. The MSK is there if the method derived one.
    Authorized(MacAddr, Option<Secret>),
    /// It has a new key of dynamic WEP.
    Install(MacAddr, WepKey),
    /// It is not authorized, or not any more. The EAP server forgets it.
    Ended(MacAddr, Ended),
}

/// An authenticator.
#[derive(Debug)]
pub struct Authenticator {
    config: AuthenticatorConfig,
    ports: BTreeMap<MacAddr, Port>,
    /// The earliest of all ports.
    deadline: Option<Deadline>,
    keys: Option<KeySender>,
}

type Outputs = Vec<AuthenticatorOutput>;

impl Authenticator {
    /// An authenticator without stations; the keys of dynamic WEP are drawn from `rng`.
    pub fn new(config: AuthenticatorConfig, rng: Rng) -> Self {
        let keys = config.wep.map(|wep| KeySender::new(wep.cipher, rng));
        Self { config, ports: BTreeMap::new(), deadline: None, keys }
    }

    /// Whether this station is authorized.
    pub fn is_authorized(&self, station: MacAddr) -> bool {
        self.ports.get(&station).is_some_and(|port| port.session.is_some())
    }

    /// How many stations it knows.
    pub fn station_count(&self) -> usize {
        self.ports.len()
    }

    /// The group's key of dynamic WEP.
    pub fn group_key(&self) -> Option<&WepKey> {
        self.keys.as_ref().map(KeySender::group)
    }

    /// Keeps the earliest deadline up to date behind whatever changes ports.
    fn settle<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        let result = change(self);
        self.deadline = self.ports.values().filter_map(Port::deadline).min();
        result
    }

    /// A station has appeared, or is to authenticate again.
    ///
    /// # Errors
    /// It is held after a failure, or there are as many stations as there may be.
    pub fn begin(&mut self, station: MacAddr, cx: &mut Ctx<'_>) -> Result<Outputs, Refused> {
        self.settle(|this| this.start(station, cx))
    }

    fn start(&mut self, station: MacAddr, cx: &mut Ctx<'_>) -> Result<Outputs, Refused> {
        let mut outputs = Vec::new();
        match self.ports.get(&station).map(|port| (&port.wait, port.conversing_since())) {
            Some((Wait::Held { .. }, _)) => return Err(Refused::Held),
            Some((_, Some(since))) if cx.now.since(since) < self.config.restart_pause => {
                return Err(Refused::Unexpected);
            }
            Some(_) => {}
            None => outputs.extend(self.make_room()?),
        }
        let port = self.ports.entry(station).or_insert_with(|| Port {
            wait: Wait::Nothing,
            session: None,
            heard_at: cx.now,
        });
        port.wait = awaiting_server(cx.now, cx.now, &self.config);
        outputs.push(AuthenticatorOutput::EapStart(station));
        Ok(outputs)
    }

    /// Room for one more stranger: if need be, that of the one that has been silent for longest.
    fn make_room(&mut self) -> Result<Option<AuthenticatorOutput>, Refused> {
        let strangers = || self.ports.iter().filter(|(_, port)| port.session.is_none());
        let count = strangers().count();
        if self.ports.len() - count >= self.config.stations_max {
            return Err(Refused::TableFull);
        }
        if count < self.config.strangers_max {
            return Ok(None);
        }
        let silent = strangers().min_by_key(|(_, port)| port.heard_at).map(|(&station, _)| station);
        let silent = silent.ok_or(Refused::TableFull)?;
        self.ports.remove(&silent);
        Ok(Some(AuthenticatorOutput::Ended(silent, Ended::Displaced)))
    }

    /// Handles a PDU of a station. Frames with the RSN key descriptor are not for it.
    ///
    /// # Errors
    /// It is discarded.
    pub fn on_pdu(&mut self, station: MacAddr, bytes: &[u8], cx: &mut Ctx<'_>) -> Result<Outputs, Refused> {
        let pdu = Pdu::read(bytes)?;
        self.settle(|this| match pdu.packet_type {
            PacketType::START => this.start(station, cx),
            PacketType::LOGOFF => this.on_logoff(station),
            PacketType::EAP_PACKET => this.on_eap_packet(station, pdu.body, cx),
            // Dynamic WEP has no EAPOL-Key frames of the station.
            _ => Err(Refused::PacketType),
        })
    }

    fn on_logoff(&mut self, station: MacAddr) -> Result<Outputs, Refused> {
        match self.ports.get(&station).map(|port| &port.wait) {
            None => Err(Refused::Unexpected),
            // A station cannot shorten its quiet period.
            Some(Wait::Held { .. }) => Err(Refused::Held),
            Some(_) => {
                self.ports.remove(&station);
                Ok(vec![AuthenticatorOutput::Ended(station, Ended::LoggedOff)])
            }
        }
    }

    fn on_eap_packet(&mut self, station: MacAddr, body: &[u8], cx: &mut Ctx<'_>) -> Result<Outputs, Refused> {
        let (header, packet) = Header::read(body)?;
        let port = self.ports.get_mut(&station).ok_or(Refused::Unexpected)?;
        let since = match &port.wait {
            Wait::Response(wait) => {
                wait.is_answered_by(header)?;
                wait.since
            }
            Wait::Held { .. } => return Err(Refused::Held),
            Wait::Nothing | Wait::Server(_) => return Err(Refused::Unexpected),
        };
        port.wait = awaiting_server(since, cx.now, &self.config);
        port.heard_at = cx.now;
        cx.crypto.enter(EAP);
        Ok(vec![AuthenticatorOutput::Eap(station, packet.to_vec())])
    }

    /// What the EAP server makes of a station's last response.
    ///
    /// # Errors
    /// It has nothing to answer, or the packet of the server is none that an authenticator sends; then the wait goes on.
    pub fn on_eap(&mut self, station: MacAddr, eap: Eap, cx: &mut Ctx<'_>) -> Result<Outputs, Refused> {
        let Some(Port { wait: Wait::Server(AwaitingServer { since, .. }), .. }) = self.ports.get(&station)
        else {
            return Err(Refused::Unexpected);
        };
        let since = *since;
        self.settle(|this| match eap {
            Eap::Packet(request) => this.request(station, since, request, cx),
            Eap::Success { packet, msk } => Ok(this.authorize(station, &packet, msk, cx)),
            Eap::Failure { packet } => Ok(this.fail(station, &packet, cx)),
        })
    }

    fn request(
        &mut self,
        station: MacAddr,
        since: Time,
        request: Vec<u8>,
        cx: &mut Ctx<'_>,
    ) -> Result<Outputs, Refused> {
        let sent = self.send(station, &request);
        let wait = AwaitingResponse::new(since, request, cx.now, &self.config.retransmission)?;
        if let Some(port) = self.ports.get_mut(&station) {
            port.wait = Wait::Response(wait);
        }
        Ok(vec![sent])
    }

    fn send(&self, station: MacAddr, packet: &[u8]) -> AuthenticatorOutput {
        let version = self.config.version;
        let pdu = Pdu { version, packet_type: PacketType::EAP_PACKET, body: packet };
        AuthenticatorOutput::Send(station, pdu.to_bytes())
    }

    fn authorize(
        &mut self,
        station: MacAddr,
        packet: &[u8],
        msk: Option<Secret>,
        cx: &mut Ctx<'_>,
    ) -> Outputs {
        let keys = msk.as_deref().and_then(SessionKeys::new);
        let reauthenticate_at = self.config.reauthenticate_after.map(|after| cx.now + after);
        let mut outputs = vec![self.send(station, packet), AuthenticatorOutput::Authorized(station, msk)];
        if let Some(port) = self.ports.get_mut(&station) {
            port.wait = Wait::Nothing;
            port.session = Some(Session { keys, reauthenticate_at, change_keys_at: None });
        }
        if let Some(group) = self.group_key().cloned() {
            outputs.extend(self.send_key(station, &group, cx));
            outputs.extend(self.change_unicast(station, cx));
        }
        outputs
    }

    /// A new unicast key for a station whose EAP method derived keys.
    fn change_unicast(&mut self, station: MacAddr, cx: &mut Ctx<'_>) -> Outputs {
        let change_after = self.config.wep.and_then(|wep| wep.change_after);
        let Some(key) = self.keys.as_mut().map(KeySender::unicast) else { return Vec::new() };
        let sent = self.send_key(station, &key, cx);
        let installed = sent.is_some().then_some(AuthenticatorOutput::Install(station, key));
        if let Some(session) = self.ports.get_mut(&station).and_then(|port| port.session.as_mut()) {
            session.change_keys_at = change_after.map(|after| cx.now + after);
        }
        sent.into_iter().chain(installed).collect()
    }

    fn send_key(&mut self, station: MacAddr, key: &WepKey, cx: &mut Ctx<'_>) -> Option<AuthenticatorOutput> {
        let session = self.ports.get(&station)?.session.as_ref()?.keys.as_ref()?;
        let sender = self.keys.as_mut()?;
        let pdu = sender.seal(key, session, self.config.version, cx.now, cx.crypto);
        Some(AuthenticatorOutput::Send(station, pdu))
    }

    /// Gives the group a new key of dynamic WEP, and tells all stations.
    pub fn change_group_key(&mut self, cx: &mut Ctx<'_>) -> Outputs {
        let Some(sender) = &mut self.keys else { return Vec::new() };
        sender.change_group();
        let group = sender.group().clone();
        let stations: Vec<_> = self.ports.keys().copied().collect();
        stations.into_iter().filter_map(|station| self.send_key(station, &group, cx)).collect()
    }

    fn fail(&mut self, station: MacAddr, packet: &[u8], cx: &mut Ctx<'_>) -> Outputs {
        let quiet_period = self.config.quiet_period;
        if quiet_period.is_zero() {
            self.ports.remove(&station);
        } else if let Some(port) = self.ports.get_mut(&station) {
            port.session = None;
            port.wait = Wait::Held { until: cx.now + quiet_period };
        }
        vec![self.send(station, packet), AuthenticatorOutput::Ended(station, Ended::EapFailed)]
    }

    /// A station has gone. One that is held stays so: otherwise it would come back at once and guess on.
    pub fn forget(&mut self, station: MacAddr) {
        if self.ports.get(&station).is_some_and(|port| !port.is_held()) {
            self.settle(|this| this.ports.remove(&station));
        }
    }

    /// When it wants [`Self::tick`].
    pub const fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Does what is due.
    pub fn tick(&mut self, cx: &mut Ctx<'_>) -> Outputs {
        if self.deadline.is_none_or(|deadline| deadline.at > cx.now) {
            return Vec::new();
        }
        let retransmission = self.config.retransmission;
        let due: Vec<_> = self
            .ports
            .iter_mut()
            .map(|(&station, port)| (station, port.due(cx.now, &retransmission)))
            .filter(|(_, due)| *due != Due::Nothing)
            .collect();
        let perform = |this: &mut Self| {
            due.into_iter().flat_map(|(station, due)| this.perform(station, due, cx)).collect()
        };
        self.settle(perform)
    }

    fn perform(&mut self, station: MacAddr, due: Due, cx: &mut Ctx<'_>) -> Outputs {
        match due {
            Due::Nothing => Vec::new(),
            Due::Again(request) => vec![self.send(station, &request)],
            Due::End(why) => {
                self.ports.remove(&station);
                vec![AuthenticatorOutput::Ended(station, why)]
            }
            Due::Released => {
                self.ports.remove(&station);
                Vec::new()
            }
            Due::Reauthenticate => self.start(station, cx).unwrap_or_default(),
            Due::ChangeKeys => self.change_unicast(station, cx),
        }
    }
}

fn awaiting_server(since: Time, now: Time, config: &AuthenticatorConfig) -> Wait {
    Wait::Server(AwaitingServer { since, until: now + config.server_period })
}
