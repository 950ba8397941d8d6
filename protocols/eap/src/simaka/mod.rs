//! The parts of EAP-SIM (RFC 4186), EAP-AKA (RFC 4187) and EAP-AKA′ (RFC 9048); the methods themselves are in
//! [`crate::methods`].
//!
//! ```text
//!   home network    centre -> vector -> milenage, comp128, sqn        keys stay here
//!   server          server/ -> book (pseudonyms, fast re-authentication)
//!   peer            peer/ -> card (the (U)SIM)
//!   wire            message -> attribute; keys; flavour (the differences); identity (names)
//! ```

pub mod attribute;
pub mod book;
pub mod card;
pub mod centre;
mod checkcode;
pub mod comp128;
mod comp128_tables;
pub mod flavour;
pub mod identity;
pub mod keys;
pub mod message;
pub mod milenage;
pub mod offer;
pub mod peer;
pub mod reason;
pub mod server;
pub mod sqn;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod vector;

/// The version of EAP-SIM (RFC 4186 §4.1).
pub(crate) const SIM_VERSION: u16 = 1;

/// The versions in AT_VERSION_LIST.
pub(crate) const SIM_VERSIONS: &[u8] = &[0, 1];

/// RFC 9048 §3.2: CK′ and IK′, the only defined function.
pub(crate) const KDF_CK_PRIME: u16 = 1;
