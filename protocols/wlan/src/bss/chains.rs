//! The keys of RRKM of one association: the chain of the station, that of the group at a station, and the clock by which they go
//! on ([`crate::rrkm`]).

use std::num::NonZeroU16;
use std::time::Duration;

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Time};

use crate::cipher::{Refused, Side};
use crate::rrkm::{CATCH_UP_EPOCHS_MAX, Clock, Established, KeyRing, MissedTooMany, Window};

/// What traces call a new key of a station, and one of the group.
const PAIRWISE: Fact = Fact::Rekeyed { what: std::borrow::Cow::Borrowed("pairwise") };
const GROUP: Fact = Fact::Rekeyed { what: std::borrow::Cow::Borrowed("group") };

/// The keys of RRKM of one association.
#[derive(Debug)]
pub(crate) struct Chains {
    pairwise: KeyRing,
    /// That of the group, if we are a station. It is hashed forward when a frame to the group comes, so that a period in which none
    /// comes costs one hash.
    group: Option<KeyRing>,
    clock: Clock,
    period_s: NonZeroU16,
    /// When a station wants to hear the timer again.
    check_at: Time,
    /// The latest epoch of which a station has heard a frame.
    heard: u32,
}

/// How many epochs a station trusts its clock: for so many, one that is 500 millionths wrong is off by half an epoch.
const TRUSTED_EPOCHS: u32 = 1_000;
/// After how many it asks again if it was not answered.
const ASKING_EPOCHS: u32 = 10;

impl Chains {
    pub(crate) fn new(ours: Side, established: &Established, clock: Clock, rng: &mut Rng) -> Self {
        let group = (ours == Side::Supplicant).then(|| established.group(rng));
        let period_s = established.cell.period_s;
        let check_at = clock.next_at() + epochs(period_s, TRUSTED_EPOCHS);
        let heard = established.cell.epoch;
        Self { pairwise: established.pairwise(rng), group, clock, period_s, check_at, heard }
    }

    /// Whether a station should ask for the timer.
    pub(crate) fn wants_timer(&mut self, now: Time) -> bool {
        let wants = self.group.is_some() && self.check_at <= now;
        if wants {
            self.check_at = now + epochs(self.period_s, ASKING_EPOCHS);
        }
        wants
    }

    /// A station hears the timer.
    pub(crate) fn on_timer(&mut self, timer_us: u64, cx: &mut Ctx<'_>) -> Result<(), MissedTooMany> {
        self.clock.follow(timer_us, self.period_s, cx.now);
        self.check_at = cx.now + epochs(self.period_s, TRUSTED_EPOCHS);
        self.advance(cx)
    }

    /// When the next epoch begins.
    pub(crate) const fn next_at(&self) -> Time {
        self.clock.next_at()
    }

    /// Goes on to the epoch of our clock.
    pub(crate) fn advance(&mut self, cx: &mut Ctx<'_>) -> Result<(), MissedTooMany> {
        let epoch = self.clock.advance(cx.now);
        self.go_on_to(epoch, cx)?;
        // Further behind, the group's chain could not be hashed forward any more.
        if let Some(group) = &mut self.group
            && epoch.saturating_sub(group.epoch()) >= CATCH_UP_EPOCHS_MAX
        {
            catch_up(group, epoch, cx);
        }
        Ok(())
    }

    fn go_on_to(&mut self, epoch: u32, cx: &mut Ctx<'_>) -> Result<(), MissedTooMany> {
        let before = self.pairwise.epoch();
        self.pairwise.advance_to(epoch, cx.crypto)?;
        if before != self.pairwise.epoch() {
            cx.trace.record(PAIRWISE);
        }
        Ok(())
    }

    pub(crate) fn seal(&mut self, body: &mut Vec<u8>, crypto: &mut dyn Crypto) {
        self.pairwise.seal(body, crypto);
    }

    /// Opens a frame. A station whose epoch was not that of the frame corrects its clock: the access point's is right.
    pub(crate) fn open(
        &mut self,
        is_to_group: bool,
        body: &mut Vec<u8>,
        cx: &mut Ctx<'_>,
    ) -> Result<(), Refused> {
        let window = if is_to_group { self.open_of_group(body, cx)? } else { self.open_of_pair(body, cx)? };
        let Some(group) = &self.group else { return Ok(()) };
        // Both rings are in the epoch that we believe in now.
        let epoch = self.pairwise.epoch().max(group.epoch());
        let is_news = self.heard < epoch;
        match window {
            Window::Next => self.clock.correct(epoch, cx.now),
            // Its first frame in this epoch. What comes after it may be sent again by somebody, and shows nothing.
            Window::Current if is_news => self.clock.confirm(cx.now),
            // What comes from the epoch before when the access point has shown that it is over, was late or is sent again.
            Window::Previous if is_news => self.clock.hold(epoch, cx.now),
            Window::Current | Window::Previous => {}
        }
        if window != Window::Previous {
            self.heard = epoch;
        }
        self.go_on_to(self.clock.epoch(), cx).map_err(|_| Refused::KeyId)
    }

    fn open_of_pair(&mut self, body: &mut Vec<u8>, cx: &mut Ctx<'_>) -> Result<Window, Refused> {
        if self.group.is_none() {
            return self.pairwise.open(body, cx.crypto);
        }
        let window = self.pairwise.open_and_follow(body, cx.crypto)?;
        if window == Window::Next {
            cx.trace.record(PAIRWISE);
        }
        Ok(window)
    }

    fn open_of_group(&mut self, body: &mut Vec<u8>, cx: &mut Ctx<'_>) -> Result<Window, Refused> {
        let group = self.group.as_mut().ok_or(Refused::KeyId)?;
        catch_up(group, self.pairwise.epoch(), cx);
        let window = group.open_and_follow(body, cx.crypto)?;
        if window == Window::Next {
            cx.trace.record(GROUP);
        }
        Ok(window)
    }
}

fn epochs(period_s: NonZeroU16, count: u32) -> Duration {
    Duration::from_secs(period_s.get().into()) * count
}

/// Hashes a chain of a group forward that may be further behind than one step takes.
pub(crate) fn catch_up(group: &mut KeyRing, epoch: u32, cx: &mut Ctx<'_>) {
    let before = group.epoch();
    while group.epoch() < epoch {
        let step = epoch.min(group.epoch().saturating_add(CATCH_UP_EPOCHS_MAX));
        group.advance_to(step, cx.crypto).expect("a step is no longer than a chain is hashed forward");
    }
    if before != group.epoch() {
        cx.trace.record(GROUP);
    }
}
