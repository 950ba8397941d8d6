//! The trait through which all cryptography goes, and its vocabulary: algorithms and suites, keys and secrets, credentials,
//! named random streams, and the phases that operations are counted under.
//!
//! `keytoll-crypto` implements [`Crypto`]: real, null, metered.

pub mod algorithm;
pub mod credentials;
mod crypto;
mod curve;
mod keys;
mod phase;
mod rng;
mod secret;
pub mod spki;
pub mod suite;

pub use crypto::{Crypto, Rejected, about};
pub use curve::OnCurve;
pub use keys::{KeyPair, PrivateKey, SigningKey, TrafficKey};
pub use keytoll_trace::Part;
pub use phase::Phase;
pub use rng::{Rng, Seed};
pub use secret::{Digest, Secret};
