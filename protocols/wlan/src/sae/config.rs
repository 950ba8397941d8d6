//! What one station or access point authenticates with.

use std::time::Duration;

use keytoll_crypto_api::algorithm::Curve;

use super::group::Method;
use super::password::Password;
use crate::MacAddr;

/// The settings of one interface.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its address.
    pub address: MacAddr,
    /// Whether it answers commits, as an access point does; otherwise it takes only those of peers it has begun with.
    pub answers: bool,
    /// The passwords: one without identifier, and for an access point any number with identifiers.
    pub passwords: Vec<Password>,
    /// The methods it has.
    pub methods: Vec<Method>,
    /// The groups it has, the preferred one first.
    pub groups: Vec<Curve>,
    /// Times and limits.
    pub limits: Limits,
}

impl Config {
    /// The password with this identifier, or the one without.
    pub(super) fn password(&self, identifier: Option<&[u8]>) -> Option<&Password> {
        self.passwords.iter().find(|password| password.identifier() == identifier)
    }
}

/// Times and limits, by the names of the standard's MIB (annex C) where it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// dot11RSNASAERetransPeriod: after this time an unanswered frame is sent again, then after twice this time, and so on.
    pub retransmit_after: Duration,
    /// dot11RSNASAESync: so often at most.
    pub sync_max: u8,
    /// dot11RSNASAEAntiCloggingThreshold: with so many open instances, commits need a token.
    pub anti_clogging_threshold: usize,
    /// With so many open instances, commits are discarded.
    pub open_max: usize,
    /// How long an access point waits for the confirm of a station that it has answered.
    pub answered_for: Duration,
    /// So many stations that were accepted are remembered.
    pub accepted_max: usize,
    /// For so long their commits are recognized as replays, and their confirms answered again.
    pub accepted_for: Duration,
    /// After this time tokens are made with another secret.
    pub token_secret_for: Duration,
}

impl Default for Limits {
    /// The standard's defaults for the first three; hostapd's minute for the secret; the others are ours.
    fn default() -> Self {
        Self {
            retransmit_after: Duration::from_millis(40),
            sync_max: 5,
            anti_clogging_threshold: 5,
            open_max: 64,
            answered_for: Duration::from_secs(1),
            accepted_max: 2048,
            accepted_for: Duration::from_secs(10),
            token_secret_for: Duration::from_secs(60),
        }
    }
}
