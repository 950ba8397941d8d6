//! How often and how long a message of management waits for its answer. 802.11 acknowledges frames; what is missing here is the
//! answer of the other side's management, for which the standard has dot11AuthenticationResponseTimeOut and no number.

use std::time::Duration;

use keytoll_engine::Time;

/// What Linux waits for (`IEEE80211_AUTH_TIMEOUT`).
const WAIT: Duration = Duration::from_millis(200);
/// So often Linux sends a message (`IEEE80211_AUTH_MAX_TRIES`).
const TRIES: u32 = 3;

/// A message under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    sent: u32,
    pub(crate) again_at: Time,
}

impl Attempt {
    /// It has been sent for the first time.
    pub(crate) fn begin(now: Time) -> Self {
        Self { sent: 1, again_at: now + WAIT }
    }

    /// It is sent for the first time then.
    pub(crate) const fn at(again_at: Time) -> Self {
        Self { sent: 0, again_at }
    }

    /// It is sent again, if it was not sent often enough.
    pub(crate) fn again(self, now: Time) -> Option<Self> {
        (self.sent < TRIES).then(|| Self { sent: self.sent + 1, again_at: now + WAIT })
    }
}
