//! Writes captures: pcapng files of every link with the key tables that Wireshark reads.
//!
//! * [`Writer`] writes the packets of datagrams as they pass.
//! * [`KeyTables`] writes what engines reveal, a directory that is a Wireshark profile.
//! * [`remarks`] says of packets what only the sender knows, [`passage`] what the link did with them.
//! * [`observe`] tells the facts of datagrams that pass.

pub mod keys;
pub mod observe;
pub mod passage;
pub mod remarks;
pub mod write;

pub use keys::KeyTables;
pub use write::{Seen, Writer};
