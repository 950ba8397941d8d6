//! Packets on the wire: RFC 2865 §3 and §5, RFC 3579 §3.
//!
//! Reading borrows: a [`Packet`] is the header and a checked [`AttributeList`] that points into the received bytes and is
//! iterated on demand. Writing goes through a [`PacketBuilder`] into one buffer.

pub mod attribute;
pub mod builder;
pub mod eap_message;
pub mod list;
pub mod packet;
pub mod state;
pub mod vendor_specific;

pub use attribute::{Attribute, ValueTooLong};
pub use builder::{PacketBuilder, PacketTooLong, Sealed};
pub use keytoll_net::wire::{DecodeError, Problem};
pub use list::{AttributeList, Attributes};
pub use packet::{Authenticator, Packet};
pub use state::State;
pub use vendor_specific::VendorSpecific;
