//! Diameter on the wire: RFC 6733 §3 (header), §4 (AVPs).
//!
//! Reading borrows: a [`Message`] is the header and the AVPs that point into the received bytes; a grouped AVP is decoded on
//! demand.

pub mod avp;
pub mod message;

pub use avp::Avps;
pub use message::{Builder, Header, Message};
