//! How much a laboratory a core carries: `cargo bench -p keytoll-lab --bench simulator`.
//!
//! Authentications per second of CPU time through [`Row`], everything included that `keytoll run` does for one: hosts,
//! links, ESP and the echo, meters and, in one of the two lines, the trace files. Then the memory: of a long run, and of
//! an SA that is idle.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/figures.rs"]
mod figures;
#[path = "../common/idle.rs"]
mod idle;
mod memory;
#[path = "../common/pair.rs"]
mod pair;
mod throughput;

use keytoll_native::{heap, machine};

#[global_allocator]
static HEAP: heap::TaggedHeap = heap::TaggedHeap;

fn main() {
    heap::install_crypto_heap().expect("main has called nothing yet");
    println!("{}; one thread, counting allocator as in the product\n", machine::cpu_model());
    throughput::table();
    memory::of_a_long_run();
    memory::of_idle_sas();
}
