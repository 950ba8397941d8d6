//! Quick mode.
