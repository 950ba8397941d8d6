//! What carries protocols: addresses by kind, headers of IP, UDP and TCP, checksums, sizes on the wire, and the cursor with which
//! every wire format is read and written. RFC 791, RFC 8200, RFC 768, RFC 9293, RFC 1071.

pub mod addr;
pub mod checksum;
pub mod ip;
pub mod on_wire;
pub mod tcp;
pub mod udp;
pub mod wire;

pub use addr::{Addr, Host, Socket};
pub use checksum::{internet_checksum, transport_checksum};
pub use on_wire::OnWire;
