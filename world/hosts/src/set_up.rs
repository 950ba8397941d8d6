//! A device's attempt to get an SA: what it is about, and when the device gives it up by itself.
//!
//! IKE has its own timers (RFC 7296 §2.4), and tells how an attempt ended. Whoever waits for that must not wait for ever if
//! it is told nothing.

use std::time::Duration;

use keytoll_engine::{Deadline, Time};
use keytoll_ike::config::Retransmission;
use keytoll_ike::v2::SaId;

/// IKE gives a silent peer up after one time of all its repetitions.
const SILENCE_MAX: u32 = 2;
/// However much is said: more exchanges than the longest EAP method has, each at its slowest.
const WHOLE_MAX: u32 = 32;

/// An attempt under way.
#[derive(Debug)]
pub(crate) struct SetUp {
    /// The IKE SA that it has led to.
    sa: Option<SaId>,
    /// How long the gateway may be silent.
    silence_max: Duration,
    silent_until: Time,
    ends_at: Time,
}

impl SetUp {
    pub(crate) fn begin(now: Time, timers: &Retransmission) -> Self {
        let total = timers.total();
        let silence_max = total.saturating_mul(SILENCE_MAX);
        let ends_at = now + total.saturating_mul(WHOLE_MAX);
        Self { sa: None, silence_max, silent_until: now + silence_max, ends_at }
    }

    /// A message of IKE came, from whomever.
    pub(crate) fn heard(&mut self, now: Time) {
        self.silent_until = now + self.silence_max;
    }

    /// The IKE SA is there.
    pub(crate) const fn led_to(&mut self, sa: SaId) {
        self.sa = Some(sa);
    }

    /// The IKE SA has another name now.
    pub(crate) fn renamed(&mut self, old: SaId, new: SaId) {
        self.sa = self.sa.map(|sa| if sa == old { new } else { sa });
    }

    /// The IKE SA that it has led to, if it has.
    pub(crate) const fn sa(&self) -> Option<SaId> {
        self.sa
    }

    /// Whether it needs this IKE SA to succeed.
    pub(crate) fn needs(&self, sa: SaId) -> bool {
        self.sa == Some(sa)
    }

    pub(crate) fn is_hopeless(&self, now: Time) -> bool {
        self.silent_until.min(self.ends_at) <= now
    }

    pub(crate) fn deadline(&self) -> Deadline {
        Deadline { at: self.silent_until.min(self.ends_at), why: "the device gives up" }
    }
}
