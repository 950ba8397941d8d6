//! The server: the RADIUS side of an AAA server, in front of an EAP server. RFC 2865 §2, RFC 2866 §2, RFC 3579 §2,
//! RFC 5080 §2.2.2.
//!
//! ```text
//!   Access-Request --> AwaitingAnswer --Command::Challenge--> AwaitingRequest --Access-Request with its State--.
//!                           ^  |  '---Command::Accept, Reject--> dropped                                       |
//!                           |  '---no answer--> Event::Expired                                                 |
//!                           '----------------------------------------------------------------------------------'
//! ```
//!
//! A password attempt beyond the limit for its user waits in a queue between request and command (`AwaitingTurn`).
//!
//! Conversations are bounded in number, time and rounds. The State of a conversation is 16 random bytes that are valid
//! for one request of one client.

mod config;
mod conversation;
mod duplicates;
mod endpoint;
mod event;
mod familiar;
mod request;
mod tries;

pub use config::{Client, Config};
pub use endpoint::Server;
pub use event::{Accounting, Command, ConversationId, Credential, Event, Request, Tried};
