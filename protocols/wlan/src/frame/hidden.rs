//! Octets of a message that may be a key.

use std::fmt;

/// Octets of a message that `Debug` does not show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hidden<'a>(pub &'a [u8]);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.0.len())
    }
}
