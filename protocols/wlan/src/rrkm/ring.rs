//! The keys of one chain in the four places, by epoch: the current one seals, those of the epochs before and after open besides.

use keytoll_crypto_api::{Crypto, Phase};

use super::challenge::SLOTS;
use super::{Cell, KeyHash, Parameters};
use crate::MacAddr;
use crate::cipher::wep::{self, Iv};
use crate::cipher::{Refused, WepKey, key_id};

/// How many epochs a station may have missed that goes on with its chain: a week of minutes. Beyond, it authenticates again.
pub const CATCH_UP_EPOCHS_MAX: u32 = 7 * 24 * 60;

/// The keys of a chain.
#[derive(Debug)]
pub struct KeyRing {
    hash: KeyHash,
    /// The station; none of a group's keys.
    owner: Option<MacAddr>,
    epoch: u32,
    previous: Option<WepKey>,
    current: WepKey,
    /// Hashed when it is needed, so that there is one hash for each epoch.
    next: Option<WepKey>,
    next_iv: Iv,
}

/// Which key a frame was sealed with, as the receiver sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// That of the epoch before: the frame was on its way while the epoch changed.
    Previous,
    /// That of this epoch.
    Current,
    /// That of the next epoch: the sender's clock is ahead.
    Next,
}

/// More epochs have passed than a chain is hashed forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{epochs} epochs missed, more than a key is hashed forward")]
pub struct MissedTooMany {
    /// How many.
    pub epochs: u32,
}

impl KeyRing {
    /// The keys between a station and its access point, from the epoch of their authentication on.
    pub fn pairwise(parameters: &Parameters, epoch: u32, first_iv: Iv) -> Self {
        Self::new(parameters.hash, Some(parameters.station), epoch, &parameters.key, first_iv)
    }

    /// The keys of a group, from an epoch of which its key is known.
    pub fn group(hash: KeyHash, cell: &Cell, first_iv: Iv) -> Self {
        Self::new(hash, None, cell.epoch, &cell.group, first_iv)
    }

    fn new(hash: KeyHash, owner: Option<MacAddr>, epoch: u32, key: &WepKey, next_iv: Iv) -> Self {
        Self { hash, owner, epoch, previous: None, current: key.clone(), next: None, next_iv }
    }

    /// The epoch.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The key of this epoch, which goes into challenges if it is the group's.
    pub const fn key(&self) -> &WepKey {
        &self.current
    }

    /// Goes on to an epoch, with one hash for each; back it never goes.
    ///
    /// # Errors
    /// Too many have passed; nothing has changed then.
    pub fn advance_to(&mut self, epoch: u32, crypto: &mut dyn Crypto) -> Result<(), MissedTooMany> {
        let epochs = epoch.saturating_sub(self.epoch);
        if epochs > CATCH_UP_EPOCHS_MAX {
            return Err(MissedTooMany { epochs });
        }
        (0..epochs).for_each(|_| self.step(crypto));
        Ok(())
    }

    /// Encrypts the body of an MPDU with the key of this epoch.
    pub fn seal(&mut self, body: &mut Vec<u8>, crypto: &mut dyn Crypto) {
        crypto.enter(Phase::TRAFFIC);
        wep::seal(&self.current, self.next_iv, slot(self.epoch), body, crypto);
        self.next_iv = self.next_iv.next();
    }

    /// Decrypts the body of an MPDU that was sealed in this epoch or in one beside it. One of the next epoch advances the ring: for
    /// a station, whose access point's clock is right.
    ///
    /// # Errors
    /// Its key ID is that of no such epoch, it is too short, or the ICV is wrong.
    pub fn open_and_follow(
        &mut self,
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<Window, Refused> {
        let window = self.open(body, crypto)?;
        if window == Window::Next {
            self.step(crypto);
        }
        Ok(window)
    }

    /// The same, and the ring stays in its epoch: for an access point, whose own clock is right. A station that is ahead sees by
    /// the answers that it is.
    ///
    /// # Errors
    /// As above.
    pub fn open(&mut self, body: &mut Vec<u8>, crypto: &mut dyn Crypto) -> Result<Window, Refused> {
        let window = self.window(body)?;
        if window == Window::Next && self.next.is_none() {
            self.next = Some(self.hashed(crypto));
        }
        let key = match window {
            Window::Previous => self.previous.as_ref(),
            Window::Current => Some(&self.current),
            Window::Next => self.next.as_ref(),
        };
        crypto.enter(Phase::TRAFFIC);
        wep::open(key.ok_or(Refused::KeyId)?, body, crypto)?;
        Ok(window)
    }

    fn window(&self, body: &[u8]) -> Result<Window, Refused> {
        let id = key_id(body).ok_or(Refused::TooShort)?;
        // The place of the epoch before is three further on.
        match (SLOTS as u8 + id - slot(self.epoch)) % SLOTS as u8 {
            0 => Ok(Window::Current),
            1 => Ok(Window::Next),
            3 => Ok(Window::Previous),
            _ => Err(Refused::KeyId),
        }
    }

    fn step(&mut self, crypto: &mut dyn Crypto) {
        let next = self.next.take().unwrap_or_else(|| self.hashed(crypto));
        self.previous = Some(std::mem::replace(&mut self.current, next));
        self.epoch = self.epoch.saturating_add(1);
    }

    /// The key of the next epoch.
    fn hashed(&self, crypto: &mut dyn Crypto) -> WepKey {
        self.hash.next(&self.current, self.epoch.saturating_add(1), self.owner, crypto)
    }
}

/// The place of an epoch's key, which is its key ID.
const fn slot(epoch: u32) -> u8 {
    (epoch % SLOTS) as u8
}
