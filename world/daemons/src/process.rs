//! One running program: its output goes to a file, its readiness is awaited, its CPU time and memory are read from /proc, and it is
//! killed on drop. Read proc(5) on `/proc/PID/task/TID/schedstat`, `/proc/PID/stat` and `/proc/PID/status`.

use std::fs;
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::files;
use crate::run::{Trouble, line, pause};

/// How many lines of a program's output are shown in errors.
const LAST_WORDS_LINES: usize = 60;

/// A program that runs.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    output: PathBuf,
}

/// The resource usage of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time of all its running threads, as counted by the scheduler, in nanoseconds.
    pub cpu_ns: u64,
    /// Its current resident memory.
    pub resident_bytes: u64,
    /// Its greatest resident memory.
    pub resident_max_bytes: u64,
    /// The part of its CPU time in the kernel, as far as that is sampled: in ticks of a hundredth of a second.
    pub kernel_ticks: u64,
    /// The rest, in the same ticks.
    pub user_ticks: u64,
}

impl Add for Usage {
    type Output = Self;

    /// The sum of two programs.
    fn add(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            resident_bytes: self.resident_bytes + other.resident_bytes,
            resident_max_bytes: self.resident_max_bytes + other.resident_max_bytes,
            kernel_ticks: self.kernel_ticks + other.kernel_ticks,
            user_ticks: self.user_ticks + other.user_ticks,
        }
    }
}

impl Process {
    /// Starts it; both its outputs go to a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &'static str, mut command: Command, output: PathBuf) -> Result<Self, Trouble> {
        let file = files::create(&output)?;
        let second = file
            .try_clone()
            .map_err(|source| Trouble::File { what: format!("write {}", output.display()), source })?;
        command.stdin(Stdio::null()).stdout(file).stderr(second);
        let child = command.spawn().map_err(|source| Trouble::Start { command: line(&command), source })?;
        Ok(Self { name, child, output })
    }

    /// Waits until `ready` returns a value.
    ///
    /// # Errors
    /// When the program ends before, or after a timeout.
    pub fn await_ready<T>(
        &mut self,
        limit: Duration,
        mut ready: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T, Trouble> {
        let begin = Instant::now();
        loop {
            if let Some(found) = ready(self) {
                return Ok(found);
            }
            if self.has_ended() {
                return Err(Trouble::Ended { name: self.name, output: self.last_words() });
            }
            if begin.elapsed() > limit {
                return Err(Trouble::Late { what: self.name.into(), limit, detail: self.last_words() });
            }
            pause();
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output.
    pub fn output(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// The end of its output.
    pub fn last_words(&self) -> String {
        end_of(&self.output())
    }

    /// Its resource usage so far; `None` if it has ended.
    pub fn usage(&self) -> Option<Usage> {
        usage(self.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if thread::panicking() {
            // Printed directly, for the file will be removed.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.last_words().as_bytes());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a text.
pub(crate) fn end_of(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS_LINES)..].join("\n")
}

/// The resource usage of a process so far; `None` if it has ended.
pub fn usage(id: u32) -> Option<Usage> {
    let folder = PathBuf::from(format!("/proc/{id}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    // proc_pid_stat(5): utime and stime are the 14th and 15th field.
    let ticks = |nth| stat_field(id, nth).and_then(|text| text.parse().ok()).unwrap_or(0);
    Some(Usage {
        user_ticks: ticks(14),
        kernel_ticks: ticks(15),
        cpu_ns: cpu_ns(&folder)?,
        resident_bytes: bytes(&status, "VmRSS:"),
        resident_max_bytes: bytes(&status, "VmHWM:"),
    })
}

/// The first number of each thread's schedstat is its CPU time; `None` if the kernel does not count it.
fn cpu_ns(process: &Path) -> Option<u64> {
    let threads = fs::read_dir(process.join("task")).ok()?.filter_map(Result::ok);
    let of_thread = |path: PathBuf| -> Option<u64> {
        fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    let counted: Vec<u64> = threads.filter_map(|thread| of_thread(thread.path())).collect();
    (!counted.is_empty()).then(|| counted.iter().sum())
}

/// A line of `status`: `VmHWM:     1234 kB`.
fn bytes(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// The start time of a process, in ticks since boot; `None` if there is no such process.
pub(crate) fn start_time(id: u32) -> Option<u64> {
    stat_field(id, 22)?.parse().ok()
}

/// A field of a process's `stat`, from the third on. The second is the program's name in parentheses and may contain anything.
fn stat_field(id: u32, nth: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(nth.checked_sub(3)?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::{Home, run};

    fn started(script: &str, home: &Home) -> Process {
        let mut command = Place::Machine.command("sh");
        command.args(["-c", script]);
        Process::start("the script", command, home.dir().join("output")).unwrap()
    }

    #[test]
    fn readiness_is_awaited_and_an_early_end_is_an_error() {
        let home = Home::new().unwrap();
        let limit = Duration::from_secs(10);
        let mut good = started("echo ready; sleep 60", &home);
        good.await_ready(limit, |it| it.output().contains("ready").then_some(())).unwrap();
        assert!(!good.has_ended());
        let mut bad = started("echo port in use >&2; exit 1", &home);
        let said = bad.await_ready(limit, |_| None::<()>).unwrap_err().to_string();
        assert_eq!(said, "the script ended at once: port in use");
        let mut late = started("sleep 60", &home);
        let said = late.await_ready(Duration::ZERO, |_| None::<()>).unwrap_err().to_string();
        assert!(said.starts_with("the script not within"), "{said}");
    }

    #[test]
    fn cpu_time_and_memory_are_counted() {
        let home = Home::new().unwrap();
        let busy = started("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; sleep 60", &home);
        run::wait_for(
            "the loop",
            Duration::from_secs(60),
            || busy.output().contains("done").then_some(()),
            || busy.last_words(),
        )
        .unwrap();
        let used = busy.usage().unwrap();
        assert!(used.cpu_ns > 10_000_000, "{used:?}");
        assert!(used.resident_bytes > 100_000 && used.resident_max_bytes >= used.resident_bytes, "{used:?}");
        let idle = started("sleep 60", &home);
        assert!(idle.usage().unwrap().cpu_ns < used.cpu_ns);
        assert_eq!(usage(u32::MAX), None);
    }

    #[test]
    fn a_program_is_killed_with_the_thread_that_started_it() {
        let home = Home::new().unwrap();
        let id = thread::scope(|scope| {
            let started = scope.spawn(|| {
                let process = started("sleep 60", &home);
                run::wait_for(
                    "setpriv",
                    Duration::from_secs(10),
                    || {
                        fs::read_to_string(format!("/proc/{}/comm", process.id()))
                            .ok()
                            .filter(|name| name == "sh\n")
                    },
                    String::new,
                )
                .unwrap();
                let id = process.id();
                std::mem::forget(process);
                id
            });
            started.join().unwrap()
        });
        let dead = || {
            fs::read_to_string(format!("/proc/{id}/stat"))
                .map_or(true, |stat| stat.contains(") Z "))
                .then_some(())
        };
        run::wait_for("its end", Duration::from_secs(10), dead, String::new).unwrap();
    }

    #[test]
    fn our_own_start_time_is_in_the_past() {
        assert!(start_time(std::process::id()).unwrap() > 0);
        assert_eq!(start_time(u32::MAX), None);
    }
}
