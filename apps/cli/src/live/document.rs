//! The output of `keytoll connect --json`; `keytoll schema connect` prints its schema.

use keytoll_hosts::described::Fields;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::happening::value;

/// Attempts to connect to a gateway. Fields are only ever added; an unknown value is absent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// 1.
    pub(super) format: u32,
    /// The gateway's address and port.
    pub(super) gateway: &'a str,
    /// Our authentication method.
    pub(super) auth: &'a str,
    /// The gateway's authentication method.
    pub(super) peer_auth: &'a str,
    /// How many attempts resulted in a working SA.
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
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// The likely cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) likely: Option<String>,
    /// A description of the failure, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sentence: Option<String>,
    /// The negotiated parameters of the session, if there was one.
    #[serde(flatten)]
    #[schemars(with = "Option<Session>")]
    pub(super) session: Option<Described>,
    /// The negotiated parameters of the child SA, if there was one.
    #[serde(flatten)]
    pub(super) child: Option<ChildSa>,
    /// With `--rate`: how much later it began than it was meant to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) late_ms: Option<f64>,
    /// Time until there was a usable SA; with `--rate` since it was meant to begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<f64>,
    /// Until the first echo reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_packet_ms: Option<f64>,
    /// Echo requests after the first, one a second until a reply comes.
    pub(super) echo_requests_repeated_count: u32,
    /// Messages of the key exchange, without retransmissions.
    pub(super) messages: usize,
    /// Their bytes, without UDP and IP headers.
    pub(super) bytes: usize,
    /// Messages that we sent again.
    pub(super) retransmissions: usize,
    /// Every datagram.
    pub(super) steps: Vec<Passed>,
}

/// A session as its protocol family describes it.
pub(crate) struct Described(pub(super) Fields);

impl Serialize for Described {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, field)| (name, value(field.clone()))))
    }
}

/// The negotiated parameters of a session: of an IKE SA with suite and SPIs, of an association of HIP with our identity.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is what the schema says of a session, which describes itself")]
struct Session {
    /// The authenticated identity of the gateway; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// Its address and port.
    remote: String,
    /// The suite.
    #[serde(rename = "ike_suite", skip_serializing_if = "Option::is_none")]
    suite: Option<String>,
    /// Our SPI and the peer's, in hexadecimal digits.
    #[serde(rename = "ike_spis", skip_serializing_if = "Option::is_none")]
    spis: Option<[String; 2]>,
    /// What the gateway knows us by, if our key makes it: a HIT.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// Our inner address, if the gateway assigned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Authentication lifetime according to the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_lifetime_s: Option<u64>,
}

/// The negotiated parameters of a child SA.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChildSa {
    /// The suite.
    pub(super) esp_suite: String,
    /// The SPIs of received and of sent packets, in hexadecimal digits.
    pub(super) esp_spis: [String; 2],
    /// Our side of the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) local: Option<String>,
    /// The remote traffic selector.
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
    /// The number of the message in its protocol; null for ESP.
    pub(super) id: Option<u32>,
    /// Without UDP and IP headers.
    pub(super) bytes: usize,
    /// Whether it is a byte-for-byte retransmission.
    pub(super) retransmission: bool,
}
