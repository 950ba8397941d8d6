//! What the target needs meanwhile: CPU and memory of a process here by its number (proc_pid_stat(5)), or of one elsewhere by what
//! it exposes for Prometheus, as servers and node_exporter do.

use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

#[expect(
    clippy::disallowed_types,
    reason = "a page is fetched, beside the load and in a thread of its own"
)]
use std::net::TcpStream;

/// What is used in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// CPU time since the last reading.
    pub cpu: Duration,
    /// Resident memory, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Where readings come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A process of this machine.
    Process(u32),
    /// A page of Prometheus's text format: host and port, and path.
    Page(String, String),
}

/// Reads once a second.
#[derive(Debug)]
pub struct Meter {
    /// None while there is nothing to read.
    readings: Receiver<Option<Reading>>,
    before: Option<Reading>,
    is_gone: bool,
}

/// A reading: counters since some time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    cpu_s: f64,
    memory_bytes: Option<u64>,
}

/// How often is read.
const EVERY: Duration = Duration::from_millis(500);
/// How long a page may take.
const PATIENCE: Duration = Duration::from_millis(400);
/// The longest page that is read.
const PAGE_BYTES_MAX: u64 = 4 << 20;

impl Meter {
    /// Begins to read.
    ///
    /// # Errors
    /// When there is nothing to read, with a sentence.
    pub fn start(source: Source) -> Result<Self, String> {
        let first = read(&source)?;
        let (sender, readings) = mpsc::sync_channel(4);
        thread::spawn(move || {
            loop {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own, beside the load")]
                thread::sleep(EVERY);
                // A target that is gone has no readings, and may come back.
                let sent = sender.try_send(read(&source).ok());
                if matches!(sent, Err(mpsc::TrySendError::Disconnected(_))) {
                    return;
                }
            }
        });
        Ok(Self { readings, before: Some(first), is_gone: false })
    }

    /// What was used since the last time; none if there is no new reading.
    pub fn read(&mut self) -> Option<Usage> {
        let mut latest = None;
        for reading in self.readings.try_iter() {
            self.is_gone = reading.is_none();
            latest = reading.or(latest);
        }
        let now = latest?;
        let before = self.before.replace(now)?;
        // A counter that went back belongs to another process.
        let cpu_s = (now.cpu_s - before.cpu_s).max(0.0);
        Some(Usage { cpu: Duration::from_secs_f64(cpu_s), memory_bytes: now.memory_bytes })
    }

    /// Whether there was nothing to read the last time.
    pub const fn is_gone(&self) -> bool {
        self.is_gone
    }
}

fn read(source: &Source) -> Result<Reading, String> {
    match source {
        Source::Process(pid) => process(*pid),
        Source::Page(host, path) => {
            let page = fetch(host, path).map_err(|why| format!("cannot read http://{host}{path}: {why}"))?;
            let lacks = || {
                format!(
                    "http://{host}{path} has neither `process_cpu_seconds_total` nor `node_cpu_seconds_total`"
                )
            };
            of_page(&page).ok_or_else(lacks)
        }
    }
}

/// proc_pid_stat(5): utime and stime are the 14th and 15th field, in ticks of a hundredth of a second.
fn process(pid: u32) -> Result<Reading, String> {
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let stat = file("stat").map_err(|why| format!("no process {pid} to measure: {why}"))?;
    let status = file("status").unwrap_or_default();
    of_stat(&stat, &status).ok_or_else(|| format!("/proc/{pid}/stat is not understood"))
}

fn of_stat(stat: &str, status: &str) -> Option<Reading> {
    // The name in parentheses may contain anything.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // One that has ended remains until its parent has asked how.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let ticks = |n: usize| fields.get(n)?.parse::<u64>().ok();
    let cpu_s = (ticks(11)? + ticks(12)?) as f64 / 100.0;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Some(Reading { cpu_s, memory_bytes: kib.map(|kib| kib * 1024) })
}

#[expect(clippy::disallowed_types, reason = "a page is fetched, beside the load and in a thread of its own")]
fn fetch(host: &str, path: &str) -> io::Result<String> {
    let none = || io::Error::other("the name has no address");
    let address = std::net::ToSocketAddrs::to_socket_addrs(host)?.next().ok_or_else(none)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n")?;
    let mut page = Vec::new();
    stream.take(PAGE_BYTES_MAX).read_to_end(&mut page)?;
    let page = String::from_utf8_lossy(&page).into_owned();
    let (head, body) = page.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no answer of HTTP"))?;
    let is_ok = head.split_whitespace().nth(1) == Some("200");
    if is_ok { Ok(body.to_owned()) } else { Err(io::Error::other(first_line(head).to_owned())) }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A process's own metrics, or those of a whole machine.
fn of_page(page: &str) -> Option<Reading> {
    let sum = |name: &str, skip: &str| {
        let values = page
            .lines()
            .filter_map(|line| sample(line, name))
            .filter(|(labels, _)| skip.is_empty() || !labels.contains(skip));
        values.map(|(_, value)| value).reduce(|a, b| a + b)
    };
    let bytes = |value: f64| value as u64;
    if let Some(cpu_s) = sum("process_cpu_seconds_total", "") {
        return Some(Reading { cpu_s, memory_bytes: sum("process_resident_memory_bytes", "").map(bytes) });
    }
    let cpu_s = sum("node_cpu_seconds_total", "mode=\"idle\"")?;
    let used = sum("node_memory_MemTotal_bytes", "").zip(sum("node_memory_MemAvailable_bytes", ""));
    Some(Reading { cpu_s, memory_bytes: used.map(|(total, free)| bytes(total - free)) })
}

/// `name{labels} value`.
fn sample<'a>(line: &'a str, name: &str) -> Option<(&'a str, f64)> {
    let rest = line.strip_prefix(name)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.rsplit_once('}')?,
        None if rest.starts_with(' ') => ("", rest),
        None => return None,
    };
    Some((labels, value.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        let reading = of_stat(stat, "Name:\tx\nVmRSS:\t    2048 kB\n").unwrap();
        assert_eq!(reading, Reading { cpu_s: 3.0, memory_bytes: Some(2 << 20) });
        assert_eq!((of_stat("nonsense", ""), of_stat(&stat.replace(" S ", " Z "), "")), (None, None));
        assert!(process(std::process::id()).unwrap().memory_bytes.is_some());
        assert!(process(u32::MAX).unwrap_err().starts_with("no process 4294967295 to measure"));
    }

    #[test]
    fn a_page_is_that_of_a_process_or_of_a_machine() {
        let process = "# TYPE x counter\nprocess_cpu_seconds_total 1.5\nprocess_resident_memory_bytes 1e6\n";
        assert_eq!(of_page(process), Some(Reading { cpu_s: 1.5, memory_bytes: Some(1_000_000) }));
        let machine = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 2\n\
                       node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 3\nnode_memory_MemTotal_bytes 100\nnode_memory_MemAvailable_bytes 40\n";
        assert_eq!(of_page(machine), Some(Reading { cpu_s: 5.0, memory_bytes: Some(60) }));
        assert_eq!(of_page("up 1\n"), None);
    }

    #[test]
    fn a_meter_says_that_its_process_is_gone() {
        let mut process = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut meter = Meter::start(Source::Process(process.id())).unwrap();
        assert!(!meter.is_gone());
        process.kill().unwrap();
        process.wait().unwrap();
        while !meter.is_gone() {
            meter.read();
            thread::yield_now();
        }
    }

    #[test]
    fn a_meter_says_what_was_used_since() {
        let mut meter = Meter::start(Source::Process(std::process::id())).unwrap();
        let reading = meter.readings.recv().unwrap().unwrap();
        meter.before = Some(Reading { cpu_s: reading.cpu_s - 1.0, memory_bytes: None });
        let usage = loop {
            if let Some(usage) = meter.read() {
                break usage;
            }
            thread::yield_now();
        };
        assert!(usage.cpu >= Duration::from_millis(990) && usage.memory_bytes.is_some(), "{usage:?}");
    }
}
