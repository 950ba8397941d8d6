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
    /// The IKE SA that it is about.
    sa: Option<SaId>,
    /// How long it may stand still.
    silence_max: Duration,
    silent_until: Time,
    ends_at: Time,
}

impl SetUp {
    /// `sa`: what IKE began, if it began something.
    pub(crate) fn begin(sa: Option<SaId>, now: Time, timers: &Retransmission) -> Self {
        let total = timers.total();
        let silence_max = total.saturating_mul(SILENCE_MAX);
        let ends_at = now + total.saturating_mul(WHOLE_MAX);
        Self { sa, silence_max, silent_until: now + silence_max, ends_at }
    }

    /// Its IKE SA went on at that time. What strangers send does not count.
    pub(crate) fn went_on(&mut self, at: Time) {
        self.silent_until = at + self.silence_max;
    }

    /// The IKE SA has another name now.
    pub(crate) fn renamed(&mut self, old: SaId, new: SaId) {
        self.sa = self.sa.map(|sa| if sa == old { new } else { sa });
    }

    /// The IKE SA that it is about.
    pub(crate) const fn sa(&self) -> Option<SaId> {
        self.sa
    }

    /// Whether it is about this IKE SA.
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
