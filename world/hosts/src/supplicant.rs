//! The device's end of EAP: a peer that answers what comes out of IKE_AUTH. RFC 3748 §4, RFC 7296 §2.16.

use std::fmt;
use std::sync::Arc;

use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::{Peer, PeerConfig, PeerOutput, Reason};
use keytoll_engine::{Ctx, Rng};
use keytoll_ike::v2::Eap;
use keytoll_ike::wire::Identity;

/// RFC 3748 §4: the code of a Failure.
const FAILURE: u8 = 4;

/// Who the device is in EAP, and how it can prove that.
#[derive(Clone)]
pub struct EapCredentials {
    /// Its methods.
    pub config: Arc<PeerConfig>,
    /// What it answers when asked who it is.
    pub identity: EapIdentity,
}

impl fmt::Debug for EapCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EapCredentials({})", String::from_utf8_lossy(&self.identity.now()))
    }
}

/// Who the device says it is.
#[derive(Clone)]
pub enum EapIdentity {
    /// Always the same.
    Fixed(Vec<u8>),
    /// What the card would be called by next: its identity for a fast re-authentication, its pseudonym, or its permanent
    /// identity (RFC 4186 §4.2.1, RFC 4187 §4.1.1).
    Card(SharedCard, Flavour),
}

impl EapIdentity {
    /// The identity to begin a conversation with now.
    pub fn now(&self) -> Vec<u8> {
        match self {
            Self::Fixed(identity) => identity.clone(),
            Self::Card(card, flavour) => card.identity(*flavour),
        }
    }
}

/// One EAP conversation at a time.
pub(crate) struct Supplicant {
    credentials: EapCredentials,
    /// The gateway has proved itself before EAP begins.
    is_gateway_proved: bool,
    peer: Peer,
    rng: Rng,
    /// Why the last conversation failed, in EAP's words.
    failure: Option<Reason>,
}

impl Supplicant {
    pub(crate) fn new(credentials: EapCredentials, is_gateway_proved: bool, rng: Rng) -> Self {
        let peer = peer(&credentials, is_gateway_proved, None);
        Self { credentials, is_gateway_proved, peer, rng, failure: None }
    }

    // RFC 7296 §2.16: the gateway may take IDi for the EAP identity and ask for none.
    /// Forgets the last conversation; in the next one IKE has said that we are `claimed`.
    pub(crate) fn begin(&mut self, claimed: Option<&Identity>) {
        self.peer = peer(&self.credentials, self.is_gateway_proved, claimed);
        self.failure = None;
    }

    /// Takes a packet; gives what IKE is to be told.
    pub(crate) fn step(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Eap {
        match self.peer.step(packet, &mut self.rng, cx) {
            PeerOutput::Send(packet) => Eap::Packet(packet),
            // RFC 7296 §2.16: in IKE_AUTH a Failure is the gateway's and ends the exchange, even if the EAP peer has not begun
            // and would take it for somebody else's.
            PeerOutput::Ignored if packet.first() == Some(&FAILURE) => self.fail(Reason::REFUSED),
            // The gateway waits for an answer and says nothing more.
            PeerOutput::Ignored => self.fail(Reason::UNANSWERABLE),
            PeerOutput::Success(keys) => Eap::Success { packet: Vec::new(), msk: keys.msk, identity: None },
            PeerOutput::Failed(reason) => self.fail(reason),
        }
    }

    fn fail(&mut self, reason: Reason) -> Eap {
        self.failure = Some(reason);
        Eap::Failure { packet: Vec::new() }
    }

    /// Why the last conversation failed.
    pub(crate) fn failure(&mut self) -> Option<Reason> {
        self.failure.take()
    }
}

fn peer(credentials: &EapCredentials, is_gateway_proved: bool, claimed: Option<&Identity>) -> Peer {
    let peer = Peer::new(Arc::clone(&credentials.config), credentials.identity.now()).over_reliable_layer();
    let peer = match claimed {
        Some(claimed) => peer.known_as(claimed.data.clone()),
        None => peer,
    };
    if is_gateway_proved { peer } else { peer.to_unproved_server() }
}

impl fmt::Debug for Supplicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supplicant").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}
