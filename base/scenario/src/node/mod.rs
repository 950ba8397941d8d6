//! Node files: the description of one node on real sockets. Parses TOML into a resolved [`NodePlan`].
//!
//! ```text
//!   role = "gateway" | "device" | "aaa" | "hss"  -->  gateway.rs, device.rs, aaa.rs, hss.rs
//!   role = "gateway" | "device" with a method of HIP  -->  hip.rs
//!   secrets: "text", { file = … }, { env = … }, { hex = … }         files.rs
//! ```
//!
//! Paths are relative to the document. Certificates, keys and identities remain names here, with their places ([`Placed`]), so that
//! errors on opening them can refer to these.

mod aaa;
mod advice;
mod connection;
mod described;
mod device;
mod eap;
mod files;
mod gateway;
mod hip;
mod hss;
pub mod load;
mod masked;
mod network;
mod peer_tls;
mod placed;
mod subscriber;
mod tun;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use keytoll_crypto_api::Secret;

pub use aaa::{AaaPlan, HssAccessPlan};
pub use connection::{
    BelievePlan, CertificatePlan, ConnectionPlan, Encapsulation, EndpointPlan, ProvePlan, RootsPlan,
    VersionPlan,
};
pub use described::Line;
pub use device::{CardPlan, DevicePlan, EapPlan};
pub use eap::{Cryptobinding, TlsPlan};
pub use gateway::{GatewayPlan, RadiusPlan};
pub use hip::{AkaPlan, Departure, HipPlan, HipSide, HipTerms, HostPlan, Transport};
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
    /// A gateway or a device of HIP.
    Hip(Box<HipPlan>),
}

impl NodePlan {
    /// Its role.
    pub const fn role(&self) -> Role {
        match self {
            Self::Gateway(_) => Role::Gateway,
            Self::Device(_) => Role::Device,
            Self::Aaa(_) => Role::Aaa,
            Self::Hss(_) => Role::Hss,
            Self::Hip(plan) => plan.role(),
        }
    }
}

impl NodePlan {
    /// Where a server listens: its address and its first port, if it has one.
    pub fn listening(&mut self) -> Option<(&mut IpAddr, Option<&mut u16>)> {
        Some(match self {
            Self::Gateway(plan) => (&mut plan.listen, Some(&mut plan.endpoint.ports.0)),
            Self::Aaa(plan) => (&mut plan.listen, Some(&mut plan.ports.0)),
            Self::Hss(plan) => (&mut plan.listen, Some(&mut plan.port)),
            Self::Hip(plan) => return plan.listening(),
            Self::Device(_) => return None,
        })
    }

    /// Its TUN interface, if there is one.
    pub fn tun(&self) -> Option<&TunPlan> {
        match self {
            Self::Gateway(plan) => plan.tun.as_ref(),
            Self::Device(plan) => plan.tun.as_ref(),
            Self::Hip(plan) => plan.tun.as_ref(),
            Self::Aaa(_) | Self::Hss(_) => None,
        }
    }

    /// A secret of RADIUS: of an AAA server that of its first client.
    pub fn radius_secret(&self) -> Option<&Secret> {
        match self {
            Self::Gateway(plan) => plan.radius.as_ref().map(|radius| &radius.secret),
            Self::Aaa(plan) => plan.clients.first().map(|(_, secret)| secret),
            Self::Device(_) | Self::Hss(_) | Self::Hip(_) => None,
        }
    }

    /// The RADIUS server that a gateway asks.
    pub fn radius_server(&self) -> Option<SocketAddr> {
        match self {
            Self::Gateway(plan) => plan.radius.as_ref().map(|radius| radius.server),
            Self::Aaa(_) | Self::Device(_) | Self::Hss(_) | Self::Hip(_) => None,
        }
    }

    /// Whom a device calls, and how.
    pub fn call(&self) -> Option<Call> {
        match self {
            Self::Device(plan) => Some(plan.call()),
            Self::Hip(plan) => plan.call(),
            Self::Gateway(_) | Self::Aaa(_) | Self::Hss(_) => None,
        }
    }
}

/// A device's call to its gateway, whatever protocol it speaks.
#[derive(Debug, Clone)]
pub struct Call {
    /// The gateway, and the port that it is asked at, if there are any.
    pub gateway: (IpAddr, Option<u16>),
    /// The port of the gateway for all that follows its first answer, if that is another one (RFC 7296 §2.23).
    pub later_port: Option<u16>,
    /// Whether an echo request goes to whom is behind it.
    pub pings: bool,
    /// How we prove ourselves.
    pub auth: String,
    /// How the gateway does.
    pub peer_auth: &'static str,
    /// What we offer for the key exchange, and for traffic.
    pub offers: [String; 2],
}

/// The part a node plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Responder of IKE or HIP.
    Gateway,
    /// Initiator of IKE or HIP.
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

/// What a file may be: that of a node, or, with `None`, of a load.
const ROLES: [Option<Role>; 5] =
    [Some(Role::Gateway), Some(Role::Device), Some(Role::Aaa), Some(Role::Hss), None];

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
            "`role = \"gateway\"`, `\"device\"`, `\"aaa\"`, `\"hss\"` or `\"load\"`; scenarios are for `keytoll run`",
        )
    })?;
    let Some(role) = role.pick("role", &ROLES, |role| role.map_or(load::LOAD, Role::name))? else {
        let message = format!("`{}` is the file of a load, not of a node", text.name);
        return Err(ScenarioError::nowhere(message).hint("`keytoll load` runs it"));
    };
    let plan = match role {
        role @ (Role::Gateway | Role::Device) if hip::is_meant(&document) => {
            NodePlan::Hip(Box::new(hip::read(&document, role, &mut files)?))
        }
        Role::Gateway => NodePlan::Gateway(Box::new(gateway::read(&document, &mut files)?)),
        Role::Device => NodePlan::Device(Box::new(device::read(&document, &mut files)?)),
        Role::Aaa => NodePlan::Aaa(Box::new(aaa::read(&document, &mut files)?)),
        Role::Hss => NodePlan::Hss(Box::new(hss::read(&document, &mut files)?)),
    };
    let mut warnings = files.into_warnings(&text.name);
    warnings.extend(advice::of(&plan));
    Ok(NodeFile { plan, warnings })
}
