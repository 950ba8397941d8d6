//! What an engine is doing, as a meter records it.

use std::fmt;

/// A phase of a protocol, by the name that its engine gives it. Two phases are equal if their names and places are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    place: u8,
    name: &'static str,
}

impl Phase {
    /// Before the first message: keys, certificates, tables.
    pub const SETUP: Self = Self::new(0, "setup");
    /// User traffic under the negotiated keys.
    pub const TRAFFIC: Self = Self::new(70, "traffic");

    /// A phase with this name in `operations.csv`. Phases are listed by their place, then by name; the steps of an authentication
    /// have places from 10 to 60 in their chronological order.
    pub const fn new(place: u8, name: &'static str) -> Self {
        Self { place, name }
    }

    /// The name used in `operations.csv`.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
