//! The implementations of [`keytoll_crypto_api::Crypto`]: real, null, and a meter around either.
//!
//! ```text
//!   engine --> Metered<Provider> --> Provider::Real --> keytoll-native (AWS-LC)
//!              counts, ticks, bytes           '--> Null: correct lengths, no computation
//! ```
//!
//! The library's primitives come from `keytoll-native`. What is built from them here (HMAC, CMAC, XCBC, CCM, the checks
//! of public values) is safe code without allocation. [`keys`] makes, imports and exports signature keys.

pub mod keys;

mod agreement;
mod cbc_mac;
mod ccm;
mod cipher;
mod curve;
mod hmac;
mod mac;
mod metered;
mod null;
#[cfg(feature = "ossl")]
mod ossl;
mod provider;
mod real;
mod signature;
mod traffic;

pub use agreement::Exponents;
pub use curve::allocate_shared;
pub use metered::prices::{self, Place, Prices};
pub use metered::{Amount, Metered, Row, Work};
pub use null::Null;
#[cfg(feature = "ossl")]
pub use ossl::Ossl;
pub use provider::Provider;
pub use real::{Real, Unsupported};
