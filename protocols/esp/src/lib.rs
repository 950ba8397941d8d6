//! IPsec: the architecture of RFC 4301 around ESP (RFC 4303).
//!
//! ```text
//!   Ipsec ------ Spd        what happens to which packet, and a cache of it
//!     |--------- Sad        pairs of SAs, by SPI and by what they are for
//!     |            '-- Outbound, Inbound     one direction each: numbers, window, lifetime, keys
//!     '--------- Counters   what was dropped, and why
//! ```
//!
//! Modes are tunnel and transport of RFC 4301 and the bound end-to-end tunnel (BEET) of RFC 7402, which HIP uses.
//! AH (RFC 4302) stands beside, in [`ah`]: no key exchange here negotiates it.
//!
//! [`Ipsec`] processes whole IP packets, or what sockets gave of them; [`Outbound`] and [`Inbound`] are ESP alone, for who
//! knows the SA. Packets stay in the caller's buffer ([`Frame`]); keys are expanded once ([`TrafficKey`]); a [`Probe`] is
//! told when a stage of processing ends. Fragmentation and reassembly are the caller's: RFC 4303 §3.3.4 and §3.4.1 put
//! them after and before ESP, and a fragment that asks for ESP in transport mode, or is ESP itself, is dropped.

pub mod ah;
mod cache;
mod dropped;
mod encapsulation;
pub mod family;
mod frame;
mod inbound;
mod ipsec;
mod layout;
pub mod lifetime;
mod nat;
mod outbound;
mod probe;
pub mod replay;
pub mod sad;
pub mod selector;
pub mod spd;
mod spis;

pub use dropped::{Counters, Dropped};
pub use frame::{Frame, HEADROOM, TAILROOM};
pub use inbound::Inbound;
pub use ipsec::{Arrived, Event, Ipsec, Sent, Taken};
pub use keytoll_crypto_api::TrafficKey;
pub use nat::Original;
pub use outbound::Outbound;
pub use probe::{Probe, Stage};
pub use sad::{Mode, PairConfig};

use layout::HEADER_LEN;

/// What an AEAD authenticates besides the ciphertext: RFC 4106 §5, RFC 4309 §5, RFC 7634 §2.
///
/// SPI and sequence number as they are sent, or with the high half of an extended one between them, put together in `room`.
#[inline]
fn associated<'a>(head: &'a [u8], high: Option<u32>, room: &'a mut [u8; 12]) -> &'a [u8] {
    let Some(high) = high else { return &head[..HEADER_LEN] };
    room[..4].copy_from_slice(&head[..4]);
    room[4..8].copy_from_slice(&high.to_be_bytes());
    room[8..].copy_from_slice(&head[4..HEADER_LEN]);
    room
}

#[cfg(test)]
mod tests;
