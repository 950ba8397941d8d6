//! A device's attempt to get a session: which session it is about, and when the device gives it up by itself.
//!
//! A protocol has its own timers, as IKE has in RFC 7296 §2.4, and tells how an attempt ended. Whoever waits for that must not
//! wait for ever if it is told nothing.

use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use crate::event::SessionId;

/// The protocol gives a silent peer up when it has sent a message as often as it does.
const SILENCE_MAX: u32 = 2;
/// However much is said: more exchanges than the longest EAP method has, each at its slowest.
const WHOLE_MAX: u32 = 32;

/// An attempt under way.
#[derive(Debug)]
pub struct SetUp {
    /// The session that it is about.
    session: Option<SessionId>,
    /// How long it may stand still.
    silence_max: Duration,
    silent_until: Time,
    ends_at: Time,
}

impl SetUp {
    /// `session`: what the protocol began, if it began something; `exchange_max`: how long it sends a message again before it
    /// gives up.
    pub fn begin(session: Option<SessionId>, now: Time, exchange_max: Duration) -> Self {
        let silence_max = exchange_max.saturating_mul(SILENCE_MAX);
        let ends_at = now + exchange_max.saturating_mul(WHOLE_MAX);
        Self { session, silence_max, silent_until: now + silence_max, ends_at }
    }

    /// Its session went on at that time. What strangers send does not count.
    pub fn went_on(&mut self, at: Time) {
        self.silent_until = at + self.silence_max;
    }

    /// The session has another name now.
    pub fn renamed(&mut self, old: SessionId, new: SessionId) {
        self.session = self.session.map(|session| if session == old { new } else { session });
    }

    /// The session that it is about.
    pub const fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Whether it is about this session.
    pub fn needs(&self, session: SessionId) -> bool {
        self.session == Some(session)
    }

    /// Whether the device has waited long enough.
    pub fn is_hopeless(&self, now: Time) -> bool {
        self.silent_until.min(self.ends_at) <= now
    }

    /// When that is.
    pub fn deadline(&self) -> Deadline {
        Deadline { at: self.silent_until.min(self.ends_at), why: "the device gives up" }
    }
}
