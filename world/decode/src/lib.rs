//! Reads captures: any capture file back into messages, conversations and facts, with the keys that Wireshark would read it with.
//!
//! * [`read`] reads capture files, [`packets`] makes datagrams of what is in them.
//! * [`dissect`] puts them into words with the keys of [`tables`], [`tracker`] says what belongs together and what it came to.
//! * [`ladder`] draws conversations, [`counts`] counts what went over each link, [`facts`] makes records of them.
//!
//! What a protocol's packets look like, its family says ([`keytoll_family::Family`]); here none is known by name.

pub mod counts;
pub mod decode;
pub mod dissect;
pub mod facts;
pub mod icmp;
pub mod ladder;
pub mod packets;
pub mod read;
pub mod tables;
pub mod tracker;

use keytoll_capture::passage;

pub use keytoll_family::{Conversation, Entry, Kind, Outcome};
