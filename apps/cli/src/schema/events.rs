//! The schema of an event of a node: events consist of names and fields (`live/happening.rs`), not of types.

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

/// An event: its name, its required fields, its optional fields.
type Event = (&'static str, &'static [&'static str], &'static [&'static str]);

const EVENTS: [Event; 20] = [
    ("listening", &["addresses", "unix_s"], &["identity"]),
    (
        "established",
        &["remote"],
        &[
            "spi",
            "peer_spi",
            "association",
            "suite",
            "peer",
            "claimed",
            "identity",
            "address",
            "auth_lifetime_s",
        ],
    ),
    (
        "child-up",
        &["inbound_spi", "outbound_spi", "suite", "encapsulated"],
        &["spi", "association", "local", "remote"],
    ),
    (
        "child-rekeyed",
        &["inbound_spi", "outbound_spi", "suite", "encapsulated", "old_spi"],
        &["spi", "association", "local", "remote"],
    ),
    ("subscriber-proved", &["association", "subscriber"], &[]),
    ("child-down", &["inbound_spi"], &[]),
    ("usable", &[], &[]),
    ("echo-reply", &[], &[]),
    ("rekeyed", &["spi", "old_spi"], &[]),
    ("closed", &["why"], &["spi", "association"]),
    ("child-failed", &["why"], &["spi", "association"]),
    ("failed", &["why"], &["spi", "association", "remote", "claimed", "likely"]),
    ("proposal-refused", &["why"], &["remote", "offered", "acceptable", "more"]),
    ("accepted", &["user"], &[]),
    ("rejected", &["user", "why"], &["remote"]),
    ("client-refused", &["why"], &["remote", "likely", "more"]),
    ("answered", &["imsi"], &["vectors", "why"]),
    ("draining", &["open"], &[]),
    ("stopped", &["open"], &[]),
    ("refused", &["why"], &[]),
];

/// A field, its meaning, and its type if it is not text.
type Field = (&'static str, &'static str, Option<&'static str>);

const FIELDS: [Field; 28] = [
    ("acceptable", "what we would have taken", None),
    ("address", "the inner address that the device has", None),
    ("addresses", "where the node listens", Some("array")),
    ("association", "the association of HIP, by a number of its node", None),
    ("auth_lifetime_s", "for how long the device is authenticated", Some("integer")),
    ("claimed", "who the peer says it is, which nothing has proved", None),
    ("encapsulated", "whether ESP is in UDP", Some("boolean")),
    ("identity", "what peers know the node by, if its key makes it: a HIT", None),
    ("imsi", "the subscriber", None),
    ("inbound_spi", "SPI of what we receive, in hexadecimal digits", None),
    ("likely", "what is most likely wrong, if `why` leaves that open", None),
    ("local", "our side of the traffic", None),
    ("more", "how many of these were left out", Some("integer")),
    ("offered", "what the peer offered", None),
    ("old_spi", "the SPI that it replaces", None),
    ("open", "SAs and conversations that are not over", Some("integer")),
    ("outbound_spi", "SPI of what we send, in hexadecimal digits", None),
    ("peer", "who the peer has proved to be", None),
    ("peer_spi", "the peer's SPI of the IKE SA, in hexadecimal digits", None),
    ("remote", "where the peer is; of a child SA, the other side of the traffic", None),
    ("spi", "our SPI of the IKE SA, in hexadecimal digits", None),
    ("subscriber", "who subscribes, as AKA has proved it", None),
    ("suite", "the suite", None),
    ("unix_s", "when it began, in seconds since 1970-01-01T00:00:00Z", Some("integer")),
    ("user", "the name that the device gave", None),
    ("vectors", "how many vectors were given", Some("integer")),
    ("why", "why", None),
    ("at_ms", "when, since the node began", Some("number")),
];

/// The schema of one line.
pub(super) fn schema() -> Schema {
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "What happened to a node. Fields and events are only ever added; what is not known is absent.",
        "oneOf": EVENTS.map(event),
    })
}

fn event((name, always, known): Event) -> Value {
    let fields =
        ["at_ms"].iter().chain(always).chain(known).map(|field| ((*field).to_owned(), of_field(field)));
    let mut properties: Map<String, Value> = fields.collect();
    properties.insert("event".to_owned(), json!({ "const": name }));
    properties.insert("node".to_owned(), json!({ "enum": ["gateway", "device", "aaa", "hss"] }));
    let required: Vec<&str> = ["event", "node", "at_ms"].into_iter().chain(always.iter().copied()).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn of_field(name: &str) -> Value {
    let (_, about, kind) =
        FIELDS.iter().find(|(field, ..)| *field == name).expect("every field is described");
    match kind.unwrap_or("string") {
        "array" => json!({ "description": about, "type": "array", "items": { "type": "string" } }),
        kind => json!({ "description": about, "type": kind }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_described_and_every_description_used() {
        let used = EVENTS.iter().flat_map(|(_, always, known)| always.iter().chain(*known));
        let used: std::collections::BTreeSet<&str> = used.copied().chain(["at_ms"]).collect();
        assert_eq!(used, FIELDS.iter().map(|(name, ..)| *name).collect());
        assert_eq!(schema().get("oneOf").unwrap().as_array().unwrap().len(), EVENTS.len());
    }
}
