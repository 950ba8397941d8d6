//! Packet numbers of 48 bits, and the counters by which a receiver recognises replays. 802.11-2020 §12.5.3.4.4, §12.5.2.6.
//!
//!   CCMP and GCMP:  PN0 PN1 Reserved Flags PN2 PN3 PN4 PN5        TKIP:  TSC1 WEPSeed TSC0 Flags TSC2 TSC3 TSC4 TSC5
//!   Flags:  Reserved(5 bits) Ext IV(1 bit, 1) Key ID(2 bits)

use super::header::Header;
use super::{CannotSeal, Refused};

/// Octets in front of what is encrypted.
pub(super) const HEADER: usize = 8;
/// The highest packet number.
pub(super) const MAX: u64 = (1 << 48) - 1;
const EXTENDED_IV: u8 = 0x20;
/// TIDs of a frame: 0 to 15.
const TIDS: usize = 16;

/// The packet numbers of a sender.
#[derive(Debug)]
pub(super) struct Sent(u64);

impl Sent {
    pub(super) const fn new() -> Self {
        Self(0)
    }

    // 802.11-2020 §12.5.3.3.2: the packet number increases by one for every MPDU, and none is used twice with a key.
    /// The next one.
    pub(super) fn next(&mut self) -> Result<u64, CannotSeal> {
        if self.0 == MAX {
            return Err(CannotSeal::Exhausted);
        }
        self.0 += 1;
        Ok(self.0)
    }

    /// Goes on behind this one.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, last: u64) {
        self.0 = last;
    }
}

/// The replay counters of a receiver: one for each TID, and one for management frames.
#[derive(Debug)]
pub(super) struct Received {
    data: [u64; TIDS],
    management: u64,
    is_checked: bool,
}

impl Received {
    pub(super) const fn new(last: u64) -> Self {
        Self { data: [last; TIDS], management: last, is_checked: true }
    }

    /// Takes every number from now on.
    pub(super) const fn check_nothing(&mut self) {
        self.is_checked = false;
    }

    // 802.11-2020 §12.5.3.4.4: an MPDU whose packet number is not above the replay counter is discarded.
    pub(super) fn check(&mut self, header: Header<'_>, number: u64) -> Result<(), Refused> {
        if !self.is_checked || number > *self.counter(header) { Ok(()) } else { Err(Refused::Replayed) }
    }

    /// Takes the number of a frame that has proved to be authentic.
    pub(super) fn accept(&mut self, header: Header<'_>, number: u64) {
        *self.counter(header) = number;
    }

    fn counter(&mut self, header: Header<'_>) -> &mut u64 {
        if header.is_management() { &mut self.management } else { &mut self.data[usize::from(header.tid())] }
    }
}

/// The flags with a key ID.
pub(super) const fn flags(key_id: u8) -> u8 {
    EXTENDED_IV | key_id << 6
}

/// Checks that a body begins with an extended IV and is of this key.
pub(super) fn check_flags(body: &[u8], key_id: u8) -> Result<(), Refused> {
    let flags = body.get(3).ok_or(Refused::TooShort)?;
    if flags & EXTENDED_IV == 0 {
        return Err(Refused::ExtendedIv);
    }
    if flags >> 6 == key_id { Ok(()) } else { Err(Refused::KeyId) }
}
