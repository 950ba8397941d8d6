//! Everything a scenario can name, each list in one place and each entry with its source.

mod methods;
mod topologies;

pub use methods::Method;
pub use topologies::Topology;

/// A line of `keytoll list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name scenarios use.
    pub name: String,
    /// What it is, in a few words.
    pub summary: String,
    /// Where it is specified, or its numbers come from.
    pub source: String,
    /// `weak`, `broken`, `hypothetical`, …; empty if there is nothing to warn of.
    pub standing: &'static str,
}
