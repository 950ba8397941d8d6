//! `keytoll decode --json`: format 1. Fields are only ever added; what is not known is absent.
//!
//! ```text
//! { "format": 1, "frames": n, "begins_s": seconds since 1970, "not_looked_into": { what: packets },
//!   "conversations": [ { "number", "kind", "spi_i", "spi_r", "title", "outcome": { "name", "by", "why", "message", "after_ms" },
//!       "hosts": { role: [address] }, "about": { … }, "links": [ … ], "messages": [ … ],
//!       "exchanges": { "phase_1": { "established", "refused", "unanswered", "unseen" }, "quick_mode": { … } } } ] }
//! ```

use keytoll_capture::conversation::{Conversation, Ends, Entry, Exchanges, Kind, Outcome};
use keytoll_capture::decode::Decoded;
use keytoll_capture::{counts, ladder};
use keytoll_trace::{Link, Protocol};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Chosen;

/// The whole, of which one message at a time is made while it is written.
pub(super) struct Document<'a> {
    pub(super) decoded: &'a Decoded,
    pub(super) chosen: &'a Chosen<'a>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let conversations =
            Made(|| self.chosen.iter().map(|(number, it)| Told { number: *number, conversation: it }));
        with_list(serializer, &head(self.decoded), CONVERSATIONS, &conversations)
    }
}

/// A conversation that is made when its turn comes.
struct Told<'a> {
    number: usize,
    conversation: &'a Conversation,
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = &self.conversation.entries;
        let start_ns = entries.first().map_or(0, |entry| entry.first_ns);
        let messages = Made(|| entries.iter().map(move |entry| message(entry, start_ns)));
        with_list(serializer, &conversation(self.number, self.conversation), MESSAGES, &messages)
    }
}

/// A list whose members are made one by one.
struct Made<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Made<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

const CONVERSATIONS: &str = "conversations";
const MESSAGES: &str = "messages";

/// An object with a long list in the place of the member of this name.
fn with_list<S: Serializer>(
    serializer: S,
    object: &Map<String, Value>,
    name: &str,
    list: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(object.len()))?;
    for (key, value) in object {
        if key == name {
            map.serialize_entry(key, list)?;
        } else {
            map.serialize_entry(key, value)?;
        }
    }
    map.end()
}

fn head(decoded: &Decoded) -> Map<String, Value> {
    let skipped = decoded.skipped.kinds().into_iter().map(|(what, count)| (what.to_owned(), json!(count)));
    let mut head = members(json!({
        "format": 1,
        "frames": decoded.frames,
        "not_looked_into": skipped.collect::<Map<_, _>>(),
        CONVERSATIONS: [],
    }));
    if let Some(begins_ns) = decoded.begins_ns {
        head.insert("begins_s".to_owned(), json!(seconds(begins_ns)));
    }
    head
}

fn members(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn conversation(number: usize, conversation: &Conversation) -> Map<String, Value> {
    let start_ns = conversation.entries.first().map_or(0, |entry| entry.first_ns);
    let hosts = conversation.hosts.iter().map(|(node, addrs)| {
        let addrs: Vec<String> = addrs.iter().map(ToString::to_string).collect();
        (node.name().to_owned(), json!(addrs))
    });
    let mut value = json!({
        "number": number,
        "title": ladder::title(conversation),
        "begins_s": seconds(start_ns),
        "outcome": outcome(conversation, start_ns),
        "hosts": hosts.collect::<Map<_, _>>(),
        "about": about(conversation),
        "links": links(conversation),
        MESSAGES: [],
    });
    if let Some(ends) = conversation.exchanges {
        value["exchanges"] = exchanges(ends);
    }
    match conversation.kind {
        Kind::Ike { spi_i, spi_r, major } => {
            value["kind"] = json!(format!("ikev{major}"));
            value["spi_i"] = json!(format!("{spi_i:016x}"));
            value["spi_r"] = json!(format!("{spi_r:016x}"));
        }
        Kind::Radius => value["kind"] = json!("radius"),
        Kind::Diameter => value["kind"] = json!("diameter"),
        Kind::Esp => value["kind"] = json!("esp"),
        Kind::Unreadable => value["kind"] = json!("unreadable"),
    }
    members(value)
}

fn outcome(conversation: &Conversation, start_ns: u64) -> Value {
    let mut value = match &conversation.outcome {
        Outcome::Established(_) => json!({ "name": "established" }),
        Outcome::Failed { by, why, .. } => json!({ "name": "failed", "by": by.name(), "why": why }),
        Outcome::Unanswered(_) => json!({ "name": "unanswered" }),
        Outcome::Unknown => json!({ "name": "unknown" }),
    };
    if let Some(at) = conversation.outcome.place() {
        value["message"] = json!(at);
        value["after_ms"] = json!(ms(conversation.entries[at].at_ns.saturating_sub(start_ns)));
    }
    value
}

/// What became of the exchanges of IKEv1.
fn exchanges(exchanges: Exchanges) -> Value {
    let counts = |ends: Ends| -> Map<String, Value> {
        ends.named().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
    };
    json!({ "phase_1": counts(exchanges.phase1), "quick_mode": counts(exchanges.quick_mode) })
}

fn about(conversation: &Conversation) -> Value {
    let about = &conversation.about;
    let fields = [
        ("ike_suite", about.ike_suite.clone()),
        ("child_suite", about.child_suite.clone()),
        ("user", about.user.clone()),
        ("gateway", about.gateway.clone()),
        ("eap_method", about.eap_method.clone()),
        ("auth_method", about.auth_method.clone()),
        ("inner_address", about.address.map(|address| address.to_string())),
    ];
    let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    Value::Object(known.collect())
}

fn links(conversation: &Conversation) -> Vec<Value> {
    let counts = counts::of(&conversation.entries);
    let link = |((link, protocol), count): (&(Link, Protocol), &counts::Count)| {
        json!({
            "link": link.name(),
            "protocol": protocol.name(),
            "messages": count.messages,
            "packets": count.packets,
            "bytes": count.bytes,
            "retransmissions": count.retransmissions,
        })
    };
    counts.iter().map(link).collect()
}

fn message(entry: &Entry, start_ns: u64) -> Value {
    let parts = entry.parts.iter().map(|part| json!({ "name": &*part.name, "detail": &*part.detail }));
    let mut value = json!({
        "at_ms": ms(entry.at_ns.saturating_sub(start_ns)),
        "frame": entry.frame,
        "from": entry.ends.0.name(),
        "to": entry.ends.1.name(),
        "from_address": entry.addrs.0.to_string(),
        "to_address": entry.addrs.1.to_string(),
        "protocol": entry.protocol.name(),
        "name": entry.name,
        "parts": parts.collect::<Vec<_>>(),
        "packets": entry.packets,
        "bytes": entry.wire_bytes,
    });
    let known = [
        ("repeats_frame", entry.repeats.map(|frame| json!(frame))),
        ("answers_after_ms", entry.answers_after_ns.map(|ns| json!(ms(ns)))),
        ("unanswered", entry.unanswered.then_some(Value::Bool(true))),
        ("failure", entry.failure.as_ref().map(|why| json!(why))),
        ("remarks", (!entry.remarks.is_empty()).then(|| json!(entry.remarks))),
        ("more", (entry.more > 0).then(|| json!(entry.more))),
        ("fate", entry.fate.map(|(fate, _)| json!(format!("{fate:?}").to_lowercase()))),
    ];
    for (name, known) in known {
        if let Some(known) = known {
            value[name] = known;
        }
    }
    value
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
