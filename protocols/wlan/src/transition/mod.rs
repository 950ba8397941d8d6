//! Fast transition within a mobility domain, over the air: four frames instead of authentication, association, EAP and the 4-way
//! handshake. Read 802.11-2020 §13.5.2 (the frames), §13.8 (their elements) and §12.7.1.6 (the keys) first.
//!
//! ```text
//!   station (S0KH, S1KH)                                                target access point (R1KH)          holder (R0KH)
//!     AwaitingAnswer          --Authentication 1: RSNE[PMKR0Name] MDE FTE[SNonce, R0KH-ID]-->
//!                                                                          Pull --PMKR0Name, station, R1KH-ID-->
//!                                                                               <-------------------PMK-R1--
//!                             <-Authentication 2: RSNE[PMKR0Name] MDE FTE[ANonce, SNonce, R1KH-ID, R0KH-ID]--
//!     AwaitingReassociation   --Reassociation Request: RSNE[PMKR1Name] MDE FTE[MIC, …]-->   AwaitingReassociation
//!                             <-Reassociation Response: RSNE[PMKR1Name] MDE FTE[MIC, …, GTK, IGTK]--
//! ```
//!
//! The first association of a station in the domain leaves the PMK-R0 with the access point of that association, which is the
//! holder. How the two access points speak to each other the standard leaves open; here that is their owner's matter ([`Pull`]).
//!
//! Elements go in and come out; frames are the owner's matter, as are times. What is refused leaves a wait as it is.

pub mod access_point;
mod elements;
pub mod station;

#[cfg(test)]
mod tests;

use keytoll_crypto_api::Phase;
use keytoll_net::wire::DecodeError;

use crate::MacAddr;
use crate::frame::StatusCode;
use crate::frame::rsn::{Fte, Mde};
use crate::handshake::{GroupKey, Terms, Transition};
use crate::keys::{KeyName, Nonce, Ptk};
use crate::suite::Akm;

/// The phase that its operations are counted under.
pub(crate) const PHASE: Phase = Phase::new(20, "fast-transition");

/// A mobility domain, as an access point of it knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// What its beacons say of it.
    pub mde: Mde,
    /// The name of this access point as a holder of PMK-R0s: 1 to 48 octets.
    pub r0kh_id: Vec<u8>,
}

impl Domain {
    // 802.11-2020 §13.4.2: in the first association it has neither nonces nor a MIC.
    /// The FTE of the response to a first association.
    pub(crate) fn first_fte(&self, akm: Akm, r1kh_id: MacAddr) -> Vec<u8> {
        let mic = &[0; 24][..akm.mic_len()];
        let fte = Fte { r1kh_id: Some(r1kh_id), r0kh_id: Some(&self.r0kh_id), ..elements::empty(mic) };
        fte.to_bytes()
    }
}

/// What an access point asks of the holder of a PMK-R0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// The holder.
    pub r0kh_id: Vec<u8>,
    /// The name of the PMK-R0.
    pub pmk_r0_name: KeyName,
    /// Whose it is.
    pub station: MacAddr,
    /// Who asks, and will hold the PMK-R1.
    pub r1kh_id: MacAddr,
}

/// What a fast transition has agreed on.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The terms of handshakes that follow.
    pub terms: Terms,
    /// Their keys and elements.
    pub transition: Transition,
    /// The pairwise key.
    pub ptk: Ptk,
    /// The nonce of the access point.
    pub anonce: Nonce,
    /// The keys of the group, for the station.
    pub groups: Vec<GroupKey>,
}

/// Why a message of a fast transition is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It cannot be read: which field, and where.
    #[error("{0}")]
    Unreadable(DecodeError),
    /// The RSNE is missing, or another one than in beacons or in the message before.
    #[error("another RSNE in the fast transition")]
    Rsne,
    /// It names another key, or one that cannot be had.
    #[error("no PMK-R1 of this name")]
    Pmkid,
    /// Another mobility domain.
    #[error("another mobility domain")]
    Mde,
    /// The FTE is missing, or has other nonces or key holders.
    #[error("another FTE in the fast transition")]
    Fte,
    /// The MIC is wrong.
    #[error("wrong MIC in the fast transition")]
    Mic,
    /// A group key is missing, or cannot be unwrapped.
    #[error("group key that cannot be used")]
    GroupKey,
    /// The other side refuses.
    #[error("refused: {0}")]
    Refused(StatusCode),
}

impl Failure {
    // 802.11-2020 §13.8.3, §13.8.5: which element is wrong has a status of its own.
    /// The status code that tells the other side.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Rsne => StatusCode::INVALID_AKMP,
            Self::Pmkid => StatusCode::INVALID_PMKID,
            Self::Mde => StatusCode::INVALID_MDE,
            Self::Fte | Self::Mic => StatusCode::INVALID_FTE,
            Self::Unreadable(_) | Self::GroupKey => StatusCode::REFUSED,
            Self::Refused(status) => status,
        }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}
