//! Node files: the description of one node on real sockets. Parses TOML into a resolved [`NodePlan`].
//!
//! ```text
//!   role = "gateway" | "device" | "aaa" | "hss"  -->  gateway.rs, device.rs, aaa.rs, hss.rs
//!   secrets: "text", { file = … }, { env = … }, { hex = … }         files.rs
//! ```
//!
//! Paths are relative to the document. Certificates, keys and identities remain names here, with their places ([`Placed`]), so that
//! errors on opening them can refer to these.

mod aaa;
mod advice;
mod connection;
mod device;
mod eap;
mod files;
mod gateway;
mod hss;
mod masked;
mod network;
mod peer_tls;
mod placed;
mod subscriber;
mod tun;

use std::path::Path;

pub use aaa::{AaaPlan, HssAccessPlan};
pub use connection::{
    BelievePlan, CertificatePlan, ConnectionPlan, Encapsulation, EndpointPlan, ProvePlan, RootsPlan,
    VersionPlan,
};
pub use device::{CardPlan, DevicePlan, EapPlan};
pub use eap::{Cryptobinding, TlsPlan};
pub use gateway::{GatewayPlan, RadiusPlan};
pub use hss::{HssPlan, PEERS};
pub use network::{IpNetwork, PoolPlan};
pub use peer_tls::PeerTlsPlan;
pub use placed::Placed;
pub use subscriber::{OperatorKey, SubscriberPlan};
pub use tun::TunPlan;

use crate::diagnostic::{ScenarioError, Text};
use crate::tree::{self, Table};
use files::Files;

/// The description of a node.
#[derive(Debug, Clone)]
pub enum NodePlan {
    /// An IKE responder, with access to a RADIUS server.
    Gateway(Box<GatewayPlan>),
    /// Begins IKE.
    Device(Box<DevicePlan>),
    /// Answers RADIUS.
    Aaa(Box<AaaPlan>),
    /// Answers Diameter.
    Hss(Box<HssPlan>),
}

impl NodePlan {
    /// Its role.
    pub const fn role(&self) -> Role {
        match self {
            Self::Gateway(_) => Role::Gateway,
            Self::Device(_) => Role::Device,
            Self::Aaa(_) => Role::Aaa,
            Self::Hss(_) => Role::Hss,
        }
    }
}

/// The part a node plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// IKE responder.
    Gateway,
    /// IKE initiator.
    Device,
    /// RADIUS and EAP server.
    Aaa,
    /// Subscriber database.
    Hss,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Gateway, Self::Device, Self::Aaa, Self::Hss];

    /// The name in node files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Device => "device",
            Self::Aaa => "aaa",
            Self::Hss => "hss",
        }
    }

    /// The verb that runs it.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Device => "connect",
            other => other.name(),
        }
    }
}

/// A node file that was read.
#[derive(Debug, Clone)]
pub struct NodeFile {
    /// The plan.
    pub plan: NodePlan,
    /// Warnings: one sentence each.
    pub warnings: Vec<String>,
}

/// The key that distinguishes a node file.
const ROLE: &str = "role";

/// Keys that only scenarios have; every scenario has one of them.
const SCENARIO: [&str; 2] = ["methods", "row"];

/// Whether the document is a node file, not a scenario.
pub(crate) fn is_node(document: &Table) -> bool {
    document.get(ROLE).is_some()
}

/// Whether an unparsable document was meant as a node file, whose secrets must not be shown: no scenario has a role.
pub(crate) fn looks_like_node(text: &str) -> bool {
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim() == ROLE);
    text.lines().filter_map(key).any(|is_role| is_role)
}

/// Parses a node file; paths in it are relative to its directory.
pub(crate) fn read(text: &std::sync::Arc<Text>) -> Result<NodeFile, ScenarioError> {
    let text = &masked::without_secrets(text);
    let mut document = tree::document(text)?;
    document.spot = document.spot.start();
    let directory = Path::new(&text.name).parent().unwrap_or(Path::new(""));
    if !is_node(&document) && SCENARIO.iter().any(|key| document.get(key).is_some()) {
        let message = format!("`{}` is a scenario, not the file of a node", text.name);
        return Err(ScenarioError::nowhere(message)
            .hint("`keytoll run` runs it; `scenarios/live` has examples of node files"));
    }
    let mut files = Files::in_directory(directory);
    let role = document.need(ROLE, "a node file").map_err(|error| {
        error.hint(
            "`role = \"gateway\"`, `\"device\"`, `\"aaa\"` or `\"hss\"`; scenarios are for `keytoll run`",
        )
    })?;
    let plan = match role.pick("role", &Role::ALL, Role::name)? {
        Role::Gateway => NodePlan::Gateway(Box::new(gateway::read(&document, &mut files)?)),
        Role::Device => NodePlan::Device(Box::new(device::read(&document, &mut files)?)),
        Role::Aaa => NodePlan::Aaa(Box::new(aaa::read(&document, &mut files)?)),
        Role::Hss => NodePlan::Hss(Box::new(hss::read(&document, &mut files)?)),
    };
    let mut warnings = files.into_warnings();
    warnings.extend(advice::of(&plan));
    Ok(NodeFile { plan, warnings })
}
