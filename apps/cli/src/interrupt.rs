//! Ctrl-C and SIGTERM: the first signal requests an end, the second one ends the program. The exit code is the one that a
//! shell uses for a program killed by the signal: 130 after Ctrl-C, 143 after SIGTERM. SIGHUP does the same, unless it was
//! ignored at the start, as with `nohup`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::{fs, process, thread};

use miette::{Report, miette};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The first signal; 0 as long as there was none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// A shell adds this to the number of the signal.
const ENDED_BY_SIGNAL: i32 = 128;

/// Returns a flag that the first signal sets before it calls `then`; a second signal ends the program at once.
pub(crate) fn watch(then: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
    let signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup));
    let mut signals = signals.map_err(|error| miette!("cannot watch for Ctrl-C: {error}"))?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                process::exit(ENDED_BY_SIGNAL + signal);
            }
            flag.store(true, Ordering::SeqCst);
            then();
        }
    });
    Ok(stop)
}

/// Whether a signal was ignored when the program started: Linux has a bit for each in `/proc/self/status`.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// The exit code of a verb that a signal ended; `None` without a signal.
pub(crate) fn exit_code() -> Option<ExitCode> {
    let signal = SIGNAL.load(Ordering::SeqCst);
    let code = u8::try_from(ENDED_BY_SIGNAL + signal).ok();
    code.filter(|_| signal != 0).map(ExitCode::from)
}
