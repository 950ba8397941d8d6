//! Every integration test of this crate as one program, so that it is linked once. `allocations` counts the whole process and stays alone.

mod beet;
mod corpus;
mod hostile;
mod ipsec;
mod published;
mod scapy;
mod support;
