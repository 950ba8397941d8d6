//! The supplicant's PAE. Read IEEE 802.1X-2020 §8.6 and IEEE 802.1X-2004 §8.2.11 first.
//!
//! ```text
//!   Idle --start--> Connecting --EAP request--> Authenticating --Success--> Authenticated --logoff--> Idle
//!                   |      ^                     |     |                       |
//!                   '-Start'  <----silence-------'     '--Failure--> Held      '--EAP request--> Authenticating
//!                                                                     '--in a while--> Connecting
//! ```

use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_engine::{Ctx, Deadline, Time};

use super::eap::{Code, Header};
use super::wep_keys::{KeyReceiver, SessionKeys};
use super::{EAP, Eap, Refused, WepKey};
use crate::eapol::pdu::VERSION_2004;
use crate::eapol::{PacketType, Pdu};

/// How a supplicant waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupplicantConfig {
    /// The protocol version of its PDUs.
    pub version: u8,
    /// How long it waits for an answer to EAPOL-Start (startPeriod).
    pub start_period: Duration,
    /// How often it sends EAPOL-Start (maxStart).
    pub starts_max: u32,
    /// How long it waits for the next EAP packet (authPeriod).
    pub auth_period: Duration,
    /// How long it waits after a failure before it begins again (heldPeriod).
    pub held_period: Duration,
}

/// IEEE 802.1X-2004 §8.2.11.1.2.
impl Default for SupplicantConfig {
    fn default() -> Self {
        Self {
            version: VERSION_2004,
            start_period: Duration::from_secs(30),
            starts_max: 3,
            auth_period: Duration::from_secs(30),
            held_period: Duration::from_secs(60),
        }
    }
}

/// What a supplicant does and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupplicantOutput {
    /// Send this PDU to the authenticator.
    Send(Vec<u8>),
    /// The authenticator begins: the EAP peer forgets a conversation that it may have.
    EapStart,
    /// A packet for the EAP peer.
    Eap(Vec<u8>),
    /// The port is authorized. The MSK is there if the method derived one.
    Authorized(Option<Secret>),
    /// EAP failed, and the port is not authorized.
    Failed,
    /// Nobody answers: there is no authenticator.
    Unanswered,
    /// A key of dynamic WEP.
    Install(WepKey),
}

/// A supplicant.
#[derive(Debug)]
pub struct Supplicant {
    config: SupplicantConfig,
    state: State,
    /// Once EAP has derived keys.
    keys: Option<KeyReceiver>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Nobody asked for anything.
    Idle,
    Connecting(Connecting),
    Authenticating {
        until: Time,
    },
    Authenticated,
    Held {
        until: Time,
    },
}

/// Waits for the authenticator's first EAP request.
#[derive(Debug, Clone, Copy)]
struct Connecting {
    starts: u32,
    again_at: Time,
}

impl Supplicant {
    /// A supplicant that has not begun.
    pub const fn new(config: SupplicantConfig) -> Self {
        Self { config, state: State::Idle, keys: None }
    }

    /// Asks the authenticator to begin, unless authentication runs or is done.
    pub fn start(&mut self, cx: &mut Ctx<'_>) -> Vec<SupplicantOutput> {
        match self.state {
            State::Idle | State::Held { .. } => vec![self.connect(0, cx.now)],
            State::Connecting(_) | State::Authenticating { .. } | State::Authenticated => Vec::new(),
        }
    }

    /// Whether the port is authorized.
    pub const fn is_authorized(&self) -> bool {
        matches!(self.state, State::Authenticated)
    }

    fn connect(&mut self, before: u32, now: Time) -> SupplicantOutput {
        let again_at = now + self.config.start_period;
        self.state = State::Connecting(Connecting { starts: before + 1, again_at });
        self.pdu(PacketType::START, &[])
    }

    fn pdu(&self, packet_type: PacketType, body: &[u8]) -> SupplicantOutput {
        SupplicantOutput::Send(Pdu { version: self.config.version, packet_type, body }.to_bytes())
    }

    /// Handles a PDU of the authenticator. Frames with the RSN key descriptor are not for it.
    ///
    /// # Errors
    /// It is discarded.
    pub fn on_pdu(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<SupplicantOutput>, Refused> {
        let pdu = Pdu::read(bytes)?;
        match pdu.packet_type {
            PacketType::EAP_PACKET => self.on_eap_packet(pdu.body, cx),
            PacketType::KEY => self.on_key(bytes, cx),
            // IEEE 802.1X-2020 §11.4: EAPOL-Start and EAPOL-Logoff are for authenticators.
            _ => Err(Refused::PacketType),
        }
    }

    fn on_eap_packet(&mut self, body: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<SupplicantOutput>, Refused> {
        let (header, packet) = Header::read(body)?;
        let is_under_way = matches!(self.state, State::Authenticating { .. });
        let mut outputs = Vec::new();
        match header.code {
            Code::Response => return Err(Refused::Direction),
            Code::Success | Code::Failure if !is_under_way => return Err(Refused::Unexpected),
            // IEEE 802.1X-2004 §8.2.11: an EAP packet begins anew (RESTART) in every other state, HELD included.
            Code::Request if !is_under_way => outputs.push(SupplicantOutput::EapStart),
            _ => {}
        }
        self.state = State::Authenticating { until: cx.now + self.config.auth_period };
        outputs.push(SupplicantOutput::Eap(packet.to_vec()));
        cx.crypto.enter(EAP);
        Ok(outputs)
    }

    fn on_key(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<SupplicantOutput>, Refused> {
        let keys = self.keys.as_mut().ok_or(Refused::NoKeys)?;
        Ok(vec![SupplicantOutput::Install(keys.open(bytes, cx.crypto)?)])
    }

    /// What the EAP peer makes of the last packet.
    pub fn on_eap(&mut self, eap: Eap, cx: &mut Ctx<'_>) -> Vec<SupplicantOutput> {
        if !matches!(self.state, State::Authenticating { .. }) {
            return Vec::new();
        }
        match eap {
            Eap::Packet(packet) => vec![self.pdu(PacketType::EAP_PACKET, &packet)],
            Eap::Success { msk, .. } => {
                self.state = State::Authenticated;
                self.keys = msk.as_deref().and_then(SessionKeys::new).map(KeyReceiver::new);
                vec![SupplicantOutput::Authorized(msk)]
            }
            Eap::Failure { .. } => {
                self.state = State::Held { until: cx.now + self.config.held_period };
                self.keys = None;
                vec![SupplicantOutput::Failed]
            }
        }
    }

    /// Leaves: the port is not authorized any more.
    pub fn logoff(&mut self) -> Vec<SupplicantOutput> {
        self.keys = None;
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Vec::new(),
            _ => vec![self.pdu(PacketType::LOGOFF, &[])],
        }
    }

    /// When it wants [`Self::tick`].
    pub const fn deadline(&self) -> Option<Deadline> {
        let (at, why) = match self.state {
            State::Idle | State::Authenticated => return None,
            State::Connecting(Connecting { again_at, .. }) => (again_at, "EAPOL-Start retransmission"),
            State::Authenticating { until } => (until, "EAP from the authenticator"),
            State::Held { until } => (until, "end of the held period"),
        };
        Some(Deadline { at, why })
    }

    /// Does what is due.
    pub fn tick(&mut self, cx: &mut Ctx<'_>) -> Vec<SupplicantOutput> {
        if self.deadline().is_none_or(|deadline| deadline.at > cx.now) {
            return Vec::new();
        }
        match self.state {
            State::Connecting(Connecting { starts, .. }) if starts >= self.config.starts_max => {
                self.state = State::Idle;
                vec![SupplicantOutput::Unanswered]
            }
            State::Connecting(Connecting { starts, .. }) => vec![self.connect(starts, cx.now)],
            _ => vec![self.connect(0, cx.now)],
        }
    }
}
