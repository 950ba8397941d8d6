//! Which nodes there are and how they are joined.

use keytoll_engine::trace::Node;

use super::Entry;

/// An arrangement of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topology {
    /// Device and gateway, joined by the scenario's network.
    Raw,
}

impl Topology {
    /// Every topology, in the order of the catalogue.
    pub const ALL: [Self; 1] = [Self::Raw];

    /// The name used in scenarios, files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topology| topology.name() == name)
    }

    /// The nodes in it.
    pub const fn nodes(self) -> &'static [Node] {
        match self {
            Self::Raw => &[Node::Ue, Node::Gw],
        }
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: "UE--GW, joined by the scenario's network".to_owned(),
            source: "paper 000, testbed without the AAA server".to_owned(),
            standing: "",
        }
    }
}
