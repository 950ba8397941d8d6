//! What a protocol that carries EAP gives and takes: IKEv2 in a gateway and a device, EAPOL in an access point and a
//! station. [`crate::authenticator`] and [`crate::supplicant`] know nothing else of it. RFC 3748 §3, RFC 7296 §2.16.

use std::fmt;

use keytoll_crypto_api::Secret;

/// What names a conversation that carries EAP: an IKE SA, or the port of an access point that a station is at.
pub(crate) trait Conversation: Copy + Ord + fmt::Debug {
    /// Its number; no other conversation of the same host has it.
    fn number(self) -> u64;

    /// The one with this number.
    fn of_number(number: u64) -> Self;
}

/// What the carrier of a conversation is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Eap {
    /// Carry this packet to the other side.
    Packet(Vec<u8>),
    /// EAP succeeded.
    Success {
        /// From an authenticator the EAP-Success packet to carry; from a supplicant nothing.
        packet: Vec<u8>,
        /// The MSK, if the method made one.
        msk: Option<Secret>,
        /// From an authenticator whom EAP proved, if its server says so; from a supplicant nothing.
        identity: Option<Vec<u8>>,
    },
    /// EAP failed.
    Failure {
        /// From an authenticator the EAP-Failure packet to carry; from a supplicant nothing.
        packet: Vec<u8>,
    },
}

/// What a carrier does for EAP (RFC 3748 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carrier {
    /// It loses, repeats and forges nothing, so that whoever waits for an answer gets one or the conversation is over.
    pub(crate) is_reliable: bool,
    /// It has proved who the server is before EAP begins.
    pub(crate) proves_server: bool,
}
