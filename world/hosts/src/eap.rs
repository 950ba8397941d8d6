//! The interface between EAP and its carrier: IKEv2 in a gateway and a device, EAPOL in an access point and a station.
//! [`Authenticator`](crate::Authenticator) and [`Supplicant`](crate::Supplicant) know carriers only through it. RFC 3748 §3, RFC 7296 §2.16.

use std::fmt;

use keytoll_crypto_api::Secret;

/// Identifies a conversation that carries EAP: an IKE SA, or a station's port at an access point.
pub trait Conversation: Copy + Ord + fmt::Debug {
    /// Its number, unique within the host.
    fn number(self) -> u64;

    /// The conversation with this number.
    fn of_number(number: u64) -> Self;
}

/// A message of EAP to its carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eap {
    /// Carry this packet to the other side.
    Packet(Vec<u8>),
    /// EAP succeeded.
    Success {
        /// From an authenticator the EAP-Success packet to carry; from a supplicant empty.
        packet: Vec<u8>,
        /// The MSK, if the method derived one.
        msk: Option<Secret>,
        /// From an authenticator the authenticated identity, if the server names it; from a supplicant `None`.
        identity: Option<Vec<u8>>,
    },
    /// EAP failed.
    Failure {
        /// From an authenticator the EAP-Failure packet to carry; from a supplicant empty.
        packet: Vec<u8>,
    },
}

/// The properties of a carrier (RFC 3748 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carrier {
    /// It neither loses, repeats nor forges packets, so that either an answer arrives or the conversation ends.
    pub is_reliable: bool,
    /// It has authenticated the server before EAP starts.
    pub proves_server: bool,
}
