//! 802.11 frames on the air, 802.11-2020 §9.

pub mod element;
pub mod hidden;
pub mod rsn;

pub use element::{Element, ElementId};
pub use hidden::Hidden;
