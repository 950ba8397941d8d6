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
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Plan, RowPlan};

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
