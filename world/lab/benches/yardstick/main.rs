//! The yardstick of a change: `cargo bench -p keytoll-lab --bench yardstick`.
//!
//! Instructions under callgrind, blocks allocated and bytes kept, none of which depends on how busy the machine is, beside those
//! of the commit that last wrote `expected.json`. What differs by more than three percent, in either direction, is an error:
//! `-- --write` puts the new figures there, and the commit says why.
//!
//! Everything is without cryptography: what it takes belongs to the crypto library. Each piece of work is a process of its own
//! under valgrind, which counts from where [`counted`] begins until it ends.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

mod callgrind;
#[path = "../../../sim/benches/echo/mod.rs"]
mod echo;
#[path = "../../../../protocols/esp/benches/ends/mod.rs"]
mod ends;
mod expected;
#[path = "../common/idle.rs"]
mod idle;
#[path = "../../../sim/tests/no_crypto/mod.rs"]
mod no_crypto;
#[path = "../../../../protocols/esp/tests/support/mod.rs"]
mod support;
mod work;

use std::process::ExitCode;

use expected::Figures;
use keytoll_native::heap;

#[global_allocator]
static HEAP: heap::TaggedHeap = heap::TaggedHeap;

/// With `--work NAME` it is the process under valgrind; without `--bench`, as under `cargo test --all-targets`, it does
/// each piece of work once.
fn main() -> ExitCode {
    heap::install_crypto_heap().expect("main has called nothing yet");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    match arguments.iter().position(|argument| argument == "--work") {
        Some(at) => work::named(&arguments[at + 1])(&mut counted),
        None if has("--bench") => return expected::judge(&figures(), has("--write")),
        None => work::ALL.iter().for_each(|(_, work)| work(&mut |run| run())),
    }
    ExitCode::SUCCESS
}

/// What valgrind counts; the name is looked for in the program's symbols.
#[inline(never)]
fn counted(run: &mut dyn FnMut()) {
    run();
    std::hint::black_box(());
}

fn figures() -> Figures {
    let instructions =
        work::ALL.iter().map(|(name, _)| (format!("{name}, instructions"), callgrind::count(name)));
    instructions.chain(work::memory()).collect()
}
