//! IEEE 802.1X: the port access entities (PAE) of supplicant and authenticator, which carry EAP over a LAN, and the keys of
//! dynamic WEP. Read IEEE 802.1X-2020 §8 (PACP), §11 (EAPOL), IEEE 802.1X-2004 §8.2 (the timers, which the later editions leave to
//! others) and RFC 3748 §4.3 (retransmission) first.
//!
//! ```text
//!   EAP peer <--Eap--  Supplicant <--EAPOL PDUs--> Authenticator --Eap--> EAP server, or RADIUS in between
//!            --answer->                             |            <-answer--
//!                                                   '-- a port for each station
//! ```
//!
//! EAP itself is outside: both sides hand over packets of the other side ([`SupplicantOutput::Eap`], [`AuthenticatorOutput::Eap`])
//! and take what EAP makes of them ([`Eap`]).

mod authenticator;
pub(crate) mod eap;
mod port;
mod supplicant;
pub mod wep_keys;

#[cfg(test)]
mod tests;

pub use authenticator::{Authenticator, AuthenticatorConfig, AuthenticatorOutput, WepConfig};
pub use eap::Eap;
pub use port::Retransmission;
pub use supplicant::{Supplicant, SupplicantConfig, SupplicantOutput};
pub use wep_keys::WepKey;

use keytoll_crypto_api::Phase;
use keytoll_net::wire::DecodeError;

use crate::MacAddr;

/// What EAP computes, from a packet on: neither traffic, nor the keys that are made of its MSK.
pub const EAP: Phase = Phase::new(30, "eap");

/// IEEE 802.1X-2020 table 11-1: the PAE group address, to which a supplicant on a wired LAN sends.
pub const PAE_GROUP_ADDRESS: MacAddr = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x03];

/// Why a PDU was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be read: which field, and where.
    #[error("{0}")]
    Unreadable(DecodeError),
    /// Its packet type is none of those that this side takes.
    #[error("EAPOL packet type that this side does not take")]
    PacketType,
    /// An EAP packet of the wrong direction.
    #[error("EAP packet of the wrong direction")]
    Direction,
    /// An EAP response to another request than the outstanding one.
    #[error("EAP unexpected identifier")]
    Identifier,
    /// Nothing of this kind is expected now.
    #[error("EAPOL packet that nobody waits for")]
    Unexpected,
    /// The port waits until it answers again after a failure.
    #[error("EAPOL packet while the port is held")]
    Held,
    /// As many stations are known as there may be.
    #[error("802.1X table full")]
    TableFull,
    /// There are no keys to verify it with.
    #[error("EAPOL-Key without a session key")]
    NoKeys,
    /// Its signature is wrong.
    #[error("EAPOL-Key wrong signature")]
    Signature,
    /// It was sent before.
    #[error("EAPOL-Key replayed")]
    Replayed,
    /// It has an index or a length that WEP has not.
    #[error("EAPOL-Key that is no key of WEP")]
    NoWepKey,
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

/// Why a station is not authorized, or not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Ended {
    /// EAP failed.
    #[error("EAP failed")]
    EapFailed,
    /// The station does not answer.
    #[error("EAP request not answered")]
    Unanswered,
    /// The EAP server does not answer.
    #[error("EAP server does not answer")]
    ServerSilent,
    /// The station has logged off.
    #[error("logged off")]
    LoggedOff,
    /// Others took the place of its unfinished authentication.
    #[error("displaced")]
    Displaced,
    /// Its EAP has failed a while ago, and it is not judged again yet.
    #[error("held after a failure")]
    Held,
}
