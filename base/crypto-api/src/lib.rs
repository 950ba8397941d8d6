//! The door to every cryptographic primitive, and the words in which protocols ask for one: algorithms and suites, keys and
//! secrets, credentials, named random streams, and the phases that operations are booked under.
//!
//! Providers stand behind [`Crypto`] (`keytoll-crypto`): real, null, table, metered.

pub mod algorithm;
pub mod credentials;
mod crypto;
mod keys;
mod phase;
mod rng;
mod secret;
pub mod suite;

pub use crypto::{Crypto, Rejected, about};
pub use keys::{KeyPair, PrivateKey, SigningKey, TrafficKey};
pub use phase::Phase;
pub use rng::{Rng, Seed};
pub use secret::{Digest, Secret};
