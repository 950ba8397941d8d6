//! Ranking of methods by several criteria: experts' weights, grades of measurements, scores, and how little must change until another
//! one is the best.
//!
//! ```text
//!   criteria file --> experts, criteria, grades --.
//!                                                  >--> weights, steps --> Method --> scores, sensitivity, acceptability
//!   summary.json  --> measured values ------------|
//!   samples.csv   --> their resamples ------------'
//! ```

pub mod acceptability;
pub mod case;
pub mod experts;
pub mod file;
pub mod graded;
pub mod grading;
pub mod hierarchy;
pub mod measured;
pub mod methods;
pub mod outcome;
pub mod random;
pub mod ranked;
pub mod resampling;
pub mod sensitivity;
pub mod tornado;
pub mod weighed;

pub use case::Case;
pub use file::Criteria;
pub use outcome::Ranking;
pub use ranked::{Options, rank};
pub use resampling::Authentications;
