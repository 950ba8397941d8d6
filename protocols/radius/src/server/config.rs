//! The configuration of a server: its clients, and the limits of its state. RFC 2865 §3, RFC 5080 §2.2.2.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Secret;

/// A server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The port for Access-Requests.
    pub authentication_port: u16,
    /// The port for Accounting-Requests.
    pub accounting_port: u16,
    /// The clients, by source address.
    pub clients: BTreeMap<IpAddr, Client>,
    /// Maximum number of unfinished conversations. Beyond it one of the client that has most is dropped for a new one: the oldest that
    /// has not continued after its first challenge, or the oldest at all for a client that has less than its share; else none is accepted.
    pub conversations_max: usize,
    /// Maximum number of tries of one user's password in a second, or in [`Self::reject_delay`] if that is longer, and of as many more inside
    /// tunnels; further ones are queued.
    pub conversations_per_user_max: usize,
    /// Maximum number of unfinished conversations of one Calling-Station-Id that is no IP address, for each client: beyond it one with a
    /// single message, or one that is silent, is dropped for a new one; else none is accepted.
    pub conversations_per_station_max: usize,
    /// An Access-Reject leaves so long after the decision, so that few passwords can be tried in a second.
    pub reject_delay: Duration,
    /// A conversation is dropped after so long without a message.
    pub conversation_idle_max: Duration,
    /// A conversation is dropped at this age.
    pub conversation_age_max: Duration,
    /// Maximum number of responses kept for retransmitted requests; beyond it the oldest of the client that has most is dropped.
    pub responses_max: usize,
    /// How long a response is kept.
    pub response_kept: Duration,
}

impl Config {
    /// A server on the usual ports: 10 000 conversations of two minutes at most, 30 seconds without a message. It refuses at once, and a user
    /// may have all conversations.
    pub const fn new(clients: BTreeMap<IpAddr, Client>) -> Self {
        Self {
            authentication_port: crate::client::Server::AUTHENTICATION_PORT,
            accounting_port: crate::client::Server::ACCOUNTING_PORT,
            clients,
            conversations_max: 10_000,
            conversations_per_user_max: usize::MAX,
            conversations_per_station_max: usize::MAX,
            reject_delay: Duration::ZERO,
            conversation_idle_max: Duration::from_secs(30),
            conversation_age_max: Duration::from_secs(120),
            responses_max: 20_000,
            // RFC 5080 §2.2.2: no less than 5 and no more than 30 seconds.
            response_kept: Duration::from_secs(30),
        }
    }
}

/// A client.
#[derive(Debug, Clone)]
pub struct Client {
    /// The secret shared with it.
    pub secret: Secret,
}
