//! What EAP-SIM (RFC 4186), EAP-AKA (RFC 4187) and EAP-AKA′ (RFC 9048) are made of; the methods themselves are in
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
pub mod comp128;
mod comp128_tables;
pub mod flavour;
pub mod identity;
pub mod keys;
pub mod message;
pub mod milenage;
pub mod sqn;
#[cfg(test)]
pub(crate) mod testing;
pub mod vector;
