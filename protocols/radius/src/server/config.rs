//! What a server must know: who its clients are, and what it may remember. RFC 2865 §3, RFC 5080 §2.2.2.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Secret;

/// A server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where Access-Requests arrive.
    pub authentication_port: u16,
    /// Where Accounting-Requests arrive.
    pub accounting_port: u16,
    /// Who may ask, by source address.
    pub clients: BTreeMap<IpAddr, Client>,
    /// How many conversations may be unfinished. Beyond it the oldest that has not gone on after its first challenge gives
    /// way to a new one; if all have gone on, no new one begins.
    pub conversations_max: usize,
    /// A conversation is forgotten if nothing happens in it for so long.
    pub conversation_idle_max: Duration,
    /// A conversation is forgotten when it is so old.
    pub conversation_age_max: Duration,
    /// How many responses are kept for repeated requests; beyond it the oldest is forgotten.
    pub responses_max: usize,
    /// How long a response is kept.
    pub response_kept: Duration,
}

impl Config {
    /// A server on the usual ports: 10 000 conversations of two minutes at most, 30 seconds without a message.
    pub const fn new(clients: BTreeMap<IpAddr, Client>) -> Self {
        Self {
            authentication_port: crate::client::Server::AUTHENTICATION_PORT,
            accounting_port: crate::client::Server::ACCOUNTING_PORT,
            clients,
            conversations_max: 10_000,
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
