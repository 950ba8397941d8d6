//! What station and access point of a basic service set (BSS) have in common: what the network demands, the frames they send,
//! the keys under which they send them, and how long they wait.
//!
//! ```text
//!   station                                                    access point
//!     Probing         --Probe Request------------------------->
//!                     <------------------------Probe Response--
//!     Authenticating  --Authentication (open system) 1-------->
//!                     <-----------------------Authentication 2--   authenticated, for a short time
//!                       SAE, shared key authentication and RRKM have four messages
//!     Associating     --Association Request: RSNE------------->
//!                     <-----------------Association Response--     Securing
//!     Securing        EAP in EAPOL, if there is an EAP server
//!                     4-way handshake in EAPOL-Key frames
//!     Member          data frames, under the keys                  Member
//! ```

use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_net::wire::DecodeError;

use crate::MacAddr;
use crate::cipher::Refused;
use crate::dot1x::WepKey;
use crate::frame::management::Authentication;
use crate::frame::{AuthenticationAlgorithm, Management};
use crate::rrkm::{Clock, Established};
use crate::sae::{self, Pmkid, Sae};
use crate::shared_key;

mod air;
mod attempt;
mod chains;
mod link;
mod protection;
mod security;

pub(crate) use air::{Air, Heard, packet_of, protected, told, told_eapol, with_llc};
pub(crate) use attempt::Attempt;
pub(crate) use chains::{Chains, catch_up};
pub(crate) use link::Link;
pub(crate) use protection::Protection;
pub use security::{Protected, Rsn, Security, Ssid};
pub(crate) use security::{elements, mde_of, read, rsne_of};

/// The address of everybody.
pub const BROADCAST: MacAddr = [0xff; 6];
/// EtherType of IPv4.
pub(crate) const ETHER_TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub(crate) const ETHER_TYPE_IPV6: u16 = 0x86dd;

/// What an authentication has left for the association after it.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// Nothing, or EAP and handshakes come later.
    None,
    /// The PMK of SAE, with its name.
    Pmk(Secret, Pmkid),
    /// One of an association before, with its name: SAE or EAP is left out.
    Cached(Secret, Pmkid),
    /// What the chains of RRKM begin with, and the clock by which they go on.
    Chains(Box<(Established, Clock)>),
}

impl Credential {
    /// The name of the PMK of an association before.
    pub(crate) const fn cached(&self) -> Option<Pmkid> {
        match self {
            Self::Cached(_, name) => Some(*name),
            _ => None,
        }
    }
}

/// The key of shared key authentication as one of the two that protect data.
pub(crate) fn wep_key(unicast: bool, config: &shared_key::Config) -> WepKey {
    WepKey { unicast, index: config.key_id, key: config.key[..].into() }
}

/// Records why a frame is discarded.
pub(crate) fn discard(protocol: Protocol, why: &dyn std::fmt::Display, cx: &mut Ctx<'_>) {
    cx.trace.record(Fact::Discarded { protocol, why: why.to_string().into() });
}

/// An interface of SAE with one password; hunting and pecking is for stations that have nothing better.
pub(crate) fn sae(address: MacAddr, answers: bool, password: sae::Password, rng: Rng) -> Sae {
    let methods = vec![sae::Method::HashToElement, sae::Method::HuntingAndPecking];
    let (groups, limits) = (vec![Curve::P256], sae::Limits::default());
    Sae::new(sae::Config { address, answers, passwords: vec![password], methods, groups, limits }, rng)
}

/// A message of SAE as an authentication frame.
pub(crate) fn sae_frame(message: &sae::Message) -> Management<'_> {
    Management::Authentication(Authentication {
        algorithm: AuthenticationAlgorithm::SAE,
        sequence: message.transaction as u16,
        status: message.status,
        rest: &message.body,
    })
}

/// Gives a frame of SAE to our side; what it answers to a frame that it refuses is an output, too.
pub(crate) fn sae_heard(
    sae: &mut Sae,
    peer: MacAddr,
    frame: &Authentication<'_>,
    cx: &mut Ctx<'_>,
) -> Vec<sae::Output> {
    let heard = match frame.sequence {
        1 => sae.on_commit(peer, frame.status, frame.rest, cx),
        _ => sae.on_confirm(peer, frame.status, frame.rest, cx),
    };
    heard.unwrap_or_else(|refused| {
        discard(Protocol::MANAGEMENT, &refused.why, cx);
        refused.reply.into_iter().map(sae::Output::Send).collect()
    })
}

/// Why a frame of an association is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotTaken {
    /// It is encrypted and has to be, or the other way round.
    #[error("not protected as agreed")]
    Unprotected,
    /// Its cipher refuses it.
    #[error("{0}")]
    Cipher(#[from] Refused),
    /// Its body cannot be read.
    #[error("{0}")]
    Unreadable(#[from] DecodeError),
    /// It carries neither EAPOL nor IP.
    #[error("neither EAPOL nor IP")]
    Unknown,
}
