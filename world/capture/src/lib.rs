//! Captures: pcapng files of every link with the key tables that Wireshark reads, and any capture read back into
//! messages and facts.
//!
//! * [`Writer`] writes the packets of datagrams as they pass.
//! * [`KeyTables`] writes what engines reveal, a directory that is a Wireshark profile.
//! * [`remarks`] says of packets what only the sender knows, [`passage`] what the link did with them.
//! * [`observe`] tells the facts of datagrams that pass.
//! * [`read`] reads capture files, [`packets`] makes datagrams of what is in them, [`dissect`] puts them into words with
//!   the keys of [`tables`], [`conversation`] says what belongs together and what it came to.

pub mod conversation;
pub mod counts;
pub mod decode;
pub mod dissect;
pub mod facts;
pub mod keys;
pub mod ladder;
pub mod observe;
pub mod packets;
pub mod passage;
pub mod read;
pub mod remarks;
pub mod tables;
pub mod write;

pub use keys::KeyTables;
/// The protocols of the messages that are read here.
pub use keytoll_diameter::DIAMETER;
pub use keytoll_ike::IKE;
pub use keytoll_radius::RADIUS;
pub use write::{Seen, Writer};
