//! Ctrl-C and SIGTERM: the first asks, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use miette::{Report, miette};

/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A flag that the first signal sets, after which it calls `then`; a second one ends the program at once.
pub(crate) fn watch(then: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, Report> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        then();
    })
    .map_err(|error| miette!("cannot watch for Ctrl-C: {error}"))?;
    Ok(stop)
}
