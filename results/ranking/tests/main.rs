//! Tests of the crate from outside, as one program.

mod criteria;
mod invariances;
mod others;
