//! HIP packets on the wire: RFC 7401 §5. A packet is a header and parameters in ascending order of their types; a file a
//! parameter, or a few that have one layout.

pub mod aka;
pub mod builder;
pub mod encrypted;
pub mod esp;
pub mod header;
pub mod host_id;
pub mod key_exchange;
pub mod lists;
pub mod packet;
pub mod parameter;
pub mod puzzle;
pub mod signature;
pub mod update;

pub use builder::Builder;
pub use header::Header;
pub use host_id::HostId;
pub use packet::{Packet, Scope};
pub use parameter::Parameter;
