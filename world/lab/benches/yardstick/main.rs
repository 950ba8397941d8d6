//! The yardstick of a change: `cargo bench -p keytoll-lab --bench yardstick`.
//!
//! Instructions under callgrind, blocks allocated and bytes kept, none of which depends on how busy the machine is, beside those
//! of the commit that last wrote `expected.json`. What differs by more than three percent, in either direction, is an error:
//! `-- --write` puts the new figures there, and the commit says why.
//!
//! Most pieces of work are without cryptography, because its instructions belong to the crypto library. Those called `real` are for the
//! second command, `cargo bench --profile release -p keytoll-lab --bench yardstick -- --faster-build`: it compares the profile `release`,
//! which builds faster, with the committed figures of `dist`, and fails where `release` needs too many instructions more. Each piece
//! of work is a process of its own under valgrind, which counts from where [`counted`] begins until it ends.

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

use expected::{Figures, Limits};
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
        None if has("--bench") => return compared(&has),
        None => work::ALL.iter().for_each(|(_, work)| work(&mut |run| run())),
    }
    ExitCode::SUCCESS
}

/// The figures next to the committed ones, or written in their place with `--write`.
fn compared(has: &dyn Fn(&str) -> bool) -> ExitCode {
    match has("--write") {
        true => expected::write(figures()),
        false if has("--faster-build") => expected::judge(&figures(), &Limits::FASTER_BUILD),
        false => expected::judge(&figures(), &Limits::SAME_BUILD),
    }
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
