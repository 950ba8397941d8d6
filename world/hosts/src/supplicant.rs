//! The supplicant: an EAP peer that answers the packets of its carrier. RFC 3748 §4, RFC 7296 §2.16.

use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::{Peer, PeerConfig, PeerOutput, Reason};
use keytoll_engine::Ctx;

use crate::eap::{Carrier, Eap};

/// RFC 3748 §4: the code of a Failure.
const FAILURE: u8 = 4;

/// The supplicant's EAP identity and its methods.
#[derive(Clone)]
pub struct EapCredentials {
    /// Its methods.
    pub config: Arc<PeerConfig>,
    /// Its answer to an Identity request.
    pub identity: EapIdentity,
}

impl fmt::Debug for EapCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EapCredentials({})", String::from_utf8_lossy(&self.identity.now()))
    }
}

/// The identity of a supplicant.
#[derive(Clone)]
pub enum EapIdentity {
    /// Always the same.
    Fixed(Vec<u8>),
    /// The card's next identity: for fast re-authentication, its pseudonym, or its permanent identity (RFC 4186 §4.2.1,
    /// RFC 4187 §4.1.1).
    Card(SharedCard, Flavour),
}

impl EapIdentity {
    /// The identity for a conversation that starts now.
    pub fn now(&self) -> Vec<u8> {
        match self {
            Self::Fixed(identity) => identity.clone(),
            Self::Card(card, flavour) => card.identity(*flavour),
        }
    }
}

/// One EAP conversation at a time.
pub struct Supplicant {
    credentials: EapCredentials,
    carrier: Carrier,
    peer: Peer,
    rng: Rng,
    /// Why the last conversation failed, as reported by EAP.
    failure: Option<Reason>,
}

impl Supplicant {
    /// A supplicant without a conversation.
    pub fn new(credentials: EapCredentials, carrier: Carrier, rng: Rng) -> Self {
        let peer = peer(&credentials, carrier, None);
        Self { credentials, carrier, peer, rng, failure: None }
    }

    // RFC 7296 §2.16: the gateway may take IDi for the EAP identity and not request one.
    /// Starts a new conversation, in which the carrier has announced us as `claimed`.
    pub fn begin(&mut self, claimed: Option<&[u8]>) {
        self.peer = peer(&self.credentials, self.carrier, claimed);
        self.failure = None;
    }

    /// How much it has drawn, if that is all to remember between two conversations.
    pub fn drawn(&self) -> Option<u64> {
        self.failure.is_none().then(|| self.rng.drawn())
    }

    /// As it was between two conversations.
    pub fn go_to(&mut self, drawn: u64) {
        self.rng.go_to(drawn);
    }

    /// Processes a packet; returns the message for the carrier, `None` if the packet is ignored and another may follow.
    pub fn step(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Eap> {
        Some(match self.peer.step(packet, &mut self.rng, cx) {
            PeerOutput::Send(packet) => Eap::Packet(packet),
            PeerOutput::Ignored if !self.carrier.is_reliable => return None,
            // RFC 7296 §2.16: in IKE_AUTH a Failure is the gateway's and ends the exchange, even if the EAP peer has not started
            // and would attribute it to somebody else.
            PeerOutput::Ignored if packet.first() == Some(&FAILURE) => self.fail(Reason::REFUSED),
            // The authenticator waits for an answer and sends nothing more.
            PeerOutput::Ignored => self.fail(Reason::UNANSWERABLE),
            PeerOutput::Success(keys) => Eap::Success { packet: Vec::new(), msk: keys.msk, identity: None },
            PeerOutput::Failed(reason) => self.fail(reason),
        })
    }

    fn fail(&mut self, reason: Reason) -> Eap {
        self.failure = Some(reason);
        Eap::Failure { packet: Vec::new() }
    }

    /// Why the last conversation failed, as far as EAP knows. A carrier that ends it, or the silence of the server, may be the
    /// consequence of a refused proposal.
    pub fn failure(&mut self) -> Option<Reason> {
        self.failure.take().or(self.peer.unsupported())
    }
}

fn peer(credentials: &EapCredentials, carrier: Carrier, claimed: Option<&[u8]>) -> Peer {
    let peer = Peer::new(Arc::clone(&credentials.config), credentials.identity.now());
    let peer = if carrier.is_reliable { peer.over_reliable_layer() } else { peer };
    let peer = match claimed {
        Some(claimed) => peer.known_as(claimed.to_vec()),
        None => peer,
    };
    if carrier.proves_server { peer } else { peer.to_unproved_server() }
}

impl fmt::Debug for Supplicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supplicant").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;
    use keytoll_crypto_api::Seed;
    use keytoll_eap::packet;
    use keytoll_engine::Time;
    use keytoll_engine::trace::NoTrace;

    use super::*;

    fn supplicant(is_reliable: bool) -> Supplicant {
        let credentials = EapCredentials {
            config: Arc::new(PeerConfig::default()),
            identity: EapIdentity::Fixed(b"ue@lab".to_vec()),
        };
        let carrier = Carrier { is_reliable, proves_server: true };
        Supplicant::new(credentials, carrier, Seed::from(1).stream("ue/eap"))
    }

    /// The message for the carrier after a packet, and why the conversation failed.
    fn verdict_on(packet: &[u8], is_reliable: bool) -> (Option<Eap>, Option<Reason>) {
        let mut supplicant = supplicant(is_reliable);
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        let told = supplicant.step(packet, &mut cx);
        (told, supplicant.failure())
    }

    #[test]
    fn a_packet_without_an_answer_ends_the_conversation_only_over_a_reliable_carrier() {
        let failure = Some(Eap::Failure { packet: Vec::new() });
        for (packet, reason) in
            [(packet::failure(7), Reason::REFUSED), (vec![5, 0, 0, 4], Reason::UNANSWERABLE)]
        {
            assert_eq!(verdict_on(&packet, true), (failure.clone(), Some(reason)));
            assert_eq!(verdict_on(&packet, false), (None, None));
        }
    }
}
