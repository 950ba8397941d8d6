//! What does not go together in HIP, refused with a sentence each.

use std::time::Duration;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::suite::Suite;

use super::options::MOVE_AFTER;
use crate::diagnostic::ScenarioError;
use crate::families::Options;
use crate::options::ipsec::ESP_SUITE;
use crate::options::settings::{Settings, value_of};
use crate::tree::Item;

/// The suites of ESP that HIP can negotiate (RFC 7402 §5.1.2).
pub const ESP_SUITES: [(Encryption, Option<Integrity>); 8] = [
    (Encryption::Aes128Gcm16, None),
    (Encryption::Aes128Gcm8, None),
    (Encryption::Aes128Ccm16, None),
    (Encryption::Aes128Ccm8, None),
    (Encryption::Aes128Gmac, None),
    (Encryption::Aes128Cbc, Some(Integrity::HmacSha256_128)),
    (Encryption::Aes256Cbc, Some(Integrity::HmacSha256_128)),
    (Encryption::Null, Some(Integrity::HmacSha256_128)),
];
/// RFC 7402 §5.1.2: an ESP_TRANSFORM has at most six suites.
const SUITES_MAX: usize = 6;

/// Refuses settings of a row.
pub(super) fn check(settings: &Settings, blame: &Item) -> Result<(), ScenarioError> {
    check_suites(&settings.esp_suites, value_of(blame, ESP_SUITE))?;
    check_move(&settings.options, blame)
}

/// Refuses a device that would move when its association is gone.
fn check_move(options: &Options, blame: &Item) -> Result<(), ScenarioError> {
    let Some(move_after) = options.hip.move_after else { return Ok(()) };
    let traffic = options.traffic.kind.map_or(Duration::ZERO, |_| options.traffic.duration);
    if move_after < traffic + options.hip.unused_after {
        return Ok(());
    }
    let message = "the device moves when its association is gone";
    let label = "`move_after` with this `unused_after` and traffic";
    let hint = "`move_after` less than `traffic_duration` and `unused_after` together";
    Err(value_of(blame, MOVE_AFTER).spot.error(message, label).hint(hint))
}

/// Refuses suites of ESP that HIP cannot offer; they stand in the item.
pub(crate) fn check_suites(suites: &[Suite], item: &Item) -> Result<(), ScenarioError> {
    if suites.len() > SUITES_MAX {
        return Err(item.spot.error("HIP offers six suites of ESP at most", "more than six"));
    }
    let Some(strange) = suites.iter().find(|suite| !is_of_hip(suite)) else { return Ok(()) };
    let message = format!("HIP has no number for the ESP suite `{strange}`");
    let hint = "`aes128gcm16`, `aes128gcm8`, `aes128ccm16`, `aes128ccm8`, `aes128-sha256`, `aes256-sha256` and the like \
                (RFC 7402 §5.1.2)";
    Err(item.spot.error(message, "this suite").hint(hint))
}

fn is_of_hip(suite: &Suite) -> bool {
    // RFC 7402 §3.3.1: sequence numbers have 64 bits, whether it is said or not.
    suite.group.is_none() && ESP_SUITES.contains(&(suite.encryption, suite.integrity))
}
