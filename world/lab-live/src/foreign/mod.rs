//! Foreign daemons that stand in for nodes of a row: one file an access technology, and one line in [`ALL`].

mod ike;

use std::path::Path;

use keytoll_crypto_api::Seed;
use keytoll_daemons::{Place, Trouble, Usage};
use keytoll_rig::{Goal, Placement};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Maker, Plan, RowPlan};
use keytoll_trace::{Name, Node};

use super::testbed::LiveError;

/// The foreign daemons that can stand in for nodes of one access technology.
pub(super) trait StandIns {
    /// Whether it is the technology of a method.
    fn run(&self, method: &Method) -> bool;

    /// That everything a row needs is installed.
    fn check(&self, row: &RowPlan) -> Result<(), Trouble>;

    /// What a reader of the row's figures must know of them.
    fn notes(&self, row: &RowPlan) -> Vec<&'static str>;

    /// Makes the keys and certificates of all rows, the same that our own nodes have.
    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared>;
}

/// Stand-ins with the keys and certificates of a plan.
pub(super) trait Prepared {
    /// Starts the daemon that stands in for a node.
    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Daemon>, LiveError>;

    /// The beginning of a load file for the devices of a row: target and credentials. Certificates are written into the directory of the
    /// order.
    fn load(&self, order: &Order<'_>) -> Result<String, LiveError>;
}

/// Which node of which row is to be started, and where.
pub(super) struct Order<'a> {
    pub(super) row: &'a RowPlan,
    /// The row's root of randomness.
    pub(super) seed: &'a Seed,
    pub(super) placement: &'a Placement,
    pub(super) node: Node,
    pub(super) place: &'a Place,
    /// A private directory.
    pub(super) dir: &'a Path,
    /// Whether it serves many devices at the same time, all of one name and address.
    pub(super) has_many_devices: bool,
}

/// A foreign daemon that runs.
pub(super) trait Daemon {
    /// What it has used so far; none: it has ended.
    fn usage(&self) -> Option<Usage>;

    /// How it is told to begin, where it stands in for the node that does.
    fn initiator(&self) -> Result<Box<dyn Initiator>, Trouble>;
}

/// A foreign daemon that begins authentications.
pub(super) trait Initiator {
    /// Waits until it has an SA, or says why it has none.
    fn initiate(&mut self, goal: Goal) -> Result<(), String>;

    /// Ends its SA and whatever it has begun.
    fn terminate(&mut self);

    /// The kind of the message that it may not have sent yet when it tells of its SA, which is usable after it.
    fn last_message(&self) -> Name;
}

/// The stand-ins of every access technology that has some.
const ALL: [&dyn StandIns; 1] = [&ike::IkeDaemons];

/// Those for a row.
fn of(row: &RowPlan) -> Option<&'static dyn StandIns> {
    ALL.into_iter().find(|daemons| daemons.run(row.method))
}

/// That everything a row needs is installed.
pub(super) fn check(row: &RowPlan) -> Result<(), Trouble> {
    of(row).map_or(Ok(()), |daemons| daemons.check(row))
}

/// What a reader of a row's figures must know of the daemons in it.
pub(super) fn notes(row: &RowPlan) -> Vec<&'static str> {
    of(row).map_or_else(Vec::new, |daemons| daemons.notes(row))
}

/// Whether a program needs a network of its own: charon sets routes, and hostapd answers from whichever address the
/// system chooses, on the loopback another than the one asked.
pub(super) const fn wants_namespace(maker: Maker) -> bool {
    matches!(maker, Maker::StrongSwan | Maker::Hostapd)
}

/// The stand-ins that a plan needs, with its keys and certificates.
pub(super) struct Foreign(Vec<(&'static dyn StandIns, Box<dyn Prepared>)>);

impl Foreign {
    /// Makes the keys and certificates of a plan for whichever technology has foreign daemons in it.
    pub(super) fn prepare(plan: &Plan) -> Self {
        let is_wanted = |daemons: &&dyn StandIns| {
            let mut rows = plan.rows.iter();
            rows.any(|row| row.options.makers.foreign().is_some() && daemons.run(row.method))
        };
        Self(ALL.into_iter().filter(is_wanted).map(|daemons| (daemons, daemons.prepare(plan))).collect())
    }

    /// Starts the daemon that stands in for a node.
    pub(super) fn start(&self, order: &Order<'_>) -> Result<Box<dyn Daemon>, LiveError> {
        self.prepared(order)?.start(order)
    }

    /// The beginning of a load file for the devices of a row.
    pub(super) fn load(&self, order: &Order<'_>) -> Result<String, LiveError> {
        self.prepared(order)?.load(order)
    }

    fn prepared(&self, order: &Order<'_>) -> Result<&dyn Prepared, LiveError> {
        let (row, node) = (order.row, order.node);
        let prepared = self.0.iter().find(|(daemons, _)| daemons.run(row.method));
        let nobody = || LiveError::Node {
            node: node.name(),
            why: format!("no foreign daemon can stand in for it in {}", row.method.name()),
        };
        Ok(&*prepared.ok_or_else(nobody)?.1)
    }
}
