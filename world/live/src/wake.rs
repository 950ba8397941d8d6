//! Waking a driver that waits: one thread rings, the driver's looks.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes [`crate::Driver::next_event`] return at once, from any thread or a signal handler. A call that comes while
/// nobody waits is kept for the next wait.
#[derive(Debug, Clone)]
pub struct Waker {
    rung: Arc<AtomicBool>,
    line: Arc<UnixStream>,
}

impl Waker {
    /// Wakes the driver.
    pub fn wake(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // At most one byte is on the line, so it cannot be full; without a driver nobody need be woken.
            let _ = (&*self.line).write(&[0]);
        }
    }
}

/// The driver's end.
#[derive(Debug)]
pub(crate) struct Bell {
    waker: Waker,
    line: UnixStream,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        Ok(Self { waker: Waker { rung: Arc::default(), line: Arc::new(theirs) }, line: ours })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Whether it rang since it was last asked.
    pub(crate) fn take(&self) -> bool {
        self.waker.rung.load(Ordering::Acquire) && self.waker.rung.swap(false, Ordering::AcqRel)
    }

    /// Empties the line; a byte that is still on its way only ends one wait early.
    pub(crate) fn silence(&self) {
        let _ = (&self.line).read(&mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
