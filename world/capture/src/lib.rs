//! Writes captures: pcapng files of every link, with key tables for Wireshark.
//!
//! * [`Writer`] writes the packets of datagrams.
//! * [`KeyTables`] writes revealed keys into a Wireshark profile.
//! * [`remarks`] describes packets with the knowledge of their sender, [`passage`] their fate on the link.
//! * [`observe`] derives facts from datagrams.

pub mod keys;
pub mod observe;
pub mod passage;
pub mod remarks;
pub mod write;

pub use keys::KeyTables;
pub use write::{Seen, Writer};
