//! Round-Robin Key Management (RRKM) of paper 001: mutual authentication with WEP and SHA-1, and WEP keys that both sides replace at
//! the same times without a message.
//!
//! **This is a reconstruction.** The thesis behind the paper could not be found. What the paper says of it is kept: a pre-shared
//! key for each station, a challenge that is encrypted, WEP twice and SHA-1 once on each side for an authentication, one simple
//! hash on each side for a new key and no message, several keys in turn. The fields, the signature, the schedule and the window
//! are designed here to fit, and no other implementation has them.
//!
//! ```text
//!   station                                                                    access point
//!     1  algorithm 0x8001, sequence 1                                      -->
//!     2  sequence 2, challenge element: WEP_K { C }                        <--    WEP 1
//!          C(128) = "RRKM2" epoch n(4) period(2) slot(1) what is left of n(4) group key G_n(13) random(99)
//!     WEP 1: the station decrypts C
//!     3  WEP_K { sequence 3, challenge element: C, SIG[0..10] }            -->    WEP 2
//!     WEP 2; SHA-1: SIG = SHA-1(K ‖ C ‖ IV of frame 3 ‖ station ‖ access point ‖ n)
//!     4  sequence 4, status, SIG[10..20]                                   <--    SHA-1: the same SIG
//! ```
//!
//! The first half of SIG proves that the station knows K and has read C, the second half that the access point does.
//!
//! Then the keys go around the four places for WEP's default keys. The chain of a station begins with K in the epoch n of its
//! authentication, and that of the group with G_n:
//!
//! ```text
//!   K_{n+1} = first 5 or 13 octets of H(K_n ‖ n+1 ‖ station)        G_{n+1} = of H(G_n ‖ n+1)
//!
//!   epoch        n-1        n         n+1        n+2
//!   place      (n-1)%4     n%4      (n+1)%4    (n+2)%4
//!               opens   opens, seals  opens       -             in epoch n
//! ```
//!
//! A frame that was sealed in the epoch before or after is opened, so none is lost at a boundary while the two clocks and the time
//! on the air differ by less than a period ([`KeyRing`]). A station sets its clock by the challenge. The access point's is right by
//! definition: a frame that opens under the next key advances the station. Between such frames it corrects its clock by the timer
//! that beacons carry, and by late frames. Nobody proves those: they move it no further than clocks drift ([`Clock`]). Who forges
//! them learns nothing, and has a station lose frames only if it hears nothing of its access point for hundreds of epochs.
//!
//! What it is worth:
//!
//! * C is never sent in the clear, so that frames 2 and 3 do not give away key stream as those of shared key authentication do. But
//!   C is encrypted with WEP, and its beginning is known: whoever records frame 2 can try keys, all 2^40 of WEP-40 in days.
//! * A hash chain only goes forward, but everybody can: who learns K_n has K_{n+1} and all after it. New keys limit how many frames
//!   an attack on RC4 can collect under one key, and nothing else.
//! * In the epoch of its authentication a station sends under K itself.
//! * WEP's ICV is linear, IVs repeat, and frames can be replayed within an epoch. There is no reason to deploy this.

pub mod access_point;
mod challenge;
mod clock;
mod hash;
mod ring;
mod signature;
pub mod station;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_crypto_api::{Phase, Rng};
use keytoll_engine::Time;

pub use clock::Clock;
pub use hash::KeyHash;
pub use ring::{CATCH_UP_EPOCHS_MAX, KeyRing, MissedTooMany, Window};

use crate::MacAddr;
use crate::cipher::WepKey;
use crate::cipher::wep::Iv;
use crate::frame::AuthenticationAlgorithm;

/// The number of this authentication, which the standard has not assigned.
pub const ALGORITHM: AuthenticationAlgorithm = AuthenticationAlgorithm(0x8001);

/// The key ID of a station's own key in the authentication: as with key mapping keys, whose ID the standard leaves at 0.
const OWN_KEY_ID: u8 = 0;

/// The phase that operations of the authentication are counted under.
pub(crate) const AUTHENTICATION: Phase = Phase::new(10, "rrkm");
/// The phase of new keys.
pub(crate) const REKEYING: Phase = Phase::new(50, "rekeying");

/// What an access point and one of its stations have agreed on beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// The station's own key, K.
    pub key: WepKey,
    /// The station.
    pub station: MacAddr,
    /// The access point.
    pub access_point: MacAddr,
    /// How a key follows from the one before.
    pub hash: KeyHash,
}

/// What a station knows before it is authenticated, and how good its clock is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationConfig {
    /// Its own key, K.
    pub key: WepKey,
    /// How a key follows from the one before.
    pub hash: KeyHash,
    /// By how many millionths its clock is faster than that of the access point; negative if it is slower.
    pub clock_drift_ppm: i32,
}

/// What an access point knows of its stations, and how often keys change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPointConfig {
    /// The own key of each station.
    pub keys: BTreeMap<MacAddr, WepKey>,
    /// How a key follows from the one before.
    pub hash: KeyHash,
    /// How long an epoch is, in seconds.
    pub period_s: NonZeroU16,
    /// The epoch at the start of its clock.
    pub first_epoch: u32,
}

/// What a station learns of its cell when it is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The epoch.
    pub epoch: u32,
    /// How long an epoch is, in seconds.
    pub period_s: NonZeroU16,
    /// How much of the epoch is left, in milliseconds.
    pub left_ms: u32,
    /// The group's key in this epoch, as long as the stations' own keys.
    pub group: WepKey,
}

/// What an authentication leaves with either side.
#[derive(Debug, Clone)]
pub struct Established {
    /// What the chain of the station begins with: for [`KeyRing::pairwise`].
    pub parameters: Parameters,
    /// What the chain of the group begins with: for [`KeyRing::group`].
    pub cell: Cell,
}

impl Cell {
    /// Its clock, as somebody has it who learns this now, and whose clock is faster by so many millionths.
    pub fn clock(&self, now: Time, drift_ppm: i32) -> Clock {
        let left = Duration::from_millis(self.left_ms.into());
        Clock::new(self.epoch, now, left, self.period_s, drift_ppm)
    }
}

impl Established {
    /// The keys between the two.
    pub fn pairwise(&self, rng: &mut Rng) -> KeyRing {
        KeyRing::pairwise(&self.parameters, self.cell.epoch, Iv::random(rng))
    }

    /// The keys of the group.
    pub fn group(&self, rng: &mut Rng) -> KeyRing {
        KeyRing::group(self.parameters.hash, &self.cell, Iv::random(rng))
    }
}

#[cfg(test)]
mod tests;
