//! What an engine is doing, for the books of a meter.

use std::fmt;

/// A phase of a protocol, by the name that its engine gives it. Two with one name and place are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    place: u8,
    name: &'static str,
}

impl Phase {
    /// Before the first message: keys, certificates, tables.
    pub const SETUP: Self = Self::new(0, "setup");
    /// Traffic of users under the keys that were agreed.
    pub const TRAFFIC: Self = Self::new(70, "traffic");

    /// A phase with this name in `operations.csv`. Books list phases by their place, those of one place by name: the steps of an
    /// authentication have places from 10 to 60 in the order in which they come.
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
