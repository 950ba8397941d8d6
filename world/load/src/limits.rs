//! Whether this machine lets the generator have what it needs, said before anything begins.

use nix::sys::resource::{Resource, getrlimit};

/// A limit that is too low, and what raises it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{needed} sockets and files are needed, and this process may have {allowed}")]
pub struct LimitError {
    /// What is needed.
    pub needed: u64,
    /// What is allowed.
    pub allowed: u64,
    /// What an unprivileged process may raise it to.
    pub raisable_to: u64,
}

impl LimitError {
    /// The command that raises it.
    pub fn command(&self) -> String {
        let needed = self.needed;
        if needed <= self.raisable_to {
            format!("`ulimit -n {needed}` in this shell raises the limit")
        } else {
            format!("as root: `ulimit -Hn {needed}; ulimit -n {needed}`; or fewer `ports`, or fewer workers")
        }
    }
}

/// Files that are open besides sockets: standard ones, results, epochs of threads.
const OTHERS: u64 = 64;

/// Checks that so many sockets may be open.
///
/// # Errors
/// When they are more than this process may have.
pub fn check(sockets: usize) -> Result<(), LimitError> {
    // A machine that does not say has no limit.
    let (allowed, raisable_to) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    verdict(sockets as u64 + OTHERS, allowed, raisable_to)
}

const fn verdict(needed: u64, allowed: u64, raisable_to: u64) -> Result<(), LimitError> {
    if needed <= allowed { Ok(()) } else { Err(LimitError { needed, allowed, raisable_to }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_the_command_that_raises_it() {
        assert_eq!(verdict(100, 1024, 4096), Ok(()));
        let low = verdict(2000, 1024, 4096).unwrap_err();
        assert_eq!(low.to_string(), "2000 sockets and files are needed, and this process may have 1024");
        assert_eq!(low.command(), "`ulimit -n 2000` in this shell raises the limit");
        assert!(verdict(5000, 1024, 4096).unwrap_err().command().starts_with("as root"));
    }
}
