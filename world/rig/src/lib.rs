//! The contract between the laboratory and the access technologies that it measures.
//!
//! ```text
//!   row of the plan --Rig::layout--> nodes, links, sockets, goal     read by the simulator and by the live world alike
//!   plan -----------Rig::prepare---> keys and certificates, once --Prepared::set_up--> Setup --host--> Host of each node
//! ```
//!
//! The driver of a rig knows neither its nodes nor its protocols: it builds the nodes of the [`Layout`], connects them
//! accordingly, makes the initiator start and waits for the [`Goal`]. The driver decides where the nodes run ([`Placement`]), the
//! rig which addresses they have there.

mod layout;
mod link;
mod placement;

use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::{Link, Node};
use keytoll_hosts::Host;
use keytoll_net::Host as Address;
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::population::{Member, Population};

pub use layout::{End, Goal, Layout, LinkSpec, NodeSpec, Streams, Users};
pub use link::{link, wire};
pub use placement::Placement;

/// User traffic is over when no link has carried any for this time.
pub const QUIET: Duration = Duration::from_secs(1);

/// One access technology.
pub trait Rig: Sync {
    /// Whether it supports a method.
    fn runs(&self, method: &Method) -> bool;

    /// The standard ports of its protocols, which [`Placement::port`] may replace.
    fn standard_ports(&self) -> &'static [u16];

    /// The nodes and links of a row.
    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout;

    /// Secrets that nodes of a row share and that decrypt its capture; `seed` is the row's.
    fn shared_secrets(&self, row: &RowPlan, seed: &Seed) -> Vec<SharedSecret>;

    /// All secrets of a row with their names, for tests that none is revealed; `seed` is the row's.
    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)>;

    /// Whether its devices ask whether their gateway is still there, and begin anew when it is not.
    fn asks_for_liveness(&self) -> bool {
        false
    }

    /// Generates the keys and certificates of all rows that it supports.
    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared>;
}

/// A secret shared by the two ends of a link.
#[derive(Debug)]
pub struct SharedSecret {
    /// The link.
    pub link: Link,
    /// The secret.
    pub secret: Secret,
}

/// A rig with the keys and certificates of a plan.
pub trait Prepared: Send + Sync {
    /// Sets up a row; everything random in it depends on `seed`, the row's root seed.
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup>;

    /// Sets up a population in the simulator, whose devices are of these rows, all of which their family populates: one row, or one for
    /// each share of the population's mix in its order. Everything random in it depends on `seed`.
    ///
    /// # Panics
    /// If the rig populates none of them.
    fn populate(&self, _rows: &[&RowPlan], _population: &Population, _seed: &Seed) -> Box<dyn Crowd> {
        panic!("only rigs that populate rows are asked for populations")
    }
}

/// The nodes of a population: those that serve it, which are there from the beginning, and its devices one by one.
pub trait Crowd {
    /// The nodes and links with this one of the gateways, counted from 0: those of a single device, which stand for those of every device
    /// of a share. All gateways have one address on the devices' side, and what is behind them is the same.
    fn layout(&self, share: usize, gateway: u32) -> Layout;

    /// The host at a serving node, at most once each; of gateways one for each number.
    ///
    /// # Panics
    /// If the layout has no such node, or it is the device.
    fn serving(&mut self, node: Node, gateway: u32) -> Box<dyn Host>;

    /// A device, built anew for each of its visits, which are counted from 0: it has another address each time, and the same
    /// credentials.
    fn seat(&mut self, member: Member, visit: u32) -> Seat;
}

/// A device of a population.
pub struct Seat {
    /// Its host.
    pub host: Box<dyn Host>,
    /// Its address on its access link.
    pub address: Address,
}

/// A prepared row. Setups of the same row are equal, wherever each of its hosts runs.
pub trait Setup {
    /// The host at a node, at most once each.
    ///
    /// # Panics
    /// If the layout of the row has no such node.
    fn host(&mut self, node: Node) -> Box<dyn Host>;

    /// Called before each authentication, for events outside the nodes.
    fn before_authentication(&self);

    /// Resets the state that one authentication leaves to the next, outside the hosts.
    fn forget(&self);
}
