//! TKIP: an RC4 key for every MPDU, Michael, an ICV, and countermeasures against guesses of Michael's key. 802.11-2020 §12.5.2.
//!
//!   TSC and Key ID(8) Encrypted: Data(*) MIC(8) ICV(4)

use std::time::Duration;

use keytoll_crypto_api::algorithm::StreamCipher;
use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::Time;

use super::header::Header;
use super::michael::{self, michael};
use super::mixing::{self, Ttak, halves, phase_1, phase_2, seed};
use super::packet_number::{HEADER, Received, Sent, check_flags, flags};
use super::wep::{ICV, check_icv, icv};
use super::{BadKey, CannotSeal, Refused, Side, strip, surround};
use crate::MacAddr;
use crate::suite::Cipher;

/// The keys of one direction.
pub struct Keys {
    mixed: [u8; mixing::KEY],
    michael: [u8; michael::LEN],
    /// The result of phase 1 for this transmitter and these upper bits of the packet number.
    phase_1: Option<(MacAddr, u32, Ttak)>,
}

impl Keys {
    // 802.11-2020 §12.7.1.3 and table 12-7: bits 0 to 127 are mixed, 128 to 191 are the Michael key of what the
    // authenticator sends, 192 to 255 that of what the supplicant sends.
    pub(super) fn new(key: &Secret, side: Side) -> Result<Self, BadKey> {
        let wrong = BadKey { cipher: Cipher::Tkip, len: key.len() };
        let (mixed, michaels) = key.split_first_chunk().ok_or(wrong)?;
        let (of_authenticator, of_supplicant) = michaels.split_at_checked(michael::LEN).ok_or(wrong)?;
        let michael = match side {
            Side::Authenticator => of_authenticator,
            Side::Supplicant => of_supplicant,
        };
        Ok(Self { mixed: *mixed, michael: michael.try_into().map_err(|_| wrong)?, phase_1: None })
    }

    /// The RC4 key of an MPDU.
    fn rc4(&mut self, transmitter: MacAddr, number: u64) -> [u8; mixing::KEY] {
        let (low, high) = halves(number);
        let kept = self.phase_1.filter(|&(address, upper, _)| (address, upper) == (transmitter, high));
        let (.., ttak) = *self
            .phase_1
            .insert(kept.unwrap_or_else(|| (transmitter, high, phase_1(&self.mixed, transmitter, high))));
        phase_2(&self.mixed, &ttak, low)
    }

    // 802.11-2020 §12.5.2.3.1: Michael covers destination, source, priority and three zeros besides the data.
    fn mic(&self, header: Header<'_>, data: &[u8]) -> [u8; michael::LEN] {
        let (mut head, [destination, source]) = ([0; 16], header.ends());
        head[..6].copy_from_slice(&destination);
        head[6..12].copy_from_slice(&source);
        head[12] = header.tid();
        michael(self.michael, [&head, data])
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Sends under one key.
#[derive(Debug)]
pub struct Sender {
    keys: Keys,
    key_id: u8,
    sent: Sent,
}

/// Receives under one key.
#[derive(Debug)]
pub struct Receiver {
    keys: Keys,
    key_id: u8,
    pub(super) received: Received,
}

impl Sender {
    pub(super) fn new(keys: Keys, key_id: u8) -> Self {
        Self { keys, key_id: key_id & 3, sent: Sent::new() }
    }

    pub(super) fn seal(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), CannotSeal> {
        let header = data_header(header).map_err(|_| CannotSeal::Header)?;
        let number = self.sent.next()?;
        body.extend_from_slice(&self.keys.mic(header, body));
        body.extend_from_slice(&icv(body));
        surround(body, &cipher_header(number, self.key_id), 0);
        let key = self.keys.rc4(header.transmitter(), number);
        crypto.stream(StreamCipher::Rc4, &key, &mut body[HEADER..]);
        Ok(())
    }
}

impl Receiver {
    pub(super) fn new(keys: Keys, key_id: u8, last: u64) -> Self {
        Self { keys, key_id: key_id & 3, received: Received::new(last) }
    }

    // 802.11-2020 §12.5.2.6: replays are discarded first, then what has a wrong ICV; only what has passed both can be an attack on
    // Michael. The replay counter goes on when the MIC is right.
    pub(super) fn open(
        &mut self,
        header: &[u8],
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        let header = data_header(header)?;
        if body.len() < HEADER + michael::LEN + ICV {
            return Err(Refused::TooShort);
        }
        check_flags(body, self.key_id)?;
        let number = sequence_counter(body);
        self.received.check(header, number)?;
        let key = self.keys.rc4(header.transmitter(), number);
        crypto.stream(StreamCipher::Rc4, &key, &mut body[HEADER..]);
        check_icv(&body[HEADER..])?;
        strip(body, HEADER, ICV);
        let (data, mic) = body.split_at(body.len() - michael::LEN);
        if self.keys.mic(header, data) != mic {
            return Err(Refused::Mic);
        }
        self.received.accept(header, number);
        strip(body, 0, michael::LEN);
        Ok(())
    }
}

/// TKIP protects whole data frames only.
fn data_header(header: &[u8]) -> Result<Header<'_>, Refused> {
    let header = Header::read(header).filter(|header| !header.is_management()).ok_or(Refused::Header)?;
    if header.is_fragment() { Err(Refused::Fragment) } else { Ok(header) }
}

fn cipher_header(number: u64, key_id: u8) -> [u8; HEADER] {
    let (low, high) = halves(number);
    let [first, second, third] = seed(low);
    let [tsc2, tsc3, tsc4, tsc5] = high.to_le_bytes();
    [first, second, third, flags(key_id), tsc2, tsc3, tsc4, tsc5]
}

/// The packet number, TSC, in a body that is long enough.
fn sequence_counter(body: &[u8]) -> u64 {
    u64::from_le_bytes([body[2], body[0], body[4], body[5], body[6], body[7], 0, 0])
}

/// 802.11-2020 §12.5.2.4: the time within which a second failure is an attack, and for which TKIP stops then.
pub const COUNTERMEASURES: Duration = Duration::from_secs(60);

/// Watches for attacks on Michael: one for all keys of a station.
#[derive(Debug, Clone, Copy, Default)]
pub struct Countermeasures {
    last_failure: Option<Time>,
}

/// What follows from a wrong MIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MicFailure {
    /// The first one: a supplicant reports it, an authenticator notes it.
    Report,
    /// The second one within [`COUNTERMEASURES`]: all who use TKIP are deauthenticated, and nothing is received with it until then.
    Stop {
        /// When TKIP goes on.
        until: Time,
    },
}

impl Countermeasures {
    /// An MPDU was refused for its MIC, or a supplicant reports that one was.
    pub fn on_failure(&mut self, now: Time) -> MicFailure {
        let recent = |last: &Time| now.since(*last) <= COUNTERMEASURES;
        if self.last_failure.as_ref().is_some_and(recent) {
            self.last_failure = None;
            return MicFailure::Stop { until: now + COUNTERMEASURES };
        }
        self.last_failure = Some(now);
        MicFailure::Report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_within_a_minute_stop_tkip() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut watch = Countermeasures::default();
        assert_eq!(watch.on_failure(at(0)), MicFailure::Report);
        assert_eq!(watch.on_failure(at(61)), MicFailure::Report);
        assert_eq!(watch.on_failure(at(100)), MicFailure::Stop { until: at(160) });
        assert_eq!(watch.on_failure(at(161)), MicFailure::Report);
    }
}
