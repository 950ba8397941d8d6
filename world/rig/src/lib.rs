//! The contract between the laboratory and the access technologies that it measures.
//!
//! ```text
//!   row of the plan --Rig::layout--> nodes, links, sockets, goal     read by the simulator and by the live world alike
//!   plan -----------Rig::prepare---> keys and certificates, once --Prepared::set_up--> Setup --host--> Host of each node
//! ```
//!
//! Whoever drives a rig knows neither its nodes nor its protocols: it builds the nodes that the [`Layout`] names, joins
//! them as it says, has the initiator begin and waits for the [`Goal`]. Where the nodes are is the driver's to say
//! ([`Placement`]); which addresses they have there is the rig's.

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

/// As long as links carry something of users within this time, their traffic is not over.
pub const QUIET: Duration = Duration::from_secs(1);

/// One access technology.
pub trait Rig: Sync {
    /// Whether it runs a method.
    fn runs(&self, method: &Method) -> bool;

    /// The ports that standards give its protocols. Each is another where [`Placement::port`] says so.
    fn standard_ports(&self) -> &'static [u16];

    /// The nodes of a row and what joins them.
    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout;

    /// What nodes of a row share that a reader of a capture needs; `seed` is the row's.
    fn shared_secrets(&self, row: &RowPlan, seed: &Seed) -> Vec<SharedSecret>;

    /// Everything secret in a row with its name, for whoever proves that nothing tells it; `seed` is the row's.
    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)>;

    /// Makes the keys and certificates of all rows that it runs.
    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared>;
}

/// A secret between the two ends of a link.
#[derive(Debug)]
pub struct SharedSecret {
    /// Whose it is.
    pub link: Link,
    /// The secret.
    pub secret: Secret,
}

/// A rig with the keys and certificates of a plan.
pub trait Prepared: Send + Sync {
    /// Sets up a row; `seed` is the row's root of randomness, on which everything in it depends.
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup>;
}

/// A row that is set up. Setups of the same row are the same, wherever each of its hosts runs.
pub trait Setup {
    /// The host at a node, at most once each.
    ///
    /// # Panics
    /// If the layout of the row has no such node.
    fn host(&mut self, node: Node) -> Box<dyn Host>;

    /// What happens elsewhere before the initiator begins an authentication.
    fn before_authentication(&self);

    /// Forgets what one authentication leaves to the next, outside the hosts.
    fn forget(&self);
}
