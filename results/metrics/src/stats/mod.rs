//! The statistics behind every number: stable sums, quantiles, intervals.

mod blocks;
mod distribution;
mod interval;
mod line;
mod quantile;
mod stretch;
mod student;
mod welford;

pub use blocks::{Blocks, blocks_interval95};
pub use distribution::Distribution;
pub use interval::{Interval, interval95};
pub use line::{Line, correlation};
pub use quantile::median_rank95;
pub use quantile::{Quantiles, median95, ranks95};
pub use stretch::{greatest, stretches};
pub use student::{two_sided_probability, two_sided_quantile};
pub use welford::Welford;
