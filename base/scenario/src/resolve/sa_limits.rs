//! How much an SA for traffic may carry, and how wide its anti-replay window is: the same keys in scenarios and node files.
//! RFC 4301 §4.4.2.1, RFC 4303 §3.4.3.

use crate::diagnostic::ScenarioError;
use crate::plan::SaLimits;
use crate::quantity::{self, Kind};
use crate::resolve::values::NEVER;
use crate::tree::{Item, Table, Value};

pub(crate) const REKEY_BYTES: &str = "rekey_bytes";
pub(crate) const REKEY_PACKETS: &str = "rekey_packets";
pub(crate) const LIFE_BYTES: &str = "life_bytes";
pub(crate) const LIFE_PACKETS: &str = "life_packets";
pub(crate) const REPLAY_WINDOW: &str = "replay_window";

/// `"never"`, or from ten kilobytes, which are several packets, to a million terabytes.
pub(crate) fn bytes(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        _ => item.quantity(Kind::Size, 10_000..=1_000_000_000_000_000_000).map(Some),
    }
}

/// `"never"`, or from one packet to a million million million.
pub(crate) fn packets(item: &Item) -> Result<Option<u64>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        Value::Integer(_) => item.integer(1..=1_000_000_000_000_000_000).map(Some),
        _ => Err(item.wrong("a number of packets, or `\"never\"`")),
    }
}

/// RFC 4303 §3.4.3: a window of 32 packets must be supported, and more may be.
pub(crate) fn window(item: &Item) -> Result<u32, ScenarioError> {
    item.integer(32..=4096).map(|packets| packets as u32)
}

pub(crate) fn print_bytes(limit: Option<u64>) -> String {
    format!("\"{}\"", limit.map_or_else(|| NEVER.to_owned(), quantity::size))
}

pub(crate) fn print_packets(limit: Option<u64>) -> String {
    limit.map_or_else(|| format!("\"{NEVER}\""), |packets| packets.to_string())
}

impl SaLimits {
    /// What a table says.
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

    /// Refuses SAs that end, in bytes or packets, before their successors are asked for in the same unit.
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

    /// Refuses SAs that end without anybody asking for their successors before: a scenario may want to see that, a node of
    /// one's own never does.
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

    /// For each unit, when a successor is asked for, when the SA ends, and the keys that say so.
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
