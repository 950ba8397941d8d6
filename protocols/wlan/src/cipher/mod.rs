//! What protects MPDUs: WEP (802.11-2020 §12.3), TKIP (§12.5.2), CCMP (§12.5.3), BIP (§12.5.4) and GCMP (§12.5.5).
//!
//! ```text
//!   header ‖ body --seal--> header ‖ IV or packet number ‖ encrypted body ‖ MIC or ICV --open--> header ‖ body
//! ```
//!
//! A body is sealed and opened in place in its buffer, which grows once to the length of its longest MPDU; no packet allocates. The
//! MAC header is read and never changed: its Protected Frame bit counts as set. Fragments, header compression and protected
//! A-MSDUs (SPP) are not supported.
//!
//! [`Sender`] and [`Receiver`] have the ciphers of data frames, which CCMP and GCMP also are for individually addressed management
//! frames; [`bip`] is for management frames to groups.

mod aead;
pub mod bip;
mod cmac;
mod header;
mod michael;
mod mixing;
mod packet_number;
pub mod tkip;
pub mod wep;

use keytoll_crypto_api::{Crypto, Secret};

pub use wep::WepKey;

use crate::suite::Cipher;

/// Whose key a key of TKIP is: Michael has one for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The access point's.
    Authenticator,
    /// The station's.
    Supplicant,
}

/// Why a received MPDU is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// It has no room for what its cipher adds.
    #[error("too short for its cipher")]
    TooShort,
    /// Its MAC header has another length than its Frame Control says, or is of a type that is not protected.
    #[error("not a MAC header of a protected frame")]
    Header,
    /// Its Ext IV bit says WEP where the key is of another cipher, or the other way round.
    #[error("wrong Ext IV bit")]
    ExtendedIv,
    /// Another key was used, or one that is not there.
    #[error("no key with this key ID")]
    KeyId,
    /// Its packet number is no higher than that of a frame before it.
    #[error("replayed packet number")]
    Replayed,
    /// The ICV is wrong.
    #[error("wrong ICV")]
    Icv,
    /// The MIC is wrong; with TKIP this calls for countermeasures.
    #[error("wrong MIC")]
    Mic,
    /// It is a fragment, which TKIP's MIC cannot be checked of.
    #[error("fragment")]
    Fragment,
    /// A management frame without the element that protects it.
    #[error("no management MIC element")]
    NoManagementMic,
}

/// Why an MPDU is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CannotSeal {
    /// 802.11-2020 §12.5.3.2: no packet number is used twice, so a key that has none left must be replaced.
    #[error("all packet numbers of the key are used")]
    Exhausted,
    /// The MAC header has another length than its Frame Control says, or is of a type that the cipher does not protect.
    #[error("not a MAC header of a frame that the cipher protects")]
    Header,
}

/// A key that the cipher does not take: of another length, or of a cipher for another kind of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of {len} bytes is none of {cipher:?} for this use")]
pub struct BadKey {
    /// The cipher.
    pub cipher: Cipher,
    /// The length of the key.
    pub len: usize,
}

impl BadKey {
    /// Checks the length.
    fn check(cipher: Cipher, key: &[u8]) -> Result<(), Self> {
        if key.len() == cipher.key_len() { Ok(()) } else { Err(Self { cipher, len: key.len() }) }
    }
}

/// Protects what one station sends under one key.
#[derive(Debug)]
pub enum Sender {
    /// WEP.
    Wep(wep::Sender),
    /// TKIP.
    Tkip(tkip::Sender),
    /// CCMP or GCMP.
    Aead(aead::Sender),
}

/// Checks what one station receives under one key.
#[derive(Debug)]
pub enum Receiver {
    /// WEP.
    Wep(wep::Receiver),
    /// TKIP.
    Tkip(tkip::Receiver),
    /// CCMP or GCMP.
    Aead(aead::Receiver),
}

impl Sender {
    /// Sends as `side` under a temporal key; `first_iv` is where WEP begins.
    ///
    /// # Errors
    /// The key is none of the cipher.
    pub fn new(
        cipher: Cipher,
        key: &Secret,
        key_id: u8,
        side: Side,
        first_iv: wep::Iv,
    ) -> Result<Self, BadKey> {
        BadKey::check(cipher, key)?;
        Ok(match cipher {
            Cipher::Wep40 | Cipher::Wep104 => {
                Self::Wep(wep::Sender::new(WepKey::of(cipher, key)?, key_id, first_iv))
            }
            Cipher::Tkip => Self::Tkip(tkip::Sender::new(tkip::Keys::new(key, side)?, key_id)),
            _ => Self::Aead(aead::Sender::new(cipher, key, key_id)?),
        })
    }

    /// Encrypts the body of an MPDU.
    ///
    /// # Errors
    /// The key is used up, or the header is none that this cipher protects.
    pub fn seal(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), CannotSeal> {
        match self {
            Self::Wep(wep) => {
                wep.seal(body, crypto);
                Ok(())
            }
            Self::Tkip(tkip) => tkip.seal(header, body, crypto),
            Self::Aead(aead) => aead.seal(header, body, crypto),
        }
    }
}

impl Receiver {
    /// Receives what `side` sends under a temporal key, beginning behind the packet number `last`, which is 0 for a new key.
    ///
    /// # Errors
    /// The key is none of the cipher.
    pub fn new(cipher: Cipher, key: &Secret, key_id: u8, side: Side, last: u64) -> Result<Self, BadKey> {
        BadKey::check(cipher, key)?;
        Ok(match cipher {
            Cipher::Wep40 | Cipher::Wep104 => Self::Wep(wep::Receiver::new(WepKey::of(cipher, key)?, key_id)),
            Cipher::Tkip => Self::Tkip(tkip::Receiver::new(tkip::Keys::new(key, side)?, key_id, last)),
            _ => Self::Aead(aead::Receiver::new(cipher, key, key_id, last)?),
        })
    }

    /// Opens what others send, whatever its packet number: a capture has frames twice, out of order, and of senders that begin at 0.
    ///
    /// # Errors
    /// The key is none of the cipher.
    pub fn overhearing(cipher: Cipher, key: &Secret, key_id: u8, side: Side) -> Result<Self, BadKey> {
        let mut receiver = Self::new(cipher, key, key_id, side, 0)?;
        match &mut receiver {
            Self::Wep(_) => {}
            Self::Tkip(tkip) => tkip.received.check_nothing(),
            Self::Aead(aead) => aead.received.check_nothing(),
        }
        Ok(receiver)
    }

    /// Decrypts and checks the body of an MPDU; if it is refused, the contents of the body are undefined.
    ///
    /// # Errors
    /// Why it is discarded.
    pub fn open(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        match self {
            Self::Wep(wep) => wep.open(body, crypto),
            Self::Tkip(tkip) => tkip.open(header, body, crypto),
            Self::Aead(aead) => aead.open(header, body, crypto),
        }
    }
}

// 802.11-2020 §12.3.2, §12.5.2.2, §12.5.3.2: the key ID is in bits 6 and 7 of the fourth octet, whatever the cipher.
/// The ID of the key that a protected body was sealed with; none if the body is too short.
pub fn key_id(body: &[u8]) -> Option<u8> {
    body.get(3).map(|octet| octet >> 6)
}

/// Moves a body behind octets that go in front of it, with `behind` octets of room at its end.
fn surround(body: &mut Vec<u8>, front: &[u8], behind: usize) {
    let len = body.len();
    body.resize(len + front.len() + behind, 0);
    body.copy_within(..len, front.len());
    body[..front.len()].copy_from_slice(front);
}

/// Removes so many octets at the front of a body, and so many at its end, which are there.
fn strip(body: &mut Vec<u8>, front: usize, behind: usize) {
    let len = body.len() - front - behind;
    body.copy_within(front..front + len, 0);
    body.truncate(len);
}

#[cfg(test)]
mod tests;
