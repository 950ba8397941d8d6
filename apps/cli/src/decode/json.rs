//! `keytoll decode --json`: format 1. Fields are only ever added; an unknown value is absent. `keytoll schema decode` prints the
//! schema.

use std::collections::BTreeMap;

use keytoll_decode::decode::Decoded;
use keytoll_decode::{Conversation, Entry, Outcome, counts, ladder};
use keytoll_trace::{Link, Protocol};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Chosen;

/// The contents of a capture. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// 1.
    format: u32,
    /// Frames read.
    frames: u64,
    /// When its first packet was captured, in seconds since 1970-01-01T00:00:00Z.
    #[serde(skip_serializing_if = "Option::is_none")]
    begins_s: Option<f64>,
    /// Packets that belong to no authentication, by kind.
    not_looked_into: BTreeMap<&'a str, u64>,
    /// The conversations, in order of their first packets.
    #[schemars(with = "Vec<Told<'static>>")]
    conversations: Conversations<'a>,
}

impl<'a> Document<'a> {
    /// The chosen conversations of a decoded capture.
    pub(super) fn of(decoded: &'a Decoded, chosen: &'a Chosen<'a>) -> Self {
        Self {
            format: 1,
            frames: decoded.frames,
            begins_s: decoded.begins_ns.map(seconds),
            not_looked_into: decoded.skipped.kinds().into_iter().collect(),
            conversations: Conversations(chosen),
        }
    }
}

/// Conversations that are built one by one during serialization, so that they are never in memory as a whole.
struct Conversations<'a>(&'a Chosen<'a>);

impl Serialize for Conversations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|&(number, conversation)| Told::of(number, conversation)))
    }
}

/// A conversation: an IKE SA and everything that belongs to it, or messages without one.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Conversation")]
struct Told<'a> {
    /// Counted from 1.
    number: usize,
    /// `ikev2`, `ikev1`, `radius`, `diameter`, `eapol`, `esp`, …, or `unreadable`.
    kind: String,
    /// The initiator's SPI of the first IKE SA, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    spi_i: Option<String>,
    /// The responder's SPI; zeros if it has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    spi_r: Option<String>,
    /// The identifiers of conversations of other protocols, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ids: BTreeMap<&'static str, &'a str>,
    /// A title, for people.
    title: String,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    begins_s: f64,
    /// The outcome.
    outcome: End,
    /// The addresses of each role.
    hosts: BTreeMap<&'static str, Vec<String>>,
    /// What was negotiated, and with which peer.
    about: About<'a>,
    /// The totals of each link.
    links: Vec<LinkTotal>,
    /// The outcomes of each kind of exchange, such as `phase_1` and `quick_mode` of IKEv1, by name: `established`, `refused`,
    /// `unanswered`, `unseen`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    exchanges: BTreeMap<String, BTreeMap<&'static str, u32>>,
    /// What became of frames that the link encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<Sealed<'a>>,
    /// Its messages in order of time.
    #[schemars(with = "Vec<Said<'static>>")]
    messages: Messages<'a>,
}

/// The identifiers that have fields of their own.
const SPIS: [&str; 2] = ["spi_i", "spi_r"];

impl<'a> Told<'a> {
    fn of(number: usize, conversation: &'a Conversation) -> Self {
        let start_ns = conversation.entries.first().map_or(0, |entry| entry.first_ns);
        let ids = &conversation.judgement.ids.ids;
        let id = |wanted: &str| ids.iter().find(|(name, _)| *name == wanted).map(|(_, id)| id.clone());
        let others = ids.iter().filter(|(name, _)| !SPIS.contains(name));
        let hosts = conversation.hosts.iter().map(|(node, addrs)| {
            let addrs = addrs.iter().map(ToString::to_string).collect();
            (node.name(), addrs)
        });
        Self {
            number,
            kind: conversation.kind.name.to_string(),
            spi_i: id(SPIS[0]),
            spi_r: id(SPIS[1]),
            ids: others.map(|(name, id)| (*name, id.as_str())).collect(),
            title: ladder::title(conversation),
            begins_s: seconds(start_ns),
            outcome: End::of(conversation, start_ns),
            hosts: hosts.collect(),
            about: About::of(conversation),
            links: links(conversation),
            exchanges: exchanges(conversation),
            sealed: conversation.judgement.sealed.as_ref().map(Sealed::of),
            messages: Messages { entries: &conversation.entries, start_ns },
        }
    }
}

/// Frames that the link encrypted, as 802.11 does.
#[derive(Serialize, JsonSchema)]
struct Sealed<'a> {
    /// All of them.
    frames: u64,
    /// Those that were decrypted.
    open: u64,
    /// Why none was decrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> Sealed<'a> {
    fn of(sealed: &'a keytoll_decode::Sealed) -> Self {
        let &keytoll_decode::Sealed { opened: open, closed, ref why } = sealed;
        Self { frames: open + closed, open, why: why.as_deref() }
    }
}

/// The outcome of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Outcome")]
struct End {
    /// `established`, `failed`, `unanswered` or `unknown`.
    name: &'static str,
    /// The role that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The decisive message, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<usize>,
    /// Time of that message after the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ms: Option<f64>,
}

impl End {
    fn of(conversation: &Conversation, start_ns: u64) -> Self {
        let (name, by, why) = match &conversation.judgement.outcome {
            Outcome::Established(_) => ("established", None, None),
            Outcome::Failed { by, why, .. } => ("failed", Some(by.name()), Some(why.to_string())),
            Outcome::Unanswered(_) => ("unanswered", None, None),
            Outcome::Unknown => ("unknown", None, None),
        };
        let message = conversation.judgement.outcome.place();
        let after_ms = message.map(|at| ms(conversation.entries[at].at_ns.saturating_sub(start_ns)));
        Self { name, by, why, message, after_ms }
    }
}

fn exchanges(conversation: &Conversation) -> BTreeMap<String, BTreeMap<&'static str, u32>> {
    let exchanges = conversation.judgement.exchanges.iter();
    exchanges.map(|(name, ends)| (name.replace(' ', "_"), ends.named().into_iter().collect())).collect()
}

/// Information about a conversation from its messages.
#[derive(Serialize, JsonSchema)]
struct About<'a> {
    /// The IKE suite chosen.
    #[serde(rename = "ike_suite", skip_serializing_if = "Option::is_none")]
    suite: Option<&'a str>,
    /// The ESP suite chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    child_suite: Option<&'a str>,
    /// The initiator's identity; the RADIUS user if IKE's is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    /// The responder's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<&'a str>,
    /// The last EAP method.
    #[serde(skip_serializing_if = "Option::is_none")]
    eap_method: Option<&'a str>,
    /// How the initiator proved itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_method: Option<&'a str>,
    /// The device's inner address.
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_address: Option<String>,
}

impl<'a> About<'a> {
    fn of(conversation: &'a Conversation) -> Self {
        let about = &conversation.about;
        Self {
            suite: about.suite.as_deref(),
            child_suite: about.child_suite.as_deref(),
            user: about.user.as_deref(),
            gateway: about.gateway.as_deref(),
            eap_method: about.inner_method.as_ref().map(|method| method.shown.as_str()),
            auth_method: about.auth_method.as_deref(),
            inner_address: about.address.map(|address| address.to_string()),
        }
    }
}

/// The messages of one protocol over one link.
#[derive(Serialize, JsonSchema)]
struct LinkTotal {
    /// `ue-gw`, `gw-aaa`, …
    link: String,
    /// `ike`, `radius`, …
    protocol: &'static str,
    /// Protocol messages, retransmissions apart.
    messages: u64,
    /// IP packets.
    packets: u64,
    /// Their bytes, IP headers included.
    bytes: u64,
    /// Messages sent again.
    retransmissions: u64,
}

fn links(conversation: &Conversation) -> Vec<LinkTotal> {
    let counts = counts::of(&conversation.entries);
    let link = |((link, protocol), count): &((Link, Protocol), counts::Count)| LinkTotal {
        link: link.name(),
        protocol: protocol.name(),
        messages: count.messages,
        packets: count.packets,
        bytes: count.bytes,
        retransmissions: count.retransmissions,
    };
    counts.iter().map(link).collect()
}

/// Messages that are built one by one during serialization.
struct Messages<'a> {
    entries: &'a [Entry],
    start_ns: u64,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|entry| Said::of(entry, self.start_ns)))
    }
}

/// A message.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Message")]
struct Said<'a> {
    /// Time of its last packet after the first message.
    at_ms: f64,
    /// The frame of that packet in the capture.
    frame: u64,
    /// The role that sent it.
    from: &'static str,
    /// The role that it was sent to.
    to: &'static str,
    /// Source: an IP address with its port; for EAPOL a MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_address: Option<String>,
    /// Destination; absent in cooked captures of EAPOL.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_address: Option<String>,
    /// `ike`, `radius`, …
    protocol: &'static str,
    /// `IKE_AUTH request 1`.
    name: &'a str,
    /// Its payloads, in order.
    parts: Vec<PartOf<'a>>,
    /// IP packets.
    packets: u64,
    /// Their bytes, IP headers included.
    bytes: u64,
    /// The frame of the message that it retransmits.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_frame: Option<u64>,
    /// For an answer: its time after the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers_after_ms: Option<f64>,
    /// True for a question without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered: Option<bool>,
    /// The part of it that reports a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// Remarks for the reader.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    remarks: &'a [String],
    /// For consecutive ESP packets: how many more there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    /// Its fate, if the capture has it: `delivered`, `lost`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<String>,
}

/// Something that a message carries.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Part")]
struct PartOf<'a> {
    /// Its name.
    name: &'a str,
    /// Its contents; may be empty.
    detail: &'a str,
}

impl<'a> Said<'a> {
    fn of(entry: &'a Entry, start_ns: u64) -> Self {
        let parts = entry.parts.iter().map(|part| PartOf { name: &part.name, detail: &part.detail });
        Self {
            at_ms: ms(entry.at_ns.saturating_sub(start_ns)),
            frame: entry.frame,
            from: entry.ends.0.name(),
            to: entry.ends.1.name(),
            from_address: Some(entry.addrs.0.to_string()),
            to_address: entry.addrs.1.map(|addr| addr.to_string()),
            protocol: entry.protocol.name(),
            name: &entry.name,
            parts: parts.collect(),
            packets: entry.packets,
            bytes: entry.wire_bytes,
            repeats_frame: entry.repeats,
            answers_after_ms: entry.answers_after_ns.map(ms),
            unanswered: entry.unanswered.then_some(true),
            failure: entry.failure.as_deref(),
            remarks: &entry.remarks,
            more: Some(entry.more).filter(|more| *more > 0),
            fate: entry.fate.map(|(fate, _)| format!("{fate:?}").to_lowercase()),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
