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
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keytoll_crypto_api::Seed;
/// What cuts a stream of Diameter into messages.
pub use keytoll_diameter::wire::message::length as diameter_length;
use keytoll_engine::channel::Secure;
use keytoll_hosts::Host;
use keytoll_net::Socket;
use keytoll_scenario::{NodePlan, ScenarioError};
use secure::Settings;
use trusts::Drawn;

pub use trusts::Trusts;

/// A node of which only its addresses are still open.
#[derive(Debug)]
pub struct Blueprint {
    role: Box<dyn Role>,
    trusts: Trusts,
}

/// What a node is: a role of some family.
trait Role: fmt::Debug {
    /// The sockets that it needs.
    fn sockets(&self) -> Vec<Wanted>;

    /// Who is expected to call it; none: anybody.
    fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        None
    }

    /// What secures its streams; none: nothing does.
    fn tls(&self) -> Option<&Settings> {
        None
    }

    /// The host, with its sockets at these addresses.
    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host>;
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
        let role: Box<dyn Role> = match plan {
            NodePlan::Gateway(plan) => Box::new(gateway::Blueprint::draw(plan, &trusts)?),
            NodePlan::Device(plan) => Box::new(device::Blueprint::draw(plan, &trusts)?),
            NodePlan::Aaa(plan) => Box::new(aaa::Blueprint::draw(plan, &trusts)?),
            NodePlan::Hss(plan) => Box::new(hss::Blueprint::draw(plan, &trusts)?),
        };
        Ok(Self { role, trusts: trusts.finish() })
    }

    /// Whom it trusts, for whoever keeps that current while the node runs.
    pub fn trusts(&self) -> Trusts {
        self.trusts.clone()
    }

    /// The sockets it needs, in the order in which [`Self::build`] is told where they are.
    pub fn sockets(&self) -> Vec<Wanted> {
        self.role.sockets()
    }

    /// Who is expected to call it; none: anybody.
    pub fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        self.role.expected()
    }

    /// What secures its streams; none: nothing does.
    pub fn secure(&self, seed: &Seed) -> Option<Arc<dyn Secure>> {
        self.role.tls().map(|settings| settings.with_seed(seed))
    }

    /// The host, with its sockets at these addresses.
    ///
    /// # Panics
    /// If there are not as many as were wanted.
    pub fn build(self, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        assert_eq!(locals.len(), self.sockets().len(), "every socket that was wanted is bound");
        self.role.build(locals, seed)
    }
}
