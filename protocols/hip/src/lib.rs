//! The Host Identity Protocol, version 2: RFC 7401, with ESP of RFC 7402 and the diet exchange of draft-ietf-hip-dex-24.
//!
//! * [`wire`] reads and writes packets; [`number`] has the numbers that IANA registers.
//! * [`identity`] and [`hit`] are who a host is; [`puzzle`] and [`keymat`] compute what both sides must agree on.

mod cshake;
pub mod hit;
pub mod identity;
pub mod keymat;
pub mod number;
pub mod puzzle;
mod spki;
pub mod wire;

pub use hit::Hit;
pub use identity::HostIdentity;
