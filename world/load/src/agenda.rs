//! What is to be done when: calls that have taken too long, and those that are to leave.

use std::collections::BTreeSet;

use keytoll_engine::Time;
use keytoll_hosts::callers::Call;

/// Entries by their time; a call has at most one.
#[derive(Debug, Default)]
pub(crate) struct Agenda(BTreeSet<(Time, Call)>);

impl Agenda {
    pub(crate) fn put(&mut self, at: Time, call: Call) {
        self.0.insert((at, call));
    }

    pub(crate) fn strike(&mut self, at: Time, call: Call) {
        self.0.remove(&(at, call));
    }

    /// The next time.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The next call that is due.
    pub(crate) fn due(&mut self, now: Time) -> Option<Call> {
        let (at, _) = *self.0.first()?;
        if at > now { None } else { self.0.pop_first().map(|(_, call)| call) }
    }
}
