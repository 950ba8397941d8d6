//! A station that goes to the other access point of its network while it is a member.
//!
//! ```text
//!   joined --after--> (unmeasured: there, and after the same time) --> Moved, Command::Roam --> joined there: MoveVerified
//! ```

use std::time::Duration;

use keytoll_engine::trace::Fact;
use keytoll_engine::{Deadline, Time};
use keytoll_wlan::MacAddr;

use super::Alarm;

/// When the station goes, and where.
#[derive(Debug)]
pub(crate) struct Journey {
    departure: Alarm,
    access_points: [MacAddr; 2],
    /// So often it goes before it is measured, to have been there.
    unmeasured: u32,
    /// How often it has gone since it joined.
    gone: u32,
}

impl Journey {
    /// Goes so long after it has joined, and as often before that as nobody measures.
    pub(crate) const fn new(after: Duration, access_points: [MacAddr; 2], unmeasured: u32) -> Self {
        Self { departure: Alarm::new(after), access_points, unmeasured, gone: 0 }
    }

    /// The station has joined.
    pub(super) fn begin(&mut self, now: Time) {
        self.gone = 0;
        self.departure.set(now);
    }

    /// The station is no member any more.
    pub(super) const fn call_off(&mut self) {
        self.departure.unset();
    }

    /// Where it goes from here now, if it is time to, and the fact, if this is measured.
    pub(super) fn depart(&mut self, from: MacAddr, now: Time) -> Option<(MacAddr, Option<Fact>)> {
        let to = *self.access_points.iter().find(|other| **other != from)?;
        if !self.departure.is_due(now) {
            return None;
        }
        self.gone = self.gone.saturating_add(1);
        Some((to, self.is_measured().then_some(Fact::Moved)))
    }

    const fn is_measured(&self) -> bool {
        self.gone > self.unmeasured
    }

    /// It has joined there: the fact, if this was measured; otherwise it goes once more.
    pub(super) fn arrive(&mut self, now: Time) -> Option<Fact> {
        if self.is_measured() {
            return Some(Fact::MoveVerified);
        }
        self.departure.set(now);
        None
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.departure.at.map(|at| Deadline { at, why: "move to another access point" })
    }
}
