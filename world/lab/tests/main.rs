//! Every integration test of this crate as one program, so that it is linked once.

mod faults;
mod profiles;
mod rows;
mod sweep;
mod table;
mod traffic;
mod tshark;
