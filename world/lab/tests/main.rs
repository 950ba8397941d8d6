//! Every integration test of this crate as one program, so that it is linked once.

mod faults;
mod gateways;
mod golden;
mod idle;
mod populations;
mod profiles;
mod rows;
mod sweep;
mod table;
mod traffic;
mod tshark;
mod wlan;

/// The books of the product: without them no SA costs anything.
#[global_allocator]
static HEAP: keytoll_native::heap::TaggedHeap = keytoll_native::heap::TaggedHeap;
