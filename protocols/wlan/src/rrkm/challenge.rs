//! C, the plaintext of the challenge, of a length with 802.11's challenge text.
//!
//!   "RRKM2"(5) Epoch(4) Period(2), in seconds  Slot(1) Left(4), of the epoch, in milliseconds  Group Key(13) Random(99)
//!
//! Numbers have the least significant octet first.

use std::num::NonZeroU16;

use keytoll_crypto_api::Rng;
use keytoll_net::wire::Reader;

use super::Cell;
use crate::cipher::WepKey;
use crate::frame::management::authentication::CHALLENGE_LEN;
use crate::shared_key::Failure;

/// The beginning, by which a station recognises that C was encrypted with its key.
const MAGIC: [u8; 5] = *b"RRKM2";
/// Room for the longer one of the two kinds of keys.
const GROUP_KEY: usize = 13;
/// Places for keys.
pub(super) const SLOTS: u32 = 4;

/// C.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) octets: [u8; CHALLENGE_LEN],
}

impl Challenge {
    pub(super) fn new(cell: &Cell, rng: &mut Rng) -> Self {
        let mut octets = rng.bytes();
        let head = [
            &MAGIC[..],
            &cell.epoch.to_le_bytes(),
            &cell.period_s.get().to_le_bytes(),
            &[(cell.epoch % SLOTS) as u8],
            &cell.left_ms.to_le_bytes(),
            &cell.group,
        ]
        .concat();
        octets[..head.len()].copy_from_slice(&head);
        Self { octets }
    }

    /// What a station reads in it, whose own key has `key_len` octets.
    pub(super) fn cell(&self, key_len: usize) -> Result<Cell, Failure> {
        let mut r = Reader::new(&self.octets);
        let magic: [u8; 5] = r.array("RRKM magic")?;
        let (epoch, period_s) = (u32::from_le_bytes(r.array("RRKM epoch")?), r.u16_le("RRKM period")?);
        let period_s = NonZeroU16::new(period_s).ok_or(Failure::Challenge)?;
        let (slot, left_ms) = (r.u8("RRKM slot")?, u32::from_le_bytes(r.array("RRKM left")?));
        let group: [u8; GROUP_KEY] = r.array("RRKM group key")?;
        let group = group.get(..key_len).and_then(WepKey::new).ok_or(Failure::Challenge)?;
        let is_left = u64::from(left_ms) <= u64::from(period_s.get()) * 1000;
        if magic != MAGIC || u32::from(slot) != epoch % SLOTS || !is_left {
            return Err(Failure::Challenge);
        }
        Ok(Cell { epoch, period_s, left_ms, group })
    }
}
