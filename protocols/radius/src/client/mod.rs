//! The client: a NAS (our gateway). RFC 2865 §2, RFC 2866 §2, RFC 3579 §2, RFC 5080 §2.2.1; over streams RFC 6613.
//!
//! ```text
//!   Authenticate --Access-Request-->  Awaited::Access      --Challenge--> Event::Challenge, owner asks again
//!                                          |               --Accept-----> Event::Accept
//!                                          |               --Reject-----> Event::Reject
//!                                          '--no answer----------------> Event::Failed(timeout)
//!   Account      --Accounting-Request-> Awaited::Accounting --Response--> Event::Accounted
//!                                          '--no answer----------------> Event::Unaccounted(timeout)
//! ```
//!
//! Each round is an exchange of its own; the State that the owner returns connects the rounds. An exchange occupies an
//! identifier on a source port, or on a connection, until it is answered or given up, or the connection is lost.

mod config;
mod connections;
mod endpoint;
mod event;
mod exchange;
mod identifiers;

pub use config::{Config, Retransmission, Server};
pub use connections::Streams;
pub use endpoint::Client;
pub use event::{Accept, Account, Authenticate, Command, ConversationId, Credential, Event, Reason};
