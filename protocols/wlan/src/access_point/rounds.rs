//! The cell of RRKM: the keys that its stations share with it, its clock, and the chain of the group's keys.

use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Ctx, Time};

use crate::MacAddr;
use crate::bss::catch_up;
use crate::cipher::WepKey;
use crate::cipher::wep::Iv;
use crate::rrkm::{AccessPointConfig, CATCH_UP_EPOCHS_MAX, Cell, Clock, KeyRing, Parameters};
use crate::suite::Cipher;

/// The cell of RRKM.
#[derive(Debug)]
pub(super) struct Rounds {
    config: AccessPointConfig,
    cipher: Cipher,
    clock: Clock,
    /// It is hashed forward when it is needed, so that a period costs one hash for each station.
    group: KeyRing,
}

impl Rounds {
    /// The group's first key is random.
    pub(super) fn new(config: AccessPointConfig, cipher: Cipher, rng: &mut Rng) -> Self {
        let left = Duration::from_secs(config.period_s.get().into());
        let clock = Clock::new(config.first_epoch, Time::ZERO, left, config.period_s, 0);
        let cell = cell_of(&clock, config.period_s, random(cipher, rng), Time::ZERO);
        let group = KeyRing::group(config.hash, &cell, Iv::random(rng));
        Self { config, cipher, clock, group }
    }

    /// When the next epoch begins.
    pub(super) const fn next_at(&self) -> Time {
        self.clock.next_at()
    }

    /// The clock for the chain of a station that begins in this epoch, which may be over.
    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    /// Goes on to the epoch of now.
    pub(super) fn advance(&mut self, has_members: bool, rng: &mut Rng, cx: &mut Ctx<'_>) {
        let epoch = self.clock.advance(cx.now);
        if epoch.saturating_sub(self.group.epoch()) < CATCH_UP_EPOCHS_MAX {
            return;
        }
        if has_members {
            return catch_up(&mut self.group, epoch, cx);
        }
        // Nobody has followed the chain, so that another one may begin.
        let cell = cell_of(&self.clock, self.config.period_s, random(self.cipher, rng), cx.now);
        self.group = KeyRing::group(self.config.hash, &cell, Iv::random(rng));
    }

    /// What an authentication of a station is about; none if it has no key.
    pub(super) fn of(
        &mut self,
        station: MacAddr,
        access_point: MacAddr,
        cx: &mut Ctx<'_>,
    ) -> Option<(Parameters, Cell)> {
        let key = self.config.keys.get(&station).filter(|key| key.len() == self.group.key().len())?.clone();
        self.catch_up(cx);
        let cell = cell_of(&self.clock, self.config.period_s, self.group.key().clone(), cx.now);
        Some((Parameters { key, station, access_point, hash: self.config.hash }, cell))
    }

    /// Encrypts a data frame to all.
    pub(super) fn seal(&mut self, body: &mut Vec<u8>, cx: &mut Ctx<'_>) {
        self.catch_up(cx);
        self.group.seal(body, cx.crypto);
    }

    fn catch_up(&mut self, cx: &mut Ctx<'_>) {
        catch_up(&mut self.group, self.clock.epoch(), cx);
    }
}

/// The epoch of a clock, and what is left of it.
fn cell_of(clock: &Clock, period_s: NonZeroU16, group: WepKey, now: Time) -> Cell {
    let left_ms = u32::try_from(clock.next_at().since(now).as_millis()).unwrap_or(u32::MAX);
    Cell { epoch: clock.epoch(), period_s, left_ms, group }
}

fn random(cipher: Cipher, rng: &mut Rng) -> WepKey {
    let octets: [u8; 13] = rng.bytes();
    let octets = if cipher == Cipher::Wep40 { &octets[..5] } else { &octets };
    WepKey::new(octets).expect("keys of WEP have 5 or 13 octets")
}
