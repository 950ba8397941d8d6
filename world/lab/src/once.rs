//! Memory that the first user allocates for a whole process or thread.
//!
//! Allocated by a node, it would be heap of that node, and the heap of a row would depend on the rows and threads before it. So it is
//! allocated here, under no role, before any node is built.

use keytoll_engine::map;
use keytoll_esp::sad;
use keytoll_native::awslc;

/// Allocates what all threads share.
pub(crate) fn of_process() {
    map::allocate_seeds();
    sad::allocate_shared();
    keytoll_crypto::allocate_shared();
}

/// Allocates what the crypto library keeps for the calling thread. HIP makes real keys with any cryptography of a plan.
pub(crate) fn of_thread() {
    awslc::prepare_thread();
}
