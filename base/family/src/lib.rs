//! The contract of a protocol family for captures and observers: how its packets are recognised, the names of its messages, which
//! of them belong together, their outcome, and the format of its keys.
//!
//! ```text
//!   Frame --Recogniser, Framing, …--> Passed --Analyser::dissect--> Dissected --Analyser::file--> Book of conversations
//!                                                  Analyser::judge: the outcome of each, its method, what else is known of it
//! ```
//!
//! A protocol crate implements [`Family`] in its `family.rs` and has a line in `FAMILIES` of `world/rigs`. A family with
//! requests and responses and nothing else to tell implements [`Simple`], and [`simple::Requests`] is its analyser.
//!
//! Families do not know each other. They share the [`Book`]:
//!
//! * packets that one family carries and another forwards to a server, such as EAP in IKE and in RADIUS ([`Book::pass_carried`]);
//! * conversations that wait for a server, to which its messages belong ([`Book::wait`]);
//! * the conversation that has set up an SA, by the SPI of its packets ([`Book::expect_traffic`]);
//! * which of two hosts is the device ([`Book::meet`]).

pub mod book;
pub mod conversation;
pub mod entry;
pub mod family;
pub mod keys;
pub mod on_air;
pub mod passed;
pub mod recognise;
pub mod simple;
pub mod words;

pub use book::{Book, Place};
pub use conversation::{About, Conversation, Ends, Ids, Judgement, Kind, Method, Opening, Outcome, Sealed};
pub use entry::{Access, Content, Entry, Sent};
pub use family::{Analyser, Families, Family, Flow, InnerMethod, Words};
pub use keys::{KeyLine, KeyTable, Tables, Unusable};
pub use on_air::{Aired, OnAir};
pub use passed::{Cut, LinkSeal, Passed};
pub use recognise::{ByPort, Chunks, Framing, LearntPorts, OnLan, Recogniser, Udp};
pub use simple::Simple;
pub use words::{Dissected, Part, PartKind, Unreadable, unreadable};
