//! Reads captures: converts a capture file into messages, conversations and facts, with keys in Wireshark's formats.
//!
//! * [`read`] reads capture files, [`radiotap`] what they tell of frames on the air, [`packets`] extracts datagrams from them.
//! * [`dissect`] describes them with the keys of [`tables`], [`tracker`] assigns them to conversations and judges these.
//! * [`ladder`] draws conversations, [`counts`] counts the packets of each link, [`facts`] converts them to records.
//!
//! Only the protocol families know their packets ([`keytoll_family::Family`]); this crate knows none by name.

pub mod counts;
pub mod decode;
pub mod dissect;
pub mod facts;
pub mod icmp;
pub mod ladder;
pub mod packets;
mod prism;
pub mod radiotap;
pub mod read;
pub mod tables;
pub mod tracker;

use keytoll_capture::passage;

pub use keytoll_family::{Conversation, Entry, Kind, Outcome, Sealed};
