//! From a node file to a host: files are opened, identities read, methods made; then, when its sockets are bound and
//! their ports known, the host itself.
//!
//! ```text
//!   NodePlan --draw--> Blueprint --sockets()--> bound by whoever drives it --build(locals)--> Host
//! ```

mod aaa;
mod card_state;
mod device;
mod eap;
mod files;
mod gateway;
mod hss;
mod ike;
mod secure;
mod subscribers;
mod trusts;

pub(crate) use ike::{exchange, half_open};

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keytoll_crypto_api::Seed;
/// What cuts a stream of Diameter into messages.
pub use keytoll_diameter::wire::message::length as diameter_length;
use keytoll_engine::channel::Secure;
use keytoll_hosts::Host;
use keytoll_net::Socket;
use keytoll_scenario::{NodePlan, ScenarioError};
use trusts::Drawn;

pub use trusts::Trusts;

/// A node of which only its addresses are still open.
#[derive(Debug)]
pub struct Blueprint {
    role: Role,
    trusts: Trusts,
}

/// What a node is.
#[derive(Debug)]
enum Role {
    /// A gateway.
    Gateway(Box<gateway::Blueprint>),
    /// A device.
    Device(Box<device::Blueprint>),
    /// An AAA server.
    Aaa(Box<aaa::Blueprint>),
    /// An HSS.
    Hss(Box<hss::Blueprint>),
}

/// A socket that a node needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// For datagrams.
    Udp(Place),
    /// That others connect to, for Diameter.
    Listen(SocketAddr),
    /// That connects to another when there is something to say, in Diameter. Its port is only a name.
    Call(Place),
}

/// Where a socket is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Here.
    At(SocketAddr),
    /// At this port of whichever address of ours leads to the other one.
    Towards(SocketAddr, u16),
}

impl Blueprint {
    /// Opens everything that a plan names.
    ///
    /// # Errors
    /// What cannot be used, and where the node file says it.
    pub fn draw(plan: &NodePlan) -> Result<Self, ScenarioError> {
        let trusts = Drawn::default();
        let role = match plan {
            NodePlan::Gateway(plan) => Role::Gateway(Box::new(gateway::Blueprint::draw(plan, &trusts)?)),
            NodePlan::Device(plan) => Role::Device(Box::new(device::Blueprint::draw(plan, &trusts)?)),
            NodePlan::Aaa(plan) => Role::Aaa(Box::new(aaa::Blueprint::draw(plan, &trusts)?)),
            NodePlan::Hss(plan) => Role::Hss(Box::new(hss::Blueprint::draw(plan, &trusts)?)),
        };
        Ok(Self { role, trusts: trusts.finish() })
    }

    /// Whom it trusts, for whoever keeps that current while the node runs.
    pub fn trusts(&self) -> Trusts {
        self.trusts.clone()
    }

    /// The sockets it needs, in the order in which [`Self::build`] is told where they are.
    pub fn sockets(&self) -> Vec<Wanted> {
        match &self.role {
            Role::Gateway(blueprint) => blueprint.sockets(),
            Role::Device(blueprint) => blueprint.sockets(),
            Role::Aaa(blueprint) => blueprint.sockets(),
            Role::Hss(blueprint) => blueprint.sockets(),
        }
    }

    /// Who is expected to call it; none: anybody.
    pub fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        match &self.role {
            Role::Hss(blueprint) => blueprint.expected(),
            Role::Gateway(_) | Role::Device(_) | Role::Aaa(_) => None,
        }
    }

    /// What secures its streams; none: nothing does.
    pub fn secure(&self, seed: &Seed) -> Option<Arc<dyn Secure>> {
        let settings = match &self.role {
            Role::Gateway(_) | Role::Device(_) => None,
            Role::Aaa(blueprint) => blueprint.tls(),
            Role::Hss(blueprint) => blueprint.tls(),
        };
        settings.map(|settings| settings.with_seed(seed))
    }

    /// The host, with its sockets at these addresses.
    ///
    /// # Panics
    /// If there are not as many as were wanted.
    pub fn build(self, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        assert_eq!(locals.len(), self.sockets().len(), "every socket that was wanted is bound");
        match self.role {
            Role::Gateway(blueprint) => Box::new(blueprint.build(locals, seed)),
            Role::Device(blueprint) => Box::new(blueprint.build(locals, seed)),
            Role::Aaa(blueprint) => Box::new(blueprint.build(locals, seed)),
            Role::Hss(blueprint) => Box::new(blueprint.build(locals, seed)),
        }
    }
}
