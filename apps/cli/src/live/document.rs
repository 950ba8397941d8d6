//! What `keytoll connect --json` prints; `keytoll schema connect` prints it as a schema.

use keytoll_hosts::described::Fields;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::happening::value;

/// Attempts to connect to a gateway. Fields are only ever added; what is not known is absent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// 1.
    pub(super) format: u32,
    /// The gateway's address and port.
    pub(super) gateway: &'a str,
    /// How we prove who we are.
    pub(super) auth: &'a str,
    /// How the gateway proves who it is.
    pub(super) peer_auth: &'a str,
    /// How many attempts led to an SA that works.
    pub(super) succeeded: usize,
    /// Each attempt.
    pub(super) attempts: Vec<Told>,
}

/// One attempt.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Attempt")]
pub(crate) struct Told {
    /// `connected` or `failed`.
    pub(super) outcome: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// What is most likely wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) likely: Option<String>,
    /// What went wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sentence: Option<String>,
    /// What was negotiated for the session, if there was one.
    #[serde(flatten)]
    #[schemars(with = "Option<Session>")]
    pub(super) session: Option<Described>,
    /// What was negotiated for traffic, if there was an SA for it.
    #[serde(flatten)]
    pub(super) child: Option<ChildSa>,
    /// Until there was an SA that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<f64>,
    /// Until the echo reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_packet_ms: Option<f64>,
    /// Messages of IKE, retransmissions apart.
    pub(super) messages: usize,
    /// Their bytes, without UDP and IP headers.
    pub(super) bytes: usize,
    /// Messages that we sent again.
    pub(super) retransmissions: usize,
    /// Every datagram.
    pub(super) steps: Vec<Passed>,
}

/// What a family of protocols tells of a session, as it says it.
pub(crate) struct Described(pub(super) Fields);

impl Serialize for Described {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, field)| (name, value(field.clone()))))
    }
}

/// What was negotiated for an IKE SA.
#[derive(JsonSchema)]
#[schemars(rename = "IkeSa")]
#[expect(dead_code, reason = "it is what the schema says of an IKE SA, which describes itself")]
struct Session {
    /// Who the gateway has proved to be; absent if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// Where it is.
    remote: String,
    /// The suite.
    #[serde(rename = "ike_suite")]
    suite: String,
    /// Ours and the peer's, in hexadecimal digits.
    #[serde(rename = "ike_spis")]
    spis: [String; 2],
    /// Our inner address, if the gateway gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// For how long the gateway says that we are authenticated.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_lifetime_s: Option<u64>,
}

/// What was negotiated for traffic.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChildSa {
    /// The suite.
    pub(super) esp_suite: String,
    /// Of what we receive and of what we send, in hexadecimal digits.
    pub(super) esp_spis: [String; 2],
    /// Our side of the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) local: Option<String>,
    /// The other side of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_traffic: Option<String>,
}

/// A datagram that passed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub(crate) struct Passed {
    /// When, since the attempt began.
    pub(super) at_ms: f64,
    /// `out` or `in`.
    pub(super) direction: &'static str,
    /// `IKE_AUTH request`, `ESP packet`.
    pub(super) message: String,
    /// The message id of IKE; null of ESP.
    pub(super) id: Option<u32>,
    /// Without UDP and IP headers.
    pub(super) bytes: usize,
    /// Whether it passed before, byte for byte.
    pub(super) retransmission: bool,
}
