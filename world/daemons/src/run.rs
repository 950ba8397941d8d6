//! Runs other programs: one function that waits for the end, one that waits for a condition.

use std::io;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Why a foreign program could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It cannot be started.
    #[error("start `{command}`: {source}")]
    Start {
        /// The command.
        command: String,
        /// Why not.
        source: io::Error,
    },
    /// It ended with an error.
    #[error("run `{command}`: {output}")]
    Failed {
        /// The command.
        command: String,
        /// Its output.
        output: String,
    },
    /// It ended unexpectedly.
    #[error("{name} ended at once: {output}")]
    Ended {
        /// Which program.
        name: &'static str,
        /// The end of its output.
        output: String,
    },
    /// It is not installed.
    #[error("{path} is missing: {remedy}")]
    NotInstalled {
        /// The expected path.
        path: String,
        /// How to install it.
        remedy: String,
    },
    /// We lack the privileges.
    #[error("{0}")]
    NotAllowed(&'static str),
    /// Something did not happen in time.
    #[error("{what} not within {limit:?}: {detail}")]
    Late {
        /// The awaited condition.
        what: String,
        /// How long.
        limit: Duration,
        /// What is known about the reason.
        detail: String,
    },
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    File {
        /// The file, and the attempted operation.
        what: String,
        /// Why not.
        source: io::Error,
    },
}

/// The command as one line, for messages.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end; returns its stdout.
///
/// # Errors
/// When it cannot be started, or fails; with both outputs.
pub fn finish(command: &mut Command) -> Result<String, Trouble> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Trouble::Start { command: line(command), source })?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::Failed {
        command: line(command),
        output: format!("{}{}", stdout.trim_end(), stderr.trim_end()),
    })
}

/// A program with its arguments in one line, split at blanks.
pub fn words(text: &str) -> Command {
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Calls `ready` every 20 ms until it returns a value.
///
/// # Errors
/// After `limit`, with the text of `detail`.
pub fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut ready: impl FnMut() -> Option<T>,
    detail: impl FnOnce() -> String,
) -> Result<T, Trouble> {
    let begin = Instant::now();
    loop {
        if let Some(found) = ready() {
            return Ok(found);
        }
        if begin.elapsed() > limit {
            return Err(Trouble::Late { what: what.into(), limit, detail: detail() });
        }
        pause();
    }
}

/// A moment between two looks.
pub(crate) fn pause() {
    sleep(Duration::from_millis(20));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_comes_back_and_failure_carries_both_streams() {
        assert_eq!(finish(&mut words("echo a b")).unwrap(), "a b\n");
        let mut shell = Command::new("sh");
        let failed = finish(shell.args(["-c", "echo out; echo err >&2; exit 3"])).unwrap_err().to_string();
        assert!(failed.contains("out") && failed.contains("err"), "{failed}");
        assert!(matches!(finish(&mut words("/no/such/program")), Err(Trouble::Start { .. })));
    }

    #[test]
    fn waiting_ends_with_what_was_found_or_with_the_reason() {
        let mut left = 3;
        let counted = wait_for(
            "zero",
            Duration::from_secs(5),
            || {
                left -= 1;
                (left == 0).then_some("now")
            },
            String::new,
        );
        assert_eq!(counted.unwrap(), "now");
        let late =
            wait_for("never", Duration::ZERO, || None::<()>, || "no log".into()).unwrap_err().to_string();
        assert!(late.starts_with("never not within") && late.ends_with("no log"), "{late}");
    }
}
