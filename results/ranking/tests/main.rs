//! Tests of the crate from outside, as one program.

mod invariances;
mod others;
