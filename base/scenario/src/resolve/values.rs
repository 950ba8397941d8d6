//! Parsers shared by scenarios and node files: suites, waits, sizes.

use std::time::Duration;

use keytoll_crypto_api::suite::{Suite, SuiteError};

use crate::catalogue::suites::{DEFAULT_ESP, DEFAULT_IKE, words};
use crate::diagnostic::{ScenarioError, nearest};
use crate::plan::TlsVersion;
use crate::quantity::Kind;
use crate::tree::{Item, Value};

/// The word for no rekeying.
pub(crate) const NEVER: &str = "never";

/// One suite or several, in order of preference.
pub(crate) fn suites(
    item: &Item,
    parse: fn(&str) -> Result<Suite, SuiteError>,
    fit: fn(&Suite) -> Result<(), &'static str>,
) -> Result<Vec<Suite>, ScenarioError> {
    item.some_elements("suite")?.iter().map(|item| suite(item, parse, fit)).collect()
}

fn suite(
    item: &Item,
    parse: fn(&str) -> Result<Suite, SuiteError>,
    fit: fn(&Suite) -> Result<(), &'static str>,
) -> Result<Suite, ScenarioError> {
    let text = item.text("a suite")?;
    let refused = |why: String| item.spot.error(format!("`{text}` is no suite: {why}"), "this suite");
    let suite = parse(text).map_err(|error| refused(error.to_string()).hint(advice(&error)))?;
    fit(&suite).map_err(|why| refused(why.to_owned()))?;
    Ok(suite)
}

/// Every suite of ESP will do.
pub(crate) fn esp_suites(item: &Item) -> Result<Vec<Suite>, ScenarioError> {
    suites(item, Suite::esp, |_| Ok(()))
}

fn advice(error: &SuiteError) -> String {
    let form = format!("written like `{DEFAULT_IKE}` (ESP: `{DEFAULT_ESP}`); see `keytoll list suites`");
    let near = match error {
        SuiteError::Unknown(word) => nearest(word, &words()),
        _ => None,
    };
    near.map_or_else(|| form.clone(), |near| format!("did you mean `{near}`? {form}"))
}

/// `false`, `true`, or the longest IP packet.
pub(crate) fn fragmentation(item: &Item) -> Result<Option<u16>, ScenarioError> {
    match &item.value {
        Value::Boolean(true) => Ok(Some(1280)),
        Value::Boolean(false) => Ok(None),
        Value::Text(_) => item.quantity(Kind::Size, 576..=65_535).map(|bytes| Some(bytes as u16)),
        _ => Err(item.wrong("`true`, `false` or a size like `\"1280 B\"`")),
    }
}

/// `"1.2"`, or `1.2` as on a command line.
pub(crate) fn tls_version(item: &Item) -> Result<TlsVersion, ScenarioError> {
    if let Value::Float(number) = item.value
        && let Some(version) =
            TlsVersion::ALL.into_iter().find(|version| version.name().parse() == Ok(number))
    {
        return Ok(version);
    }
    item.pick("version of TLS", &TlsVersion::ALL, TlsVersion::name)
}

/// A number of bytes, or a size. Smaller fragments would need too many round trips, larger ones do not fit into RADIUS packets.
pub(crate) fn eap_fragment(item: &Item) -> Result<u16, ScenarioError> {
    const BYTES: std::ops::RangeInclusive<u64> = 256..=3500;
    let bytes = match &item.value {
        Value::Integer(_) => item.integer(BYTES),
        _ => item.quantity(Kind::Size, BYTES),
    };
    bytes.map(|bytes| bytes as u16)
}

// RFC 4478 §3: AUTH_LIFETIME counts seconds, in 32 bits.
pub(crate) fn whole_seconds(item: &Item) -> Result<Duration, ScenarioError> {
    const SECOND: u64 = 1_000_000_000;
    let nanos = item.quantity(Kind::Duration, SECOND..=u64::from(u32::MAX) * SECOND)?;
    if !nanos.is_multiple_of(SECOND) {
        return Err(item.spot.error("AUTH_LIFETIME counts whole seconds", "a fraction of a second"));
    }
    Ok(Duration::from_nanos(nanos))
}

/// `"never"`, or from a tenth of a second to a year.
pub(crate) fn rekey(item: &Item) -> Result<Option<Duration>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        _ => {
            let range = 100_000_000..=31_536_000_000_000_000;
            item.quantity(Kind::Duration, range).map(|nanos| Some(Duration::from_nanos(nanos)))
        }
    }
}

/// From a millisecond to ten minutes.
pub(crate) fn wait(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 1_000_000..=600_000_000_000).map(Duration::from_nanos)
}
