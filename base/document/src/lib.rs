//! TOML documents that people write: every key and value has its place, and every mistake is one sentence, a line and a hint.
//!
//! ```text
//!   Text::{new, file, stdin} --> tree::document --> Table of Items, whose readers fail with a DocumentError that shows the line
//! ```
//!
//! Scenarios, node files and criteria are read with it; what their keys mean is theirs.

pub mod condition;
pub mod diagnostic;
pub mod quantity;
mod text;
pub mod tree;

pub use diagnostic::{DocumentError, Spot, choice, nearest};
pub use text::Text;
