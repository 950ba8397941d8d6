//! From a node file to a host: files are opened, identities parsed, methods built; then, when its sockets are bound and
//! their ports known, the host itself.
//!
//! ```text
//!   NodePlan --draw--> Blueprint --sockets()--> bound by its driver --build(locals)--> Host
//! ```

mod aaa;
mod card_state;
mod device;
mod eap;
mod files;
mod gateway;
mod hip;
mod hss;
mod ike;
mod load;
mod secure;
mod subscribers;
mod trusts;

pub(crate) use ike::{exchange, half_open};

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keytoll_crypto_api::Seed;
/// The length of a Diameter message in a stream.
pub use keytoll_diameter::wire::message::length as diameter_length;
use keytoll_engine::channel::Secure;
use keytoll_engine::trace::Protocol;
use keytoll_hosts::Host;
use keytoll_net::Socket;
/// The length of a RADIUS packet in a stream.
pub use keytoll_radius::wire::packet::length as radius_length;
use keytoll_scenario::node::Line;
use keytoll_scenario::{NodePlan, ScenarioError};
use secure::Settings;
use trusts::Drawn;

pub use load::LoadBlueprint;
pub use trusts::Trusts;

/// A node whose sockets are not bound yet.
#[derive(Debug)]
pub struct Blueprint {
    role: Box<dyn Role>,
    trusts: Trusts,
}

/// A role of some family.
trait Role: fmt::Debug {
    /// The sockets that it needs.
    fn sockets(&self) -> Vec<Wanted>;

    /// The peers that may connect to it; `None`: any.
    fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        None
    }

    /// TLS of its streams; `None`: no protection.
    fn tls(&self) -> Option<&Settings> {
        None
    }

    /// What it is called, if its peers know it by a name that its key makes.
    fn identity(&self) -> Option<Line> {
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
    /// For packets of this number and name directly on IP, without a port.
    Raw(Place, (u8, Protocol)),
    /// A listening socket for Diameter.
    Listen(SocketAddr),
    /// A socket that connects on demand, for Diameter. Its port only identifies it.
    Call(Place),
}

/// The address of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Here.
    At(SocketAddr),
    /// Our address on the route to the first one, with this port.
    Towards(SocketAddr, u16),
}

impl Blueprint {
    /// Opens everything that a plan names.
    ///
    /// # Errors
    /// When a file or value cannot be used, with its place in the node file.
    pub fn draw(plan: &NodePlan) -> Result<Self, ScenarioError> {
        let trusts = Drawn::default();
        let role: Box<dyn Role> = match plan {
            NodePlan::Gateway(plan) => Box::new(gateway::Blueprint::draw(plan, &trusts)?),
            NodePlan::Device(plan) => Box::new(device::Blueprint::draw(plan, &trusts)?),
            NodePlan::Aaa(plan) => Box::new(aaa::Blueprint::draw(plan, &trusts)?),
            NodePlan::Hss(plan) => Box::new(hss::Blueprint::draw(plan, &trusts)?),
            NodePlan::Hip(plan) => Box::new(hip::Blueprint::draw(plan, &trusts)?),
        };
        Ok(Self { role, trusts: trusts.finish() })
    }

    /// Its trust anchors, which the driver keeps up to date while the node runs.
    pub fn trusts(&self) -> Trusts {
        self.trusts.clone()
    }

    /// The sockets it needs, in the order of the addresses for [`Self::build`].
    pub fn sockets(&self) -> Vec<Wanted> {
        self.role.sockets()
    }

    /// The peers that may connect to it; `None`: any.
    pub fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        self.role.expected()
    }

    /// What it is called, if its peers know it by a name that its key makes: what kind of name, and the name.
    pub fn identity(&self) -> Option<Line> {
        self.role.identity()
    }

    /// TLS of its streams; `None`: no protection.
    pub fn secure(&self, seed: &Seed) -> Option<Arc<dyn Secure>> {
        self.role.tls().map(|settings| settings.with_seed(seed, "diameter/tls"))
    }

    /// The host, with its sockets at these addresses.
    ///
    /// # Panics
    /// If there are not as many as sockets.
    pub fn build(self, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        assert_eq!(locals.len(), self.sockets().len(), "every socket that was wanted is bound");
        self.role.build(locals, seed)
    }
}
