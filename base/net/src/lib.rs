//! The layers below the protocols: addresses by kind, IP, UDP and TCP headers, checksums, sizes on the wire, and the cursor that
//! reads and writes every wire format. RFC 791, RFC 8200, RFC 768, RFC 9293, RFC 1071.

pub mod addr;
pub mod checksum;
pub mod ip;
pub mod on_wire;
pub mod tcp;
pub mod udp;
pub mod wire;

pub use addr::{Addr, Host, Socket, hyphenated};
pub use checksum::{internet_checksum, transport_checksum};
pub use on_wire::OnWire;
