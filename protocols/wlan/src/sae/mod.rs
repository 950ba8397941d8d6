//! Simultaneous authentication of equals, with which a password makes a PMK: WPA3-Personal. Read §12.4 first.
//!
//! ```text
//!   station                                      access point
//!     Commit: group, scalar, element                 -->
//!                                                    <--  (too many open: a token, to be returned with the commit)
//!                                                    <--  Commit: group, scalar, element
//!     Confirm: send-confirm, proof                   -->
//!                                                    <--  Confirm: send-confirm, proof
//! ```
//!
//! [`Sae`] has all instances of one interface, of a station or an access point. It takes and gives the bodies of authentication
//! frames behind algorithm, transaction sequence number and status code, and knows no other frames. It speaks hunting and pecking
//! and hash-to-element over the groups 19, 20 and 21; it does not speak SAE-PK, whose commits it discards.
//!
//! * [`wire`]: the bodies.
//! * `password`: from a password to the element PWE; `exchange`: commits, keys and proofs.
//! * `instance`: the states of one peer; `endpoint`: those of all, tokens and limits.

mod config;
mod derivation;
mod endpoint;
mod exchange;
mod group;
mod instance;
mod output;
mod password;
pub(crate) mod phase;
mod token;
pub mod wire;

#[cfg(test)]
mod tests;

pub use config::{Config, Limits};
pub use endpoint::Sae;
pub use exchange::Pmkid;
pub use group::{Method, number, numbered};
pub use output::{Failure, Message, Output, Refused, Transaction, Why};
pub use password::Password;

#[cfg(test)]
mod testing {
    /// The bytes of a hexadecimal text, in which white space does not count.
    pub(super) fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }
}
