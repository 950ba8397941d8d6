//! The 4-way handshake and the group key handshake of both sides: how a PMK becomes keys for data. Read 802.11-2020 §12.7.6 and
//! §12.7.7 first, then §12.7.2 (the frames) and §12.7.9, §12.7.10 (the state machines).
//!
//! ```text
//!   authenticator                                                supplicant
//!     AwaitingMessage2  --1: ANonce, PMKID-------------------->    AwaitingMessage1
//!                       <-2: SNonce, MIC, its elements---------    AwaitingMessage3
//!     AwaitingMessage4  --3: MIC, elements of beacons, group keys->
//!       installs        <-4: MIC-------------------------------      installs
//!     AwaitingGroup2    --1: MIC, group keys------------------>
//!                       <-2: MIC-------------------------------
//! ```
//!
//! Both sides are plain structs: EAPOL PDUs go in, [`Output`]s come out. WPA, whose message 3 brings no group key, has the same
//! states, and a group key handshake always follows.

mod authenticator;
mod frame;
mod pmksa;
mod retransmission;
mod supplicant;
mod terms;

#[cfg(test)]
mod tests;

pub use authenticator::Authenticator;
pub use pmksa::{Pmksa, PmksaCache};
pub use retransmission::Retransmission;
pub use supplicant::Supplicant;
pub use terms::{Declared, Generation, Master, Terms, Transition};

use keytoll_crypto_api::{Phase, Secret};
use keytoll_net::wire::DecodeError;

use crate::suite::Cipher;

/// The 4-way handshake.
const FOUR_WAY: Phase = Phase::new(40, "4-way");
/// The group key handshake.
const GROUP_KEY: Phase = Phase::new(45, "group-key");

/// A group key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKey {
    /// What it is for; an IGTK has a cipher that protects management frames.
    pub cipher: Cipher,
    /// Its index: 1 to 3 of a GTK, 4 or 5 of an IGTK.
    pub index: u8,
    /// The key.
    pub key: Secret,
    /// The packet number that the next frame under it exceeds.
    pub packet_number: u64,
}

impl GroupKey {
    /// Whether it has the length of its cipher, an index of its own kind, and is not all zeros.
    pub(crate) fn is_usable(&self) -> bool {
        let indexes = if self.cipher.protects_management() { 4..=5 } else { 1..=3 };
        indexes.contains(&self.index)
            && self.key.len() == self.cipher.key_len()
            && self.key.iter().any(|&octet| octet != 0)
    }
}

/// The group keys of an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKeys {
    /// The key of data.
    pub gtk: GroupKey,
    /// The key of management frames, where they are protected.
    pub igtk: Option<GroupKey>,
}

/// A pairwise temporal key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairwiseKey {
    /// The cipher.
    pub cipher: Cipher,
    /// The key.
    pub tk: Secret,
    /// Its index: 0, or with extended key IDs also 1.
    pub index: u8,
}

/// Which handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handshake {
    /// 802.11-2020 §12.7.6.
    FourWay,
    /// 802.11-2020 §12.7.7.
    GroupKey,
}

/// What a side does and reports, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this EAPOL PDU. Those before [`Output::Install`] are protected as before.
    Send(Vec<u8>),
    /// Install the pairwise key; its packet numbers begin anew.
    Install(PairwiseKey),
    /// Install a group key of the access point. Only a supplicant reports it.
    InstallGroup(GroupKey),
    /// The other side has what the handshake brings.
    Completed(Handshake),
    /// The supplicant asks for new keys. Only an authenticator reports it.
    Requested {
        /// By which handshake.
        handshake: Handshake,
        /// Because it has seen a wrong Michael MIC (TKIP's countermeasures).
        is_mic_failure: bool,
    },
    /// The handshake has failed, and the association with it.
    Failed(Reason),
}

/// Why a handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Reason {
    /// The other side does not answer.
    #[error("4-way handshake timeout")]
    Timeout,
    /// Nothing that the other side sent was under our key: its PMK, its passphrase for example, is another one.
    #[error("4-way handshake under another key")]
    WrongKey,
    /// The supplicant does not answer the group key handshake.
    #[error("group key handshake timeout")]
    GroupTimeout,
    /// The elements in the handshake are not those before it: somebody may want weaker protection.
    #[error("elements differ from those before the 4-way handshake")]
    ElementsDiffer,
    /// The keys of fast transition have other names.
    #[error("another PMK-R1 in the 4-way handshake")]
    AnotherPmkR1,
    /// The MDE is another than that of the association.
    #[error("another MDE in the 4-way handshake")]
    AnotherMde,
    /// The FTE is another than that of the association.
    #[error("another FTE in the 4-way handshake")]
    AnotherFte,
    /// A group key is missing or has a wrong length or index, or consists of zeros.
    #[error("group key that cannot be used")]
    GroupKeyUnusable,
}

impl Reason {
    /// The reason code that tells the other side, 802.11-2020 table 9-49.
    pub const fn code(self) -> u16 {
        match self {
            Self::GroupKeyUnusable => 1,
            Self::Timeout | Self::WrongKey => 15,
            Self::GroupTimeout => 16,
            Self::ElementsDiffer => 17,
            Self::AnotherPmkR1 => 49,
            Self::AnotherMde => 50,
            Self::AnotherFte => 51,
        }
    }
}

/// Why a PDU was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be read: which field, and where.
    #[error("{0}")]
    Unreadable(DecodeError),
    /// Its key descriptor is that of another protocol.
    #[error("EAPOL-Key descriptor of another protocol")]
    Descriptor,
    /// Its key descriptor version is that of other suites.
    #[error("EAPOL-Key descriptor version of other suites")]
    Version,
    /// It is no message that is awaited.
    #[error("EAPOL-Key message that nobody waits for")]
    Unexpected,
    /// Its key length is not that of the pairwise cipher.
    #[error("EAPOL-Key key length of another cipher")]
    KeyLength,
    /// Its replay counter was used before.
    #[error("EAPOL-Key replayed")]
    Replayed,
    /// It answers no message that is outstanding.
    #[error("EAPOL-Key replay counter of no outstanding message")]
    Counter,
    /// Its MIC is wrong.
    #[error("EAPOL-Key wrong MIC")]
    Mic,
    /// It names another PMK than ours.
    #[error("EAPOL-Key of another PMK")]
    Pmkid,
    /// Its key data cannot be decrypted, or are not encrypted.
    #[error("EAPOL-Key key data not decrypted")]
    KeyData,
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

/// The outputs, or why there are none.
type Taken = Result<Vec<Output>, Refused>;
