//! The foreign daemons of a row, standing by themselves: devices of a load call them.

use std::path::PathBuf;
use std::process::Command;

use keytoll_crypto_api::Seed;
use keytoll_daemons::{Usage, program};
use keytoll_rigs as rigs;
use keytoll_scenario::Plan;
use keytoll_scenario::plan::{Maker, RowPlan};
use keytoll_trace::Node;

use crate::foreign::{self, Daemon, Foreign, Order};
use crate::testbed::{LiveError, Testbed};

/// Daemons that serve many devices.
pub struct Standing {
    foreign: Foreign,
    testbed: Testbed,
    row: RowPlan,
    seed: Seed,
    daemons: Vec<(Node, Box<dyn Daemon>)>,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standing").field("method", &self.row.method.name()).finish_non_exhaustive()
    }
}

impl Standing {
    /// Starts the foreign daemons of the first row of a plan, each in a network namespace.
    ///
    /// # Errors
    /// When the plan has no row, a program is not installed, or does not start.
    pub fn start(plan: &Plan) -> Result<Self, LiveError> {
        let row = plan.rows.first().cloned().ok_or_else(|| LiveError::Notes("a plan without rows".into()))?;
        foreign::check(&row)?;
        let (testbed, foreign, seed) = (Testbed::build(plan)?, Foreign::prepare(plan), plan.seed_of(&row));
        let mut standing = Self { foreign, testbed, row, seed, daemons: Vec::new() };
        let layout = rigs::layout(&standing.row, &standing.testbed.placement);
        for spec in layout.nodes.iter().rev().filter(|spec| spec.maker.is_foreign()) {
            let dir = standing.testbed.folder(spec.node)?;
            let daemon = standing.foreign.start(&standing.order(spec.node, &dir))?;
            standing.daemons.push((spec.node, daemon));
        }
        Ok(standing)
    }

    fn order<'a>(&'a self, node: Node, dir: &'a std::path::Path) -> Order<'a> {
        Order {
            row: &self.row,
            seed: &self.seed,
            placement: &self.testbed.placement,
            node,
            place: self.testbed.place(node),
            dir,
            has_many_devices: true,
        }
    }

    /// The usage of a node's daemon until now; `None` if it has ended, or the node has no daemon.
    pub fn usage(&self, node: Node) -> Option<Usage> {
        self.daemons.iter().find(|(of, _)| *of == node).and_then(|(_, daemon)| daemon.usage())
    }

    /// A program in the place of a node.
    pub fn command(&self, node: Node, program: &str) -> Command {
        self.testbed.place(node).command(program)
    }

    /// A private directory of a node.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn folder(&self, node: Node) -> Result<PathBuf, LiveError> {
        self.testbed.folder(node)
    }

    /// The beginning of a load file of the row for the place of a node: of devices in that of the device, else of access servers. Its
    /// population is missing.
    ///
    /// # Errors
    /// When there is no load of this method, or a file cannot be written.
    pub fn load_file(&self, node: Node) -> Result<String, LiveError> {
        let dir = self.folder(node)?;
        self.foreign.load(&self.order(node, &dir))
    }
}

/// The version of the Debian package of a daemon; `None` if no package has it, or for our own nodes.
pub fn version_of(maker: Maker) -> Option<String> {
    match maker {
        Maker::StrongSwan => program::CHARON.version(),
        Maker::FreeRadius => program::FREERADIUS.version(),
        Maker::Hostapd => program::HOSTAPD.version(),
        Maker::Keytoll => None,
    }
}
