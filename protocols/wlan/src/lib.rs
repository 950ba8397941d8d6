//! Wireless LANs below IP: IEEE 802.11 authentication, association, key management and data protection, IEEE 802.1X on top of
//! them, fast transition between access points, and the reconstructed Round-Robin Key Management of paper 001.
//!
//! Clauses are those of IEEE Std 802.11-2020 and IEEE Std 802.1X-2020 unless another edition is named.

pub mod access_point;
mod bits;
pub mod bss;
#[cfg(test)]
mod captures;
pub mod cipher;
pub mod dot1x;
pub mod eapol;
pub mod family;
pub mod frame;
pub mod handshake;
pub mod keys;
pub mod names;
mod reveal;
pub mod rrkm;
pub mod sae;
pub mod shared_key;
pub mod station;
pub mod suite;
pub mod transition;

pub use suite::{Akm, Cipher};

/// The address of a station or access point.
pub type MacAddr = [u8; 6];
