//! Scenario files: what to run, over which networks, how often. TOML in, a resolved [`Plan`] out.

pub mod catalogue;
pub mod plan;
pub mod quantity;

pub use plan::Plan;
