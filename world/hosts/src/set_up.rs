//! A device's attempt to set up a session: which session it concerns, and when the device gives it up.
//!
//! The protocol has its own timers (IKE: RFC 7296 §2.4) and reports the result of an attempt. The device has a timeout of its
//! own in case no report comes.

use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use crate::event::SessionId;

/// Timeout for a silent peer, in multiples of the protocol's own retransmission time.
const SILENCE_MAX: u32 = 2;
/// Timeout for the whole attempt in the same unit: more exchanges than the longest EAP method has, each at its slowest.
const WHOLE_MAX: u32 = 32;

/// An attempt under way.
#[derive(Debug)]
pub struct SetUp {
    /// The session that it concerns.
    session: Option<SessionId>,
    /// How long it may make no progress.
    silence_max: Duration,
    silent_until: Time,
    ends_at: Time,
}

impl SetUp {
    /// `session` is the one that the protocol started, if any; `exchange_max` is how long it retransmits a message before it
    /// gives up.
    pub fn begin(session: Option<SessionId>, now: Time, exchange_max: Duration) -> Self {
        let silence_max = exchange_max.saturating_mul(SILENCE_MAX);
        let ends_at = now + exchange_max.saturating_mul(WHOLE_MAX);
        Self { session, silence_max, silent_until: now + silence_max, ends_at }
    }

    /// Notes progress of its session. Packets of strangers do not count.
    pub fn went_on(&mut self, at: Time) {
        self.silent_until = at + self.silence_max;
    }

    /// The session has another name now.
    pub fn renamed(&mut self, old: SessionId, new: SessionId) {
        self.session = self.session.map(|session| if session == old { new } else { session });
    }

    /// The session that it concerns.
    pub const fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Whether it concerns this session.
    pub fn needs(&self, session: SessionId) -> bool {
        self.session == Some(session)
    }

    /// Whether it has timed out.
    pub fn is_hopeless(&self, now: Time) -> bool {
        self.silent_until.min(self.ends_at) <= now
    }

    /// When that is.
    pub fn deadline(&self) -> Deadline {
        Deadline { at: self.silent_until.min(self.ends_at), why: "the device gives up" }
    }
}
