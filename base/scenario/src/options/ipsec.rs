//! Options of child SAs: their mode, their lifetimes, their anti-replay window. The latter two have the same keys in node files.
//! RFC 4301 §4.4.2.1, RFC 4303 §3.4.3.

use std::time::Duration;

use super::{Setting, field, list, print_rekey, quoted};
use crate::catalogue::facet::{ESP_MODES, IPSEC};
use crate::diagnostic::ScenarioError;
use crate::families;
use crate::quantity::{self, Kind};
use crate::resolve::values::{NEVER, esp_suites, rekey};
use crate::tree::{Item, Table, Value};

/// The options of child SAs, besides their suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The mode of ESP.
    pub mode: Mode,
    /// Time after which an SA is rekeyed; `None`: never.
    pub rekey_after: Option<Duration>,
    /// How much an SA may carry.
    pub limits: SaLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self { mode: Mode::Transport, rekey_after: None, limits: SaLimits::default() }
    }
}

impl Options {
    /// Whether anything gives SAs new keys.
    pub(crate) const fn is_rekeyed(&self) -> bool {
        let SaLimits { rekey_bytes, rekey_packets, .. } = self.limits;
        self.rekey_after.is_some() || rekey_bytes.is_some() || rekey_packets.is_some()
    }
}

/// The mode of ESP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Whole IP packets.
    Tunnel,
    /// The payload of packets between the two ends.
    Transport,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Tunnel, Self::Transport];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Transport => "transport",
        }
    }
}

/// The limits of a pair of child SAs, for each direction separately; and their anti-replay window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaLimits {
    /// Bytes after which the SA is rekeyed; `None`: never.
    pub rekey_bytes: Option<u64>,
    /// Packets after which the SA is rekeyed; `None`: never.
    pub rekey_packets: Option<u64>,
    /// Bytes after which the SA expires; `None`: never.
    pub life_bytes: Option<u64>,
    /// Packets after which the SA expires; `None`: never.
    pub life_packets: Option<u64>,
    /// Size of the anti-replay window in packets, 32 to 4096.
    pub replay_window: u32,
}

impl Default for SaLimits {
    fn default() -> Self {
        Self {
            rekey_bytes: None,
            rekey_packets: None,
            life_bytes: None,
            life_packets: None,
            replay_window: 64,
        }
    }
}

pub(crate) const ESP_SUITE: &str = "esp_suite";
const REKEY_BYTES: &str = "rekey_bytes";
const REKEY_PACKETS: &str = "rekey_packets";
const LIFE_BYTES: &str = "life_bytes";
const LIFE_PACKETS: &str = "life_packets";
const REPLAY_WINDOW: &str = "replay_window";

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    of_child(
        ESP_SUITE,
        &["SUITE, …"],
        "suites offered for traffic, in order of preference",
        field!(esp_suites, esp_suites, |suites| list(suites)),
    ),
    // RFC 6023: a childless SA has no child SA. An inner address is requested nevertheless, and requires tunnel mode.
    Setting::new(
        "mode",
        &["transport", "tunnel"],
        "what ESP protects",
        field!(options.ipsec.mode, |item| item.pick("mode", &Mode::ALL, Mode::name), |mode| quoted(
            mode.name()
        )),
    )
    .of(&ESP_MODES)
    .needs(|options, _| options.has_traffic_sa() || options.has_inner_address(), CHILDLESS),
    of_child(
        "rekey_child",
        &["never", "100 ms to 31536000 s"],
        "when the SA for traffic is given new keys",
        field!(options.ipsec.rekey_after, rekey, print_rekey),
    ),
    of_child(
        REKEY_BYTES,
        &["never", "10 kB to 1000000000000 MB"],
        "an SA for traffic is given new keys after so much",
        field!(options.ipsec.limits.rekey_bytes, bytes, print_bytes),
    ),
    of_child(
        REKEY_PACKETS,
        &["never", "1 to 1000000000000000000"],
        "the same, counted in packets",
        field!(options.ipsec.limits.rekey_packets, packets, print_packets),
    ),
    of_child(
        LIFE_BYTES,
        &["never", "10 kB to 1000000000000 MB"],
        "nothing passes an SA for traffic after so much",
        field!(options.ipsec.limits.life_bytes, bytes, print_bytes),
    ),
    of_child(
        LIFE_PACKETS,
        &["never", "1 to 1000000000000000000"],
        "the same, counted in packets",
        field!(options.ipsec.limits.life_packets, packets, print_packets),
    ),
    of_child(
        REPLAY_WINDOW,
        &["32 to 4096"],
        "packets of the anti-replay window",
        field!(options.ipsec.limits.replay_window, window, ToString::to_string),
    ),
];

const CHILDLESS: &str = "with `childless = true`";

/// An option of the child SA, which must exist.
const fn of_child(
    key: &'static str,
    values: &'static [&'static str],
    about: &'static str,
    field: &'static dyn super::Field,
) -> Setting {
    let has_child = |options: &families::Options, _: &crate::catalogue::Method| options.has_traffic_sa();
    Setting::new(key, values, about, field).of(&IPSEC).needs(has_child, CHILDLESS)
}

/// `"never"`, or from ten kilobytes, which are several packets, to a million terabytes.
fn bytes(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        _ => item.quantity(Kind::Size, 10_000..=1_000_000_000_000_000_000).map(Some),
    }
}

/// `"never"`, or from one packet to a million million million.
fn packets(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        Value::Integer(_) => item.integer(1..=1_000_000_000_000_000_000).map(Some),
        _ => Err(item.wrong("a number of packets, or `\"never\"`")),
    }
}

// RFC 4303 §3.4.3: a window of 32 packets must be supported; larger ones may be.
fn window(item: &Item) -> Result<u32, ScenarioError> {
    item.integer(32..=4096).map(|packets| packets as u32)
}

#[allow(clippy::ref_option, reason = "printers take what a field holds")]
fn print_bytes(limit: &Option<u64>) -> String {
    format!("\"{}\"", limit.map_or_else(|| NEVER.to_owned(), quantity::size))
}

#[allow(clippy::ref_option, reason = "printers take what a field holds")]
fn print_packets(limit: &Option<u64>) -> String {
    limit.map_or_else(|| format!("\"{NEVER}\""), |packets| packets.to_string())
}

impl SaLimits {
    /// Parses the limits of a table.
    pub(crate) fn read(table: &Table) -> Result<Self, ScenarioError> {
        let limits = Self {
            rekey_bytes: table.or(REKEY_BYTES, None, bytes)?,
            rekey_packets: table.or(REKEY_PACKETS, None, packets)?,
            life_bytes: table.or(LIFE_BYTES, None, bytes)?,
            life_packets: table.or(LIFE_PACKETS, None, packets)?,
            replay_window: table.or(REPLAY_WINDOW, Self::default().replay_window, window)?,
        };
        limits.check(|key| table.get(key))?;
        limits.check_successors(table)?;
        Ok(limits)
    }

    /// Refuses SAs that expire before they are rekeyed, in the same unit.
    pub(crate) fn check<'a>(&self, at: impl Fn(&str) -> Option<&'a Item>) -> Result<(), ScenarioError> {
        for (rekey, life, [rekey_key, life_key]) in self.units() {
            let (Some(rekey), Some(life)) = (rekey, life) else { continue };
            if let Some(item) = at(life_key).filter(|_| life <= rekey) {
                let label = format!("`{life_key}` is {life}, `{rekey_key}` is {rekey}");
                let hint = "leave room for what is sent until the successor is there";
                return Err(ends(item, life_key, &label).hint(hint));
            }
        }
        Ok(())
    }

    /// Refuses SAs that expire without being rekeyed before: a scenario may do so deliberately, a node never does.
    fn check_successors(&self, table: &Table) -> Result<(), ScenarioError> {
        let alone = self.units().into_iter().find(|(rekey, life, _)| life.is_some() && rekey.is_none());
        let Some((_, _, [rekey_key, life_key])) = alone else { return Ok(()) };
        match table.get(life_key) {
            Some(item) => {
                let label = format!("without `{rekey_key}`");
                Err(ends(item, life_key, &label).hint(format!("`{rekey_key}`, less than this")))
            }
            None => Ok(()),
        }
    }

    /// For each unit the rekeying limit, the expiry limit, and their keys.
    const fn units(&self) -> [(Option<u64>, Option<u64>, [&'static str; 2]); 2] {
        [
            (self.rekey_bytes, self.life_bytes, [REKEY_BYTES, LIFE_BYTES]),
            (self.rekey_packets, self.life_packets, [REKEY_PACKETS, LIFE_PACKETS]),
        ]
    }
}

fn ends(item: &Item, key: &str, label: &str) -> ScenarioError {
    item.spot.error(format!("an SA would end at `{key}` without a successor"), label)
}
