//! (to be written)

pub mod clock;
