//! Keys that make no difference: to a method, or beside the other options of a row. One that is named and makes none to any
//! row is refused, for who named it expects something of it.

use super::table::{SETTINGS, tells};
use crate::catalogue::Method;
use crate::diagnostic::ScenarioError;
use crate::plan::{Options, RowPlan, TrafficKind};
use crate::resolve::ikev1;
use crate::tree::{Entry, Table};

/// Whether a key makes a difference to a method at all. IKEv1 does without what only IKEv2 has.
pub(crate) fn concerns(key: &str, method: Method) -> bool {
    tells(key, method) && (method.phase1().is_none() || !ikev1::REFUSED.contains(&key))
}

/// What the other options must be like for some keys to make a difference.
struct Need {
    keys: &'static [&'static str],
    met: fn(&Options, Method) -> bool,
    /// How it is when it is not met, behind "means nothing".
    else_: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        keys: &["traffic_duration", "traffic_packet", "traffic_direction", "ipsec"],
        met: |options, _| options.traffic.kind.is_some(),
        else_: "without `traffic`",
    },
    Need {
        keys: &["traffic_rate"],
        met: |options, _| options.traffic.kind == Some(TrafficKind::Constant),
        else_: "without `traffic = \"constant\"`",
    },
    Need {
        keys: &["traffic_interval"],
        met: |options, _| options.traffic.kind == Some(TrafficKind::Echo),
        else_: "without `traffic = \"icmp\"`",
    },
    Need {
        keys: &["traffic_window"],
        met: |options, _| options.traffic.kind == Some(TrafficKind::Bulk),
        else_: "without `traffic = \"bulk\"`",
    },
    // RFC 6023: there is no SA for traffic. An address inside is still asked for, and wants tunnel mode.
    Need {
        keys: &[
            "esp_suite",
            "rekey_child",
            "rekey_bytes",
            "rekey_packets",
            "life_bytes",
            "life_packets",
            "replay_window",
        ],
        met: |options, _| !options.childless,
        else_: "with `childless = true`",
    },
    Need {
        keys: &["mode"],
        met: |options, _| !options.childless || options.virtual_address,
        else_: "with `childless = true`",
    },
    Need {
        keys: &["chain"],
        met: |options, _| !options.raw_keys,
        else_: "with `raw_keys = true`: nobody sends a certificate",
    },
    Need {
        keys: &["signatures"],
        met: Options::has_ike_signatures,
        else_: "without `gateway_auth = \"certificate\"`: nobody signs in IKE",
    },
];

/// Whether a key makes a difference to a row.
pub(crate) fn moves(key: &str, options: &Options, method: Method) -> bool {
    concerns(key, method) && unmet(key, options, method).is_none()
}

/// Why it makes none to a row whose method it concerns.
fn unmet(key: &str, options: &Options, method: Method) -> Option<&'static str> {
    let is_unmet = |need: &&Need| need.keys.contains(&key) && !(need.met)(options, method);
    NEEDS.iter().find(is_unmet).map(|need| need.else_)
}

/// Refuses the first key of a table of options that makes a difference to none of these rows.
pub(crate) fn check(table: &Table, rows: &[RowPlan]) -> Result<(), ScenarioError> {
    let is_idle = |entry: &&Entry| rows.iter().all(|row| !moves(&entry.key, &row.options, row.method));
    table.entries.iter().find(is_idle).map_or(Ok(()), |entry| Err(refusal(entry, rows)))
}

fn refusal(entry: &Entry, rows: &[RowPlan]) -> ScenarioError {
    let key = entry.key.as_str();
    let concerned = rows.iter().find(|row| concerns(key, row.method));
    let (to, hint) = match concerned.and_then(|row| unmet(key, &row.options, row.method)) {
        Some(why) => (why.to_owned(), "leave it out".to_owned()),
        None => (format!("to {}", methods(rows)), for_others(key)),
    };
    entry.key_spot.error(format!("`{key}` means nothing {to}"), "makes no difference here").hint(hint)
}

/// The one method of some rows, or that there are several.
fn methods(rows: &[RowPlan]) -> String {
    let mut names: Vec<_> = rows.iter().map(|row| row.method.name()).collect();
    names.dedup();
    match names[..] {
        [only] => format!("`{only}`"),
        _ => "any of these methods".to_owned(),
    }
}

/// Whom it means something.
fn for_others(key: &str) -> String {
    let setting = SETTINGS.iter().find(|setting| setting.key == key);
    let effect = setting.map(|setting| crate::catalogue::options::entry(setting).effect);
    format!("leave it out: it is for {}", effect.unwrap_or_default())
}
