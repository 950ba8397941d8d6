//! A device that goes to another address while it has an association, and announces it: RFC 8046 §3.2.1. It leaves the first
//! address for good: what still comes there is lost, as it is in another network. After the next authentication it goes back.
//!
//! ```text
//!   usable --move_after--> Moved, UPDATE(LOCATOR_SET) --> the gateway verifies, and redirects its SAs --> Reached
//!                          the SAs send from the new address at once
//! ```

use std::time::Duration;

use keytoll_engine::trace::Fact;
use keytoll_engine::{Deadline, Time};
use keytoll_net::Addr;

/// When the device moves, and where.
#[derive(Debug, Clone)]
pub struct Journey {
    after: Duration,
    /// Where its HIP is at the address of its two that it is not at.
    elsewhere: Addr,
    due: Option<Time>,
    /// Packets of SAs for the address that it has left, until one has come to the new one.
    missed_packets: Option<u64>,
}

impl Journey {
    /// Goes to another address so long after an SA was usable.
    pub const fn new(after: Duration, elsewhere: Addr) -> Self {
        Self { after, elsewhere, due: None, missed_packets: None }
    }

    /// There is a usable SA.
    pub(super) fn begin(&mut self, now: Time) {
        self.due = Some(now + self.after);
        self.missed_packets = None;
    }

    /// The association is gone before the device has moved.
    pub(super) const fn call_off(&mut self) {
        self.due = None;
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, why: "move" })
    }

    /// Goes, if it is time to, from where the device is; whether it has gone.
    pub(super) fn depart(&mut self, local: &mut Addr, now: Time) -> bool {
        let is_due = self.due.take_if(|at| *at <= now).is_some();
        if is_due {
            self.missed_packets = Some(0);
            std::mem::swap(local, &mut self.elsewhere);
        }
        is_due
    }

    /// Whether a packet is for the address that the device is not at; those of SAs are counted.
    pub(super) fn misses(&mut self, to: Addr, is_esp: bool) -> bool {
        let is_missed = to.host() == self.elsewhere.host();
        if let Some(count) = self.missed_packets.as_mut().filter(|_| is_missed && is_esp) {
            *count += 1;
        }
        is_missed
    }

    /// A packet has come through an SA: the fact, if it is the first one at the new address.
    pub(super) fn reached(&mut self) -> Option<Fact> {
        self.missed_packets.take().map(|missed_packets| Fact::Reached { missed_packets })
    }
}
